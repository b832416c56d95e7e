import type { CallDetail, CallPage } from '../../../src/models/call.ts';
import type { Chart, ChartSummary } from '../../../src/models/chart.ts';
import { createTimeMachine } from '../../../src/recorder/time-travel.ts';

/** An object of a live call, with the states of its chart. */
export type ObjectState = {
  /** Its id: of a channel, bridge, playback, recording … */
  object: string;
  /** Its chart, as `GET /hookswitch/charts` names it. */
  chart: string;
  /** Paths of the states it is in, outermost first, such as `up` or `there.mute.mutedIn`. */
  states: string[];
};

type Ask = <T>(path: string) => Promise<T>;

/** The charts of a server's live calls, by its recorder. */
export class LiveCharts {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** All objects of live calls, in the order in which they came. */
  async objects(): Promise<ObjectState[]> {
    const { calls } = await this.#ask<CallPage>('/hookswitch/calls?state=live&limit=1000');
    const details = await Promise.all(calls.map(({ id }) => this.#ask<CallDetail>(`/hookswitch/calls/${id}`)));
    return details.flatMap(({ timeline, seq }) =>
      createTimeMachine(timeline)
        .at(seq)
        .objects.map(({ object, chart, value }) => ({ object, chart, states: pathsOf(value) })),
    );
  }

  /** @throws TypeError that names the charts, or the states of the chart. */
  async require(chart: string, state: string): Promise<void> {
    const charts = await this.#ask<ChartSummary[]>('/hookswitch/charts');
    if (!charts.some(({ name }) => name === chart))
      throw new TypeError(`there is no chart '${chart}'; there are ${charts.map(({ name }) => name).join(', ')}`);
    const { states } = await this.#ask<Chart>(`/hookswitch/charts/${chart}`);
    if (!states.some(({ id }) => id === state))
      throw new TypeError(
        `the chart '${chart}' has no state '${state}'; it has ${states.map(({ id }) => id).join(', ')}`,
      );
  }
}

/** A state, or the states of its regions, by name. */
type StateValue = string | { [region: string]: StateValue | undefined };

/** The paths of all states in a state value. */
function pathsOf(value: StateValue | undefined, above = ''): string[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [above + value];
  return Object.entries(value).flatMap(([name, inner]) => [above + name, ...pathsOf(inner, `${above}${name}.`)]);
}
