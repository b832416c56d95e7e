import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pageTests, untilTrue } from '../support/browser.ts';
import { password, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/** What the address of a view holds, in a real browser: a reload and a copied link show the same. */

const page = suite('the address of a view');
const test = pageTests(page);

const query = async (shown: Page): Promise<Record<string, string>> =>
  Object.fromEntries(new URLSearchParams(new URL(shown.url()).hash.split('?')[1] ?? ''));

test('a call: what is folded and opened, whether all objects are drawn, and the zoomed part', async ({
  server,
  open,
}) => {
  const app = await server.app('desk');
  // An id may have what separates ids in the address.
  await app.ok('POST', '/channels/c%2C1?endpoint=Local/wait@default&app=desk&otherChannelId=other');
  await app.waitFor('StasisStart');
  for (const id of ['p1', 'p2']) await app.ok('POST', `/channels/c%2C1/play/${id}?media=tone:dial`);
  await app.waitFor('PlaybackStarted');
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.locator('a.call-row').first().click();
  const fold = (id: string) => shown.locator(`[data-object="${id}"] .fold`);
  const isFolded = (id: string, folded: boolean) =>
    shown.locator(`[data-object="${id}"] .fold[aria-expanded="${!folded}"]`).waitFor();
  await isFolded('c,1', false);
  await isFolded('p1', true);
  await fold('c,1').click();
  await fold('p1').click();
  await isFolded('c,1', true);
  await isFolded('p1', false);
  assert.equal(await query(shown), { open: 'p1', shut: 'c%2C1' });
  await shown.reload();
  await isFolded('c,1', true);
  await isFolded('p1', false);

  await shown.getByRole('button', { name: /^Show all \d objects/ }).click();
  await isFolded('other', false);
  await isFolded('c,1', true);
  await shown.reload();
  await isFolded('other', false);
  await shown.getByRole('button', { name: 'Show fewer objects' }).click();
  await isFolded('other', true);
  await fold('c,1').click();
  await isFolded('c,1', false);

  const spans = shown.getByLabel('States over time');
  const first = spans.locator('.span-ticks span').first();
  assert.is(await first.textContent(), '+0.000 s');
  // At the last moment: the first half is left out.
  await spans.getByRole('button', { name: 'Zoom in' }).click();
  const { zoom = '' } = await query(shown);
  const [from = 0] = zoom.split('-').map(Number);
  assert.ok(from > 0, zoom);
  const told = `+${(from / 1000).toFixed(3)} s`;
  await first.getByText(told).waitFor();
  await shown.reload();
  await first.getByText(told).waitFor();
  await spans.getByRole('button', { name: 'Zoom out' }).click();
  await spans.getByRole('button', { name: 'Zoom out' }).click();
  await first.getByText('+0.000 s').waitFor();
  assert.equal(await query(shown), { open: 'p1,c%2C1' });
  await app.ok('DELETE', '/channels/c%2C1');
});

test('stored calls: each field of the search, what it finds, and what it finds after a reload', async ({
  server,
  open,
}) => {
  const app = await server.app('desk');
  await app.ok('POST', '/channels/long?endpoint=Local/wait@default&app=desk&otherChannelId=l2&callerId=4799');
  await app.waitFor('StasisStart');
  server.clock.skip(60_000);
  await app.ok('DELETE', '/channels/long');
  await app.ok('POST', '/channels/busy?endpoint=Local/engaged@default&app=other&otherChannelId=b2&callerId=4788');
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const url = `${server.url.replace(/ari$/, 'hookswitch')}/calls?stored=true`;
  await untilAsked(
    async () => {
      server.clock.skip(5_000);
      const answer = await fetch(url, { headers: { authorization } });
      return (
        ((await answer.json()) as { calls: { state: string }[] }).calls.filter((each) => each.state === 'ended')
          .length === 2
      );
    },
    () => 'the calls have not ended',
  );
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByRole('button', { name: 'Stored calls' }).click();
  const found = (...numbers: string[]) =>
    untilTrue(
      shown,
      `[...document.querySelectorAll('a.call-row')].map((row) => row.textContent.match(/47\\d\\d/)?.[0]).sort().join() === '${numbers.join()}'`,
    );
  await found('4788', '4799');
  for (const [label, name, value, ...numbers] of [
    ['Number', 'number', '4788', '4788'],
    ['Application', 'app', 'desk', '4799'],
    ['Cause (Q.850)', 'cause', '17', '4788'],
    ['At least, s', 'longer_than', '50', '4799'],
    ['At most, s', 'shorter_than', '50', '4788'],
    ['Endpoint', 'endpoint', 'PJSIP/alice'],
  ] as const) {
    const field = shown.getByLabel(label, { exact: true });
    await field.fill(value);
    await found(...numbers);
    assert.equal(await query(shown), { stored: '1', [name]: value });
    await shown.reload();
    await found(...numbers);
    assert.is(await field.inputValue(), value);
    await field.fill('');
    await found('4788', '4799');
  }
  // All at once, with the words and the kind of calls.
  await shown.getByRole('button', { name: 'failed', exact: true }).click();
  await shown.getByLabel('Number', { exact: true }).fill('47');
  await shown.getByLabel('Search calls').fill('busy');
  await shown.getByLabel('From', { exact: true }).fill('2020-01-01T00:00');
  await found('4788');
  const all = { stored: '1', state: 'failed', number: '47', find: 'busy', from: '2020-01-01T00:00' };
  assert.equal(await query(shown), all);
  await shown.reload();
  await found('4788');
  assert.is(await shown.getByLabel('From', { exact: true }).inputValue(), all.from);
});

test('the API: the search stays while operations are looked at, and after a reload', async ({ open }) => {
  const shown = await open();
  await shown.getByRole('link', { name: 'API', exact: true }).click();
  const search = shown.getByRole('searchbox', { name: 'Find an operation' });
  await search.fill('moh');
  const operations = shown.locator('.operations-list a.item');
  const start = shown.getByRole('link', { name: 'POST /channels/{channelId}/moh', exact: true });
  await start.waitFor();
  const count = await operations.count();
  await start.click();
  await shown.getByLabel('channelId').waitFor();
  assert.is(await operations.count(), count);
  assert.equal(await query(shown), { find: 'moh' });
  await shown.reload();
  await shown.getByLabel('channelId').waitFor();
  assert.is(await search.inputValue(), 'moh');
  assert.is(await operations.count(), count);
  await shown.goBack();
  await shown.getByText('Every operation, with your rights.').waitFor();
  assert.is(await search.inputValue(), 'moh');
});

page.run();
