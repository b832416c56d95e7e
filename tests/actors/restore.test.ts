import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ActorDump } from '../../src/actors/chart-run.ts';
import { createRuntime, spawn } from '../../src/actors/spawn.ts';
import { channelMachine } from '../../src/machines/channel.ts';
import { bound, type Happening, happenings, pick, probe } from '../support/chart-runs.ts';
import { type ChartSamples, chartSamples } from '../support/chart-samples.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Charts that are saved at any moment, as JSON, and go on elsewhere as if nothing had happened. */

/** An actor in a world of its own, from its input or from a dump at that time. */
function world(samples: ChartSamples, begins: { input: object } | { from: ActorDump }, now?: number) {
  const { log, lines } = createRecordingLog();
  const clock = new ManualClock(now);
  const runtime = createRuntime(bound(clock), log);
  const seen: unknown[] = [];
  const performed = (effect: string, params: unknown) => seen.push({ effect, params, at: clock.now() });
  const machine = probe(samples, performed);
  const actor = spawn(machine, {
    id: 'a',
    ...(begins as { from: ActorDump }),
    runtime,
    onEmitted: (fact) => seen.push({ fact, at: clock.now() }),
    onEnded: () => seen.push({ ended: clock.now() }),
  });
  const go = (happening: readonly Happening[]): void => {
    probe(samples, performed);
    for (const what of happening) {
      if ('ms' in what) clock.advance(what.ms);
      else actor.send(pick(samples.events, what.event) as never);
    }
  };
  return { actor, clock, seen, lines, go };
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const taken = suite('charts saved and restored');

for (const samples of chartSamples) {
  taken(`${samples.machine.id}: goes on after any moment with the same facts, effects, times and states`, () => {
    fc.assert(
      fc.property(fc.nat(), happenings, happenings, (input, before, after) => {
        const first = world(samples, { input: pick(samples.inputs, input) });
        first.go(before);
        if (first.actor.getSnapshot().status !== 'active') return;
        const dump = asJson(first.actor.dump()) as ActorDump;
        const second = world(samples, { from: dump }, first.clock.now());
        assert.equal(asJson(second.actor.dump()), dump);
        assert.equal(second.seen, []);
        assert.is(second.clock.pending, first.clock.pending);
        first.seen.length = 0;
        first.go(after);
        second.go(after);
        assert.equal(asJson(second.seen), asJson(first.seen));
        assert.equal(asJson(second.actor.dump()), asJson(first.actor.dump()));
        assert.is(second.actor.getSnapshot().status, first.actor.getSnapshot().status);
        assert.is(second.clock.pending, first.clock.pending);
        assert.equal([...first.lines, ...second.lines], []);
      }),
      { numRuns: 300 },
    );
  });
}

const channel = chartSamples.find(({ machine }) => machine === channelMachine)!;

taken('what came due meanwhile comes due at once, the earliest first', () => {
  const first = world(channel, { input: channel.inputs[0]! });
  first.actor.send({ type: 'dial', timeoutMs: 30_000 } as never);
  const dump = asJson(first.actor.dump()) as ActorDump;
  const late = first.clock.now() + 60_000;
  const second = world(channel, { from: dump }, late);
  assert.equal(second.seen, [
    { effect: 'stopDialplan', params: undefined, at: late },
    { effect: 'hangupLeg', params: { cause: 19 }, at: late },
  ]);
});

taken('a dump of another chart, or of a state that is not there, is told and starts nothing', () => {
  const { actor } = world(channel, { input: channel.inputs[0]! });
  const dump = actor.dump();
  assert.throws(
    () => world(channel, { from: { ...dump, chart: 'playback' } }),
    "a dump of 'playback' is none of 'channel'",
  );
  assert.throws(() => world(channel, { from: { ...dump, value: 'nowhere' } }), /nowhere/);
});

taken.run();
