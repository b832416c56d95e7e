import { isIP } from 'node:net';
import type { Ids } from '../../lib/ids.ts';
import { Cause } from '../../telephony/causes.ts';
import { type Driver, DriverError, type Report } from '../../telephony/driver.ts';
import type {
  ConnectionHost,
  ExternalAudio,
  ExternalChannelRequest,
  ExternalConnection,
  ExternalDriver,
  ExternalReport,
  ExternalRequest,
  PreparedExternal,
} from '../../telephony/external.ts';
import type { Codec, MediaPlane, MediaReport, MediaSession } from '../../telephony/media.ts';
import { readCodec, readOptions, readServer, readUuid } from './dial-string.ts';
import { ExternalLeg } from './external-leg.ts';

export type ExternalDriverOptions = {
  media: Pick<MediaPlane, 'openRtp'> & ExternalAudio;
  connections: ConnectionHost;
  ids: Ids;
  /** The address of a name. Rejects when there is none. */
  resolveHost(host: string): Promise<string>;
};

/** Numbers of formats in RTP: those of RFC 3551, and where it has none those that the field uses. */
const payloadTypes: Readonly<Record<Codec, number>> = {
  ulaw: 0,
  alaw: 8,
  g722: 9,
  slin: 10,
  opus: 107,
  slin16: 118,
  slin12: 122,
  slin24: 123,
  slin32: 124,
  slin44: 125,
  slin48: 126,
};
/** L16 at 8 kHz has two numbers in the field; one is sent, both are taken. */
const otherLinear = 11;

const audioSocket = 'AudioSocket';

/** Drivers of channels whose far side is a server. */
export function createExternalDriver(options: ExternalDriverOptions): ExternalDriver & { drivers: readonly Driver[] } {
  const { media, connections, ids, resolveHost } = options;

  const prepareRtp = async ({ channelId, server, format, direction }: ExternalChannelRequest) => {
    const codec = readCodec(format);
    const { host, port } = readServer(server);
    const address = isIP(host) ? host : await resolveHost(host).catch(() => undefined);
    if (address === undefined) throw new DriverError('resource', `there is no address of '${host}'`);
    let leg: ExternalLeg | undefined;
    const hear = (report: MediaReport): void => {
      if (report.type === 'media.timedOut') leg?.lose(Cause.recoveryOnTimerExpiry);
      else leg?.hear(report);
    };
    const session = await media.openRtp(channelId, hear).catch((error: unknown) => {
      throw new DriverError('capacity', (error as Error).message, { cause: error });
    });
    session.configure({
      remote: { address, port },
      codec,
      payloadType: payloadTypes[codec],
      ...(codec === 'slin' && { receivePayloadType: otherLinear }),
      ptimeMs: 20,
      send: direction !== 'in',
      receive: direction !== 'out',
    });
    const local = { address: session.local.address, port: String(session.local.port) };
    return {
      technology: 'UnicastRTP',
      name: `UnicastRTP/${server}-0x${ids.hex(12)}`,
      variables: {
        UNICASTRTP_LOCAL_ADDRESS: local.address,
        UNICASTRTP_LOCAL_PORT: local.port,
        local_address: local.address,
        local_port: local.port,
      },
      open(report: Report) {
        leg = new ExternalLeg({ protocolId: '', media: session, report, released: () => {} });
        leg.connect();
        return leg;
      },
      abandon: () => session.close(),
    } satisfies PreparedExternal;
  };

  /** A session with a connection that is watched over, and the leg that it is for as soon as there is one. */
  const connect = (
    channelId: string,
    request: ExternalRequest,
    told: { started(local: { address: string; port: number }): void; lost(reason: string): void },
  ) => {
    let session: MediaSession | undefined;
    let leg: ExternalLeg | undefined;
    let local = { address: '', port: 0 };
    let lost: string | undefined;
    const connection: ExternalConnection = connections.open(channelId, {
      open() {
        session = media.openExternal(channelId, request, hear);
      },
      close: () => session?.close(),
      told(outcome) {
        if (outcome.type === 'started') {
          told.started(local);
          leg?.connect();
        } else {
          lost = outcome.reason;
          told.lost(lost);
          leg?.lose(Cause.temporaryFailure);
        }
      },
    });
    function hear(report: ExternalReport): void {
      if (report.type === 'media.connected') {
        local = report.local;
        connection.tell({ type: 'socket.opened' });
      } else if (report.type === 'media.flowing') connection.tell({ type: 'audio.flowed' });
      else if (report.type === 'media.lost') connection.tell({ type: 'socket.closed', reason: report.reason });
      else leg?.hear(report);
    }
    return {
      release: () => connection.release(),
      legFor(protocolId: string, report: Report): ExternalLeg {
        if (!session || lost !== undefined) throw new DriverError('endpoint', `the connection is lost: ${lost}`);
        leg = new ExternalLeg({ protocolId, media: session, report, released: () => connection.release() });
        return leg;
      },
    };
  };

  const audioSocketRequest = (
    server: string,
    uuid: string,
    format: string,
    direction: ExternalRequest['direction'],
  ) => {
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
      request,
      name: `${audioSocket}/${server}-${request.uuid}`,
      variables: { AUDIOSOCKET_UUID: request.uuid, AUDIOSOCKET_SERVICE: server },
    };
  };

  const prepareAudioSocket = ({ channelId, server, format, direction, data }: ExternalChannelRequest) => {
    const { request, name, variables } = audioSocketRequest(server, data, format, direction);
    return new Promise<PreparedExternal>((resolve, reject) => {
      let isOpen = false;
      const connected = connect(channelId, request, {
        started({ address, port }) {
          isOpen = true;
          resolve({
            technology: audioSocket,
            name,
            variables: { ...variables, local_address: address, local_port: String(port) },
            open(report) {
              const leg = connected.legFor(request.uuid, report);
              leg.connect();
              return leg;
            },
            abandon: connected.release,
          });
        },
        lost(reason) {
          if (!isOpen) reject(new DriverError('endpoint', `'${server}' cannot be reached: ${reason}`));
        },
      });
    });
  };

  const audioSocketDriver: Driver = {
    technology: audioSocket,
    /** `AudioSocket/host:port/uuid/c(slin)`; without a format the first of the request, or else `slin`. */
    open({ channelId, resource, formats }, report) {
      const [server = '', uuid = '', parameters = ''] = resource.split('/');
      const format = readOptions(parameters).get('c') || formats?.[0] || 'slin';
      const { request, name, variables } = audioSocketRequest(server, uuid, format, 'both');
      const leg = connect(channelId, request, { started: () => {}, lost: () => {} }).legFor(request.uuid, report);
      return { name, leg, variables };
    },
    resume() {
      throw new DriverError('data', 'a connection to a server ends with the process that made it');
    },
  };

  return {
    drivers: [audioSocketDriver],
    prepare: async (request) => (request.kind === 'rtp' ? prepareRtp(request) : prepareAudioSocket(request)),
  };
}
