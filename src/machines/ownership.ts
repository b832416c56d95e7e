import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import {
  either,
  extended,
  list,
  literal,
  marked,
  maybe,
  object,
  oneOf,
  optional,
  text,
} from '../models/plain-schema.ts';
import { channelOperations } from './channel.ts';
import { OnAnswer, Position } from './channel-vocabulary.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

/**
 * Who controls a channel: nobody, the dialplan, an application, or a transition between two. It is a chart beside the
 * channel's life, because an application may own a channel that is Down, Ring or Up.
 */

const OwnershipInput = object({
  /** The channel's id. */
  id: text,
  /** The first dialplan position. */
  start: Position,
  /** Action of an outbound channel when it answers. */
  onAnswer: optional(OnAnswer),
  /** A channel without a call and so without a dialplan: it ends when it leaves its application. */
  attached: marked,
});
export type OwnershipInput = Static<typeof OwnershipInput>;

const Continue = object({ type: literal('continue'), position: Position });
const Move = object({ type: literal('move'), app: text, args: list(text) });
/** How a channel leaves its application: for the dialplan, or for another application. */
export type Departure = Static<typeof Continue> | Static<typeof Move>;

/** The playback or recording that has to end before the channel leaves its application. */
const WaitsBehind = object({ kind: oneOf('playback', 'recording'), id: text });
export type WaitsBehind = Static<typeof WaitsBehind>;

/** The work that a departure waits for, if any. */
const behind = { behind: optional(WaitsBehind) };

export const OwnershipContext = extended(OwnershipInput, {
  /** The application in control, or the one being asked for. */
  app: text,
  args: list(text),
  /** Target of a move. `inTurn`: the move waited for its turn, and keeps it until it is decided. */
  destination: optional(object({ app: text, args: list(text), inTurn: marked })),
  /** Pending departures, in order. */
  departures: maybe(list(either([extended(Continue, behind), extended(Move, behind)]))),
  /** The turn of the first of them has come. */
  due: maybe(literal(true)),
  /** The application as the channel's model shows it before it is entered. */
  shown: optional(text),
  /** Dialplan position after the application; left out on channels that never ran the dialplan. */
  resume: optional(Position),
  /** The channel whose place in the application it takes. */
  replaces: maybe(text),
  /** The application that could not be entered, or that stayed away, until another one takes the channel. */
  refusedBy: maybe(text),
});
export type OwnershipContext = Static<typeof OwnershipContext>;

/** Asked from above. */
type OwnershipCommand =
  /** Run the dialplan from a place. */
  | { type: 'run'; position: Position }
  /** Enter an application; without `resume` the channel ends when it is refused. */
  /** `replaces`: id of the channel whose place there it takes. */
  | { type: 'enter'; app: string; args: readonly string[]; resume?: Position; replaces?: string }
  /** The same, once what is under way has been answered; `data`: the application's arguments as they were asked for. */
  | { type: 'enter.soon'; app: string; args: readonly string[]; data: string }
  /** Leaves the application without waiting. */
  | Departure
  /** Leaves after the present playbacks and recordings, and after pending departures. */
  | { type: 'leave'; departure: Departure; behind?: WaitsBehind };

export type OwnershipEvent =
  | OwnershipCommand
  | { type: 'leg.offered' }
  | { type: 'leg.answered' }
  | { type: 'leg.ended' }
  | { type: 'dialplan.ended'; cause: number }
  /** The first pending departure's turn has come. */
  | { type: 'turn' }
  /** The answer to `enterApplication`. */
  /** `app`: it goes by another name than asked for (an instance for this call). */
  | { type: 'application.accepted'; app?: string }
  | { type: 'application.refused' }
  /** The application in control is away for too long: the channel is taken from it. */
  | { type: 'application.lost' };

/** `moved` is true on the two facts of a move, where the channel never leaves application control. */
export type OwnershipFact =
  | { type: 'StasisStart'; app: string; args: readonly string[]; moved: boolean; replaces?: string }
  | { type: 'StasisEnd'; app: string; moved: boolean }
  | { type: 'ApplicationMoveFailed'; app: string; destination: string; args: readonly string[] };

