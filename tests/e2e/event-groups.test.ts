import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EventGroup } from '../../src/models/event-group.ts';
import { onServer, type TestServer } from '../support/server.ts';

/** Several WebSockets that share one application by `group`. */

const shared = suite('a group of WebSockets');
const dialplan = { default: { s: ['Answer', 'Wait(3600)'] } };

const call = async (server: TestServer, id: string) =>
  server.client().ok('POST', `/channels/${id}?endpoint=Local/s@default&app=ivr`);
const groups = async (server: TestServer) => {
  const { hookswitch } = { hookswitch: '/../hookswitch/groups' };
  return server.client().ok<EventGroup[]>('GET', hookswitch);
};

shared('calls are spread, stick, and move with their events when a member dies', () =>
  onServer({ dialplan }, async (server) => {
    const first = await server.client().connect('ivr', { group: 'workers', member: 'one' });
    const second = await server.client().connect('ivr', { group: 'workers', member: 'two' });
    await call(server, 'c1');
    await first.waitFor('StasisStart', ({ channel }) => channel.id === 'c1');
    await call(server, 'c2');
    await second.waitFor('StasisStart', ({ channel }) => channel.id === 'c2');
    await first.ok('POST', '/channels/c2/variable?variable=a&value=1');
    await second.waitFor('ChannelVarset', ({ variable }) => variable === 'a');
    assert.equal(first.story('c2'), []);
    assert.equal(await groups(server), [
      {
        application: 'ivr',
        group: 'workers',
        members: [
          { name: 'one', calls: 1, state: 'active' },
          { name: 'two', calls: 1, state: 'active' },
        ],
      },
    ]);
    const told = first.story('c1');
    await first.close();
    await second.waitFor('StasisStart', ({ channel }) => channel.id === 'c1');
    await second.ok('DELETE', '/channels/c1');
    await second.waitFor('StasisEnd', ({ channel }) => channel.id === 'c1');
    assert.equal(second.story('c1').slice(0, told.length), told);
    const numbers = second.events.filter((event) => 'channel' in event && event.channel?.id === 'c1');
    assert.equal(new Set(numbers.map((event) => (event as { seq?: number }).seq)).size, numbers.length);
    await second.ok('DELETE', '/channels/c2');
    await second.waitFor('StasisEnd', ({ channel }) => channel.id === 'c2');
    await second.close();
    assert.equal(await groups(server), []);
  }),
);

shared('a member drains: it gets no new calls and is told when its last one is over', () =>
  onServer({ dialplan }, async (server) => {
    const one = await server.client().connect('ivr', { group: 'g', member: 'one' });
    const two = await server.client().connect('ivr', { group: 'g', member: 'two' });
    await call(server, 'c1');
    await one.waitFor('StasisStart');
    await one.ok('POST', '/../hookswitch/groups/ivr/g/members/one/drain');
    for (const id of ['c2', 'c3']) {
      await call(server, id);
      await two.waitFor('StasisStart', ({ channel }) => channel.id === id);
    }
    await one.ok('DELETE', '/channels/c1');
    await one.waitFor('GroupMemberDrained' as never);
    for (const path of ['ivr/g/members/x', 'ivr/x/members/one', 'x/g/members/one'])
      assert.is((await one.request('POST', `/../hookswitch/groups/${path}/drain`)).status, 404, path);
    for (const id of ['c2', 'c3']) await one.ok('DELETE', `/channels/${id}`);
    await two.waitFor('StasisEnd', ({ channel }) => channel.id === 'c3');
    await Promise.all([one.close(), two.close()]);
  }),
);

shared('another client that takes the application replaces the whole group; a member takes it back', () =>
  onServer({ dialplan }, async (server) => {
    const one = await server.client().connect('ivr', { group: 'g' });
    const two = await server.client().connect('ivr', { group: 'g' });
    const other = await server.client().connect('ivr');
    await Promise.all([one.waitFor('ApplicationReplaced'), two.waitFor('ApplicationReplaced')]);
    const again = await server.client().connect('ivr', { group: 'g' });
    await other.waitFor('ApplicationReplaced');
    await call(server, 'c1');
    await again.waitFor('StasisStart');
    await again.ok('DELETE', '/channels/c1');
    await again.waitFor('StasisEnd');
    assert.equal(
      [one, two, other].map((client) => client.story('c1')),
      [[], [], []],
    );
    await Promise.all([one, two, other, again].map((client) => client.close()));
  }),
);

shared('names of groups and members are checked', () =>
  onServer({}, async (server) => {
    for (const options of [{ group: 'a b' }, { group: 'x'.repeat(65) }, { group: 'g', member: 'a/b' }, { member: 'm' }])
      await server
        .client()
        .connect('ivr', options)
        .then(
          () => assert.unreachable(JSON.stringify(options)),
          (error: Error) => assert.match(error.message, '400'),
        );
  }),
);

shared.run();
