import { guarded } from '../lib/guard.ts';
import { SlotMap, valuesOf } from '../lib/slot-map.ts';
import { type ChannelContext, type ChannelSnapshot, type EndedBy, lifeOf } from '../machines/channel.ts';
import { failedFor } from '../machines/ownership.ts';
import type { CallOutcome } from '../models/call-outcome.ts';
import { Cause } from '../telephony/causes.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';
import { type CallLeg, mostApplications, mostCalled, mostRecordings } from './call-leg.ts';
import { firstLegOutcome, type LegFacts, legOutcome } from './call-outcome.ts';
import { type ChannelEntry, type ChannelFacts, snapshotOf } from './channel-entry.ts';
import type { Runtime } from './spawn.ts';

/** The end of a leg. */
export type CallEnd = {
  readonly at: number;
  readonly by: EndedBy;
  /** Q.850. */
  readonly cause: number;
  /** The technology's own: a SIP status. */
  readonly techCause: number | undefined;
  /** Its RTP, where it had any. */
  readonly quality: RtpStatistics | undefined;
  /** The reason of a failure that the cause does not show: the requested application was not connected. */
  readonly failure?: string | undefined;
  /** What became of the leg, the same as in the list of calls. */
  readonly outcome: CallOutcome;
  /** The channel's last context. */
  readonly last: ChannelContext;
};

/** Hears what becomes of calls. Nothing it throws harms a call. */
export interface CallListener {
  /** Whether it listens to internal legs too (halves of Local channels, snoops). Asked when a leg begins. */
  hearsInternal(): boolean;
  began?(leg: CallLeg): void;
  /** `channel`: as it is at the answer. */
  answered?(leg: CallLeg, channel: ChannelContext): void;
  /** It was answered in a process before this one, and goes on here. */
  resumed?(leg: CallLeg): void;
  /** It met an older call and belongs to that from now on; `was` is the call that it belonged to. */
  joined?(leg: CallLeg, was: string): void;
  entered?(leg: CallLeg, application: string): void;
  ended?(leg: CallLeg, end: CallEnd): void;
  /** A channel wanted to enter an application that is not connected. */
  refused?(channel: { channel: string; call: string }, application: string): void;
}

/** Makes legs of the facts of channels, on behalf of {@link CallListener}s. */
export interface CallStory {
  listen(listener: CallListener): void;
  /** A channel is in a bridge from now on, of which these recordings run. */
  bridged(channelId: string, recordings: readonly string[]): void;
  /** A recording of a channel or bridge has begun. */
  recorded(kind: 'channel' | 'bridge', id: string, name: string): void;
  /** The legs there are, or that of one channel, as plain JSON. */
  dump(channel?: string): CallLeg[];
  /** Legs that another process saved, before their channels are restored. */
  restore(legs: readonly CallLeg[]): void;
  /** Resolves when listeners have processed all ends so far. */
  settled(): Promise<void>;
}

/** Technologies without a far side outside the server. */
const internal = new Set(['Local', 'Snoop']);

const legOf = ({ context }: ChannelSnapshot, source: string | undefined): CallLeg => {
  const { caller, connected, dialplan, linked, endpoint, dialString } = context;
  const direction = context.origin === 'incoming' ? 'in' : 'out';
  const from = direction === 'in' || connected.number === '' ? caller : connected;
  return {
    channel: context.id,
    call: linked.id,
    name: context.name,
    technology: context.technology,
    endpoint: endpoint?.[1],
    direction,
    from: { number: from.number, name: from.name },
    to: direction === 'in' ? dialplan.exten : dialString,
    protocolId: context.protocolId,
    accountCode: context.accountCode,
    context: dialplan.context,
    source,
    startedAt: context.creationTime,
    answeredAt: undefined,
    applications: [],
    recordings: [],
  };
};

/** Creates the story of all calls, without listeners. */
export const createCallStory = (runtime: Pick<Runtime, 'clock' | 'log' | 'turn'>, facts: ChannelFacts): CallStory =>
  new Story(runtime, facts);

