import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { extended, flag, list, number, object, oneOf, text } from '../models/plain-schema.ts';
import { consultationFeatures, type Feature, features } from '../telephony/features.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

/** A key that was pressed, and for how long, in ms. */
const PressedKey = object({ digit: text, durationMs: number });
export type PressedKey = Static<typeof PressedKey>;

const FeatureKeysInput = object({
  /** Of the channel whose far side presses them. */
  id: text,
  /** The codes that it may use; none is empty, no two are the same. */
  codes: list(object({ feature: oneOf(...features), code: text })),
  /** Codes during a transfer, while it calls or consults the target: each counts as soon as it is complete. */
  consultationCodes: list(object({ feature: oneOf(...consultationFeatures), code: text })),
  /** Longest time between two keys of a code, in ms. */
  digitTimeoutMs: number,
  /** Longest time until the first key of a number, and between two of them, in ms. */
  numberTimeoutMs: number,
  /** How often a number may be dialed before the party is back in its call. */
  attempts: number,
});
export type FeatureKeysInput = Static<typeof FeatureKeysInput>;

export const FeatureKeysContext = extended(FeatureKeysInput, {
  /** The party consults the target before the transfer. */
  consults: flag,
  /** Keys that may become a code. */
  pressed: list(PressedKey),
  /** The number that is dialed, as far as it is known. */
  number: text,
  /** Numbers that were dialed in vain. */
  failed: number,
});
export type FeatureKeysContext = Static<typeof FeatureKeysContext>;

export type FeatureKeysEvent =
  | ({ type: 'key' } & PressedKey)
  /** The dialplan's answer for a number: a complete extension without longer ones, or no extension with this prefix. */
  | { type: 'number.complete' }
  | { type: 'number.unknown' }
  /** How putting through goes, as a SIP status; 183 once the party talks to the target. */
  | { type: 'transfer.told'; status: number }
  /** The party has left the call. */
  | { type: 'party.left' };

const featureKeys = setup({
  types: {
    input: {} as FeatureKeysInput,
    context: {} as FeatureKeysContext,
    events: {} as FeatureKeysEvent,
  },
  actions: {
    /** Keys that mean nothing here are pressed for the others. */
    passKeys: effect<{ keys: readonly PressedKey[] }>('passKeys'),
    endCall: effect('endCall'),
    /** Begins to record the call, or ends that. */
    toggleRecording: effect<{ feature: 'automon' | 'automixmon' }>('toggleRecording'),
    /** The others hear music; the party a dial tone. */
    inviteNumber: effect('inviteNumber'),
    /** Ends what tones the party hears. */
    stopTone: effect('stopTone'),
    /** Asks whether a number is complete: answers with `number.…`, or not at all where it may go on. */
    weighNumber: effect<{ number: string }>('weighNumber'),
    /** Has the others put through to a number; answers with `transfer.told`. */
    askTransfer: effect<{ number: string; consults: boolean }>('askTransfer'),
    /** Transfers them to the party's consultation, or refuses. Answers with `transfer.told`. */
    completeTransfer: effect('completeTransfer'),
    abortTransfer: effect('abortTransfer'),
    /** The party hears that the target rings. */
    playRinging: effect('playRinging'),
    /** The party hears that it did not work. */
    playRefusal: effect('playRefusal'),
    /** The others hear the party again. */
    resumeCall: effect('resumeCall'),
  },
  guards: {
    endsCall: ({ context, event }) => heard(context, event).feature === 'disconnect',
    records: ({ context, event }) => isRecording(heard(context, event).feature),
    putsThrough: ({ context, event }) => isTransfer(heard(context, event).feature),
    mayBecomeCode: ({ context, event }) => heard(context, event).kept.length > 0,
    hadEndsCall: ({ context }) => codeOf(context, context.pressed) === 'disconnect',
    hadRecords: ({ context }) => isRecording(codeOf(context, context.pressed)),
    hadPutsThrough: ({ context }) => isTransfer(codeOf(context, context.pressed)),
    consults: ({ context }) => context.consults,
    completes: ({ context, event }) => heardThere(context, event).feature === 'atxfercomplete',
    aborts: ({ context, event }) => heardThere(context, event).feature === 'atxferabort',
    mayBecomeCodeThere: ({ context, event }) => heardThere(context, event).kept.length > 0,
    endsNumber: ({ event }) => event.type === 'key' && event.digit === '#',
    endsNumberToTalk: ({ context, event }) => event.type === 'key' && event.digit === '#' && context.consults,
    mayTryAgain: ({ context }) => context.failed < context.attempts,
    isRinging: ({ event }) => event.type === 'transfer.told' && event.status === 180,
    isTalking: ({ event }) => event.type === 'transfer.told' && event.status === 183,
    wasAborted: ({ event }) => event.type === 'transfer.told' && event.status === 487,
    isUnderWay: ({ event }) => event.type === 'transfer.told' && event.status < 200,
    isDone: ({ event }) => event.type === 'transfer.told' && event.status < 300,
  },
  delays: {
    digitTimeout: ({ context }) => context.digitTimeoutMs,
    numberTimeout: ({ context }) => context.numberTimeoutMs,
    /** How long the tone of a refusal sounds, in ms. */
    refusalTone: 1_500,
  },
});

