import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../support/manual-clock.ts';
import { authorization, options, samples } from './fakes.ts';
import { connect, startTestServer } from './sockets.ts';

/** What connections may cost, over real sockets. */

const limited = (limits: Partial<typeof options.limits>) => ({ limits: { ...options.limits, ...limits } });
const ping = (headers = `Authorization: ${authorization}\r\n`) =>
  `GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

function dial(base: string, localAddress = '127.0.0.1'): Socket {
  const [host, port] = base.split(':');
  const tcp = connectTcp({ port: Number(port), host: host!, localAddress });
  // How it ends is told by the close, too.
  tcp.on('error', () => undefined);
  return tcp;
}

/** One whose first request was answered: with credentials, or refused without. */
async function asked(base: string, headers?: string): Promise<Socket> {
  const tcp = dial(base);
  tcp.write(ping(headers));
  await once(tcp, 'data');
  return tcp;
}

const answers = async (tcp: Socket): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of tcp) chunks.push(chunk);
  return String(Buffer.concat(chunks));
};

const connections = suite('connections');

connections('a connection that begins no request is closed early, and one whose head is half sent', async () => {
  const { base, server } = await startTestServer({}, { header_timeout: 0.05 });
  const silent = dial(base);
  const half = dial(base);
  half.write('GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\n');
  assert.match(await answers(half), /^HTTP\/1\.1 408 /);
  await answers(silent);
  await server.close();
});

connections('too many from one address push out the oldest that has proved nothing', async () => {
  const { base, server } = await startTestServer(limited({ connections: 8, address_share: 0.5 }));
  const known = [await asked(base), await asked(base)];
  const [older, newer] = [await asked(base, ''), await asked(base, '')];
  const olderGone = once(older as Socket, 'close');
  const last = await asked(base);
  await olderGone;
  const newerGone = once(newer as Socket, 'close');
  const lastKnown = await asked(base);
  await newerGone;
  // Four that have proved who they are: nobody makes room for a fifth.
  await once(dial(base), 'close');
  for (const tcp of [...known, last, lastKnown]) {
    tcp.write(ping());
    assert.match(String((await once(tcp, 'data'))[0]), /^HTTP\/1\.1 200 /);
    tcp.destroy();
  }
  await server.close();
});

connections('there are never more than allowed in all, and the log says so', async () => {
  const { base, server, logged } = await startTestServer(limited({ connections: 3, address_share: 1 }));
  const first = await asked(base, '');
  const gone = once(first, 'close');
  const others = [await asked(base), await asked(base), await asked(base)];
  await gone;
  await once(dial(base), 'close');
  assert.equal(
    logged
      .filter(({ msg }) => msg === 'a connection was closed to keep their number within the limit')
      .map(({ client, limit, times }) => [client, limit, times]),
    [['127.0.0.1', 'http.limits.address_share', 1]],
  );
  for (const tcp of others) tcp.destroy();
  await server.close();
});

connections('a WebSocket counts as a connection, and is not pushed out', async () => {
  const { base, server, connected } = await startTestServer(limited({ connections: 2, address_share: 1 }));
  const told = connected();
  const client = connect(base, 'app=hello&api_key=writer:secret');
  await told;
  await client.opened;
  const stranger = await asked(base, '');
  const gone = once(stranger, 'close');
  const known = await asked(base);
  await gone;
  await once(dial(base), 'close');
  client.ws.ping();
  await once(client.ws, 'pong');
  client.ws.close();
  known.destroy();
  await server.close(100);
});

connections('of requests sent ahead only so many are carried out before the first is answered', async () => {
  const { base, server, fakes } = await startTestServer(limited({ pipelined: 3 }));
  let release: (value: unknown) => void = () => {};
  fakes.instead = (method) =>
    method === 'channels.rtpStatistics'
      ? new Promise((resolve) => {
          release = () => resolve(samples.statistics);
        })
      : samples.ping;
  const tcp = dial(base);
  const slow = `GET /ari/channels/c1/rtp_statistics HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`;
  tcp.write(slow + ping().repeat(20));
  while (fakes.calls.length < 4) await new Promise((resolve) => setImmediate(resolve));
  release(undefined);
  const statuses = [...(await answers(tcp)).matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
  assert.equal(statuses, ['200', '200', '200', '200', '429']);
  assert.is(fakes.calls.length, 4);
  await server.close();
});

connections(
  'of a thousand requests sent ahead without a log-in none behind the first excess one is even parsed',
  async () => {
    const { base, server } = await startTestServer(limited({ pipelined: 3 }));
    let parsed = 0;
    const count = (message: unknown): void => {
      if ((message as { request: IncomingMessage }).request.headers['x-ahead']) parsed++;
    };
    subscribe('http.server.request.start', count);
    const tcp = dial(base);
    tcp.write(ping('X-Ahead: 1\r\n').repeat(1_000));
    const statuses = [...(await answers(tcp)).matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    unsubscribe('http.server.request.start', count);
    assert.equal(statuses, ['401', '401', '401', '401', '429']);
    assert.is(parsed, 5);
    await server.close();
  },
);

connections('a client that sends requests one after another may do so for ever', async () => {
  const { base, server } = await startTestServer(limited({ pipelined: 0 }));
  const tcp = await asked(base);
  for (let time = 0; time < 20; time++) {
    tcp.write(ping());
    assert.match(String((await once(tcp, 'data'))[0]), /^HTTP\/1\.1 200 /);
  }
  tcp.destroy();
  await server.close();
});

/** Asks for answers that are far larger than what systems keep for a connection, and reads none of them. */
async function asksWithoutReading(base: string, fakes: { calls: unknown[] }, from?: string): Promise<Socket> {
  const tcp = dial(base, from);
  tcp.pause();
  const before = fakes.calls.length;
  tcp.write(`GET /ari/channels/c1 HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  while (fakes.calls.length === before) await new Promise((resolve) => setImmediate(resolve));
  return tcp;
}
const many = { ...samples.channel, name: 'x'.repeat(20_000_000) };
/** The client learns of its end only when it reads. */
const isCut = async (tcp: Socket): Promise<void> => {
  const closed = once(tcp, 'close');
  tcp.resume();
  await closed;
};

