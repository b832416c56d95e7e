import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { object, text } from '../models/plain-schema.ts';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';

/**
 * The audio commands on a channel besides playbacks: mute, hold, and music or silence. Three independent regions.
 * Created by the first such command, so calls without any cost nothing.
 */

export type Direction = 'both' | 'in' | 'out';

export type ChannelAudioEvent =
  /** `in` drops audio from the channel; `out` silences audio to it. Directions add up. */
  | { type: 'mute'; direction: Direction }
  | { type: 'unmute'; direction: Direction }
  | { type: 'hold' }
  | { type: 'unhold' }
  | { type: 'startMoh'; musicClass: string }
  | { type: 'stopMoh' }
  | { type: 'startSilence' }
  | { type: 'stopSilence' }
  /** The channel left the application: silence and music end; mute and hold stay. */
  | { type: 'application.left' }
  | { type: 'channel.gone' };

type ChannelAudioInput = Pick<ChannelAudioContext, 'id'>;
export const ChannelAudioContext = object({ id: text, musicClass: text });
export type ChannelAudioContext = Static<typeof ChannelAudioContext>;

const audio = setup({
  types: {
    input: {} as ChannelAudioInput,
    context: {} as ChannelAudioContext,
    events: {} as ChannelAudioEvent,
  },
  actions: {
    muteMedia: effect<{ in: boolean; out: boolean }>('muteMedia'),
    holdLeg: effect('holdLeg'),
    unholdLeg: effect('unholdLeg'),
    startMusic: effect<{ musicClass: string }>('startMusic'),
    startSilence: effect('startSilence'),
    stopBackground: effect('stopBackground'),
  },
  guards: {
    isBoth: ({ event }) => 'direction' in event && event.direction === 'both',
    isIn: ({ event }) => 'direction' in event && event.direction === 'in',
    isOut: ({ event }) => 'direction' in event && event.direction === 'out',
  },
});

const muting = (muted: { in: boolean; out: boolean }) => ({ type: 'muteMedia', params: muted }) as const;

const mute = audio.createStateConfig({
  initial: 'unmuted',
  states: {
    unmuted: {
      on: {
        mute: [
          { guard: 'isBoth', target: 'mutedBoth', actions: muting({ in: true, out: true }) },
          { guard: 'isIn', target: 'mutedIn', actions: muting({ in: true, out: false }) },
          { target: 'mutedOut', actions: muting({ in: false, out: true }) },
        ],
      },
    },
    mutedIn: {
      on: {
        mute: [
          { guard: 'isBoth', target: 'mutedBoth', actions: muting({ in: true, out: true }) },
          { guard: 'isOut', target: 'mutedBoth', actions: muting({ in: true, out: true }) },
        ],
        unmute: [
          { guard: 'isBoth', target: 'unmuted', actions: muting({ in: false, out: false }) },
          { guard: 'isIn', target: 'unmuted', actions: muting({ in: false, out: false }) },
        ],
      },
    },
    mutedOut: {
      on: {
        mute: [
          { guard: 'isBoth', target: 'mutedBoth', actions: muting({ in: true, out: true }) },
          { guard: 'isIn', target: 'mutedBoth', actions: muting({ in: true, out: true }) },
        ],
        unmute: [
          { guard: 'isBoth', target: 'unmuted', actions: muting({ in: false, out: false }) },
          { guard: 'isOut', target: 'unmuted', actions: muting({ in: false, out: false }) },
        ],
      },
    },
    mutedBoth: {
      on: {
        unmute: [
          { guard: 'isBoth', target: 'unmuted', actions: muting({ in: false, out: false }) },
          { guard: 'isIn', target: 'mutedOut', actions: muting({ in: false, out: true }) },
          { target: 'mutedIn', actions: muting({ in: true, out: false }) },
        ],
      },
    },
  },
});

const hold = audio.createStateConfig({
  initial: 'active',
  states: {
    active: { on: { hold: { target: 'onHold', actions: 'holdLeg' } } },
    onHold: { on: { unhold: { target: 'active', actions: 'unholdLeg' } } },
  },
});

const keepClass = audio.assign(({ event, context }) => ({
  musicClass: event.type === 'startMoh' ? event.musicClass : context.musicClass,
}));
const music = { target: 'music', reenter: true, actions: keepClass } as const;

const background = audio.createStateConfig({
  initial: 'nothing',
  states: {
    nothing: { on: { startMoh: music, startSilence: 'silence' } },
    music: {
      entry: { type: 'startMusic', params: ({ context }) => ({ musicClass: context.musicClass }) },
      on: {
        startMoh: music,
        startSilence: 'silence',
        stopMoh: { target: 'nothing', actions: 'stopBackground' },
        'application.left': { target: 'nothing', actions: 'stopBackground' },
      },
    },
    silence: {
      entry: 'startSilence',
      on: {
        startMoh: music,
        stopSilence: { target: 'nothing', actions: 'stopBackground' },
        'application.left': { target: 'nothing', actions: 'stopBackground' },
      },
    },
  },
});

export const channelAudioMachine = audio.createMachine({
  id: 'channelAudio',
  context: ({ input }) => ({ musicClass: '', ...input }),
  initial: 'there',
  states: {
    there: {
      type: 'parallel',
      on: { 'channel.gone': 'gone' },
      states: { mute, hold, background },
    },
    gone: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const channelAudioIgnores: Ignores<typeof channelAudioMachine> = [
  { events: ['mute'], in: ['there.mute.mutedBoth'], why: 'both ways are muted' },
  { events: ['unmute'], in: ['there.mute.unmuted'], why: 'nothing is muted' },
  { events: ['hold'], in: ['there.hold.onHold'], why: 'it is on hold' },
  { events: ['unhold'], in: ['there.hold.active'], why: 'it is not on hold' },
  { events: ['startSilence'], in: ['there.background.silence'], why: 'it hears silence' },
  {
    events: ['stopMoh', 'stopSilence', 'application.left'],
    in: ['there.background'],
    why: 'it hears other audio, which continues',
  },
];

export type ChannelAudioSnapshot = SnapshotFrom<typeof channelAudioMachine>;
