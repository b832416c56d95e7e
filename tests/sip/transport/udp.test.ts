import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ListenError } from '../../../src/sip/transport/transport.ts';
import { addressOf, failureOf, openParty, options } from './bench.ts';

test('a datagram arrives with the address it came from, and the answer goes back there', async () => {
  const [a, b] = [await openParty(), await openParty()];
  a.transports.send(options(), addressOf(b, 'udp'));
  const { message, source } = await b.messages.next();
  assert.is(message.startLine, 'OPTIONS sip:us@127.0.0.1 SIP/2.0');
  assert.equal(source, {
    ...addressOf(a, 'udp'),
    listener: b.transports.listeners[0]!.id,
  });
  b.transports.send(options(), source);
  assert.is((await a.messages.next()).source.port, addressOf(b, 'udp').port);
  assert.equal(b.transports.counts(), { received: 1, sent: 1, malformed: 0, sendFailures: 0, connections: 0 });
  await Promise.all([a.transports.close(), b.transports.close()]);
});

test('the top Via of a request gets received and rport', async () => {
  const [a, b] = [await openParty(), await openParty()];
  const { port } = addressOf(a, 'udp');
  for (const [sent, stamped] of [
    ['UDP 127.0.0.1;branch=z9hG4bK1', 'UDP 127.0.0.1;branch=z9hG4bK1'],
    ['UDP 10.1.1.1:5070;branch=z9hG4bK2', 'UDP 10.1.1.1:5070;branch=z9hG4bK2;received=127.0.0.1'],
    ['UDP 10.1.1.1;rport;branch=z9hG4bK3', `UDP 10.1.1.1;rport=${port};branch=z9hG4bK3;received=127.0.0.1`],
    ['UDP 127.0.0.1;branch=z9hG4bK4;received=9.9.9.9', 'UDP 127.0.0.1;branch=z9hG4bK4'],
    [
      'UDP phone.local;branch=z9hG4bK5, SIP/2.0/UDP x.y',
      'UDP phone.local;branch=z9hG4bK5;received=127.0.0.1, SIP/2.0/UDP x.y',
    ],
  ]) {
    a.transports.send(options(sent), addressOf(b, 'udp'));
    assert.is((await b.messages.next()).message.header('Via'), `SIP/2.0/${stamped}`);
  }
  await Promise.all([a.transports.close(), b.transports.close()]);
});

test('keep-alives are passed over, STUN is answered, garbage is counted, and none disturbs what follows', async () => {
  const party = await openParty();
  const socket = createSocket('udp4');
  const { port } = addressOf(party, 'udp');
  const stun = Buffer.from('000100002112a442000000000000000000000000', 'hex');
  for (const bytes of ['\r\n\r\n', Buffer.of(0), stun, Buffer.alloc(0), 'nonsense'])
    socket.send(bytes, port, '127.0.0.1');
  const { failure } = await party.malformed.next();
  assert.is(failure.problem, 'the first line is no SIP line');
  socket.send(Buffer.concat([Buffer.from('\r\n'), options()]), port, '127.0.0.1');
  assert.is((await party.messages.next()).message.callId, 'abc');
  assert.equal(party.transports.counts(), { received: 2, sent: 1, malformed: 1, sendFailures: 0, connections: 0 });
  socket.close();
  await party.transports.close();
});

test('a large datagram arrives whole; one that no datagram holds is refused', async () => {
  const [a, b] = [await openParty(), await openParty()];
  const body = 'x'.repeat(60_000);
  a.transports.send(options(undefined, body), addressOf(b, 'udp'));
  assert.is((await b.messages.next()).message.bodyText, body);
  const failure = await failureOf(a.transports, Buffer.alloc(65_508), addressOf(b, 'udp'));
  assert.is(failure.reason, 'too-large');
  await Promise.all([a.transports.close(), b.transports.close()]);
});

test('a send fails with a report without a listener of that family, to a bad port, and after the close', async () => {
  const { transports } = await openParty();
  const reason = async (address: string, port: number) =>
    (await failureOf(transports, options(), { protocol: 'udp', address, port })).reason;
  assert.is(await reason('::1', 5060), 'no-listener');
  assert.is(await reason('127.0.0.1', 0), 'io');
  await transports.close();
  assert.is(await reason('127.0.0.1', 5060), 'closed');
  assert.is(transports.counts().sendFailures, 3);
});

test('a port that is taken is named, and nothing stays open', async () => {
  const party = await openParty();
  const other = await openParty();
  for (const protocol of ['udp', 'tcp'] as const) {
    const { port } = addressOf(party, protocol);
    const listens = [
      { protocol, host: '127.0.0.1', port: 0 },
      { protocol, host: '127.0.0.1', port },
    ];
    const error = await other.transports.bind(listens).catch((thrown: unknown) => thrown);
    assert.instance(error, ListenError);
    assert.is((error as ListenError).code, 'EADDRINUSE');
    assert.is((error as Error).message, `cannot listen on ${protocol} 127.0.0.1 port ${port}: the port is taken`);
    assert.is(other.transports.listeners.length, 2);
  }
  await Promise.all([party.transports.close(), other.transports.close()]);
});

test('IPv6 is served beside IPv4', async () => {
  const party = await openParty();
  const listeners = await party.transports.bind([{ protocol: 'udp', host: '::1', port: 0 }]);
  const socket = createSocket('udp6');
  socket.send(options('UDP [2001:db8::9]:5060;branch=z9hG4bK1'), listeners[0]!.port, '::1');
  const { message, source } = await party.messages.next();
  assert.is(source.address, '::1');
  assert.is(message.header('Via'), 'SIP/2.0/UDP [2001:db8::9]:5060;branch=z9hG4bK1;received=::1');
  const answered = once(socket, 'message');
  party.transports.send(options(), source);
  assert.equal((await answered)[0], options());
  assert.equal(party.transports.localAddress(source), { host: '::1', port: listeners[0]!.port });
  socket.close();
  await party.transports.close();
});

test('our own address is the listener’s, the advertised one, or found by the peer’s network', async () => {
  const { transports } = await openParty();
  const target = { protocol: 'udp', address: '127.0.0.1', port: 5060 } as const;
  assert.equal(transports.localAddress(target), { host: '127.0.0.1', port: transports.listeners[0]!.port });
  const [all, outside] = await transports.bind([
    { protocol: 'udp', host: '0.0.0.0', port: 0 },
    { protocol: 'udp', host: '127.0.0.1', port: 0, advertisedHost: 'sip.example.com', advertisedPort: 5060 },
  ]);
  assert.equal(transports.localAddress({ ...target, listener: all!.id }), { host: '127.0.0.1', port: all!.port });
  assert.equal(transports.localAddress({ ...target, listener: outside!.id }), { host: 'sip.example.com', port: 5060 });
  assert.is(transports.localAddress({ protocol: 'udp', address: '::1', port: 5060 }), undefined);
  await transports.close();
});

test('a receiver that throws does not stop the receiving', async () => {
  const [a, b] = [await openParty(), await openParty()];
  let calls = 0;
  const twice = new Promise<void>((resolve) => {
    b.transports.onMessage(() => {
      if (++calls === 2) resolve();
      throw new Error('broken');
    });
  });
  a.transports.send(options(), addressOf(b, 'udp'));
  a.transports.send(options(), addressOf(b, 'udp'));
  await twice;
  await Promise.all([a.transports.close(), b.transports.close()]);
});

test.run();
