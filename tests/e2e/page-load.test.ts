import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LiveOverview } from '../../src/models/live.ts';
import { pageTests } from '../support/browser.ts';
import { password, user } from '../support/server.ts';

/** The page while many calls come and go, in a real browser: what it is sent and what it does are counted. */

const page = suite('the page under load');
const test = pageTests(page);

const calls = 200;
const together = 20;

test('with hundreds of calls the browser gets few messages, draws a window of rows, and answers input', async ({
  server,
  open,
}) => {
  const app = await server.app('desk');
  const shown = await open();
  const messages: { message: LiveOverview; octets: number }[] = [];
  shown.on('websocket', (socket) =>
    socket.on('framereceived', ({ payload }) => {
      const text = String(payload);
      messages.push({ message: JSON.parse(text) as LiveOverview, octets: text.length });
    }),
  );
  // Logged in again, so that every message is seen from the first on.
  await shown.getByRole('button', { name: 'Log out' }).click();
  await shown.getByLabel('Name').fill(user);
  await shown.getByLabel('Password').fill(password);
  await shown.getByRole('button', { name: 'Log in' }).click();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByText('No calls yet').waitFor();
  await shown.evaluate(`{
    globalThis.work = { changes: 0, nodes: 0 };
    const observer = new MutationObserver((list) => {
      work.changes += list.length;
      for (const { addedNodes } of list) work.nodes += addedNodes.length;
    });
    const everything = { subtree: true, childList: true, characterData: true, attributes: true };
    observer.observe(document.getElementById('main'), everything);
  }`);

  const many = async (act: (number: number) => Promise<unknown>): Promise<void> => {
    for (let first = 0; first < calls; first += together)
      await Promise.all(Array.from({ length: together }, (_, at) => act(first + at)));
  };
  await many((at) =>
    app.ok('POST', `/channels/c${at}?endpoint=Local/wait@default&app=desk&callerId=n${at}<${1_000 + at}>`),
  );
  await shown.getByText(`${calls} calls`, { exact: true }).waitFor();
  await many((at) => (at % 2 === 0 ? app.ok('DELETE', `/channels/c${at}`) : Promise.resolve()));
  await shown.getByRole('button', { name: 'live', exact: true }).click();
  await shown.getByText(`${calls / 2} calls`, { exact: true }).waitFor();

  const seen = messages.filter(({ message }) => message.type === 'overview');
  const [from, to] = [seen[0]?.message.at ?? 0, seen.at(-1)?.message.at ?? 0];
  assert.ok(seen.length <= (to - from) / 250 + 2, `${seen.length} messages in ${to - from} ms`);
  for (const { message, octets } of seen)
    assert.ok(message.calls.length <= calls && octets < 400_000, `${message.calls.length} calls in ${octets} octets`);
  const rows = await shown.getByLabel('Calls', { exact: true }).getByRole('listitem').count();
  assert.ok(rows >= 10 && rows <= 40, `${rows} rows are drawn of ${calls}`);
  const { changes, nodes } = await shown.evaluate<{ changes: number; nodes: number }>('work');
  assert.ok(changes <= seen.length * rows * 12, `${changes} changes of the page for ${seen.length} messages`);
  assert.ok(nodes <= seen.length * rows * 4, `${nodes} nodes were made for ${seen.length} messages`);

  await shown.getByLabel('Search calls').fill('1151');
  await shown.getByText('1 call', { exact: true }).waitFor();
  await shown.getByRole('link', { name: /n151 \(1151\)/ }).waitFor();
  await many((at) => (at % 2 === 1 ? app.ok('DELETE', `/channels/c${at}`) : Promise.resolve()));
});

page.run();
