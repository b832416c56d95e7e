import type { CommittedStep } from '../actors/step.ts';
import type { KeptActor } from '../actors/turn.ts';
import type { BridgeContext } from '../machines/bridge.ts';
import type { ChannelContext } from '../machines/channel.ts';
import { added, CallRecord, current } from './call-record.ts';
import { type Entry, type EventEntry, type Kept, readAll } from './entries.ts';
import { EntryList } from './entry-list.ts';
import { KeptStep, ObjectHistory, passOver } from './history.ts';
import { Journal, numberOf, type RowOwner, type Segment } from './journal.ts';
import type { Mask } from './masks.ts';
import { Queue } from './queue.ts';
import { readRow, rowsOf, writeEvent } from './rows.ts';

/** Bounds of what is kept. */
export type StoreLimits = {
  /** Entries of one call; the oldest go. */
  stepsPerCall: number;
  /** Octets in all, roughly. */
  octets: number;
  /** ms that calls are kept when they have ended. */
  keepEndedMs: number;
  /** Entries that belong to no call. */
  others: number;
};

/** SIP calls without a channel, and objects without a call, whose entries wait for one. */
const waitingLimit = 1_000;
/** Entries that wait for the same call. */
const waitingEach = 50;
/** Octets that a call takes beside its entries, roughly. */
const octetsOfCall = 2_000;

/** Charts whose objects are channels. */
const aboutChannel: ReadonlySet<string> = new Set(['channel', 'ownership', 'channelAudio', 'externalConnection']);

/** Part of the entries of a call that goes when it gets too long, and entries that go at once at most. */
const dropped = 0.25;
const mostDropped = 1_000;

/** How long events are kept for applications that come back, in ms, however short calls are kept. */
const leastMs = 600_000;

/** Part of the memory that entries of live calls may take when the journal has let go of them. */
const ownPart = 0.5;

/**
 * Sorts entries by calls and bounds them: each entry is in one call, or in the rest. Of a call that gets too long the
 * oldest entries go; when all together take too much, the calls go that ended and have the oldest entries, then the
 * oldest entries of live ones.
 */
export class CallStore {
  readonly #limits: StoreLimits;
  readonly #mask: () => Mask;
  /** What of calls, and of events of none, lies outside the heap. */
  readonly journal: Journal;
  /** Whose the events are that belong to no call. */
  readonly #nobody: RowOwner = { last: 0 };
  /** By id, former ids too; in the order in which calls began. */
  readonly #calls = new Map<string, CallRecord>();
  readonly #byChannel = new Map<string, CallRecord>();
  readonly #byObject = new Map<string, CallRecord>();
  readonly #bySipCall = new Map<string, CallRecord>();
  /** In the order in which they ended; some may be live again, or gone. */
  readonly #ended = new Queue<CallRecord>();
  readonly #waiting = new Map<string, Kept[]>();
  /** What belongs to no call. */
  readonly #others = new EntryList();
  /** The charts that run. */
  readonly living = new Set<ObjectHistory>();
  /** Octets of calls beside the journal, roughly. */
  #besides = 0;
  /** Octets of entries of calls that are not in the journal. */
  #own = 0;
  /** Calls that went before their time because all together took too much. */
  evicted = 0;

  constructor(limits: StoreLimits, mask: () => Mask) {
    this.#limits = limits;
    this.#mask = mask;
    this.journal = new Journal(
      limits.octets,
      (more) => this.octets + more <= limits.octets,
      (segment) => this.#retired(segment),
    );
  }

  /** Octets that all entries take, roughly. */
  get octets(): number {
    return this.journal.octets + this.#besides + this.#own + this.#others.octets;
  }