const isRecording = (feature: Feature | undefined): boolean => feature === 'automon' || feature === 'automixmon';

const isTransfer = (feature: Feature | undefined): boolean => feature === 'blindxfer' || feature === 'atxfer';

const textOf = (keys: readonly PressedKey[]): string => keys.map(({ digit }) => digit).join('');

/** The keys that stand for features. */
type Codes<F> = readonly { feature: F; code: string }[];

/** The feature whose code these keys are. */
const codeOf = <F>({ codes }: { codes: Codes<F> }, keys: readonly PressedKey[]): F | undefined =>
  codes.find(({ code }) => code === textOf(keys))?.feature;

/**
 * Evaluates a key after earlier ones: keys without meaning, keys that may become a code, and the code that is complete.
 */
function heard<F>(
  { codes, pressed }: { codes: Codes<F>; pressed: readonly PressedKey[] },
  event: FeatureKeysEvent,
): { passed: readonly PressedKey[]; kept: readonly PressedKey[]; feature?: F | undefined } {
  if (event.type !== 'key') return { passed: [], kept: pressed };
  const { digit, durationMs } = event;
  const all = [...pressed, { digit, durationMs }];
  let first = 0;
  while (first < all.length && !codes.some(({ code }) => code.startsWith(textOf(all.slice(first))))) first++;
  const [passed, kept] = [all.slice(0, first), all.slice(first)];
  const text = textOf(kept);
  const mayGrow = codes.some(({ code }) => code.length > text.length && code.startsWith(text));
  return { passed, kept, feature: mayGrow ? undefined : codeOf({ codes }, kept) };
}

/** The same during a transfer, while the party calls or consults the target: no code waits for a longer one. */
function heardThere({ consultationCodes: codes, pressed }: FeatureKeysContext, event: FeatureKeysEvent) {
  const all = heard({ codes, pressed }, event);
  return { ...all, feature: codeOf({ codes }, all.kept) };
}

const { assign } = featureKeys;

const keepKeys = assign(({ context, event }) => ({ pressed: heard(context, event).kept }));
const forgetKeys = assign({ pressed: [] });
const passOthers = {
  type: 'passKeys',
  params: ({ context, event }: { context: FeatureKeysContext; event: FeatureKeysEvent }) => ({
    keys: heard(context, event).passed,
  }),
} as const;
const keepKeysThere = assign(({ context, event }) => ({ pressed: heardThere(context, event).kept }));
const passTarget = {
  type: 'passKeys',
  params: ({ context, event }: { context: FeatureKeysContext; event: FeatureKeysEvent }) => ({
    keys: heardThere(context, event).passed,
  }),
} as const;
const passAll = {
  type: 'passKeys',
  params: ({ context }: { context: FeatureKeysContext }) => ({ keys: context.pressed }),
} as const;

