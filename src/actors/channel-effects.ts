import type { Outcome } from '../dialplan/applications/application.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import { enterSubroutine } from '../dialplan/subroutines.ts';
import { Cancellation } from '../lib/cancellation.ts';
import {
  type ChannelContext,
  channelMachine,
  type Forward,
  type Inheritance,
  isEnding,
  lifeOf,
  type Position,
} from '../machines/channel.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import { hasApplication, ownershipMachine } from '../machines/ownership.ts';
import { Cause } from '../telephony/causes.ts';
import type { DialDetails, TransferRequest } from '../telephony/driver.ts';
import { isRestricted, type Party, shownParty } from '../telephony/party.ts';
import type { ChannelAudio } from './channel-audio.ts';
import type { ChannelApplications, ChannelEntry, ChannelMessage, ChannelPlaybacks } from './channel-entry.ts';
import type { ChannelView } from './channel-view.ts';
import { createTurns, type Turns } from './turns.ts';

type ChannelEffectsOptions = {
  /** The channel with that id, as long as there is one. */
  find(id: string): ChannelEntry | undefined;
  tell(entry: ChannelEntry, message: ChannelMessage): void;
  /** Reports that the channel ends while its dialplan still runs, so that another can replace it. */
  ending(entry: ChannelEntry): void;
  /** Reports that the channel departs, to its bridge and other partners. */
  depart(entry: ChannelEntry): void;
  /** Plays music of a class to its peers. Undefined ends it. */
  holdPeer(entry: ChannelEntry, musicClass: string | undefined): void;
  /** Its far side requests a transfer. */
  askTransfer(entry: ChannelEntry, transfer: TransferRequest): void;
  /** Its far side sends its call elsewhere, where that is to go on. */
  followForward(entry: ChannelEntry, forward: Forward): void;
  /** Formats of whom it will probably meet once it is answered; undefined where that is not known. */
  partnerFormats(entry: ChannelEntry): readonly string[] | undefined;
  /** Formats of the caller that it is called for; undefined without one. */
  callerFormats(entry: ChannelEntry): readonly string[] | undefined;
  /** Whether events match Asterisk's. */
  asteriskEvents: boolean;
  view: ChannelView;
  dialplan: Dialplan;
  applications: Pick<ChannelApplications, 'isActive' | 'admit'>;
  playbacks: Pick<ChannelPlaybacks, 'targetGone' | 'queueOf'>;
  audio: Pick<ChannelAudio, 'left'>;
  /** Hears that an application was wanted that is not connected. */
  refused(entry: ChannelEntry, app: string): void;
};

const isKnown = ({ name, number }: Party): boolean => name !== '' || number !== '';

/** Takes the dialplan's run away from a channel. */
export function stopDialplan(entry: ChannelEntry): void {
  entry.run?.abort();
  entry.run = undefined;
}

/** Binds what the two charts of a channel ask for: the leg, the dialplan, the way into applications. */
export function bindChannelEffects(options: ChannelEffectsOptions) {
  const { find, tell, audio, view, partnerFormats } = options;

  const perform = (id: string, effect: (entry: ChannelEntry) => void): void => {
    const entry = find(id);
    if (entry) effect(entry);
  };

  const turns = createTurns(options.playbacks, (entry) => {
    if (isEnding(view.snapshot(entry))) turns.release(entry.id, 0);
    else tell(entry, { type: 'turn' });
  });

  const life = channelMachine.provide({
    actions: {
      dialLeg: ({ context }) => perform(context.id, (entry) => dialLeg(entry, options)),
      answerLeg: ({ context }) => perform(context.id, (entry) => entry.leg.answer(partnerFormats(entry))),
      ringLeg: ({ context }) => perform(context.id, ({ leg }) => leg.ring()),
      stopRingingLeg: ({ context }) => perform(context.id, ({ leg }) => leg.stopRinging()),
      progressLeg: ({ context }) => perform(context.id, (entry) => entry.leg.progress(partnerFormats(entry))),
      tellCallerForwarding: ({ context }) => perform(context.id, ({ dialer }) => dialer?.leg.forwarding?.()),
      playBusyTone: ({ context }) => perform(context.id, ({ leg }) => leg.media.indicate('busy')),
      sendDigits: ({ context }, { sequence }) => perform(context.id, ({ leg }) => leg.sendDigits(sequence)),
      holdPeer: ({ context }, { musicClass }) => perform(context.id, (entry) => options.holdPeer(entry, musicClass)),
      askTransfer: ({ context }, { transfer }) => perform(context.id, (entry) => options.askTransfer(entry, transfer)),
      followForward: ({ context }, { forward }) =>
        perform(context.id, (entry) => options.followForward(entry, forward)),
      presentParty: ({ context }) => perform(context.id, presentParty),
      hangupLeg: ({ context }, { cause }) => perform(context.id, (entry) => hangupLeg(entry, cause, options)),
      goOnAt: ({ context }, { position }) => perform(context.id, (entry) => goOnAt(entry, position, options)),
      giveUpLeg: ({ context }) => perform(context.id, (entry) => tell(entry, { type: 'leg.ended' })),
      stopDialplan: ({ context }) => perform(context.id, (entry) => leaveDialplan(entry, options)),
    },
  });

  const ownership = ownershipMachine.provide({
    actions: {
      enterApplication: ({ context }, entry) =>
        perform(context.id, (channel) => enterApplication(channel, entry, options)),
      showApplication: ({ context }, { data }) =>
        perform(context.id, (entry) => showApplication(entry, 'Stasis', data, options)),
      runDialplan: ({ context }, { position }) => perform(context.id, (entry) => runDialplan(entry, position, options)),
      noteRefusal: ({ context }) =>
        perform(context.id, (entry) => tell(entry, { type: 'variable.set', name: 'STASISSTATUS', value: 'FAILED' })),
      noteDeparture: ({ context }) =>
        perform(context.id, (entry) => {
          tell(entry, { type: 'variable.set', name: 'STASISSTATUS', value: 'SUCCESS' });
          audio.left(entry.id);
        }),
      endChannel: ({ context }) =>
        perform(context.id, (entry) => tell(entry, { type: 'finish', cause: causeAtEnd(entry, view) })),
      queueTurn: ({ context }) => perform(context.id, turns.queue),
      releaseTurns: ({ context: { id, departures } }) => turns.release(id, departures?.length ?? 0),
      leaveBridge: ({ context }) => perform(context.id, options.depart),
      continueAt: ({ context }, { position }) =>
        perform(context.id, (entry) => tell(entry, { type: 'continue', position })),
    },
  });

  return { life, ownership, turns };
}