  /** Lets the oldest go until all take no more than they may. */
  makeRoom(): void {
    while (this.octets > this.#limits.octets) if (!this.journal.retire()) return;
  }

  /** Calls that are kept, oldest first. */
  calls(): CallRecord[] {
    return [...new Set(this.#calls.values())];
  }

  find(id: string): CallRecord | undefined {
    return this.#calls.get(id);
  }

  /** Everything that is kept, in order. */
  all(): Entry[] {
    const events = [...rowsOf(this.journal, this.#nobody.last)].map(([segment, place]) => readRow(segment, place));
    const lists = [...this.calls().map(({ entries }) => entries.kept()), events, this.#others.all()];
    // A request may be in several calls.
    return readAll([...new Set([...lists, ...this.#waiting.values()].flat())].sort((a, b) => a.order - b.order));
  }

  /** The call of a channel, of one that has ended too. */
  ofChannel(id: string): CallRecord | undefined {
    return this.#byChannel.get(id);
  }

  /** The call of another object, e.g. `bridge` and its id. */
  ofObject(chart: string, id: string): CallRecord | undefined {
    return this.#byObject.get(`${chart}:${id}`);
  }

  ofSipCall(callId: string): CallRecord | undefined {
    return this.#bySipCall.get(callId);
  }

  /** The call that a step belongs to; undefined when it belongs to none, or to none yet. */
  addStep(step: CommittedStep, actor: KeptActor): CallRecord | undefined {
    const history = this.#historyOf(step, actor);
    const known = callOf(history, step);
    const call = history.chart === 'channel' ? this.#callOfChannel(step, history, known) : (known ?? this.#found(step));
    if (!call) {
      this.#addLoose(step, history);
      return undefined;
    }
    const isNew = known === undefined;
    if (isNew) this.#assign(call, history);
    if (history.chart === 'channel' || history.chart === 'ownership') this.#trace(call, step, history);
    if (isNew && history.chart === 'channel') this.#takeChannel(call, step);
    call.entries.addStep(step, history);
    this.#added(call, step);
    return call;
  }

  /** An event of a call, or of none. @returns the piece of the journal where it is, as its newest row */
  addEvent(call: CallRecord | undefined, event: EventEntry): Segment {
    if (!call) return writeEvent(this.journal, this.#nobody, event);
    const segment = call.entries.addEvent(event);
    this.#added(call, event);
    return segment;
  }

  /** Adds an entry to a call. */
  put(call: CallRecord, entry: Kept): void {
    call.entries.add(entry);
    this.#added(call, entry);
  }

  #added(call: CallRecord, { order }: { readonly order: number }): void {
    call.changed = order;
    const { stepsPerCall } = this.#limits;
    if (call.entries.size > stepsPerCall)
      this.#cut(call, Math.min(mostDropped, Math.max(call.entries.size - stepsPerCall, stepsPerCall * dropped)));
  }

  /** Adds an entry that belongs to no call. */
  putOther(entry: Kept): void {
    this.#others.add(entry);
    if (entry.kind === 'step') entry.history.isLoose = true;
    while (this.#others.size > this.#limits.others) this.#dropOther();
  }

  /** Keeps an entry until its call is known; those that wait longest belong to none when there are too many. */
  wait(key: string, entry: Kept): void {
    const list = this.#waiting.get(key);
    if (list) {
      if (list.length === waitingEach) this.putOther(list.shift() as Kept);
      list.push(entry);
      return;
    }
    this.#waiting.set(key, [entry]);
    if (this.#waiting.size <= waitingLimit) return;
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#giveUp(oldest);
  }

  /** Lets go of calls that ended too long ago. @returns ids of those that went */
  expire(now: number): string[] {
    const went: string[] = [];
    const due = now - this.#limits.keepEndedMs;
    for (let call = this.#ended.first; call; call = this.#ended.first) {
      if (call.ended !== undefined && call.ended > due) break;
      this.#ended.shift();
      if (this.#forgetEnded(call)) went.push(call.id);
    }
    for (let piece = this.journal.oldest; piece; piece = this.journal.oldest) {
      if (piece.number(piece.first + piece.size - 1, numberOf.at) > Math.min(due, now - leastMs)) break;
      this.journal.retire();
    }
    return went;
  }

  /** Whether any call waits to be let go of. */
  get hasEnded(): boolean {
    return this.#ended.first !== undefined;
  }

  #historyOf(step: CommittedStep, actor: KeptActor): ObjectHistory {
    const noted = actor.note;
    const history =
      noted instanceof ObjectHistory && noted.keeper === this
        ? noted
        : new ObjectHistory(this, step.object, actor.machine, step.before, step.at);
    if (history !== noted) {
      actor.note = history;
      this.living.add(history);
    }
    const { value, status } = step.after;
    if (history.value !== value) {
      history.value = value;
      history.since = step.at;
    }
    if (status !== 'active') {
      history.ended = true;
      this.living.delete(history);
    }
    return history;
  }

  #assign(call: CallRecord, history: ObjectHistory): void {
    history.call = call;
    call.histories = added(call.histories, history);
    if (aboutChannel.has(history.chart)) return;
    this.#byObject.set(keyOf(history), call);
    // It was given up for lost, and is found now.
    if (history.isLoose) for (const entry of this.#others.take((each) => isOf(each, history))) this.put(call, entry);
    history.isLoose = false;
  }

  /** A step of what is in no call; some are in one later. */
  #addLoose(step: CommittedStep, history: ObjectHistory): void {
    const { chart, object, after } = step;
    const kept = new KeptStep(step, history);
    if (aboutChannel.has(chart)) this.wait(object, kept);
    else if (chart !== 'bridge') this.putOther(kept);
    else {
      const key = `bridge:${object}`;
      this.wait(key, kept);
      if (after.status !== 'active') this.#giveUp(key);
    }
  }

  /** What a channel's call gets that was there before the channel. */
  #takeChannel(call: CallRecord, { object, after }: CommittedStep): void {
    this.#byChannel.set(object, call);
    this.#take(call, object);
    const { protocolId } = after.context as ChannelContext;
    if (protocolId === '') return;
    this.#bySipCall.set(protocolId, call);
    call.sipCalls = added(call.sipCalls, protocolId);
    this.#take(call, `sip:${protocolId}`);
  }

  /** No call comes for what waits: it belongs to none. */
  #giveUp(key: string): void {
    const entries = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const each of entries) this.putOther(each);
  }

  /** The call of a channel, which its context names. */
  #callOfChannel(step: CommittedStep, history: ObjectHistory, own: CallRecord | undefined): CallRecord {
    const { linked } = step.after.context as ChannelContext;
    if (own && history.linked === linked.id) return own;
    history.linked = linked.id;
    let call = this.#calls.get(linked.id);
    if (own && own === call) return own;
    if (!call) {
      call = new CallRecord(linked.id, step.at, this.#mask(), this.journal);
      this.#calls.set(linked.id, call);
      this.#besides += octetsOfCall;
    }
    if (own) this.#merge(call, own);
    return call;
  }

  /** Gives a call what has waited for it. */
  #take(call: CallRecord, key: string): void {
    const entries = this.#waiting.get(key);
    if (!entries) return;
    this.#waiting.delete(key);
    for (const entry of entries) {
      if (entry.kind === 'step') this.#adopt(call, entry);
      this.put(call, entry);
    }
  }

  #adopt(call: CallRecord, { history, besides }: KeptStep): void {
    if (history.call !== call) this.#assign(call, history);
    // What begins is in nobody's hands; what was taken up may be.
    if (history.chart === 'ownership' && typeof besides === 'object') call.traceOwnership(history, besides);
  }

  #trace(call: CallRecord, step: CommittedStep, history: ObjectHistory): void {
    const wasLive = call.ended === undefined;
    call.trace(step, history);
    if (wasLive && call.ended !== undefined) this.#ended.push(call);
  }

  /** The call of what is no channel: that of what it is about. */
  #found(step: CommittedStep): CallRecord | undefined {
    const { chart, object } = step;
    if (aboutChannel.has(chart)) return this.#byChannel.get(object);
    const call = chart === 'bridge' ? this.#ofMembers(step) : this.#ofTarget(step);
    if (call) this.#take(call, `${chart}:${object}`);
    return call;
  }

  #ofMembers(step: CommittedStep): CallRecord | undefined {
    const { members } = step.after.context as BridgeContext;
    for (const { channelId } of members) {
      const call = this.#byChannel.get(channelId);
      if (call) return call;
    }
    return undefined;
  }

  #ofTarget(step: CommittedStep): CallRecord | undefined {
    const { targetUri } = step.after.context as { targetUri?: string };
    if (targetUri === undefined) return undefined;
    const colon = targetUri.indexOf(':');
    const id = targetUri.slice(colon + 1);
    return targetUri.startsWith('channel') ? this.#byChannel.get(id) : this.#byObject.get(`bridge:${id}`);
  }

  #merge(into: CallRecord, other: CallRecord): void {
    into.absorb(other);
    this.#besides -= octetsOfCall;
    this.#calls.set(other.id, into);
    for (const id of other.formerIds) this.#calls.set(id, into);
    for (const { id } of other.channels) this.#byChannel.set(id, into);
    for (const history of other.histories)
      if (!aboutChannel.has(history.chart)) this.#byObject.set(keyOf(history), into);
    for (const id of other.sipCalls) this.#bySipCall.set(id, into);
  }

  /* ---- Room ------------------------------------------------------------------------------------------------------- */

  /** Lets the oldest entries of a call go, and what is known of charts of which nothing is left. */
  #cut(call: CallRecord, count: number): void {
    this.#changeOwn(call, () => call.entries.drop(Math.ceil(count)));
    const left = new Set(call.entries.kept().flatMap((entry) => (entry.kind === 'step' ? [entry.history] : [])));
    for (const history of call.histories)
      if (history.ended && !left.has(history)) this.#byObject.delete(keyOf(history));
    call.histories = call.histories.filter((history) => !history.ended || left.has(history));
  }

