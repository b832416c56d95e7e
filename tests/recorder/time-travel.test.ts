import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LiveActor } from '../../src/actors/spawn.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { createTimeMachine } from '../../src/recorder/time-travel.ts';
import { writeTimeline } from '../../src/recorder/timeline.ts';
import { ids, perform, scenario } from '../support/call-acts.ts';
import { createCallControl } from '../support/call-control.ts';
import { createTestRecorder } from '../support/recorder.ts';

/** Whatever is asked and reported: what is rebuilt of a recording is what was served at that moment. */

const travel = suite('time travel');
const byId = <T extends { id: string }>(things: readonly T[]): T[] => things.toSorted((a, b) => (a.id < b.id ? -1 : 1));
const chartedOf = (actor: LiveActor): Charted => {
  const { value, context } = actor.getSnapshot();
  return [actor.chart, actor.id, value, context];
};
const byName = <T extends { name: string }>(things: readonly T[]): T[] =>
  things.toSorted((a, b) => (a.name < b.name ? -1 : 1));
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
/** Every chart as it is, however little of it clients are shown. */
type Charted = [chart: string, object: string, value: unknown, context: unknown];
const inOrder = (charts: readonly Charted[]): Charted[] =>
  charts.toSorted((one, other) => (`${one[0]} ${one[1]}` < `${other[0]} ${other[1]}` ? -1 : 1));
const withoutTechnology = ({ technology: _, ...bridge }: { technology: string; id: string }) => bridge;

travel('the models rebuilt at every moment are those that were served then', () => {
  let compared = 0;
  const seen = new Set<string>();
  fc.assert(
    fc.property(scenario, (acts) => {
      const world = createCallControl({ channelvars: ['COLOUR'] });
      const recorder = createTestRecorder(world.runtime, world.clock);
      world.connect('desk');
      const served: [seq: number, ...models: unknown[]][] = [];
      for (const each of acts) {
        perform(world, each);
        const { channels, views, bridges, playbacks, recordingOperations } = world;
        const those = <T>(get: (id: string) => T): T[] =>
          ids.flatMap((name) => {
            try {
              return [get(name)];
            } catch {
              return [];
            }
          });
        const recorded = those((name) => recordingOperations.get(`r-${name}`));
        for (const { name } of recorded) seen.add(`recording ${name}`);
        for (const { channel } of channels.all().map((entry) => ({ channel: views.model(entry) })))
          seen.add(channel.name.split('/')[0] ?? '');
        served.push([
          recorder.order,
          asJson(byId(channels.all().map((entry) => views.model(entry)))),
          asJson(byId(bridges.list()).map(withoutTechnology)),
          asJson(byId(those((name) => playbacks.get(`p-${name}`)))),
          asJson(byName(recorded)),
          asJson(inOrder([...world.runtime.actors].map(chartedOf))),
        ]);
        for (const { chart } of world.runtime.actors) seen.add(chart);
        for (const { target_uri: targetUri } of recorded) seen.add(`recording of ${targetUri.replace(/-?[abc]$/, '')}`);
      }
      const timeline = asJson(writeTimeline(recorder.store.all(), nothingMasked)) as TimelineEntry[];
      const machine = createTimeMachine(timeline, { channelvars: ['COLOUR'] });
      const rebuilt = served.map(([seq]) => {
        const { channels, bridges, playbacks, recordings, objects } = machine.at(seq);
        const charts = objects.map(({ chart, object, value, context }): Charted => [chart, object, value, context]);
        return [
          ...[seq, byId(channels), byId(bridges).map(withoutTechnology), byId(playbacks), byName(recordings)],
          asJson(inOrder(charts)),
        ];
      });
      assert.equal(rebuilt, served);
      compared += served.flatMap(([, ...models]) => models).flat().length;
      recorder.close();
    }),
    { numRuns: 150 },
  );
  assert.ok(compared > 1_000, `only ${compared} models were compared`);
  const all = [
    ...['Fake', 'Local', 'Snoop', 'AudioSocket', ...ids.map((name) => `recording r-${name}`)],
    ...['recording of channel:', 'recording of channel:e', 'recording of channel:s', 'recording of bridge:m'],
    ...['application', 'bridge', 'channel', 'externalConnection', 'liveRecording', 'ownership', 'playback', 'transfer'],
  ];
  assert.equal(
    all.filter((each) => !seen.has(each)),
    [],
    'something never came up',
  );
});

travel.run();
