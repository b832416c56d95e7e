import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { TransportsOptions } from '../../../src/sip/transport/transports.ts';
import { Authority, tlsKeys } from '../../support/certificates.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { addressOf, failureOf, openParty, options, type Party } from './bench.ts';

const authority = new Authority();
const request = options('WS df7jal23ls0d.invalid;branch=z9hG4bKx');

const webParty = (more: Partial<TransportsOptions> = {}) =>
  openParty({ tls: tlsKeys({ shows: [authority.sign('127.0.0.1')] }), ...more }, [
    { protocol: 'ws', host: '127.0.0.1', port: 0 },
    { protocol: 'wss', host: '127.0.0.1', port: 0 },
  ]);

function dial(
  party: Party,
  protocol: 'ws' | 'wss' = 'ws',
  { origin, sub = 'sip' }: { origin?: string; sub?: string } = {},
) {
  const { port } = addressOf(party, protocol);
  return new WebSocket(`${protocol}://127.0.0.1:${port}/`, sub === '' ? [] : [sub], {
    ca: authority.own.certificate,
    perMessageDeflate: false,
    ...(origin !== undefined && { origin }),
  });
}

async function opened(socket: WebSocket): Promise<WebSocket> {
  await once(socket, 'open');
  return socket;
}

/** The status of the answer to a WebSocket that is refused. */
async function refusal(socket: WebSocket): Promise<number> {
  socket.on('error', () => {});
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  socket.terminate();
  return response.statusCode;
}

for (const protocol of ['ws', 'wss'] as const)
  test(`a message of ${protocol} is one SIP message, and the answer comes over the same connection as text`, async () => {
    const party = await webParty();
    const socket = await opened(dial(party, protocol));
    assert.is(socket.protocol, 'sip');
    socket.send(request.toString());
    const { message, source } = await party.messages.next();
    assert.equal([message.callId, message.topVia?.params['received'], source.protocol], ['abc', '127.0.0.1', protocol]);
    const heard = once(socket, 'message');
    party.transports.send(request, source);
    const [bytes, isBinary] = (await heard) as [Buffer, boolean];
    assert.equal([bytes.equals(request), isBinary], [true, false]);
    socket.terminate();
    assert.is(await party.closed.next(), source.connection);
    assert.is((await failureOf(party.transports, request, source)).reason, 'connect');
    await party.transports.close();
  });

test('a message may come in binary and without Content-Length; one that is not text goes out in binary', async () => {
  const party = await webParty();
  const socket = await opened(dial(party));
  socket.send(Buffer.from(request.toString().replace(/Content-Length.*\r\n/, '')));
  const { source } = await party.messages.next();
  const heard = once(socket, 'message');
  party.transports.send(Buffer.of(0xff, 0xfe), source);
  assert.is((await heard)[1], true);
  socket.terminate();
  await party.transports.close();
});

test('line ends alone are a keep-alive that is answered; a ping of WebSocket is, too', async () => {
  const party = await webParty();
  const socket = await opened(dial(party));
  const heard = once(socket, 'message');
  socket.send('\r\n\r\n');
  assert.is(String((await heard)[0]), '\r\n');
  const pong = once(socket, 'pong');
  socket.ping();
  await pong;
  assert.is(party.transports.counts().received, 0);
  socket.terminate();
  await party.transports.close();
});

test('a WebSocket that is not for SIP is refused, and so is a page of an origin that is not allowed', async () => {
  const party = await webParty({ allowsOrigin: (origin) => origin === 'https://desk.example.org' });
  assert.is(await refusal(dial(party, 'ws', { sub: '' })), 400);
  assert.is(await refusal(dial(party, 'ws', { sub: 'ari' })), 400);
  assert.is(await refusal(dial(party, 'ws', { origin: 'https://evil.example.org' })), 403);
  const allowed = await opened(dial(party, 'ws', { origin: 'https://desk.example.org' }));
  allowed.terminate();
  await party.transports.close();
});

test('a request of HTTP that is no upgrade is told so, and one that never ends is cut off', async () => {
  const clock = new ManualClock();
  const party = await webParty({ clock, limits: { handshakeTimeout: 1_000 } });
  const { port } = addressOf(party, 'ws');
  const plain = connect(port, '127.0.0.1');
  plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [answer] = (await once(plain, 'data')) as [Buffer];
  assert.ok(String(answer).startsWith('HTTP/1.1 426 '));
  plain.resume();
  await once(plain, 'close');
  const slow = connect(port, '127.0.0.1');
  slow.resume().write('GET / HTTP/1.1\r\nHost: x\r\n');
  await once(slow, 'connect');
  const other = connect(port, '127.0.0.1');
  other.write('GET / HTTP/1.1\r\n\r\n');
  other.resume();
  // The server has taken both in by now.
  await once(other, 'close');
  const cut = once(slow, 'close');
  clock.advance(1_000);
  await cut;
  await party.transports.close();
  assert.is(clock.pending, 0);
});

test('what is no SIP message is reported, and a message that is too large ends the connection', async () => {
  const party = await webParty();
  const socket = await opened(dial(party));
  socket.on('error', () => {});
  socket.send('what is this');
  assert.is((await party.malformed.next()).source.protocol, 'ws');
  const closed = once(socket, 'close');
  socket.send(Buffer.alloc(100_000, 65));
  await closed;
  await party.transports.close();
});

test.run();
