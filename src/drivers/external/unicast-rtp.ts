import { isIP } from 'node:net';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { TableWatch } from '../../machines/table-run.ts';
import { Cause } from '../../telephony/causes.ts';
import { type Driver, DriverError, type Report } from '../../telephony/driver.ts';
import type { ExternalChannelRequest, ExternalDirection, PreparedExternal } from '../../telephony/external.ts';
import type { Codec, MediaPlane, MediaReport, RtpFlow, RtpSession } from '../../telephony/media.ts';
import { PendingSession } from '../pending-session.ts';
import { readCodec, readOptions, readServer } from './dial-string.ts';
import { ExternalLeg, type ExternalLegOptions, readExternalLeg } from './external-leg.ts';

export type UnicastRtpOptions = {
  media: Pick<MediaPlane, 'openRtp' | 'reopenRtp'>;
  ids: Ids;
  log: Logger;
  /** The address of a name. Rejects when there is none. */
  resolveHost(host: string): Promise<string>;
  /** Our address towards another one. */
  localAddress(peer: string): string;
  /** Hears variables of a channel that only became known when it was there already. */
  learned(channelId: string, variables: Readonly<Record<string, string>>): void;
  /** Sees the charts of legs; left out: nobody. */
  tables?: TableWatch | undefined;
};

/** Whether a port is bound to all addresses. */
const isAll = (address: string): boolean => address === '0.0.0.0' || address === '::';

/** RTP payload types: those of RFC 3551, else Asterisk's. */
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
/** L16 at 8 kHz has two numbers in Asterisk; one is sent, both are taken. */
const otherLinear = 11;

const technology = 'UnicastRTP';

function flowTo(remote: { address: string; port: number }, codec: Codec, direction: ExternalDirection): RtpFlow {
  return {
    remote,
    // Servers often receive on one socket and send from another.
    fixedRemote: true,
    codec,
    payloadType: payloadTypes[codec],
    ...(codec === 'slin' && { receivePayloadType: otherLinear }),
    ptimeMs: 20,
    send: direction !== 'in',
    receive: direction !== 'out',
  };
}

/** @param address where the far side reaches us. */
function variablesOf(address: string, { local: { port } }: RtpSession): Record<string, string> {
  return {
    UNICASTRTP_LOCAL_ADDRESS: address,
    UNICASTRTP_LOCAL_PORT: String(port),
    local_address: address,
    local_port: String(port),
  };
}

const hearFor =
  (leg: () => ExternalLeg | undefined) =>
  (report: MediaReport): void => {
    if (report.type === 'media.timedOut') leg()?.lose(Cause.recoveryOnTimerExpiry);
    else leg()?.hear(report);
  };

type LegOf = (id: string, parts: Pick<ExternalLegOptions, 'media' | 'format' | 'report' | 'state'>) => ExternalLeg;

/** Goes on with the stream of another process, at the same port. */
const resumeWith =
  ({ media, log, tables }: Pick<UnicastRtpOptions, 'media' | 'log' | 'tables'>, legOf: LegOf): Driver['resume'] =>
  (data, channelId, report) => {
    const { connection, state, media: from } = readExternalLeg(data);
    // Its server would go on sending to the address before.
    if (!from.local?.port) throw new DriverError('endpoint', 'its port is not here');
    let leg: ExternalLeg | undefined;
    const opening = media.reopenRtp(
      from,
      hearFor(() => leg),
    );
    const session = new PendingSession(channelId, opening, { log, tables }, (reason) => {
      log.warn({ channel: channelId, reason }, 'no audio can be sent to an external server');
      leg?.lose(Cause.temporaryFailure);
    });
    session.goOnFrom(from);
    leg = legOf(channelId, { media: session, format: readCodec(String(connection['format'])), report, state });
    return leg;
  };

/** Channels whose far side is a server that audio goes to and comes from over RTP, without any signalling. */
export function createUnicastRtp({ media, ids, log, resolveHost, localAddress, learned, tables }: UnicastRtpOptions) {
  /** Channel variables of the local port. If the port is bound to all addresses, the one that its far side reaches. */
  const variablesFor = (peer: string, session: RtpSession): Record<string, string> => {
    const { address } = session.local;
    return variablesOf(isAll(address) ? localAddress(peer) : address, session);
  };

  /** @throws DriverError (rejects) `resource`. */
  const addressOf = async (host: string): Promise<string> => {
    const address = isIP(host) ? host : await resolveHost(host).catch(() => undefined);
    if (address === undefined) throw new DriverError('resource', `there is no address of '${host}'`);
    return address;
  };

  /** @throws DriverError (rejects) `capacity`. */
  const openSession = (channelId: string, hear: (report: MediaReport) => void, near?: string): Promise<RtpSession> =>
    media.openRtp(channelId, hear, near).catch((error: unknown) => {
      throw new DriverError('capacity', (error as Error).message, { cause: error });
    });

  const legOf: LegOf = (id, parts) =>
    new ExternalLeg({
      ...parts,
      connection: { format: parts.format },
      protocolId: '',
      released: () => {},
      watched: { watch: tables, id },
    });

  const nameOf = (server: string): string => `${technology}/${server}-0x${ids.hex(12)}`;

  const driver: Driver = {
    technology,
    /**
     * `UnicastRTP/host:port/c(slin16)`; without a format the first of the request, or else `ulaw`. The channel is Up as
     * soon as there is a port, which its variables tell from then on.
     */
    open({ channelId, resource, formats, near }, report) {
      const [server = '', parameters = ''] = resource.split('/');
      const codec = readCodec(readOptions(parameters).get('c') || formats?.[0] || 'ulaw');
      const { host, port } = readServer(server);
      let leg: ExternalLeg | undefined;
      let address = '';
      const opening = addressOf(host).then((found) => {
        address = found;
        return openSession(
          channelId,
          hearFor(() => leg),
          near,
        );
      });
      const session = new PendingSession(channelId, opening, { log, tables }, (reason) => {
        log.warn({ channel: channelId, reason }, 'no audio can be sent to an external server');
        leg?.lose(Cause.temporaryFailure);
      });
      leg = legOf(channelId, { media: session, format: codec, report });
      session.whenOpen((opened) => {
        opened.configure(flowTo({ address, port }, codec, 'both'));
        learned(channelId, variablesFor(address, opened));
        leg.connect();
      });
      return { name: nameOf(server), leg };
    },
    resume: resumeWith({ media, log, tables }, legOf),
  };

  return {
    driver,
    /** Opens a port ahead of the channel. @throws DriverError (rejects) naming the part at fault. */
    async prepare({ channelId, server, format, direction }: ExternalChannelRequest): Promise<PreparedExternal> {
      const codec = readCodec(format);
      const { host, port } = readServer(server);
      const address = await addressOf(host);
      let leg: ExternalLeg | undefined;
      const session = await openSession(
        channelId,
        hearFor(() => leg),
      );
      session.configure(flowTo({ address, port }, codec, direction));
      return {
        technology,
        name: nameOf(server),
        variables: variablesFor(address, session),
        open(report: Report) {
          leg = legOf(channelId, { media: session, format: codec, report });
          leg.connect();
          return leg;
        },
        abandon: () => session.close(),
      };
    },
  };
}