/** Whether a code asks for a talk to the target first. */
const chooseHeard = assign(({ context, event }) => ({
  consults: heard(context, event).feature === 'atxfer',
  pressed: [],
}));
const chooseHad = assign(({ context }) => ({ consults: codeOf(context, context.pressed) === 'atxfer', pressed: [] }));

const recordingOf = (feature: Feature | undefined) => ({
  feature: feature === 'automon' ? ('automon' as const) : ('automixmon' as const),
});
const toggleHeard = {
  type: 'toggleRecording',
  params: ({ context, event }: { context: FeatureKeysContext; event: FeatureKeysEvent }) =>
    recordingOf(heard(context, event).feature),
} as const;
const toggleHad = {
  type: 'toggleRecording',
  params: ({ context }: { context: FeatureKeysContext }) => recordingOf(codeOf(context, context.pressed)),
} as const;

/** Transitions of a key during the call. Keys that match no code go to the others directly. */
const onKey = [
  { guard: 'endsCall', target: 'over', actions: [passOthers, 'endCall'] },
  { guard: 'records', target: 'talking', actions: [passOthers, toggleHeard, forgetKeys] },
  { guard: 'putsThrough', target: 'invited', actions: [passOthers, chooseHeard] },
  { guard: 'mayBecomeCode', target: 'collecting', reenter: true, actions: [passOthers, keepKeys] },
  { target: 'talking', actions: [passOthers, forgetKeys] },
] as const;

/** Keys of the longest number that can be dialed; what is pressed beyond that makes no other of it. */
const longestNumber = 80;
const dialKey = assign(({ context, event }) =>
  event.type === 'key' ? { number: (context.number + event.digit).slice(0, longestNumber) } : {},
);
/** Transitions of a complete number. */
const called = [{ guard: 'consults', target: 'calling' }, { target: 'puttingThrough' }] as const;
const askTransfer = {
  type: 'askTransfer',
  params: ({ context: { number, consults } }: { context: FeatureKeysContext }) => ({ number, consults }),
} as const;
const back = { target: 'talking', actions: [assign({ failed: 0, pressed: [] }), 'resumeCall'] } as const;
/** Transitions of a key during the consultation. */
const onKeyThere = [
  { guard: 'completes', target: 'consulting', actions: [passTarget, forgetKeys, 'completeTransfer'] },
  { guard: 'aborts', target: 'consulting', actions: [passTarget, forgetKeys, 'abortTransfer'] },
  { guard: 'mayBecomeCodeThere', target: 'collectingThere', reenter: true, actions: [passTarget, keepKeysThere] },
  { target: 'consulting', actions: [passTarget, forgetKeys] },
] as const;
const toldThere = [{ guard: 'isUnderWay' }, { guard: 'isDone', target: 'over' }, back] as const;

const countFailure = assign(({ context }) => ({ failed: context.failed + 1 }));

/**
 * The feature keys of one party. Keys of a code are kept from the others, and so is the transfer target that it dials
 * next. A code that is the beginning of another counts when no further key comes.
 */
