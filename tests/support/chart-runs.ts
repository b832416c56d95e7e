import fc from 'fast-check';
import type { AnyStateMachine } from 'xstate';
import type { Clock } from '../../src/lib/clock.ts';
import type { ChartSamples } from './chart-samples.ts';
import type { ManualClock } from './manual-clock.ts';

/** For tests that take charts through random events and times. */

/** What happens to one actor: an event by its number among the samples, or time. */
export type Happening = { event: number } | { ms: number };
export const happenings: fc.Arbitrary<Happening[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ event: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ ms: fc.constantFrom(1, 600, 3_000, 70_000) }) },
  ),
  { maxLength: 25 },
);

export const pick = <T>(items: readonly T[], number: number): T => items[number % items.length]!;

type Performed = (effect: string, params: unknown) => void;
/** To provide a chart with actions costs more than most runs of it: this is done once. */
const probes = new Map<AnyStateMachine, { machine: AnyStateMachine; performed: Performed }>();

/** The chart, with every effect told to `performed` in place of being done, until the next call for that chart. */
export function probe({ machine }: ChartSamples, performed: Performed): AnyStateMachine {
  const probed = probes.get(machine) ?? { machine, performed };
  probed.performed = performed;
  if (!probes.has(machine)) {
    const names = Object.keys(machine.implementations.actions);
    const actions = names.map((name) => [name, (_: unknown, params: unknown) => probed.performed(name, params)]);
    probed.machine = machine.provide({ actions: Object.fromEntries(actions) } as never) as AnyStateMachine;
    probes.set(machine, probed);
  }
  return probed.machine;
}

/** A simulated clock with which what is done soon is done now. */
export const bound = (clock: ManualClock): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  setTimeout: (fn: () => void, ms: number) => clock.setTimeout(fn, ms),
  clearTimeout: (id: unknown) => clock.clearTimeout(id),
  soon: (fn) => fn(),
});
