import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Source } from '../../../src/sip/transport/transport.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { addressOf, failureOf, openParty, options, type Party } from './bench.ts';

const request = options('TCP 127.0.0.1:5060;branch=z9hG4bKx');

async function dial(party: Party): Promise<Socket> {
  const socket = connect(addressOf(party, 'tcp').port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** A connection that has said something, and what it is to the other side. */
async function introduced(party: Party): Promise<{ socket: Socket; source: Source }> {
  const socket = await dial(party);
  socket.write(request);
  return { socket, source: (await party.messages.next()).source };
}

test('whoever does not read the answers is not read either, and loses none of them', async () => {
  const party = await openParty();
  const failures: string[] = [];
  const answer = Buffer.alloc(60_000, 'x');
  party.transports.onMessage((_, source) =>
    party.transports.send(answer, source, ({ reason }) => failures.push(reason)),
  );
  const socket = await dial(party);
  const asked = 300;
  // More than a socket takes while nobody reads; all of it comes in few chunks.
  socket.write(Buffer.concat(Array<Buffer>(asked).fill(request)));
  let heard = 0;
  for await (const chunk of socket) {
    heard += (chunk as Buffer).length;
    if (heard >= asked * answer.length) break;
  }
  assert.is(heard, asked * answer.length);
  assert.equal(failures, []);
  await party.transports.close();
});

test('a peer that goes on reading nothing is cut off after a while', async () => {
  const clock = new ManualClock();
  const party = await openParty({ clock, limits: { partialTimeout: 1_000 } });
  const { socket, source } = await introduced(party);
  socket.pause();
  // As much as fits, and once more: the last waits for a reader.
  const send = () => party.transports.send(Buffer.alloc(60_000), source);
  send();
  clock.advance(1_000);
  assert.is(await party.closed.next(), source.connection);
  assert.equal(party.limits.figures(), { 'sip.limits.partial_message': 1 });
  socket.destroy();
  await party.transports.close();
  assert.is(clock.pending, 0);
});

test('when all connections together have too much queued, the one with most is closed', async () => {
  const party = await openParty({ limits: { maxQueuedBytesInAll: 100_000 } });
  const [greedy, modest] = [await introduced(party), await introduced(party)];
  const heard = once(modest.socket, 'data');
  // One turn of the loop: nothing is read between.
  party.transports.send(Buffer.alloc(60_000), greedy.source);
  party.transports.send(Buffer.alloc(50_000), modest.source);
  await heard;
  assert.is(await party.closed.next(), greedy.source.connection);
  assert.is(party.transports.counts().connections, 1);
  const all = [40_000, 20_000, 50_000].map((size) => failureOf(party.transports, Buffer.alloc(size), modest.source));
  assert.is((await Promise.race(all)).reason, 'overload');
  assert.equal(party.limits.figures(), { 'sip.limits.connection_queues': 2 });
  await party.transports.close();
});

test('a connection that does not say anything that makes sense is closed after a short time', async () => {
  const clock = new ManualClock();
  const party = await openParty({ clock, limits: { firstMessageTimeout: 1_000 } });
  const { socket: good, source } = await introduced(party);
  const silent = await dial(party);
  const pinging = await dial(party);
  const slow = await dial(party);
  const pong = once(pinging, 'data');
  pinging.write('\r\n\r\n');
  slow.write('OPTIONS sip:us@127.0.0.1');
  await pong;
  const gone = Promise.all([silent, pinging, slow].map((socket) => once(socket.resume(), 'close')));
  clock.advance(1_000);
  await gone;
  assert.is(party.transports.counts().connections, 1);
  assert.equal(party.limits.figures(), { 'sip.limits.first_message': 3 });
  party.transports.send(request, source);
  await once(good, 'data');
  good.destroy();
  await party.transports.close();
  assert.is(clock.pending, 0);
});

test('an address where nobody is known has only so many connections, others have theirs', async () => {
  const known = new Set<string>();
  const isKnownAddress = (address: string) => known.has(address);
  const party = await openParty({ limits: { maxSourceConnections: 2 }, isKnownAddress });
  const sockets = [await dial(party), await dial(party)];
  const third = await dial(party);
  await once(third.resume(), 'close');
  assert.equal(party.limits.figures(), { 'sip.limits.source_connections': 1 });
  known.add('127.0.0.1');
  sockets.push((await introduced(party)).socket);
  for (const socket of sockets) socket.destroy();
  for (const _ of sockets) await party.closed.next();
  known.clear();
  assert.ok(await introduced(party), 'closed ones no longer count');
  await party.transports.close();
});

test('a full house makes place by closing the oldest connection that has said nothing', async () => {
  const party = await openParty({ limits: { maxConnections: 2 } });
  const first = await introduced(party);
  const silent = await dial(party);
  const gone = once(silent.resume(), 'close');
  const last = await introduced(party);
  await gone;
  assert.is(party.transports.counts().connections, 2);
  const turnedAway = await dial(party);
  await once(turnedAway.resume(), 'close');
  assert.equal(party.limits.figures(), { 'sip.limits.connections': 2 });
  for (const { socket } of [first, last]) socket.destroy();
  await party.transports.close();
});

test('messages beyond what a stranger may send wait, and come in their order', async () => {
  const clock = new ManualClock();
  let left = 2;
  const party = await openParty({ clock, rateLimiter: { admits: () => left-- > 0 } });
  const socket = await dial(party);
  const bodies = ['a', 'b', 'c', 'd'];
  socket.write(Buffer.concat(bodies.map((body) => options('TCP 127.0.0.1', body))));
  const next = async () => (await party.messages.next()).message.bodyText;
  assert.equal([await next(), await next()], ['a', 'b']);
  left = 1;
  clock.advance(100);
  assert.is(await next(), 'c');
  left = 5;
  clock.advance(100);
  assert.is(await next(), 'd');
  socket.destroy();
  await party.transports.close();
  assert.is(clock.pending, 0);
});

test('many messages in one chunk do not hold up the others', async () => {
  const party = await openParty();
  const order: string[] = [];
  const done = new Promise<void>((resolve) => {
    party.transports.onMessage((message) => {
      order.push(message.bodyText);
      if (message.bodyText === 'many' && order.length === 1) setImmediate(() => order.push('other work'));
      if (order.filter((each) => each === 'many').length === 200) resolve();
    });
  });
  const socket = await dial(party);
  socket.write(Buffer.concat(Array<Buffer>(200).fill(options('TCP 127.0.0.1', 'many'))));
  await done;
  assert.ok(order.indexOf('other work') < 100, `after ${order.indexOf('other work')}`);
  socket.destroy();
  await party.transports.close();
});

test.run();
