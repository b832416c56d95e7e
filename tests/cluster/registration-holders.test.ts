import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClusterRegistrations, createRegistrationHolders } from '../../src/cluster/registration-holders.ts';

const ids = ['u', 'v', 'w', 'x', 'y', 'z'];

/** Nodes that hear each other's parts when a test delivers them. Each does what its charts would do when `obeys`. */
class Nodes {
  readonly #parts = new Map<string, Map<string, string>>();
  readonly holders = new Map<string, ClusterRegistrations>();
  readonly told: string[] = [];
  readonly cut = new Set<string>();

  add(name: string, ids: readonly string[], { obeys = true, begins = true } = {}): ClusterRegistrations {
    const own = new Map<string, string>();
    const holders = createRegistrationHolders({
      ...{ node: name, isConnected: () => !this.cut.has(name) },
      states: {
        tell: (key, part) => void (part === null ? own.delete(key) : own.set(key, part)),
        parts: (key) => [...this.#parts].flatMap(([other, parts]) => (other === name ? [] : (parts.get(key) ?? []))),
      },
    });
    this.#parts.set(name, own);
    this.holders.set(name, holders);
    holders.onChanged((id, isHeldHere) => {
      this.told.push(`${name} ${isHeldHere ? 'takes' : 'gives up'} ${id}`);
      if (obeys) holders.tell(id, isHeldHere);
    });
    for (const id of ids) holders.offer(id, false);
    if (begins) holders.begin();
    this.deliver();
    return holders;
  }

  /** All look at what all have told, until nothing changes. */
  deliver(): void {
    for (let turn = 0; turn < 5; turn++)
      for (const holders of this.holders.values()) for (const id of [...ids, 'own']) holders.heard(id);
  }

  remove(name: string): void {
    this.#parts.delete(name);
    this.holders.delete(name);
    this.deliver();
  }

  /** Who holds a registration, as all agree. */
  holder(id: string): string | undefined {
    const seen = [...this.holders.values()].map((each) => each.holderOf(id));
    assert.is(new Set(seen).size, 1, `${id}: ${seen}`);
    return seen[0];
  }

  tellsNext(): string[] {
    return this.told.splice(0);
  }
}

const holding = suite('holders of registrations');

holding('each registration is held by one of the nodes that have it, and the others agree', () => {
  const nodes = new Nodes();
  nodes.add('a', ids);
  assert.equal(
    ids.map((id) => nodes.holder(id)),
    ids.map(() => 'a'),
  );
  nodes.add('b', [...ids, 'own']);
  nodes.add('c', ids);
  const held = ids.map((id) => nodes.holder(id));
  assert.equal(new Set(held).size > 1, true, `they are spread: ${held}`);
  assert.is(nodes.holder('own'), 'b', 'one that only this node has');
  const sizes = [...nodes.holders.values()].reduce((sum, { size }) => sum + size, 0);
  assert.is(sizes, ids.length + 1);
});

holding('a node that is gone, lost or drained gives its registrations to the others, and gets them back', () => {
  const nodes = new Nodes();
  const [a] = [nodes.add('a', ids), nodes.add('b', [...ids, 'own'])];
  nodes.add('c', ids);
  const before = ids.map((id) => nodes.holder(id));
  const at = before.indexOf('b');
  const id = ids[at]!;
  const b = nodes.holders.get('b')!;
  nodes.tellsNext();
  b.enter('drained');
  assert.is.not(nodes.holder(id), 'b');
  assert.equal(nodes.tellsNext()[0], `b gives up ${id}`, 'first it is given up');
  assert.is(nodes.holder('own'), 'b', 'no other node can hold it');
  b.enter('ready');
  nodes.deliver();
  assert.is(nodes.holder(id), 'b');
  b.enter('isolated');
  assert.is(nodes.holder('own'), undefined);
  b.enter('ready');
  nodes.deliver();
  assert.is(nodes.holder('own'), 'b');
  // Its process is gone, before its states are.
  for (const [name, each] of nodes.holders) if (name !== 'b') each.gone('b');
  nodes.deliver();
  assert.is.not(a.holderOf(id), 'b');
  for (const [name, each] of nodes.holders) if (name !== 'b') each.back('b');
  nodes.deliver();
  assert.is(nodes.holder(id), 'b');
  nodes.remove('b');
  assert.ok(['a', 'c'].includes(String(nodes.holder(id))));
  assert.equal(
    ids.filter((each) => before[ids.indexOf(each)] !== 'b').map((each) => nodes.holder(each)),
    before.filter((each) => each !== 'b'),
    'those of the others stay',
  );
});

holding('a node takes a registration when the one before has given it up, and not earlier', () => {
  const nodes = new Nodes();
  const a = nodes.add('a', ids, { obeys: false });
  for (const id of ids) a.tell(id, true);
  nodes.add('b', ids);
  const moved = ids.filter((id) => nodes.told.includes(`a gives up ${id}`));
  assert.ok(moved.length > 0);
  assert.not.ok(nodes.told.some((each) => each.startsWith('b takes')));
  const [id = ''] = moved;
  assert.is(nodes.holder(id), 'a', 'its registrar has not answered');
  a.tell(id, false);
  nodes.deliver();
  assert.ok(nodes.told.includes(`b takes ${id}`));
});

holding('where two nodes hold it, one gives it up, and then the other one is told to register again', () => {
  const nodes = new Nodes();
  nodes.cut.add('b');
  const a = nodes.add('a', ['x'], { obeys: false });
  a.tell('x', true);
  const b = nodes.add('b', [], { obeys: false, begins: false });
  b.offer('x', true);
  nodes.tellsNext();
  b.begin();
  nodes.deliver();
  const [gives = ''] = nodes.tellsNext();
  assert.match(gives, /gives up x$/);
  const [loser, winner] = gives.startsWith('a') ? [a, 'b'] : [b, 'a'];
  loser.tell('x', false);
  nodes.deliver();
  assert.ok(nodes.tellsNext().includes(`${winner} takes x`));
});

holding('a node that does not hear the others yet keeps what it had; alone it takes all after a while', () => {
  const nodes = new Nodes();
  const a = nodes.add('a', ['x'], { begins: false });
  assert.equal([a.holderOf('x'), a.offer('y', true)], [undefined, true]);
  assert.equal(nodes.tellsNext(), []);
  nodes.cut.add('a');
  a.begin();
  assert.equal([nodes.tellsNext(), a.holderOf('x'), a.holderOf('y')], [['a takes x'], 'a', 'a']);
  a.withdraw('x');
  assert.equal([a.holderOf('x'), a.size], [undefined, 1]);
});

holding('a node that is cut off takes nothing of those that it does not hear, until it hears them again', () => {
  const nodes = new Nodes();
  nodes.add('a', ids);
  nodes.add('b', ids);
  const a = nodes.holders.get('a')!;
  const before = ids.filter((id) => nodes.holder(id) === 'a');
  assert.ok(before.length < ids.length);
  nodes.tellsNext();
  nodes.cut.add('a');
  nodes.remove('b');
  assert.equal([nodes.tellsNext(), a.size], [[], before.length]);
  nodes.cut.delete('a');
  a.reconnected();
  assert.is(a.size, ids.length);
  // Another node may have held them meanwhile.
  for (const id of before) assert.ok(nodes.told.includes(`a takes ${id}`));
});

holding.run();
