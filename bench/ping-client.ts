/**
 * Asks for the same resource again and again over kept connections, in the way of control-plane-client.ts, and measures.
 * Arguments: URL, `user:password`, requests in flight, seconds. Prints one line of JSON (PingFigures).
 */
import { connect } from 'node:net';

export type PingFigures = { perSecond: number; p50Ms: number; p99Ms: number };

const [target = '', credentials = '', inFlightText = '1', secondsText = '5'] = process.argv.slice(2);
const url = new URL(target);
const request = [
  `GET ${url.pathname} HTTP/1.1`,
  `Host: ${url.host}`,
  `Authorization: Basic ${Buffer.from(credentials).toString('base64')}`,
  '\r\n',
].join('\r\n');
const durations: number[] = [];

/** One connection that asks anew as soon as it was answered; resolves when the time is over. */
function ask(until: number): Promise<void> {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true }).setEncoding('latin1');
  let text = '';
  let asked = 0;
  const again = () => {
    asked = performance.now();
    socket.write(request);
  };
  return new Promise((resolve, reject) => {
    socket.on('error', reject).on('connect', again);
    socket.on('data', (chunk) => {
      text += chunk;
      const end = text.indexOf('\r\n\r\n');
      if (end === -1 || text.length < end + 4 + Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0)) return;
      if (!text.startsWith('HTTP/1.1 200')) return reject(new Error(text));
      text = '';
      const now = performance.now();
      durations.push(now - asked);
      if (now < until) return again();
      socket.end();
      resolve();
    });
  });
}

async function run(seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1000;
  await Promise.all(Array.from({ length: Number(inFlightText) }, () => ask(until)));
}

await run(1);
durations.length = 0;
const begun = performance.now();
await run(Number(secondsText));
const elapsed = (performance.now() - begun) / 1000;
durations.sort((a, b) => a - b);
const at = (share: number) => durations[Math.min(durations.length - 1, Math.floor(durations.length * share))] ?? 0;
const figures: PingFigures = { perSecond: durations.length / elapsed, p50Ms: at(0.5), p99Ms: at(0.99) };
process.stdout.write(`${JSON.stringify(figures)}\n`);