const ownership = setup({
  types: {
    input: {} as OwnershipInput,
    context: {} as OwnershipContext,
    events: {} as OwnershipEvent,
    emitted: {} as OwnershipFact,
  },
  actions: {
    /** Asks for an answer; `moved`: on the way from one application to another. */
    enterApplication: effect<{ app: string; args: readonly string[]; moved: boolean }>('enterApplication'),
    /** Shows on the channel that it is about to enter an application, as if the dialplan had brought it there. */
    showApplication: effect<{ data: string }>('showApplication'),
    runDialplan: effect<{ position: Position }>('runDialplan'),
    /** Tells the dialplan, and clients, that the application could not be entered. */
    noteRefusal: effect('noteRefusal'),
    /** Reports to the dialplan and the audio chart that the channel left the application. */
    noteDeparture: effect('noteDeparture'),
    /** Nothing is left to do with the channel. */
    endChannel: effect('endChannel'),
    /** Takes a turn behind all playbacks and recordings of the channel; `turn` reports it. */
    queueTurn: effect('queueTurn'),
    /** Gives up the first turns: all but one for each departure that is still pending. */
    releaseTurns: effect('releaseTurns'),
    /** Takes the channel out of its bridge. */
    leaveBridge: effect('leaveBridge'),
    /** Answers with `continue`. */
    continueAt: effect<{ position: Position }>('continueAt'),
  },
  delays: {
    /** When this turn of the event loop is over: behind the answer to the request that is being carried out. */
    soon: 0,
  },
  guards: {
    entersApplication: ({ context }) => context.onAnswer?.type === 'application',
    entersDialplan: ({ context }) => context.onAnswer?.type === 'dialplan',
    canResume: ({ context }) => context.resume !== undefined,
    hasDepartures: ({ context: { departures = [] } }) => departures.length > 0,
    movesNow: ({ context: { due, departures } }) => due === true && departures?.[0]?.type === 'move',
    endsNow: ({ context: { due, attached } }) => due === true && attached === true,
    continuesNow: ({ context: { due } }) => due === true,
  },
});

const { assign, emit } = ownership;

const started = (moved: boolean) =>
  emit(({ context: { app, args, replaces } }) => ({
    ...({ type: 'StasisStart', app, args, moved } as const),
    ...(replaces === undefined ? {} : { replaces }),
  }));
const ended = (moved: boolean) => emit(({ context: { app } }) => ({ type: 'StasisEnd', app, moved }));

const keepDestination = assign(({ event }) =>
  event.type === 'move' ? { destination: { app: event.app, args: event.args } } : {},
);

const keepInstance = assign(({ event, context: { refusedBy } }) => ({
  ...(event.type === 'application.accepted' && event.app !== undefined ? { app: event.app } : {}),
  ...(refusedBy === undefined ? {} : { refusedBy: undefined }),
}));

const keepRefusal = assign(({ context: { app } }) => ({ refusedBy: app }));

const forgetReplaced = assign(({ context: { replaces } }) => (replaces === undefined ? {} : { replaces: undefined }));

const keepWanted = assign(({ context: { onAnswer }, event }) => {
  if (event.type === 'enter')
    return {
      app: event.app,
      args: event.args,
      ...(event.resume ? { resume: event.resume } : {}),
      ...(event.replaces === undefined ? {} : { replaces: event.replaces }),
    };
  return onAnswer?.type === 'application' ? { app: onAnswer.app, args: onAnswer.args } : {};
});

const keepDeparture = assign(({ context: { departures = [] }, event }) => {
  if (event.type !== 'leave') return {};
  const { departure, behind } = event;
  return { departures: [...departures, behind ? { ...departure, behind } : departure] };
});

const keepTurn = assign({ due: true });

/** The first departure becomes the move that is under way. */
const beginMove = assign(({ context: { departures: [first, ...rest] = [] } }) =>
  first?.type === 'move'
    ? { departures: rest, due: undefined, destination: { app: first.app, args: first.args, inTurn: true as const } }
    : {},
);

const forgetDepartures = assign(({ context: { departures } }) =>
  departures === undefined ? {} : { departures: undefined, due: undefined },
);

/** Actions for a departure that waits. */
const leaves = [keepDeparture, 'queueTurn'] as const;

