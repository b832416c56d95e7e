import { guarded } from '../../lib/guard.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { TableWatch } from '../../machines/table-run.ts';
import type { IncomingCall } from '../../sip/dialog/incoming-call.ts';
import { addressOfHost } from '../../sip/dialog/locate.ts';
import type { OutgoingCall } from '../../sip/dialog/outgoing-call.ts';
import type { Stack } from '../../sip/dialog/stack.ts';
import type { UserAgent } from '../../sip/dialog/user-agent.ts';
import type { NameAddr } from '../../sip/message/name-addr.ts';
import type { Uri } from '../../sip/message/uri.ts';
import { isNowhere } from '../../sip/sdp/description.ts';
import type { SrtpPolicy } from '../../sip/sdp/sdes.ts';
import { candidateBound } from '../../sip/sdp/webrtc.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { MediaPlane, RtpSession } from '../../telephony/media.ts';
import type { Binding, Bindings } from './bindings.ts';
import type { EndpointConfig, SipConfig } from './config.ts';
import type { Endpoints } from './endpoints.ts';
import type { IdentityTokens } from './identity-tokens.ts';
import type { Legs, TellSubscriber } from './legs.ts';
import type { FindAddress } from './media-names.ts';

/** A text message between endpoints (RFC 3428). */
export type TextMessage = {
  /** URIs as in the message. */
  from: string;
  to: string;
  body: string;
  contentType: string;
  /** The endpoint it came from. */
  endpoint: string;
  /** Headers that are not SIP's own (`X-…`), by name as spelled. */
  headers: Readonly<Record<string, string>>;
};

/** The restored part of a call without leg: its owner, and the target of an outbound call. */
export type Departing = {
  endpoint: EndpointConfig;
  destination?: Destination;
};

/** Told of calls whose legs are gone before they are over. */
export interface Departures {
  keep(call: OutgoingCall | IncomingCall, about: Departing): void;
  /** The call is over. One that was not kept is ignored. */
  closed(call: OutgoingCall | IncomingCall): void;
}

/** One place to send an INVITE (or OPTIONS, MESSAGE) to. */
export type Destination = { uri: Uri; target: Target | undefined; routes: readonly NameAddr[] };

/** The places where other nodes of a cluster reach a phone. */
export interface PlacesElsewhere {
  /** This node. */
  readonly node: string;
  /** Whether the process of a node has ended, as far as this one knows. */
  isGone(node: string): boolean;
  /**
   * Asks the other nodes. It never rejects, and ends in bounded time.
   * @param found called for each node that reaches it, as its answer comes
   * @returns nodes that did not answer
   */
  find(
    asked: { endpoint: string; number?: string | undefined },
    found: (destinations: readonly Destination[]) => void,
  ): Promise<readonly string[]>;
  /** Whether others reach it, as far as they have told. */
  isReached(endpoint: string): boolean;
  /** Tells the other nodes that a phone has registered here, as {@link Moved}. */
  readonly tellMoved: (moved: Moved) => void;
  /** How many calls an endpoint has at the other nodes, as far as they have told. */
  calls(endpoint: string): number;
  /** Tells how many it has here. */
  tellCalls(endpoint: string, calls: number): void;
}

/** A phone that has registered, by what names it. */
export type Moved = Pick<Binding, 'endpoint' | 'uri' | 'outbound'>;

