import type { OpusSending, OpusWishes, VideoFormatName } from '../../lib/formats.ts';
import {
  aorAttributes,
  endpointAttributes,
  type FieldsOf,
  fieldsOf,
  identityAttributes,
  type registrationAttributes,
} from '../../models/endpoint-attributes.ts';
import type { DigestAlgorithm } from '../../sip/auth/digest.ts';
import type { SessionTerms } from '../../sip/dialog/session-timer.ts';
import { defaultAnnounceDelayMs } from '../../sip/dialog/stack.ts';
import { defaultLocationLimits, type LocationLimits } from '../../sip/location/places.ts';
import type { FailoverTimes } from '../../sip/location/target-memory.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import type { TransferHandling } from '../../telephony/driver.ts';
import type { Party } from '../../telephony/party.ts';
import type { Allowance } from './allowance.ts';

/** A password, or H(username:realm:password) in hexadecimal (32 digits MD5, 64 digits SHA-256). */
export type EndpointSecret = { password: string } | { ha1: string };

/** Contacts of an endpoint. Times in seconds are as in the protocol, others in ms. */
export type AorConfig = FieldsOf<typeof aorAttributes> & {
  /** The user part of To in REGISTERs, in any letter case; default: the endpoint's name. */
  name?: string;
  /** SIP URIs where the endpoint is without registering. */
  contacts: readonly string[];
};

/** A registrar where an endpoint's contact is registered. Times in seconds are as in the protocol. */
export type RegistrationConfig = FieldsOf<typeof registrationAttributes> & {
  /** SIP URI of the registrar. */
  server: string;
};

/** Identity of callers and answering parties that an endpoint gets. */
export type IdentityTelling = FieldsOf<typeof identityAttributes>;

/** Default identity settings. */
export const defaultIdentity: IdentityTelling = fieldsOf(identityAttributes, {});

/**
 * Asterisk's words for inbound calls. In outbound calls all but `no` offer reliable responses, and `required` demands
 * them.
 */
export const reliabilityOf = { no: 'no', yes: 'asked', peer_supported: 'able', required: 'required' } as const;

/** How calls of an endpoint are watched, in both directions. */
export function sessionTermsOf({ timers, sessionSeconds, shortestSessionSeconds }: EndpointConfig): SessionTerms {
  if (timers === 'no') return 'off';
  const wish = { seconds: Math.max(sessionSeconds, shortestSessionSeconds), minimum: shortestSessionSeconds };
  return { ...wish, ...(timers === 'required' && { required: true }), ...(timers === 'always' && { always: true }) };
}

/** Opus parameters: requests to far sides, and limits of what is sent. */
export type OpusTerms = { wishes: OpusWishes; sending: OpusSending };

/** A phone or a trunk. Its plain attributes are those of {@link endpointAttributes}. */
export type EndpointConfig = FieldsOf<typeof endpointAttributes> & {
  /** The name after `PJSIP/` in dial strings, and the user part of the AOR. */
  name: string;
  /** Dialplan context of its calls. */
  context: string;
  /** Credentials that it must send to register and to call. Without them only `match` admits its requests. */
  auth?: { username: string } & EndpointSecret;
  /** Credentials that answer its challenges; without `realm` for any realm. */
  outboundAuth?: { username: string; realm?: string } & EndpointSecret;
  /** Source addresses or networks (`10.1.0.0/16`) whose requests are this endpoint's. */
  match: readonly string[];
  aor: AorConfig;
  /** In our order of preference; at least one. */
  codecs: readonly AudioCodec[];
  /** Its Opus parameters; left out: the general ones. */
  opus?: OpusTerms;
  /** Of video, likewise; without any its calls have none. */
  videoCodecs: readonly VideoFormatName[];
  /** Caller id of its calls; without it what the phone says. */
  callerId?: Party;
  /** Identity of callers that it gets. */
  identity: IdentityTelling;
  /** Its registrations at providers. Without any, its calls are identified by other means. */
  registrations?: readonly RegistrationConfig[];
  /** Its limits; left out: all extensions of its context, from anywhere with the password. */
  allowance?: Allowance;
  /** Who handles its transfers. */
  transferHandling: TransferHandling;
  /** Mailboxes whose message counts it may watch; without any, the one of its own name. */
  mailboxes?: readonly string[];
  /** Variables that its calls have from the start. */
  variables?: Readonly<Record<string, string>>;
};

