import * as assert from 'uvu/assert';
import type { AnyStateMachine } from 'xstate';
import { TableRun } from '../../src/machines/table-run.ts';
import { chartSamples } from './chart-samples.ts';
import { assertCovered, coverChart } from './charts.ts';

type Rows = Readonly<Record<string, Readonly<Record<string, { to: string; effects: readonly string[] }>>>>;

/** Takes a table through events; gives where it is, and the effects of the last one. */
export function afterEvents(table: object, from: string, ...types: string[]): [state: string, ...effects: string[]] {
  let asked: string[] = [];
  const names = Object.values(table as Rows).flatMap((rows) => Object.values(rows).flatMap(({ effects }) => effects));
  const effects = Object.fromEntries(names.map((name) => [name, () => void asked.push(name)]));
  const run = new TableRun(table as Rows as never, from as never, effects as never) as TableRun<
    string,
    { type: string },
    string
  >;
  for (const type of types) {
    asked = [];
    const takes = run.takes(type);
    if (run.send({ type }) !== takes) throw new Error(`${type}: takes and send differ`);
  }
  return [run.state, ...asked];
}

/** Fails unless a chart without context begins in a state, and its sample events reach every state and transition. */
export function assertTableCovered(machine: AnyStateMachine, initial: string): void {
  assert.is(machine.root.initial.target[0]?.key, initial);
  const samples = chartSamples.find((each) => (each.machine as unknown) === machine);
  assert.ok(samples, `${machine.id} has no samples`);
  assertCovered(machine, coverChart(machine, { inputs: [undefined], events: samples.events as never }));
}
