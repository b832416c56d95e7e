import { SlotMap } from '../../lib/slot-map.ts';
import { Cause } from '../../telephony/causes.ts';
import { type Driver, DriverError, type LegRequest, type OpenedLeg, type Report } from '../../telephony/driver.ts';
import type {
  ArrivedSocket,
  AwaitedConnection,
  ConnectionHost,
  ConnectionSocket,
  ExternalAudio,
  ExternalConnection,
  ExternalDirection,
  ExternalDriver,
  ExternalReport,
  ExternalRequest,
  ExternalSession,
  PreparedExternal,
  WebSocketRequest,
} from '../../telephony/external.ts';
import type { Codec } from '../../telephony/media.ts';
import { apply, plainCommandsOf } from '../../telephony/session-commands.ts';
import { readCodec, readOptions, readServer, readUuid } from './dial-string.ts';
import { ExternalLeg, type ExternalLegData, readExternalLeg } from './external-leg.ts';
import { createUnicastRtp, type UnicastRtpOptions } from './unicast-rtp.ts';

export type ExternalDriverOptions = UnicastRtpOptions & {
  media: UnicastRtpOptions['media'] & ExternalAudio;
  connections: ConnectionHost;
  /** PEM of the authorities that must have signed their certificates; undefined: Node's own. */
  authorities?: (() => readonly string[] | undefined) | undefined;
  /** Servers that wait for our WebSocket, by name. */
  webSockets: ReadonlyMap<string, Pick<WebSocketRequest, 'url' | 'headers' | 'protocols'>>;
};

const audioSocket = 'AudioSocket';
const webSocket = 'WebSocket';
/** In place of a server's name: the server opens the WebSocket. */
const incoming = 'INCOMING';

/** A planned connection, and its channel. */
type Planned = {
  technology: string;
  request: ExternalRequest;
  /** The name of the configured server that its WebSocket goes to. */
  client?: string;
  /** Whether the channel is Up as soon as it is connected, or when the server says so. */
  answered: 'at once' | 'when asked';
  name: string;
  variables: Readonly<Record<string, string>>;
  protocolId: string;
};

/** Our end of a connection, as channel variables. */
const localVariables = ({ address, port }: { address: string; port: number }) => ({
  local_address: address,
  local_port: String(port),
});

/** Octets of 20 ms of a format; 0 if packets differ in length. */
function frameOctets(codec: Codec): number {
  if (codec === 'opus') return 0;
  const kilohertz = codec === 'slin44' ? 44.1 : Number(/^slin(\d+)$/.exec(codec)?.[1] ?? 8);
  return 20 * kilohertz * (codec.startsWith('slin') ? 2 : 1);
}

/** What of a planned connection another process connects again with: the settings of a configured server are not in it. */
type Saved = Pick<Planned, 'answered' | 'client' | 'protocolId'> & { request: ExternalRequest };

function savedFrom({ answered, client, protocolId, request }: Saved): Record<string, unknown> {
  const { authorities, headers, protocols, url, ...rest } = { ...request } as Partial<WebSocketRequest>;
  return { answered, protocolId, request: rest, ...(client !== undefined && { client }) };
}

type Told = { started(local: { address: string; port: number }): void; lost(reason: string): void };
type Connect = ReturnType<typeof createConnect>;

