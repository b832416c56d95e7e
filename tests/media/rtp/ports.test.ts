import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PortPool } from '../../../src/media/rtp/ports.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeNetwork, settle } from '../support.ts';

/** A pool whose random draws are those given, as shares of the range, then 0. */
function pool(first: number, last: number, drainMs = 500, drawn: number[] = []) {
  const clock = new ManualClock(0);
  const network = new FakeNetwork();
  const random32 = () => Math.floor((drawn.shift() ?? 0) * 0x1_0000_0000);
  const range = { first, last };
  const ports = new PortPool({ clock, sockets: network, address: '127.0.0.1', range, drainMs, random32 });
  return { clock, network, ports };
}

test('pairs are an even port and the one above it, drawn at random; one that is taken is drawn again', async () => {
  const { ports } = pool(10_001, 10_007, 500, [0.99, 0.4, 0.4, 0]);
  const pairs = [await ports.acquire(), await ports.acquire(), await ports.acquire()];
  assert.equal(
    pairs.map(({ rtp, rtcp }) => [rtp.port, rtcp.port]),
    [
      [10_006, 10_007],
      [10_004, 10_005],
      [10_002, 10_003],
    ],
  );
});

test('a pair of which one port is taken by another program is left out', async () => {
  const { ports, network } = pool(10_000, 10_005);
  network.foreign.add(10_001);
  network.foreign.add(10_002);
  assert.is((await ports.acquire()).rtp.port, 10_004);
  assert.equal([...network.listeners.keys()], [10_004, 10_005], 'nothing stays bound of those left out');
});

test('each thread takes ports of its own share first, so that ports of a lost thread stay free', async () => {
  const network = new FakeNetwork();
  const pools = [0, 1, 2].map(
    (at) =>
      new PortPool({
        ...{ clock: new ManualClock(0), sockets: network, address: '127.0.0.1', drainMs: 500, random32: () => 0 },
        ...{ range: { first: 10_000, last: 10_015 }, share: { at, of: 3 } },
      }),
  );
  const ports: number[] = [];
  for (let round = 0; round < 2; round++) for (const each of pools) ports.push((await each.acquire()).rtp.port);
  assert.equal(ports, [10_000, 10_004, 10_010, 10_002, 10_006, 10_012]);
  const left = [(await pools[0]!.acquire()).rtp.port, (await pools[0]!.acquire()).rtp.port];
  assert.equal(left, [10_008, 10_014], 'pairs of others are taken when its own are used up');
});

test('without a free pair opening is refused with the range in words', async () => {
  const { ports } = pool(10_000, 10_001);
  await ports.acquire();
  const refused = await ports.acquire().catch((error: Error) => error.message);
  assert.is(refused, 'no free pair of RTP ports in 10000-10001 on 127.0.0.1');
});

test('a pair that was given back stays bound and deaf, then is free; who waits for it gets it', async () => {
  const { ports, network, clock } = pool(10_000, 10_001);
  const pair = await ports.acquire();
  let heard = 0;
  pair.rtp.listen(() => heard++);
  ports.release(pair);
  assert.is(ports.used, 0);
  network.deliver(10_000, new Uint8Array(12));
  assert.is(heard, 0);
  let opened = 0;
  const waiting = ports.acquire().then(({ rtp }) => (opened = rtp.port));
  await settle();
  clock.advance(499);
  await settle();
  assert.is(opened, 0);
  clock.advance(1);
  await waiting;
  assert.equal([opened, ports.used, clock.pending], [10_000, 1, 0]);
});

test('requests beyond the ports that become free are refused at once; waiting ones are served in order', async () => {
  const { ports, network, clock } = pool(10_000, 10_003);
  const first = await ports.acquire();
  const second = await ports.acquire();
  ports.release(first);
  clock.advance(100);
  ports.release(second);
  const opened: string[] = [];
  const asked = ['a', 'b', 'c', 'd'].map((name) =>
    ports.acquire().then(
      ({ rtp }) => opened.push(`${name} ${rtp.port}`),
      () => opened.push(`${name} refused`),
    ),
  );
  await settle();
  assert.equal(opened, ['c refused', 'd refused']);
  const attempts = network.attempts;
  clock.advance(400);
  await settle();
  assert.equal(opened.slice(2), ['a 10000']);
  clock.advance(100);
  await Promise.all(asked);
  assert.equal(opened.slice(3), ['b 10002']);
  assert.is(network.attempts - attempts, 4, 'only ports that are free are bound');
});

test('however unlucky the draws, the last free pair is found', async () => {
  const { ports } = pool(10_000, 10_005, 500, new Array(100).fill(0.5));
  const taken = [await ports.acquire(), await ports.acquire(), await ports.acquire()];
  assert.equal(
    taken.map(({ rtp }) => rtp.port),
    [10_002, 10_004, 10_000],
  );
});

test('with no range the system chooses, and the pair is still even and odd', async () => {
  const { ports } = pool(0, 0);
  const { rtp, rtcp } = await ports.acquire();
  assert.equal([rtp.port % 2, rtcp.port - rtp.port], [0, 1]);
});

test('closing frees what drains and refuses those who wait', async () => {
  const { ports, network, clock } = pool(10_000, 10_001);
  ports.release(await ports.acquire());
  const waiting = ports.acquire().catch((error: Error) => error.message);
  await settle();
  ports.close();
  assert.is(await waiting, 'the media ports are closed');
  assert.equal([network.listeners.size, clock.pending], [0, 0]);
});

test.run();
