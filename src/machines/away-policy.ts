import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

export type AwayPolicyEvent =
  /** The connection is lost, and its channels are not to be kept. */
  | { type: 'application.lost' }
  /** The connection is lost. Its channels are kept as they are. */
  | { type: 'application.kept' }
  /** It is connected again. */
  | { type: 'application.back' }
  /** It was away for as long as it may; its channels are to hear music first. */
  | { type: 'music.due' }
  /** It was away for as long as it may. */
  | { type: 'time.over' }
  /** The system stops. */
  | { type: 'system.closing' };

const effects = {
  startTimer: effect('startTimer'),
  stopTimer: effect('stopTimer'),
  /** Hangs up the channels of the application, lets them go on in the dialplan, or moves them. */
  releaseChannels: effect('releaseChannels'),
  /** The channels of the application hear music. */
  startMusic: effect('startMusic'),
  stopMusic: effect('stopMusic'),
};
const policy = setup({ types: { events: {} as AwayPolicyEvent }, actions: effects });

/** The policy for the channels of an application that is away. */
export const awayPolicyMachine = policy.createMachine({
  id: 'awayPolicy',
  initial: 'idle',
  states: {
    /** Connected. */
    idle: { on: { 'application.lost': { target: 'away', actions: 'startTimer' }, 'system.closing': 'over' } },
    /** Awaited. */
    away: {
      on: {
        'application.kept': { target: 'over', actions: 'stopTimer' },
        'application.back': { target: 'over', actions: 'stopTimer' },
        'music.due': { target: 'entertained', actions: ['startMusic', 'startTimer'] },
        'time.over': { target: 'over', actions: 'releaseChannels' },
        'system.closing': { target: 'over', actions: 'stopTimer' },
      },
    },
    /** Awaited, while its channels hear music. */
    entertained: {
      on: {
        'application.kept': { target: 'over', actions: ['stopTimer', 'stopMusic'] },
        'application.back': { target: 'over', actions: ['stopTimer', 'stopMusic'] },
        'time.over': { target: 'over', actions: ['stopMusic', 'releaseChannels'] },
        'system.closing': { target: 'over', actions: 'stopTimer' },
      },
    },
    /** Nothing is to happen to its channels any more. */
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const awayPolicyIgnores: Ignores<typeof awayPolicyMachine> = [
  { events: ['application.lost'], in: ['away', 'entertained'], why: 'it is away' },
  { events: ['music.due'], in: ['entertained'], why: 'they hear music' },
  {
    events: ['application.back', 'application.kept', 'music.due', 'time.over'],
    in: ['idle'],
    why: 'it is not awaited',
  },
];

type AwayPolicyEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const awayPolicyTable = plainTable<typeof awayPolicyMachine, AwayPolicyEffect>(awayPolicyMachine);
export type AwayPolicyRun = TableRun<keyof typeof awayPolicyTable, AwayPolicyEvent, AwayPolicyEffect>;
