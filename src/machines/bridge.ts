import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { type Bridge, bridgeTypes, type VideoMode } from '../models/bridge.ts';
import {
  extended,
  flag,
  list,
  maybe,
  number,
  object,
  oneOf,
  optional,
  text,
  textMap,
  word,
} from '../models/plain-schema.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import { type BridgeVideoSnapshot, videoModeOf } from './bridge-video.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

/** Flags of a bridge besides its type. */
export const bridgeFlags = ['dtmf_events', 'proxy_media', 'sdp_label', 'video_sfu', 'video_single'] as const;
export type BridgeFlag = (typeof bridgeFlags)[number];

/** Defaults for members that enter. */
const BridgeFeatures = object({ mute: flag, suppressDtmf: flag });
export type BridgeFeatures = Static<typeof BridgeFeatures>;

/** A channel in a bridge, and what it is there. All of it is for this one stay. */
const BridgeMember = object({
  channelId: text,
  /** As the client wrote it: `announcer`, `holding_participant` or `''`; other words have no effect. */
  role: text,
  /** The others do not hear it. */
  muted: flag,
  /** Its digits cause events but are not sent to the others. */
  absorbsDigits: flag,
  /** Other members get no connected-line update because of it. */
  inhibitsConnectedLine: flag,
  /** The node of the cluster that has the channel; left out: this one. */
  node: optional(text),
});
export type BridgeMember = Static<typeof BridgeMember>;

const BridgeInput = object({
  id: text,
  name: text,
  type: oneOf(...bridgeTypes),
  flags: list(word<BridgeFlag>()),
  features: BridgeFeatures,
  /** stasis: made and controlled by applications; basic: the dialplan's. */
  class: oneOf('stasis', 'basic'),
  /** ms since the epoch. */
  creationTime: number,
  variables: textMap,
  /** Names of the variables that are shown in every event (`report_events`). */
  reported: list(text),
  /**
   * The node of the cluster that has the bridge; left out: this one. With it this is a part: the members at this node of
   * a bridge of that node. Clients do not see parts.
   */
  home: maybe(text),
});
export type BridgeInput = Static<typeof BridgeInput>;

export const BridgeContext = extended(BridgeInput, {
  /** In the order of entering. */
  members: list(BridgeMember),
  /** The class of music that everyone hears; absent when it is off. */
  musicClass: maybe(text),
  /** A part whose bridge is lost: applications hear from this node that the members leave. */
  orphaned: optional(flag),
});
export type BridgeContext = Static<typeof BridgeContext>;

/** Asked from above. Whether a channel may enter or is there to leave is decided before. */
export type BridgeCommand =
  | { type: 'enter'; member: BridgeMember }
  | { type: 'leave'; channelId: string }
  /** From now on the digits of a member go to the others, or do not. */
  | { type: 'member.change'; channelId: string; absorbsDigits: boolean }
  | { type: 'startMoh'; musicClass: string }
  | { type: 'stopMoh' }
  | { type: 'variable.set'; name: string; value: string | undefined; report?: boolean }
  /** Its members get it first, then other subscribers. */
  | { type: 'destroy'; orphaned?: boolean };

export type BridgeEvent =
  | BridgeCommand
  /** Everything that played on it or recorded it has told its end. */
  | { type: 'works.ended' }
  /** The media plane lost the mix. */
  | { type: 'mix.lost' };

export type BridgeFact =
  | { type: 'BridgeCreated' }
  | { type: 'BridgeDestroyed' }
  | { type: 'ChannelEnteredBridge'; channelId: string }
  | { type: 'ChannelLeftBridge'; channelId: string };

const bridge = setup({
  types: {
    input: {} as BridgeInput,
    context: {} as BridgeContext,
    events: {} as BridgeEvent,
    emitted: {} as BridgeFact,
  },
  actions: {
    joinMix: effect<{ member: BridgeMember }>('joinMix'),
    leaveMix: effect<{ channelId: string }>('leaveMix'),
    changeMix: effect<{ channelId: string }>('changeMix'),
    /** Opens the mix again and lets everybody in. */
    reopenMix: effect('reopenMix'),
    playMusic: effect<{ musicClass: string | undefined }>('playMusic'),
    /** Lets the members leave, one after another. */
    removeMembers: effect('removeMembers'),
    /** Ends playbacks and recordings; answers with `works.ended`. */
    endWorks: effect('endWorks'),
  },
  guards: {
    playsMusic: ({ context }) => playsMusic(context),
    isLast: ({ context, event }) =>
      event.type === 'leave' && context.members.every(({ channelId }) => channelId === event.channelId),
  },
  delays: { worksTimeout: 5_000 },
});

const { assign, emit } = bridge;

