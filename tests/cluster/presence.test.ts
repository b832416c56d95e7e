import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConnectRequest } from '../../src/actors/application-connections.ts';
import { createPresence, type Presence } from '../../src/cluster/presence.ts';
import type { PresenceChange } from '../../src/cluster/presence-messages.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { silentLog } from '../support/log.ts';

const presences = suite('applications of a cluster');

type Connection = ConnectRequest & { open: boolean };

/** Nodes whose messages are carried at once, and what is connected with each. */
function nodes(...names: string[]) {
  const all = new Map<string, { presence: Presence; connections: Connection[]; relayed: string[] }>();
  const away = new Set<string>();
  const clock = new ManualClock();
  for (const node of names) {
    const connections: Connection[] = [];
    const relayed: string[] = [];
    const presence = createPresence({
      ...{ node, epoch: 'one', log: silentLog, clock, awaitMs: 0, timeoutMs: 1_000, mostOctets: 10_000, hit() {} },
      callOf: (channel) => `call of ${channel}`,
      applications: {
        connect(request) {
          const connection = Object.assign(request, { open: true });
          connections.push(connection);
          return { announce() {}, acknowledge: () => true, close: () => void (connection.open = false) };
        },
        departure: () => {
          throw new Error('nothing moves here');
        },
        adopt: () => 'one',
        missTo() {},
        review() {},
        relay: (name, json, { lost }) => void relayed.push(`${name} ${json}${lost > 0 ? ` after ${lost} lost` : ''}`),
      },
      tell: (change) => {
        for (const [other, { presence: theirs }] of all) if (other !== node && !away.has(other)) theirs.change(change);
      },
      ask: async (other) => all.get(other)?.presence.list(),
      askFor: async () => undefined,
      send(to, frame) {
        if (away.has(to)) return false;
        all.get(to)?.presence.take(frame);
        return true;
      },
    });
    all.set(node, { presence, connections, relayed });
  }
  const of = (node: string) => all.get(node)!;
  /** Open connections of a node, by what they are. */
  const open = (node: string): string[] =>
    of(node).connections.flatMap(({ open: isOpen, names: [name], describe }) =>
      isOpen ? [`${name} by ${describe}`] : [],
    );
  /** Each node has heard the others. */
  const meet = async (): Promise<void> => {
    for (const [node, { presence }] of all)
      for (const other of names) if (other !== node) presence.heard(other, 'one', of(other).presence.revision);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const connect = (node: string, name: string, more: Partial<ConnectRequest> = {}) =>
    of(node).presence.connect({ names: [name], send() {}, describe: 'a client', ...more });
  return { of, open, meet, connect, away };
}

presences('an application that connects to one node is connected at all', async () => {
  const { open, meet, connect, of } = nodes('a', 'b', 'c');
  connect('a', 'early', { subscribeAll: true });
  await meet();
  const connected = connect('a', 'shop');
  for (const node of ['b', 'c']) assert.equal(open(node), ['early by node a', 'shop by node a']);
  assert.equal(
    of('b').connections.map(({ subscribeAll }) => subscribeAll),
    [true, false],
  );
  connected.close();
  assert.equal([open('a'), open('b')], [['early by a client'], ['early by node a']]);
});

presences('a change that comes while the applications of its node are asked for is not missed', async () => {
  const { open, connect, of } = nodes('a', 'b');
  of('a').presence.heard('b', 'one', 0);
  connect('b', 'shop');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(open('a'), ['shop by node b']);
});

presences('the latest connection has an application, wherever it is', async () => {
  const { open, meet, connect } = nodes('a', 'b', 'c');
  await meet();
  const first = connect('a', 'shop');
  connect('b', 'shop');
  assert.equal([open('c'), open('b')], [['shop by node b'], ['shop by a client']]);
  assert.equal(open('a'), ['shop by a client', 'shop by node b'], 'the chart of the application replaces the first');
  first.close();
  assert.equal([open('a'), open('b'), open('c')], [['shop by node b'], ['shop by a client'], ['shop by node b']]);
});

presences('an event is given to the node of the application, and lost ones are counted', async () => {
  const { meet, connect, of, away } = nodes('a', 'b');
  await meet();
  connect('a', 'shop');
  const link = of('b').connections[0]!;
  link.send('{"n":1}');
  link.send('{"n":2}');
  away.add('a');
  link.send('{"n":3}');
  away.delete('a');
  link.send('{"n":4}');
  assert.equal(of('a').relayed, ['shop {"n":1}', 'shop {"n":2}', 'shop {"n":4} after 1 lost']);
  assert.equal(of('b').presence.figures(), { eventsOut: 3, eventsIn: 0, eventsLost: 1 });
  assert.equal(of('a').presence.figures(), { eventsOut: 0, eventsIn: 3, eventsLost: 1 });
});

presences('events are known to be lost where the first of a new link are', async () => {
  const { meet, connect, of, away } = nodes('a', 'b');
  await meet();
  connect('a', 'shop');
  of('b').connections[0]!.send('{"n":1}');
  of('b').presence.drop('a');
  await meet();
  const again = of('b').connections[1]!;
  away.add('a');
  again.send('{"n":2}');
  away.delete('a');
  again.send('{"n":3}');
  assert.equal(of('a').relayed, ['shop {"n":1}', 'shop {"n":3} after 2 lost']);
});

presences('an event that comes when the application has moved follows it once', async () => {
  const { meet, connect, of } = nodes('a', 'b', 'c');
  await meet();
  connect('a', 'shop');
  const old = of('b').connections[0]!;
  connect('c', 'shop');
  old.send('{"n":1}');
  assert.equal([of('a').relayed, of('c').relayed], [[], ['shop {"n":1}']]);
});

presences('the applications of a node that is away are away, and come back with it', async () => {
  const { open, meet, connect, of } = nodes('a', 'b');
  await meet();
  connect('a', 'shop');
  of('b').presence.drop('a');
  assert.equal(open('b'), []);
  await meet();
  assert.equal(open('b'), ['shop by node a']);
});

presences('a change that was missed is asked for', async () => {
  const { open, meet, connect, away, of } = nodes('a', 'b');
  await meet();
  away.add('b');
  connect('a', 'missed');
  away.delete('b');
  await of('b').presence.refresh();
  assert.equal(open('b'), ['missed by node a']);
});

presences('a connection that the system makes itself is the own one of its node', async () => {
  const { open, meet, connect } = nodes('a', 'b');
  await meet();
  connect('a', 'outbound', { announce: true });
  assert.equal(open('b'), []);
});

/** What a node tells that has not heard of a later connection elsewhere. */
const told = (added: number[], awaited: number[]): PresenceChange => ({
  ...{ node: 'c', epoch: 'one', revision: 1, removed: awaited.length > 0 ? ['shop'] : [] },
  added: added.map((stamp) => ({ name: 'shop', stamp, subscribeAll: false, observes: false })),
  ...{ awaited: awaited.map(() => 'shop'), stamps: Object.fromEntries(awaited.map((stamp) => ['shop', stamp])) },
});

presences('an earlier connection at a third node, heard of late, does not take the application', async () => {
  for (const late of [told([1], []), told([], [1])]) {
    const { open, meet, connect, of } = nodes('a', 'b', 'c');
    await meet();
    connect('a', 'shop');
    of('b').presence.change(late);
    assert.equal(open('b'), ['shop by node a']);
    of('b').presence.change({ ...told([], []), revision: 2, removed: ['shop'] });
    assert.equal(open('b'), ['shop by node a']);
  }
});

presences('a node whose link begins again has lost events', async () => {
  const { meet, connect, of } = nodes('a', 'b');
  await meet();
  connect('a', 'shop');
  of('b').connections[0]!.send('{"n":1}');
  of('b').presence.drop('a');
  await meet();
  of('b').connections[1]!.send('{"n":3}');
  assert.equal(of('a').relayed, ['shop {"n":1}', 'shop {"n":3} after 1 lost']);
});

presences.run();
