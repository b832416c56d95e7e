import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NameServer } from '../../../src/sip/location/names.ts';
import { createBench, nothing } from './bench.ts';

type Bench = ReturnType<typeof createBench>;

/** A proxy that stands at two places (RFC 3263 4.3). */
const names: NameServer = {
  naptr: async () => [],
  srv: async () => [],
  addresses: async (name) =>
    name === 'proxy.example' ? ['192.0.2.31', '192.0.2.32'].map((address) => ({ address, ttl: 60 })) : [],
};

/** A call of ours by way of that proxy, answered; what was sent so far is forgotten. */
async function answered(bench: Bench) {
  const call = bench.call();
  const invite = (await bench.request()).append('Record-Route', '<sip:proxy.example:5060;lr>');
  bench.answer(invite, 200);
  await bench.request();
  await bench.heard();
  return call;
}

const sentTo = (bench: Bench) =>
  bench.transports.sent
    .splice(0)
    .map(({ message, target }) => [
      message.kind === 'request' ? message.method : message.status,
      target.address,
      message.cseq.number,
    ]);

test('a BYE that nobody answers at one place of the proxy goes to the other, with the next number', async () => {
  const bench = createBench({ names });
  const call = await answered(bench);
  assert.equal(sentTo(bench).at(-1), ['ACK', '192.0.2.31', 1]);
  call.hangup();
  await bench.advance(32_000);
  const tries = sentTo(bench);
  assert.equal([...new Set(tries.map((each) => each.join(' ')))], ['BYE 192.0.2.31 2', 'BYE 192.0.2.32 3']);
  bench.transports.sent.length = 0;
  await bench.advance(500);
  bench.answer(await bench.request(), 200);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('one that says 503 has another beside it; when none is left, that is the answer', async () => {
  const bench = createBench({ names });
  const call = await answered(bench);
  sentTo(bench);
  call.usage!.request('news', 'INFO');
  bench.answer(await bench.request(), 503);
  await bench.heard();
  assert.equal(sentTo(bench), [
    ['INFO', '192.0.2.31', 2],
    ['INFO', '192.0.2.32', 3],
  ]);
  call.usage!.request('more', 'INFO');
  bench.answer(await bench.request(), 503);
  bench.answer(await bench.request(), 503);
  assert.equal((await bench.heard()).at(-1), 'more 503');
  bench.agent.close();
});

test('an ACK that cannot be sent to one place goes to the other', async () => {
  const bench = createBench({ names });
  bench.call();
  const invite = (await bench.request()).append('Record-Route', '<sip:proxy.example:5060;lr>');
  const send = bench.transports.send.bind(bench.transports);
  bench.transports.send = (bytes, target, onFailure) =>
    target.address === '192.0.2.31'
      ? queueMicrotask(() => onFailure?.({ reason: 'connect', target }))
      : send(bytes, target, onFailure);
  sentTo(bench);
  bench.answer(invite, 200);
  await bench.heard();
  assert.equal(sentTo(bench), [['ACK', '192.0.2.32', 1]]);
  bench.agent.close();
});

test.run();
