import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { startHttpServer } from '../../src/http/server.ts';
import { TurnChanges } from '../../src/lib/changes.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import type { KeptAnswers } from '../../src/stores/kept-answers.ts';
import { Authority, tlsKeys } from '../support/certificates.ts';
import { authorization, createFakes, createTestApp, options, samples } from './fakes.ts';
import { startTestServer } from './sockets.ts';

const server = suite('HTTP server');
const authority = new Authority();
const deps = { clock: systemClock, log: createLogger({ level: 'silent' }), tls: tlsKeys({}) };

server('serves over a socket what the app answers', async () => {
  const { base, server: listening } = await startTestServer();
  const response = await fetch(`http://${base}/ari/asterisk/ping`, { headers: { authorization } });
  assert.equal(await response.json(), samples.ping);
  assert.is(response.headers.get('server'), 'Hookswitch');
  assert.is(response.headers.get('content-length'), String(JSON.stringify(samples.ping).length));
  assert.match(response.headers.get('date') ?? '', / GMT$/);
  assert.is(response.headers.get('keep-alive'), 'timeout=15');
  await listening.close();
});

server('an answer without a body has neither type nor length', async () => {
  const { base, server: listening } = await startTestServer();
  const response = await fetch(`http://${base}/ari/channels/x/answer`, { method: 'POST', headers: { authorization } });
  assert.equal(
    [response.status, response.headers.get('content-type'), response.headers.get('content-length')],
    [204, null, null],
  );
  await listening.close();
});

server('an answer leaves when what the request has changed is written', async () => {
  const changes = new TurnChanges({ soon: () => undefined });
  const order: string[] = [];
  changes.writeWith((marks) => order.push(`written: ${[...(marks.get('channel') ?? [])]}`));
  const { base, fakes, server: listening } = await startTestServer({}, { more: { changes } });
  const performed = new Promise<void>((resolve) => {
    fakes.instead = () => {
      changes.mark('channel', 'c1');
      resolve();
    };
  });
  const answered = fetch(`http://${base}/ari/channels/c1/answer`, { method: 'POST', headers: { authorization } });
  const noted = answered.then(({ status }) => order.push(`answered ${status}`));
  await performed;
  // Another connection has its answer, which tells of nothing, while this one waits.
  const [host, port] = base.split(':');
  const tcp = connectTcp(Number(port), host);
  tcp.write('nonsense\r\n\r\n');
  await once(tcp, 'data');
  tcp.destroy();
  assert.equal(order, []);
  changes.commit();
  await noted;
  assert.equal(order, ['written: c1', 'answered 204']);
  await listening.close();
});

server('what an answer tells is not written before it is kept for repetitions: both are one record', async () => {
  const changes = new TurnChanges({ soon: () => undefined });
  const order: string[] = [];
  changes.writeWith(() => order.push('written'));
  const keptAnswers: KeptAnswers = {
    ...{ begin: () => 'new', release: () => undefined, limit: () => undefined, close: () => undefined },
    async keep() {
      order.push('kept');
      changes.commit();
    },
  } as unknown as KeptAnswers;
  const { base, fakes, server: listening } = await startTestServer({}, { more: { changes, keptAnswers } });
  fakes.instead = () => changes.mark('channel', 'c1');
  const headers = { authorization, 'idempotency-key': 'once' };
  const { status } = await fetch(`http://${base}/ari/channels/c1/answer`, { method: 'POST', headers });
  assert.equal([status, ...order], [204, 'kept', 'written']);
  await listening.close();
});