connections('a client that does not read its answer in time is cut off', async () => {
  const clock = new ManualClock();
  const { base, server, fakes, logged } = await startTestServer(
    { ...limited({ response_timeout: 30, unread_total: 1e9 }), validate: false },
    { clock },
  );
  fakes.instead = () => many;
  const tcp = await asksWithoutReading(base, fakes);
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(30_000);
  assert.equal(logged, []);
  clock.advance(1_000);
  assert.is(logged[0]?.['msg'], 'a connection was closed: its client does not read the answers');
  await isCut(tcp);
  await server.close();
});

connections('answers that nobody reads take no more than is allowed for all', async () => {
  const clock = new ManualClock();
  const { base, server, fakes, logged } = await startTestServer(
    { ...limited({ unread_total: 1_048_576 }), validate: false },
    { clock },
  );
  fakes.instead = () => many;
  const sockets = [await asksWithoutReading(base, fakes), await asksWithoutReading(base, fakes)];
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1_000);
  assert.is(logged[0]?.['client'], '127.0.0.1');
  await Promise.all(sockets.map(isCut));
  await server.close();
});

connections('answers that nobody reads at one address take no more than its share, and cost nobody else', async () => {
  const clock = new ManualClock();
  const octets = JSON.stringify(many).length;
  const { base, server, fakes, logged } = await startTestServer(
    { ...limited({ unread_total: 10 * octets, address_share: 0.15 }), validate: false },
    { clock },
  );
  fakes.instead = () => many;
  const sockets: Socket[] = [];
  for (const from of ['127.0.0.1', '127.0.0.1', '127.0.0.2']) sockets.push(await asksWithoutReading(base, fakes, from));
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1_000);
  assert.equal(
    logged.map(({ client, times }) => [client, times]),
    [['127.0.0.1', 1]],
  );
  /** Whether all of the answer comes when it is read in the end. */
  const whole = (tcp: Socket): Promise<boolean> =>
    new Promise((resolve) => {
      let read = 0;
      tcp.on('close', () => resolve(false));
      tcp.on('data', (chunk) => {
        read += chunk.length;
        if (read > octets) resolve(true);
      });
      tcp.resume();
    });
  const outcomes = await Promise.all(sockets.map(whole));
  assert.is(outcomes[2], true);
  assert.equal(outcomes.slice(0, 2).sort(), [false, true]);
  for (const tcp of sockets) tcp.destroy();
  await server.close();
});

connections.run();