/** A departure that is being carried out keeps what waits behind it from sounding, also when it is restored. */
export function holdTurn(entry: ChannelEntry, turns: Turns): void {
  const { value, context } = entry.ownership.getSnapshot();
  if (context.due || (value === 'moving' && context.destination?.inTurn)) turns.hold(entry);
}

/** Begins again what the ownership of a channel waits for, after it was restored. */
export function resumeOwnership(entry: ChannelEntry, options: ChannelEffectsOptions, turns: Turns): void {
  const { value, context } = entry.ownership.getSnapshot();
  if (value === 'dialplan') {
    const { context: place, exten: extension, priority } = options.view.snapshot(entry).context.dialplan;
    runDialplan(entry, { context: place, extension, priority }, options);
  }
  for (const { behind } of context.departures?.slice(context.due ? 1 : 0) ?? []) turns.restore(entry, behind);
  if (value === 'entering') enterApplication(entry, { app: context.app, args: context.args, moved: false }, options);
  if (value === 'moving' && context.destination)
    enterApplication(entry, { ...context.destination, moved: true }, options);
}

/** The other half of a Local channel gets its variables as they are by now; who calls the one is reached by the other. */
function dialLeg(entry: ChannelEntry, options: ChannelEffectsOptions): void {
  const { find, tell, view, asteriskEvents } = options;
  const companion = entry.companionId === undefined ? undefined : find(entry.companionId);
  if (companion) {
    const { variables, inheritance, caller, connected } = view.snapshot(entry).context;
    if (asteriskEvents)
      for (const [name, value] of fullNamed(variables, inheritance))
        tell(companion, { type: 'variable.set', name, value });
    else if (Object.keys(variables).length > 0) tell(companion, { type: 'variable.preset', variables, inheritance });
    const redirected = caller.redirection && { redirection: caller.redirection };
    if (isKnown(connected) || redirected)
      tell(companion, {
        type: 'caller.set',
        caller: { ...(isKnown(connected) && shownParty(connected)), ...redirected },
      });
    if (isKnown(caller)) tell(companion, { type: 'connected.set', party: shownParty(caller) });
  }
  const prefers = options.callerFormats(entry);
  entry.leg.dial({ ...dialDetails(view.snapshot(entry).context), ...(prefers && { prefers }) });
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
function presentParty({ leg, actor }: ChannelEntry): void {
  const party = shownParty(actor.getSnapshot().context.connected);
  if (!isRestricted(party.presentation)) leg.present({ name: party.name, number: party.number });
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

function hangupLeg(entry: ChannelEntry, cause: number, { find, tell, depart, playbacks }: ChannelEffectsOptions): void {
  playbacks.targetGone('channel', entry.id);
  depart(entry);
  entry.leg.hangup(cause);
  if (find(entry.id)) tell(entry, { type: 'leg.lingers' });
}

/** Shows what a channel does that runs no dialplan, as if the dialplan had brought it there. */
export function showApplication(
  entry: ChannelEntry,
  app: string,
  data: string,
  { tell, view }: Pick<ChannelEffectsOptions, 'tell'> & { view: Pick<ChannelView, 'snapshot'> },
): void {
  const { context, exten: extension, priority } = view.snapshot(entry).context.dialplan;
  tell(entry, { type: 'dialplan.entered', position: { context, extension, priority }, app, data });
}

/**
 * Ends the dialplan of a channel that is hung up. The extension `h` of its context runs, except steps that would wait.
 * Channels of applications that never ran the dialplan have no `h`. A channel called by Dial has the caller's `h` if
 * the Dial says so.
 */
function leaveDialplan(entry: ChannelEntry, { dialplan, view, ending }: ChannelEffectsOptions): void {
  ending(entry);
  const isOfDialplan = entry.run !== undefined || entry.ownership.getSnapshot().context.resume !== undefined;
  stopDialplan(entry);
  const context = entry.endsIn ?? (isOfDialplan ? view.snapshot(entry).context.dialplan.context : undefined);
  if (context === undefined || !dialplan.hasExtension(context, 'h')) return;
  const run = new Cancellation();
  void dialplan.run(view.dialplanChannel(entry), { context, extension: 'h', priority: 1 }, run);
  run.abort();
}

function runDialplan(entry: ChannelEntry, from: Position, { dialplan, tell, view }: ChannelEffectsOptions): void {
  const run = new Cancellation();
  entry.run = run;
  entry.ranDialplan = true;
  void dialplan.run(view.dialplanChannel(entry), from, run).then((outcome) => {
    // Taken away between its last step and this.
    if (run.aborted) return;
    if (outcome.type === 'stasis')
      tell(entry, { type: 'enter', app: outcome.app, args: outcome.args, resume: outcome.next });
    else if (outcome.type !== 'aborted')
      tell(entry, {
        type: 'dialplan.ended',
        cause: outcome.type === 'hangup' ? outcome.cause : causeAtEnd(entry, view),
      });
    if (entry.run === run) entry.run = undefined;
  });
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
function causeAtEnd(entry: ChannelEntry, view: Pick<ChannelView, 'snapshot'>): number {
  const snapshot = view.snapshot(entry);
  if (lifeOf(snapshot) !== 'ring') return Cause.normalClearing;
  const cause = causesOfDial[ownVariable(snapshot.context.variables, 'DIALSTATUS') ?? ''];
  if (cause !== undefined) return cause;
  const isAway = entry.ownership.getSnapshot().context.refusedBy !== undefined;
  return isAway ? Cause.subscriberAbsent : Cause.normalClearing;
}

/** A priority that no extension has: who comes back there has come to the end. */
const beyond = 1_000_000;

/**
 * Runs a dialplan subroutine on a channel without owner. Settles with its end: `ended` also after Return. Ends with the
 * channel.
 */
export async function visitSubroutine(
  entry: ChannelEntry,
  { position, args }: { position: Position; args: readonly string[] },
  { dialplan, view }: Pick<ChannelEffectsOptions, 'dialplan' | 'view'>,
): Promise<Outcome> {
  // Commands sent while a fact is published run after its step; the first step reads the arguments.
  await Promise.resolve();
  if (isEnding(view.snapshot(entry))) return { type: 'aborted' };
  const run = new Cancellation();
  entry.run = run;
  const host = view.dialplanChannel(entry);
  enterSubroutine(host, { ...position, priority: beyond }, args);
  const outcome = await dialplan.run(host, position, run);
  if (entry.run === run) entry.run = undefined;
  return outcome;
}

/** Removes a channel from its application or its present dialplan step, to continue at another extension. */
function goOnAt(entry: ChannelEntry, position: Position, { tell, view }: ChannelEffectsOptions): void {
  if (isEnding(view.snapshot(entry))) return;
  const owner = entry.ownership.getSnapshot();
  if (hasApplication(owner)) tell(entry, { type: 'continue', position });
  if (owner.value !== 'dialplan') return;
  stopDialplan(entry);
  tell(entry, { type: 'run', position });
}

type Entry = { app: string; args: readonly string[]; moved: boolean };

/** Asks whether an application can be entered. The channel's model shows the application before StasisStart. */
function enterApplication(
  entry: ChannelEntry,
  { app, args, moved }: Entry,
  { applications, tell, view, refused: tellRefused }: ChannelEffectsOptions,
): void {
  const refused = (): void => {
    tellRefused(entry, app);
    tell(entry, { type: 'application.refused' });
  };
  const accepted = (name: string): void => {
    if (!moved) tell(entry, { type: 'application.entered', app: name, args });
    tell(entry, name === app ? { type: 'application.accepted' } : { type: 'application.accepted', app: name });
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
    if (isEnding(view.snapshot(entry))) return;
    if (name === undefined) refused();
    else accepted(name);
  });
}