server('a body without a length is read no further than the limit', async () => {
  const { base, server: listening } = await startTestServer();
  const small = await fetch(`http://${base}/ari/channels/c1/mute`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: new Blob(['{"direction":"in"}']).stream(),
    duplex: 'half',
  } as RequestInit);
  assert.is(small.status, 204);
  const [host, port] = base.split(':');
  const tcp = connectTcp(Number(port), host);
  tcp.on('error', () => undefined);
  tcp.write(
    `POST /ari/channels/c1/mute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
  tcp.write(chunk.repeat(11));
  const [first] = await once(tcp, 'data');
  assert.match(String(first), /^HTTP\/1\.1 413 [\s\S]*Connection: close[\s\S]*Request body too large/i);
  tcp.destroy();
  await listening.close();
});

server('a client that sends its request too slowly is cut off', async () => {
  const { base, server: listening } = await startTestServer({}, { request_timeout: 0.05 });
  const [host, port] = base.split(':');
  const tcp = connectTcp(Number(port), host);
  tcp.write('GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  const chunks: Buffer[] = [];
  for await (const chunk of tcp) chunks.push(chunk);
  assert.match(String(Buffer.concat(chunks)), /^HTTP\/1\.1 408 /);
  await listening.close();
});

server('headers that are too large and nonsense are refused', async () => {
  const { base, server: listening } = await startTestServer();
  const [host, port] = base.split(':');
  for (const [sent, status] of [
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    ['nonsense\r\n\r\n', 400],
  ] as const) {
    const tcp = connectTcp(Number(port), host);
    tcp.on('error', () => undefined);
    tcp.write(sent);
    const [answer] = await once(tcp, 'data');
    assert.match(String(answer), new RegExp(`^HTTP/1.1 ${status} `));
    tcp.destroy();
  }
  await listening.close();
});

server('a port that is taken is told', async () => {
  const { server: listening } = await startTestServer();
  const { port } = listening.address;
  const limits = { headers: 16_384, header_timeout: 5, request_timeout: 10, keep_alive: 15, busy_poll: 0 };
  try {
    await startHttpServer(createTestApp(createFakes().owners), { bind: '127.0.0.1', port, tls: false, limits }, deps);
    assert.unreachable('listened twice');
  } catch (error) {
    assert.is((error as NodeJS.ErrnoException).code, 'EADDRINUSE');
  }
  await listening.close();
});

server('closing lets a request under way finish', async () => {
  const { base, fakes, server: listening } = await startTestServer();
  let release: (value: unknown) => void = () => {};
  const asked = new Promise<void>((resolve) => {
    fakes.instead = () => {
      resolve();
      return new Promise((done) => {
        release = done;
      });
    };
  });
  const agent = new Agent({ keepAlive: true });
  const pending = new Promise<number | undefined>((resolve, reject) => {
    const url = `http://${base}/ari/channels/x/rtp_statistics`;
    request(url, { agent, headers: { authorization } }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
  await asked;
  const closed = listening.close(2000);
  release(samples.statistics);
  assert.is(await pending, 200);
  agent.destroy();
  await closed;
});

server('an operation that does not answer in time is 503 and names what was waited for', async () => {
  const { ManualClock } = await import('../support/manual-clock.ts');
  const clock = new ManualClock();
  const fakes = createFakes();
  fakes.instead = () => new Promise(() => {});
  const app = createTestApp(fakes.owners, { limits: { ...options.limits } }, clock);
  const refusedAfter = async (ms: number) => {
    let status = 0;
    const pending = app.ask('PUT /ari/endpoints/sendMessage?to=a&from=b').then((response) => {
      status = response.status;
      return response;
    });
    clock.advance(ms - 1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.is(status, 0, 'not before');
    clock.advance(1);
    const response = await pending;
    assert.is(response.status, 503);
    assert.equal(await response.json(), { message: 'sendMessage did not answer in time' });
  };
  await refusedAfter(60_000);
  app.reconfigure({ ...options, limits: { ...options.limits, answer_timeout: 0.5 } });
  await refusedAfter(500);
});

/** What a client over TLS is told. */
function askSecurely(base: string): Promise<{ status: number | undefined; body: string }> {
  const [host, port] = base.split(':');
  const options = { host, port, path: '/ari/asterisk/ping', headers: { authorization }, agent: false } as const;
  return new Promise((resolve, reject) => {
    const asked = requestSecurely({ ...options, ca: authority.own.certificate }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode, body: String(Buffer.concat(chunks)) });
    });
    asked.on('error', reject).end();
  });
}

server('over TLS it serves https and wss, and nothing else', async () => {
  const tls = tlsKeys({ shows: [authority.sign('127.0.0.1')] });
  const { base, server: listening, connected } = await startTestServer({}, { tls });
  assert.equal(await askSecurely(base), { status: 200, body: JSON.stringify(samples.ping) });
  const socket = new WebSocket(`wss://${base}/ari/events?app=hello`, {
    ca: authority.own.certificate,
    headers: { authorization },
  });
  await connected();
  const closed = once(socket, 'close');
  const [host, port] = base.split(':');
  const plain = connectTcp(Number(port), host);
  plain.on('error', () => undefined);
  plain.write('GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => plain.resume().on('close', resolve));
  await listening.close();
  assert.is((await closed)[0], 1001);
});

server('over TLS it answers with its leave, and ends the connections that rest in order', async () => {
  const tls = tlsKeys({ shows: [authority.sign('127.0.0.1')] });
  const { base, server: listening } = await startTestServer({}, { tls });
  const [host = '', port] = base.split(':');
  const dial = async () => {
    const socket = connectTls({ host, port: Number(port), ca: authority.own.certificate });
    // The server sends it when the handshake is over on its side, too (RFC 8446 4.6.1).
    await once(socket, 'session');
    return socket;
  };
  const request = `GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`;
  const [asking, resting, fresh] = [await dial(), await dial(), await dial()];
  let heard = '';
  asking.on('data', (octets: Buffer) => (heard += octets));
  for (const socket of [asking, resting]) {
    const answered = once(socket, 'data');
    socket.write(request);
    await answered;
  }
  // An end without an error: with close_notify, and nothing that was sent is lost.
  const all = [asking, resting, fresh];
  const ends = all.map((socket) => once(socket.resume(), 'end'));
  const left = listening.leave(5_000);
  asking.write(request);
  await left;
  await Promise.all(ends);
  const connection = [...heard.matchAll(/^connection: (\S+)\r$/gim)].map(([, word]) => word);
  assert.equal([heard.split('HTTP/1.1 200 ').length - 1, ...connection], [2, 'keep-alive', 'close']);
  for (const socket of all) socket.destroy();
  await listening.close();
});

server('over TLS strangers push out strangers, and those who proved a password stay', async () => {
  const tls = tlsKeys({ shows: [authority.sign('127.0.0.1')] });
  const { base, server: listening } = await startTestServer(
    { limits: { ...options.limits, connections: 2, address_share: 1 } },
    { tls },
  );
  const [host = '', port] = base.split(':');
  const dial = async () => {
    const socket = connectTls({ host, port: Number(port), ca: authority.own.certificate });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    return socket;
  };
  const proved = await dial();
  proved.write(`GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  await once(proved, 'data');
  const stranger = await dial();
  const pushed = new Promise((resolve) => stranger.resume().on('close', resolve));
  const next = await dial();
  await pushed;
  proved.write(`GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  assert.match(String((await once(proved, 'data'))[0]), /^HTTP\/1\.1 200 /);
  for (const socket of [proved, next]) socket.destroy();
  await listening.close();
});

server.run();
