import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../../support/manual-clock.ts';
import { addressOf, failureOf, openParty, options, type Party } from './bench.ts';

const request = options('TCP 127.0.0.1:5060;branch=z9hG4bKx');

async function dial(party: Party): Promise<Socket> {
  const socket = connect(addressOf(party, 'tcp').port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

test('messages to one peer share a connection, and answers come back on it', async () => {
  const [a, b] = [await openParty(), await openParty()];
  const target = addressOf(b, 'tcp');
  a.transports.send(request, target);
  a.transports.send(request, target);
  const first = await b.messages.next();
  const second = await b.messages.next();
  assert.is(first.source.connection, second.source.connection);
  b.transports.send(request, first.source);
  const back = await a.messages.next();
  assert.equal({ address: back.source.address, port: back.source.port }, { address: '127.0.0.1', port: target.port });
  assert.equal([a.transports.counts().connections, b.transports.counts().connections], [1, 1]);
  await Promise.all([a.transports.close(), b.transports.close()]);
  assert.equal([a.transports.counts().connections, b.transports.counts().connections], [0, 0]);
});

test('messages split and joined at any place arrive one by one', async () => {
  const party = await openParty();
  const socket = await dial(party);
  const stream = Buffer.concat([request, Buffer.from('\r\n'), options('TCP 127.0.0.1', 'body'), request]);
  for (const byte of stream.subarray(0, 600)) socket.write(Buffer.of(byte));
  socket.write(stream.subarray(600));
  const bodies = [];
  for (let i = 0; i < 3; i++) bodies.push((await party.messages.next()).message.bodyText);
  assert.equal(bodies, ['', 'body', '']);
  socket.destroy();
  await party.transports.close();
});

test('a CRLF CRLF keep-alive is answered with CRLF', async () => {
  const party = await openParty();
  const socket = await dial(party);
  const answered = once(socket, 'data');
  socket.write('\r\n\r\n');
  assert.is(String((await answered)[0]), '\r\n');
  assert.is(party.transports.counts().received, 0);
  socket.destroy();
  await party.transports.close();
});

test('a request without Content-Length is reported with enough to answer, and only its connection closes', async () => {
  const party = await openParty();
  const [bad, good] = [await dial(party), await dial(party)];
  bad.resume();
  const closed = once(bad, 'close');
  bad.write(request.toString().replace(/Content-Length.*\r\n/, ''));
  const { failure, source } = await party.malformed.next();
  assert.is(failure.problem, 'Content-Length is missing or malformed');
  assert.equal([failure.status, failure.method, failure.answerable?.callId], [400, 'OPTIONS', 'abc']);
  await closed;
  assert.is(await party.closed.next(), source.connection);
  good.write(request);
  assert.is((await party.messages.next()).message.callId, 'abc');
  good.destroy();
  await party.transports.close();
});

test('what is sent about a broken stream goes out before it closes', async () => {
  const party = await openParty();
  party.transports.onMalformed((_, source) => party.transports.send(Buffer.from('the last word'), source));
  const socket = await dial(party);
  let heard = '';
  socket.on('data', (chunk) => (heard += chunk));
  socket.write('what is this\r\nContent-Length: -1\r\n\r\n');
  await once(socket, 'close');
  assert.is(heard, 'the last word');
  assert.is(party.transports.counts().malformed, 1);
  await party.transports.close();
});

test('a peer that refuses is reported to everyone who waited', async () => {
  const party = await openParty();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const target = { protocol: 'tcp', address: '127.0.0.1', port } as const;
  const failures = await Promise.all([
    failureOf(party.transports, request, target),
    failureOf(party.transports, request, target),
  ]);
  assert.equal(
    failures.map(({ reason, cause }) => [reason, (cause as NodeJS.ErrnoException).code]),
    [
      ['connect', 'ECONNREFUSED'],
      ['connect', 'ECONNREFUSED'],
    ],
  );
  await party.transports.close();
});

test('a connection that takes too long is given up', async () => {
  const clock = new ManualClock();
  const party = await openParty({ clock });
  // TEST-NET-1 leads nowhere; the clock moves before the network could say anything else.
  const failure = failureOf(party.transports, request, { protocol: 'tcp', address: '192.0.2.1', port: 5060 });
  clock.advance(5_000);
  assert.is((await failure).reason, 'timeout');
  assert.is(clock.pending, 0);
  await party.transports.close();
});

test('a connection that is silent for long is closed; use puts that off', async () => {
  const clock = new ManualClock();
  const party = await openParty({ clock, limits: { idleTimeout: 1_000 } });
  const socket = await dial(party);
  socket.resume();
  socket.write(request);
  await party.messages.next();
  clock.advance(900);
  socket.write(request);
  const { source } = await party.messages.next();
  clock.advance(900);
  assert.is(party.transports.counts().connections, 1);
  clock.advance(100);
  assert.is(await party.closed.next(), source.connection);
  assert.is(clock.pending, 0);
  await party.transports.close();
});

test('a message that is never finished ends its connection', async () => {
  const clock = new ManualClock();
  const party = await openParty({ clock, limits: { partialTimeout: 1_000 } });
  const socket = await dial(party);
  socket.write(Buffer.concat([request, Buffer.from('OPTIONS')]));
  await party.messages.next();
  const closed = once(socket, 'close');
  clock.advance(1_000);
  await closed;
  await party.transports.close();
  assert.is(clock.pending, 0);
});

test('a peer that reads nothing is cut off instead of filling memory', async () => {
  const party = await openParty({ limits: { maxQueuedBytes: 100_000 } });
  const socket = await dial(party);
  socket.pause();
  socket.write(request);
  const { source } = await party.messages.next();
  const failed = failureOf(party.transports, Buffer.alloc(100_001), source);
  assert.is((await failed).reason, 'overload');
  assert.is(await party.closed.next(), source.connection);
  socket.destroy();
  await party.transports.close();
});

test('more connections than allowed are turned away', async () => {
  const party = await openParty({ limits: { maxConnections: 1 } });
  const first = await dial(party);
  first.write(request);
  await party.messages.next();
  const second = await dial(party);
  second.resume();
  await once(second, 'close');
  assert.is(party.transports.counts().connections, 1);
  first.destroy();
  await party.transports.close();
});

test('an answer to a connection that is gone opens one to the target', async () => {
  const [a, b] = [await openParty(), await openParty()];
  const socket = await dial(b);
  socket.write(request);
  const { source } = await b.messages.next();
  socket.destroy();
  await b.closed.next();
  b.transports.send(request, { ...source, port: addressOf(a, 'tcp').port });
  assert.is((await a.messages.next()).message.callId, 'abc');
  await Promise.all([a.transports.close(), b.transports.close()]);
});

test.run();
