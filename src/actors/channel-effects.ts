import type { Outcome } from '../dialplan/applications/application.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import { enterSubroutine } from '../dialplan/subroutines.ts';
import { Cancellation } from '../lib/cancellation.ts';
import {
  type ChannelContext,
  channelMachine,
  type Inheritance,
  isEnding,
  lifeOf,
  type Position,
} from '../machines/channel.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import { hasApplication, ownershipMachine } from '../machines/ownership.ts';
import { Cause } from '../telephony/causes.ts';
import type { DialDetails } from '../telephony/driver.ts';
import { isRestricted, type Party, shownParty } from '../telephony/party.ts';
import type { CallPolicy } from './call-policy.ts';
import type { CalledChannels } from './calls.ts';
import type { ChannelAudio } from './channel-audio.ts';
import {
  type ChannelApplications,
  type ChannelEntry,
  type ChannelFacts,
  type ChannelNews,
  type ChannelPlaybacks,
  deliver,
  snapshotOf,
} from './channel-entry.ts';
import type { CallsOf, ChannelViews } from './channel-views.ts';
import { createTurns, type Turns } from './turns.ts';

type ChannelEffectsOptions = {
  /** The channel with that id, as long as there is one. */
  find(id: string): ChannelEntry | undefined;
  /** Tells others of what the channel needs from them. */
  facts: ChannelFacts;
  /** The formats of the channels of a call. */
  calls: Pick<CalledChannels, 'partnerFormats' | 'callerFormats'>;
  policy: Pick<CallPolicy, 'presetsVariables'>;
  applications: Pick<ChannelApplications, 'isActive' | 'admit'>;
  playbacks: Pick<ChannelPlaybacks, 'targetGone' | 'queueOf'>;
  audio: Pick<ChannelAudio, 'left'>;
};

/** Publishes a fact that somebody has to act upon. @throws Error if that fails: then the channel is hung up. */
function publishOrFail(facts: ChannelFacts, entry: ChannelEntry, fact: ChannelNews): void {
  if (!facts.publish(entry, fact)) throw new Error(`nobody could act upon ${fact.type}`);
}

const isKnown = ({ name, number }: Party): boolean => name !== '' || number !== '';

/** Binds what the two charts of a channel ask for: the leg, the dialplan, the way into applications. */
export function bindChannelEffects(options: ChannelEffectsOptions) {
  const { find, facts, calls, audio } = options;

  const perform = (id: string, effect: (entry: ChannelEntry) => void): void => {
    const entry = find(id);
    if (entry) effect(entry);
  };

  /** Whatever listeners do, the channel ends. */
  const depart = (entry: ChannelEntry): void => {
    facts.publish(entry, { type: 'channel.departing' });
    facts.publish(entry, { type: 'channel.departed' });
  };

  const turns = createTurns(options.playbacks, (entry) => {
    if (isEnding(snapshotOf(entry))) turns.release(entry.id, 0);
    else deliver(entry, { type: 'turn' });
  });

  const life = channelMachine.provide({
    actions: {
      dialLeg: ({ context }) => perform(context.id, (entry) => dialLeg(entry, options)),
      answerLeg: ({ context }) => perform(context.id, (entry) => entry.leg.answer(calls.partnerFormats(entry))),
      ringLeg: ({ context }) => perform(context.id, ({ leg }) => leg.ring()),
      stopRingingLeg: ({ context }) => perform(context.id, ({ leg }) => leg.stopRinging()),
      progressLeg: ({ context }) => perform(context.id, (entry) => entry.leg.progress(calls.partnerFormats(entry))),
      tellCallerForwarding: ({ context }) => perform(context.id, ({ dialer }) => dialer?.leg.forwarding?.()),
      playBusyTone: ({ context }) => perform(context.id, ({ leg }) => leg.media.indicate('busy')),
      sendDigits: ({ context }, { sequence }) => perform(context.id, ({ leg }) => leg.sendDigits(sequence)),
      holdPeer: ({ context }, { musicClass }) =>
        perform(context.id, (entry) => publishOrFail(facts, entry, { type: 'peer.held', musicClass })),
      askTransfer: ({ context }, { transfer }) =>
        perform(context.id, (entry) => publishOrFail(facts, entry, { type: 'transfer.asked', transfer })),
      followForward: ({ context }, { forward }) =>
        perform(context.id, (entry) => publishOrFail(facts, entry, { type: 'forward.asked', forward })),
      presentParty: ({ context }) => perform(context.id, presentParty),
      hangupLeg: ({ context }, { cause }) => perform(context.id, (entry) => hangupLeg(entry, cause, depart, options)),
      goOnAt: ({ context }, { position }) => perform(context.id, (entry) => goOnAt(entry, position)),
      endOvertime: ({ context }) => perform(context.id, (entry) => publishOrFail(facts, entry, { type: 'time.over' })),
      giveUpLeg: ({ context }) => perform(context.id, (entry) => deliver(entry, { type: 'leg.ended' })),
      stopDialplan: ({ context }) =>
        perform(context.id, (entry) => {
          facts.publish(entry, { type: 'channel.ending' });
          facts.publish(entry, { type: 'dialplan.over' });
        }),
    },
  });

  const ownership = ownershipMachine.provide({
    actions: {
      enterApplication: ({ context }, entry) =>
        perform(context.id, (channel) => enterApplication(channel, entry, options)),
      showApplication: ({ context }, { data }) =>
        perform(context.id, (entry) => showApplication(entry, 'Stasis', data)),
      runDialplan: ({ context }, { position }) =>
        perform(context.id, (entry) => publishOrFail(facts, entry, { type: 'dialplan.due', position })),
      noteRefusal: ({ context }) =>
        perform(context.id, (entry) => deliver(entry, { type: 'variable.set', name: 'STASISSTATUS', value: 'FAILED' })),
      noteDeparture: ({ context }) =>
        perform(context.id, (entry) => {
          deliver(entry, { type: 'variable.set', name: 'STASISSTATUS', value: 'SUCCESS' });
          audio.left(entry.id);
        }),
      endChannel: ({ context }) =>
        perform(context.id, (entry) => deliver(entry, { type: 'finish', cause: causeAtEnd(entry) })),
      queueTurn: ({ context }) => perform(context.id, turns.queue),
      releaseTurns: ({ context: { id, departures } }) => turns.release(id, departures?.length ?? 0),
      leaveBridge: ({ context }) => perform(context.id, depart),
      continueAt: ({ context }, { position }) =>
        perform(context.id, (entry) => deliver(entry, { type: 'continue', position })),
    },
  });

  return { life, ownership, turns, depart };
}

