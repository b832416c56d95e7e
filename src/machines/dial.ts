import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { type DialOutcome, DialResult } from '../models/dial.ts';
import {
  either,
  extended,
  flag,
  list,
  literal,
  maybe,
  number,
  object,
  oneOf,
  optional,
  text,
} from '../models/plain-schema.ts';
import { Cause } from '../telephony/causes.ts';
import { features } from '../telephony/features.ts';
import { Position } from './channel-vocabulary.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

/** A subroutine of the dialplan, with its arguments. */
const visit = maybe(object({ position: Position, args: list(text) }));

/** Input of a Dial: see the dialplan's `DialRequest` for each member. */
const DialInput = object({
  /** An id of its own: a channel may have left a Dial that goes on for others. */
  id: text,
  /** Id of the channel that calls. */
  caller: text,
  targets: list(text),
  timeoutMs: maybe(number),
  waiting: either([oneOf('alert', 'ring'), object({ music: text })]),
  limitMs: maybe(number),
  preparation: visit,
  subroutine: visit,
  afterwards: maybe(Position),
  announcement: maybe(list(text)),
  digits: maybe(object({ called: text, calling: text })),
  features: maybe(object({ called: list(oneOf(...features)), calling: list(oneOf(...features)) })),
  toldElsewhere: maybe(literal(true)),
  endsIn: maybe(text),
});
export type DialInput = Static<typeof DialInput>;

/** A channel that is called, and the number that was called by it. */
const Callee = object({ channelId: text, number: text });
export type Callee = Static<typeof Callee>;

export const DialContext = extended(DialInput, {
  /** Whose call it belongs to, as those of playbacks and recordings. */
  targetUri: text,
  /** The channels being called. */
  callees: list(Callee),
  /** Q.850 causes of failed targets, in the order of their failures. */
  failures: list(number),
  /** The answering party, or the channel that replaced it. Name and number are those of the answering party. */
  peer: optional(extended(Callee, { name: text })),
  /** The bridge of both, and since when, in ms since the epoch. */
  bridge: optional(text),
  joinedAt: optional(number),
  /** One party is in a consultation call and expected back. */
  absent: flag,
  end: DialResult,
});
export type DialContext = Static<typeof DialContext>;

export type DialEvent =
  /** The targets were made channels, or could not be. */
  | { type: 'targets.opened'; callees: readonly Callee[]; failures: readonly number[] }
  /** All callees have come to the end of their subroutine. */
  | { type: 'targets.prepared' }
  /** It is heard before it answers. */
  | { type: 'callee.progressed'; channelId: string }
  | { type: 'callee.ringing'; channelId: string }
  | { type: 'callee.answered'; channelId: string; name: string }
  | { type: 'callee.failed'; channelId: string; cause: number }
  /** Another channel replaces a callee or the answering party. */
  | { type: 'callee.replaced'; channelId: string; by: string }
  /** They were called for long enough. */
  | { type: 'patience.over' }
  /** The caller has pressed a key that leads elsewhere. */
  | { type: 'caller.left'; digit: string }
  /** The dialplan moves on. `hungUp`: its channel has ended. `elsewhere`: the call was answered elsewhere. */
  | { type: 'stop'; hungUp: boolean; elsewhere: boolean }
  /** The subroutine and the announcement for the answering party have ended. */
  | { type: 'peer.accepted' }
  | { type: 'peer.declined'; status?: DialOutcome; goesOn?: true }
  /** The caller is Up, or no longer Up. */
  | { type: 'caller.answered' }
  | { type: 'caller.lost' }
  | { type: 'parties.joined'; bridge: string; at: number }
  | { type: 'joining.failed' }
  /** A channel goes elsewhere, and is not to be hung up for that. */
  | { type: 'party.departed'; channelId: string }
  /** A party starts a consultation call and is expected back, or has returned. */
  | { type: 'party.absent'; absent: boolean }
  /** Fewer than two are in the bridge; `hungUp`: the caller has ended. */
  | { type: 'party.left'; at: number; hungUp: boolean }
  /** A party ends the call by keys. */
  | { type: 'party.ends'; channelId: string; at: number }
  /** Both were joined for as long as they may. */
  | { type: 'limit.over' };

