import { Channel } from '../../models/channel.ts';
import { bodyParam, newChannel, operation, queryParam } from '../operation.ts';
import { entryErrors } from './variables.ts';

/** Channels whose far side is a server. */
export const externalOperations = [
  operation({
    method: 'POST',
    path: '/channels/externalMedia',
    nickname: 'externalMedia',
    summary: 'Make a channel that exchanges audio with a server.',
    notes: 'The server is connected to before the channel is there; the answer shows all variables of the channel.',
    owner: 'externalMedia',
    params: {
      channelId: queryParam('string', 'Id for the new channel; up to 149 characters.', newChannel),
      app: queryParam('string', 'Application that gets the channel.', { required: true, names: 'application' }),
      variables: bodyParam('Variables to set on the channel: a value, or an object with value and report_events.', {
        names: 'variables',
      }),
      external_host: queryParam('string', 'The server as host:port, or the name of a configured WebSocket client.', {
        names: 'server',
      }),
      encapsulation: queryParam('string', 'The encapsulation of the audio.', {
        default: 'rtp',
        allowed: ['rtp', 'audiosocket', 'none'],
      }),
      transport: queryParam('string', 'The transport.', { default: 'udp', allowed: ['udp', 'tcp', 'websocket'] }),
      connection_type: queryParam('string', 'Whether this system connects, or waits to be connected to.', {
        default: 'client',
        allowed: ['client', 'server'],
      }),
      format: queryParam('string', 'Format of the audio, e.g. ulaw or slin16.', { required: true }),
      direction: queryParam('string', 'Which way audio goes, seen from the channel.', {
        default: 'both',
        allowed: ['both', 'in', 'out'],
      }),
      data: queryParam('string', 'Arguments for the application; AudioSocket: the UUID of the call.'),
      transport_data: queryParam('string', 'More for the transport.'),
    },
    returns: Channel,
    errors: [
      ...entryErrors,
      'externalAppRequired',
      'externalEncapsulationForWebsocket',
      'externalTransportForRtp',
      'externalTransportForAudiosocket',
      'externalServerWithoutWebsocket',
      'externalHostRequired',
      'externalClientUnknown',
      'externalHostInvalid',
      'externalFormatRequired',
      'directionInvalid',
      'externalDataRequired',
      'externalUnsupported',
      'uniqueIdTooLong',
      'channelIdExists',
      'allocationFailed',
      'externalFailed',
    ],
    handle: (external, params) => external.externalMedia(params),
  }),
];