/** A departure that is being carried out keeps what waits behind it from sounding, also when it is restored. */
export function holdTurn(entry: ChannelEntry, turns: Turns): void {
  const { value, context } = entry.ownership.getSnapshot();
  if (context.due || (value === 'moving' && context.destination?.inTurn)) turns.hold(entry);
}

/** Begins again what the ownership of a channel waits for, after it was restored. */
export function resumeOwnership(
  entry: ChannelEntry,
  options: Pick<ChannelEffectsOptions, 'facts' | 'applications'>,
  turns: Turns,
): void {
  const { value, context } = entry.ownership.getSnapshot();
  if (value === 'dialplan') {
    const { context: place, exten: extension, priority } = snapshotOf(entry).context.dialplan;
    entry.journal.goOn();
    options.facts.publish(entry, { type: 'dialplan.due', position: { context: place, extension, priority } });
  }
  for (const { behind } of context.departures?.slice(context.due ? 1 : 0) ?? []) turns.restore(entry, behind);
  if (value === 'entering') enterApplication(entry, { app: context.app, args: context.args, moved: false }, options);
  if (value === 'moving' && context.destination)
    enterApplication(entry, { ...context.destination, moved: true }, options);
}

/** The other half of a Local channel gets its variables as they are by now; who calls the one is reached by the other. */
function dialLeg(entry: ChannelEntry, options: ChannelEffectsOptions): void {
  const { find, calls, policy } = options;
  const companion = entry.companionId === undefined ? undefined : find(entry.companionId);
  if (companion) {
    const { variables, inheritance, caller, connected } = snapshotOf(entry).context;
    if (!policy.presetsVariables)
      for (const [name, value] of fullNamed(variables, inheritance))
        deliver(companion, { type: 'variable.set', name, value });
    else if (Object.keys(variables).length > 0) deliver(companion, { type: 'variable.preset', variables, inheritance });
    const redirected = caller.redirection && { redirection: caller.redirection };
    if (isKnown(connected) || redirected)
      deliver(companion, {
        type: 'caller.set',
        caller: { ...(isKnown(connected) && shownParty(connected)), ...redirected },
      });
    if (isKnown(caller)) deliver(companion, { type: 'connected.set', party: shownParty(caller) });
  }
  const prefers = calls.callerFormats(entry);
  entry.leg.dial({ ...dialDetails(snapshotOf(entry).context), ...(prefers && { prefers }) });
}