class Story implements CallStory {
  readonly #runtime: Pick<Runtime, 'clock' | 'log' | 'turn'>;
  readonly #listeners: CallListener[] = [];
  readonly #legs = new SlotMap<string, CallLeg>();
  readonly #entries = new SlotMap<string, ChannelEntry>();
  /** Of channels that are not there yet. */
  readonly #savedLegs = new Map<string, CallLeg>();
  readonly #ending = new Set<Promise<void>>();

  constructor(runtime: Pick<Runtime, 'clock' | 'log' | 'turn'>, facts: ChannelFacts) {
    this.#runtime = runtime;
    facts.on('ChannelCreated', (entry) => this.#created(entry));
    facts.on('ChannelStateChange', (entry) => this.#answered(entry));
    facts.on('StasisStart', (entry, { app }) => this.#entered(entry, app));
    facts.on('ChannelVarset', (entry, { variable, value }) => {
      if (variable === 'BRIDGEPEER') this.#bridgedWith(entry.id, value.split(',').filter(Boolean));
    });
    facts.on('call.joined', (entry) => this.#joined(entry));
    facts.on('application.missing', (entry, { app }) => this.#refused(entry, app));
    facts.on('channel.restored', (entry) => this.#restored(entry));
    facts.on('channel.gone', (entry, { last, crashed }) => this.#gone(entry, last, crashed));
  }

  listen(listener: CallListener): void {
    this.#listeners.push(listener);
  }

  bridged(channelId: string, recordings: readonly string[]): void {
    const leg = this.#legs.get(channelId);
    if (leg) for (const name of recordings) this.#add(leg, name);
  }

  recorded(kind: 'channel' | 'bridge', id: string, name: string): void {
    const own = kind === 'channel' ? this.#legs.get(id) : undefined;
    if (own) this.#add(own, name);
    if (kind === 'channel') return;
    for (const [channel, leg] of this.#legs) {
      const entry = this.#entries.get(channel);
      if (entry && snapshotOf(entry).context.bridgeId === id) this.#add(leg, name);
    }
  }

  dump(channel?: string): CallLeg[] {
    return valuesOf(this.#legs, channel);
  }

  restore(dumped: readonly CallLeg[]): void {
    for (const leg of dumped) this.#savedLegs.set(leg.channel, { ...leg });
  }

  async settled(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /* ---- Facts ------------------------------------------------------------------------------------------------------- */

  #created(entry: ChannelEntry): void {
    const leg = this.#begin(entry);
    if (!leg) return;
    this.#tellOf(leg, (listener) => listener.began?.(leg));
    this.#answered(entry);
  }

  #answered(entry: ChannelEntry): void {
    const current = snapshotOf(entry);
    const leg = lifeOf(current) === 'up' ? this.#legs.get(entry.id) : undefined;
    if (!leg || leg.answeredAt !== undefined) return;
    leg.answeredAt = this.#runtime.clock.now();
    leg.called = undefined;
    leg.codec = entry.leg.formats[0];
    leg.video = entry.leg.video?.streams[0]?.codec;
    this.#tellOf(leg, (listener) => listener.answered?.(leg, current.context));
  }

  #entered({ id }: ChannelEntry, app: string): void {
    const leg = this.#legs.get(id);
    if (!leg) return;
    if (!leg.applications.includes(app) && leg.applications.length < mostApplications) leg.applications.push(app);
    this.#tellOf(leg, (listener) => listener.entered?.(leg, app));
  }

  /** Who has left a bridge has no peers; its record names the last ones. */
  #bridgedWith(id: string, peers: string[]): void {
    const leg = this.#legs.get(id);
    if (leg && peers.length > 0) leg.peers = peers;
  }

  #joined(entry: ChannelEntry): void {
    const leg = this.#legs.get(entry.id);
    if (!leg) return;
    const was = leg.call;
    leg.call = snapshotOf(entry).context.linked.id;
    if (leg.call !== was) this.#tellOf(leg, (listener) => listener.joined?.(leg, was));
  }

  #refused(entry: ChannelEntry, application: string): void {
    const { linked } = snapshotOf(entry).context;
    this.#tell((listener) => listener.refused?.({ channel: entry.id, call: linked.id }, application));
  }

  #restored(entry: ChannelEntry): void {
    const isKnown = this.#savedLegs.has(entry.id);
    const leg = this.#begin(entry);
    // When it was answered is not known; now at the latest.
    if (leg && !isKnown && lifeOf(snapshotOf(entry)) === 'up') leg.answeredAt = this.#runtime.clock.now();
    if (leg?.answeredAt !== undefined) this.#tellOf(leg, (listener) => listener.resumed?.(leg));
  }

  /** The channel has ended; its leg is not released yet. */
  #gone({ id, leg: { media }, ownership }: ChannelEntry, { context }: ChannelSnapshot, crashed: boolean): void {
    const leg = this.#legs.get(id);
    if (!leg) return;
    this.#legs.delete(id);
    this.#entries.delete(id);
    const { refusedBy } = ownership.getSnapshot().context;
    const by = crashed ? 'fault' : (context.endedBy ?? 'server');
    const cause = crashed ? Cause.temporaryFailure : context.cause;
    const { techCause } = context;
    const { direction, answeredAt } = leg;
    const failure = refusedBy === undefined ? undefined : failedFor(refusedBy);
    const answered = answeredAt !== undefined;
    const facts = { direction, answered, ended: true, by, cause, sipStatus: techCause, failure } as const;
    const end = { by, cause, techCause, failure, at: this.#runtime.clock.now(), last: context };
    const outcome = this.#outcomeOf(leg, facts);
    const finish = (quality: RtpStatistics | undefined): void => {
      const told = { ...end, outcome, quality };
      this.#tellOf(leg, (listener) => listener.ended?.(leg, told));
    };
    if (internal.has(leg.technology)) return void finish(undefined);
    // Requested before the leg closes its session: the session answers earlier requests.
    const told = media.statistics().then(finish, () => finish(undefined));
    this.#ending.add(told);
    void told.then(() => this.#ending.delete(told));
  }

  /** The outcome of a leg. The first leg of a call has the call's outcome. */
  #outcomeOf({ channel, call, called = [] }: CallLeg, facts: LegFacts): CallOutcome {
    if (channel === call)
      return firstLegOutcome(
        facts,
        called.flatMap(({ outcome }) => outcome ?? []),
      );
    const outcome = legOutcome(facts);
    const first = this.#legs.get(call);
    if (first?.called) {
      const called = first.called.map((each) => (each.channel === channel ? { channel, outcome } : each));
      this.#setCalled(first, called);
    }
    return outcome;
  }

  #setCalled(first: CallLeg, called: CallLeg['called']): void {
    first.called = called;
    this.#runtime.turn.changed?.({ chart: 'channel', id: first.channel });
  }

  /* ---- Legs and listeners ------------------------------------------------------------------------------------------ */

  #begin(entry: ChannelEntry): CallLeg | undefined {
    const current = snapshotOf(entry);
    const before = this.#savedLegs.get(entry.id);
    this.#savedLegs.delete(entry.id);
    if (!this.#isWanted(current)) return undefined;
    const leg = before ?? legOf(current, entry.leg.source);
    this.#legs.set(leg.channel, leg);
    this.#entries.set(leg.channel, entry);
    const first = leg.channel === leg.call ? undefined : this.#legs.get(leg.call);
    const { answeredAt, called = [] } = first ?? {};
    // A restored leg is in the list of its saved first leg.
    if (first && !before && answeredAt === undefined && called.length < mostCalled)
      this.#setCalled(first, [...called, { channel: leg.channel }]);
    return leg;
  }

  #isWanted({ context }: ChannelSnapshot): boolean {
    if (this.#listeners.length === 0) return false;
    return !internal.has(context.technology) || this.#listeners.some((listener) => listener.hearsInternal());
  }

  #add(leg: CallLeg, name: string): void {
    if (leg.recordings.includes(name) || leg.recordings.length >= mostRecordings) return;
    leg.recordings.push(name);
    this.#runtime.turn.changed?.({ chart: 'channel', id: leg.channel });
  }

  #tell(what: (listener: CallListener) => void): void {
    const { log } = this.#runtime;
    for (const listener of this.#listeners) guarded(log, 'telling of a call', () => what(listener))();
  }

  /** Notifies the listeners that follow this kind of leg. */
  #tellOf(leg: CallLeg, what: (listener: CallListener) => void): void {
    this.#tell((listener) => {
      if (!internal.has(leg.technology) || listener.hearsInternal()) what(listener);
    });
  }
}
