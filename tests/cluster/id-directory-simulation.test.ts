import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SimulatedDirectory } from '../support/simulated-directory.ts';

/**
 * Nodes start, end, are killed, cut off, or stand still, so that one of them is alone at times, and clients choose ids. A seed
 * decides everything. No id has two owners, every object is found, and in the end all ids are free again.
 *
 * A node that was alone and is lost while it lives may have objects that NATS does not know: others may have their ids.
 */
const simulation = suite('simulated id directories');
const runs = Math.ceil(Number(process.env['HOOKSWITCH_FUZZ_RUNS'] ?? 400) / 4);

simulation('whatever fails, an id has one owner, and in the end all ids can be taken', async () => {
  const sums = { taken: 0, inMemory: 0, found: 0, exposed: 0 };
  for (const seed of fc.sample(fc.noBias(fc.nat()), runs)) {
    const world = new SimulatedDirectory(seed);
    try {
      await world.begin();
      for (let step = 0; step < 60; step++) await world.step();
      await world.check();
    } catch (error) {
      const { message, details = '' } = error as { message: string; details?: string };
      throw new Error(`${message} ${details}\nseed ${seed}: ${world.story.join(', ')}`, { cause: error });
    } finally {
      world.end();
    }
    for (const [key, count] of Object.entries(world.counts)) sums[key as keyof typeof sums] += count;
  }
  if (process.env['HOOKSWITCH_FUZZ_RUNS']) console.log(sums);
  assert.ok(sums.inMemory > 0 && sums.taken > sums.inMemory && sums.found > 0, 'both ways are tried');
});

simulation.run();
