import type { Runtime } from '../../src/actors/spawn.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { LiveSettings } from '../../src/recorder/live.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { Recorder, type RecorderSettings } from '../../src/recorder/recorder.ts';

/** A recorder with room for everything a test does. */
export const createTestRecorder = (
  { turn, log, actors }: Pick<Runtime, 'turn' | 'log'> & Partial<Pick<Runtime, 'actors'>>,
  clock: Clock,
  changes: Partial<RecorderSettings> = {},
): Recorder =>
  new Recorder({
    turn,
    ...(actors && { actors }),
    clock,
    log,
    settings: {
      stepsPerCall: 10_000,
      octets: 50_000_000,
      keepEndedMs: 600_000,
      others: 10_000,
      bodies: false,
      mask: nothingMasked,
      ...changes,
    },
  });

/** Bounds of what those are sent who watch live. */
export const liveSettings: LiveSettings = {
  ...{ message_calls: 500, calls_burst: 5_000, calls_per_second: 200 },
  ...{ message_events: 200, events_burst: 2_000, events_per_second: 100, stuck: 100 },
};
