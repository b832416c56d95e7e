import type { CommittedStep } from '../actors/step.ts';
import type { KeptActor } from '../actors/turn.ts';
import { Roster } from '../lib/slot-map.ts';
import type { BridgeContext } from '../machines/bridge.ts';
import type { ChannelContext } from '../machines/channel.ts';
import { callOf } from '../machines/channel-vocabulary.ts';
import type { OwnershipContext } from '../machines/ownership.ts';
import { CallRecord, ObjectHistory } from './call-record.ts';
import { type Entry, type EventEntry, type Kept, readAll } from './entries.ts';
import { Journal, numberOf, octetsOfRows, type RowOwner, type Segment } from './journal.ts';
import { type KeptStep, passOver } from './kept-step.ts';
import type { Mask } from './masks.ts';
import { readRow, rowsOf, writeEvent, writeRow, writeStep } from './rows.ts';

/** Bounds of what is kept. */
export type StoreLimits = {
  /** Entries of one call; the oldest go. */
  stepsPerCall: number;
  /** Octets in all, roughly. */
  octets: number;
  /** ms that calls are kept when they have ended. */
  keepEndedMs: number;
  /** Entries of what is never in a call, roughly. */
  others: number;
};

/** SIP calls without a channel whose entries wait for one. */
const waitingLimit = 1_000;
/** Entries that wait for the same channel. */
const waitingEach = 50;
/** Octets that a call takes beside its entries, roughly. */
const octetsOfCall = 2_000;

/** Share of a call's entries that is dropped when it gets too long, and most entries to drop in one go. */
const dropped = 0.25;
const mostDropped = 1_000;

/** How long events are kept for applications that come back, in ms, however short calls are kept. */
export const leastMs = 600_000;

/** Share of the memory for entries that the journal dropped during their call. */
const ownPart = 0.5;

/**
 * Keeps all entries, chained by chart, within bounds. The charts of each call are always known, at the cost of a few
 * words for each chart. A call's timeline is computed on demand. A call that gets too long loses its oldest entries.
 * When the memory is full, ended calls go first, those with the oldest entries before others. Then the oldest entries
 * of live calls go.
 */
