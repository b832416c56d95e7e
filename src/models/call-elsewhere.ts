import type { Bridge } from './bridge.ts';
import type { Channel } from './channel.ts';

/** A call of a phone that a transfer names, as its technology names it (SIP: Call-ID and tags, RFC 3891). */
export type NamedCall = {
  /** Name of the endpoint whose far side asks. */
  endpoint: string;
  protocolId: string;
  localTag: string;
  remoteTag: string;
};

/** An answered call, and who is in it. */
export type CallSeen = {
  channel: Channel;
  bridge?: Bridge;
  /** The others in its bridge; none if another node of the cluster has the bridge. */
  others: Channel[];
};

/** A call at another node of the cluster. */
export type CallElsewhere = CallSeen & { node: string };