/**
 * The details to call a target with. Withholds the caller's identity when it is private on either side of the new channel.
 */
function dialDetails({ caller, connected }: Pick<ChannelContext, 'caller' | 'connected'>): DialDetails {
  const shown = shownParty(connected);
  const presentation =
    [shown, shownParty(caller)].find((party) => isRestricted(party.presentation))?.presentation ?? shown.presentation;
  return {
    caller: { name: shown.name, number: shown.number, ...(presentation ? { presentation } : {}) },
    ...(caller.redirection && { redirection: caller.redirection }),
  };
}

/** Withholds the caller's identity from the far side when it is private (Q.931 4.5.10). Clients still see it. */
function presentParty(entry: ChannelEntry): void {
  const party = shownParty(snapshotOf(entry).context.connected);
  if (!isRestricted(party.presentation)) entry.leg.present({ name: party.name, number: party.number });
}

/** Variables under the names that say how far they are inherited. */
const fullNamed = (
  variables: Readonly<Record<string, string>>,
  inheritance: Readonly<Record<string, Inheritance>>,
): [name: string, value: string][] =>
  Object.entries(variables).map(([name, value]) => {
    const depth = Object.hasOwn(inheritance, name) ? inheritance[name] : undefined;
    return [`${depth === 'always' ? '__' : depth === 'once' ? '_' : ''}${name}`, value];
  });

function hangupLeg(
  entry: ChannelEntry,
  cause: number,
  depart: (entry: ChannelEntry) => void,
  { find, playbacks }: Pick<ChannelEffectsOptions, 'find' | 'playbacks'>,
): void {
  playbacks.targetGone('channel', entry.id);
  depart(entry);
  entry.leg.hangup(cause);
  if (find(entry.id)) deliver(entry, { type: 'leg.lingers' });
}

/** Shows what a channel does that runs no dialplan, as if the dialplan had brought it there. */
export function showApplication(entry: ChannelEntry, app: string, data: string): void {
  const { context, exten: extension, priority } = snapshotOf(entry).context.dialplan;
  deliver(entry, { type: 'dialplan.entered', position: { context, extension, priority }, app, data });
}

/** Removes a channel from its application or its present dialplan step, to continue at another extension. */
function goOnAt(entry: ChannelEntry, position: Position): void {
  if (isEnding(snapshotOf(entry))) return;
  const owner = entry.ownership.getSnapshot();
  if (hasApplication(owner)) deliver(entry, { type: 'continue', position });
  if (owner.value !== 'dialplan') return;
  stopDialplan(entry);
  deliver(entry, { type: 'run', position });
}

type Entry = { app: string; args: readonly string[]; moved: boolean };

/** Asks whether an application can be entered. The channel's model shows the application before StasisStart. */
function enterApplication(
  entry: ChannelEntry,
  { app, args, moved }: Entry,
  { applications, facts }: Pick<ChannelEffectsOptions, 'applications' | 'facts'>,
): void {
  const refused = (): void => {
    facts.publish(entry, { type: 'application.missing', app });
    deliver(entry, { type: 'application.refused' });
  };
  const accepted = (name: string): void => {
    if (!moved) deliver(entry, { type: 'application.entered', app: name, args });
    deliver(entry, name === app ? { type: 'application.accepted' } : { type: 'application.accepted', app: name });
  };
  if (applications.isActive(app)) {
    accepted(app);
    return;
  }
  const instance = applications.admit?.(app, entry);
  if (!instance) {
    refused();
    return;
  }
  void instance.then((name) => {
    // A channel that is being hung up enters no application.
    if (isEnding(snapshotOf(entry))) return;
    if (name === undefined) refused();
    else accepted(name);
  });
}

/** Runs the dialplan on channels. */
export interface ChannelDialplans {
  /** Runs it from now on where channels ask for it. `callsOf`: the calls that its steps can make; left out: none. */
  serve(facts: ChannelFacts, callsOf?: CallsOf): void;
  /**
   * Runs a subroutine on a channel without owner. Settles with its end: `ended` also after Return, `aborted` if the
   * channel departs or ends.
   */
  visit(
    entry: ChannelEntry,
    subroutine: { position: Position; args: readonly string[] },
    callsOf: CallsOf,
  ): Promise<Outcome>;
}

type Options = { dialplan: Pick<Dialplan, 'run' | 'hasExtension'>; views: Pick<ChannelViews, 'dialplanChannel'> };

/** Takes the dialplan's run away from a channel. */
export function stopDialplan(entry: ChannelEntry): void {
  entry.run?.abort();
  entry.run = undefined;
}

