import { type ChildProcess, fork } from 'node:child_process';
import { Agent, createServer, request as httpRequest, type RequestOptions } from 'node:http';
import { createApp } from '../src/http/app.ts';
import { startHttpServer } from '../src/http/server.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createLogger } from '../src/lib/log.ts';
import { formatTimestamp } from '../src/models/timestamp.ts';

/**
 * What the interface costs: a ping through it against the same answer from plain node:http, asked from another
 * process over keep-alive connections, both in alternating rounds. `tsx bench/http-ping.ts [rounds] [requests]`
 */

type Round = { port: number; path: string; requests: number; inFlight: number };

const authorization = `Basic ${Buffer.from('bench:secret').toString('base64')}`;
const pong = () => ({ asterisk_id: '02:00:00:00:00:01', ping: 'pong', timestamp: formatTimestamp(systemClock.now()) });

/** Asks `requests` times and tells requests/s. Runs in the child. */
async function ask({ port, path, requests, inFlight }: Round): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const options: RequestOptions = { host: '127.0.0.1', port, path, agent, headers: { authorization } };
  let left = requests;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      httpRequest(options, (response) => {
        response.resume();
        response.on('end', resolve);
      })
        .on('error', reject)
        .end();
    });
  const worker = async () => {
    while (left-- > 0) await one();
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  agent.destroy();
  return requests / ((performance.now() - start) / 1000);
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function inChild(child: ChildProcess, round: Round): Promise<{ rate: number; cpuUs: number }> {
  const before = process.cpuUsage();
  return new Promise((resolve) => {
    child.once('message', (rate) => {
      const used = process.cpuUsage(before);
      resolve({ rate: rate as number, cpuUs: (used.user + used.system) / round.requests });
    });
    child.send(round);
  });
}

async function plainServer(): Promise<{ port: number; close(): void }> {
  const server = createServer((_request, response) => {
    const body = JSON.stringify(pong());
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as { port: number }).port, close: () => server.close() };
}

async function interfaceServer() {
  const http = createApp({
    owners: { system: { ping: pong } as never },
    options: {
      users: [{ name: 'bench', password: 'secret', read_only: false }],
      auth_realm: 'bench',
      allowed_origins: [],
      pretty: false,
      validate: false,
      refusalForm: (refusal) => refusal,
      tokens: { most: 10, longest_lifetime: 3_600 },
      sessions: { lifetime: 60, most: 1, ticket_lifetime: 30 },
      media_sockets: { log_in: true, message: 1_048_576 },
      limits: {
        body: 40_960,
        websocket_message: 65_535,
        websocket_queue: 8_388_608,
        unread_total: 67_108_864,
        connections: 1_024,
        address_share: 1,
        pipelined: 16,
        password_queue: 64,
        answer_timeout: 5,
        response_timeout: 30,
      },
    },
    entityId: '',
    page: { version: '1.2.3', files: undefined },
    secret: () => 'secret',
    clock: systemClock,
    log: createLogger({ level: 'warn' }),
  });
  const limits = { headers: 16_384, header_timeout: 5, request_timeout: 10, keep_alive: 15, busy_poll: 0 };
  return startHttpServer(
    http,
    { bind: '127.0.0.1', port: 0, tls: false, limits },
    {
      clock: systemClock,
      log: createLogger({ level: 'warn' }),
      tls: { server: undefined, askingServer: undefined, client: { minVersion: 'TLSv1.2' }, onChanged() {} },
    },
  );
}

async function main(): Promise<void> {
  const [rounds = 7, requests = 10_000] = process.argv.slice(2).map(Number);
  const child = fork(new URL(import.meta.url), { execArgv: process.execArgv, env: { ...process.env, ASK: '1' } });
  const plain = await plainServer();
  const ours = await interfaceServer();
  for (const inFlight of [1, 16]) {
    const results = { plain: [] as number[], ours: [] as number[], plainCpu: [] as number[], oursCpu: [] as number[] };
    for (let round = -1; round < rounds; round++) {
      const a = await inChild(child, { port: plain.port, path: '/', requests, inFlight });
      const b = await inChild(child, { port: ours.address.port, path: '/ari/asterisk/ping', requests, inFlight });
      if (round < 0) continue;
      results.plain.push(a.rate);
      results.ours.push(b.rate);
      results.plainCpu.push(a.cpuUs);
      results.oursCpu.push(b.cpuUs);
    }
    const [p, o] = [median(results.plain), median(results.ours)];
    const [pc, oc] = [median(results.plainCpu), median(results.oursCpu)];
    console.log(
      `${inFlight} in flight: node:http ${p.toFixed(0)}/s (${pc.toFixed(1)} µs CPU), ping ${o.toFixed(0)}/s (${oc.toFixed(1)} µs CPU), ` +
        `time ratio ${(p / o).toFixed(2)}, CPU ratio ${(oc / pc).toFixed(2)}`,
    );
  }
  child.disconnect();
  plain.close();
  await ours.close();
}

if (process.env['ASK']) process.on('message', (round: Round) => void ask(round).then((rate) => process.send?.(rate)));
else await main();
