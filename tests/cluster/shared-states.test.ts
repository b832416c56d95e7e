import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSharedStates, type SharedChange, type SharedStates } from '../../src/cluster/shared-states.ts';
import { silentLog } from '../support/log.ts';

type Node = {
  states: SharedStates;
  heard: [key: string, tells: boolean][];
  values: [key: string, value: unknown][];
  /** What it has sent and the others have not heard. */
  sent: SharedChange[];
  hits: number;
  /** Runs when another node asks it. */
  asked?: () => void;
};

/** Nodes whose messages a test delivers. */
class Nodes {
  readonly all = new Map<string, Node>();
  now = 1_000;
  asked = 0;

  add(name: string, { most = 100, epoch = `${name}1` } = {}): Node {
    const node: Node = { states: undefined as never, heard: [], values: [], sent: [], hits: 0 };
    node.states = createSharedStates({
      ...{ node: name, epoch, log: silentLog, now: () => this.now, most, page: 2, characters: 300 },
      hit: () => node.hits++,
      send: (change) => void node.sent.push(change),
      ask: async (other, after) => {
        this.asked++;
        this.all.get(other)?.asked?.();
        return structuredClone(this.all.get(other)?.states.list(after));
      },
      others: () => [...this.all.keys()].filter((other) => other !== name),
      isFirst: () => [...this.all.keys()].every((other) => name <= other),
    });
    node.states.use({
      part: (key, tells) => void node.heard.push([key, tells]),
      value: (key, value) => void node.values.push([key, value]),
      together: (key) => this.together(node, key),
    });
    this.all.set(name, node);
    return node;
  }

  together(node: Node, key: string): string {
    const own = node.states.list('').entries.find((entry) => entry.key === key)?.value;
    return [...node.states.parts(key), ...(typeof own === 'string' ? [own] : [])].sort().join('+');
  }

  /** All hear what was sent, but for `lost` changes of each node. */
  deliver(lost = 0): void {
    for (const [name, node] of this.all)
      for (const change of node.sent.splice(0).slice(lost))
        for (const [other, { states }] of this.all) if (other !== name) states.change(structuredClone(change));
  }

  /** All hear heartbeats of all, and read what they have missed. */
  async beat(): Promise<void> {
    for (const [name, node] of this.all)
      for (const [other, { states }] of this.all)
        if (other !== name) states.heard(name, node.states.list('').epoch, node.states.revision);
    // The answers come one after the other.
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  }
}

const states = suite('shared states');

states('what was told is heard by the nodes that answer when it resolves', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.add('a'), nodes.add('b')];
  await nodes.beat();
  a.states.set('box', 1);
  b.asked = () => nodes.deliver();
  await a.states.told();
  assert.equal(b.values, [['box', 1]]);
  b.asked = () => {
    throw new Error('it does not answer');
  };
  await a.states.told();
});

states('a part is known at the other nodes until its node changes it, or is gone', async () => {
  const nodes = new Nodes();
  const [a, b, c] = [nodes.add('a'), nodes.add('b'), nodes.add('c')];
  await nodes.beat();
  b.states.tell('phone', 'ringing', 'ringing');
  b.states.tell('phone', 'ringing', 'ringing');
  assert.is(b.sent.length, 1);
  nodes.deliver();
  assert.equal(
    [a.states.parts('phone'), c.states.parts('phone'), b.states.parts('phone')],
    [['ringing'], ['ringing'], []],
  );
  assert.equal(a.heard, [['phone', false]]);
  c.states.tell('phone', 'idle', 'idle+ringing');
  nodes.deliver();
  assert.equal(a.states.parts('phone').sort(), ['idle', 'ringing']);
  c.states.tell('phone', null, 'ringing');
  nodes.deliver();
  assert.equal(a.states.parts('phone'), ['ringing']);
  a.heard.length = 0;
  for (const node of [a, c]) node.states.drop('b');
  assert.equal([a.states.parts('phone'), a.heard], [[], [['phone', true]]]);
  assert.equal(c.heard.at(-1), ['phone', false], 'one node tells');
});

states('of two parts that change at once, one node tells what they are together', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.add('a'), nodes.add('b')];
  await nodes.beat();
  a.states.tell('phone', 'idle', 'idle');
  b.states.tell('phone', 'ringing', 'ringing');
  nodes.deliver();
  assert.equal([a.heard, b.heard], [[['phone', true]], [['phone', false]]]);
});

