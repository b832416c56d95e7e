import type { Bridge } from '../src/models/bridge.ts';
import { TestCluster } from '../tests/support/cluster-nodes.ts';
import { type Heard, Listeners } from '../tests/support/listeners.ts';
import { cpuMs } from './server-process.ts';

/**
 * One bridge with one talker and many listeners, spread over the nodes of a cluster on this machine (needs `nats-server`):
 * how long they take to enter, what each hears, and what it costs each node.
 *
 *   npx tsx bench/cluster-conference.ts [listeners] [nodes] [seconds]
 */
const [listeners = 999, nodes = 3, seconds = 10] = process.argv.slice(2).map(Number);
const packetsPerSecond = 50;
const names = Array.from({ length: nodes }, (_, at) => String.fromCharCode(97 + at));

async function run(cluster: TestCluster, far: Listeners): Promise<void> {
  const app = await cluster.node('a').app('shop');
  for (const each of Object.values(cluster.nodes)) await each.hasApplications(1);
  await app.ok<Bridge>('POST', '/bridges?bridgeId=a~room');
  const begun = performance.now();
  const took = (): number => Math.round(performance.now() - begun);
  const talker = await far.enter(app, 'a');
  const members = [talker];
  while (members.length <= listeners) {
    const some = Math.min(20, listeners + 1 - members.length);
    const nodeOf = (at: number): string => names[(members.length + at) % names.length]!;
    members.push(...(await Promise.all(Array.from({ length: some }, (_, at) => far.enter(app, nodeOf(at))))));
  }
  console.log(`${members.length} channels after ${took()} ms`);
  for (let at = 0; at < members.length; at += 50) {
    const ids = members.slice(at, at + 50).map(({ id }) => id);
    await app.ok('POST', `/bridges/a~room/addChannel?channel=${ids.join()}`);
  }
  console.log(`all in one bridge after ${took()} ms`);
  far.talk(talker.port);
  await new Promise((soon) => setTimeout(soon, 3_000));
  const before = names.map((name) => cpuMs(cluster.node(name).child.pid));
  far.count(members.slice(1).map(({ port }) => port));
  await new Promise((over) => setTimeout(over, seconds * 1_000));
  const all = far.heard.map((one) => ({ ...one }));
  const cores = names.map((name, at) => (cpuMs(cluster.node(name).child.pid) - before[at]!) / 1_000 / seconds);
  const sum = (of: (one: Heard) => number): number => all.reduce((total, one) => total + of(one), 0);
  const expected = all.length * seconds * packetsPerSecond;
  const percent = (count: number): string => `${((100 * count) / expected).toFixed(2)} %`;
  console.log(
    `${all.length} listeners, ${seconds} s: received ${percent(sum(({ packets }) => packets))} of the packets, ` +
      `late ${percent(sum(({ late }) => late))}, silent ${percent(sum(({ silent }) => silent))}, ` +
      `least heard by one ${Math.min(...all.map(({ packets, silent }) => packets - silent))}`,
  );
  console.log(`cores: ${names.map((name, at) => `${name} ${cores[at]!.toFixed(2)}`).join(', ')}`);
  await app.close();
}

const far = await Listeners.open();
const cluster = await TestCluster.start('nats-server', names);
try {
  await run(cluster, far);
} catch (error) {
  cluster.tell();
  throw error;
} finally {
  far.close();
  await cluster.close();
}
