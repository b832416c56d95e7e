import { channelTopic } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import { noTimeout } from '../machines/channel-setup.ts';
import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import { DriverError } from '../telephony/driver.ts';
import type {
  AwaitedConnection,
  ExternalChannelRequest,
  ExternalDriver,
  PreparedExternal,
} from '../telephony/external.ts';
import { setRequestedVariables } from './channel-control.ts';
import { showApplication } from './channel-effects.ts';
import { type ChannelApplications, type ChannelEntry, snapshotOf } from './channel-entry.ts';
import { longestChannelId, readAppArgs, readDirection, readVariables } from './channel-requests.ts';
import type { ChannelViews } from './channel-views.ts';
import type { Channels } from './channels.ts';
import type { Turn } from './turn.ts';

/** Parameters of `externalMedia`, by their names in the interface. */
type ExternalMediaRequest = {
  channelId?: string | undefined;
  app?: string | undefined;
  external_host?: string | undefined;
  encapsulation?: string | undefined;
  transport?: string | undefined;
  connection_type?: string | undefined;
  format?: string | undefined;
  direction?: string | undefined;
  data?: string | undefined;
  transport_data?: string | undefined;
  variables?: unknown;
};

type ExternalMediaOptions = {
  channels: Channels;
  views: Pick<ChannelViews, 'model' | 'dialplanChannel'>;
  log: Pick<Logger, 'warn'>;
  applications: Pick<ChannelApplications, 'addInterest'>;
  driver: ExternalDriver;
  /** Steps that a request causes after the server has connected follow from it. */
  turn: Pick<Turn, 'request' | 'following'>;
  /** `asterisk`: answers of Asterisk where ours are better. */
  /** Variables that a channel may be made with. */
  variablesLimit: number;
};

/** Makes channels whose far side is a server. */
export type ExternalMedia = ReturnType<typeof createExternalMedia>;

/** Creates external media channels. They are dialed like others and enter an application when Up. */
export function createExternalMedia(options: ExternalMediaOptions) {
  const { channels, views, applications, driver, turn, variablesLimit } = options;

  /** Says in the interface's words why there is no connection. */
  const refusal = (error: unknown): unknown => {
    if (!(error instanceof DriverError)) return error;
    return new AriError('allocationFailed', { reason: error.message }, { cause: error });
  };

  const prepare = (request: ExternalChannelRequest): Promise<PreparedExternal> =>
    driver.prepare(request).catch((error: unknown) => {
      throw refusal(error);
    });

  const open = (id: string, app: string, request: ExternalMediaRequest, prepared: PreparedExternal): ChannelEntry => {
    const { technology, name, variables } = prepared;
    const nobody = { name: '', number: '' };
    try {
      // While it was prepared, another one may have come to life under the id.
      if (channels.find(id)) throw new AriError('channelIdExists');
      return channels.openOutbound({
        id,
        technology,
        resource: name.slice(technology.length + 1),
        origin: 'originated',
        caller: nobody,
        connected: nobody,
        variables: {},
        inheritance: {},
        reported: [],
        accountCode: '',
        onAnswer: { type: 'application', app, args: readAppArgs(request.data) },
        openLeg: (report) => ({ name, leg: prepared.open(report), variables }),
      });
    } catch (error) {
      prepared.abandon();
      throw refusal(error);
    }
  };

  /** Makes the channel and lets it dial. */
  const begin = (id: string, app: string, request: ExternalMediaRequest, prepared: PreparedExternal): Channel => {
    const requested = readVariables(request.variables);
    const entry = open(id, app, request, prepared);
    showApplication(entry, 'AppDial2', '(Outgoing Line)');
    setRequestedVariables(options, entry, requested);
    applications.addInterest(app, channelTopic(id));
    const { variables } = snapshotOf(entry).context;
    const made = { ...views.model(entry), channelvars: { ...variables } };
    channels.tell(entry, { type: 'dial.soon', timeoutMs: noTimeout });
    return made;
  };

  return {
    /**
     * Creates a channel that exchanges audio with a server, once that is connected.
     * @throws AriError (rejects) those of {@link readVariables} and {@link readExternal}, limitReached,
     * uniqueIdTooLong, channelIdExists. If creation fails: allocationFailed.
     */
    async externalMedia(request: ExternalMediaRequest): Promise<Channel> {
      requireWithin('channel_variables', readVariables(request.variables).length, variablesLimit);
      const { app, ...external } = readExternal(request, driver.hasClient);
      const { channelId } = request;
      if (channelId && channelId.length > longestChannelId) throw new AriError('uniqueIdTooLong');
      if (channelId && channels.find(channelId)) throw new AriError('channelIdExists');
      const id = channelId || channels.freshId();
      const { request: requestId } = turn;
      const prepared = await prepare({ ...external, channelId: id });
      const make = () => begin(id, app, request, prepared);
      return requestId === undefined ? make() : turn.following(requestId, make);
    },
    /**
     * The channel's connection that a server may open its WebSocket for.
     * @throws AriError mediaConnectionNotFound, mediaConnectionTaken.
     */
    awaited(connectionId: string): AwaitedConnection {
      const found = driver.awaited(connectionId);
      if (!found) throw new AriError('mediaConnectionNotFound');
      if (found.taken) throw new AriError('mediaConnectionTaken');
      return found;
    },
  };
}