states('a lost change is found out by the next one, and by the next heartbeat', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.add('a'), nodes.add('b')];
  await nodes.beat();
  for (const key of ['p1', 'p2', 'p3', 'p4', 'p5']) b.states.tell(key, 'busy', 'busy');
  nodes.deliver(5);
  assert.equal(a.states.parts('p1'), []);
  await nodes.beat();
  for (const key of ['p1', 'p2', 'p3', 'p4', 'p5']) assert.equal(a.states.parts(key), ['busy'], key);
  b.states.tell('p1', null, '');
  b.states.tell('p2', 'idle', 'idle');
  nodes.deliver(1);
  await nodes.beat();
  assert.equal([a.states.parts('p1'), a.states.parts('p2')], [[], ['idle']]);
  const { asked } = nodes;
  await nodes.beat();
  assert.is(nodes.asked, asked, 'nothing is asked for when all is known');
});

states('a new process of a node begins without the parts of the one before', async () => {
  const nodes = new Nodes();
  const a = nodes.add('a');
  const b = nodes.add('b');
  await nodes.beat();
  b.states.tell('p1', 'busy', 'busy');
  nodes.deliver();
  nodes.add('b', { epoch: 'b2' }).states.tell('p2', 'busy', 'busy');
  await nodes.beat();
  assert.equal([a.states.parts('p1'), a.states.parts('p2')], [[], ['busy']]);
});

states('of a value the latest is everywhere, whatever the clocks say', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.add('a'), nodes.add('b')];
  await nodes.beat();
  a.states.set('box', { new: 1 });
  a.states.set('box', { new: 1 });
  assert.is(a.sent.length, 1);
  nodes.deliver();
  assert.equal(b.values, [['box', { new: 1 }]]);
  nodes.now = 10;
  b.states.set('box', { new: 2 });
  nodes.deliver();
  assert.equal(a.values, [['box', { new: 2 }]]);
  const { asked } = nodes;
  await nodes.beat();
  assert.is(nodes.asked, asked, 'what was adopted is no change of the node');
  // Both at once: one of them wins at both.
  nodes.now = 5_000;
  a.states.set('box', { new: 8 });
  b.states.set('box', { new: 9 });
  nodes.deliver();
  assert.equal([a.values.at(-1), b.values.length], [['box', { new: 9 }], 1]);
  a.states.set('box', null);
  nodes.deliver();
  assert.equal(b.values.at(-1), ['box', null]);
});

states('a node that comes back takes later values, and brings what others lack', async () => {
  const nodes = new Nodes();
  const a = nodes.add('a');
  a.states.set('box', { new: 3 });
  a.states.set('gone', { new: 1 });
  a.states.set('gone', null);
  const b = nodes.add('b');
  b.states.know('box', { new: 1 });
  b.states.know('gone', { new: 1 });
  b.states.know('own', { new: 7 });
  await nodes.beat();
  assert.equal(b.values.sort(), [
    ['box', { new: 3 }],
    ['gone', null],
  ]);
  assert.equal(a.values, [['own', { new: 7 }]]);
});

states('a node tells no more than it may, and keeps no more of others', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.add('a', { most: 2 }), nodes.add('b')];
  await nodes.beat();
  for (const key of ['p1', 'p2', 'p3']) a.states.tell(key, 'busy', 'busy');
  assert.equal([a.sent.length, a.hits], [2, 1]);
  for (const key of ['q1', 'q2', 'q3']) b.states.tell(key, 'busy', 'busy');
  nodes.deliver();
  assert.equal([a.states.parts('q2'), a.states.parts('q3'), a.hits], [['busy'], [], 2]);
});

states('a list fits into a message, and a value that does not stays where it was set', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.add('a'), nodes.add('b')];
  a.states.set('one', 'x'.repeat(200));
  a.states.set('two', 'x'.repeat(200));
  a.states.set('three', 'x'.repeat(301));
  assert.is(a.hits, 1);
  assert.equal(
    a.states.list('').entries.map(({ key }) => key),
    ['one'],
  );
  assert.ok(a.states.list('').more);
  a.sent.splice(0);
  await nodes.beat();
  assert.equal(
    b.values.map(([key]) => key),
    ['one', 'two'],
  );
});

states.run();
