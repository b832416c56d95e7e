import { channelTopics } from '../bus/topics.ts';
import type { Ids } from '../lib/ids.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { ChannelContext, ChannelInput, OnAnswer } from '../machines/channel.ts';
import type { PhaseChange } from '../machines/lifecycle.ts';
import type { OwnershipInput } from '../machines/ownership.ts';
import type { CallHost, Driver, Leg } from '../telephony/driver.ts';
import { type CallPolicy, ownCallPolicy } from './call-policy.ts';
import type { CalledChannels } from './calls.ts';
import type { ChannelAudio } from './channel-audio.ts';
import {
  type AttachedRequest,
  type ChannelCreation,
  createChannelCreation,
  type OutboundRequest,
  type StartOptions,
} from './channel-creation.ts';
import { bindChannelEffects, holdTurn, resumeOwnership, stopDialplan } from './channel-effects.ts';
import {
  type ChannelApplications,
  type ChannelEndpoints,
  type ChannelEntry,
  type ChannelFacts,
  type ChannelMessage,
  type ChannelPlaybacks,
  deliver,
  type LegOf,
  snapshotOf,
} from './channel-entry.ts';
import { createChannelPublisher } from './channel-events.ts';
import type { ChannelViews } from './channel-views.ts';
import type { ChannelDump } from './dumps.ts';
import type { Recordings } from './recordings.ts';
import { Registry } from './registry.ts';
import { type Beginning, type Runtime, spawn } from './spawn.ts';
import { StepJournal } from './step-journal.ts';

type ChannelsOptions = {
  bus: Parameters<typeof createChannelPublisher>[0]['bus'];
  runtime: Runtime;
  ids: Ids;
  /** Gets all facts of channels. */
  facts: ChannelFacts;
  views: ChannelViews;
  audio: ChannelAudio;
  /** Which channels are of one call. */
  calls: CalledChannels;
  applications: ChannelApplications;
  playbacks: ChannelPlaybacks;
  endpoints: ChannelEndpoints;
  /** Recordings to complete before a channel's end is published; left out: there are none. */
  recordings?: Pick<Recordings, 'whenSettled'>;
  /** Default language of channels. */
  defaultLanguage: string;
  policy?: CallPolicy;
  /** Live channels that there may be, with so many here. Left out: any number. */
  limit?: { isReached(channels: number): boolean; hit(): void } | undefined;
};

/** The running channels: finds them, makes them, and delivers messages to their charts. */
export interface Channels extends CallHost {
  addDriver(driver: Driver): void;
  find(id: string): ChannelEntry | undefined;
  /** By id, else by name. */
  findByIdOrName(id: string): ChannelEntry | undefined;
  /** @throws AriError channelNotFound. */
  get(id: string): ChannelEntry;
  all(): ChannelEntry[];
  readonly size: number;
  tell(entry: ChannelEntry, message: ChannelMessage): void;
  /** An id that no channel has. */
  freshId(): string;
  /** Makes an outbound channel, and its companion, without dialing. @throws DriverError, AriError channelIdExists. */
  openOutbound(request: OutboundRequest): ChannelEntry;
  /** Why no channel is made now, of a new call or of one that is there; undefined: it is. */
  refusal(isNewCall: boolean): ReturnType<ChannelCreation['refusal']>;
  /** Makes a channel that is Up from the start, without a call behind it. @throws AriError serviceUnavailable. */
  attach(request: AttachedRequest): ChannelEntry;
  /** From now on no channels of new calls (`cordon`), no new channels at all (`drain`), or all again (`uncordon`). */
  enter(change: PhaseChange): void;
}

/** The same channels for a snapshot of call control. */
export interface SavedChannels {
  /** Every channel, in the order in which they were made. */
  dump(id?: string): ChannelDump[];
  /** One member of a channel's dump; empty if it has none, or has ended. */
  dumpPart(id: string, part: ChannelPart): readonly unknown[];
  /** Restores channels, each with the leg that `legOf` gives it. No events are published, no effects run. */
  restore(dumps: readonly ChannelDump[], legOf: LegOf): void;
  /** Begins again what runs outside of charts: the dialplan's step under way, the question to an application. */
  resume(): void;
}

/** Creates the owner of all channels. */
export const createChannels = (options: ChannelsOptions): Channels & SavedChannels => new ChannelOwner(options);

/** Hangs up every channel. */
export function hangupAll(channels: Pick<Channels, 'all' | 'tell'>, cause: number): void {
  for (const entry of channels.all()) channels.tell(entry, { type: 'hangup', cause, by: 'server' });
}

/** Resolves when no channel is left. */
export function whenIdle(channels: Pick<Channels, 'size'>, facts: ChannelFacts): Promise<void> {
  if (channels.size === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const unsubscribe = facts.on('channel.gone', () => {
      if (channels.size > 0) return;
      unsubscribe();
      resolve();
    });
  });
}

