import type { Bus } from '../bus/bus.ts';
import { channelTopics } from '../bus/topics.ts';
import type { Outcome } from '../dialplan/applications/application.ts';
import type { DialplanCalls } from '../dialplan/calls.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import type { DialplanSystem } from '../dialplan/host.ts';
import type { Position } from '../dialplan/position.ts';
import type { Ids } from '../lib/ids.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type ChannelContext,
  type ChannelInput,
  type ChannelSnapshot,
  type Forward,
  isEnding,
  lifeOf,
  type OnAnswer,
} from '../machines/channel.ts';
import type { OwnershipInput } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import { Cause } from '../telephony/causes.ts';
import type { CallHost, Driver, Leg, TransferRequest } from '../telephony/driver.ts';
import type { CallStory } from './call-story.ts';
import { Calls } from './calls.ts';
import { type ChannelAudio, createChannelAudio } from './channel-audio.ts';
import {
  type AttachedRequest,
  createChannelCreation,
  type OutboundRequest,
  type StartOptions,
} from './channel-creation.ts';
import type { createChannelDialplan } from './channel-dialplan.ts';
import { bindChannelEffects, holdTurn, resumeOwnership, stopDialplan, visitSubroutine } from './channel-effects.ts';
import type {
  ChannelApplications,
  ChannelEndpoints,
  ChannelEntry,
  ChannelMessage,
  ChannelPlaybacks,
  LegOf,
} from './channel-entry.ts';
import { createChannelPublisher } from './channel-publisher.ts';
import { createChannelView } from './channel-view.ts';
import { deliver } from './deliver.ts';
import type { ChannelDump } from './dumps.ts';
import type { PlayTarget } from './playbacks.ts';
import type { Recordings } from './recordings.ts';
import { Registry } from './registry.ts';
import { type Beginning, type Runtime, spawn } from './spawn.ts';

type ChannelSettings = {
  /** Variables and functions shown in every event of a channel (`general.channelvars`). */
  channelvars: readonly string[];
  /** Default language of channels. */
  defaultLanguage: string;
  /** Most variables of one channel. Unlimited when left out. */
  variablesLimit?: number;
  /** Counts dialplan variables that are refused because of the limit. */
  hit?: LimitHit;
  /** Publishes events as Asterisk does where ours differ on purpose. */
  asteriskEvents?: boolean;
};

type ChannelsOptions = {
  bus: Bus;
  runtime: Runtime;
  ids: Ids;
  dialplan: Dialplan;
  applications: ChannelApplications;
  playbacks: ChannelPlaybacks;
  endpoints: ChannelEndpoints;
  /** The system as the dialplan's functions see it. */
  system: DialplanSystem;
  /** Recordings to complete before a channel's end is published; left out: there are none. */
  recordings?: Pick<Recordings, 'whenSettled' | 'names'>;
  settings: ChannelSettings;
  /** Follows channels for logs and call records. */
  story?: CallStory;
};

/**
 * Owns every running channel: opens its leg, starts its charts, performs its effects, and releases everything at its
 * end.
 */