/** A priority that no extension has: a channel that returns there is at its end. */
const beyond = 1_000_000;

/** Makes what runs the dialplan on channels. */
export const createChannelDialplans = (options: Options): ChannelDialplans => ({
  serve(facts, callsOf) {
    facts.on('dialplan.due', (entry, { position }) => runDialplan(entry, position, callsOf, options));
    facts.on('time.over', (entry) => endOvertime(entry, options));
    facts.on('dialplan.over', (entry) => leaveDialplan(entry, callsOf, options));
  },

  async visit(entry, { position, args }, callsOf) {
    // Commands sent while a fact is published run after its step; the first step reads the arguments.
    await Promise.resolve();
    if (isEnding(snapshotOf(entry))) return { type: 'aborted' };
    const run = new Cancellation();
    entry.run = run;
    const host = options.views.dialplanChannel(entry, callsOf);
    enterSubroutine(host, { ...position, priority: beyond }, args);
    const outcome = await options.dialplan.run(host, position, run);
    if (entry.run === run) entry.run = undefined;
    return outcome;
  },
});

function runDialplan(
  entry: ChannelEntry,
  from: Position,
  callsOf: CallsOf | undefined,
  { dialplan, views }: Options,
): void {
  const run = new Cancellation();
  entry.run = run;
  entry.ranDialplan = true;
  void dialplan.run(views.dialplanChannel(entry, callsOf), from, run).then((outcome) => {
    // Taken away between its last step and this.
    if (run.aborted) return;
    if (outcome.type === 'stasis')
      deliver(entry, { type: 'enter', app: outcome.app, args: outcome.args, resume: outcome.next });
    else if (outcome.type !== 'aborted') {
      if (outcome.type === 'hangup') deliver(entry, { type: 'hangupSource.set', source: 'dialplan/builtin' });
      deliver(entry, {
        type: 'dialplan.ended',
        cause: outcome.type === 'hangup' ? outcome.cause : causeAtEnd(entry),
      });
    }
    if (entry.run === run) entry.run = undefined;
  });
}

/** Whether the dialplan runs on a channel, or goes on there after its application. */
const isInDialplan = (entry: ChannelEntry): boolean =>
  entry.run !== undefined || entry.ownership.getSnapshot().context.resume !== undefined;

/** The longest time of a channel is over: it goes on at the extension `T` of its context, or ends. */
function endOvertime(entry: ChannelEntry, { dialplan }: Pick<Options, 'dialplan'>): void {
  const { context } = snapshotOf(entry).context.dialplan;
  if (isInDialplan(entry) && dialplan.hasExtension(context, 'T'))
    goOnAt(entry, { context, extension: 'T', priority: 1 });
  else deliver(entry, { type: 'finish', cause: Cause.normalClearing, by: 'timeout' });
}

/**
 * Ends the dialplan of a channel that is hung up. The extension `h` of its context runs, except steps that would wait.
 * Channels of applications that never ran the dialplan have no `h`. A channel called by Dial has the caller's `h` if
 * the Dial says so.
 */
function leaveDialplan(entry: ChannelEntry, callsOf: CallsOf | undefined, { dialplan, views }: Options): void {
  const isOfDialplan = isInDialplan(entry);
  stopDialplan(entry);
  const context = entry.endsIn ?? (isOfDialplan ? snapshotOf(entry).context.dialplan.context : undefined);
  if (context === undefined || !dialplan.hasExtension(context, 'h')) return;
  const run = new Cancellation();
  void dialplan.run(views.dialplanChannel(entry, callsOf), { context, extension: 'h', priority: 1 }, run);
  run.abort();
}

const causesOfDial: Readonly<Record<string, number>> = {
  BUSY: Cause.userBusy,
  CONGESTION: Cause.congestion,
  CHANUNAVAIL: Cause.congestion,
  NOANSWER: Cause.noAnswer,
};

/**
 * The cause of a channel without a further dialplan step. An unanswered channel gets the result of its last Dial, as
 * Asterisk's autofallthrough, or the cause of an absent application.
 */
function causeAtEnd(entry: ChannelEntry): number {
  const snapshot = snapshotOf(entry);
  if (lifeOf(snapshot) !== 'ring') return Cause.normalClearing;
  const cause = causesOfDial[ownVariable(snapshot.context.variables, 'DIALSTATUS') ?? ''];
  if (cause !== undefined) return cause;
  const isAway = entry.ownership.getSnapshot().context.refusedBy !== undefined;
  return isAway ? Cause.subscriberAbsent : Cause.normalClearing;
}
