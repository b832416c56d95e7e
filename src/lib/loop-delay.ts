import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { LoopDelay, LoopReader } from './loop-reader.ts';

const nothing: LoopDelay = { mean: 0, p99: 0, max: 0 };
/** How often the delay is looked at, in ms. */
const resolutionMs = 20;

/** Watches the event loop of the thread that calls this, until it is closed. For people it does so once they have asked. */
export function watchLoopDelay(): { read(reader?: LoopReader): LoopDelay; close(): void } {
  const histograms = new Map<LoopReader, IntervalHistogram>();
  const of = (reader: LoopReader): IntervalHistogram => {
    const known = histograms.get(reader);
    if (known) return known;
    const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
    histogram.enable();
    histograms.set(reader, histogram);
    return histogram;
  };
  of('metrics');
  return {
    read(reader = 'metrics') {
      const histogram = of(reader);
      // The timer fires every 20 ms: the time between is no delay.
      const late = (ns: number): number => Math.max(0, ns / 1e9 - resolutionMs / 1e3);
      const { mean, max, count } = histogram;
      const delay = count === 0 ? nothing : { mean: late(mean), p99: late(histogram.percentile(99)), max: late(max) };
      histogram.reset();
      return delay;
    },
    close() {
      for (const histogram of histograms.values()) histogram.disable();
    },
  };
}
