import type { Chart, Snapshot } from '../actors/chart-run.ts';
import type { CommittedStep } from '../actors/step.ts';
import type { ChannelContext } from '../machines/channel.ts';
import { hasApplication, type OwnershipContext } from '../machines/ownership.ts';
import { type Entry, type Kept, readAll } from './entries.ts';
import { EntryList } from './entry-list.ts';
import type { Journal, RowOwner } from './journal.ts';
import { type KeptChart, passOver } from './kept-step.ts';
import { joined, type Mask } from './masks.ts';
import { readRow, rowsOf } from './rows.ts';

const none: readonly never[] = [];

/** Charts that are about a channel, whose id they bear. */
const aboutChannel: ReadonlySet<string> = new Set([
  ...['ownership', 'channelAudio', 'externalConnection', 'featureKeys', 'broadcastOffer'],
  ...['leg', 'localLeg', 'externalLeg', 'webrtcLeg', 'pendingMediaSession'],
  ...['earlyAudio', 'memberMusic', 'connectionCall', 'ownRefers', 'receivedRefers', 'pictureUpdates', 'trickle'],
]);

/**
 * How a chart belongs to a call. `channel`: it brings its call. `ownership`, `aboutChannel`: the channel's call.
 * `bridge`: the first member decides. `aboutBridge`: by the bridge's id. `aboutEither`: by the id of a channel or bridge.
 * `ofTarget`: its target's call. `none`: never (applications, contacts and the like).
 */
export type Role =
  | 'channel'
  | 'ownership'
  | 'aboutChannel'
  | 'bridge'
  | 'aboutBridge'
  | 'aboutEither'
  | 'ofTarget'
  | 'none';

/** How a chart comes into a call. */
export function roleOf(chart: string, { context }: Snapshot): Role {
  if (chart === 'channel' || chart === 'ownership' || chart === 'bridge') return chart;
  if (aboutChannel.has(chart)) return 'aboutChannel';
  if (chart === 'bridgeVideo') return 'aboutBridge';
  if (chart === 'mediaQueue') return 'aboutEither';
  return 'targetUri' in (context as object) ? 'ofTarget' : 'none';
}

/** One chart, running or ended: its data beside its steps, and its kept entries. */
export class ObjectHistory implements RowOwner, KeptChart {
  /** The keeper of its steps. */
  readonly keeper: object;
  readonly object: string;
  readonly machine: Chart;
  readonly role: Role;
  /** The snapshot before the first of its steps that is kept; undefined when that is its first one. */
  base: Snapshot | undefined;
  /** The call that it belongs to. */
  call: CallRecord | undefined;
  /** The one before it among those of its call. */
  before: ObjectHistory | undefined;
  /** Place of its newest row in the journal. */
  last = 0;
  /** Entries that the journal was about to drop. */
  taken: EntryList | undefined;
  /** Its number among running charts. */
  number = 0;
  /** How many entries of it are kept. */
  size = 0;
  /** The state it is in, and since when, in ms since the epoch. */
  value: Snapshot['value'] | undefined;
  since: number;
  /** When it ended, in ms since the epoch; undefined while it runs. */
  ended: number | undefined;
  /** All that was kept of it has gone: its next step is the first one again. */
  isLost = false;
  /** For channel and ownership charts: the last snapshot. */
  snapshot: Snapshot | undefined;
  /** Of a channel the id of the call that its last step named. */
  linked = '';
  /** For ownership charts: the applications that controlled the channel. */
  applications: readonly string[] = none;
  /** The request that the last step with one followed from, once that stands in its call. */
  request: string | undefined;

  constructor(keeper: object, machine: Chart, { object, before, after, at }: CommittedStep) {
    this.keeper = keeper;
    this.object = object;
    this.machine = machine;
    this.role = roleOf(machine.id, after);
    this.base = before;
    this.value = before?.value;
    this.since = at;
  }

  get chart(): string {
    return this.machine.id;
  }

  /** Its kept entries. */
  kept(journal: Journal): Kept[] {
    const kept = this.taken?.all() ?? [];
    for (const [segment, place] of rowsOf(journal, this.last)) kept.push(readRow(segment, place));
    return kept;
  }

  /** Takes what is kept of it out of the journal, which is about to let some of that go. */
  takeOut(journal: Journal): void {
    const rows = [...rowsOf(journal, this.last)];
    if (rows.length > 0) this.taken ??= new EntryList();
    for (const [segment, place] of rows.reverse()) this.taken?.add(readRow(segment, place));
    this.last = 0;
  }

  /** Drops all of its kept entries. */
  lose(): void {
    this.call = undefined;
    this.before = undefined;
    this.last = 0;
    this.taken = undefined;
    this.size = 0;
    this.isLost = true;
  }
}

/** A channel of a call, as its last steps left it. */
export type ChannelTrace = {
  readonly id: string;
  readonly value: Snapshot['value'];
  readonly context: ChannelContext;
  /** The application that controls it; '' for none. */
  readonly application: string;
  /** The application that did not take it; undefined once another one has. */
  readonly refusedBy: string | undefined;
  /** ms since the epoch; undefined while it is there. */
  readonly ended: number | undefined;
};

