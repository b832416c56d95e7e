import { type SnapshotFrom, setup } from 'xstate';
import type { Redirection } from '../telephony/party.ts';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type LegEvent =
  /** Calls the endpoint. */
  | { type: 'dial' }
  /** Tells the far side that somebody is alerted, that the call is forwarded, or of audio before the answer. */
  | { type: 'ring' }
  | { type: 'forwarding' }
  | { type: 'progress' }
  | { type: 'stopRinging' }
  | { type: 'answer' }
  /** Puts the far side on hold; and takes it back. */
  | { type: 'hold' }
  | { type: 'unhold' }
  /** Offers the session again. */
  | { type: 'renegotiate' }
  /** Sends the caller elsewhere instead of an answer. */
  | { type: 'deflect'; uri: string; cause: number; techCause: number }
  /** Asks the far side to call somebody else. */
  | { type: 'refer'; uri: string }
  /** Ends the call. It is answered with the last report. */
  | { type: 'hangup'; cause: number }
  /** Ends the call, and reports nothing. */
  | { type: 'release' }
  /** The 2xx was sent, or one was received and its answer agreed on. */
  | { type: 'call.answered' }
  /** The far side, or the protocol, has ended the call or refused it. */
  | { type: 'call.ended'; cause: number; techCause?: number | undefined }
  /** The far side wants us to call another target instead. */
  | { type: 'call.forwarded'; target: string; redirection?: Redirection | undefined }
  /** No RTP arrives. */
  | { type: 'media.silent'; cause: number }
  /** There is no port, or the media session broke down. */
  | { type: 'media.lost'; cause: number }
  /** The far side has put us on hold; and taken us back. */
  | { type: 'far.held' }
  | { type: 'far.unheld' };

const effects = {
  placeCall: effect('placeCall'),
  sendRinging: effect('sendRinging'),
  sendForwarding: effect('sendForwarding'),
  sendProgress: effect('sendProgress'),
  answerCall: effect('answerCall'),
  /** The far side hears the ringing tone in its audio; and no longer. */
  playRinging: effect('playRinging'),
  stopRinging: effect('stopRinging'),
  holdCall: effect('holdCall'),
  unholdCall: effect('unholdCall'),
  offerAgain: effect('offerAgain'),
  deflectCall: effect('deflectCall'),
  referCall: effect('referCall'),
  /** Refuses the call that has no audio. */
  refuseCall: effect('refuseCall'),
  endCall: effect('endCall'),
  /** Expects RTP from now on. */
  renewMedia: effect('renewMedia'),
  /** Offers the video that call control wants. */
  considerVideo: effect('considerVideo'),
  tellAnswered: effect('tellAnswered'),
  tellHeld: effect('tellHeld'),
  tellUnheld: effect('tellUnheld'),
  tellHungUp: effect('tellHungUp'),
  tellForwarded: effect('tellForwarded'),
  tellEnded: effect('tellEnded'),
  /** Those who show the calls of the endpoint look again. */
  noteChange: effect('noteChange'),
};

const leg = setup({ types: { events: {} as LegEvent }, actions: effects });

const over = {
  hangup: { target: 'ended', actions: ['endCall', 'tellEnded'] },
  release: { target: 'ended', actions: 'endCall' },
} as const;
const living = {
  ...over,
  'call.ended': { target: 'gone', actions: ['tellHungUp', 'noteChange'] },
  'media.lost': { target: 'gone', actions: ['refuseCall', 'tellHungUp', 'noteChange'] },
} as const;
const beforeAnswer = {
  ...living,
  ring: { actions: 'sendRinging' },
  forwarding: { actions: 'sendForwarding' },
  progress: { actions: 'sendProgress' },
  answer: { actions: 'answerCall' },
  deflect: { target: 'gone', actions: ['deflectCall', 'tellHungUp', 'noteChange'] },
  'call.forwarded': { target: 'gone', actions: 'tellForwarded' },
} as const;
const answered = ['tellAnswered', 'considerVideo', 'noteChange'] as const;
const standing = {
  ...living,
  ring: { actions: 'playRinging' },
  stopRinging: { actions: 'stopRinging' },
  hold: { actions: 'holdCall' },
  unhold: { actions: 'unholdCall' },
  renegotiate: { actions: 'offerAgain' },
  refer: { actions: 'referCall' },
  'media.silent': { target: 'gone', actions: ['tellHungUp', 'noteChange'] },
} as const;

