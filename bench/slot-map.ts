import { spawnSync } from 'node:child_process';
import { PerformanceObserver } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { SlotMap } from '../src/lib/slot-map.ts';

/**
 * What a table of calls that come and go costs: a `Map` against a `SlotMap`, in processes of their own, in turn.
 *
 *   npx tsx bench/slot-map.ts [calls = 60000]
 *
 * Each call is a few hundred small objects; 32 calls are there at any time. The whole heap is collected once before, which
 * makes the table old, as happens to each table of a server sooner or later.
 */
type Call = { id: string; parts: { number: number; rest: number[] }[] };

const makeCall = (id: string): Call => ({
  id,
  parts: Array.from({ length: 200 }, (_, number) => ({ number, rest: [number] })),
});

async function measure(kind: string, count: number): Promise<void> {
  const table = kind === 'Map' ? new Map<string, Call>() : new SlotMap<string, Call>();
  globalThis.gc?.();
  let collecting = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collecting += duration;
  });
  observer.observe({ entryTypes: ['gc'] });
  const began = performance.now();
  const there: string[] = [];
  for (let index = 0; index < count; index++) {
    const id = `call-${index}`;
    table.set(id, makeCall(id));
    there.push(id);
    if (there.length > 32) table.delete(there.shift() ?? '');
  }
  const ms = performance.now() - began;
  await new Promise((resolve) => setTimeout(resolve, 100));
  const each = (all: number): string => ((1000 * all) / count).toFixed(1);
  process.stdout.write(`${kind}: ${each(ms)} µs a call, ${each(collecting)} of them in the collector\n`);
}

const [first, second] = process.argv.slice(2);
if (first === 'Map' || first === 'SlotMap') await measure(first, Number(second));
else {
  const flags = ['--expose-gc', ...process.execArgv];
  for (let round = 0; round < 4; round++)
    for (const kind of ['Map', 'SlotMap'])
      spawnSync(process.execPath, [...flags, fileURLToPath(import.meta.url), kind, first ?? '60000'], {
        stdio: 'inherit',
      });
}
