import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { createTimeMachine } from '../../src/recorder/time-travel.ts';
import { writeTimeline } from '../../src/recorder/timeline.ts';
import { act, ids, perform } from '../support/call-acts.ts';
import { createCallControl } from '../support/call-control.ts';
import { createTestRecorder } from '../support/recorder.ts';

/** Whatever is asked and reported: what is rebuilt of a recording is what was served at that moment. */

const travel = suite('time travel');
const seed = Number(process.env['HOOKSWITCH_CHARTS_SEED'] ?? 20261122);

const byId = <T extends { id: string }>(things: readonly T[]): T[] => things.toSorted((a, b) => (a.id < b.id ? -1 : 1));
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const withoutTechnology = ({ technology: _, ...bridge }: { technology: string; id: string }) => bridge;

travel('the models rebuilt at every moment are those that were served then', () => {
  let compared = 0;
  fc.assert(
    fc.property(fc.array(act, { minLength: 5, maxLength: 60 }), (acts) => {
      const world = createCallControl({ channelvars: ['COLOUR'] });
      const recorder = createTestRecorder(world.runtime, world.clock);
      world.connect('desk');
      const served: [seq: number, channels: unknown, bridges: unknown, playbacks: unknown][] = [];
      for (const each of acts) {
        perform(world, each);
        const { channels, bridges, playbacks } = world;
        const playing = ids.flatMap((name) => {
          try {
            return [playbacks.get(`p-${name}`)];
          } catch {
            return [];
          }
        });
        served.push([
          recorder.order,
          asJson(byId(channels.all().map((entry) => channels.model(entry)))),
          asJson(byId(bridges.list()).map(withoutTechnology)),
          asJson(byId(playing)),
        ]);
      }
      const timeline = asJson(writeTimeline(recorder.store.all(), nothingMasked)) as TimelineEntry[];
      const machine = createTimeMachine(timeline, { channelvars: ['COLOUR'] });
      const rebuilt = served.map(([seq]) => {
        const { channels, bridges, playbacks } = machine.at(seq);
        return [seq, byId(channels), byId(bridges).map(withoutTechnology), byId(playbacks)];
      });
      assert.equal(rebuilt, served);
      compared += served.flatMap(([, ...models]) => models.flat()).length;
      recorder.close();
    }),
    { numRuns: 150, seed },
  );
  assert.ok(compared > 1_000, `only ${compared} models were compared`);
});

travel.run();
