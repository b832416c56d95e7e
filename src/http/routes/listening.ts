import { Listened } from '../../models/live.ts';
import { supervisionModes } from '../../models/webrtc.ts';
import { newChannel, pathParam, queryParam, type Resource, textOperation, upgradeOperation } from '../operation.ts';
import { answered, sdp, sdpBody } from './webrtc.ts';

/** Path of listening to a channel. */
export const listenPath = '/channels/{channelId}/listen';

/** Listening: what both sides of a live channel say. */
export const listening: Resource = {
  name: 'listening',
  description:
    'Listening: what both sides of a live channel say, over a WebSocket or with a browser as a phone. Only where `listening.on` is set.',
  operations: [
    textOperation({
      method: 'POST',
      path: '/channels/{channelId}/supervise',
      nickname: 'supervise',
      summary: 'Listen to a channel with a browser, and talk to it.',
      notes:
        'As POST /hookswitch/webrtc, with a channel that runs ChanSpy. `listen` hears both sides, `whisper` is also heard by the party of the channel, `barge` by both. It ends with the channel. Only where `listening.on` is set; the log names the listener.',
      owner: 'webrtc',
      params: {
        channelId: pathParam('Id of the channel.', 'channel'),
        offer: sdpBody('The offer, as application/sdp.'),
        mode: queryParam('string', 'Who hears the browser.', { default: 'listen', allowed: supervisionModes }),
        supervisorId: queryParam('string', 'Id for the channel of the browser; up to 149 characters.', newChannel),
        formats: queryParam('string', 'Formats that may be used, e.g. `ulaw,opus`.'),
      },
      content: sdp,
      status: 201,
      errors: [
        'webrtcOfferInvalid',
        'supervisionModeInvalid',
        'listeningOff',
        'listeningDenied',
        'channelNotFound',
        'tooManyListeners',
        'formatNotFound',
        'uniqueIdTooLong',
        'channelIdExists',
        'allocationFailed',
      ],
      handle: async (calls, params, requester) => answered(await calls.supervise(params, requester)),
    }),
    upgradeOperation({
      path: listenPath,
      nickname: 'listen',
      summary: 'Listen to a channel.',
      notes:
        "The first message describes the binary ones: 100 ms of linear samples of 16 bits, both sides mixed, little endian. They end with the channel. Audio that a client does not read in time is dropped. Only a ticket opens it. The log and the call's record name the listener.",
      owner: 'listening',
      params: {
        channelId: pathParam('Id of the channel.', 'channel'),
        ticket: queryParam('string', 'From `POST /hookswitch/sessions/tickets`; good once.', { required: true }),
      },
      returns: Listened,
      errors: [
        'authenticationRequired',
        'listeningOff',
        'listeningDenied',
        'channelNotFound',
        'tooManyListeners',
        'nothingToHear',
        'upgradeRequired',
        'upgradeInvalid',
        'upgradeOverWebSocket',
      ],
    }),
  ],
};
