/**
 * What the page costs while many calls come and go: CPU time of the page and of its whole process in the browser, CPU time
 * of the server beside that without a page, and the longest tasks that keep the page from answering. The built server,
 * Debian's Chromium without a screen, calls through Local channels.
 *
 *   npx tsx bench/page-load.ts [calls a second] [seconds of a view] [seconds of a call] [chromium]
 */
import { chromium, type Page } from 'playwright-core';
import { WebSocket } from 'ws';
import { authorizationOf, cpuMs, startServerProcess } from './server-process.ts';

const [rate = 200, seconds = 20, callSeconds = 4] = process.argv.slice(2, 5).map(Number);
const program = process.argv[5] ?? '/usr/bin/chromium';

const server = await startServerProcess();
const socket = new WebSocket(`${server.http.replace('http', 'ws')}/events?app=load`, {
  headers: { authorization: authorizationOf(server) },
});
let begun = 0;
socket.on('message', (data) => {
  const { type, channel } = JSON.parse(String(data)) as { type: string; channel?: { id: string } };
  if (type !== 'StasisStart' || !channel) return;
  const request = { type: 'RESTRequest', request_id: channel.id, method: 'DELETE', uri: `channels/${channel.id}` };
  setTimeout(() => socket.send(JSON.stringify(request)), callSeconds * 1000);
});
await new Promise((resolve) => socket.once('open', resolve));
const originate = (): void => {
  begun++;
  const uri = `channels?endpoint=Local/echo@default&app=load&callerId=${4000 + (begun % 1000)}`;
  socket.send(JSON.stringify({ type: 'RESTRequest', request_id: `o${begun}`, method: 'POST', uri }));
};
const beat = 20;
/** After a view is opened, in ms. */
const settlingMs = 12_000;
let owed = 0;
const calling = setInterval(() => {
  for (owed += (rate * beat) / 1000; owed >= 1; owed--) originate();
}, beat);

const browser = await chromium.launch({
  executablePath: program,
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
await context.addInitScript(`
  globalThis.tasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(Math.round(duration));
  }).observe({ type: 'longtask' });
`);
const whole = await browser.newBrowserCDPSession();

/** CPU time of the processes that draw pages, in s. */
const drawing = async (): Promise<number> => {
  const { processInfo } = await whole.send('SystemInfo.getProcessInfo');
  return processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime, 0);
};

async function open(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(server.http.replace(/\/ari$/, '/'));
  const name = page.getByLabel('Name');
  const out = page.getByRole('button', { name: 'Log out' });
  await name.or(out).first().waitFor();
  if (await out.isVisible()) return page;
  await name.fill('bench');
  await page.getByLabel('Password').fill('bench');
  await page.getByRole('button', { name: 'Log in' }).click();
  await out.waitFor();
  return page;
}

/** What the server uses in a span of `seconds`, in parts of a core, and how many calls began. */
async function span(): Promise<{ server: number; calls: number; took: number }> {
  const [cpu, calls, from] = [cpuMs(server.pid), begun, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const took = performance.now() - from;
  return { server: (cpuMs(server.pid) - cpu) / took, calls: begun - calls, took: took / 1000 };
}

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;

for (const view of ['Overview', 'Calls', 'Applications']) {
  const before = await span();
  const page = await open();
  const devTools = await context.newCDPSession(page);
  await devTools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async (): Promise<number> => {
    const { metrics } = await devTools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  };
  await page.getByRole('link', { name: view, exact: true }).first().click();
  if (view === 'Applications') await page.getByRole('main').getByRole('link', { name: /load/ }).click();
  // What there is at first comes, and the server begins to send a sample.
  await new Promise((resolve) => setTimeout(resolve, settlingMs));
  await page.evaluate('tasks.length = 0');
  const [main, all] = [await busy(), await drawing()];
  const beside = await span();
  const [mainUsed, allUsed] = [(await busy()) - main, (await drawing()) - all];
  const long = (await page.evaluate('tasks')) as number[];
  const said = await page.locator('.sample').allTextContents();
  await page.close();
  const after = await span();
  console.log(
    `${view}: ${Math.round(beside.calls / beside.took)} calls/s; the page uses ${percent(mainUsed / beside.took)} of a core, ` +
      `its process ${percent(allUsed / beside.took)}; ${long.length} tasks of more than 50 ms, the longest ${Math.max(0, ...long)} ms; ` +
      `the server ${percent(beside.server)}, without a page ${percent(before.server)} before and ${percent(after.server)} after; ${said.join(' ')}`,
  );
}
clearInterval(calling);
await browser.close();
socket.terminate();
await server.stop();
