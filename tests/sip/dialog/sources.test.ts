import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { peer } from '../transaction/fake-transports.ts';
import { createBench, nothing } from './bench.ts';

const elsewhere = { ...peer('udp'), address: '203.0.113.5' };
const otherPort = peer('udp', 5099);

/** A call of the peer's that stands; strangers are challenged. */
async function connected(sdp = 'their-offer') {
  const bench = createBench();
  bench.user.challenge = [['WWW-Authenticate', 'Digest realm="r", nonce="n"']];
  const number = bench.send('INVITE', sdp === '' ? {} : { sdp });
  bench.incoming.at(-1)!.answer('ours');
  const toTag = (await bench.response()).toTag!;
  if (sdp !== '') bench.send('ACK', { toTag, number });
  await bench.sent();
  await bench.heard();
  return { bench, toTag, number };
}

test('who knows the tags but sends from elsewhere is challenged, and changes nothing', async () => {
  const { bench, toTag } = await connected();
  for (const source of [elsewhere, otherPort, { ...peer('tcp'), port: 5070 }])
    for (const method of ['INVITE', 'UPDATE', 'INFO', 'BYE'])
      bench.send(method, { toTag, source, sdp: 'evil', number: 2 ** 31 - 1, branch: `z9hG4bK${source.port}${method}` });
  assert.is((await bench.response()).header('WWW-Authenticate'), 'Digest realm="r", nonce="n"');
  assert.equal([...new Set(await bench.sent())], ['401 INVITE', '401 UPDATE', '401 INFO', '401 BYE']);
  assert.equal(await bench.heard(), []);
  bench.send('INFO', { toTag });
  bench.send('BYE', { toTag });
  assert.equal(await bench.sent(), ['200 INFO', '200 BYE']);
  assert.equal(await bench.leaks(), nothing);
});

test('a peer that has proved to be elsewhere is known there, and where it was', async () => {
  const { bench, toTag } = await connected();
  const challenge = bench.user.challenge;
  bench.user.challenge = undefined;
  bench.send('INFO', { toTag, source: elsewhere });
  bench.user.challenge = challenge;
  bench.send('INFO', { toTag, source: elsewhere });
  bench.send('INFO', { toTag });
  bench.send('INFO', { toTag, source: otherPort });
  assert.equal(await bench.sent(), ['200 INFO', '200 INFO', '200 INFO', '401 INFO']);
  bench.agent.close();
});

for (const protocol of ['udp', 'tcp', 'tls', 'ws', 'wss'] as const)
  test(`refreshes of the session over ${protocol} from where the INVITE came are not challenged`, async () => {
    const bench = createBench();
    const source = peer(protocol, 5070);
    bench.user.challenge = [['WWW-Authenticate', 'Digest realm="r", nonce="n"']];
    const number = bench.send('INVITE', { sdp: 'their-offer', source });
    bench.incoming.at(-1)!.answer('ours');
    const toTag = (await bench.response()).toTag!;
    bench.send('ACK', { toTag, number, source });
    await bench.sent();
    for (let refresh = 0; refresh < 10; refresh++) bench.send('UPDATE', { toTag, source });
    assert.equal(
      await bench.sent(),
      Array.from({ length: 10 }, () => '200 UPDATE'),
    );
    bench.agent.close();
  });

test('a BYE is taken whatever number a request before it had', async () => {
  const { bench, toTag } = await connected();
  bench.send('INFO', { toTag, number: 2 ** 31 - 1 });
  bench.send('INFO', { toTag, number: 500 });
  bench.send('BYE', { toTag, number: 501 });
  assert.equal(await bench.sent(), ['200 INFO', '500 INFO', '200 BYE']);
  assert.equal(await bench.heard(), ['INFO', 'ended bye', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('an ACK that says where our audio goes is only taken from where the peer is', async () => {
  const { bench, toTag, number } = await connected('');
  bench.send('ACK', { toTag, number, sdp: 'evil', source: elsewhere });
  assert.equal(await bench.heard(), []);
  bench.send('ACK', { toTag, number, sdp: 'theirs', source: otherPort });
  assert.equal(await bench.heard(), ['acknowledged', 'answer theirs']);
  bench.agent.close();
});

/** A call that came over TCP, whose connection is gone, and that we hang up. */
async function disconnected() {
  const bench = createBench();
  const source = peer('tcp', 5070);
  const number = bench.send('INVITE', { sdp: 'their-offer', source });
  const call = bench.incoming.at(-1)!;
  call.answer('ours');
  const toTag = (await bench.response()).toTag!;
  bench.send('ACK', { toTag, number, source });
  await bench.sent();
  await bench.heard();
  bench.transports.closeConnection(source);
  bench.transports.failWith = 'connect';
  return { bench, call, toTag, source: { ...source, port: 5099, connection: 8 } };
}

test('a BYE to a peer whose connection is gone goes over the next one', async () => {
  const { bench, call, toTag, source } = await disconnected();
  call.usage.bye();
  await bench.advance(2_000);
  assert.equal(await bench.sent(), []);
  bench.transports.failWith = undefined;
  bench.send('INFO', { toTag, source });
  await bench.advance(0);
  assert.equal(bench.transports.sent.find(({ message }) => message.kind === 'request')?.target, source);
  assert.equal((await bench.sent()).sort(), ['481 INFO', 'BYE']);
  bench.agent.close();
});

test('a BYE to a peer that never connects again is given up as one without an answer is', async () => {
  const { bench, call } = await disconnected();
  call.usage.bye();
  await bench.advance(31_000);
  assert.equal(await bench.heard(), []);
  await bench.advance(8_000);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.sent(), []);
  assert.equal(await bench.leaks(), nothing);
});

test('a dialog follows its peer to the connection that it registered over', async () => {
  const { bench, call, source } = await disconnected();
  bench.user.registered = source;
  bench.transports.failWith = undefined;
  call.usage.bye();
  await bench.request();
  assert.equal(bench.transports.sent.at(-1)?.target, source);
  assert.equal(await bench.sent(), ['BYE']);
  bench.agent.close();
});

test.run();
