import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';

/**
 * The load of the control-plane benchmark, run in a process of its own: originates an endpoint into an application, sets a variable on StasisStart, hangs up, and waits for ChannelDestroyed, with a number of calls in
 * flight. Speaks plain HTTP/1.1 on kept connections, so that it costs less than what it measures.
 *
 * Arguments: base URL, `user:password`, calls in flight, seconds, endpoint (`Local/echo@default` when left out), and any of
 * `server` (the server chooses the ids) and `held` (a call lasts two seconds). Prints one line of JSON.
 */

const [base = '', credentials = '', inFlightText = '1', secondsText = '5', endpoint = 'Local/echo@default', ...kinds] =
  process.argv.slice(2);
const inFlight = Number(inFlightText);
const url = new URL(base);
const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
const app = 'bench';

/** One kept connection; answers come in the order of requests. */
class Connection {
  readonly #socket: Socket;
  #waiting: ((status: number, body: string) => void)[] = [];
  #text = '';

  constructor() {
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (chunk) => this.#read(chunk as unknown as string));
    this.#socket.on('error', (error) => process.stderr.write(`a connection failed: ${error.message}\n`));
    // Requests that nobody answers any more have status 0.
    this.#socket.on('close', () => {
      for (const answer of this.#waiting.splice(0)) answer(0, 'the connection closed');
    });
  }

  request(method: string, path: string): Promise<{ status: number; body: string }> {
    this.#socket.write(
      `${method} ${url.pathname}${path} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: ${authorization}\r\nContent-Length: 0\r\n\r\n`,
    );
    return new Promise((resolve) => this.#waiting.push((status, body) => resolve({ status, body })));
  }

  close(): void {
    this.#socket.end();
  }

  #read(chunk: string): void {
    this.#text += chunk;
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = this.#text.slice(0, end);
      const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (this.#text.length < end + 4 + length) return;
      const body = this.#text.slice(end + 4, end + 4 + length);
      this.#text = this.#text.slice(end + 4 + length);
      this.#waiting.shift()?.(Number(head.slice(9, 12)), body);
    }
  }
}

type Call = { started: number; ended: () => void; connection: Connection; last: string };

/** A call that is not over then counts as failed: one lost event does not stop the whole measurement. */
const patienceMs = 10_000;

const heldMs = kinds.includes('held') ? 2_000 : 0;

const calls = new Map<string, Call>();
/** Calls that are in the application before the answer that names them. */
const early = new Set<string>();
const durations: number[] = [];
let events = 0;
let failures = 0;
let counter = 0;
let finished = false;

/** Counts a refused request; its caller goes on to the next call, because this one may never end. */
const check = (id: string, expected: number, what: string) => (answer: { status: number; body: string }) => {
  if (answer.status === expected) return;
  failures++;
  if (failures < 5) process.stderr.write(`${what}: ${answer.status} ${answer.body}\n`);
  calls.get(id)?.ended();
  calls.delete(id);
};

/** Sets a variable, and hangs up. */
function control(id: string, call: Call): void {
  const hangUp = () => call.connection.request('DELETE', `/channels/${id}`).then(check(id, 204, 'hang up'));
  void call.connection.request('POST', `/channels/${id}/variable?variable=BENCH&value=1`).then((answer) => {
    check(id, 204, 'variable')(answer);
    if (heldMs > 0) setTimeout(hangUp, heldMs);
    else void hangUp();
  });
}

function onEvent(text: string): void {
  events++;
  // Events are counted, but only the two of the cycle are parsed.
  if (!text.includes('"StasisStart"') && !text.includes('"ChannelDestroyed"')) return;
  const event = JSON.parse(text) as { type: string; channel?: { id: string } };
  if (!event.channel) return;
  const { id } = event.channel;
  const call = calls.get(id);
  if (!call) {
    if (event.type === 'StasisStart') early.add(id);
    return;
  }
  call.last = event.type;
  if (event.type === 'StasisStart') control(id, call);
  else if (event.type === 'ChannelDestroyed') {
    calls.delete(id);
    durations.push(performance.now() - call.started);
    call.ended();
  }
}

async function worker(until: number): Promise<void> {
  const connection = new Connection();
  while (performance.now() < until) {
    const started = performance.now();
    const number = counter++;
    const path = `/channels?endpoint=${encodeURIComponent(endpoint)}&app=${app}`;
    await new Promise<void>((ended) => {
      const begin = (id: string): void => {
        const call: Call = { started, ended, connection, last: 'nothing' };
        calls.set(id, call);
        if (early.delete(id)) control(id, call);
      };
      if (kinds.includes('server')) {
        void connection.request('POST', path).then((answer) => {
          const { id = '' } = answer.status === 200 ? (JSON.parse(answer.body) as { id: string }) : {};
          begin(id);
          check(id, 200, 'originate')(answer);
        });
        return;
      }
      const id = `bench-${process.pid}-${number}`;
      begin(id);
      void connection.request('POST', `${path}&channelId=${id}`).then(check(id, 200, 'originate'));
    });
  }
  connection.close();
}

const socket = new WebSocket(`${base.replace('http', 'ws')}/events?app=${app}&subscribeAll=true`, {
  headers: { authorization },
  perMessageDeflate: false,
});
socket.on('message', (data) => onEvent(String(data)));
socket.on('close', (code) => {
  if (finished) return;
  process.stderr.write(`the events ended early (${code}), with ${calls.size} calls under way\n`);
  process.exit(1);
});
await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));

const run = (seconds: number) => {
  const until = performance.now() + seconds * 1000;
  return Promise.all(Array.from({ length: inFlight }, () => worker(until)));
};

/** Gives up calls that wait too long. */
function giveUp(): void {
  const oldest = performance.now() - patienceMs;
  for (const [id, { started, ended, last }] of calls) {
    if (started > oldest) continue;
    failures++;
    if (failures < 5) process.stderr.write(`${id} was not over after ${patienceMs} ms; last event: ${last}\n`);
    calls.delete(id);
    ended();
  }
}
setInterval(giveUp, 1_000).unref();

await run(Math.min(2, Number(secondsText) / 2));
durations.length = 0;
events = 0;
const started = performance.now();
const cpuBefore = process.cpuUsage();
await run(Number(secondsText));
const elapsed = (performance.now() - started) / 1000;
const cpu = process.cpuUsage(cpuBefore);
durations.sort((a, b) => a - b);
const at = (share: number) =>
  durations[Math.min(durations.length - 1, Math.floor(durations.length * share))] ?? Number.NaN;
const result = {
  inFlight,
  calls: durations.length,
  callsInAll: counter,
  callsPerSecond: durations.length / elapsed,
  eventsPerSecond: events / elapsed,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  failures,
  clientCpu: (cpu.user + cpu.system) / 1e6 / elapsed,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
finished = true;
socket.close();