export interface Channels {
  /** Receives calls from drivers. */
  readonly host: CallHost;
  addDriver(driver: Driver): void;
  has(id: string): boolean;
  /** An id that no channel has. */
  freshId(): string;
  find(id: string): ChannelEntry | undefined;
  /** By id, else by name. */
  findByIdOrName(id: string): ChannelEntry | undefined;
  /** @throws AriError channelNotFound. */
  get(id: string): ChannelEntry;
  all(): ChannelEntry[];
  /** The channel as clients see it now. */
  model(entry: ChannelEntry): Channel;
  snapshot(entry: ChannelEntry): ChannelSnapshot;
  /** Makes an outbound channel, and its companion, without dialing. @throws DriverError, AriError channelIdExists. */
  openOutbound(request: OutboundRequest): ChannelEntry;
  /** Registers that a channel is dialed for a caller, so that each prefers the other's audio formats. */
  calledFor(called: ChannelEntry, caller: ChannelEntry): void;
  tell(entry: ChannelEntry, message: ChannelMessage): void;
  /** Makes a channel that is Up from the start, without a call behind it. @throws AriError serviceUnavailable. */
  attach(request: AttachedRequest): ChannelEntry;
  /** Hears when a channel is about to end, before what its dialplan does is stopped. */
  onEnding(listener: (channelId: string) => void): void;
  /** Calls back before a channel ends or leaves its application, and before the events. */
  onDeparture(listener: (channelId: string) => void): void;
  /** Hears when a channel holds or resumes the call, with the class of music for its peer. */
  onHold(listener: (channelId: string, musicClass: string | undefined) => void): void;
  /** Hears when the video of a channel has changed. */
  onVideo(listener: (channelId: string) => void): void;
  /** Handles transfer requests of far sides. Without a listener they are refused. */
  onTransferAsked(listener: (channel: ChannelEntry, transfer: TransferRequest) => void): void;
  /** Handles redirections by far sides. Without a listener the call ends. */
  onForwarded(listener: (channel: ChannelEntry, forward: Forward) => void): void;
  /** Handles inbound calls that replace a channel. Without a listener they are hung up. */
  onReplacing(listener: (newcomer: ChannelEntry, replaces: string) => void): void;
  /** Tells who listens that a channel goes. */
  depart(entry: ChannelEntry): void;
  /** Connects the dialplan with the calls of channels; without it Dial reaches no channel. */
  bringTogether(of: (entry: ChannelEntry) => DialplanCalls): void;
  /** Calls back when a channel has ended. */
  onGone(listener: (channelId: string) => void): void;
  /** The channel as the dialplan's functions read and write it. */
  dialplanChannel(entry: ChannelEntry): ReturnType<typeof createChannelDialplan>;
  /** Runs a dialplan subroutine on a channel without owner; `aborted` if the channel departs or ends. */
  visit(entry: ChannelEntry, subroutine: { position: Position; args: readonly string[] }): Promise<Outcome>;
  playTarget(entry: ChannelEntry): PlayTarget;
  /** Other variables and functions are shown in every event from now on (`general.channelvars`). */
  show(channelvars: readonly string[]): void;
  /** Resolves with true when a channel is Up, also when it is so already; with false when it ends first. */
  answered(entry: ChannelEntry): Promise<boolean>;
  /** From now on no new channels. */
  drain(): void;
  /** Hangs up every channel. */
  hangupAll(cause: number): void;
  /** Commands of applications for the audio of channels. */
  /** Logs what is wrong with a request about a channel that its answer does not say. */
  warn(entry: ChannelEntry, what: string): void;
  readonly audio: ChannelAudio;
  /** Every channel, in the order in which they were made. */
  dump(): ChannelDump[];
  /** Restores channels, each with the leg that `legOf` gives it. No events are published, no effects run. */
  restore(dumps: readonly ChannelDump[], legOf: LegOf): void;
  /** Begins again what runs outside of charts: the dialplan's step under way, the question to an application. */
  resume(): void;
  /** Resolves when no channel is left. */
  idle(): Promise<void>;
  readonly size: number;
}

