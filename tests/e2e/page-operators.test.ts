import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { isLit, pageTests, picture, untilTrue, type World } from '../support/browser.ts';
import { Phone } from '../support/phone.ts';
import { password, startTestServer, type TestServer, user } from '../support/server.ts';
import { watcherOf } from '../support/watcher.ts';

/** What an operator looks after, in a real browser: lines at providers, transfers, who has a way in, what is written down. */

const page = suite('the page for operators');
const test = pageTests(page);
const directory = mkdtempSync(join(tmpdir(), 'hookswitch-operators-'));
page.after(() => rmSync(directory, { recursive: true, force: true }));

/** Asks as a user with a password. */
const asked = ({ server }: World, path: string, method = 'GET', secret = password) =>
  fetch(server.url.replace(/\/ari$/, path), {
    method,
    headers: { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` },
  });

let provider: TestServer | undefined;
const account = { username: '49301', password: 'secret' };

test(
  'how lines are registered at their provider is shown, and why not',
  async ({ open }) => {
    try {
      const shown = await open();
      await shown.getByRole('link', { name: 'Phones', exact: true }).click();
      await shown.getByRole('link', { name: /^\S+ line/ }).click();
      await shown.getByText('Registered', { exact: true }).waitFor();
      await shown.getByText(`at sip:${provider?.sip()}`).waitFor();
      await shown.getByText('sip:49301@127.0.0.1', { exact: true }).waitFor();
      await picture(shown, 'line');
      await shown.getByRole('link', { name: /^\S+ wrong/ }).click();
      await shown.getByText('Rejected', { exact: true }).waitFor();
      await shown.getByText(`at sip:${provider?.sip()}: 401 Unauthorized`).waitFor();
    } finally {
      await provider?.close();
    }
  },
  async () => {
    provider = await startTestServer({ endpoints: { 49301: { auth: account } } });
    const line = (password: string) => ({
      outbound_auth: { ...account, password },
      registrations: [{ server: `sip:${provider?.sip()}` }],
    });
    return { endpoints: { line: line('secret'), wrong: line('not it') } };
  },
);

test('a transfer has its chart in the call, from the asking to the end', async ({ server, open }) => {
  const alice = server.closing(await Phone.open('4711', server.sip()));
  await alice.call('wait');
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByRole('link', { name: /4711/ }).first().click();
  await isLit(shown, 'channel', 'up');
  assert.is(await alice.refer('<sip:wait@127.0.0.1>'), 202);
  // Once it is over it is folded.
  const transfer = shown.locator('[data-chart="transfer"].over');
  await transfer.getByText('Transfer', { exact: true }).waitFor();
  await transfer.getByRole('button').first().click();
  await transfer.locator('.state.lit text', { hasText: /^(completed|failed|recovered)$/ }).waitFor();
  if (alice.inCall) alice.hangup();
});

test('a call whose recording ends while it is looked at is the past, and nothing is offered', async (world) => {
  const { server, open, place } = world;
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByRole('link', { name: /4711/ }).first().click();
  await isLit(shown, 'channel', 'up');
  const hangUp = shown.getByRole('button', { name: 'Hang up', exact: true });
  await hangUp.waitFor();
  const { config } = server;
  server.running.reload({ ...config, recorder: { ...config.recorder, off: true } });
  await shown.getByText(/^Recording stopped at \d\d:\d\d:\d\d. The page shows the call as it was then/).waitFor();
  await shown.getByText('earlier moment', { exact: true }).waitFor();
  await shown.getByRole('button', { name: 'Last', exact: true }).waitFor();
  assert.equal(
    [await hangUp.count(), await shown.getByRole('button', { name: 'Listen', exact: true }).count()],
    [0, 0],
  );
  server.running.reload(config);
  await hangUp.waitFor();
  await hangUp.click();
  await shown.getByRole('button', { name: 'Hang up now' }).click();
  await phone.done;
});

test(
  'who has a way in, who watches whom, and what is written down stand on the page of the server',
  async (world) => {
    const { server, open } = world;
    const { subscribe, told } = await watcherOf(server);
    assert.is((await subscribe('300', 'dialog')).status, 200);
    await told('300', 1);
    assert.is((await asked(world, '/hookswitch/tokens?name=ci&read_only=true', 'POST')).status, 200);
    assert.is((await asked(world, '/ari/channels', 'GET', 'not it')).status, 401);
    const shown = await open();
    await shown.getByRole('link', { name: 'Server', exact: true }).click();
    const tile = (name: string) => shown.locator('.tile', { hasText: name });
    await tile('Call detail records').getByText('none lost').waitFor();
    await tile('Audit log').getByText('none lost').waitFor();
    // How late something was is known from the second look on.
    await tile('Event loop delay').getByText(' ms').waitFor();
    const threads = shown.getByRole('table').getByRole('row');
    assert.equal((await threads.allTextContents()).map((row) => row.replace(/\d.*/, '')).slice(1, 2), [
      'Call control—',
    ]);
    await shown.getByText('device:pjsip/alice').waitFor();
    await shown.getByText('1 time by http as tester').waitFor();
    await picture(shown, 'server');
    const forget = shown.getByRole('button', { name: 'Forget 127.0.0.1' });
    const forgets = shown.getByRole('group', { name: 'Forget 127.0.0.1: are you sure?' });
    await forget.click();
    await forgets.getByText('The server forgets 1 wrong password from 127.0.0.1. This cannot be undone.').waitFor();
    await forgets.getByRole('button', { name: 'Cancel' }).click();
    await forgets.waitFor({ state: 'detached' });
    assert.is(((await (await asked(world, '/hookswitch/bans')).json()) as unknown[]).length, 1);
    await forget.click();
    await forgets.getByRole('button', { name: 'Forget now' }).click();
    await shown.getByText('No recent failures.').waitFor();
    // Who revokes a token is asked first: the focus goes to the answer, and Escape takes it back.
    const revoke = shown.getByRole('button', { name: 'Revoke ci' });
    await revoke.click();
    const asks = shown.getByRole('group', { name: 'Revoke ci: are you sure?' });
    await asks.getByText('Programs that use ci are refused from then on. This cannot be undone.').waitFor();
    await shown.keyboard.press('Escape');
    await asks.waitFor({ state: 'detached' });
    const kept = (await (await asked(world, '/hookswitch/tokens')).json()) as unknown[];
    assert.is(kept.length, 1);
    await revoke.click();
    await asks.getByRole('button', { name: 'Revoke now' }).click();
    await shown.getByText('No tokens. All users log in with a password.').waitFor();
    assert.equal(await (await asked(world, '/hookswitch/tokens')).json(), []);

    const looker = await open({ name: 'looker', secret: 'only looks' });
    await looker.getByRole('link', { name: 'Server', exact: true }).click();
    await tile('Audit log').waitFor();
    assert.is(await looker.getByRole('button', { name: /Revoke|Lift ban|Forget/ }).count(), 0);
  },
  () => ({
    dialplan: { default: { hints: { '300': 'PJSIP/alice' }, '300': ['Hangup'] } },
    cdr: { file: join(directory, 'calls.jsonl') },
    audit: { file: join(directory, 'audit.jsonl') },
  }),
);

test(
  'a call that is refused before it has a channel stands among the calls, with its reason, and has a record',
  async ({ server, open }) => {
    const phone = server.closing(await Phone.open('4799', server.sip(), 0));
    // GSM, which the server does not speak.
    phone.codecs = [3];
    const refused = await phone.call('100').then(
      () => 'answered',
      (error: Error) => error.message,
    );
    assert.match(refused, /488 /);
    const shown = await open();
    await shown
      .getByRole('main')
      .getByText(/^refused with 488: /)
      .waitFor();
    await shown.getByRole('link', { name: 'Calls', exact: true }).first().click();
    const row = shown
      .getByLabel('Calls', { exact: true })
      .getByText(/^refused with 488: .* anonymous from 127\.0\.0\.1:\d+, context default$/);
    await row.waitFor();
    await shown.getByText('4799', { exact: true }).waitFor();
    const search = shown.getByLabel('Search calls');
    for (const [words, found] of [
      ['488 anonymous', true],
      ['nobody', false],
      ['4799 100', true],
    ] as const) {
      await search.fill(words);
      await row.waitFor({ state: found ? 'attached' : 'detached' });
    }
    for (const [state, found] of [
      ['live', false],
      ['failed', true],
      ['stuck', false],
      ['ended', true],
    ] as const) {
      await shown.getByRole('button', { name: state, exact: true }).click();
      await row.waitFor({ state: found ? 'attached' : 'detached' });
    }
    const saved = shown.waitForEvent('download');
    await shown.getByRole('button', { name: 'CSV' }).click();
    assert.match(readFileSync(await (await saved).path(), 'utf8'), /,ended,4799,100,,0,refused,.*,server\r\n$/);
    const records = readFileSync(join(directory, 'refused.jsonl'), 'utf8').trimEnd().split('\n');
    const [{ disposition, src, dst, sip_status, by }] = records.map((line) => JSON.parse(line));
    assert.equal([disposition, src, dst, sip_status, by], ['FAILED', '4799', '100', 488, 'server']);
    // A second one of the same kind is no further row.
    await phone.call('100').catch(() => {});
    await shown.getByText(/^refused with 488: .* \(2 calls\) · anonymous/).waitFor();
  },
  () => ({ cdr: { file: join(directory, 'refused.jsonl') } }),
);

test('scripts cannot read a log-in in the browser, a reload keeps it, and foreign scripts do not run', async ({
  server,
  open,
  complaints,
}) => {
  const shown = await open();
  const kept = await shown.evaluate('[document.cookie, localStorage.length, sessionStorage.length]');
  assert.equal(kept, ['', 0, 0]);
  const ran = await shown.evaluate(`(() => {
    const script = document.createElement('script');
    script.textContent = 'window.foreign = true';
    document.head.append(script);
    return window.foreign === true;
  })()`);
  assert.is(ran, false, 'a script that stands in the page runs');
  assert.match(complaints.splice(0).join('\n'), /^Executing inline script violates .*script-src 'self'/);
  // By the ticket that opened it nobody opens a WebSocket again.
  const sockets: string[] = [];
  shown.on('websocket', (socket) => sockets.push(socket.url()));
  await shown.getByRole('link', { name: 'Applications', exact: true }).click();
  const opened = shown.waitForEvent('websocket');
  await shown.reload();
  const { search } = new URL((await opened).url());
  assert.match(search, /^\?ticket=/);
  await shown.getByText('live', { exact: true }).first().waitFor();
  const again = new WebSocket(`${server.url.replace(/^http(.*)\/ari$/, 'ws$1/hookswitch/live')}${search}`);
  again.on('error', () => {});
  const [, refused] = (await once(again, 'unexpected-response')) as [unknown, IncomingMessage];
  assert.is(refused.statusCode, 401);
  again.terminate();
  const [cookie] = await shown.context().cookies();
  assert.equal([cookie?.httpOnly, cookie?.sameSite, cookie?.path], [true, 'Strict', '/page-session']);
  await shown.getByRole('button', { name: 'Log out' }).click();
  await shown.getByText('You have logged out.').waitFor();
  await shown.reload();
  await shown.getByLabel('Password').waitFor();
});

test('the address keeps moment, filters and search of a call over a reload', async ({ server, place, open }) => {
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByRole('link', { name: /4711/ }).click();
  await isLit(shown, 'channel', 'up');
  await shown
    .getByLabel('Summary')
    .getByText(/4711.*desk.*answered after/)
    .waitFor();
  await shown.getByLabel('States over time').getByText('up', { exact: true }).waitFor();
  await shown.getByLabel('Filter the ladder').fill('invite');
  await shown.getByLabel('Moment of the call').fill('2');
  await shown.getByRole('button', { name: 'Only application desk' }).click();
  await shown.getByText('No entry matches the filters.').waitFor();
  await shown.reload();
  await shown.getByText('No entry matches the filters.').waitFor();
  assert.is(await shown.getByLabel('Filter the ladder').inputValue(), 'invite');
  assert.is(await shown.getByLabel('Moment of the call').inputValue(), '2');
  await shown.keyboard.press(']');
  await untilTrue(shown, "location.hash.includes('at=3')");
  await shown.keyboard.press('?');
  await shown.getByRole('dialog', { name: 'Keys' }).waitFor();
  await shown.keyboard.press('Escape');
  await app.ok('DELETE', `/channels/${channel.id}`);
  await phone.done;
});

page.run();