const dial = setup({
  types: {
    input: {} as DialInput,
    context: {} as DialContext,
    events: {} as DialEvent,
  },
  actions: {
    /** Lets the caller hear what it hears while it waits; and no longer. */
    beginWaiting: effect('beginWaiting'),
    endWaiting: effect('endWaiting'),
    /** Heeds keys of the caller that end the calling; answers with `caller.left` and `stop`. Heeds them no longer. */
    heedCaller: effect('heedCaller'),
    ignoreCaller: effect('ignoreCaller'),
    /** Makes the channels that call; answers with `targets.opened`. */
    openTargets: effect('openTargets'),
    /** Brings each through the subroutine that comes before calls; answers with `targets.prepared`. */
    prepareTargets: effect('prepareTargets'),
    dialTargets: effect('dialTargets'),
    /** Hangs up all callees. */
    releaseTargets: effect<{ cause: number }>('releaseTargets'),
    /** Signals ringing to the caller. */
    alertCaller: effect('alertCaller'),
    /** The caller hears a callee, unless it hears another one; one that is left in place of one that failed. */
    hearCallee: effect<{ channelId: string }>('hearCallee'),
    hearAnother: effect<{ channelId: string }>('hearAnother'),
    /** Another channel is called, or with the caller, from now on. */
    followReplacement: effect<{ channelId: string; by: string }>('followReplacement'),
    /** The answering party is no longer watched as a callee. */
    keepPeer: effect('keepPeer'),
    /** Brings who answered through its subroutine and announcement; answers with `peer.…`. */
    screenPeer: effect('screenPeer'),
    /** Answers with `caller.answered` or `caller.lost`. */
    answerCaller: effect('answerCaller'),
    /** Answers with `parties.joined` or `joining.failed`. */
    joinParties: effect('joinParties'),
    /** Heeds keys of both, and tells by `party.left` when one of them is gone. */
    watchParties: effect('watchParties'),
    /** Reports again whether both parties are still there. */
    reviewParties: effect('reviewParties'),
    leaveParties: effect('leaveParties'),
    hangUpPeer: effect('hangUpPeer'),
    /** Sends the answering party on alone in the dialplan. */
    sendPeerOn: effect<{ position: Position }>('sendPeerOn'),
    hangUpParty: effect<{ channelId: string }>('hangUpParty'),
    destroyBridge: effect('destroyBridge'),
  },
  guards: {
    hasPreparation: ({ context }) => context.preparation !== undefined,
    tellsElsewhere: ({ context }) => context.toldElsewhere === true && context.timeoutMs !== undefined,
    nobodyIsLeft: ({ context }) => context.callees.length === 0,
    alerts: ({ context }) => context.waiting === 'alert',
    isCallee: ({ context, event }) => 'channelId' in event && isOf(context.callees, event.channelId),
    isScreened: ({ context, event }) =>
      'channelId' in event &&
      isOf(context.callees, event.channelId) &&
      (context.subroutine !== undefined || context.announcement !== undefined),
    isPeer: ({ context, event }) => 'channelId' in event && event.channelId === context.peer?.channelId,
    isParty: ({ context, event }) =>
      'channelId' in event && (event.channelId === context.caller || event.channelId === context.peer?.channelId),
    isLimited: ({ context }) => context.limitMs !== undefined,
    isExpectedBack: ({ context }) => context.absent,
    peerGoesOn: ({ context, event }) => context.afterwards !== undefined && 'hungUp' in event && event.hungUp,
  },
  delays: {
    /** Timeout of callees that are to learn of an answer elsewhere: they do not time out by themselves. */
    patience: ({ context }) => context.timeoutMs!,
    /** How long both may be joined. */
    limit: ({ context }) => context.limitMs!,
  },
});

const isOf = (callees: readonly Callee[], id: string): boolean => callees.some(({ channelId }) => channelId === id);

const { assign, raise, cancel } = dial;

