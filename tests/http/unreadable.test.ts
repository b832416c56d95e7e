import { once } from 'node:events';
import { connect as dialTcp, type Socket } from 'node:net';
import { connect as dialTls } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AnswerCounts } from '../../src/http/answer-counts.ts';
import { LimitCounts } from '../../src/lib/limit-counts.ts';
import { Authority, tlsKeys } from '../support/certificates.ts';
import { authorization } from './fakes.ts';
import { startTestServer } from './sockets.ts';

const unreadable = suite('requests that never become one');

type Limits = { header_timeout?: number; request_timeout?: number; headers?: number };

/** A server that counts, and how to say something to it and read all that it answers until it closes. */
async function world(limits: Limits, tls?: ReturnType<typeof tlsKeys>) {
  const [counts, answers] = [new LimitCounts(), new AnswerCounts()];
  const more = { hit: counts.hit, answers };
  const started = await startTestServer({}, { ...limits, more, ...(tls && { tls }) });
  const port = started.server.address.port;
  const dial = (): Socket =>
    tls ? dialTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : dialTcp(port, '127.0.0.1');
  const say = async (...pieces: (string | Buffer)[]): Promise<string> => {
    const socket = dial();
    // What was not read of what we said may come back as a reset.
    socket.on('error', () => {});
    for (const piece of pieces) socket.write(piece);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    await once(socket, 'close');
    return String(Buffer.concat(chunks));
  };
  const logged = () => started.logged.map(({ time: _time, level, ...line }) => line);
  return { ...started, say, dial, counts, answers, logged };
}

const refusal = (status: string, message: string): string => {
  const body = JSON.stringify({ message });
  const head = ['Server: Hookswitch', 'Cache-Control: no-cache, no-store', 'Content-Type: application/json'];
  return [`HTTP/1.1 ${status}`, ...head, `Content-Length: ${body.length}`, 'Connection: close', '', body].join('\r\n');
};

const tooLarge = refusal('431 Request Header Fields Too Large', 'Request headers too large');
const tooSlow = refusal('408 Request Timeout', 'The request did not arrive in time');
const noHttp = refusal('400 Bad Request', 'The request is not valid HTTP');
const head = 'POST /ari/channels/c1/mute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
const cutOff = 'a request was cut off: it was too large or too slow to be read';

for (const [title, limits, said, answer, limit] of [
  ['headers that are too large', {}, `${head}X: ${'y'.repeat(20_000)}\r\n\r\n`, tooLarge, 'headers'],
  ['a head that is half sent', { header_timeout: 0.05 }, head, tooSlow, 'header_timeout'],
  [
    'a body that is half sent',
    { request_timeout: 0.05 },
    `${head}Content-Length: 9\r\n\r\n{"a"`,
    tooSlow,
    'request_timeout',
  ],
  ['a head when the whole may take no longer', { request_timeout: 0.05 }, head, tooSlow, 'request_timeout'],
] as const)
  unreadable(`${title}: refused in our words, counted, and told once`, async () => {
    const { say, server, counts, answers, logged } = await world(limits);
    const status = Number(answer.split(' ')[1]);
    for (const _ of [1, 2]) assert.is(await say(said), answer);
    assert.equal(counts.figures(), { [`http.limits.${limit}`]: 2 });
    const code = status === 431 ? 'headersTooLarge' : 'requestTooSlow';
    assert.equal([answers.figures().refusals[code], answers.figures().responses[status]], [2, 2]);
    assert.equal(logged(), [{ client: '127.0.0.1', limit: `http.limits.${limit}`, times: 1, msg: cutOff }]);
    await server.close();
  });

unreadable('a connection that begins no request is counted, too', async () => {
  const { say, server, counts } = await world({ header_timeout: 0.05 });
  await say();
  assert.equal(counts.figures(), { 'http.limits.header_timeout': 1 });
  await server.close();
});

unreadable('a method that nobody knows is refused as one, where what came is a request', async () => {
  const { say, server } = await world({});
  const unknown = refusal('405 Method Not Allowed', 'Invalid method');
  for (const method of ['FOO', 'GETS'])
    assert.is(await say(`${method} /ari/channels/c1?a=b HTTP/1.1\r\nHost: x\r\n\r\n`), unknown, method);
  for (const line of ['FOO channels HTTP/1.1', 'FOO /channels', 'foo /channels HTTP/1.1', 'FOO / x HTTP/1.1'])
    assert.is(await say(`${line}\r\nHost: x\r\n\r\n`), noHttp, line);
  await server.close();
});

unreadable('what is no HTTP is refused and meets no bound; a request before it is answered', async () => {
  const { say, server, counts, logged } = await world({});
  assert.is(await say('nonsense\r\n\r\n'), noHttp);
  assert.is(await say(Buffer.from('160301020001000001fc0303', 'hex')), noHttp);
  const extension = `5;${'e'.repeat(20_000)}\r\n`;
  assert.match(await say(`${head}Transfer-Encoding: chunked\r\n\r\n${extension}`), /^HTTP\/1\.1 413 /);
  assert.equal(counts.figures(), {});
  assert.equal(
    logged().map(({ reason, ...line }) => ({ ...line, reason: typeof reason })),
    [
      {
        client: '127.0.0.1',
        times: 1,
        msg: 'a connection was closed: what came was no request',
        reason: 'string',
      },
    ],
  );
  await server.close();
});

unreadable('over TLS the refusal arrives whole; a handshake that fails gets none', async () => {
  const authority = new Authority();
  const { say, server, counts } = await world({}, tlsKeys({ shows: [authority.own] }));
  assert.is(await say(`${head}X: ${'y'.repeat(20_000)}\r\n\r\n`), tooLarge);
  const plain = dialTcp(server.address.port, '127.0.0.1');
  plain.on('error', () => {});
  plain.write('GET / HTTP/1.1\r\n\r\n');
  const heard: Buffer[] = [];
  plain.on('data', (chunk) => heard.push(chunk));
  await once(plain, 'close');
  assert.not.match(String(Buffer.concat(heard)), /HTTP/);
  assert.equal(counts.figures(), { 'http.limits.headers': 1 });
  await server.close();
});

unreadable('a storm of it, from clients that go on or leave in the middle, costs nobody else an answer', async () => {
  const { say, dial, server, base, logged } = await world({});
  const storm = Array.from({ length: 100 }, (_, index) => {
    const noise = Buffer.from(Array.from({ length: 300 }, (_octet, at) => (index * 31 + at * 17) & 0xff));
    return say(noise, noise, `${head}X: ${'y'.repeat(20_000)}`);
  });
  const left = Array.from({ length: 50 }, async () => {
    const socket = dial();
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`${head}Content-Length: 9\r\n\r\n{`);
    socket.resetAndDestroy();
  });
  await Promise.all([...storm, ...left]);
  const answer = await fetch(`http://${base}/ari/asterisk/ping`, { headers: { authorization } });
  assert.is(answer.status, 200);
  await answer.arrayBuffer();
  assert.equal([...new Set(logged().map(({ msg }) => msg))], ['a connection was closed: what came was no request']);
  await server.close();
});

unreadable.run();
