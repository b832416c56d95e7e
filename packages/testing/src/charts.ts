import type { LiveActor } from '../../../src/actors/spawn.ts';
import type { Chart, ChartSummary } from '../../../src/models/chart.ts';

/** An object of the server, with the states of its chart. */
export type ObjectState = {
  /** Its id: of a channel, bridge, playback, recording … */
  object: string;
  /** Its chart, as `GET /hookswitch/charts` names it. */
  chart: string;
  /** Paths of the states it is in, outermost first, such as `up` or `there.mute.mutedIn`. */
  states: string[];
};

/** What an actor is, and where its chart is. */
export const stateOf = (actor: LiveActor): ObjectState => ({
  object: actor.id,
  chart: actor.chart,
  states: pathsOf(actor.getSnapshot().value),
});

/** @throws TypeError that names the charts, or the states of the chart, where there is no such one. */
export async function requireState(
  ask: <T>(path: string) => Promise<T>,
  { chart, state }: { chart: string; state: string },
): Promise<void> {
  const charts = await ask<ChartSummary[]>('/hookswitch/charts');
  if (!charts.some(({ name }) => name === chart))
    throw new TypeError(`there is no chart '${chart}'; there are ${charts.map(({ name }) => name).join(', ')}`);
  const { states } = await ask<Chart>(`/hookswitch/charts/${chart}`);
  if (!states.some(({ id }) => id === state))
    throw new TypeError(
      `the chart '${chart}' has no state '${state}'; it has ${states.map(({ id }) => id).join(', ')}`,
    );
}

/** A state, or the states of its regions, by name. */
type StateValue = string | { [region: string]: StateValue | undefined };

/** The paths of all states in a state value. */
function pathsOf(value: StateValue | undefined, above = ''): string[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [above + value];
  return Object.entries(value).flatMap(([name, inner]) => [above + name, ...pathsOf(inner, `${above}${name}.`)]);
}
