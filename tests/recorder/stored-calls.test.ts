import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallDetail, CallPage } from '../../src/models/call.ts';
import { AriError } from '../../src/models/errors.ts';
import type { Calls } from '../../src/recorder/calls.ts';
import { withStored } from '../../src/recorder/stored-calls.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

const stored = suite('calls that only the disk has');

const dialplan = { default: { '1000': ['Answer', 'Wait(3600)'], '1001': ['Hangup(17)'] } };
const users = [
  { name: user, password },
  { name: 'desk', password, scope: { applications: ['desk'], operations: ['*'] } },
  { name: 'other', password, scope: { applications: ['other'], operations: ['*'] } },
];

const authorizationOf = (name: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
const ask = (server: TestServer, path: string, { name = user, method = 'GET' } = {}) =>
  fetch(`${server.url.replace(/\/ari$/, '/hookswitch')}${path}`, {
    method,
    headers: { authorization: authorizationOf(name) },
  });
const get = async <T>(server: TestServer, path: string, name?: string): Promise<T> =>
  (await (await ask(server, path, { name })).json()) as T;
const idsOf = async (server: TestServer, query: string, name?: string) =>
  (await get<CallPage>(server, `/calls?${query}`, name)).calls.map(({ id }) => id);

/** Runs one server that makes calls, then another one with the same data directory. */
async function over(
  makes: (server: TestServer) => Promise<void>,
  looks: (server: TestServer, directory: string) => Promise<void>,
  recorder: object = {},
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-stored-'));
  const options = { dialplan, users, general: { data_directory: directory }, recorder };
  try {
    await onServer(options, makes);
    await onServer(options, (server) => looks(server, join(directory, 'calls')));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A call of the application `desk` that sets a variable and ends. */
async function call(server: TestServer, id: string): Promise<void> {
  const app = await server.app('desk');
  await app.ok('POST', `/channels/${id}?endpoint=Local/1000@default&app=desk&otherChannelId=${id}-other&callerId=4711`);
  await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  await app.ok('POST', `/channels/${id}/variable?variable=PIN&value=PLANTED-PIN`);
  await app.ok('DELETE', `/channels/${id}`);
  for (const each of [id, `${id}-other`]) await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === each);
}

stored('an ended call is found after a restart, with its timeline, diagram, capture and bundle', () =>
  over(
    async (server) => {
      const phone = await Phone.open('4712', server.sip());
      await phone.call('1001').catch(() => undefined);
      phone.close();
      await call(server, 'call-1');
    },
    async (server) => {
      assert.equal(await idsOf(server, ''), []);
      const { calls, total } = await get<CallPage>(server, '/calls?stored=true');
      assert.is(total, 2);
      const [last, first] = calls;
      assert.equal([last?.id, last?.state, last?.applications], ['call-1', 'ended', ['desk']]);
      const detail = await get<CallDetail>(server, '/calls/call-1-other');
      assert.equal([detail.id, detail.stored, detail.timeline.length], ['call-1', true, last?.entries]);
      assert.match(await (await ask(server, '/calls/call-1.mmd')).text(), /^sequenceDiagram/);
      const bundle = await get<{ call: CallDetail }>(server, '/calls/call-1/bundle');
      assert.is(bundle.call.timeline.length, detail.timeline.length);
      const capture = Buffer.from(await (await ask(server, `/calls/${first?.id}.pcap`)).arrayBuffer());
      assert.match(capture.toString('latin1'), /INVITE sip:1001@.*SIP\/2\.0 486/s);
      assert.is((await ask(server, `/calls/${first?.id}.pcap?rtp=headers`)).status, 409);
      assert.is((await ask(server, '/calls/none')).status, 404);
    },
  ),
);

stored('every condition narrows what is found', () =>
  over(
    async (server) => {
      const phone = await Phone.open('4712', server.sip());
      await phone.call('1001').catch(() => undefined);
      phone.close();
      await call(server, 'call-1');
    },
    async (server) => {
      const found = await idsOf(server, 'stored=true');
      const [, busy = ''] = found;
      for (const [query, wanted] of [
        ['number=4711', ['call-1']],
        ['number=1001', [busy]],
        ['text=DESK%204711', ['call-1']],
        ['text=desk%204712', []],
        ['app=desk', ['call-1']],
        ['endpoint=anonymous', [busy]],
        ['cause=17', [busy]],
        ['outcome=refused', [busy]],
        ['outcome=failed,refused', [busy]],
        ['outcome=answered', ['call-1']],
        ['state=live', []],
        ['state=ended', found],
        ['longer_than=3600', []],
        ['shorter_than=3600', found],
        ['from=2020-01-01T00:00:00Z', found],
        ['to=2020-01-01T00:00:00Z', []],
        [`from=${Date.now() + 1_000_000}`, []],
        ['limit=1', ['call-1']],
        ['offset=1', [busy]],
      ] as const)
        assert.equal(await idsOf(server, `stored=true&${query}`), wanted, query);
      for (const wrong of ['from=yesterday', 'to=x', 'outcome=good', 'cause=-1'])
        assert.is((await ask(server, `/calls?stored=true&${wrong}`)).status, 400, wrong);
    },
  ),
);

stored('a user sees stored calls of the own applications alone', () =>
  over(
    (server) => call(server, 'call-1'),
    async (server) => {
      assert.equal(await idsOf(server, 'stored=true', 'desk'), ['call-1']);
      assert.equal(await idsOf(server, 'stored=true', 'other'), []);
      const paths = ['/calls/call-1', '/calls/call-1.mmd', '/calls/call-1.pcap', '/calls/call-1/bundle'];
      const statusesOf = (name: string) =>
        Promise.all(paths.map(async (path) => (await ask(server, path, { name })).status));
      assert.equal(await statusesOf('desk'), [200, 200, 200, 200]);
      assert.equal(await statusesOf('other'), [404, 404, 404, 404]);
      const mask = await ask(server, '/calls/call-1/mask?digits=true', { name: 'other', method: 'PUT' });
      assert.ok(mask.status === 403 || mask.status === 404, String(mask.status));
      assert.is((await get<CallDetail>(server, '/calls/call-1')).masked, undefined);
    },
  ),
);

stored('a mask hides a variable of a stored call, and nothing of the earlier version is left on the disk', () =>
  over(
    (server) => call(server, 'call-1'),
    async (server, directory) => {
      const texts = async () => JSON.stringify(await get(server, '/calls/call-1'));
      assert.match(await texts(), /PLANTED-PIN/);
      const sizeBefore = readdirSync(directory).length;
      assert.is((await ask(server, '/calls/call-1/mask?variables=PIN', { method: 'PUT' })).status, 200);
      assert.not.match(await texts(), /PLANTED-PIN/);
      assert.equal(await idsOf(server, 'stored=true'), ['call-1']);
      const [timelines = ''] = readdirSync(directory).filter((name) => name.endsWith('.timelines'));
      assert.is(readFileSync(join(directory, timelines))[0], 0);
      assert.is(readdirSync(directory).length, sizeBefore);
    },
  ),
);

stored('a mask that the disk does not take is refused', async () => {
  const missing = () => {
    throw new AriError('callNotFound');
  };
  const disk = {
    append: async () => undefined,
    search: async () => ({ calls: [], total: 0 }),
    find: async () => ({ call: { id: 'a', timeline: [] } as unknown as CallDetail, place: undefined }),
  };
  const known = withStored({ mask: missing } as unknown as Calls, disk, { versions: {} }, Date.now);
  const refused = await known.mask('a', { digits: true }).catch((error: AriError) => error.code);
  assert.is(refused, 'storageFailed');
});

stored('a call is stored some seconds after its end, and found once in memory and on the disk', () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-stored-'));
  return onServer({ dialplan, general: { data_directory: directory } }, async (server) => {
    await call(server, 'call-1');
    await untilAsked(
      () => {
        server.clock.skip(1_000);
        return readdirSync(directory).includes('calls');
      },
      () => 'no call was stored',
    );
    assert.equal(await idsOf(server, 'stored=true'), ['call-1']);
    assert.is((await get<CallDetail>(server, '/calls/call-1')).stored, undefined);
  }).finally(() => rmSync(directory, { recursive: true, force: true }));
});

stored('nothing is stored with `days: 0`', () =>
  over(
    (server) => call(server, 'call-1'),
    async (server) => {
      assert.equal(await idsOf(server, 'stored=true'), []);
      assert.is((await ask(server, '/calls/call-1')).status, 404);
    },
    { disk: { days: 0 } },
  ),
);

stored.run();