/** Failures in order of importance, as in Asterisk: others than NOANSWER count only if nobody might have answered. */
const telling: readonly DialOutcome[] = ['NOANSWER', 'BUSY', 'CONGESTION', 'CHANUNAVAIL'];

/** The outcome of one call by its Q.850 cause, for DIALSTATUS. Dial events have a rule of their own. */
function dialOutcomeOf(cause: number): DialOutcome {
  if (cause === Cause.userBusy) return 'BUSY';
  if (cause === Cause.congestion) return 'CONGESTION';
  return cause === Cause.noAnswer || cause === Cause.normalClearing ? 'NOANSWER' : 'CHANUNAVAIL';
}

const keepTargets = assign(({ event }) =>
  event.type === 'targets.opened' ? { callees: event.callees, failures: event.failures } : {},
);
const keepFailure = assign(({ context: { callees, failures }, event }) =>
  event.type === 'callee.failed'
    ? {
        callees: callees.filter(({ channelId }) => channelId !== event.channelId),
        failures: [...failures, event.cause],
      }
    : {},
);
const keepReplacement = assign(({ context: { callees }, event }) =>
  event.type === 'callee.replaced'
    ? {
        callees: callees.map((each) =>
          each.channelId === event.channelId ? { channelId: event.by, number: each.number } : each,
        ),
      }
    : {},
);
/** Released channels are no callees. */
const keepAnswer = assign(({ context: { callees }, event }) => {
  const callee = event.type === 'callee.answered' && callees.find(({ channelId }) => channelId === event.channelId);
  if (!callee) return {};
  return {
    callees: callees.filter((each) => each !== callee),
    peer: { ...callee, name: event.name },
  };
});
const forgetTargets = assign({ callees: [] });
const keepNewPeer = assign(({ context: { peer }, event }) =>
  event.type === 'callee.replaced' && peer ? { peer: { ...peer, channelId: event.by } } : {},
);
const keepJoined = assign(({ event }) =>
  event.type === 'parties.joined' ? { bridge: event.bridge, joinedAt: event.at } : {},
);
const keepAbsent = assign(({ event }) => (event.type === 'party.absent' ? { absent: event.absent } : {}));

const endedWith = (end: DialResult) => assign({ end });
const keepNobody = assign(({ context: { failures } }) => {
  const outcomes = failures.map(dialOutcomeOf);
  const status = telling.find((outcome) => outcomes.includes(outcome)) ?? 'CHANUNAVAIL';
  return { end: { status, cause: failures.at(-1) ?? Cause.subscriberAbsent } };
});
const keepLeft = assign(({ event }) =>
  event.type === 'caller.left' ? { end: { status: 'CANCEL' as const, left: event.digit } } : {},
);

const nameOf = ({ peer }: DialContext): Pick<DialResult, 'peer'> =>
  peer ? { peer: { name: peer.name, number: peer.number } } : {};
const keepVerdict = assign(({ context, event }) => ({
  end: {
    ...{ status: 'ANSWER' as DialOutcome, ...nameOf(context), answeredMs: 0 },
    ...(event.type === 'peer.declined' && event.status && { status: event.status }),
    ...(event.type === 'peer.declined' && event.goesOn && { goesOn: event.goesOn }),
  },
}));
const keepDuration = assign(({ context, event }) => ({
  end: {
    ...{ status: 'ANSWER' as const, ...nameOf(context) },
    answeredMs: 'at' in event ? event.at - (context.joinedAt ?? event.at) : (context.limitMs ?? 0),
  },
}));

const released = {
  type: 'releaseTargets',
  params: ({ context, event }: { context: DialContext; event: DialEvent }) => ({
    cause:
      context.toldElsewhere || (event.type === 'stop' && event.elsewhere)
        ? Cause.answeredElsewhere
        : Cause.normalClearing,
  }),
} as const;
const givenUp = ['ignoreCaller', 'endWaiting', released, forgetTargets] as const;
const answered = [keepAnswer, 'ignoreCaller', 'keepPeer'] as const;
const releaseOthers = { type: 'releaseTargets', params: { cause: Cause.answeredElsewhere } } as const;