/**
 * The record of one call: of channels that belong together. During the call only its histories are noted. Its timeline
 * is computed on demand.
 */
export class CallRecord {
  readonly id: string;
  /** When its first channel came, in ms since the epoch. */
  began: number;
  /** When its last channel went; undefined while it is live. */
  ended: number | undefined;
  /** Other ids that it goes by: of calls that have become part of it. */
  readonly formerIds: string[] = [];
  /** The newest chart, linked to earlier ones: running ones, and ended ones with kept entries. */
  newest: ObjectHistory | undefined;
  /** Channels that are there. */
  live = 0;
  /** The call that it has become part of. */
  into: CallRecord | undefined;
  mask: Mask;
  /** Place in the order of the last thing that changed it. */
  changed = 0;
  /** Number of kept entries, and of dropped ones. */
  size = 0;
  dropped = 0;
  /** Whether it is no longer kept. */
  gone = false;
  /** The version of it that is on the disk: `changed` and the mask when it was written, and its place. */
  stored: { changed: number; mask: Mask; place: unknown } | undefined;
  readonly #journal: Journal;

  constructor(id: string, began: number, mask: Mask, journal: Journal) {
    this.id = id;
    this.began = began;
    this.mask = mask;
    this.#journal = journal;
  }

  /** Its kept entries in order: journal rows of each chart, and rows that the journal dropped during the call. */
  kept(): Kept[] {
    return this.histories.flatMap((history) => history.kept(this.#journal)).sort(byOrder);
  }

  /** Its kept entries in order, without masks. */
  all(): Entry[] {
    return readAll(this.kept());
  }

  /** Lets the oldest entries go. @returns the charts of which something is left */
  drop(count: number): Set<ObjectHistory> {
    const { histories } = this;
    for (const history of histories) history.takeOut(this.#journal);
    const all = histories
      .flatMap((history) => (history.taken?.all() ?? []).map((entry) => ({ entry, history })))
      .sort((a, b) => byOrder(a.entry, b.entry));
    for (const { entry, history } of all.splice(0, count)) {
      history.taken?.shift();
      if (entry.kind === 'step') passOver(entry);
      history.size--;
      this.size--;
      this.dropped++;
    }
    return new Set(all.map(({ history }) => history));
  }

  /** Its charts, oldest first. */
  get histories(): ObjectHistory[] {
    const found: ObjectHistory[] = [];
    for (let each = this.newest; each; each = each.before) found.push(each);
    return found.reverse();
  }

  /** Octets of entries that are not in the journal, roughly. */
  get ownOctets(): number {
    let octets = 0;
    for (let each = this.newest; each; each = each.before) octets += each.taken?.octets ?? 0;
    return octets;
  }

  /** Its channels, oldest first. */
  get channels(): ChannelTrace[] {
    const { histories } = this;
    const owners = new Map(histories.flatMap((each) => (each.role === 'ownership' ? [[each.object, each]] : [])));
    return histories.flatMap(({ role, object: id, snapshot, ended }) => {
      if (role !== 'channel' || !snapshot) return [];
      const { value, context } = snapshot;
      const owner = owners.get(id);
      const application = owner?.snapshot && hasApplication(owner.snapshot) ? (owner.applications.at(-1) ?? '') : '';
      const { refusedBy } = (owner?.snapshot?.context ?? {}) as Partial<OwnershipContext>;
      return [{ id, value, context, application, refusedBy, ended }];
    });
  }

  /** Applications that were in control of one of its channels. */
  get applications(): string[] {
    return [...new Set(this.histories.flatMap(({ applications }) => applications))];
  }

  /** A chart is part of it from now on, with what is kept of it. */
  take(history: ObjectHistory): void {
    history.call = this;
    history.before = this.newest;
    this.newest = history;
    this.size += history.size;
  }

  /** Keeps only some of its charts. */
  keepOnly(wanted: (history: ObjectHistory) => boolean): void {
    const kept = this.histories.filter(wanted);
    this.newest = undefined;
    for (const history of kept) {
      history.before = this.newest;
      this.newest = history;
    }
  }

  /** Makes another call part of this one. */
  absorb(other: CallRecord): void {
    for (const history of other.histories) this.take(history);
    other.newest = undefined;
    this.dropped += other.dropped;
    this.mask = joined(this.mask, other.mask);
    this.formerIds.push(other.id, ...other.formerIds);
    this.began = Math.min(this.began, other.began);
    this.live += other.live;
    if (this.live > 0) this.ended = undefined;
    this.changed = Math.max(this.changed, other.changed);
    other.into = this;
  }
}

/** The call that a call has become part of, or itself. */
export function current(call: CallRecord): CallRecord {
  let at = call;
  while (at.into) at = at.into;
  return at;
}

const byOrder = (a: Kept, b: Kept): number => a.order - b.order;
