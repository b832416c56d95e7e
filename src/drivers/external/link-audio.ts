import { isIP } from 'node:net';
import type { Ids } from '../../lib/ids.ts';
import { type SrtpKeys, srtpSuites } from '../../lib/srtp.ts';
import type { LinkFormat, LinkPlace } from '../../models/bridge-link.ts';
import type { MediaPlane, MediaSession } from '../../telephony/media.ts';

type LinkAudioOptions = {
  media: Pick<MediaPlane, 'openRtp'>;
  ids: Pick<Ids, 'hex'>;
  /** Our address for other nodes; empty: that of the port. */
  address: string;
  /** Our address towards a peer, where a port is bound to all. */
  localAddress(peer: string): string;
};

/** Both ends are ours: any numbers of the dynamic range do (RFC 3551 section 3). */
const payloadType = 96;
const telephoneEvent = 101;
const suite = 'AES_CM_128_HMAC_SHA1_80';
const keyOctets = srtpSuites[suite].key + srtpSuites[suite].salt;

/** RTP clocks, in Hz, which events share (RFC 4733 2.4). */
const clockRates: Readonly<Record<LinkFormat, number>> = {
  ...{ ulaw: 8_000, alaw: 8_000, g722: 8_000, slin: 8_000, slin16: 16_000, opus: 48_000 },
};

/** Whether a port is bound to all addresses. */
const isAll = (address: string): boolean => address === '0.0.0.0' || address === '::';

function keysOf(local: string | undefined, remote: string | undefined): { srtp?: SrtpKeys } {
  if (local === undefined && remote === undefined) return {};
  if (local === undefined || remote === undefined)
    throw new Error('one node encrypts the audio and the other does not');
  if (Buffer.from(remote, 'base64').length !== keyOctets)
    throw new Error('the key of the other node has another length');
  return { srtp: { local: { suite, key: local }, remote: { suite, key: remote } } };
}

/**
 * Makes what opens the audio between two nodes: RTP with both places known from the start, encrypted if wanted (RFC 3711).
 * It rejects with an Error when no port is free.
 */
export const createLinkAudio =
  ({ media, ids, address: told, localAddress }: LinkAudioOptions) =>
  async (id: string, { near, secure }: { near?: string | undefined; secure: boolean }, lost: () => void) => {
    const session = await media.openRtp(`link-${id}`, (report) => {
      if (report.type === 'media.lost') lost();
    });
    const { address, port } = session.local;
    // An address in no network of ours: the first one that others reach.
    const reached = isAll(address) ? localAddress(near ?? '0.0.0.0') : address;
    const key = secure ? Buffer.from(ids.hex(2 * keyOctets), 'hex').toString('base64') : undefined;
    const place: LinkPlace = { address: told || reached, port, ...(key !== undefined && { key }) };
    return {
      place,
      session: session as MediaSession,
      /** @throws Error if the place cannot be used */
      start(remote: LinkPlace, codec: LinkFormat): void {
        if (!isIP(remote.address)) throw new Error(`'${remote.address}' is no address`);
        session.configure({
          remote: { address: remote.address, port: remote.port },
          ...{ fixedRemote: true, codec, payloadType, telephoneEvent, telephoneEventRate: clockRates[codec] },
          ...{ ptimeMs: 20, send: true, receive: true },
          ...keysOf(key, remote.key),
        });
      },
      received: async () => (await session.statistics())?.rxcount ?? 0,
      close: () => session.close(),
    };
  };
