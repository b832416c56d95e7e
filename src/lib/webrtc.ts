import type { IpVersion } from './addresses.ts';
import type { SrtpKeys } from './srtp.ts';

/** The digest of a certificate, as SDP says it (RFC 8122 section 5): its octets in hexadecimal. */
export type Fingerprint = { readonly hash: 'sha256' | 'sha384' | 'sha512'; readonly digest: string };

/** Which side of DTLS somebody is. */
export type DtlsRole = 'client' | 'server';

/** Name and password of one side's ICE (RFC 8839 5.4). The password proves checks: never log it. */
export type IceCredentials = { readonly ufrag: string; readonly password: string };

/** A candidate of ours beside the port's own address (RFC 8445 5.1.1). */
export type LocalCandidate =
  | {
      /** As a STUN server sees the port, or lent by a TURN server. */
      readonly type: 'srflx' | 'relay';
      readonly address: string;
      readonly port: number;
    }
  /** A port of the same address where we take connections by TCP (RFC 6544). */
  | { readonly type: 'tcp'; readonly port: number };

/** A candidate of the far side, by UDP (RFC 8839 5.1). */
export type RemoteCandidate = { readonly address: string; readonly port: number; readonly priority: number };

/** An address of the far side, and by what it is reached; left out: by UDP from our port. */
export type IceAddress = { readonly address: string; readonly port: number; readonly via?: 'relay' | 'tcp' };

/** A line that shares the transport of the audio (BUNDLE, RFC 9143). */
export type BundledLine = {
  /** Its name. */
  readonly mid: string;
  /** Number of the header extension with the mid of a packet. Without it, payload types distinguish packets. */
  readonly midExtension?: number;
  /** Its far side sends the picture in several sizes. */
  readonly simulcast?: Simulcast;
  /** Number of the header extension with the number of a packet in the transport: its far side hears when each came. */
  readonly transportExtension?: number;
  /** Number of the header extension with the time when a packet is sent: by that its far side estimates what it can take. */
  readonly sendTimeExtension?: number;
};

/** The sizes of a picture that a far side sends at once (RFC 8853), by their names. */
export type Simulcast = {
  readonly rids: readonly string[];
  /** Number of the header extension with the name of a packet's size (RFC 8852). */
  readonly ridExtension: number;
  /** The same for retransmissions (`repaired-rtp-stream-id`). Without it there are none in a stream of their own. */
  readonly repairedExtension?: number;
};

/** Payload types of retransmissions in a stream of their own (RFC 4588): as we send them, and as the far side does. */
export type RtxTypes = { readonly payloadType: number; readonly receivePayloadType: number };

/** The SSRC of our retransmissions of a stream: as random as that of the stream, and always another one. */
export const rtxSourceOf = (ssrc: number): number => (ssrc ^ 0x8000_0000) >>> 0;

/**
 * The keys that DTLS agreed on with a browser, and the address that ICE found. Another thread or process continues with
 * them, because the browser does not repeat its handshake. Never log it.
 */
export type EstablishedDtls = {
  /** Of the browser's certificate. */
  readonly fingerprint: Fingerprint;
  readonly keys: SrtpKeys;
  readonly source: IceAddress;
};

/** How packets of a browser come: ICE finds its address, DTLS gives the keys of SRTP, and RTCP shares the port. */
export type WebrtcTransport = {
  readonly local: IceCredentials;
  readonly remote: IceCredentials;
  readonly fingerprint: Fingerprint;
  /** Addresses that it may have: a TURN server lets packets of these through. */
  readonly places?: readonly string[];
  /** We are a full agent, and check these candidates of the far side; left out: we are lite (RFC 8445 2.5). */
  readonly checked?: readonly RemoteCandidate[];
  /** IP versions of the addresses that our port, and a relay of ours, can send to; left out: both. */
  readonly reach?: { readonly port?: IpVersion; readonly relay?: IpVersion };
  /** The far side is lite: it answers our checks, and makes none (RFC 8445 6.1.1). */
  readonly isFarLite?: true;
  /** The far side chooses the pair, unless a conflict of roles says otherwise. Left out: we do, if we are full. */
  readonly isControlled?: true;
  /** Which side of DTLS we are; left out: the server. */
  readonly role?: 'client';
  /** Left out before the handshake is over. */
  readonly established?: EstablishedDtls;
};