/** A call of a SIP endpoint, in or out, as its leg sees it. The leg runs it as a table. */
export const legMachine = leg.createMachine({
  id: 'leg',
  initial: 'undialed',
  states: {
    /** Nobody is called yet. A call that came in begins in `setup`. */
    undialed: { on: { ...living, dial: { target: 'setup', actions: 'placeCall' } } },
    /** Before the answer. */
    setup: {
      on: { ...beforeAnswer, 'media.silent': 'unheard', 'call.answered': { target: 'up', actions: answered } },
    },
    /** Before the answer. No RTP came although it might have: many phones send none. */
    unheard: {
      on: { ...beforeAnswer, 'call.answered': { target: 'up', actions: ['renewMedia', ...answered] } },
    },
    up: { on: { ...standing, 'far.held': { target: 'held', actions: ['tellHeld', 'noteChange'] } } },
    /** The far side holds us. */
    held: { on: { ...standing, 'far.unheld': { target: 'up', actions: ['tellUnheld', 'noteChange'] } } },
    /** The far side has ended it; `hangup` is awaited. */
    gone: { on: over },
    /** No more events are sent. */
    ended: { type: 'final' },
  },
});

const commands = ['ring', 'forwarding', 'progress', 'stopRinging', 'answer'] as const;
const changes = ['hold', 'unhold', 'renegotiate', 'refer'] as const;

/** What it ignores, and why. */
export const legIgnores: Ignores<typeof legMachine> = [
  { events: ['dial'], why: 'it was dialed before, or came in' },
  { events: [...commands, 'deflect'], in: ['undialed'], why: 'no party hears it yet' },
  { events: ['stopRinging'], in: ['setup', 'unheard'], why: 'the answer ends the ringing' },
  { events: changes, in: ['undialed', 'setup', 'unheard'], why: 'there is no dialog to change' },
  {
    events: ['far.held', 'far.unheld'],
    in: ['undialed', 'setup', 'unheard'],
    why: 'the hold of a call is told once it stands',
  },
  { events: ['media.silent', 'call.answered', 'call.forwarded'], in: ['undialed'], why: 'no party was called' },
  { events: ['media.silent'], in: ['unheard'], why: 'it is known' },
  {
    events: ['forwarding', 'progress', 'answer', 'deflect', 'call.answered', 'call.forwarded'],
    in: ['up', 'held'],
    why: 'it is answered',
  },
  { events: ['far.held'], in: ['held'], why: 'it was reported before' },
  { events: ['far.unheld'], in: ['up'], why: 'it was not held' },
  {
    events: [
      ...[...commands, ...changes, 'deflect', 'call.answered', 'call.ended', 'call.forwarded'],
      ...['media.silent', 'media.lost', 'far.held', 'far.unheld'],
    ] as LegEvent['type'][],
    in: ['gone'],
    why: 'its end was reported before',
  },
];

export type LegState = SnapshotFrom<typeof legMachine>['value'];
export type LegEffect = keyof typeof effects;

/** The chart as SIP legs run it. */
export const legTable = plainTable<typeof legMachine, LegEffect>(legMachine);

/** Whether the call was not answered yet. */
export const isBeforeAnswer = (state: LegState): boolean =>
  state === 'undialed' || state === 'setup' || state === 'unheard';

/** Whether the call stands. */
export const isUp = (state: LegState): boolean => state === 'up' || state === 'held';
