import { setup } from 'xstate';
import type { ChannelState } from '../models/channel.ts';
import type { DialStatus } from '../models/events.ts';
import { Cause } from '../telephony/causes.ts';
import type { TransferRequest } from '../telephony/driver.ts';
import type { DigitSequence } from '../telephony/media.ts';
import type {
  ChannelContext,
  ChannelEvent,
  ChannelFact,
  ChannelInput,
  EndedBy,
  Forward,
  Identity,
  Position,
} from './channel-vocabulary.ts';
import { effect } from './effect.ts';
import { longestTimeout } from './longest-timeout.ts';

/** The value of "no timeout", in ms. */
export const noTimeout = longestTimeout;

/** Status of a dial that the far side refused, by Q.850 cause (ARI: 17, 34, 3 and 20 have words of their own). */
export function refusedDialStatus(cause: number): DialStatus {
  if (cause === Cause.userBusy) return 'BUSY';
  if (cause === Cause.congestion) return 'CONGESTION';
  if (cause === Cause.noRouteDestination || cause === Cause.subscriberAbsent) return 'CHANUNAVAIL';
  return 'NOANSWER';
}

/**
 * Reads an event as the one type that can arrive where it is used; any other crashes the actor, naming both types.
 */
export function eventOf<T extends ChannelEvent['type']>(
  event: ChannelEvent,
  type: T,
): Extract<ChannelEvent, { type: T }> {
  if (event.type !== type) throw new Error(`expected a '${type}' event and got '${event.type}'`);
  return event as Extract<ChannelEvent, { type: T }>;
}

/** A variable name as stored: without the underscores that say how far it is inherited. */
export const storedName = (name: string): string => name.replace(/^_{1,2}/, '');