/** Opens sessions with a watched connection, and later their legs. */
function createConnect(
  { media, connections, learned, tables }: ExternalDriverOptions,
  awaited: SlotMap<string, AwaitedConnection>,
) {
  return (channelId: string, planned: Saved & { near?: string | undefined; resumes?: boolean }, told: Told) => {
    const { request, answered, protocolId, near, resumes = false } = planned;
    let session: ExternalSession | undefined;
    let leg: ExternalLeg | undefined;
    let local = { address: '', port: 0 };
    const awaitedId = request.transport === 'awaitedWebSocket' ? request.start.connectionId : undefined;
    /** A session that waits for a server's WebSocket, or has it. */
    const awaitedBy = (opened: ExternalSession): AwaitedConnection => ({
      channelId,
      get taken() {
        return !connection.isAwaited;
      },
      attach(arrived: ArrivedSocket) {
        connection.tell({ type: 'socket.arrived' });
        opened.attach(arrived);
      },
    });
    const socket: ConnectionSocket = {
      open() {
        if (session) {
          session.reconnect();
          return;
        }
        session = media.openExternal(channelId, request, hear, near);
        session.persist(resumes && awaitedId === undefined);
        if (awaitedId !== undefined) awaited.set(awaitedId, awaitedBy(session));
      },
      close() {
        session?.close();
        if (awaitedId !== undefined) awaited.delete(awaitedId);
      },
      told(outcome) {
        if ('reason' in outcome) {
          told.lost(outcome.reason);
          leg?.lose(outcome.type === 'unreached' && awaitedId !== undefined ? Cause.noAnswer : Cause.temporaryFailure);
          return;
        }
        session?.persist(false);
        if (outcome.type === 'restarted' && awaitedId === undefined) learned(channelId, localVariables(local));
        told.started(local);
        if (answered === 'at once') leg?.connect();
      },
    };
    const maker = awaitedId === undefined ? 'us' : 'server';
    const connection: ExternalConnection = connections.open(channelId, socket, { maker, resumes });
    function hear(report: ExternalReport): void {
      if (report.type === 'media.connected') {
        local = report.local;
        connection.tell({ type: 'socket.opened' });
      } else if (report.type === 'media.cut') connection.tell({ type: 'socket.cut' });
      else if (report.type === 'media.flowing') connection.tell({ type: 'audio.flowed' });
      else if (report.type === 'media.lost') connection.tell({ type: 'socket.closed', reason: report.reason });
      else if (report.type === 'media.answerAsked') leg?.connect();
      else leg?.hear(report);
    }
    return {
      release: () => connection.release(),
      /** @param isThere the connection is there already. */
      legFor(report: Report, isThere: boolean, from?: ExternalLegData): ExternalLeg {
        const { lostBy } = connection;
        if (!session || lostBy !== undefined) throw new DriverError('endpoint', `the connection is lost: ${lostBy}`);
        for (const each of plainCommandsOf(from?.media.standing ?? [])) apply(session, each);
        leg = new ExternalLeg({
          protocolId,
          connection: savedFrom(planned),
          state: from?.state,
          media: session,
          format: request.codec,
          report,
          released: () => connection.release(),
          watched: { watch: tables, id: channelId },
        });
        if (isThere && answered === 'at once') leg.connect();
        return leg;
      },
    };
  };
}

/** Reads requests for connections. @throws DriverError format, resource. */
function createPlans({ ids, webSockets, authorities: authoritiesNow }: ExternalDriverOptions) {
  const planAudioSocket = (server: string, uuid: string, format: string, direction: ExternalDirection): Planned => {
    const codec = readCodec(format);
    if (codec === 'opus') throw new DriverError('format', "'opus' cannot be sent over AudioSocket");
    const request = {
      transport: 'audioSocket',
      ...readServer(server),
      uuid: readUuid(uuid),
      codec,
      direction,
    } as const;
    return {
      technology: audioSocket,
      request,
      answered: 'at once',
      name: `${audioSocket}/${server}-${request.uuid}`,
      variables: { AUDIOSOCKET_UUID: request.uuid, AUDIOSOCKET_SERVICE: server },
      protocolId: request.uuid,
    };
  };

  const believed = (url: string): { authorities?: readonly string[] } => {
    const authorities = url.startsWith('wss:') ? authoritiesNow?.() : undefined;
    return authorities ? { authorities } : {};
  };

  const planWebSocket = (
    channelId: string,
    server: string,
    parts: { format: string; direction: ExternalDirection; options: ReadonlyMap<string, string> },
  ): Planned => {
    const codec = readCodec(parts.format);
    const target = webSockets.get(server);
    if (!target && server !== incoming) throw new DriverError('resource', `there is no WebSocket '${server}'`);
    const connectionId = ids.uuid();
    const octets = frameOctets(codec);
    const name = `${webSocket}/${server}/0x${ids.hex(12)}`;
    const variables = {
      MEDIA_WEBSOCKET_CONNECTION_ID: connectionId,
      MEDIA_WEBSOCKET_OPTIMAL_FRAME_SIZE: String(octets),
    };
    const start = { connectionId, channel: name, channelId, variables };
    const json = parts.options.get('f') === 'json';
    const answered = parts.options.has('n') ? 'when asked' : 'at once';
    const talk = { codec, direction: parts.direction, json, frameOctets: octets, start };
    const request: ExternalRequest = target
      ? { ...talk, ...target, ...believed(target.url), transport: 'webSocket' }
      : { ...talk, transport: 'awaitedWebSocket' };
    const client = target && { client: server };
    return { technology: webSocket, request, ...client, answered, name, variables, protocolId: connectionId };
  };

  /** A connection of another process. @throws DriverError `resource` if its server is no longer configured. */
  const planAgain = (connection: ExternalLegData['connection']): Saved => {
    const saved = connection as unknown as Saved;
    if (saved.client === undefined) return saved;
    const target = webSockets.get(saved.client);
    if (!target) throw new DriverError('resource', `there is no WebSocket '${saved.client}' any more`);
    return { ...saved, request: { ...saved.request, ...target, ...believed(target.url) } as ExternalRequest };
  };

  return { planAudioSocket, planWebSocket, planAgain };
}

