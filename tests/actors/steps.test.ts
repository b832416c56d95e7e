import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyStateMachine } from 'xstate';
import { eventTypesOf } from '../../scripts/charts.ts';
import { ChartRun, type Snapshot, workOut } from '../../src/actors/chart-run.ts';
import { type Actor, createRuntime, spawn } from '../../src/actors/spawn.ts';
import { type CommittedStep, replay, type SnapshotImage, type Step } from '../../src/actors/step.ts';
import { bound, type Happening, happenings, pick, probe } from '../support/chart-runs.ts';
import { allCharts, type ChartSamples, chartSamples } from '../support/chart-samples.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** The effect regime and the steps, for every chart that there is. */

const imageOf = ({ status, value, context }: ReturnType<Actor<AnyStateMachine>['getSnapshot']>): SnapshotImage => ({
  status: status as SnapshotImage['status'],
  value: value as SnapshotImage['value'],
  context: context as SnapshotImage['context'],
});

const plays = new Map<string, ReturnType<typeof playNow>>();

/** What is seen of an actor, in order, to which this happens. The properties of a chart look at the same runs. */
function play(samples: ChartSamples, input: number, happening: readonly Happening[]) {
  const key = JSON.stringify([samples.machine.id, input, happening]);
  const played = plays.get(key) ?? playNow(samples, input, happening);
  plays.set(key, played);
  return played;
}

function playNow(samples: ChartSamples, input: number, happening: readonly Happening[]) {
  const { log, lines } = createRecordingLog();
  const clock = new ManualClock();
  const runtime = createRuntime(bound(clock), log);
  const seen: [kind: 'step' | 'fact' | 'effect' | 'end', what: unknown][] = [];
  const snapshots: SnapshotImage[] = [];
  const steps: Step[] = [];
  const committed: CommittedStep[] = [];
  let actor: Actor<AnyStateMachine> | undefined;
  runtime.turn.keep((step) => committed.push(step));
  runtime.turn.listen((step) => {
    steps.push(step);
    seen.push(['step', step]);
    if (actor) snapshots.push(imageOf(actor.getSnapshot()));
  });
  const machine = probe(samples, (type, params) => seen.push(['effect', { type, params }]));
  spawn(machine, {
    id: 'a',
    input: pick(samples.inputs, input) as never,
    runtime,
    onCreated: (created) => {
      actor = created;
      snapshots.push(imageOf(created.getSnapshot()));
    },
    onEmitted: (fact) => seen.push(['fact', fact]),
    onEnded: () => seen.push(['end', undefined]),
  });
  for (const what of happening) {
    if ('ms' in what) clock.advance(what.ms);
    else actor?.send(pick(samples.events, what.event));
  }
  return { machine, seen, snapshots, steps, committed, lines, clock };
}

/** An effect without what carries it out. */
const shown = ({ type, params }: { type: string; params: unknown }) => ({ type, params });

const regime = suite('steps of every chart');

regime('every chart has samples, and every event that it names is among them', async () => {
  const charts = await allCharts();
  const missing = charts.flatMap(({ machine }) => {
    const samples = chartSamples.find((each) => each.machine === machine);
    if (!samples) return [`${machine.id}: no samples in tests/support/chart-samples.ts`];
    const sampled = new Set(samples.events.map(({ type }) => type));
    return eventTypesOf(machine)
      .filter((type) => !sampled.has(type))
      .map((type) => `${machine.id}: no sample of ${type}`);
  });
  assert.equal(missing, []);
});

for (const samples of chartSamples) {
  const { id } = samples.machine;

  regime(`${id}: a step is committed, then its facts are told, then its effects run, then it ends`, () => {
    fc.assert(
      fc.property(fc.nat(), happenings, (input, happening) => {
        const { seen, steps, snapshots } = play(samples, input, happening);
        const expected = steps.flatMap((step): typeof seen => [
          ['step', step],
          ...step.facts.map((fact): (typeof seen)[number] => ['fact', fact]),
          ...step.effects.map((effect): (typeof seen)[number] => ['effect', effect]),
          ...((step.change.status ? [['end', undefined]] : []) as typeof seen),
        ]);
        assert.equal(seen, expected);
        assert.equal(
          snapshots.map(({ value }) => value),
          steps.map(({ to }) => to),
        );
      }),
      { numRuns: 200 },
    );
  });

  regime(`${id}: a step can be worked out again, of what came in and the snapshot before it`, () => {
    fc.assert(
      fc.property(fc.nat(), happenings, (input, happening) => {
        const { machine, committed } = play(samples, input, happening);
        let before: Snapshot | undefined;
        const run = new ChartRun(machine);
        for (const { taking, at, event, besides, ...step } of committed) {
          const { after, facts, effects } = workOut(run, before, { taking, at, event, besides });
          assert.equal(imageOf(after), imageOf(step.after));
          assert.equal([facts, effects.map(shown)], [step.facts, step.effects.map(shown)]);
          before = after;
        }
      }),
      { numRuns: 200 },
    );
  });

  regime(`${id}: the changes of its steps make every snapshot out of the one before`, () => {
    fc.assert(
      fc.property(fc.nat(), happenings, (input, happening) => {
        const { steps, snapshots, lines } = play(samples, input, happening);
        let image: SnapshotImage | undefined;
        const replayed = steps.map(({ change }) => {
          image = replay(image, change);
          return image;
        });
        assert.equal(replayed, snapshots);
        assert.equal(lines, []);
        assert.equal(
          steps.map(({ seq }) => seq),
          steps.map((_, position) => position + 1),
        );
      }),
      { numRuns: 200 },
    );
  });

  regime(`${id}: no timer outlives it`, () => {
    fc.assert(
      fc.property(fc.nat(), happenings, (input, happening) => {
        const { snapshots, clock } = play(samples, input, happening);
        const last = snapshots.at(-1);
        const deadlines = Object.keys((last?.context['deadlines'] ?? {}) as object);
        assert.is(clock.pending, last?.status === 'active' ? deadlines.length : 0);
      }),
      { numRuns: 100 },
    );
    plays.clear();
  });
}

regime.run();
