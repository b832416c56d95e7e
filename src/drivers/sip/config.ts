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

/** Where an endpoint can be reached. Times in seconds are as on the wire, others in ms. */
export type AorConfig = FieldsOf<typeof aorAttributes> & {
  /** What phones register as (the user part of To), in any case of letters; the endpoint's name when left out. */
  name?: string;
  /** SIP URIs where the endpoint is without registering. */
  contacts: readonly string[];
};

/** A registrar that has to be told where an endpoint's calls are to come to. Times in seconds are as on the wire. */
export type RegistrationConfig = FieldsOf<typeof registrationAttributes> & {
  /** SIP URI of the registrar. */
  server: string;
};

/** What an endpoint is told of who calls it, or answers it. */
export type IdentityTelling = FieldsOf<typeof identityAttributes>;

/** What is told as usual. */
export const defaultIdentity: IdentityTelling = fieldsOf(identityAttributes, {});

/**
 * What Asterisk's words mean for calls that come in. In calls that we place, all but `no` say that we understand reliable
 * responses, and `required` asks for them.
 */
export const reliabilityOf = { no: 'no', yes: 'asked', peer_supported: 'able', required: 'required' } as const;

/** How calls of an endpoint are watched, in both directions. */
export function sessionTermsOf({ timers, sessionSeconds, shortestSessionSeconds }: EndpointConfig): SessionTerms {
  if (timers === 'no') return 'off';
  const wish = { seconds: Math.max(sessionSeconds, shortestSessionSeconds), minimum: shortestSessionSeconds };
  return { ...wish, ...(timers === 'required' && { required: true }), ...(timers === 'always' && { always: true }) };
}

/** What far sides are asked for of Opus, and how that is sent to them at most. */
export type OpusTerms = { wishes: OpusWishes; sending: OpusSending };

/** A phone or a trunk. Its plain attributes are those of {@link endpointAttributes}. */
export type EndpointConfig = FieldsOf<typeof endpointAttributes> & {
  /** What comes after `PJSIP/` in dial strings, and the user part of the AOR. */
  name: string;
  /** Dialplan context of its calls. */
  context: string;
  /** What it must know to register and to call. Without it only `match` lets its requests in. */
  auth?: { username: string } & EndpointSecret;
  /** What we answer when it asks us for a password; without `realm` whatever its realm is. */
  outboundAuth?: { username: string; realm?: string } & EndpointSecret;
  /** Source addresses or networks (`10.1.0.0/16`) whose requests are this endpoint's. */
  match: readonly string[];
  aor: AorConfig;
  /** In our order of preference; at least one. */
  codecs: readonly AudioCodec[];
  /** What it is asked for of Opus, and how that is sent to it; as everybody where left out. */
  opus?: OpusTerms;
  /** Of video, likewise; without any its calls have none. */
  videoCodecs: readonly VideoFormatName[];
  /** Caller id of its calls; without it what the phone says. */
  callerId?: Party;
  /** What it is told of who calls it. */
  identity: IdentityTelling;
  /** Where we register it. Without any, its calls are identified by other means. */
  registrations?: readonly RegistrationConfig[];
  /** What it may do; without it all that its context offers, from wherever its password is known. */
  allowance?: Allowance;
  /** Who carries out the transfers that it asks for. */
  transferHandling: TransferHandling;
  /** Mailboxes whose message counts it may watch; without any, the one of its own name. */
  mailboxes?: readonly string[];
  /** Variables that its calls have from the start. */
  variables?: Readonly<Record<string, string>>;
};

/** What the SIP driver is told by the configuration. */
export type SipConfig = {
  /** What holds of Opus for endpoints that say nothing; the stack's and the plane's own ways where left out. */
  opus?: OpusTerms | undefined;
  /** Value of User-Agent and Server, e.g. `Hookswitch/0.1.0`. */
  userAgent: string;
  /** Realm of our challenges. */
  realm: string;
  /**
   * Algorithms of our challenges, in their order. RFC 8760 wants the strongest first, but clients that know one
   * algorithm alone often read only the first challenge: hence MD5 leads unless configured otherwise.
   */
  algorithms: readonly DigestAlgorithm[];
  /** ms that a nonce of ours is good for. */
  nonceLifetimeMs: number;
  /** T1 and T2 in ms, as the transaction layer has them. */
  t1Ms: number;
  t2Ms: number;
  /** Our address as a peer sees it, to put into SDP instead of the media plane's own (behind a NAT); undefined: its own. */
  outside?: (peer: string | undefined) => string | undefined;
  /** Bounds on phones that watch something. Times in seconds are as on the wire. */
  subscriptions: {
    /** Subscriptions at once, in all and of one endpoint. */
    most: number;
    perEndpoint: number;
    minimumSeconds: number;
    maximumSeconds: number;
    /** ms between two times that a subscriber is told of changes. */
    intervalMs: number;
    /** Calls that one document tells of. */
    calls: number;
  };
  /** Redirections of one call, from its first caller on, after which it is forwarded no more. */
  mostRedirections: number;
  /** Places that one call may ring at, of those that a called proxy tells of. */
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
  /** ms that a party which asks for a transfer is told of it at most. */
  transferTimeoutMs: number;
  /**
   * How often a phone is told of new video streams at most, and how long further changes are waited for; how often it is asked
   * for a key frame by INFO at most. In ms.
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