/** A variable by its stored name, and not what every object has (`constructor`). */
export const ownVariable = (variables: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;

/** A record with one entry set, or removed (`undefined`). Any name is allowed, also `__proto__`. */
export function withEntry<V>(record: Readonly<Record<string, V>>, name: string, value: V | undefined) {
  // Object.assign: a spread that adds a member makes a hidden class each time. But it takes `__proto__` for the prototype.
  const isKnown = name in record || Object.hasOwn(record, '__proto__');
  if (value !== undefined) return isKnown ? { ...record, [name]: value } : Object.assign({}, record, { [name]: value });
  const { [name]: _removed, ...others } = record;
  return others;
}

/** Variables that one channel gets from another, and how far they go on from there. */
type PassedOn = Pick<ChannelInput, 'variables' | 'inheritance'>;

/** Values that a channel passes on to a channel created or dialed for it. */
export function passedOn({ variables, inheritance }: PassedOn): PassedOn {
  const names = Object.keys(inheritance);
  const always = names.filter((name) => inheritance[name] === 'always');
  return {
    variables: Object.fromEntries(names.map((name) => [name, ownVariable(variables, name) ?? ''])),
    inheritance: Object.fromEntries(always.map((name) => [name, 'always' as const])),
  };
}

/** Whether a change leaves name and number as they are: clients only see these two. */
const isSame = (party: Identity, change: Partial<Identity>): boolean =>
  (change.name ?? party.name) === party.name && (change.number ?? party.number) === party.number;

export const channel = setup({
  types: {
    input: {} as ChannelInput,
    context: {} as ChannelContext,
    events: {} as ChannelEvent,
    emitted: {} as ChannelFact,
    meta: {} as { ari: ChannelState },
  },
  actions: {
    dialLeg: effect('dialLeg'),
    answerLeg: effect('answerLeg'),
    ringLeg: effect('ringLeg'),
    stopRingingLeg: effect('stopRingingLeg'),
    progressLeg: effect('progressLeg'),
    playBusyTone: effect('playBusyTone'),
    sendDigits: effect<{ sequence: DigitSequence }>('sendDigits'),
    /** Plays music of a class to its peers. Undefined ends it. */
    holdPeer: effect<{ musicClass: string | undefined }>('holdPeer'),
    /** Tells the far side who it is connected to. */
    presentParty: effect('presentParty'),
    /** Its far side requests a transfer. */
    askTransfer: effect<{ transfer: TransferRequest }>('askTransfer'),
    /** Its far side sends the call elsewhere, where it is to go on. */
    followForward: effect<{ forward: Forward }>('followForward'),
    /** Tells its caller that the far side forwards the call. */
    tellCallerForwarding: effect('tellCallerForwarding'),
    /** The dialplan continues at a place. Any owner loses the channel. */
    goOnAt: effect<{ position: Position }>('goOnAt'),
    /** Its longest time is over: its dialplan goes on at the extension T of its context, or it ends. */
    endOvertime: effect('endOvertime'),
    hangupLeg: effect<{ cause: number }>('hangupLeg'),
    /** Answers with `leg.ended` in place of a leg that does not. */
    giveUpLeg: effect('giveUpLeg'),
    stopDialplan: effect('stopDialplan'),
  },
  guards: {
    isIncoming: ({ context }) => context.origin === 'incoming',
    isAttached: ({ context }) => context.origin === 'attached',
    isOriginated: ({ context }) => context.origin === 'originated',
    isFollowed: ({ context, event }) =>
      context.origin === 'originated' && event.type === 'leg.forwarded' && event.redirection !== undefined,
    ringsInMedia: ({ event }) => event.type === 'leg.ringing' && event.inMedia === true,
    isNotEnding: ({ context }) => context.endedBy === undefined,
    interceptsHold: ({ context }) => context.interceptsHold === true,
    limitsTime: ({ event }) => event.type === 'timeLimit.set' && event.limit !== undefined,
    leadsElsewhere: ({ context, event }) =>
      event.type === 'leg.toneDetected' && toneTarget(context, event) !== undefined,
    keepsCaller: ({ context, event }) => event.type === 'caller.set' && isSame(context.caller, event.caller),
    setsQuietly: ({ event }) => event.type === 'connected.set' && event.quietly === true,
    keepsConnected: ({ context, event }) => event.type === 'connected.set' && isSame(context.connected, event.party),
    removesNothing: ({ context, event }) =>
      event.type === 'variable.set' &&
      event.value === undefined &&
      !ownVariable(context.variables, storedName(event.name)),
  },
  delays: {
    dialTimeout: ({ context }) => context.dialTimeoutMs,
    hangupTimeout: 5_000,
    timeLimit: ({ context }) => context.timeLimit!.ms,
    /** When this turn of the event loop is over: behind the answer to the request that is being carried out. */
    soon: 0,
  },
});

/* ---- Context and events --------------------------------------------------------------------------------------- */

const { assign, emit } = channel;

/** Every Dial of an originate names what is dialed; after `dial` only the first one does. */
const shownDialString = ({ origin, dialString }: ChannelContext, dialstatus: DialStatus): string =>
  dialstatus === '' || origin === 'originated' ? dialString : '';

export const stateChanged = emit({ type: 'ChannelStateChange' });
export const dialed = (dialstatus: DialStatus) =>
  emit(({ context }) => ({ type: 'Dial', dialstatus, dialstring: shownDialString(context, dialstatus), forward: '' }));

/** The origin of an event that ends a channel, if the event does not name it. */
function enderOf(event: ChannelEvent): EndedBy {
  if ('by' in event && event.by !== undefined) return event.by;
  if (event.type === 'hangup') return 'application';
  if (event.type === 'leg.hungUp') return 'farSide';
  return event.type === 'dialplan.ended' ? 'dialplan' : 'server';
}

/** Keeps why the channel ends, and the public state it had when its end began. */
export const keepEnd = (lastState: ChannelState) =>
  assign(({ event, context }) => ({
    lastState,
    endedBy: enderOf(event),
    cause: 'cause' in event ? event.cause : context.cause,
    ...('techCause' in event && event.techCause !== undefined ? { techCause: event.techCause } : {}),
  }));
/** The same where we end it for a reason of our own. */
export const keepOwnEnd = (lastState: ChannelState, cause: number, endedBy: EndedBy) =>
  assign({ lastState, cause, endedBy });

export const requestedHere = emit(({ context }) => ({
  type: 'ChannelHangupRequest',
  cause: context.cause,
  soft: true,
}));
export const requestedThere = emit(({ context }) => ({
  type: 'ChannelHangupRequest',
  cause: context.cause,
  ...(context.techCause === undefined ? {} : { techCause: context.techCause }),
}));
/** An originate came to nothing: its status says why. */
export const dialEnded = emit(({ context, event }) => ({
  type: 'Dial',
  dialstatus: event.type === 'hangup' && event.cancels ? 'CANCEL' : refusedDialStatus(context.cause),
  dialstring: context.dialString,
  forward: '',
}));

/* ---- Tones that are listened for ------------------------------------------------------------------------------- */

type ToneHeard = Extract<ChannelEvent, { type: 'leg.toneDetected' }>;

/** A tone counts each time it is heard; signals do not. */
export const withTone = ({ tones }: ChannelContext, { direction, signal }: ToneHeard): Partial<ChannelContext> =>
  tones && signal === undefined
    ? { tones: { ...tones, heard: { ...tones.heard, [direction]: tones.heard[direction] + 1 } } }
    : {};

/** The dialplan position after a tone or signal; undefined if the channel stays. */
export function toneTarget(context: ChannelContext, event: ToneHeard): Position | undefined {
  const { tones } = { ...context, ...withTone(context, event) };
  const isDue = event.signal !== undefined || (tones && tones.heard[event.direction] >= tones.times);
  return isDue ? tones?.to[event.direction] : undefined;
}
