import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createIds } from '../../../src/lib/ids.ts';
import { createDigestClient } from '../../../src/sip/auth/client.ts';
import type { NameServer } from '../../../src/sip/location/names.ts';
import { TargetMemory } from '../../../src/sip/location/target-memory.ts';
import { parseUri } from '../../../src/sip/message/uri.ts';
import type { OpenProbe } from '../../../src/sip/transport/probes.ts';
import type { Target } from '../../../src/sip/transport/transport.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { createBench, nothing, target } from './bench.ts';

type Bench = ReturnType<typeof createBench>;

const hosts: Record<string, string[]> = {
  'proxy.example': ['192.0.2.31', '192.0.2.32'],
  'other.example': ['192.0.2.41', '192.0.2.42'],
};

/** Proxies that stand at two places (RFC 3263 4.3). */
const names: NameServer = {
  naptr: async () => [],
  srv: async () => [],
  addresses: async (name) => (hosts[name] ?? []).map((address) => ({ address, ttl: 60 })),
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

const failover = { patienceMs: 4_000, avoidMs: 180_000 };
const calling = (bench: Bench) => bench.call([], undefined, undefined, 'sip:bob@proxy.example');
const invites = (bench: Bench) =>
  sentTo(bench)
    .filter(([what]) => what === 'INVITE')
    .map(([, address]) => address);

test('a silent server is left after 4 s if there is another, and comes last for 3 minutes', async () => {
  const bench = createBench({ names, failover });
  calling(bench);
  await bench.advance(3_999);
  assert.equal([...new Set(invites(bench))], ['192.0.2.31']);
  await bench.advance(1);
  const second = await bench.request();
  assert.equal(invites(bench), ['192.0.2.32']);
  bench.answer(second, 486);
  assert.equal((await bench.heard())[0], 'refused 486');
  calling(bench);
  const next = await bench.request();
  assert.equal(invites(bench), ['192.0.2.32']);
  bench.answer(next, 486);
  await bench.advance(180_000);
  sentTo(bench);
  calling(bench);
  await bench.heard();
  assert.equal(invites(bench), ['192.0.2.31']);
  bench.agent.close();
});

/** Probes that the test answers. */
function createProbes() {
  const open = new Map<string, () => void>();
  const asked: string[] = [];
  const openProbe: OpenProbe = (address, _port, refused) => {
    asked.push(address);
    open.set(address, refused);
    return () => void open.delete(address);
  };
  return { openProbe, open, asked };
}

test('a silent UDP server whose port is closed is given up as soon as ICMP says so', async () => {
  const probes = createProbes();
  const bench = createBench({ names, failover, openProbe: probes.openProbe });
  calling(bench);
  await bench.advance(499);
  assert.equal(probes.asked, []);
  await bench.advance(1);
  assert.equal(probes.asked, ['192.0.2.31']);
  const refused = probes.open.get('192.0.2.31')!;
  invites(bench);
  refused();
  const second = await bench.request();
  assert.equal(invites(bench), ['192.0.2.32']);
  await bench.advance(1_000);
  assert.equal(probes.asked, ['192.0.2.31'], 'the last server has the whole time of a transaction');
  bench.answer(second, 486);
  assert.equal((await bench.heard())[0], 'refused 486');
  calling(bench);
  await bench.request();
  assert.equal(invites(bench).at(-1), '192.0.2.32');
  bench.agent.close();
});

test('a probe ends with the answer of its server; requests share it, and no more are open than allowed', async () => {
  const probes = createProbes();
  const bench = createBench({ names, failover, openProbe: probes.openProbe });
  calling(bench);
  const one = await bench.request();
  calling(bench);
  const other = await bench.request();
  bench.call([], undefined, undefined, 'sip:bob@other.example');
  await bench.request();
  await bench.advance(500);
  assert.equal([probes.asked, [...probes.open.keys()]], [['192.0.2.31'], ['192.0.2.31']]);
  assert.equal(bench.limits.figures(), { 'sip.dns.most_probes': 1 });
  bench.answer(one, 100);
  assert.is(probes.open.size, 1);
  bench.answer(other, 486);
  await bench.heard();
  assert.is(probes.open.size, 0);
  bench.agent.close();
});

test('the last server of several has the whole time of a transaction', async () => {
  const bench = createBench({ names, failover });
  calling(bench);
  await bench.advance(4_000);
  await bench.advance(31_000);
  assert.equal(await bench.heard(), []);
  await bench.advance(1_000);
  assert.is((await bench.heard())[0], 'failed 408');
  assert.equal(await bench.leaks(), nothing);
});

test('what a server that was given up says later starts no second call: it is cancelled, or ended at once', async () => {
  for (const late of [180, 200]) {
    const bench = createBench({ names, failover });
    calling(bench);
    const first = await bench.request();
    await bench.advance(4_000);
    const second = await bench.request();
    bench.answer(second, 200, { toTag: 'second' });
    assert.ok((await bench.heard()).includes('answered 200'));
    sentTo(bench);
    bench.answer(first, late, { toTag: 'first' });
    await bench.heard();
    const said = sentTo(bench).map(([what]) => what);
    assert.equal(said, late === 180 ? ['CANCEL'] : ['ACK', 'BYE']);
    assert.equal(bench.errors, []);
    bench.agent.close();
  }
});

test('a server that answers is the first again; one that holds a registration comes before all others', () => {
  const clock = new ManualClock();
  const memory = new TargetMemory(clock, () => failover);
  const [one, other, third] = [31, 32, 33].map(
    (last): Target => ({ protocol: 'udp', address: `192.0.2.${last}`, port: 5060 }),
  ) as [Target, Target, Target];
  const order = () => memory.inOrder([one, other, third]).map(({ address }) => address.slice(-2));
  memory.failed(one);
  assert.equal(order(), ['32', '33', '31']);
  memory.heard(one);
  assert.equal(order(), ['31', '32', '33']);
  memory.registered(third, 1);
  assert.equal(order(), ['33', '31', '32']);
  memory.failed(third);
  assert.equal(order(), ['31', '32', '33']);
  clock.advance(180_000);
  assert.equal(order(), ['33', '31', '32']);
  memory.registered(third, -1);
  assert.equal(order(), ['31', '32', '33']);
});

test('a thousand servers that failed are remembered, no more', () => {
  const clock = new ManualClock();
  const memory = new TargetMemory(clock, () => failover);
  const at = (port: number): Target => ({ protocol: 'udp', address: '192.0.2.31', port });
  for (let port = 1; port <= 1_001; port++) memory.failed(at(port));
  assert.equal(
    memory.inOrder([at(2), at(1)]).map(({ port }) => port),
    [1, 2],
  );
});

test('a server that asks for a password again and again has two answers', async () => {
  const bench = createBench();
  const digest = createDigestClient([{ username: 'us', password: 'p' }], createIds(bench.clock));
  let requests = 0;
  bench.agent.request(
    {
      method: 'OPTIONS',
      uri: parseUri('sip:192.0.2.9:5070')!,
      from: { uri: parseUri('sip:us@192.0.2.1')!, params: {} },
      to: { uri: parseUri('sip:us@192.0.2.1')!, params: {} },
      target,
      digest,
    },
    { onFinal: ({ status }) => bench.told.push(`final ${status}`), onFailure: () => {} },
  );
  for (let round = 0; round < 10 && bench.told.length === 0; round++) {
    const request = await bench.request();
    requests++;
    bench.answer(request, 401, {
      headers: [['WWW-Authenticate', `Digest realm="r${round}", nonce="n${round}", algorithm=MD5`]],
    });
    await bench.advance(1);
  }
  assert.equal([requests, await bench.heard()], [3, ['final 401']]);
  bench.agent.close();
});

test.run();