export const featureKeysMachine = featureKeys.createMachine({
  id: 'featureKeys',
  context: ({ input }) => ({ ...input, consults: false, pressed: [], number: '', failed: 0 }),
  initial: 'talking',
  on: { 'party.left': '.over' },
  states: {
    talking: { on: { key: [...onKey] } },
    /** The beginning of a code was pressed. */
    collecting: {
      on: { key: [...onKey] },
      after: {
        digitTimeout: [
          { guard: 'hadEndsCall', target: 'over', actions: 'endCall' },
          { guard: 'hadRecords', target: 'talking', actions: [toggleHad, forgetKeys] },
          { guard: 'hadPutsThrough', target: 'invited', actions: chooseHad },
          { target: 'talking', actions: [passAll, forgetKeys] },
        ],
      },
    },
    /** Waits for the number of the transfer target. */
    invited: {
      entry: [assign({ number: '' }), 'inviteNumber'],
      exit: 'stopTone',
      on: {
        key: [
          { guard: 'endsNumber', ...back },
          { target: 'dialing', actions: dialKey },
        ],
      },
      after: { numberTimeout: back },
    },
    /** Dials. */
    dialing: {
      entry: { type: 'weighNumber', params: ({ context }) => ({ number: context.number }) },
      on: {
        key: [
          { guard: 'endsNumberToTalk', target: 'calling' },
          { guard: 'endsNumber', target: 'puttingThrough' },
          { target: 'dialing', reenter: true, actions: dialKey },
        ],
        'number.complete': [...called],
        'number.unknown': 'refused',
      },
      after: { numberTimeout: [...called] },
    },
    /** The target is called, to be talked to first. */
    calling: {
      entry: askTransfer,
      exit: 'stopTone',
      on: {
        key: [
          { guard: 'completes', actions: [forgetKeys, 'completeTransfer'] },
          { guard: 'aborts', actions: [forgetKeys, 'abortTransfer'] },
          { actions: keepKeysThere },
        ],
        'transfer.told': [
          { guard: 'isRinging', actions: 'playRinging' },
          { guard: 'isTalking', target: 'consulting', actions: forgetKeys },
          { guard: 'isUnderWay' },
          { guard: 'isDone', target: 'over' },
          { guard: 'wasAborted', ...back },
          { target: 'refused', actions: forgetKeys },
        ],
      },
    },
    /** The party talks to the target, and the others wait. */
    consulting: { on: { key: [...onKeyThere], 'transfer.told': [...toldThere] } },
    /** There the beginning of a code was pressed. */
    collectingThere: {
      on: { key: [...onKeyThere], 'transfer.told': [...toldThere] },
      after: { digitTimeout: { target: 'consulting', actions: [passAll, forgetKeys] } },
    },
    /** The others are being put through. */
    puttingThrough: {
      entry: askTransfer,
      exit: 'stopTone',
      on: {
        'transfer.told': [
          { guard: 'isRinging', actions: 'playRinging' },
          { guard: 'isUnderWay' },
          { guard: 'isDone', target: 'over' },
          { target: 'refused' },
        ],
      },
    },
    /** It did not work; the party hears that. */
    refused: {
      entry: [countFailure, 'playRefusal'],
      exit: 'stopTone',
      after: {
        refusalTone: [{ guard: 'mayTryAgain', target: 'invited' }, back],
      },
    },
    over: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const featureKeysIgnores: Ignores<typeof featureKeysMachine> = [
  { events: ['key'], in: ['puttingThrough', 'refused'], why: 'its number was dialed and stays' },
  {
    events: ['number.complete', 'number.unknown'],
    in: ['talking', 'collecting', 'invited', 'calling', 'consulting', 'collectingThere', 'puttingThrough', 'refused'],
    why: 'no number is being checked',
  },
  {
    events: ['transfer.told'],
    in: ['talking', 'collecting', 'invited', 'dialing', 'refused'],
    why: 'no transfer is in progress, or its outcome is known',
  },
];

export type FeatureKeysSnapshot = SnapshotFrom<typeof featureKeysMachine>;

/** Longest expected time in each state, and what ends it. */
export const featureKeysExpectations: Expectations<FeatureKeysSnapshot['value']> = {
  collecting: { atMost: 60_000, waitsFor: 'the next key of a code' },
  invited: { atMost: 60_000, waitsFor: 'a number to be dialed' },
  dialing: { atMost: 60_000, waitsFor: 'the next key of a number' },
  calling: { atMost: 300_000, waitsFor: 'the target to answer' },
  collectingThere: { atMost: 60_000, waitsFor: 'the next key of a code' },
  puttingThrough: { atMost: 300_000, waitsFor: 'the target to answer' },
  refused: { atMost: 5_000, waitsFor: 'its tone to end' },
};
