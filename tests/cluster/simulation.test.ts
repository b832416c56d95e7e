import * as fc from 'fast-check';
import { suite } from 'uvu';
import { SimulatedCluster } from '../support/simulated-cluster.ts';

/**
 * Nodes on a simulated NATS: messages are late, connections are cut for a short or a long time, processes are killed and
 * started again, NATS is restarted. A seed decides everything, so each failure can be seen again.
 *
 * An id that a client has chosen has one owner among the processes that have kept their name since they made its object.
 * A process that gets its name back, which another one had meanwhile, keeps its objects. Others may have their ids.
 *
 * An event comes at most once and in the order of its object. If one is lost, the numbers have a gap, or the client is told,
 * unless its application moved while something failed. Where nothing fails, all events come. After all faults, the events of
 * all nodes come again, within the time for a request. Each registration at a provider is held by one living node then.
 */
const simulation = suite('simulated clusters');
const runs = Math.ceil(Number(process.env['HOOKSWITCH_FUZZ_RUNS'] ?? 400) / 20);

const onSeeds = (title: string, happening: Parameters<SimulatedCluster['step']>[0]): void =>
  simulation(title, async () => {
    for (const seed of fc.sample(fc.noBias(fc.nat()), runs)) {
      const world = new SimulatedCluster(seed);
      try {
        await world.begin();
        for (let step = 0; step < 60; step++) await world.step(happening);
        await world.rest();
        await world.check(happening);
      } catch (error) {
        const { message, details = '' } = error as { message: string; details?: string };
        throw new Error(`${message} ${details}\nseed ${seed}: ${world.story.join(', ')}`, { cause: error });
      } finally {
        world.end();
      }
    }
  });

onSeeds('where messages are late and clients move, nothing is lost, doubled or out of order', {
  ...{ faults: false, moves: true },
});
onSeeds('whatever fails, an object has one owner, no event comes twice, and a loss is told', {
  ...{ faults: true, moves: false },
});
onSeeds('whatever fails while an application moves, nothing is doubled, and in the end all is as it was', {
  ...{ faults: true, moves: true },
});

simulation.run();