/** Creates the owner of all channels. */
export function createChannels(options: ChannelsOptions): Channels {
  const { bus, runtime, ids, dialplan, applications, playbacks, endpoints, system, settings, story } = options;
  const {
    channelvars,
    defaultLanguage,
    asteriskEvents = false,
    variablesLimit = Number.POSITIVE_INFINITY,
    hit,
  } = settings;
  const registry = new Registry<ChannelEntry>('channelNotFound');
  const names = new SlotMap<string, ChannelEntry>();
  const onIdle: (() => void)[] = [];
  const dialplanCalls = { of: noCalls };
  const calls = new Calls();
  const onEnding: ((channelId: string) => void)[] = [];
  const onDeparture: ((channelId: string) => void)[] = [];
  const onHold: ((channelId: string, musicClass: string | undefined) => void)[] = [];
  const onVideo: ((channelId: string) => void)[] = [];
  const onGone: ((channelId: string) => void)[] = [];
  let onTransferAsked = ({ leg }: ChannelEntry, { id }: TransferRequest): void => leg.tellTransfer(id, 603);
  let onForwarded = (entry: ChannelEntry, { target }: Forward): void => {
    deliver(entry, { type: 'forwarded', target });
    deliver(entry, { type: 'finish', cause: Cause.numberChanged, by: 'farSide' });
  };
  let onReplacing = (newcomer: ChannelEntry, _replaces: string): void =>
    deliver(newcomer, { type: 'finish', cause: Cause.facilityNotImplemented });
  const depart = ({ id }: ChannelEntry): void => {
    for (const told of onDeparture) told(id);
  };

  const holdPeer = ({ id }: ChannelEntry, musicClass: string | undefined): void => {
    for (const told of onHold) told(id, musicClass);
  };

  const find = (id: string) => registry.find(id);
  const audio = createChannelAudio(runtime, (id, hold) => {
    const entry = find(id);
    if (!entry || lifeOf(view.snapshot(entry)) !== 'up' || !view.snapshot(entry).context.interceptsHold) return false;
    deliver(entry, { type: hold ? 'leg.held' : 'leg.unheld' });
    return true;
  });
  const view = createChannelView({
    tell: deliver,
    playbacks,
    system,
    variablesLimit,
    ...(hit && { hit }),
    callsOf: (entry) => dialplanCalls.of(entry),
    now: () => runtime.clock.now(),
    channelvars,
  });
  const publisher = createChannelPublisher({ bus, view, find, applications, endpoints, asteriskEvents });
  const refused = (entry: ChannelEntry, app: string): void => story?.refused(entry, app);
  const effects = {
    find,
    tell: deliver,
    ending: ({ id }: ChannelEntry) => {
      for (const told of onEnding) told(id);
    },
    depart,
    holdPeer,
    askTransfer: (entry: ChannelEntry, transfer: TransferRequest) => onTransferAsked(entry, transfer),
    followForward: (entry: ChannelEntry, forward: Forward) => onForwarded(entry, forward),
    partnerFormats: (entry: ChannelEntry) => calls.partnerFormats(entry),
    callerFormats: (entry: ChannelEntry) => calls.callerFormats(entry),
    asteriskEvents,
    view,
    dialplan,
    applications,
    playbacks,
    audio,
    refused,
  };
  const charts = bindChannelEffects(effects);

  const ended = (entry: ChannelEntry, error: unknown): void => {
    const crashed = error === undefined ? undefined : entry.seen?.model;
    // After a crash the owner still learns that the channel left. After a regular end this has no effect.
    if (error !== undefined) {
      depart(entry);
      entry.ownership.send({ type: 'leg.ended' });
    }
    registry.remove(entry.id);
    calls.leave(entry);
    names.delete(entry.name);
    stopDialplan(entry);
    for (const told of entry.onUp.splice(0)) told(false);
    playbacks.targetGone('channel', entry.id);
    audio.gone(entry.id);
    publisher.gone(entry, view.snapshot(entry).context.endpoint, crashed);
    story?.gone(entry, view.snapshot(entry), error !== undefined);
    entry.leg.release();
    for (const told of onGone) told(entry.id);
    if (registry.size === 0) for (const told of onIdle.splice(0)) told();
  };

  const onEffectFailed = (entry: ChannelEntry) => (error: unknown) => {
    runtime.log.error({ channel: entry.id, error }, 'an effect of a channel failed; the channel is hung up');
    deliver(entry, { type: 'effect.failed' });
  };

  const startOwnership = (entry: ChannelEntry, beginning: Beginning<OwnershipInput>) =>
    spawn(charts.ownership, {
      id: entry.id,
      ...beginning,
      runtime,
      onEmitted: (fact) => {
        publisher.ownership(entry, fact);
        story?.ownership(entry, fact);
      },
      onEffectFailed: onEffectFailed(entry),
      onEnded: (error) => {
        if (error !== undefined) entry.actor.send({ type: 'effect.failed' });
      },
    });

  const startLife = (entry: ChannelEntry, beginning: Beginning<ChannelInput>) =>
    spawn(charts.life, {
      id: entry.id,
      ...beginning,
      runtime,
      onCreated: (actor) => {
        entry.actor = actor;
        registry.add(entry.id, entry);
        names.set(entry.name, entry);
        calls.enter(entry, actor.getSnapshot().context.linked.id);
      },
      onEmitted: (fact, current) => {
        // First, so that the event can say where in the trace of its call it is.
        story?.life(entry, fact, current);
        publisher.life(entry, fact, current);
      },
      onEffectFailed: onEffectFailed(entry),
      onEnded: (error) => ended(entry, error),
    });

  /** Starts both charts of a channel. Ownership first: it publishes nothing before the channel's creation. */
  const start = (input: ChannelInput, leg: Leg, more: StartOptions = {}): ChannelEntry => {
    const { onAnswer, companionId, dialer } = more;
    const entry = makeEntry(input, leg, companionId, dialer);
    entry.ownership = startOwnership(entry, { input: ownershipInput(input, onAnswer) });
    startLife(entry, { input });
    return entry;
  };

  const now = () => runtime.clock.now();
  const whenSettled = (id: string, then: () => void): void => {
    if (options.recordings) options.recordings.whenSettled('channel', id, then);
    else then();
  };
  const creation = createChannelCreation({
    find,
    start,
    tell: deliver,
    replace: (newcomer, replaces) => onReplacing(newcomer, replaces),
    videoChanged: (id) => {
      for (const told of onVideo) told(id);
    },
    whenSettled,
    ids,
    now,
    defaultLanguage,
    asteriskEvents,
  });
  return {
    host: { incoming: creation.incoming },
    addDriver: creation.addDriver,
    has: (id) => registry.has(id),
    freshId: creation.freshId,
    find,
    findByIdOrName: (id) => registry.find(id) ?? names.get(id),
    get: (id) => registry.get(id),
    all: () => registry.all(),
    model: view.model,
    snapshot: view.snapshot,
    openOutbound: creation.openOutbound,
    calledFor: (called, caller) => calls.calledFor(called, caller),
    tell(entry, message) {
      deliver(entry, message);
      if (message.type === 'linked.set') {
        calls.enter(entry, message.linked.id);
        story?.linked(entry);
      }
      if (message.type === 'bridge.entered')
        story?.bridged(entry, options.recordings?.names('bridge', message.bridgeId) ?? []);
    },
    attach: creation.attach,
    onEnding: (listener) => void onEnding.push(listener),
    onDeparture: (listener) => void onDeparture.push(listener),
    onHold: (listener) => void onHold.push(listener),
    onVideo: (listener) => void onVideo.push(listener),
    onTransferAsked(listener) {
      onTransferAsked = listener;
    },
    onForwarded(listener) {
      onForwarded = listener;
    },
    onReplacing(listener) {
      onReplacing = listener;
    },
    depart,
    bringTogether(of) {
      dialplanCalls.of = of;
    },
    onGone: (listener) => void onGone.push(listener),
    answered(entry) {
      const snapshot = view.snapshot(entry);
      if (lifeOf(snapshot) === 'up' || isEnding(snapshot)) return Promise.resolve(!isEnding(snapshot));
      return new Promise((resolve) => entry.onUp.push(resolve));
    },
    dialplanChannel: view.dialplanChannel,
    playTarget: view.playTarget,
    show(names) {
      view.show(names);
      for (const entry of registry.all()) entry.seen = undefined;
    },
    drain: creation.drain,
    hangupAll(cause) {
      for (const entry of registry.all()) deliver(entry, { type: 'hangup', cause, by: 'server' });
    },
    warn: ({ id }, what) => runtime.log.warn({ channel: id }, what),
    audio,
    dump: () => registry.all().map((entry) => dumpChannel(entry, audio)),
    restore(dumps, legOf) {
      for (const { life, ownership, audio: sound, companionId, subroutines = [], leg } of dumps) {
        const context = life.context as ChannelContext;
        const entry = makeEntry(context, legOf(context, creation.reportTo(context.id), leg), companionId, undefined);
        entry.subroutines.push(...subroutines);
        entry.ownership = startOwnership(entry, { from: ownership });
        startLife(entry, { from: life });
        if (sound) audio.restore(entry.leg, sound);
        holdTurn(entry, charts.turns);
        if (context.endpoint) endpoints.channelAdded(...context.endpoint, entry.id);
        story?.restored(entry);
      }
    },
    visit: (entry, subroutine) => visitSubroutine(entry, subroutine, effects),
    resume() {
      for (const entry of registry.all()) resumeOwnership(entry, effects, charts.turns);
    },
    idle: () => (registry.size === 0 ? Promise.resolve() : new Promise((resolve) => onIdle.push(resolve))),
    get size() {
      return registry.size;
    },
  };
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

const dumpChannel = (
  { id, leg, actor, ownership, companionId, subroutines }: ChannelEntry,
  audio: ChannelAudio,
): ChannelDump => {
  const sound = audio.dump(id);
  return {
    life: actor.dump() as ChannelDump['life'],
    ownership: ownership.dump() as ChannelDump['ownership'],
    ...(sound ? { audio: sound } : {}),
    ...(companionId === undefined ? {} : { companionId }),
    ...(subroutines.length === 0 ? {} : { subroutines: structuredClone(subroutines) }),
    leg: leg.dump(),
  };
};

const nothing = (): void => {};
const over = <T>(value: T) => ({ done: Promise.resolve(value), stop: nothing });
/** Without bridges Dial reaches no channel. */
const noCalls = (_entry: ChannelEntry): DialplanCalls => ({
  dial: () => over({ status: 'CHANUNAVAIL' }),
  join: () => undefined,
  enterRoom: () => over(undefined),
  music: () => nothing,
  broadcast: () => over('FAILED'),
  record: () => over('ERROR'),
});

/** The part of a channel outside its charts. */
const makeEntry = (
  { id, name, endpoint }: ChannelInput,
  leg: Leg,
  companionId: string | undefined,
  dialer: ChannelEntry | undefined,
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
  typedAhead: [],
  onUp: [],
  onDigit: new Set(),
  ranDialplan: false,
  endsIn: undefined,
  seen: undefined,
});
