import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LinkError, type LinkState } from '../../src/cluster/link.ts';
import { createNamedLink, nodeKey } from '../../src/cluster/named-link.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { ClusterHub } from '../support/cluster-hub.ts';
import { silentLog } from '../support/log.ts';
import { untilAsked } from '../support/waiting.ts';

const names = suite('names of nodes');

const until = (holds: () => boolean): Promise<void> => untilAsked(holds, () => 'it has another state');

/** Servers that want to be the node `a`, on one clock. */
function servers() {
  const hub = new ClusterHub();
  const clock = new ManualClock();
  const start = (epoch: string) => {
    const link = hub.link();
    const heard: string[] = [];
    const states: LinkState[] = [];
    const named = createNamedLink({
      ...{ link, name: 'a', epoch, cluster: 'c', clock, log: silentLog, tables: undefined },
      ...{ requestTimeoutMs: 1_000, awayAfterMs: 10_000, retryMs: 1_000 },
    });
    named.onState((state) => void states.push(state));
    named.hear('c.news', (data) => void heard.push(Buffer.from(data).toString()));
    return { link, named, heard, states, becomes: (state: string) => until(() => stateOf(named) === state) };
  };
  return { hub, clock, start };
}

const stateOf = ({ state, isExcluded }: { state: LinkState; isExcluded: boolean }): string =>
  isExcluded ? 'excluded' : state;

names('the first server has the name, the second takes no part', async () => {
  const { start } = servers();
  const first = start('one');
  await first.becomes('up');
  const second = start('two');
  await second.becomes('excluded');
  assert.is(second.named.state, 'connecting');
  assert.is(second.named.reason, 'another server has the same name (cluster.name)');
  assert.is(second.named.publish('c.news', Buffer.from('x')), false);
  assert.is(first.named.publish('c.news', Buffer.from('y')), true);
  assert.equal([first.heard, second.heard, second.states], [['y'], [], []]);
  for (const asked of [() => second.named.request('c.x', Buffer.from(''), 1), () => second.named.claim('k', 'v')])
    assert.is(await asked().catch(({ failure }) => failure), 'excluded');
});

names('a server whose predecessor has ended has the name at once, with a higher term', async () => {
  const { start, hub } = servers();
  const first = start('one');
  await first.becomes('up');
  first.link.become('closed');
  const second = start('two');
  await second.becomes('up');
  assert.ok(second.named.term > first.named.term);
  assert.is((JSON.parse(hub.table.get(nodeKey('a'))!) as { epoch: string }).epoch, 'two');
});

names('an excluded server takes part when the other one has ended', async () => {
  const { start, clock } = servers();
  const first = start('one');
  await first.becomes('up');
  const second = start('two');
  await second.becomes('excluded');
  first.link.become('closed');
  clock.advance(1_000);
  await second.becomes('up');
  assert.equal(second.states, ['up']);
});

names('a server whose claim was carried out, but not answered, has the name', async () => {
  const { start, clock, hub } = servers();
  const first = start('one');
  await first.becomes('up');
  hub.silent.add('c.alive.one');
  const second = start('two');
  const { replace } = second.link;
  second.link.replace = async (...row) => {
    await replace(...row);
    second.link.replace = replace;
    hub.silent.delete('c.alive.one');
    throw new LinkError('timeout');
  };
  await second.becomes('excluded');
  await untilAsked(
    async () => {
      clock.advance(1_000);
      return stateOf(second.named) === 'up';
    },
    () => 'it does not have its name',
  );
});

names('a server whose claim is not answered waits for the table, which may have another one', async () => {
  const { start, clock, hub } = servers();
  const first = start('one');
  await first.becomes('up');
  const second = start('two');
  await second.becomes('excluded');
  const { claim } = second.link;
  let asked = 0;
  second.link.claim = async () => {
    asked++;
    throw new LinkError('timeout');
  };
  first.link.become('closed');
  clock.advance(1_000);
  await until(() => asked === 1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.is(stateOf(second.named), 'excluded');
  second.link.claim = claim;
  clock.advance(1_000);
  await second.becomes('up');
  assert.is((JSON.parse(hub.table.get(nodeKey('a'))!) as { epoch: string }).epoch, 'two');
});

names('a server that is silent keeps its name for a while, and is kept out afterwards', async () => {
  const { start, clock, hub } = servers();
  const first = start('one');
  await first.becomes('up');
  hub.silent.add('c.alive.one');
  const second = start('two');
  await second.becomes('excluded');
  for (let s = 0; s < 9; s++) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.is(stateOf(second.named), 'excluded');
  clock.advance(1_000);
  await second.becomes('up');
  // It runs again, and hears of its successor.
  hub.silent.clear();
  first.named.heard({ epoch: 'two', term: second.named.term });
  assert.is(stateOf(first.named), 'excluded');
  assert.is(first.named.publish('c.news', Buffer.from('x')), false);
  second.named.heard({ epoch: 'one', term: first.named.term });
  assert.is(second.named.state, 'up');
});

names('of two that claim the name of a dead one at once one has it', async () => {
  const { start } = servers();
  const dead = start('zero');
  await dead.becomes('up');
  dead.link.become('closed');
  const both = [start('one'), start('two')];
  await until(() => both.every(({ named }) => named.state === 'up' || named.isExcluded));
  assert.equal(both.map(({ named }) => stateOf(named)).sort(), ['excluded', 'up']);
});

names('a lost link takes the name away until it is claimed again', async () => {
  const { start } = servers();
  const only = start('one');
  await only.becomes('up');
  only.link.become('lost');
  assert.is(only.named.state, 'lost');
  only.link.become('up');
  await only.becomes('up');
  assert.equal(only.states, ['up', 'lost', 'up']);
});

names.run();