  #changeOwn(call: CallRecord, change: () => void): void {
    const before = call.entries.ownOctets;
    change();
    this.#own += call.entries.ownOctets - before;
  }

  /** A piece of the journal goes: the calls with it that ended, but not what is live. */
  #retired(segment: Segment): void {
    for (const owner of segment.owners) if (owner !== this.#nobody) this.#leave(current(owner as CallRecord));
    if (this.#own + this.#others.octets > this.#limits.octets * ownPart) this.#shorten();
  }

  #leave(call: CallRecord): void {
    if (call.gone) return;
    if (call.ended === undefined) this.#changeOwn(call, () => call.entries.takeOut());
    else {
      this.#forget(call);
      this.evicted++;
    }
  }

  /** Entries outside the journal take too much: half of them go, of the oldest calls first. */
  #shorten(): void {
    const target = (this.#limits.octets * ownPart) / 2;
    for (let left = Math.ceil(this.#others.size / 2); left > 0; left--) this.#dropOther();
    for (const call of this.calls()) {
      if (this.#own + this.#others.octets <= target) return;
      if (call.entries.ownOctets > 0) this.#cut(call, call.entries.size / 2);
    }
  }

  #dropOther(): void {
    const entry = this.#others.shift();
    if (entry?.kind === 'step') passOver(entry);
  }

  /** False when it is live again, or part of another, or gone. */
  #forgetEnded(call: CallRecord): boolean {
    if (call.ended === undefined || call.into || call.gone) return false;
    this.#forget(call);
    return true;
  }

  #forget(call: CallRecord): void {
    call.gone = true;
    this.#besides -= octetsOfCall;
    this.#own -= call.entries.ownOctets;
    for (const id of [call.id, ...call.formerIds]) this.#calls.delete(id);
    for (const { id } of call.channels) this.#byChannel.delete(id);
    for (const history of call.histories) if (!aboutChannel.has(history.chart)) this.#byObject.delete(keyOf(history));
    for (const id of call.sipCalls) this.#bySipCall.delete(id);
  }
}

const isOf = (entry: Kept, history: ObjectHistory): boolean => entry.kind === 'step' && entry.history === history;

const keyOf = ({ chart, object }: ObjectHistory): string => `${chart}:${object}`;

/** The call that an object is in. When that has gone, with all the steps before this one, it is in none any more. */
function callOf(history: ObjectHistory, step: CommittedStep): CallRecord | undefined {
  if (!history.call) return undefined;
  const call = current(history.call);
  // Nobody else gives it one.
  if (!call.gone) return call as CallRecord;
  history.call = undefined;
  history.base = step.before;
  return undefined;
}