export class CallStore {
  readonly #limits: StoreLimits;
  readonly #mask: (call: string) => Mask;
  /** Entries of calls, and events outside calls. */
  readonly journal: Journal;
  /** Entries that never belong to calls, so that they cannot displace calls. */
  readonly #rest: Journal;
  /** Whose the entries are that belong to nothing: of each journal. */
  readonly #nobody: RowOwner = { last: 0 };
  readonly #nobodyElse: RowOwner = { last: 0 };
  /** By id, former ids too; in the order in which calls began. */
  readonly #calls = new Map<string, CallRecord>();
  readonly #channels = new Map<string, ObjectHistory>();
  readonly #ofCharts: Readonly<Record<string, Map<string, ObjectHistory>>> = {
    bridge: new Map(),
    playback: new Map(),
    liveRecording: new Map(),
    application: new Map(),
  };
  readonly #bySipCall = new Map<string, ObjectHistory>();
  /** Charts about channels that have taken no step yet. */
  #early: ObjectHistory[] = [];
  /** Ended calls that are kept, in the order of their ends. */
  readonly #ended = new Set<CallRecord>();
  /** SIP messages whose channel may come. */
  readonly #waiting = new Map<string, Kept[]>();
  /** The charts that run. */
  readonly living = new Roster<ObjectHistory>();
  /** Octets of calls beside the journals, roughly. */
  #besides = 0;
  /** Octets of entries outside the journal. */
  #own = 0;
  /** Calls that went before their time because all together took too much. */
  evicted = 0;
  /** Calls that began. */
  begun = 0;

  constructor(limits: StoreLimits, mask: (call: string) => Mask) {
    this.#limits = limits;
    this.#mask = mask;
    this.journal = new Journal(
      limits.octets,
      (more) => this.octets + more <= limits.octets,
      (segment) => this.#retired(segment),
    );
    const octets = octetsOfRows(limits.others);
    this.#rest = new Journal(
      octets,
      (more) => this.#rest.octets + more <= octets,
      (segment) => this.#passOver(segment),
    );
  }

  /** Octets that all entries take, roughly. */
  get octets(): number {
    return this.journal.octets + this.#besides + this.#own + this.#rest.octets;
  }

  /** Drops the oldest entries until the memory is within its bound. */
  makeRoom(): void {
    while (this.octets > this.#limits.octets) if (!this.journal.retire()) return;
  }

  /** Drops all calls. @returns their number */
  letGo(): number {
    const calls = this.calls();
    for (const call of calls) this.#forget(call);
    return calls.length;
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
    const histories = new Set([...this.living, ...this.calls().flatMap((call) => call.histories)]);
    const kept = [...histories].flatMap(({ taken }) => taken?.all() ?? []);
    for (const journal of [this.journal, this.#rest])
      for (const { last } of journal.owners())
        for (const [segment, place] of rowsOf(journal, last)) kept.push(readRow(segment, place));
    // A request may be in several calls.
    const all = [...new Set([...kept, ...[...this.#waiting.values()].flat()])];
    return readAll(all.sort((a, b) => a.order - b.order));
  }

  /** The history of a channel, also of an ended one. */
  channel(id: string): ObjectHistory | undefined {
    return this.#channels.get(id);
  }

  /** The history of a bridge, playback or recording. */
  object(chart: 'bridge' | 'playback' | 'liveRecording' | 'application', id: string): ObjectHistory | undefined {
    return this.#ofCharts[chart]?.get(id);
  }

  /** The history of the channel of a SIP call. */
  sipCall(callId: string): ObjectHistory | undefined {
    return this.#bySipCall.get(callId);
  }

  /** The call of a channel, of one that has ended too. */
  ofChannel(id: string): CallRecord | undefined {
    return this.#channels.get(id)?.call;
  }

  /** Keeps a step. @returns what is kept of its chart */
  addStep(step: CommittedStep, actor: KeptActor): ObjectHistory {
    const noted = actor.note;
    const isKnown = noted instanceof ObjectHistory && noted.keeper === this;
    const history = isKnown ? noted : this.#begin(step, actor);
    if (history.isLost) this.#beginAgain(step, history);
    const { value, status } = step.after;
    if (history.value !== value) {
      history.value = value;
      history.since = step.at;
    }
    this.#look(step, history);
    if (history.role === 'none') writeStep(this.#rest, history, step, history);
    else {
      writeStep(this.journal, history, step, history);
      // The drop may have removed all of its entries.
      if (history.isLost) history.lose();
      else this.#added(history, step.order);
    }
    if (status !== 'active' && history.ended === undefined) this.#end(history, step.at);
    return history;
  }

  /** Keeps an event of an object, or of none. @returns the journal segment, whose newest row it is */
  addEvent(history: ObjectHistory | undefined, event: EventEntry): Segment {
    const segment = writeEvent(this.journal, history ?? this.#nobody, event);
    if (history) this.#added(history, event.order);
    return segment;
  }

  /** Keeps an entry with something. */
  put(history: ObjectHistory, entry: Kept): void {
    writeRow(this.journal, history, entry);
    this.#added(history, entry.order);
  }

  /** Keeps an entry that belongs to nothing. */
  putOther(entry: Kept): void {
    writeRow(this.#rest, this.#nobodyElse, entry);
  }

  /** Keeps an entry of a SIP call until its channel exists. Beyond the limit the oldest count as outside calls. */
  wait(callId: string, entry: Kept): void {
    const list = this.#waiting.get(callId);
    if (list) {
      if (list.length === waitingEach) this.putOther(list.shift() as Kept);
      list.push(entry);
      return;
    }
    this.#waiting.set(callId, [entry]);
    if (this.#waiting.size <= waitingLimit) return;
    const [oldest] = this.#waiting.keys();
    for (const each of this.#takeWaiting(oldest ?? '')) this.putOther(each);
  }

  /** Drops calls that ended too long ago. @returns their ids */
  letGoEnded(now: number): string[] {
    const went: string[] = [];
    const due = now - this.#limits.keepEndedMs;
    for (const call of this.#ended) {
      if (call.ended === undefined || call.ended > due) break;
      this.#forget(call);
      went.push(call.id);
    }
    return went;
  }

  /** Drops calls that ended too long ago, and events that no application can resume. @returns ids of the calls */
  expire(now: number): string[] {
    const went = this.letGoEnded(now);
    const due = now - Math.max(this.#limits.keepEndedMs, leastMs);
    for (let piece = this.journal.oldest; piece; piece = this.journal.oldest) {
      if (piece.number(piece.first + piece.size - 1, numberOf.at) > due) break;
      this.journal.retire();
    }
    return went;
  }

  /** Ended calls that are kept, in the order of their ends. */
  get endedCalls(): ReadonlySet<CallRecord> {
    return this.#ended;
  }

  /** Whether any ended call waits to be dropped. */
  get hasEnded(): boolean {
    return this.#ended.size > 0;
  }

  /* ---- Which call ------------------------------------------------------------------------------------------------- */

  #begin(step: CommittedStep, actor: KeptActor): ObjectHistory {
    const history = new ObjectHistory(this, actor.machine, step);
    actor.note = history;
    history.number = this.living.add(history);
    this.#ofCharts[history.chart]?.set(history.object, history);
    return history;
  }

  /** Its earlier entries were dropped with their call. */
  #beginAgain({ before }: CommittedStep, history: ObjectHistory): void {
    history.isLost = false;
    history.base = before;
    this.#ofCharts[history.chart]?.set(history.object, history);
  }

  /** Reads the call of a chart and its controlling application from a step. */
  #look(step: CommittedStep, history: ObjectHistory): void {
    const { role } = history;
    if (role === 'channel') {
      history.snapshot = step.after;
      const { linked } = step.after.context as ChannelContext;
      const call = callOf(linked);
      if (history.linked !== call) this.#link(step, history, call);
      return;
    }
    if (role === 'ownership') {
      history.snapshot = step.after;
      const { app } = step.after.context as OwnershipContext;
      const { applications } = history;
      if (app !== '' && applications.at(-1) !== app)
        history.applications = [...applications.filter((each) => each !== app), app];
    }
    if (history.call === undefined && role !== 'none') this.#found(step, history)?.take(history);
  }

  /** A channel is new in a call, which its context names. */
  #link(step: CommittedStep, history: ObjectHistory, id: string): void {
    history.linked = id;
    const own = history.call;
    let call = this.#calls.get(id);
    if (own && own === call) return;
    if (!call) {
      const { creationTime } = step.after.context as ChannelContext;
      call = new CallRecord(id, creationTime, this.#mask(id), this.journal);
      this.#calls.set(id, call);
      this.begun++;
      this.#besides += octetsOfCall;
    }
    if (own) this.#merge(call, own);
    else this.#takeChannel(call, step, history);
  }

  #takeChannel(call: CallRecord, { object, after }: CommittedStep, history: ObjectHistory): void {
    call.take(history);
    call.live++;
    if (call.ended !== undefined) this.#ended.delete(call);
    call.ended = undefined;
    this.#channels.set(object, history);
    for (const each of this.#early) if (each.object === object) call.take(each);
    this.#early = this.#early.filter((each) => each.call === undefined && each.ended === undefined && !each.isLost);
    const { protocolId } = after.context as ChannelContext;
    if (protocolId === '') return;
    this.#bySipCall.set(protocolId, history);
    for (const entry of this.#takeWaiting(protocolId)) this.put(history, entry);
  }

  #takeWaiting(callId: string): readonly Kept[] {
    const entries = this.#waiting.get(callId) ?? [];
    this.#waiting.delete(callId);
    return entries;
  }

  /** The call of a chart that is no channel: that of its object. */
  #found({ object, after }: CommittedStep, history: ObjectHistory): CallRecord | undefined {
    const { role } = history;
    if (role === 'bridge') return this.#ofMembers(after.context as BridgeContext);
    if (role === 'aboutBridge') return this.object('bridge', object)?.call;
    if (role === 'aboutEither') return this.ofChannel(object) ?? this.object('bridge', object)?.call;
    if (role === 'ofTarget') return this.#ofTarget((after.context as { targetUri: string }).targetUri);
    const call = this.ofChannel(object);
    if (!call && !this.#early.includes(history)) this.#early.push(history);
    return call;
  }

  #ofMembers({ members }: BridgeContext): CallRecord | undefined {
    for (const { channelId } of members) {
      const call = this.ofChannel(channelId);
      if (call) return call;
    }
    return undefined;
  }

  #ofTarget(targetUri: string): CallRecord | undefined {
    const colon = targetUri.indexOf(':');
    const id = targetUri.slice(colon + 1);
    return targetUri.startsWith('channel') ? this.ofChannel(id) : this.object('bridge', id)?.call;
  }

  #end(history: ObjectHistory, at: number): void {
    history.ended = at;
    this.living.remove(history.number);
    if (history.role === 'none') this.#unname(history);
    const { call } = history;
    if (history.role !== 'channel' || !call || --call.live > 0) return;
    call.ended = at;
    this.#ended.add(call);
  }

  #merge(into: CallRecord, other: CallRecord): void {
    into.absorb(other);
    this.#ended.delete(other);
    if (into.ended === undefined) this.#ended.delete(into);
    this.#besides -= octetsOfCall;
    this.#calls.set(other.id, into);
    for (const id of other.formerIds) this.#calls.set(id, into);
  }

  /* ---- Room ------------------------------------------------------------------------------------------------------- */

  #added(history: ObjectHistory, order: number): void {
    history.size++;
    const { call } = history;
    if (!call) return;
    call.changed = order;
    const { stepsPerCall } = this.#limits;
    if (++call.size > stepsPerCall)
      this.#cut(call, Math.min(mostDropped, Math.max(call.size - stepsPerCall, stepsPerCall * dropped)));
  }

  /** Lets the oldest entries of a call go, and what is known of charts of which nothing is left. */
  #cut(call: CallRecord, count: number): void {
    const before = call.ownOctets;
    const left = call.drop(Math.ceil(count));
    this.#own += call.ownOctets - before;
    call.keepOnly((history) => {
      const stays = history.ended === undefined || history.role === 'channel' || left.has(history);
      if (!stays) this.#unname(history);
      return stays;
    });
  }

  /** A piece of the journal goes: the calls with it that ended, but not what is live. */
  #retired(segment: Segment): void {
    for (const owner of segment.owners) if (owner instanceof ObjectHistory && !owner.isLost) this.#leave(owner);
    if (this.#own > this.#limits.octets * ownPart) this.#shorten();
  }

  #leave(history: ObjectHistory): void {
    const { call } = history;
    if (call && call.ended !== undefined) {
      this.#forget(call);
      this.evicted++;
    } else if (!call && history.ended !== undefined) this.#lose(history);
    else {
      const before = history.taken?.octets ?? 0;
      history.takeOut(this.journal);
      this.#own += (history.taken?.octets ?? 0) - before;
    }
  }

  /** Drops a segment outside calls: the rest of its charts continues after it. */
  #passOver(segment: Segment): void {
    for (const owner of segment.owners) {
      if (!(owner instanceof ObjectHistory)) continue;
      const rows = [...rowsOf(this.#rest, owner.last)].filter(([piece]) => piece === segment);
      for (const [piece, place] of rows.reverse()) passOver(readRow(piece, place) as KeptStep);
    }
  }

  /** Entries outside the journal take too much: half of them go, of the oldest calls first. */
  #shorten(): void {
    const target = (this.#limits.octets * ownPart) / 2;
    for (const call of this.calls()) {
      if (this.#own <= target) return;
      if (call.ownOctets > 0) this.#cut(call, call.size / 2);
    }
    for (const history of this.living) {
      if (this.#own <= target) return;
      if (!history.call && history.taken) this.#lose(history);
    }
  }

  #forget(call: CallRecord): void {
    call.gone = true;
    this.#ended.delete(call);
    this.#besides -= octetsOfCall;
    for (const id of [call.id, ...call.formerIds]) this.#calls.delete(id);
    for (const history of call.histories) this.#lose(history);
    call.newest = undefined;
  }

  /** Drops all entries of a chart. */
  #lose(history: ObjectHistory): void {
    this.#own -= history.taken?.octets ?? 0;
    this.#unname(history);
    history.lose();
  }

  /** Removes it from the index; its name may belong to another chart. */
  #unname(history: ObjectHistory): void {
    const { object, snapshot } = history;
    const names = history.role === 'channel' ? this.#channels : this.#ofCharts[history.chart];
    if (names?.get(object) === history) names.delete(object);
    const { protocolId = '' } = (snapshot?.context as Partial<ChannelContext> | undefined) ?? {};
    if (protocolId !== '' && this.#bySipCall.get(protocolId) === history) this.#bySipCall.delete(protocolId);
  }
}