const playsMusic = ({ musicClass }: BridgeContext): boolean => musicClass !== undefined;

const keepMember = assign(({ context, event }) =>
  event.type === 'enter' ? { members: [...context.members, event.member] } : {},
);
const forgetMember = assign(({ context, event }) =>
  event.type === 'leave' ? { members: context.members.filter(({ channelId }) => channelId !== event.channelId) } : {},
);
const changeMember = assign(({ context, event }) => {
  if (event.type !== 'member.change') return {};
  const { channelId, absorbsDigits } = event;
  return { members: context.members.map((each) => (each.channelId === channelId ? { ...each, absorbsDigits } : each)) };
});
const keepOrphaned = assign(({ event }) => (event.type === 'destroy' && event.orphaned ? { orphaned: true } : {}));
const entered = emit(({ event }) => ({
  type: 'ChannelEnteredBridge',
  channelId: event.type === 'enter' ? event.member.channelId : '',
}));
const left = emit(({ event }) => ({
  type: 'ChannelLeftBridge',
  channelId: event.type === 'leave' ? event.channelId : '',
}));
const join = {
  type: 'joinMix',
  params: ({ event }: { event: BridgeEvent }) => ({
    member: (event as Extract<BridgeEvent, { type: 'enter' }>).member,
  }),
} as const;
const part = {
  type: 'leaveMix',
  params: ({ event }: { event: BridgeEvent }) => ({
    channelId: (event as Extract<BridgeEvent, { type: 'leave' }>).channelId,
  }),
} as const;

const leaving = (last: 'empty' | 'closing') =>
  [
    { guard: 'isLast', target: last, actions: [forgetMember, left, part] },
    { actions: [forgetMember, left, part] },
  ] as const;

const setVariable = assign(({ context, event }) => {
  if (event.type !== 'variable.set') return {};
  const { name, value, report } = event;
  const { [name]: _before, ...others } = context.variables;
  const variables = value === undefined ? others : { ...others, [name]: value };
  const silent = context.reported.filter((other) => other !== name);
  if (report === undefined || value === undefined)
    return { variables, reported: value === undefined ? silent : context.reported };
  return { variables, reported: report ? [...silent, name] : silent };
});

/** Operations of a live bridge. */
const living = {
  startMoh: {
    actions: [
      assign(({ event }) => (event.type === 'startMoh' ? { musicClass: event.musicClass } : {})),
      { type: 'playMusic', params: ({ context }: { context: BridgeContext }) => ({ musicClass: context.musicClass }) },
    ],
  },
  stopMoh: {
    guard: 'playsMusic',
    actions: [assign({ musicClass: undefined }), { type: 'playMusic', params: { musicClass: undefined } }],
  },
  'variable.set': { actions: setVariable },
  'mix.lost': { actions: 'reopenMix' },
} as const;

/**
 * A bridge from creation to destruction. It owns its members; a channel only learns that it entered or left. Before
 * destruction all members leave. Then it waits for the last events of its playbacks and recordings, so that no event
 * follows its end.
 */
export const bridgeMachine = bridge.createMachine({
  id: 'bridge',
  context: ({ input }) => ({ members: [], ...input }),
  initial: 'new',
  states: {
    /** Transient: publishes the creation once. */
    new: { always: { target: 'empty', actions: emit({ type: 'BridgeCreated' }) } },
    /** Stays until it is destroyed, however long. */
    empty: {
      on: {
        ...living,
        enter: { target: 'occupied', actions: [keepMember, entered, join] },
        destroy: { target: 'closing', actions: keepOrphaned },
      },
    },
    occupied: {
      on: {
        ...living,
        enter: { actions: [keepMember, entered, join] },
        leave: [...leaving('empty')],
        'member.change': {
          actions: [
            changeMember,
            { type: 'changeMix', params: ({ event }) => ({ channelId: 'channelId' in event ? event.channelId : '' }) },
          ],
        },
        destroy: { target: 'emptying', actions: keepOrphaned },
      },
    },
    /** All members leave; none may enter. */
    emptying: {
      entry: 'removeMembers',
      on: { leave: [...leaving('closing')] },
    },
    /** Empty; waits for the last events of its playbacks and recordings. */
    closing: {
      entry: 'endWorks',
      after: { worksTimeout: 'destroyed' },
      on: { 'works.ended': 'destroyed' },
    },
    destroyed: { type: 'final', entry: emit({ type: 'BridgeDestroyed' }) },
  },
});

