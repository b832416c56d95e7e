/** Loaded into a measured server: on SIGUSR2 it collects all garbage and writes HOOKSWITCH_BENCH_COLLECTED. */
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const file = process.env.HOOKSWITCH_BENCH_COLLECTED;
  process.on('SIGUSR2', () => {
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(`${file}.part`, JSON.stringify({ heap: heapUsed, external }));
    renameSync(`${file}.part`, file);
  });
}
