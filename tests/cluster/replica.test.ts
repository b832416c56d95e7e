import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readFrame, writeFrame } from '../../src/cluster/frame.ts';
import { LinkError, type LinkState } from '../../src/cluster/link.ts';
import { createReplica, readReplica, stateSubject } from '../../src/cluster/replica.ts';
import { type ApplicationEvent, forgottenKey, type StateChange } from '../../src/lib/state-lines.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { ClusterHub } from '../support/cluster-hub.ts';
import { silentLog } from '../support/log.ts';

const replicas = suite('the state of a node at NATS');

const subject = stateSubject('c', 'a');

/** A state that changes, and its copy. */
function createNode({ mostWaiting = 1_000_000, piece = 40 } = {}) {
  const hub = new ClusterHub();
  const clock = new ManualClock();
  const link = hub.link();
  const entries = new Map<string, string>();
  const events: ApplicationEvent[] = [];
  let tell: (changes: readonly StateChange[], events: readonly ApplicationEvent[]) => void = () => {};
  let hits = 0;
  const source = {
    all: () => ({ entries: [...entries], events: [...events] }),
    follow: (listener: typeof tell) => {
      tell = listener;
    },
  };
  const replica = createReplica({
    link: Object.assign(link, { epoch: 'one' }) as typeof link & { epoch: string; readonly state: LinkState },
    ...{ subject, source, version: 1, clock, log: silentLog, intervalMs: 50, retryMs: 1_000, mostWaiting, piece },
    hit: () => hits++,
  });
  return {
    ...{ hub, clock, link, replica, entries, events },
    get hits() {
      return hits;
    },
    commit(changes: readonly StateChange[], more: readonly ApplicationEvent[] = []): void {
      for (const [key, json] of changes)
        if (json === undefined) entries.delete(key);
        else entries.set(key, json);
      events.push(...more);
      tell(changes, more);
    },
    /** Lets so much time pass, with all that is written in it. */
    async pass(ms: number): Promise<void> {
      for (let at = 0; at < ms; at += 50) {
        clock.advance(50);
        for (let turn = 0; turn < 60; turn++) await Promise.resolve();
      }
    },
    read: () => readReplica(hub.link(), subject, { epoch: 'one', version: 1 }),
  };
}

type Node = ReturnType<typeof createNode>;

const sorted = (changes: Iterable<StateChange>): StateChange[] =>
  [...changes].sort(([one], [other]) => (one < other ? -1 : 1));

async function assertSame(node: Node): Promise<void> {
  const kept = await node.read();
  assert.equal(kept && { entries: sorted(kept.entries), events: kept.events }, {
    entries: sorted(node.entries),
    events: node.events,
  });
}

replicas('has what the node has, after any changes', async () => {
  const key = fc.constantFrom('a', 'b x', 'c y part', 'd');
  const change = fc.tuple(key, fc.option(fc.json(), { nil: undefined })) as fc.Arbitrary<StateChange>;
  const commit = fc.array(change, { maxLength: 5 });
  const run = fc.asyncProperty(fc.array(fc.tuple(commit, fc.nat(2)), { maxLength: 20 }), async (commits) => {
    const node = createNode();
    let seq = 0;
    for (const [changes, pause] of commits) {
      node.commit(changes, [['shop ü', ++seq, JSON.stringify({ seq, text: 'a\tb\n' })]]);
      await node.pass(50 * pause);
    }
    await node.pass(200);
    await assertSame(node);
  });
  await fc.assert(run, { numRuns: 100 });
});

replicas('writes the whole state again when NATS has lost it without a word', async () => {
  const node = createNode();
  node.commit([['a', '1']]);
  await node.pass(50);
  await assertSame(node);
  node.hub.logs.clear();
  node.commit([['b', '2']]);
  await node.pass(2_000);
  assert.is(node.replica.figures().copies, 2);
  await assertSame(node);
});

replicas('writes what has changed, and of several changes of an object the last one', async () => {
  const node = createNode({ piece: 1_000 });
  node.clock.advance(7);
  assert.is(node.replica.figures().lagMs, 7, 'NATS has nothing yet');
  await node.pass(50);
  const { octets } = node.replica.figures();
  for (let at = 0; at < 100; at++) node.commit([['a', String(at)]]);
  assert.is(node.replica.figures().lagMs, 0);
  node.clock.advance(20);
  assert.is(node.replica.figures().lagMs, 20);
  await node.pass(50);
  await assertSame(node);
  assert.ok(node.replica.figures().octets < octets + 200, 'one short message');
  assert.equal(node.replica.figures().lagMs, 0);
  await node.pass(1_000);
  assert.ok(node.replica.figures().octets < octets + 200, 'nothing is written while nothing changes');
});

