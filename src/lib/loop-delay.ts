import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How late a thread's event loop was for what was due, since it was last asked; in s. */
export type LoopDelay = { mean: number; p99: number; max: number };

const nothing: LoopDelay = { mean: 0, p99: 0, max: 0 };
/** How often the delay is looked at, in ms. */
const resolutionMs = 20;

/** Watches the event loop of the thread that calls this, until it is closed. */
export function watchLoopDelay(): { read(): LoopDelay; close(): void } {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  return {
    read() {
      // What is due every 20 ms comes no earlier: the time in between is no delay.
      const late = (ns: number): number => Math.max(0, ns / 1e9 - resolutionMs / 1e3);
      const { mean, max, count } = histogram;
      const delay = count === 0 ? nothing : { mean: late(mean), p99: late(histogram.percentile(99)), max: late(max) };
      histogram.reset();
      return delay;
    },
    close: () => void histogram.disable(),
  };
}