const followed = {
  type: 'followReplacement',
  params: ({ event }: { event: DialEvent }) =>
    event.type === 'callee.replaced' ? { channelId: event.channelId, by: event.by } : { channelId: '', by: '' },
} as const;

const calleeOf = ({ event }: { event: DialEvent }) => ({ channelId: 'channelId' in event ? event.channelId : '' });

/** Events of callees and the caller before the answer. */
const beforeAnswer = {
  'callee.progressed': { guard: 'alerts', actions: { type: 'hearCallee', params: calleeOf } },
  'callee.ringing': { guard: 'alerts', actions: 'alertCaller' },
  'callee.answered': [
    { guard: 'isScreened', target: 'answered', actions: [...answered, releaseOthers, forgetTargets] },
    { guard: 'isCallee', target: 'joining', actions: [...answered, 'endWaiting', releaseOthers, forgetTargets] },
  ],
  'callee.failed': { guard: 'isCallee', actions: [keepFailure, { type: 'hearAnother', params: calleeOf }] },
  'callee.replaced': { guard: 'isCallee', actions: [keepReplacement, followed] },
  'caller.left': { target: 'over', actions: [keepLeft, ...givenUp] },
  stop: { target: 'over', actions: [endedWith({ status: 'CANCEL' }), ...givenUp] },
} as const;

const replacedPeer = { guard: 'isPeer', actions: [keepNewPeer, followed] } as const;

const sendPeerOn = {
  type: 'sendPeerOn',
  params: ({ context }: { context: DialContext }) => ({ position: context.afterwards! }),
} as const;

/** Both part, and the dialplan of the caller goes on. */
const parted = [
  { guard: 'peerGoesOn', target: 'over', actions: [keepDuration, sendPeerOn, 'destroyBridge', 'leaveParties'] },
  { target: 'over', actions: [keepDuration, 'hangUpPeer', 'destroyBridge', 'leaveParties'] },
] as const;

/**
 * A Dial: calls targets for a channel that runs the dialplan. It connects the channel with the first that answers,
 * until one of them leaves.
 */
export const dialMachine = dial.createMachine({
  id: 'dial',
  context: ({ input }) => ({
    ...input,
    targetUri: `channel:${input.caller}`,
    callees: [],
    failures: [],
    absent: false,
    end: { status: 'CANCEL' },
  }),
  initial: 'preparing',
  states: {
    /** The channels that call are made, and go through what comes before calls. */
    preparing: {
      entry: ['heedCaller', 'beginWaiting', 'openTargets'],
      on: {
        ...beforeAnswer,
        'targets.opened': [
          { guard: 'hasPreparation', actions: [keepTargets, 'prepareTargets'] },
          { guard: 'tellsElsewhere', target: 'calling', actions: [keepTargets, startPatience()] },
          { target: 'calling', actions: keepTargets },
        ],
        'targets.prepared': [
          { guard: 'tellsElsewhere', target: 'calling', actions: startPatience() },
          { target: 'calling' },
        ],
      },
    },
    calling: {
      entry: 'dialTargets',
      exit: cancel('patience'),
      always: { guard: 'nobodyIsLeft', target: 'over', actions: [keepNobody, 'ignoreCaller', 'endWaiting'] },
      on: {
        ...beforeAnswer,
        'patience.over': {
          target: 'over',
          actions: [endedWith({ status: 'NOANSWER', cause: Cause.noAnswer }), ...givenUp],
        },
      },
    },
    /** A target has answered and runs its subroutine; the caller still waits. */
    answered: {
      entry: 'screenPeer',
      exit: 'endWaiting',
      on: {
        'peer.accepted': 'joining',
        'peer.declined': { target: 'over', actions: [keepVerdict, 'hangUpPeer'] },
        'callee.replaced': replacedPeer,
        'party.departed': { guard: 'isPeer', target: 'over', actions: keepVerdict },
        stop: { target: 'over', actions: 'hangUpPeer' },
      },
    },
    /** The caller is being answered, and both are brought together. */
    joining: {
      entry: 'answerCaller',
      on: {
        'caller.answered': { actions: 'joinParties' },
        'caller.lost': { target: 'over', actions: 'hangUpPeer' },
        'parties.joined': [
          {
            guard: 'isLimited',
            target: 'together',
            actions: [keepJoined, raise({ type: 'limit.over' }, { id: 'limit', delay: 'limit' })],
          },
          { target: 'together', actions: keepJoined },
        ],
        'joining.failed': { target: 'over', actions: [keepVerdict, 'hangUpPeer'] },
        'callee.replaced': replacedPeer,
        'party.departed': { guard: 'isPeer', target: 'over', actions: keepVerdict },
        stop: { target: 'over', actions: 'hangUpPeer' },
      },
    },
    together: {
      entry: 'watchParties',
      exit: cancel('limit'),
      on: {
        'party.left': [{ guard: 'isExpectedBack' }, ...parted],
        'party.absent': { actions: [keepAbsent, 'reviewParties'] },
        'party.ends': parted[1],
        'limit.over': parted[1],
        'callee.replaced': replacedPeer,
        'party.departed': { guard: 'isParty', target: 'handedOver' },
        stop: parted,
      },
    },
    /** One party was transferred away. The Dial no longer decides about the parties, but still handles their keys. */
    handedOver: {
      on: {
        'party.left': [{ guard: 'isExpectedBack' }, { target: 'over', actions: [keepDuration, 'leaveParties'] }],
        'party.absent': { actions: [keepAbsent, 'reviewParties'] },
        'party.ends': {
          actions: {
            type: 'hangUpParty',
            params: ({ event }) => ({ channelId: 'channelId' in event ? event.channelId : '' }),
          },
        },
      },
    },
    over: { type: 'final' },
  },
});