const nobody: Told = { started: () => {}, lost: () => {} };

/** Channels that exist when their connection does, or that wait for it. */
function createPreparation(connect: Connect) {
  /** Waits for a connection, so that there is only a channel when that is there. */
  const prepareConnection = (channelId: string, server: string, planned: Planned) => {
    const { technology, name, variables } = planned;
    return new Promise<PreparedExternal>((resolve, reject) => {
      const connected = connect(channelId, planned, {
        started(local) {
          resolve({
            technology,
            name,
            variables: { ...variables, ...localVariables(local) },
            open: (report) => connected.legFor(report, true),
            abandon: connected.release,
          });
        },
        lost(reason) {
          // Once it was started this changes nothing.
          reject(new DriverError('endpoint', `'${server}' cannot be reached: ${reason}`));
        },
      });
    });
  };

  /** Waits for a server that has to learn first where to connect: its channel exists before. */
  const prepareAwaited = (channelId: string, planned: Planned): PreparedExternal => {
    const { technology, name, variables } = planned;
    const connected = connect(channelId, planned, nobody);
    return {
      technology,
      name,
      variables,
      open: (report) => connected.legFor(report, false),
      abandon: connected.release,
    };
  };

  /** A leg whose connection is still being made: a dial string cannot wait for it. */
  const opened = ({ channelId, near }: LegRequest, planned: Planned, report: Report): OpenedLeg => {
    const { name, variables } = planned;
    const leg = connect(channelId, { ...planned, near }, nobody).legFor(report, false);
    return { name, leg, variables };
  };

  return { prepareConnection, prepareAwaited, opened };
}

type Plans = ReturnType<typeof createPlans>;
type Opened = (request: LegRequest, planned: Planned, report: Report) => OpenedLeg;
type Resume = Driver['resume'];

/** Connects again to where another process was connected. */
const resumeWith =
  ({ planAgain }: Plans, connect: Connect): Resume =>
  (data, channelId, report) => {
    const from = readExternalLeg(data);
    return connect(channelId, { ...planAgain(from.connection), resumes: true }, nobody).legFor(report, false, from);
  };

const audioSocketDriver = ({ planAudioSocket }: Plans, opened: Opened, resume: Resume): Driver => ({
  technology: audioSocket,
  /** `AudioSocket/host:port/uuid/c(slin)`; without a format the first of the request, or else `slin`. */
  open(request, report) {
    const { resource, formats } = request;
    const [server = '', uuid = '', parameters = ''] = resource.split('/');
    const format = readOptions(parameters).get('c') || formats?.[0] || 'slin';
    return opened(request, planAudioSocket(server, uuid, format, 'both'), report);
  },
  resume,
});

const webSocketDriver = ({ planWebSocket }: Plans, opened: Opened, resume: Resume): Driver => ({
  technology: webSocket,
  /** `WebSocket/name/c(ulaw)f(json)n`, or `INCOMING` for a name; without a format the first of the request, or else `ulaw`. */
  open(request, report) {
    const { channelId, resource, formats } = request;
    const [server = '', parameters = ''] = resource.split('/');
    const options = readOptions(parameters);
    const format = options.get('c') || formats?.[0] || 'ulaw';
    return opened(request, planWebSocket(channelId, server, { format, direction: 'both', options }), report);
  },
  resume,
});

/** Drivers of channels whose far side is a server. */
export function createExternalDriver(options: ExternalDriverOptions): ExternalDriver & { drivers: readonly Driver[] } {
  const { webSockets } = options;
  /** Connections that a server opens, by the id that it names. */
  const awaited = new SlotMap<string, AwaitedConnection>();

  const unicastRtp = createUnicastRtp(options);
  const plans = createPlans(options);
  const { planAudioSocket, planWebSocket } = plans;
  const connect = createConnect(options, awaited);
  const { prepareConnection, prepareAwaited, opened } = createPreparation(connect);
  const resume = resumeWith(plans, connect);

  return {
    drivers: [audioSocketDriver(plans, opened, resume), webSocketDriver(plans, opened, resume), unicastRtp.driver],
    hasClient: (name) => webSockets.has(name),
    awaited: (connectionId) => awaited.get(connectionId),
    async prepare(request) {
      const { channelId, kind, server, format, direction, data } = request;
      const parts = { format, direction, options: readOptions(request.options) };
      switch (kind) {
        case 'rtp':
          return unicastRtp.prepare(request);
        case 'audioSocket':
          return prepareConnection(channelId, server, planAudioSocket(server, data, format, direction));
        case 'webSocket':
          return prepareConnection(channelId, server, planWebSocket(channelId, server, parts));
        case 'awaitedWebSocket':
          return prepareAwaited(channelId, planWebSocket(channelId, incoming, parts));
      }
    },
  };
}
