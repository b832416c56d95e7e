import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import type { VideoMode } from '../models/bridge.ts';
import { extended, maybe, object, oneOf, text } from '../models/plain-schema.ts';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';

/**
 * Video of a bridge: its states are Asterisk's video modes. It is created when a member with video enters or a source
 * is requested, so calls without video cost nothing.
 */

const BridgeVideoInput = object({
  /** That of the bridge. */
  id: text,
  /** The mode it begins in: see `firstVideoMode`. */
  mode: oneOf('none', 'talker', 'single', 'sfu'),
});
export type BridgeVideoInput = Static<typeof BridgeVideoInput>;

export const BridgeVideoContext = extended(BridgeVideoInput, {
  /** The channel that all members see; undefined without a source. */
  source: maybe(text),
  /** The channel whose picture was asked for: while it sends none, that of another is shown. */
  chosen: maybe(text),
});
export type BridgeVideoContext = Static<typeof BridgeVideoContext>;

/** Asked from above. Whether applications control the bridge, and the channel is in it, is decided before. */
export type BridgeVideoCommand = { type: 'setVideoSource'; channelId: string } | { type: 'clearVideoSource' };

export type BridgeVideoEvent =
  | BridgeVideoCommand
  /** The mix shows another member to all; undefined: no member sends video. */
  | { type: 'mix.videoSource'; channelId: string | undefined }
  /** A member has entered or left. */
  | { type: 'members.changed' }
  /** A member has negotiated other video. */
  | { type: 'member.videoChanged'; channelId: string }
  /** A member is about to leave: the end of its video is published before it leaves. */
  | { type: 'member.leaving'; channelId: string }
  | { type: 'bridge.gone' };

/** The old source; `leaving` is just leaving and no longer in the member list. */
export type BridgeVideoFact = { type: 'BridgeVideoSourceChanged'; old: string | undefined; leaving?: string };

const video = setup({
  types: {
    input: {} as BridgeVideoInput,
    context: {} as BridgeVideoContext,
    events: {} as BridgeVideoEvent,
    emitted: {} as BridgeVideoFact,
  },
  actions: {
    /** Has the mix show the members that the mode selects, and reports the current talker in `talker` mode. */
    showVideo: effect('showVideo'),
    /** Sets up the mix for the members, and shows each the others in the mode `sfu`. */
    arrangeVideo: effect('arrangeVideo'),
  },
  guards: {
    beginsAsNone: ({ context }) => context.mode === 'none',
    beginsAsSingle: ({ context }) => context.mode === 'single',
    beginsAsSfu: ({ context }) => context.mode === 'sfu',
    hasSource: ({ context }) => context.source !== undefined,
    isShown: ({ context, event }) => 'channelId' in event && context.source === event.channelId,
    isChosen: ({ context, event }) => 'channelId' in event && context.chosen === event.channelId,
    isChosenAndShown: ({ context, event }) =>
      'channelId' in event && context.chosen === event.channelId && context.source === event.channelId,
  },
});

const { assign, emit } = video;

/** Told before the source changes in the context, so that the old one is still known. */
const sourceChanges = emit(({ context, event }) => ({
  type: 'BridgeVideoSourceChanged',
  old: context.source,
  ...(event.type === 'member.leaving' && { leaving: event.channelId }),
}));
const keepSource = assign(({ event }) => ('channelId' in event ? { source: event.channelId } : {}));
const forgetSource = assign({ source: undefined });
const choose = assign(({ event }) => (event.type === 'setVideoSource' ? { chosen: event.channelId } : {}));
const forgetChosen = assign({ chosen: undefined });