/** The answer to a move. */
const moved = [
  ended(true),
  assign(({ context: { destination } }) => ({ app: destination?.app ?? '', args: destination?.args ?? [] })),
  keepInstance,
  started(true),
  'releaseTurns',
] as const;
const stayed = [
  emit(({ context: { app, destination } }) => ({
    ...({ type: 'ApplicationMoveFailed', app } as const),
    ...{ destination: destination?.app ?? '', args: destination?.args ?? [] },
  })),
  'releaseTurns',
] as const;

/** The place that a command, the dialing client or the refused application's call names; else the channel's start. */
const wantedPosition = ({ start, onAnswer, resume }: OwnershipContext, event: OwnershipEvent): Position => {
  if ('position' in event) return event.position;
  if (event.type === 'leg.answered' && onAnswer?.type === 'dialplan') return onAnswer.position;
  return event.type === 'application.refused' && resume ? resume : start;
};

export const ownershipMachine = ownership.createMachine({
  id: 'ownership',
  context: ({ input }) => ({ app: '', args: [], ...input }),
  initial: 'nobody',
  states: {
    nobody: {
      on: {
        run: 'dialplan',
        enter: 'entering',
        'enter.soon': {
          target: 'aboutToEnter',
          actions: assign(({ event }) =>
            event.type === 'enter.soon' ? { app: event.app, args: event.args, shown: event.data } : {},
          ),
        },
        'leg.offered': 'dialplan',
        'leg.answered': [
          { guard: 'entersApplication', target: 'entering' },
          { guard: 'entersDialplan', target: 'dialplan' },
        ],
        'leg.ended': 'ended',
      },
    },
    /** Made for an application by a request that is answered first. */
    aboutToEnter: {
      on: { 'leg.ended': 'ended' },
      after: {
        soon: {
          target: 'entering',
          actions: { type: 'showApplication', params: ({ context }) => ({ data: context.shown ?? context.app }) },
        },
      },
    },
    dialplan: {
      entry: {
        type: 'runDialplan',
        params: ({ context, event }) => ({ position: wantedPosition(context, event) }),
      },
      on: {
        // Somewhere else: it was put through to there.
        run: { target: 'dialplan', reenter: true },
        enter: 'entering',
        'dialplan.ended': 'nobody',
        'leg.ended': 'ended',
      },
    },
    /** Asked the application; its answer is on the way. */
    entering: {
      entry: [
        keepWanted,
        {
          type: 'enterApplication',
          params: ({ context: { app, args } }) => ({ app, args, moved: false }),
        },
      ],
      on: {
        'application.accepted': { target: 'application', actions: [keepInstance, started(false), forgetReplaced] },
        'application.refused': [
          { guard: 'canResume', target: 'dialplan', actions: [keepRefusal, 'noteRefusal'] },
          { target: 'nobody', actions: [keepRefusal, 'noteRefusal', 'endChannel'] },
        ],
        'leg.ended': 'ended',
      },
    },
    application: {
      on: {
        continue: { target: 'dialplan', actions: [ended(false), 'noteDeparture'] },
        'application.lost': { actions: keepRefusal },
        move: { target: 'moving', actions: keepDestination },
        leave: { target: 'leaving', actions: leaves },
        'leg.ended': { target: 'ended', actions: [ended(false), 'noteDeparture'] },
      },
    },
    /** In the application; leaves it after its playbacks and recordings. */
    leaving: {
      always: [
        { guard: 'movesNow', target: 'moving', actions: beginMove },
        {
          guard: 'endsNow',
          target: 'application',
          actions: [forgetDepartures, 'leaveBridge', 'endChannel', 'releaseTurns'],
        },
        { guard: 'continuesNow', target: 'departing' },
      ],
      on: {
        turn: { actions: keepTurn },
        leave: { actions: leaves },
        continue: { target: 'dialplan', actions: [forgetDepartures, ended(false), 'noteDeparture', 'releaseTurns'] },
        'application.lost': { actions: keepRefusal },
        move: { target: 'moving', actions: keepDestination },
        'leg.ended': { target: 'ended', actions: [ended(false), 'noteDeparture'] },
      },
    },
    /** Out of its bridge first, then for the dialplan. */
    departing: {
      entry: [
        'leaveBridge',
        {
          type: 'continueAt',
          params: ({ context: { departures: [first] = [], start } }) => ({
            position: first?.type === 'continue' ? first.position : start,
          }),
        },
        forgetDepartures,
        'releaseTurns',
      ],
      on: {
        continue: { target: 'dialplan', actions: [ended(false), 'noteDeparture'] },
        'leg.ended': { target: 'ended', actions: [ended(false), 'noteDeparture'] },
      },
    },
    /** Asked the destination; until it answers the channel stays with the application it has. */
    moving: {
      entry: {
        type: 'enterApplication',
        params: ({ context: { destination } }) => ({
          app: destination?.app ?? '',
          args: destination?.args ?? [],
          moved: true,
        }),
      },
      on: {
        leave: { actions: leaves },
        turn: { actions: keepTurn },
        'application.accepted': [
          { guard: 'hasDepartures', target: 'leaving', actions: moved },
          { target: 'application', actions: moved },
        ],
        'application.refused': [
          { guard: 'hasDepartures', target: 'leaving', actions: stayed },
          { target: 'application', actions: stayed },
        ],
        'leg.ended': { target: 'ended', actions: [ended(false), 'noteDeparture'] },
      },
    },
    ended: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const ownershipIgnores: Ignores<typeof ownershipMachine> = [
  { events: ['enter.soon'], why: 'it is requested once, right after the channel was created' },
  { events: ['run'], why: 'the channel has an owner: it was offered or entered before' },
  {
    events: ['enter'],
    in: ['aboutToEnter', 'entering', 'application', 'leaving', 'departing', 'moving'],
    why: 'it is in an application, or about to be',
  },
  { events: ['continue', 'move'], in: ['moving'], why: 'commands for a moving channel wait' },
  {
    events: ['leave'],
    in: ['nobody', 'aboutToEnter', 'dialplan', 'entering', 'departing'],
    why: 'it is in no application that it could leave',
  },
  {
    events: ['turn'],
    in: ['nobody', 'aboutToEnter', 'dialplan', 'entering', 'application', 'departing'],
    why: 'no departure is queued',
  },
  { events: ['leg.offered', 'leg.answered'], why: 'the channel has an owner and keeps it' },
  { events: ['dialplan.ended'], why: 'another channel took it from the dialplan' },
  {
    events: ['application.lost'],
    in: ['nobody', 'aboutToEnter', 'dialplan', 'entering', 'departing', 'moving'],
    why: 'it can be taken from an application only, and is in none',
  },
  { events: ['application.accepted', 'application.refused'], why: 'no request is pending' },
];

/** Why a channel failed that an application did not take, in words. */
export const failedFor = (application: string): string => `the application ${application} is not connected`;

export type OwnershipSnapshot = SnapshotFrom<typeof ownershipMachine>;

/** Whether an application has a channel that is not on its way to another one. */
export const hasApplication = ({ value }: { value: unknown }): boolean =>
  value === 'application' || value === 'leaving';

/** Whether an application controls a channel: also while a move is undecided. */
export const isControlled = (snapshot: { value: unknown }): boolean =>
  hasApplication(snapshot) || snapshot.value === 'moving';

/** Operations that need a channel in an application. */
export const ownershipOperations = [
  ...channelOperations,
  'move',
  'setVariable',
  'bridge',
  'record',
  'transferProgress',
] as const;

export type OwnershipOperation = (typeof ownershipOperations)[number];

/** The refusal of an operation on a channel without application, or undefined: the only source of this 409. */
export function refuseOwnershipOperation(
  snapshot: OwnershipSnapshot,
  _operation: OwnershipOperation,
): 'channelNotInStasis' | undefined {
  return isControlled(snapshot) ? undefined : 'channelNotInStasis';
}

/** Longest expected time in each state, and what ends it. */
export const ownershipExpectations: Expectations<OwnershipSnapshot['value']> = {
  aboutToEnter: { atMost: 2_000, waitsFor: 'the answer to the request that sends it there' },
  entering: { atMost: 10_000, waitsFor: 'the application to accept it' },
  departing: { atMost: 2_000, waitsFor: 'its bridge to let it go' },
  moving: { atMost: 10_000, waitsFor: 'the other application to accept it' },
};
