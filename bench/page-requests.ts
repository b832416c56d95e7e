/**
 * What the requests of the page's overview cost the server beside many live calls: CPU time of each, and the share of a core
 * that one open page takes at the pace that it asks. The built server; held calls through Local channels.
 *
 *   npx tsx bench/page-requests.ts [live calls] [requests of each]
 */
import { WebSocket } from 'ws';
import { authorizationOf, cpuMs, startServerProcess } from './server-process.ts';

const [live = 2_000, times = 100] = process.argv.slice(2).map(Number);
/** Requests of the page, and how often it sends them, in s; 0: when a person asks. */
const asked: readonly [path: string, every: number][] = [
  ['/hookswitch/alarms', 3],
  ['/hookswitch/history', 20],
  ['/hookswitch/usage', 2],
  ['/hookswitch/server', 2],
  ['/ari/endpoints', 3],
  ['/hookswitch/calls?stored=true&state=ended&limit=200&text=4711', 0],
];

const server = await startServerProcess();
const headers = { authorization: authorizationOf(server) };
const origin = server.http.replace(/\/ari$/, '');
const socket = new WebSocket(`${server.http.replace('http', 'ws')}/events?app=load`, { headers });
socket.on('message', () => {});
await new Promise((resolve) => socket.once('open', resolve));
for (let made = 0; made < live; made += 50)
  await Promise.all(
    Array.from({ length: Math.min(50, live - made) }, (_, at) =>
      fetch(`${server.http}/channels?endpoint=Local/held@default&app=load&callerId=${4_000 + made + at}`, {
        ...{ method: 'POST', headers },
      }),
    ),
  );
/** CPU of the server over a span without requests, in ms a second. */
const rest = async (): Promise<number> => {
  const [before, from] = [cpuMs(server.pid), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  return ((cpuMs(server.pid) - before) / (performance.now() - from)) * 1_000;
};
await rest();
const idle = await rest();
console.log(`${live} live calls: ${(idle / 10).toFixed(1)} % of a core without a page`);
let sum = 0;
for (const [path, every] of asked) {
  const [before, from] = [cpuMs(server.pid), performance.now()];
  let octets = 0;
  for (let sent = 0; sent < times; sent++) octets = (await (await fetch(origin + path, { headers })).text()).length;
  const spent = cpuMs(server.pid) - before - (idle * (performance.now() - from)) / 1_000;
  const each = spent / times;
  const share = every === 0 ? 0 : each / every / 10;
  sum += share;
  console.log(
    `${path}: ${each.toFixed(2)} ms of CPU, ${octets} octets${every === 0 ? '' : `; every ${every} s: ${share.toFixed(2)} % of a core`}`,
  );
}
console.log(`one open overview: ${sum.toFixed(2)} % of a core, without its live messages`);
socket.terminate();
await server.stop();