/** One is asked for: it is shown from now on, or as soon as it sends. */
const showChosen = { target: 'chosen', actions: [sourceChanges, choose, keepSource, 'showVideo'] } as const;
const chooseSource = [{ guard: 'isShown', target: 'chosen', actions: [choose, 'showVideo'] }, showChosen] as const;
/** Without a source of its own a bridge shows who talks. */
const followTalkers = [
  { guard: 'hasSource', target: 'talker', actions: [sourceChanges, forgetSource, forgetChosen, 'showVideo'] },
  { target: 'talker', actions: [forgetChosen, 'showVideo'] },
] as const;
const anotherIsShown = [{ guard: 'isShown' }, { actions: [sourceChanges, keepSource] }] as const;
const sourceLeaves = { guard: 'isShown', actions: [sourceChanges, forgetSource] } as const;
const arrange = {
  'members.changed': { actions: 'arrangeVideo' },
  'member.videoChanged': { actions: 'arrangeVideo' },
} as const;

export const bridgeVideoMachine = video.createMachine({
  id: 'bridgeVideo',
  context: ({ input }) => input,
  initial: 'new',
  states: {
    /** Only passed through. */
    new: {
      always: [
        { guard: 'beginsAsNone', target: 'none' },
        { guard: 'beginsAsSingle', target: 'single' },
        { guard: 'beginsAsSfu', target: 'sfu' },
        { target: 'talker' },
      ],
    },
    /** The dialplan's bridge: two members see each other, without events. */
    none: { meta: { ari: 'none' }, on: { ...arrange, 'bridge.gone': 'gone' } },
    /** Shows the talker to all others. The talker sees the one shown before. */
    talker: {
      meta: { ari: 'talker' },
      on: {
        setVideoSource: chooseSource,
        'mix.videoSource': anotherIsShown,
        'member.leaving': sourceLeaves,
        ...arrange,
        'bridge.gone': 'gone',
      },
    },
    /** One source for all, not yet chosen: the talker is shown meanwhile. */
    single: {
      meta: { ari: 'single' },
      on: {
        setVideoSource: chooseSource,
        clearVideoSource: followTalkers,
        'mix.videoSource': anotherIsShown,
        'member.leaving': sourceLeaves,
        ...arrange,
        'bridge.gone': 'gone',
      },
    },
    /** All members see the chosen source, itself included. While it sends nothing they see the talker. */
    chosen: {
      meta: { ari: 'single' },
      on: {
        setVideoSource: [{ guard: 'isChosenAndShown' }, ...chooseSource],
        clearVideoSource: followTalkers,
        'mix.videoSource': anotherIsShown,
        'member.leaving': [
          { guard: 'isChosenAndShown', target: 'single', actions: [sourceChanges, forgetSource, forgetChosen] },
          // Its request ends with it; the video that is shown instead continues.
          { guard: 'isChosen', target: 'single', actions: forgetChosen },
          sourceLeaves,
        ],
        ...arrange,
        'bridge.gone': 'gone',
      },
    },
    /** Each sees the others, one in each of its streams. */
    sfu: {
      meta: { ari: 'sfu' },
      on: {
        setVideoSource: showChosen,
        clearVideoSource: { target: 'talker', actions: 'showVideo' },
        ...arrange,
        'bridge.gone': 'gone',
      },
    },
    gone: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const bridgeVideoIgnores: Ignores<typeof bridgeVideoMachine> = [
  {
    events: ['setVideoSource', 'clearVideoSource'],
    in: ['none'],
    why: 'applications do not control it, and were refused before',
  },
  { events: ['clearVideoSource'], in: ['talker'], why: 'it follows the talker' },
  { events: ['mix.videoSource', 'member.leaving'], in: ['none', 'sfu'], why: 'no source is shown to all' },
];

export type BridgeVideoSnapshot = SnapshotFrom<typeof bridgeVideoMachine>;

/** The mode that clients see. */
export const videoModeOf = ({ value, context }: BridgeVideoSnapshot): VideoMode => {
  if (value === 'chosen') return 'single';
  return value === 'new' || value === 'gone' ? context.mode : value;
};

/** How it is where nothing was done about it yet. */
export const untouchedVideo = (id: string, mode: VideoMode): BridgeVideoSnapshot =>
  bridgeVideoMachine.resolveState({ value: mode, context: { id, mode } });