/** Configuration of the SIP driver. */
export type SipConfig = {
  /** Opus parameters of endpoints without their own; left out: the defaults of stack and media plane. */
  opus?: OpusTerms | undefined;
  /** Value of User-Agent and Server, e.g. `Hookswitch/0.1.0`. */
  userAgent: string;
  /** Realm of our challenges. */
  realm: string;
  /**
   * Algorithms of our challenges, in order. RFC 8760 wants the strongest first, but clients that know one algorithm
   * often read only the first challenge. Hence MD5 is the default.
   */
  algorithms: readonly DigestAlgorithm[];
  /** Whether calls get 100 Trying at once, and not only after 200 ms without another response (RFC 3261 17.2.1). */
  tryingAtOnce?: boolean;
  /** ms that a nonce of ours is good for. */
  nonceLifetimeMs: number;
  /** T1 and T2 in ms, as the transaction layer has them. */
  t1Ms: number;
  t2Ms: number;
  /** SHA-256 of the certificate that browsers see, as SDP writes it. */
  fingerprint?: string;
  /** Our side of ICE with browsers; left out: lite. */
  ice?: 'lite' | 'full';
  /** Candidates of one browser that are taken. */
  iceCandidates: number;
  /** Our address as a peer sees it, to put into SDP instead of the media plane's own (behind a NAT); undefined: its own. */
  outside?: (peer: string | undefined) => string | undefined;
  /** Bounds on phones that watch something. Times in seconds are as on the wire. */
  subscriptions: {
    /** Subscriptions at the same time, in total and of one endpoint. */
    most: number;
    perEndpoint: number;
    minimumSeconds: number;
    maximumSeconds: number;
    /** Shortest interval between NOTIFYs to one subscriber, in ms. */
    intervalMs: number;
    /** Calls that one document lists. */
    calls: number;
  };
  /** Redirections of one call, from its first caller on, after which it is not forwarded again. */
  mostRedirections: number;
  /** Forked branches of one call that are followed. */
  mostBranches: number;
  /** Reliable provisional responses of one call that may wait for a PRACK. */
  waitingProvisional: number;
  /** How long servers that do not answer are waited for, and asked after others; how many are asked by a probe at a time. */
  failover: FailoverTimes & { readonly mostProbes: number };
  /** Bounds on what the DNS of one domain can make us ask and try. */
  location: LocationLimits;
  /** ms after its ACK that a call gets no re-INVITE which only tells who it is connected to. */
  announceDelayMs: number;
  /** Transfers of one call that may be under way at a time. */
  transfersPerCall: number;
  /** Longest time that a transferor gets progress reports, in ms. */
  transferTimeoutMs: number;
  /**
   * Limits of video renegotiation, in ms: the time to collect changes, the interval between renegotiations, and the
   * interval between INFO requests for key frames.
   */
  video: { delayMs: number; intervalMs: number; keyFrameIntervalMs: number };
  endpoints: readonly EndpointConfig[];
};

/** An AOR as an endpoint has it when nothing is said. */
export const defaultAor: AorConfig = { ...fieldsOf(aorAttributes, {}), contacts: [] };

/** An endpoint with everything but its name as usual. */
export const defaultEndpoint: Omit<EndpointConfig, 'name'> = {
  ...fieldsOf(endpointAttributes, {}),
  context: 'default',
  match: [],
  aor: defaultAor,
  codecs: ['ulaw', 'alaw'],
  videoCodecs: [],
  identity: defaultIdentity,
  transferHandling: 'core',
};

/** The driver's settings as usual; `endpoints` is empty. */
export const defaultSipConfig: SipConfig = {
  userAgent: 'Hookswitch',
  realm: 'hookswitch',
  algorithms: ['MD5', 'SHA-256'],
  nonceLifetimeMs: 300_000,
  t1Ms: 500,
  t2Ms: 4000,
  iceCandidates: 16,
  subscriptions: {
    most: 10_000,
    perEndpoint: 100,
    minimumSeconds: 60,
    maximumSeconds: 86_400,
    intervalMs: 1000,
    calls: 32,
  },
  mostRedirections: 5,
  mostBranches: 64,
  waitingProvisional: 8,
  failover: { patienceMs: 4_000, avoidMs: 180_000, mostProbes: 16 },
  location: defaultLocationLimits,
  announceDelayMs: defaultAnnounceDelayMs,
  transfersPerCall: 1,
  transferTimeoutMs: 60_000,
  video: { delayMs: 200, intervalMs: 2000, keyFrameIntervalMs: 1000 },
  endpoints: [],
};
