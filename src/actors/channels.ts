import type { Bus } from '../bus/bus.ts';
import { channelTopic, channelTopics } from '../bus/topics.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import { isFunction, readFunction } from '../dialplan/functions.ts';
import { Cancellation } from '../lib/cancellation.ts';
import type { Ids } from '../lib/ids.ts';
import {
  type ChannelFact,
  type ChannelInput,
  type ChannelSnapshot,
  channelMachine,
  channelModel,
  isEnding,
  lifeOf,
  type OnAnswer,
  ownVariable,
  type Position,
  passedOn,
} from '../machines/channel.ts';
import { type OwnershipFact, ownershipMachine } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import { Cause } from '../telephony/causes.ts';
import {
  type CallHost,
  type Driver,
  DriverError,
  type IncomingCall,
  type Leg,
  type LegReport,
  type Party,
} from '../telephony/driver.ts';
import { type ChannelAudio, createChannelAudio } from './channel-audio.ts';
import { createChannelDialplan } from './channel-dialplan.ts';
import type {
  ChannelApplications,
  ChannelDeviceStates,
  ChannelEndpoints,
  ChannelEntry,
  ChannelMessage,
  ChannelPlaybacks,
  GlobalVariables,
} from './channel-entry.ts';
import { channelEvent, ownershipEvent, topicsOf } from './channel-events.ts';
import { deliver } from './deliver.ts';
import type { PlayTarget } from './playbacks.ts';
import { Registry } from './registry.ts';
import { type Runtime, spawn } from './spawn.ts';
import { createTurn, type Turn } from './turn.ts';

export type ChannelSettings = {
  /** Variables and functions shown in every event of a channel (`general.channelvars`). */
  channelvars: readonly string[];
  /** Language of channels that nobody gave one. */
  defaultLanguage: string;
  /** What ChannelHangupRequest shows as cause of a hang-up by software; the cause of the end when left out. */
  softHangupCause?: number;
};

export type ChannelsOptions = {
  bus: Bus;
  runtime: Runtime;
  ids: Ids;
  dialplan: Dialplan;
  applications: ChannelApplications;
  playbacks: ChannelPlaybacks;
  endpoints: ChannelEndpoints;
  globals: GlobalVariables;
  /** Left out, every device is unknown. */
  deviceStates?: ChannelDeviceStates;
  settings: ChannelSettings;
};

/** What an outbound channel is made of, beside what its driver says. */
export type OutboundRequest = {
  id: string;
  otherId?: string;
  technology: string;
  resource: string;
  formats?: readonly string[];
} & Pick<ChannelInput, 'origin' | 'caller' | 'connected' | 'variables' | 'inheritance' | 'reported' | 'accountCode'> & {
    language?: string;
    /** What becomes of it when it answers. */
    onAnswer?: OnAnswer;
  };

/** Owns every running channel: opens its leg, starts its actor, performs its effects, and lets go of all when it ends. */
export interface Channels {
  /** Where drivers bring their calls. */
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
  tell(entry: ChannelEntry, message: ChannelMessage): void;
  /** What the dialplan's functions read and write of a channel. */
  dialplanChannel(entry: ChannelEntry): ReturnType<typeof createChannelDialplan>;
  playTarget(entry: ChannelEntry): PlayTarget;
  /** Whether a channel that was asked to answer is Up; resolves with false when it ends first. */
  answered(entry: ChannelEntry): Promise<boolean>;
  /** From now on no new channels. */
  drain(): void;
  /** Hangs up every channel. */
  hangupAll(cause: number): void;
  /** What applications do to the sound of channels. */
  readonly audio: ChannelAudio;
  readonly turn: Turn;
  /** Resolves when no channel is left, at once when there is none. */
  idle(): Promise<void>;
  readonly size: number;
}

const isKnown = ({ name, number }: Party): boolean => name !== '' || number !== '';
const nameAndNumber = ({ name, number }: Party): Party => ({ name, number });

