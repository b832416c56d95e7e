import type { CommittedStep } from '../actors/step.ts';
import type { BridgeContext } from '../machines/bridge.ts';
import type { ChannelContext } from '../machines/channel.ts';
import { CallRecord } from './call-record.ts';
import type { Entry } from './entries.ts';
import { EntryList } from './entry-list.ts';
import type { Mask } from './masks.ts';
import { Queue } from './queue.ts';

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

/** An object that runs: its chart's last step, and since when it is in its state. */
export type Living = { step: CommittedStep; since: number; call: CallRecord | undefined };

/** SIP calls without a channel, and objects without a call, whose entries wait for one. */
const waitingLimit = 1_000;
/** Entries that wait for the same call. */
const waitingEach = 50;
/** Octets that a call takes beside its entries, roughly. */
const octetsOfCall = 2_000;

/** When all together take too much, so much of the bound is left afterwards: room is made seldom, and much at once. */
const relieved = 0.9;

/** Charts whose objects are channels. */
const aboutChannel: ReadonlySet<string> = new Set(['channel', 'ownership', 'channelAudio', 'externalConnection']);

/**
 * Sorts entries by calls and bounds them: each entry is in one call, or in the rest. Of a call that gets too long the
 * oldest entries go; when all together take too much, the oldest ended call goes, then the oldest entries of live ones.
 */
export class CallStore {
  readonly #limits: StoreLimits;
  readonly #mask: () => Mask;
  /** By id, former ids too; in the order in which calls began. */
  readonly #calls = new Map<string, CallRecord>();
  readonly #byChannel = new Map<string, CallRecord>();
  readonly #byObject = new Map<string, CallRecord>();
  readonly #bySipCall = new Map<string, CallRecord>();
  /** In the order in which they ended; some may be live again, or gone. */
  readonly #ended = new Queue<CallRecord>();
  readonly #waiting = new Map<string, Entry[]>();
  /** What belongs to no call. */
  readonly others = new EntryList();
  /** The objects that run, by chart and id. */
  readonly living = new Map<string, Map<string, Living>>();
  #octets = 0;
  /** Beyond it room is made. */
  #relieveAt: number;
  /** Calls that went before their time because all together took too much. */
  evicted = 0;

  constructor(limits: StoreLimits, mask: () => Mask) {
    this.#limits = limits;
    this.#relieveAt = limits.octets;
    this.#mask = mask;
  }

  /** Octets that all entries take, roughly. */
  get octets(): number {
    return this.#octets;
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
    const lists = [...this.calls().map(({ entries }) => entries.all()), this.others.all(), ...this.#waiting.values()];
    // A request may be in several calls.
    return [...new Set(lists.flat())].sort((a, b) => a.order - b.order);
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
  addStep(step: CommittedStep): CallRecord | undefined {
    const living = this.#live(step);
    const { chart, object } = step;
    const isNew = chart === 'channel' && !this.#byChannel.has(object);
    const call = chart === 'channel' ? this.#callOf(step) : (living.call ?? this.#found(step));
    living.call = call;
    if (!call) {
      this.#addLoose(step);
      return undefined;
    }
    if (chart === 'channel' || chart === 'ownership') this.#trace(call, step);
    if (isNew) this.#takeChannel(call, step);
    this.put(call, step);
    return call;
  }

  /** A step of what is in no call; some are in one later. */
  #addLoose(step: CommittedStep): void {
    const { chart, object, status } = step;
    if (aboutChannel.has(chart)) this.wait(object, step);
    else if (chart !== 'bridge') this.putOther(step);
    else {
      const key = `bridge:${object}`;
      this.wait(key, step);
      if (status !== 'active') this.#giveUp(key);
    }
  }

  /** What a channel's call gets that was there before the channel. */
  #takeChannel(call: CallRecord, { object, context }: CommittedStep): void {
    this.#take(call, object);
    const { protocolId } = context as ChannelContext;
    if (protocolId === '') return;
    this.#bySipCall.set(protocolId, call);
    call.sipCalls.add(protocolId);
    this.#take(call, `sip:${protocolId}`);
  }