/** Ignored events, with reasons. */
export const bridgeIgnores: Ignores<typeof bridgeMachine> = [
  {
    events: ['enter', 'variable.set'],
    in: ['emptying', 'closing'],
    why: 'the bridge was open when the command was checked, and has closed since',
  },
  { events: ['leave', 'member.change'], in: ['empty', 'closing'], why: 'the bridge is empty' },
  { events: ['member.change'], in: ['emptying'], why: 'all members are leaving' },
  { events: ['mix.lost'], in: ['emptying', 'closing'], why: 'the bridge is closing' },
  { events: ['works.ended'], in: ['empty', 'occupied', 'emptying'], why: 'no end was requested' },
];

export type BridgeSnapshot = SnapshotFrom<typeof bridgeMachine>;

/**
 * The video mode that it begins in. Only applications select who is seen. In other bridges two members see each other.
 */
export function firstVideoMode({ class: kind, flags, home }: Pick<BridgeInput, 'class' | 'flags' | 'home'>): VideoMode {
  if (kind === 'basic' || home !== undefined) return 'none';
  if (flags.includes('video_sfu')) return 'sfu';
  return flags.includes('video_single') ? 'single' : 'talker';
}

/** Whether clients can use it: a bridge that is being destroyed is closed, even before its end. */
export const isOpen = (snapshot: BridgeSnapshot): boolean =>
  snapshot.value === 'new' || snapshot.value === 'empty' || snapshot.value === 'occupied';

/** The member that a channel is; undefined when it is not in the bridge. */
export const memberOf = ({ context }: BridgeSnapshot, channelId: string): BridgeMember | undefined =>
  context.members.find((member) => member.channelId === channelId);

/** Asterisk's technology for this number of members; announcers and recorders count. */
function technologyOf(
  { type, flags, members }: Pick<BridgeContext, 'type' | 'flags' | 'members'>,
  unseen: number,
): string {
  if (type === 'holding') return 'holding_bridge';
  return flags.includes('video_sfu') || members.length + unseen > 2 ? 'softmix' : 'simple_bridge';
}

/** Parts of a bridge's model outside its own chart. */
type BridgeSurroundings = {
  /** Its video chart; left out without video. */
  video?: BridgeVideoSnapshot | undefined;
  /** Number of playbacks and recordings in it, which Asterisk counts as members. */
  unseen?: number | undefined;
  /** A member that is about to leave and is left out. */
  leaving?: string | undefined;
};

/** The bridge as clients see it. Pure: of the same it always makes the same JSON. */
export function bridgeModel({ context }: BridgeSnapshot, surroundings: BridgeSurroundings = {}): Bridge {
  const { video, unseen = 0, leaving } = surroundings;
  const { id, name, type, reported, variables } = context;
  const members =
    leaving === undefined ? context.members : context.members.filter(({ channelId }) => channelId !== leaving);
  const creation = formatTimestamp(context.creationTime);
  const shown = reported.map((variable) => [variable, variables[variable] ?? ''] as const);
  const source = video?.context.source;
  return {
    id,
    technology: technologyOf(
      { type, flags: context.flags, members },
      unseen + (context.musicClass === undefined ? 0 : 1),
    ),
    bridge_type: type,
    bridge_class: context.class,
    creator: context.class === 'stasis' ? 'Stasis' : '',
    name,
    channels: members.map(({ channelId }) => channelId),
    video_mode: video ? videoModeOf(video) : firstVideoMode(context),
    ...(source === undefined ? {} : { video_source_id: source }),
    creationtime: creation,
    creation,
    ...(shown.length === 0 ? {} : { bridgevars: Object.fromEntries(shown) }),
  };
}

/** The commands of clients for a bridge of applications. */
export const bridgeOperations = [
  'destroy',
  'addChannel',
  'removeChannel',
  'setVideoSource',
  'clearVideoSource',
  'startMoh',
  'stopMoh',
  'play',
  'record',
  'variable',
] as const;
export type BridgeOperation = (typeof bridgeOperations)[number];

/** Why an operation is refused now, or undefined when it may go on: the only place that knows these. */
export function refuseBridgeOperation(
  snapshot: BridgeSnapshot,
  operation: BridgeOperation,
): 'bridgeNotFound' | 'bridgeNotInStasis' | 'bridgeNotPlayingMusic' | undefined {
  if (!isOpen(snapshot)) return 'bridgeNotFound';
  if (snapshot.context.class !== 'stasis') return 'bridgeNotInStasis';
  return operation === 'stopMoh' && !playsMusic(snapshot.context) ? 'bridgeNotPlayingMusic' : undefined;
}

/** Longest expected time in each state, and what ends it. */
export const bridgeExpectations: Expectations<BridgeSnapshot['value']> = {
  emptying: { atMost: 5_000, waitsFor: 'its members to leave' },
  closing: { atMost: 6_000, waitsFor: 'its playbacks and recordings to end' },
};