function startPatience() {
  return raise({ type: 'patience.over' }, { id: 'patience', delay: 'patience' });
}

const everywhere = ['preparing', 'calling', 'answered', 'joining', 'together', 'handedOver'] as const;
const but = (...states: (typeof everywhere)[number][]) => everywhere.filter((state) => !states.includes(state));

/** Ignored events, with reasons. */
export const dialIgnores: Ignores<typeof dialMachine> = [
  { events: ['targets.opened'], in: but('preparing'), why: 'it is sent once, at the start' },
  { events: ['targets.prepared'], in: but('preparing'), why: 'a target has already answered' },
  {
    events: ['callee.progressed', 'callee.ringing', 'callee.answered', 'callee.failed', 'caller.left'],
    in: but('preparing', 'calling'),
    why: 'the targets have been released',
  },
  { events: ['callee.replaced'], in: ['handedOver'], why: 'the parties were transferred' },
  { events: ['patience.over'], in: but('calling'), why: 'they are not called' },
  {
    events: ['peer.accepted', 'peer.declined'],
    in: but('answered'),
    why: 'the answering party is connected, or there is none',
  },
  {
    events: ['caller.answered', 'caller.lost', 'parties.joined', 'joining.failed'],
    in: but('joining'),
    why: 'no target has answered',
  },
  {
    events: ['party.departed'],
    in: ['preparing', 'calling'],
    why: 'a callee that goes elsewhere ends, and a caller stops',
  },
  { events: ['party.departed'], in: ['handedOver'], why: 'one of them is known to be elsewhere' },
  {
    events: ['party.absent', 'party.left', 'party.ends'],
    in: ['preparing', 'calling', 'answered', 'joining'],
    why: 'the parties are not connected yet',
  },
  { events: ['limit.over'], in: but('together'), why: 'the two are not bridged' },
  { events: ['stop'], in: ['handedOver'], why: 'this chart does not decide about the parties' },
];

type DialSnapshot = SnapshotFrom<typeof dialMachine>;

/** Longest expected time in each state, and what ends it. */
export const dialExpectations: Expectations<DialSnapshot['value']> = {
  preparing: { atMost: 60_000, waitsFor: 'the subroutines before the calls' },
  calling: { atMost: 300_000, waitsFor: 'an answer' },
  answered: { atMost: 120_000, waitsFor: 'the subroutine and the announcement for the answering party' },
  joining: { atMost: 10_000, waitsFor: 'the caller to be answered' },
};
