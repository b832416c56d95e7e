import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { refusalOf } from '../http/sockets.ts';
import type { AriClient } from '../support/ari-client.ts';
import { onServer } from '../support/server.ts';

/** Everything that clients can make is bounded: one too many is refused by name, and nothing is changed. */

const limits = {
  ...{ channel_variables: 10, global_variables: 1, applications: 2, subscriptions: 3, playbacks: 2 },
  ...{ mailboxes: 1, device_states: 1, dynamic_objects: 1 },
};
const dialplan = { default: { s: ['Answer', 'Wait(3600)'] } };

const limited = suite('limits');

/** Asks for one too many. */
async function refused(client: AriClient, limit: keyof typeof limits, ask: string, body?: unknown): Promise<void> {
  const [method = '', path = ''] = ask.split(' ');
  const { status, body: answer } = await client.request<unknown>(method, path, body);
  const message = `The limit of ${limits[limit]} is reached (limits.${limit})`;
  assert.equal([status, answer], [409, { message }], ask);
}

limited('what is kept: mailboxes, device states, global variables, dynamic objects', () =>
  onServer({ limits }, async (server) => {
    const client = server.client();
    const stays = async (path: string, ask: string, limit: keyof typeof limits, body?: unknown) => {
      const before = await client.ok<unknown>('GET', path);
      await refused(client, limit, ask, body);
      assert.equal(await client.ok<unknown>('GET', path), before, ask);
    };
    await client.ok('PUT', '/mailboxes/1?newMessages=1&oldMessages=0');
    await stays('/mailboxes', 'PUT /mailboxes/2?newMessages=1&oldMessages=0', 'mailboxes');
    await client.ok('PUT', '/mailboxes/1?newMessages=2&oldMessages=0');
    await client.ok('DELETE', '/mailboxes/1');
    await client.ok('PUT', '/mailboxes/2?newMessages=1&oldMessages=0');

    await client.ok('PUT', '/deviceStates/Stasis:a?deviceState=INUSE');
    await stays('/deviceStates', 'PUT /deviceStates/Stasis:b?deviceState=INUSE', 'device_states');
    await client.ok('PUT', '/deviceStates/Stasis:a?deviceState=BUSY');

    await client.ok('POST', '/asterisk/variable?variable=a&value=1');
    await stays('/asterisk/variable?variable=b', 'POST /asterisk/variable?variable=b&value=1', 'global_variables');
    await client.ok('POST', '/asterisk/variable?variable=a&value=2');

    await client.ok('PUT', '/asterisk/config/dynamic/res_pjsip/auth/a');
    await refused(client, 'dynamic_objects', 'PUT /asterisk/config/dynamic/res_pjsip/auth/b');
    assert.is((await client.request('GET', '/asterisk/config/dynamic/res_pjsip/auth/b')).status, 404);
  }),
);

limited('what bridges have: variables', () =>
  onServer({ limits, dialplan }, async (server) => {
    const client = server.client();
    const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`v${at}`, '1']));
    await refused(client, 'channel_variables', 'POST /bridges/b1', { variables: numbered(11) });
    assert.is((await client.request('GET', '/bridges/b1')).status, 404);
    await client.ok('POST', '/bridges/b1', { variables: numbered(9) });
    await refused(client, 'channel_variables', 'POST /bridges/b1/variables', { variables: { a: '1', b: '2' } });
    assert.is((await client.request('GET', '/bridges/b1/variable?variable=a')).status, 404);
    await client.ok('POST', '/bridges/b1/variable?variable=a&value=1');
    await refused(client, 'channel_variables', 'POST /bridges/b1/variable?variable=b&value=1');
    await client.ok('POST', '/bridges/b1/variable?variable=a&value=2');
    await client.ok('DELETE', '/bridges/b1');
  }),
);