replicas('writes the whole state when it has missed changes, and drops what was before', async () => {
  const node = createNode({ mostWaiting: 100 });
  node.commit([['a', '1']]);
  await node.pass(100);
  node.commit([['b', `"${'x'.repeat(200)}"`]]);
  assert.is(node.hits, 1);
  await node.pass(100);
  await assertSame(node);
  node.link.become('lost');
  node.hub.logs.clear();
  node.commit([['c', '3']]);
  await node.pass(100);
  assert.is(await node.read(), undefined);
  node.link.become('up');
  await node.pass(1_100);
  await assertSame(node);
  assert.is(node.replica.figures().copies, 3);
});

replicas('is written anew when changes behind it are many, so that it stays bounded', async () => {
  const node = createNode();
  for (let at = 0; at < 1_200; at++) {
    node.commit([['a', String(at)]]);
    await node.pass(50);
  }
  assert.is(node.replica.figures().copies, 2);
  assert.ok(node.hub.logs.get(subject)!.length < 250);
  await assertSame(node);
});

replicas('a batch that is not whole does not count', async () => {
  const node = createNode();
  node.commit([['a', '1']]);
  await node.pass(100);
  node.commit(['b', 'c', 'd'].map((key): StateChange => [key, `"${'x'.repeat(50)}"`]));
  await node.pass(100);
  const log = node.hub.logs.get(subject)!;
  node.hub.logs.set(subject, log.slice(0, -1));
  assert.equal((await node.read())?.entries, [['a', '1']]);
  // Nor does what follows a message that is missing.
  node.hub.logs.set(subject, [...log.slice(0, -2), log.at(-1)!]);
  assert.equal((await node.read())?.entries, [['a', '1']]);
});

replicas('another process or version is not gone on with', async () => {
  const node = createNode();
  await node.pass(100);
  assert.is(await readReplica(node.hub.link(), subject, { epoch: 'two', version: 1 }), undefined);
  const refused = await readReplica(node.hub.link(), subject, { epoch: 'one', version: 2 }).catch(
    ({ message }) => message,
  );
  assert.is(refused, 'the state has version 1, and this server reads version 2');
});

replicas('a state in a later format is refused', async () => {
  const node = createNode();
  await node.pass(100);
  const [first, ...rest] = node.hub.logs.get(subject)!;
  const { head, body } = readFrame(first!.data)!;
  node.hub.logs.set(subject, [{ ...first!, data: writeFrame({ ...head, format: 4 }, body) }, ...rest]);
  const refused = await node.read().catch(({ message }) => message);
  assert.is(refused, 'the state has format 4, and this server reads formats 2, 3');
});

replicas('events of an application that is gone are dropped', async () => {
  const node = createNode();
  await node.pass(100);
  node.commit(
    [],
    [
      ['shop', 1, '{}'],
      ['desk', 1, '{}'],
    ],
  );
  await node.pass(100);
  node.commit([[forgottenKey('shop'), '']]);
  node.commit([[forgottenKey('shop'), undefined]]);
  await node.pass(100);
  assert.equal((await node.read())?.events, [['desk', 1, '{}']]);
});

replicas('a node that ends in an orderly way leaves nothing', async () => {
  const node = createNode();
  node.commit([['a', '1']]);
  await node.pass(100);
  await node.replica.close(true);
  assert.is(await node.read(), undefined);
});

replicas('without room the earlier state makes way, and a state that does not fit leaves nothing behind', async () => {
  const node = createNode();
  const { append } = node.link;
  let room = 1_000;
  node.link.append = async (to, data, after) => {
    const used = (node.hub.logs.get(subject) ?? []).reduce((sum, { data: kept }) => sum + kept.length, 0);
    if (used + data.length > room) throw new LinkError('full');
    return append(to, data, after);
  };
  node.commit([['a', JSON.stringify('x'.repeat(500))]]);
  await node.pass(100);
  await assertSame(node);
  // With the copy before it there is no room for the next one.
  node.commit([['b', JSON.stringify('y'.repeat(100))]]);
  await node.pass(3_000);
  await assertSame(node);
  assert.is(node.replica.figures().lagMs, 0);
  room = 200;
  node.commit([['c', '1']]);
  await node.pass(3_000);
  assert.equal(node.hub.logs.get(subject), []);
  assert.ok(node.replica.figures().lagMs >= 2_000);
  room = 10_000;
  await node.pass(2_000);
  await assertSame(node);
  assert.is(node.replica.figures().lagMs, 0);
});

replicas.run();
