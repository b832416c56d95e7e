import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyStateMachine, EventObject } from 'xstate';
import { type Actor, createRuntime, spawn } from '../../src/actors/spawn.ts';
import type { Bundle } from '../../src/recorder/bundle.ts';
import { createCalls } from '../../src/recorder/calls.ts';
import { createStuck } from '../../src/recorder/stuck.ts';
import { perform, scenario } from '../support/call-acts.ts';
import { createCallControl, PromptClock } from '../support/call-control.ts';
import { probe } from '../support/chart-runs.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { recordingLog } from '../support/log.ts';
import { createTestRecorder } from '../support/recorder.ts';

const bundles = suite('bundles');
type Told = [chart: string, object: string, fact: unknown];

/** States of the charts that have not ended, by chart and object. */
type States = Record<string, unknown>;

/** Feeds what a bundle recorded into fresh actors, at its times: what came from outside is sent, delays run by the clock. */
function replayed({ call }: Bundle): { told: Told[]; states: States } {
  const told: Told[] = [];
  const clock = new PromptClock(call.began);
  const runtime = createRuntime(clock, recordingLog());
  const actors = new Map<string, Actor<AnyStateMachine>>();
  for (const entry of call.timeline) {
    if (entry.kind !== 'step') continue;
    const { chart, object, at, event } = entry;
    if (at > clock.now()) clock.advance(at - clock.now());
    const key = `${chart}:${object}`;
    if (event['type'] === 'xstate.init') {
      const samples = chartSamples.find(({ machine }) => machine.id === chart);
      if (!samples) throw new Error(`there is no chart ${chart}`);
      spawn(
        probe(samples, () => {}),
        {
          id: object,
          input: event['input'] as never,
          runtime,
          onCreated: (actor) => void actors.set(key, actor),
          onEmitted: (fact) => void told.push([chart, object, fact]),
          onEnded: () => void actors.delete(key),
        },
      );
    } else if (entry.caused_by !== 'clock') actors.get(key)?.send(event as EventObject);
  }
  return { told, states: Object.fromEntries([...actors].map(([key, actor]) => [key, actor.getSnapshot().value])) };
}

/** What a bundle says of the same. */
function recordedIn({ call }: Bundle): { told: Told[]; states: States } {
  const steps = call.timeline.filter((entry) => entry.kind === 'step');
  const states = new Map<string, unknown>();
  for (const { chart, object, to, change } of steps) {
    const key = `${chart}:${object}`;
    if (change.status === undefined) states.set(key, to);
    else states.delete(key);
  }
  const told = steps.flatMap(({ chart, object, facts }) => facts.map((fact): Told => [chart, object, fact]));
  return { told, states: Object.fromEntries(states) };
}

bundles('a bundle can be run again: new actors emit the same facts and end in the same states', () => {
  let compared = 0;
  const charts = new Set<string>();
  fc.assert(
    fc.property(scenario, (acts) => {
      const world = createCallControl();
      const recorder = createTestRecorder(world.runtime, world.clock);
      const calls = createCalls(recorder, createStuck({ recorder, lagging: () => [] }), {
        versions: {},
        config: () => ({}),
      });
      world.connect('desk');
      for (const each of acts) perform(world, each);
      for (const { id } of recorder.store.calls()) {
        const bundle = JSON.parse(JSON.stringify(calls.bundle(id))) as Bundle;
        const recorded = recordedIn(bundle);
        assert.equal(JSON.parse(JSON.stringify(replayed(bundle))), recorded);
        compared += recorded.told.length;
        for (const [chart] of recorded.told) charts.add(chart);
        for (const key of Object.keys(recorded.states)) charts.add(key.split(':')[0] ?? '');
      }
      recorder.close();
    }),
    { numRuns: 150 },
  );
  assert.ok(compared > 500, `only ${compared} facts were compared`);
  assert.equal(
    [...charts].sort(),
    [
      'bridge',
      'bridgeVideo',
      'channel',
      'channelAudio',
      'externalConnection',
      'liveRecording',
      'ownership',
      'playback',
      'transfer',
    ],
    'charts that were compared',
  );
});

bundles.run();
