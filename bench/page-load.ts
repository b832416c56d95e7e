/**
 * What the page costs a browser while many calls come and go: CPU time of the page per second, and the longest tasks that
 * keep it from answering. The built server, Debian's Chromium without a screen, calls through Local channels.
 *
 *   npx tsx bench/page-load.ts [calls a second] [seconds] [chromium]
 */
import { chromium } from 'playwright-core';
import { WebSocket } from 'ws';
import { authorizationOf, startServerProcess } from './server-process.ts';

const [rate = 200, seconds = 20] = process.argv.slice(2, 4).map(Number);
const program = process.argv[4] ?? '/usr/bin/chromium';

const server = await startServerProcess();
const socket = new WebSocket(`${server.http.replace('http', 'ws')}/events?app=load`, {
  headers: { authorization: authorizationOf(server) },
});
let begun = 0;
socket.on('message', (data) => {
  const { type, channel } = JSON.parse(String(data)) as { type: string; channel?: { id: string } };
  if (type !== 'StasisStart' || !channel) return;
  const request = { type: 'RESTRequest', request_id: channel.id, method: 'DELETE', uri: `channels/${channel.id}` };
  setTimeout(() => socket.send(JSON.stringify(request)), 500);
});
await new Promise((resolve) => socket.once('open', resolve));
const originate = (): void => {
  begun++;
  const uri = `channels?endpoint=Local/echo@default&app=load&callerId=${4000 + (begun % 1000)}`;
  socket.send(JSON.stringify({ type: 'RESTRequest', request_id: `o${begun}`, method: 'POST', uri }));
};
const beat = 20;
let owed = 0;
const calling = setInterval(() => {
  for (owed += (rate * beat) / 1000; owed >= 1; owed--) originate();
}, beat);

const browser = await chromium.launch({
  executablePath: program,
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
await page.addInitScript(`
  globalThis.tasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(Math.round(duration));
  }).observe({ type: 'longtask' });
`);
await page.goto(server.http.replace(/\/ari$/, '/'));
await page.getByLabel('Name').fill('bench');
await page.getByLabel('Password').fill('bench');
await page.getByRole('button', { name: 'Log in' }).click();
const devTools = await page.context().newCDPSession(page);
await devTools.send('Performance.enable');
const busy = async (): Promise<number> => {
  const { metrics } = await devTools.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
};

for (const view of ['Overview', 'Calls', 'Applications']) {
  await page.getByRole('link', { name: view, exact: true }).first().click();
  if (view === 'Applications') await page.getByRole('main').getByRole('link', { name: /load/ }).click();
  await page.waitForTimeout(3_000);
  await page.evaluate('tasks.length = 0');
  const [before, calls, from] = [await busy(), begun, performance.now()];
  await page.waitForTimeout(seconds * 1000);
  const [after, made, took] = [await busy(), begun - calls, (performance.now() - from) / 1000];
  const long = (await page.evaluate('tasks')) as number[];
  console.log(
    `${view}: ${Math.round(made / took)} calls/s, the page is busy ${((100 * (after - before)) / took).toFixed(1)} % of the time; ` +
      `${long.length} tasks of more than 50 ms, the longest ${Math.max(0, ...long)} ms`,
  );
}
clearInterval(calling);
await browser.close();
socket.terminate();
await server.stop();
