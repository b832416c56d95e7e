import {
  type Chart,
  type ChartEvent,
  ChartRun,
  type Snapshot,
  type StepSource,
  type Taking,
  workOut,
} from '../actors/chart-run.ts';
import type { CommittedStep, Step } from '../actors/step.ts';

/** The chart whose steps are kept. */
export interface KeptChart {
  readonly object: string;
  readonly chart: string;
  readonly machine: Chart;
  /** The snapshot before the first of its steps that is kept; undefined when that is its first one. */
  base: Snapshot | undefined;
}

/** A recorded step: only its input. Its result follows from the chart and is computed on demand. */
export class KeptStep implements StepSource {
  readonly kind = 'step';
  readonly order: number;
  readonly at: number;
  readonly seq: number;
  readonly history: KeptChart;
  readonly taking: Taking;
  readonly event: ChartEvent;
  readonly besides: StepSource['besides'];
  readonly causedBy: Step['causedBy'];
  readonly request: string | undefined;

  constructor(
    step: Pick<CommittedStep, 'order' | 'at' | 'seq' | 'taking' | 'event' | 'besides' | 'causedBy' | 'request'>,
    history: KeptChart,
  ) {
    this.order = step.order;
    this.at = step.at;
    this.seq = step.seq;
    this.history = history;
    this.taking = step.taking;
    this.event = step.event;
    this.besides = step.besides;
    this.causedBy = step.causedBy;
    this.request = step.request;
  }
}

/** Works out steps, in their order. It remembers how each chart was after the last one. */
export class StepReader {
  readonly #before = new Map<KeptChart, Snapshot | undefined>();

  /** The next step of its object. */
  read(step: KeptStep): CommittedStep {
    const { history } = step;
    const before = this.#before.has(history) ? this.#before.get(history) : history.base;
    const outcome = workOut(runOf(history.machine), before, step);
    this.#before.set(history, outcome.after);
    const { order, seq, at, taking, event, besides, causedBy, request } = step;
    const { object, chart } = history;
    const source = { order, seq, at, taking, event, besides, causedBy, request };
    return { kind: 'step', ...source, object, chart, before, ...outcome };
  }
}

/** Drops an object's first kept step: the next one continues from its result. */
export function passOver(step: KeptStep): void {
  const { history } = step;
  history.base = workOut(runOf(history.machine), history.base, step).after;
}

const runs = new WeakMap<Chart, ChartRun>();

/** Works steps of a chart out; one for each chart. */
export function runOf(machine: Chart): ChartRun {
  let run = runs.get(machine);
  if (!run) {
    run = new ChartRun(machine);
    runs.set(machine, run);
  }
  return run;
}