const encapsulations: ReadonlySet<string> = new Set(['rtp', 'audiosocket', 'none']);
const transports: ReadonlySet<string> = new Set(['udp', 'tcp', 'websocket']);

/** How audio is exchanged with a server. */
type Link = {
  encapsulation: string;
  transport: string;
  /** The far side opens the WebSocket. */
  isServer: boolean;
};

function kindOf({ encapsulation, transport, isServer }: Link): ExternalChannelRequest['kind'] {
  if (encapsulation === 'rtp') return 'rtp';
  if (encapsulation === 'audiosocket') return 'audioSocket';
  if (transport === 'websocket') return isServer ? 'awaitedWebSocket' : 'webSocket';
  throw new AriError('externalUnsupported');
}

/**
 * Reads a request; refusals come in Asterisk's order.
 * @throws AriError externalAppRequired, externalEncapsulationForWebsocket, externalTransportForRtp,
 * externalTransportForAudiosocket, externalServerWithoutWebsocket, externalHostRequired, externalClientUnknown,
 * externalHostInvalid, externalFormatRequired, directionInvalid, externalDataRequired, externalUnsupported.
 */
function readExternal(
  request: ExternalMediaRequest,
  hasClient: (name: string) => boolean,
): Omit<ExternalChannelRequest, 'channelId'> & { app: string } {
  const { app, external_host: server = '', format, data = '' } = request;
  if (!app) throw new AriError('externalAppRequired');
  const link: Link = {
    encapsulation: request.encapsulation || 'rtp',
    transport: request.transport || 'udp',
    isServer: request.connection_type === 'server',
  };
  requireLink(link);
  requireHost(link, server, hasClient);
  if (!format) throw new AriError('externalFormatRequired');
  const direction = readDirection(request.direction);
  if (link.encapsulation === 'audiosocket' && !data) throw new AriError('externalDataRequired');
  return { app, kind: kindOf(link), server, format, direction, data, options: request.transport_data ?? '' };
}

/** Refuses a transport that the encapsulation does not have. */
function requireLink({ encapsulation, transport, isServer }: Link): void {
  if (!encapsulations.has(encapsulation) || !transports.has(transport)) throw new AriError('externalUnsupported');
  if (transport === 'websocket' && encapsulation !== 'none') throw new AriError('externalEncapsulationForWebsocket');
  if (encapsulation === 'rtp' && transport !== 'udp') throw new AriError('externalTransportForRtp');
  if (encapsulation === 'audiosocket' && transport !== 'tcp') throw new AriError('externalTransportForAudiosocket');
  if (isServer && transport !== 'websocket') throw new AriError('externalServerWithoutWebsocket');
}

/** Requires a host to connect to: `host:port`, or the name of a configured WebSocket. */
function requireHost({ transport, isServer }: Link, host: string, hasClient: (name: string) => boolean): void {
  if (isServer) return;
  if (!host) throw new AriError('externalHostRequired');
  if (transport === 'websocket' && !hasClient(host)) throw new AriError('externalClientUnknown');
  if (transport !== 'websocket' && !/:[^:]+$/.test(host)) throw new AriError('externalHostInvalid');
}

/** A channel shows what its driver has learned of its connection; nothing happens when it is gone. */
export function tellLearned(
  channels: Pick<Channels, 'find' | 'tell'>,
  channelId: string,
  variables: Readonly<Record<string, string>>,
): void {
  const entry = channels.find(channelId);
  if (!entry) return;
  for (const [name, value] of Object.entries(variables))
    channels.tell(entry, { type: 'variable.set', name, value, report: true });
}
