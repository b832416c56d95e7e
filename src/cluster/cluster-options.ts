import type { Narrow } from '../bus/delivery.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { TableWatch } from '../machines/table-run.ts';
import type { NodeFigures } from '../models/cluster-node.ts';
import type { ChosenId, Kind } from './claims.ts';
import type { RemoteRequest } from './forwards.ts';
import type { ClusterLink } from './link.ts';
import type { ClaimedName, NamedLink } from './named-link.ts';
import type { PhonesHere } from './phones.ts';
import type { createPresence } from './presence.ts';
import type { Readiness } from './registration-holders.ts';
import type { StateSource } from './replica.ts';
import type { StandIn } from './takeovers.ts';

/** Settings of a node; times in ms, sizes in octets. */
type ClusterSettings = {
  name: string;
  cluster: string;
  requestTimeoutMs: number;
  heartbeatMs: number;
  suspectAfterMs: number;
  awayAfterMs: number;
  /** Time without NATS after which this node is isolated; 0: never. */
  isolatedAfterMs: number;
  retryMs: number;
  /** How long this node waits to know the others before it registers at providers. */
  registerAfterMs: number;
  awaitMs: number;
  movedOctets: number;
  requests: number;
  octets: number;
  piece: number;
  streams: number;
  ids: number;
  nodes: number;
  /** Shared states of each node. */
  states: number;
};

/** The parts of the server that the cluster needs, given when the server has been built. */
export type Served = {
  /** Carries out a request of another node. */
  carryOut(request: RemoteRequest): Promise<Response>;
  /** Whether this node has an object. */
  isHere(kind: Kind, id: string): boolean;
  /** Whether this node has a channel of an id or a name. */
  hasChannel(channel: string): boolean;
  /** Whether a channel of this node is in the scope of a user, as another node has let it in. */
  seesChannel(user: object, channel: string): boolean;
  /** The objects of this node whose ids have no mark. */
  chosenIds(): ChosenId[];
  phones: PhonesHere;
  /** Uses up a ticket of a log-in that was made here; undefined for one that is not good. */
  redeem(digest: string): object | undefined;
  /** Answers another node about a bridge with members at both. It never rejects. */
  bridges(request: unknown): Promise<object>;
  /** The event filter of a user, as another node has let it in. */
  narrowOf(user: object): Narrow | undefined;
  figures(): NodeFigures;
  /** Whether it can hold registrations at providers. */
  readiness(): Readiness;
  /** Hears that NATS was not reached for `isolatedAfterMs`, and whenever it is reached. */
  isolated(is: boolean): void;
};

export type ClusterOptions = {
  settings: ClusterSettings;
  link: ClusterLink;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  applications: Parameters<typeof createPresence>[0]['applications'];
  /** The call (`linkedid`) of a channel of this node; undefined if there is no such channel. */
  callOf(channel: string): string | undefined;
  /** Resolves when the recorder has all events so far. */
  recorded(): Promise<void>;
  /** When the calls that it goes on with were saved, in ms since the Unix epoch. */
  savedAt?: number | undefined;
  /** Another server has the name of this node, and may go on with its calls. */
  overtaken?(): void;
  /** Goes on with the calls of other nodes that are lost; left out: it does not. */
  takesOver?: {
    afterMs: number;
    silentAfterMs: number;
    most: number;
    /** As {@link Takeovers} needs it. @param link reads the state of the node */
    start(node: string, claimed: ClaimedName, link: NamedLink): Promise<StandIn | undefined>;
  };
  /** The process, if it has the name already; else a new one. */
  process?: { epoch: string; term: number } | undefined;
  /** Makes a name that no process had before. */
  newId(): string;
  /** Counts a bound of `cluster` that was met. */
  hit(setting: string): void;
  /** The state that NATS keeps; left out: none. */
  replicated?: { source: StateSource; version: number; intervalMs: number; mostWaiting: number };
};