/** Services that legs and other parts of the driver share. */
export type Services = {
  config: SipConfig;
  stack: Stack;
  agent: UserAgent;
  media: MediaPlane;
  endpoints: Endpoints;
  bindings: Bindings;
  /** The leg of a channel has changed by itself: its port has opened. */
  changed(channelId: string): void;
  /** Of a cluster; undefined for a server on its own. */
  elsewhere: PlacesElsewhere | undefined;
  /** Legs that hold something: for leak checks, and for how many calls an endpoint has. */
  legs: Legs;
  /** Calls whose legs are gone before they are over. */
  departing: Departures;
  /** Signed identities of callers. */
  identityTokens: IdentityTokens;
  /** Reports a transfer to the sender of a REFER outside calls, by the key of its dialog; undefined when that has ended. */
  outsideSubscriber(key: string): TellSubscriber | undefined;
  /** Whether an extension is one of a list of extensions and patterns of the dialplan. */
  isAmong(extension: string, extensions: readonly string[]): boolean;
  messageReceived(message: TextMessage): void;
  /** Counts limits that were reached. */
  hit: LimitHit;
  /** Sees the charts of legs and subscriptions; undefined: nobody. */
  tables: TableWatch | undefined;
};

/** The host that we are for a peer. */
export const localHost = ({ stack, config }: Services, target: Target): string =>
  stack.transports.localAddress(target)?.host ?? config.realm;

/** The address of our audio: the configured one, else the port's, else the one that the peer knows. */
export function mediaAddress(
  services: Services,
  { local }: Pick<RtpSession, 'local'>,
  peer: Target | undefined,
): string {
  const configured = services.config.outside?.(peer?.address);
  if (configured !== undefined) return configured;
  // Audio leaves from here, also where the signalling goes through another node.
  return isNowhere(local.address) && peer ? localHost(services, { ...peer, via: undefined }) : local.address;
}

/** Whether {@link mediaAddress} differs from peer to peer. */
export const addressDependsOnPeer = ({ config }: Services, { local }: Pick<RtpSession, 'local'>): boolean =>
  isNowhere(local.address) || config.outside?.(undefined) !== undefined;

/** How audio with an endpoint is encrypted. */
export const encryptionOf = ({ webrtc, mediaEncryption }: EndpointConfig): SrtpPolicy['mode'] =>
  webrtc ? 'webrtc' : mediaEncryption;

/** Whether audio with an endpoint is secret, and where the keys come from. */
export const srtpPolicy = ({ stack, config, hit }: Services, endpoint: EndpointConfig): SrtpPolicy => ({
  mode: encryptionOf(endpoint),
  fingerprint: config.fingerprint,
  ice: config.ice,
  boundCandidates: candidateBound(config.iceCandidates, hit),
  random: (octets) => Buffer.from(stack.ids.hex(2 * octets), 'hex').toString('base64'),
});

/** Finds addresses of hosts that the descriptions of a channel name; one that has none is logged. */
export const mediaHosts =
  ({ stack }: Services, channel: string, isOver: () => boolean): FindAddress =>
  (host, version, found) => {
    const take = guarded(stack.log, 'taking the address of a host in SDP', (address: string | undefined) => {
      if (isOver()) return;
      if (address === undefined)
        stack.log.warn({ channel, host, version }, 'a host in SDP cannot be resolved: no media is sent to it');
      found(address);
    });
    // Never rejects: it catches the errors of what it awaits.
    void addressOfHost(stack, host, version).then(take);
  };

/** The name of a new channel of an endpoint. */
export const channelName = ({ stack }: Services, endpoint: EndpointConfig): string =>
  `PJSIP/${endpoint.name}-${stack.ids.hex(8)}`;

/** Whether an endpoint may call an extension, or have others call it: `allow.extensions` bounds it. */
export function mayCall(
  { isAmong }: Pick<Services, 'isAmong'>,
  { allowance }: EndpointConfig,
  extension: string,
): boolean {
  const { extensions = [] } = allowance ?? {};
  return extensions.length === 0 || isAmong(extension, extensions);
}

/** Whether an endpoint has as many calls as it may have, at all nodes of a cluster. */
export const isBusy = ({ legs, elsewhere }: Services, { name, allowance }: EndpointConfig): boolean =>
  (allowance?.calls ?? 0) > 0 && legs.of(name) + (elsewhere?.calls(name) ?? 0) >= allowance!.calls!;