limited('what channels have: variables and playbacks', () =>
  onServer({ limits, dialplan }, async (server) => {
    const app = await server.app('hello');
    const asked = '/channels/c1?endpoint=Local/s@default&app=hello';
    const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`v${at}`, '1']));
    const many = { variables: numbered(11) };
    await refused(app, 'channel_variables', `POST ${asked}`, many);
    await refused(app, 'channel_variables', 'POST /channels/create?endpoint=Local/s@default&app=hello', many);
    assert.equal(await app.ok<unknown>('GET', '/channels'), []);
    await app.ok('POST', asked, { variables: { a: '1', b: '2' } });
    await app.waitFor('StasisStart');

    // The channel has variables of its own, too.
    const tooMany = { variables: { a: 'x', ...numbered(9) } };
    await refused(app, 'channel_variables', 'POST /channels/c1/variables', tooMany);
    assert.equal(await app.ok<unknown>('GET', '/channels/c1/variable?variable=a'), { value: '1' });
    await app.ok('POST', '/channels/c1/variables', { variables: { a: 'x', c: '3', __b: 'y' } });
    let set = 3;
    while ((await app.request('POST', `/channels/c1/variable?variable=w${set}&value=1`)).status === 204) set++;
    assert.ok(set > 3 && set <= 10, `${set}`);
    await refused(app, 'channel_variables', 'POST /channels/c1/variable?variable=d&value=4');
    await app.ok('POST', '/channels/c1/variable?variable=c&value=5');
    await app.ok('POST', '/channels/c1/variable?variable=CHANNEL(language)&value=de');

    for (const id of ['p1', 'p2']) await app.ok('POST', `/channels/c1/play?media=tone:ring&playbackId=${id}`);
    await refused(app, 'playbacks', 'POST /channels/c1/play?media=tone:ring&playbackId=p3');
    assert.is((await app.request('GET', '/playbacks/p3')).status, 404);
    await app.ok('DELETE', '/playbacks/p2');
    await app.ok('DELETE', '/channels/c1');
  }),
);

limited('what the dialplan sets, and what channels hand down', async () => {
  const numbered = (count: number, prefix: string) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
  const sets = [...numbered(30, 'V'), 'GLOBAL(A)', 'GLOBAL(B)'].map((name) => `Set(${name}=1)`);
  const contexts = { default: { s: ['Answer', ...sets, 'Stasis(hello)'], other: ['Answer', 'Wait(3600)'] } };
  await onServer({ limits, dialplan: contexts }, async (server) => {
    const app = await server.app('hello');
    const has = async (channel: string, names: string[]) => {
      const found = names.map(async (name) => app.request('GET', `/channels/${channel}/variable?variable=${name}`));
      return (await Promise.all(found)).filter(({ status }) => status === 200).length;
    };
    // Nine, and STASISSTATUS: whatever the dialplan sets, the rest is left out, and the call goes on.
    await app.ok('POST', '/channels?endpoint=Local/s@default&extension=other&channelId=c1');
    const { channel } = (await app.waitFor('StasisStart')) as unknown as { channel: { id: string } };
    assert.is(await has(channel.id, numbered(30, 'V')), 10);
    assert.equal(await app.ok<unknown>('GET', '/asterisk/variable?variable=A'), { value: '1' });
    assert.equal(await app.ok<unknown>('GET', '/asterisk/variable?variable=B'), { value: '' });

    // What is handed down counts with what is asked for.
    const heirs = { variables: Object.fromEntries(numbered(9, '__h').map((name) => [name, '1'])) };
    await app.ok('POST', '/channels/create?endpoint=Local/s@default&app=hello&channelId=p1', heirs);
    const own = { variables: { x: '1', y: '2' } };
    for (const ask of ['/channels/create?app=hello', '/channels?app=hello'])
      await refused(app, 'channel_variables', `POST ${ask}&endpoint=Local/s@default&originator=p1`, own);
    await app.ok('POST', '/channels/create?endpoint=Local/s@default&app=hello&channelId=p2', own);
    await refused(app, 'channel_variables', 'POST /channels/p2/dial?caller=p1');
    assert.is(await has('p2', numbered(9, 'h')), 0);
    for (const id of ['c1', 'p1', 'p2']) await app.ok('DELETE', `/channels/${id}`);
  });
});

limited('what applications have, and how many there are', () =>
  onServer({ limits }, async (server) => {
    const app = await server.app('one,two');
    const third = await refusalOf(new URL(server.url).host, 'app=three&api_key=tester:secret');
    assert.equal([third.status, third.body], [409, { message: 'The limit of 2 is reached (limits.applications)' }]);
    const path = '/applications/one/subscription?eventSource=';
    await app.ok('POST', `${path}deviceState:a,deviceState:b`);
    await refused(app, 'subscriptions', `POST ${path}deviceState:c,deviceState:d`);
    assert.equal((await app.ok<{ device_names: string[] }>('GET', '/applications/one')).device_names, ['a', 'b']);
    await app.ok('POST', `${path}deviceState:c`);
    // What is subscribed already is counted once.
    await app.ok('POST', `${path}deviceState:a,deviceState:a`);
    for (const _ of [1, 2]) await app.ok('DELETE', `${path}deviceState:a`);
    await refused(app, 'subscriptions', `POST ${path}deviceState:d`);
    await app.ok('DELETE', `${path}deviceState:c`);
    await app.ok('POST', `${path}deviceState:d`);
  }),
);

limited.run();