/** Opens a channel's leg, starts its charts, performs their effects, and releases everything at its end. */
class ChannelOwner implements Channels, SavedChannels {
  readonly #options: ChannelsOptions;
  readonly #registry = new Registry<ChannelEntry>('channelNotFound');
  readonly #names = new SlotMap<string, ChannelEntry>();
  readonly #charts: ReturnType<typeof bindChannelEffects>;
  readonly #creation: ChannelCreation;

  constructor(options: ChannelsOptions) {
    const { facts, runtime, ids, recordings, defaultLanguage, policy = ownCallPolicy, limit } = options;
    this.#options = options;
    const find = (id: string) => this.find(id);
    this.#charts = bindChannelEffects({ ...options, find, policy });
    this.#creation = createChannelCreation({
      ...{ find, facts, ids, defaultLanguage, policy },
      start: (...asked) => this.#start(...asked),
      whenSettled: (id, then) => (recordings ? recordings.whenSettled('channel', id, then) : then()),
      now: () => runtime.clock.now(),
      ...(limit && { limit: { isReached: () => limit.isReached(this.size), hit: limit.hit } }),
    });
    facts.all(createChannelPublisher({ ...options, find, policy }));
  }

  find(id: string): ChannelEntry | undefined {
    return this.#registry.find(id);
  }

  findByIdOrName(id: string): ChannelEntry | undefined {
    return this.#registry.find(id) ?? this.#names.get(id);
  }

  get(id: string): ChannelEntry {
    return this.#registry.get(id);
  }

  all(): ChannelEntry[] {
    return this.#registry.all();
  }

  get size(): number {
    return this.#registry.size;
  }

  tell(entry: ChannelEntry, message: ChannelMessage): void {
    deliver(entry, message);
    if (message.type === 'linked.set') this.#options.facts.publish(entry, { type: 'call.joined' });
    if (message.type === 'bridge.entered') this.#options.facts.publish(entry, message);
  }

  incoming(call: Parameters<CallHost['incoming']>[0]): boolean {
    return this.#creation.incoming(call);
  }

  addDriver(driver: Driver): void {
    this.#creation.addDriver(driver);
  }

  refusal(isNewCall: boolean): ReturnType<ChannelCreation['refusal']> {
    return this.#creation.refusal(isNewCall);
  }

  freshId(): string {
    return this.#creation.freshId();
  }

  openOutbound(request: OutboundRequest): ChannelEntry {
    return this.#creation.openOutbound(request);
  }

  attach(request: AttachedRequest): ChannelEntry {
    return this.#creation.attach(request);
  }

  enter(change: PhaseChange): void {
    this.#creation.enter(change);
  }

  /* ---- Snapshot ---------------------------------------------------------------------------------------------------- */

  dump(id?: string): ChannelDump[] {
    return (id === undefined ? this.all() : [this.find(id)]).flatMap((entry) =>
      entry ? [dumpChannel(entry, this.#options.audio)] : [],
    );
  }

  dumpPart(id: string, part: ChannelPart): readonly unknown[] {
    const entry = this.find(id);
    const value = entry && dumpPart[part](entry, this.#options.audio);
    return value === undefined ? [] : [value];
  }

  restore(dumps: readonly ChannelDump[], legOf: LegOf): void {
    const { audio, endpoints, facts } = this.#options;
    for (const { life, ownership, audio: sound, companionId, subroutines = [], step, leg } of dumps) {
      const context = life.context as ChannelContext;
      const restored = legOf(context, this.#creation.reportTo(context.id), leg);
      const entry = makeEntry(context, { leg: restored, journal: this.#journal(context.id), companionId });
      entry.subroutines.push(...subroutines);
      if (step) entry.journal.restore(step);
      this.#startOwnership(entry, { from: ownership });
      this.#startLife(entry, { from: life });
      if (sound) audio.restore(entry, sound);
      holdTurn(entry, this.#charts.turns);
      if (context.endpoint) endpoints.channelAdded(...context.endpoint, entry.id);
      facts.publish(entry, { type: 'channel.restored' });
    }
  }

  resume(): void {
    for (const entry of this.all()) resumeOwnership(entry, this.#options, this.#charts.turns);
  }

  /* ---- Charts ------------------------------------------------------------------------------------------------------ */

  /** Starts both charts of a channel. Ownership first: it publishes nothing before the channel's creation. */
  #start(input: ChannelInput, leg: Leg, { onAnswer, companionId, dialer }: StartOptions = {}): ChannelEntry {
    const entry = makeEntry(input, { leg, journal: this.#journal(input.id), companionId, dialer });
    this.#startOwnership(entry, { input: ownershipInput(input, onAnswer) });
    this.#startLife(entry, { input });
    return entry;
  }

  #journal(id: string): StepJournal {
    const { clock, turn } = this.#options.runtime;
    return new StepJournal(
      () => clock.now(),
      () => turn.changed?.({ chart: 'step', id }),
    );
  }

  #startOwnership(entry: ChannelEntry, beginning: Beginning<OwnershipInput>): void {
    const { runtime, facts } = this.#options;
    entry.ownership = spawn(this.#charts.ownership, {
      id: entry.id,
      ...beginning,
      runtime,
      onEmitted: (fact) => facts.publish(entry, fact),
      onEffectFailed: (error) => this.#effectFailed(entry, error),
      onEnded: (error) => {
        if (error !== undefined) entry.actor.send({ type: 'effect.failed' });
      },
    });
  }

  #startLife(entry: ChannelEntry, beginning: Beginning<ChannelInput>): void {
    const { runtime, facts } = this.#options;
    spawn(this.#charts.life, {
      id: entry.id,
      ...beginning,
      runtime,
      onCreated: (actor) => {
        entry.actor = actor;
        this.#registry.add(entry.id, entry);
        this.#names.set(entry.name, entry);
      },
      onEmitted: (fact) => facts.publish(entry, fact),
      onChanged: (snapshot) => {
        if (facts.isHeard(entry.id)) facts.publishTo(entry, { type: 'channel.changed', snapshot });
      },
      onEffectFailed: (error) => this.#effectFailed(entry, error),
      onEnded: (error) => this.#ended(entry, error !== undefined),
    });
  }

  #effectFailed(entry: ChannelEntry, error: unknown): void {
    const { log } = this.#options.runtime;
    log.error({ channel: entry.id, error }, 'an effect of a channel failed; the channel is hung up');
    deliver(entry, { type: 'effect.failed' });
  }

  #ended(entry: ChannelEntry, crashed: boolean): void {
    const { facts, playbacks, audio } = this.#options;
    // After a crash the owner still learns that the channel left. After a regular end this has no effect.
    if (crashed) {
      this.#charts.depart(entry);
      entry.ownership.send({ type: 'leg.ended' });
    }
    this.#registry.remove(entry.id);
    this.#names.delete(entry.name);
    stopDialplan(entry);
    playbacks.targetGone('channel', entry.id);
    audio.gone(entry.id);
    facts.publish(entry, { type: 'channel.gone', last: snapshotOf(entry), crashed });
    facts.forget(entry.id);
    entry.leg.release();
  }
}

const ownershipInput = ({ id, dialplan, origin }: ChannelInput, onAnswer: OnAnswer | undefined): OwnershipInput => {
  const { context, exten: extension, priority } = dialplan;
  return {
    id,
    start: { context, extension, priority },
    ...(onAnswer ? { onAnswer } : {}),
    ...(origin === 'attached' ? { attached: true } : {}),
  };
};

/** A member of a channel's dump, which changes apart from the others. */
export type ChannelPart = keyof ChannelDump;

type DumpPart<P extends ChannelPart> = (entry: ChannelEntry, audio: ChannelAudio) => ChannelDump[P];

const dumpPart: { readonly [P in ChannelPart]-?: DumpPart<P> } = {
  life: ({ actor }) => actor.dump() as ChannelDump['life'],
  ownership: ({ ownership }) => ownership.dump() as ChannelDump['ownership'],
  audio: ({ id }, audio) => audio.dump(id),
  companionId: ({ companionId }) => companionId,
  subroutines: ({ subroutines }) => (subroutines.length === 0 ? undefined : structuredClone(subroutines)),
  step: ({ journal }) => journal.dump(),
  leg: ({ leg }) => leg.dump(),
};

const dumpChannel = (entry: ChannelEntry, audio: ChannelAudio): ChannelDump =>
  Object.fromEntries(
    Object.entries(dumpPart)
      .map(([part, dump]) => [part, dump(entry, audio)] as const)
      .filter(([, value]) => value !== undefined),
  ) as unknown as ChannelDump;

/** The part of a channel outside its charts. */
const makeEntry = (
  { id, name, endpoint }: ChannelInput,
  {
    leg,
    journal,
    companionId,
    dialer,
  }: Pick<ChannelEntry, 'leg' | 'journal' | 'companionId'> & {
    dialer?: ChannelEntry | undefined;
  },
): ChannelEntry => ({
  id,
  name,
  leg,
  topics: channelTopics(id, endpoint),
  companionId,
  dialer,
  actor: undefined as never,
  ownership: undefined as never,
  run: undefined,
  subroutines: [],
  journal,
  ranDialplan: false,
  endsIn: undefined,
  seen: undefined,
});