export function createChannels(options: ChannelsOptions): Channels {
  const { bus, ids, dialplan, applications, playbacks, endpoints, settings } = options;
  const { log } = options.runtime;
  const turn = createTurn(options.runtime.clock);
  const runtime: Runtime = { ...options.runtime, clock: turn.clock };
  const audio = createChannelAudio(runtime);
  const registry = new Registry<ChannelEntry>('channelNotFound');
  const names = new Map<string, ChannelEntry>();
  const drivers = new Map<string, Driver>();
  const onIdle: (() => void)[] = [];
  let accepting = true;

  const snapshot = (entry: ChannelEntry): ChannelSnapshot => entry.actor.getSnapshot();

  const tell = (entry: ChannelEntry, message: ChannelMessage): void => turn.run(() => deliver(entry, message));

  const shownVariables = (entry: ChannelEntry, current: ChannelSnapshot): Record<string, string> | undefined => {
    const { variables, reported } = current.context;
    if (settings.channelvars.length === 0 && reported.length === 0) return undefined;
    const shown = (name: string) => (isFunction(name) ? read(entry, name) : (ownVariable(variables, name) ?? ''));
    return Object.fromEntries([...settings.channelvars, ...reported].map((name) => [name, shown(name)]));
  };
  const read = (entry: ChannelEntry, name: string): string => {
    // The function may ask for the channel, whose shown variables are just being made: give it the bare one.
    const result = readFunction(
      createChannelDialplan({ ...access, model: (other) => channelModel(snapshot(other)) }, entry),
      name,
    );
    return result.ok ? result.value : '';
  };

  const model = (entry: ChannelEntry): Channel => {
    const current = snapshot(entry);
    if (entry.seen?.snapshot !== current)
      entry.seen = { snapshot: current, model: channelModel(current, shownVariables(entry, current)) };
    return entry.seen.model;
  };

  const playTarget = (entry: ChannelEntry): PlayTarget => ({
    kind: 'channel',
    id: entry.id,
    language: snapshot(entry).context.language,
    topics: entry.topics,
    media: entry.leg.media,
  });

  /* ---- Effects: named by the chart, performed when its transition is over --------------------------------------- */

  const perform = (id: string, effect: (entry: ChannelEntry) => void): void => {
    const entry = registry.find(id);
    if (!entry) return;
    turn.after(
      () => effect(entry),
      (error) => {
        log.error({ channel: id, error }, 'an effect of a channel failed; the channel is hung up');
        tell(entry, { type: 'effect.failed' });
      },
    );
  };

  const runDialplan = (entry: ChannelEntry, from: Position): void => {
    const run = new Cancellation();
    entry.run = run;
    void dialplan.run(dialplanChannel(entry), from, run).then((outcome) => {
      if (entry.run === run) entry.run = undefined;
      // Taken away between its last step and this.
      if (run.aborted) return;
      if (outcome.type === 'stasis')
        tell(entry, { type: 'enter', app: outcome.app, args: outcome.args, resume: outcome.next });
      else if (outcome.type !== 'aborted')
        tell(entry, {
          type: 'dialplan.ended',
          cause: outcome.type === 'hangup' ? outcome.cause : Cause.normalClearing,
        });
    });
  };
  const stopDialplan = (entry: ChannelEntry): void => {
    entry.run?.abort();
    entry.run = undefined;
  };

  const enterApplication = (entry: ChannelEntry, app: string): void => {
    const active = applications.isActive(app);
    const instance = active ? undefined : applications.admit?.(app, entry);
    if (!instance) {
      tell(entry, { type: active ? 'application.accepted' : 'application.refused' });
      return;
    }
    void instance.then((name) => {
      // A channel that is being hung up enters nothing any more; it need not be told.
      if (isEnding(snapshot(entry))) return;
      tell(entry, name === undefined ? { type: 'application.refused' } : { type: 'application.accepted', app: name });
    });
  };

  /** The other half of a Local channel gets its variables as they are by now; who calls the one is reached by the other. */
  const dialLeg = (entry: ChannelEntry): void => {
    const companion = entry.companionId === undefined ? undefined : registry.find(entry.companionId);
    if (companion) {
      const { variables, inheritance, caller, connected } = snapshot(entry).context;
      if (Object.keys(variables).length > 0) tell(companion, { type: 'variable.preset', variables, inheritance });
      if (isKnown(connected)) tell(companion, { type: 'caller.set', caller: nameAndNumber(connected) });
      if (isKnown(caller)) tell(companion, { type: 'connected.set', party: nameAndNumber(caller) });
    }
    entry.leg.dial();
  };

  const machine = channelMachine.provide({
    actions: {
      dialLeg: ({ context }) => perform(context.id, dialLeg),
      answerLeg: ({ context }) => perform(context.id, ({ leg }) => leg.answer()),
      ringLeg: ({ context }) => perform(context.id, ({ leg }) => leg.ring()),
      stopRingingLeg: ({ context }) => perform(context.id, ({ leg }) => leg.stopRinging()),
      progressLeg: ({ context }) => perform(context.id, ({ leg }) => leg.progress()),
      playBusyTone: ({ context }) => perform(context.id, ({ leg }) => leg.media.indicate('busy')),
      sendDigits: ({ context }, { sequence }) => perform(context.id, ({ leg }) => leg.sendDigits(sequence)),
      hangupLeg: ({ context }, { cause }) =>
        perform(context.id, (entry) => {
          playbacks.targetGone('channel', entry.id);
          entry.leg.hangup(cause);
          if (registry.has(entry.id)) tell(entry, { type: 'leg.lingers' });
        }),
      giveUpLeg: ({ context }) => perform(context.id, (entry) => tell(entry, { type: 'leg.ended' })),
      stopDialplan: ({ context }) => perform(context.id, stopDialplan),
    },
  });

  const ownershipChart = ownershipMachine.provide({
    actions: {
      enterApplication: ({ context }, { app }) => perform(context.id, (entry) => enterApplication(entry, app)),
      runDialplan: ({ context }, { position }) => perform(context.id, (entry) => runDialplan(entry, position)),
      noteRefusal: ({ context }) =>
        perform(context.id, (entry) => tell(entry, { type: 'variable.set', name: 'STASISSTATUS', value: 'FAILED' })),
      endChannel: ({ context }) =>
        perform(context.id, (entry) => tell(entry, { type: 'finish', cause: Cause.normalClearing })),
    },
  });

  /* ---- Facts: told by the chart after the commit, published as events ------------------------------------------- */

  const asShown = (fact: ChannelFact): ChannelFact => {
    const cause = settings.softHangupCause;
    return cause !== undefined && fact.type === 'ChannelHangupRequest' && fact.soft ? { ...fact, cause } : fact;
  };

  const publish = (entry: ChannelEntry, fact: ChannelFact, current: ChannelSnapshot): void => {
    const { caller, endpoint } = current.context;
    const event = channelEvent(asShown(fact), model(entry), caller.presentation);
    bus.publish({ event, topics: topicsOf(fact, entry.topics) });
    if (fact.type === 'ChannelCreated' && endpoint) endpoints.channelAdded(endpoint[0], endpoint[1], entry.id);
    if (fact.type === 'ChannelStateChange' && lifeOf(current) === 'up')
      for (const told of entry.onUp.splice(0)) told(true);
  };

  const publishOwnership = (entry: ChannelEntry, fact: OwnershipFact): void => {
    if (fact.type === 'StasisStart') {
      if (!fact.moved) entry.actor.send({ type: 'application.entered', app: fact.app, args: fact.args });
      applications.addInterest(fact.app, channelTopic(entry.id));
    }
    if (fact.type === 'StasisEnd') applications.removeInterest(fact.app, channelTopic(entry.id));
    bus.publish({ event: ownershipEvent(fact, model(entry)), topics: [], to: fact.app });
    if (fact.type === 'StasisEnd' && !fact.moved) {
      entry.actor.send({ type: 'variable.set', name: 'STASISSTATUS', value: 'SUCCESS' });
      audio.left(entry.id);
    }
  };

  const ended = (entry: ChannelEntry, error: unknown): void => {
    const last = entry.seen?.model;
    // After a crash its owner still has to be told that the channel left; after a regular end this is heard by nobody.
    if (error !== undefined) entry.ownership.send({ type: 'leg.ended' });
    registry.remove(entry.id);
    names.delete(entry.name);
    stopDialplan(entry);
    for (const told of entry.onUp.splice(0)) told(false);
    playbacks.targetGone('channel', entry.id);
    audio.gone(entry.id);
    const endpoint = snapshot(entry).context.endpoint;
    if (error !== undefined && last) {
      const fact = { type: 'ChannelDestroyed', cause: Cause.temporaryFailure } as const;
      bus.publish({ event: channelEvent(fact, last), topics: entry.topics });
    }
    applications.forget(channelTopic(entry.id));
    if (endpoint) endpoints.channelRemoved(endpoint[0], endpoint[1], entry.id);
    entry.leg.release();
    if (registry.size === 0) for (const told of onIdle.splice(0)) told();
  };

  /** Starts both charts of a channel. Ownership first: nothing is told of it before the channel is. */
  const start = (input: ChannelInput, leg: Leg, onAnswer?: OnAnswer, companionId?: string): ChannelEntry => {
    const { id, name, dialplan: place } = input;
    const entry: ChannelEntry = {
      id,
      name,
      leg,
      topics: channelTopics(id, input.endpoint),
      companionId,
      actor: undefined as never,
      ownership: undefined as never,
      run: undefined,
      onUp: [],
      seen: undefined,
    };
    const from = { context: place.context, extension: place.exten, priority: place.priority };
    turn.start(() => {
      entry.ownership = spawn(ownershipChart, {
        id,
        input: onAnswer ? { id, start: from, onAnswer } : { id, start: from },
        runtime,
        onEmitted: (fact) => publishOwnership(entry, fact),
        onEnded: (error) => {
          if (error !== undefined) entry.actor.send({ type: 'effect.failed' });
        },
      });
      spawn(machine, {
        id,
        input,
        runtime,
        onCreated: (actor) => {
          entry.actor = actor;
          registry.add(id, entry);
          names.set(name, entry);
        },
        onEmitted: (fact, current) => publish(entry, fact, current),
        onEnded: (error) => ended(entry, error),
      });
    });
    return entry;
  };

  /* ---- Channels come to life ------------------------------------------------------------------------------------ */

  const reportTo = (id: string) => (report: LegReport) => {
    const entry = registry.find(id);
    if (entry) tell(entry, report);
  };

  /** Clients choose ids, too, and some in the form that ours have. */
  const freshId = (): string => {
    const id = ids.channel();
    return registry.has(id) ? freshId() : id;
  };

  const incoming = (call: IncomingCall): boolean => {
    if (!accepting) return false;
    const id = call.channelId ?? freshId();
    if (registry.has(id)) return false;
    const leg = call.open(id, reportTo(id));
    const entry = start(
      {
        id,
        name: call.name,
        technology: call.technology,
        endpoint: call.endpoint,
        protocolId: leg.protocolId,
        origin: 'incoming',
        caller: call.caller,
        connected: { name: '', number: '' },
        accountCode: call.accountCode ?? '',
        language: call.language ?? settings.defaultLanguage,
        creationTime: runtime.clock.now(),
        dialplan: { context: call.context, exten: call.extension, priority: 1, appName: '', appData: '' },
        variables: call.variables ?? {},
        inheritance: {},
        reported: [],
        dialString: '',
      },
      leg,
    );
    if (call.state === 'ring')
      tell(entry, { type: 'run', position: { context: call.context, extension: call.extension, priority: 1 } });
    return true;
  };

  const openOutbound = (request: OutboundRequest): ChannelEntry => {
    if (!accepting) throw new AriError('serviceUnavailable');
    const { id, otherId, technology, resource, formats, language, onAnswer, ...rest } = request;
    const driver = drivers.get(technology.toLowerCase());
    if (!driver) throw new DriverError('technology', `there is no technology '${technology}'`);
    const opened = driver.open(
      {
        channelId: id,
        ...(otherId === undefined ? {} : { otherChannelId: otherId }),
        resource,
        caller: request.caller,
        ...(formats ? { formats } : {}),
        variables: passedOn(request).variables,
      },
      reportTo(id),
    );
    const { context = 'default', extension = 's' } = opened;
    const companionId = opened.companion && (opened.companion.channelId ?? freshId());
    if (companionId !== undefined && (companionId === id || registry.has(companionId))) {
      opened.leg.release();
      opened.companion?.open(companionId, () => {}).release();
      throw new AriError('channelIdExists');
    }
    const entry = start(
      {
        ...rest,
        id,
        name: opened.name,
        technology: driver.technology,
        endpoint: opened.endpoint,
        protocolId: opened.leg.protocolId,
        dialString: resource,
        language: language ?? settings.defaultLanguage,
        creationTime: runtime.clock.now(),
        dialplan: { context, exten: extension, priority: 1, appName: '', appData: '' },
      },
      opened.leg,
      onAnswer,
      companionId,
    );
    if (opened.companion && companionId !== undefined) incoming({ ...opened.companion, channelId: companionId });
    return entry;
  };

  const access = {
    model,
    snapshot,
    tell,
    playTarget,
    playbacks,
    globals: options.globals,
    deviceStates: options.deviceStates,
  };
  const dialplanChannel = (entry: ChannelEntry) => createChannelDialplan(access, entry);

  return {
    host: { incoming },
    addDriver(driver) {
      for (const name of [driver.technology, ...(driver.aliases ?? [])]) drivers.set(name.toLowerCase(), driver);
    },
    has: (id) => registry.has(id),
    freshId,
    find: (id) => registry.find(id),
    findByIdOrName: (id) => registry.find(id) ?? names.get(id),
    get: (id) => registry.get(id),
    all: () => registry.all(),
    model,
    snapshot,
    openOutbound,
    tell,
    answered: (entry) => new Promise((resolve) => entry.onUp.push(resolve)),
    dialplanChannel,
    playTarget,
    drain() {
      accepting = false;
    },
    hangupAll(cause) {
      for (const entry of registry.all()) tell(entry, { type: 'hangup', cause });
    },
    audio,
    turn,
    idle: () => (registry.size === 0 ? Promise.resolve() : new Promise((resolve) => onIdle.push(resolve))),
    get size() {
      return registry.size;
    },
  };
}
