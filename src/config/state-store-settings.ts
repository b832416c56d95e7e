import { flag, group, number, whole } from './setting.ts';

/** The settings of the state that survives the process. */
export const stateStore = group(
  {
    on: flag({
      default: false,
      description:
        'Writes the state of calls, applications and registrations to state.log in the data directory after each change. The next start continues from it, also after a crash.',
    }),
    interval: number(0.1, 30, {
      default: 1,
      unit: 's',
      description: 'How often what changes by itself is written: positions of audio streams, playbacks and recordings.',
    }),
    events: whole(0, 1_000_000, {
      default: 1_000,
      unit: 'events',
      description: 'Last events of each application that are kept, so that it can resume behind them after a restart.',
    }),
    events_memory: whole(1, 1_024, {
      default: 8,
      unit: 'MB',
      description: 'Size of the kept events of each application. The oldest go first.',
    }),
    events_minutes: number(0.1, 10_080, {
      default: 60,
      unit: 'minutes',
      description: 'How long an event is kept.',
    }),
    compact_above: whole(1, 100_000, {
      default: 16,
      unit: 'MB',
      description: 'Size of the file above which it is written anew without outdated entries.',
    }),
    longest_write: number(0.01, 60, {
      default: 0.5,
      unit: 's',
      description:
        'A write that takes longer counts as a failure: the server waits for each write, and a slow disk would slow down all calls.',
    }),
    retry: number(0.1, 3_600, {
      default: 5,
      unit: 's',
      description: 'Pause before the state is written again after a failure, for example on a full disk.',
    }),
  },
  'State that survives the process.',
);