  /** Adds an entry to a call. */
  put(call: CallRecord, entry: Entry): void {
    const before = call.entries.octets;
    call.add(entry);
    const { stepsPerCall } = this.#limits;
    if (call.entries.size > stepsPerCall) call.entries.drop(call.entries.size - stepsPerCall);
    this.#octets += call.entries.octets - before;
    if (this.#octets > this.#relieveAt) this.#relieve();
  }

  /** Adds an entry that belongs to no call. */
  putOther(entry: Entry): void {
    const { others } = this;
    const before = others.octets;
    others.add(entry);
    if (others.size > this.#limits.others) others.drop(others.size - this.#limits.others);
    this.#octets += others.octets - before;
    if (this.#octets > this.#relieveAt) this.#relieve();
  }

  /** Keeps an entry until its call is known; those that wait longest belong to none when there are too many. */
  wait(key: string, entry: Entry): void {
    const list = this.#waiting.get(key);
    if (list) {
      if (list.length < waitingEach) list.push(entry);
      return;
    }
    this.#waiting.set(key, [entry]);
    if (this.#waiting.size <= waitingLimit) return;
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#giveUp(oldest);
  }

  /** No call comes for what waits: it belongs to none. */
  #giveUp(key: string): void {
    const entries = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const each of entries) this.putOther(each);
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
    return went;
  }

  /** Whether any call waits to be let go of. */
  get hasEnded(): boolean {
    return this.#ended.first !== undefined;
  }

  #live(step: CommittedStep): Living {
    const { chart, object } = step;
    let ofChart = this.living.get(chart);
    if (!ofChart) {
      ofChart = new Map();
      this.living.set(chart, ofChart);
    }
    const known = ofChart.get(object);
    const living = known ?? { step, since: step.at, call: undefined };
    if (known) {
      if (known.step.value !== step.value) known.since = step.at;
      known.step = step;
      while (known.call?.into) known.call = known.call.into;
    }
    if (step.status === 'active') {
      if (!known) ofChart.set(object, living);
    } else if (known) ofChart.delete(object);
    return living;
  }

  /** The call of a channel, which its context names. */
  #callOf(step: CommittedStep): CallRecord {
    const { linked } = step.context as ChannelContext;
    const own = this.#byChannel.get(step.object);
    let call = this.#calls.get(linked.id);
    if (own === call && own) return own;
    if (!call) {
      call = new CallRecord(linked.id, step.at, this.#mask());
      this.#calls.set(linked.id, call);
      this.#octets += octetsOfCall;
    }
    if (own) this.#merge(call, own);
    else this.#byChannel.set(step.object, call);
    return call;
  }

  /** Gives a call what has waited for it. */
  #take(call: CallRecord, key: string): void {
    const entries = this.#waiting.get(key);
    if (!entries) return;
    this.#waiting.delete(key);
    for (const entry of entries) {
      if (!('kind' in entry)) this.#adopt(call, entry);
      this.put(call, entry);
    }
  }

  #adopt(call: CallRecord, step: CommittedStep): void {
    const living = this.living.get(step.chart)?.get(step.object);
    if (living) living.call = call;
    if (step.chart === 'ownership') call.trace(step);
  }

  #trace(call: CallRecord, step: CommittedStep): void {
    const wasLive = call.ended === undefined;
    call.trace(step);
    if (wasLive && call.ended !== undefined) this.#ended.push(call);
  }

  /** The call of what is no channel: that of what it is about. */
  #found(step: CommittedStep): CallRecord | undefined {
    const { chart, object } = step;
    if (aboutChannel.has(chart)) return this.#byChannel.get(object);
    const call = chart === 'bridge' ? this.#ofMembers(step) : this.#ofTarget(step);
    if (!call) return undefined;
    const key = `${chart}:${object}`;
    this.#byObject.set(key, call);
    call.objects.add(key);
    this.#take(call, key);
    return call;
  }

  #ofMembers(step: CommittedStep): CallRecord | undefined {
    const { members } = step.context as BridgeContext;
    for (const { channelId } of members) {
      const call = this.#byChannel.get(channelId);
      if (call) return call;
    }
    return undefined;
  }

  #ofTarget(step: CommittedStep): CallRecord | undefined {
    const { targetUri } = step.context as { targetUri?: string };
    if (targetUri === undefined) return undefined;
    const colon = targetUri.indexOf(':');
    const id = targetUri.slice(colon + 1);
    return targetUri.startsWith('channel') ? this.#byChannel.get(id) : this.#byObject.get(`bridge:${id}`);
  }

  #merge(into: CallRecord, other: CallRecord): void {
    into.absorb(other);
    this.#octets -= octetsOfCall;
    this.#calls.set(other.id, into);
    for (const id of other.formerIds) this.#calls.set(id, into);
    for (const id of other.channels.keys()) this.#byChannel.set(id, into);
    for (const key of other.objects) this.#byObject.set(key, into);
    for (const id of other.sipCalls) this.#bySipCall.set(id, into);
  }

  /** Makes room: ended calls go, oldest first; then what is left is shortened, the oldest call first. */
  #relieve(): void {
    const { octets } = this.#limits;
    this.#makeRoom(octets * relieved);
    // Where live calls alone take that much, it is not tried again at every step.
    this.#relieveAt = Math.max(octets, this.#octets + octets * (1 - relieved));
    if (this.#octets <= octets * relieved) this.#relieveAt = octets;
  }

  #makeRoom(target: number): void {
    for (let call = this.#ended.shift(); call; call = this.#ended.shift()) {
      if (this.#forgetEnded(call)) this.evicted++;
      if (this.#octets <= target) return;
    }
    for (const { entries } of [{ entries: this.others }, ...this.#calls.values()]) {
      const before = entries.octets;
      entries.drop(Math.ceil(entries.size / 2));
      this.#octets += entries.octets - before;
      if (this.#octets <= target) return;
    }
  }

  /** False when it is live again, or part of another, or gone. */
  #forgetEnded(call: CallRecord): boolean {
    if (call.ended === undefined || call.into || this.#calls.get(call.id) !== call) return false;
    this.#forget(call);
    return true;
  }

  #forget(call: CallRecord): void {
    this.#octets -= call.entries.octets + octetsOfCall;
    for (const id of [call.id, ...call.formerIds]) this.#calls.delete(id);
    for (const id of call.channels.keys()) this.#byChannel.delete(id);
    for (const key of call.objects) this.#byObject.delete(key);
    for (const id of call.sipCalls) this.#bySipCall.delete(id);
  }
}
