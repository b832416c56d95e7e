import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { type NetworkQuality, VirtualNetwork } from '../../src/virtual/network.ts';

const networks = suite('virtual networks');

/** Sends numbered packets 10 ms apart; what arrived when, in ms. */
async function arrivals(quality: Partial<NetworkQuality>, seed = 1, packets = 50): Promise<[number, number][]> {
  const clock = new ManualClock(0);
  const network = new VirtualNetwork({ clock, seed, quality });
  const sender = await network.host('10.0.0.1').sockets.bind('10.0.0.1', 0);
  const receiver = await network.host('10.0.0.2').sockets.bind('0.0.0.0', 4000);
  const heard: [number, number][] = [];
  receiver.listen((packet, address, port) => {
    assert.equal([address, port], ['10.0.0.1', sender.port]);
    heard.push([packet[0] ?? -1, clock.now()]);
  });
  for (let n = 0; n < packets; n++) {
    sender.send(Uint8Array.of(n), 4000, '10.0.0.2');
    await clock.run(10);
  }
  await clock.run(1_000);
  assert.is(network.counts.sent, packets);
  assert.is(network.counts.lost, packets - heard.length);
  return heard;
}

networks('a perfect one delivers everything at once, a slow one later', async () => {
  assert.equal(await arrivals({}, 1, 3), [
    [0, 0],
    [1, 10],
    [2, 20],
  ]);
  assert.equal(await arrivals({ delayMs: 25 }, 1, 3), [
    [0, 25],
    [1, 35],
    [2, 45],
  ]);
});

networks('loss, jitter and reordering follow from the seed: the same every time', async () => {
  const poor = { delayMs: 5, jitterMs: 40, loss: 0.2, reorders: true };
  const heard = await arrivals(poor);
  assert.equal(await arrivals(poor), heard);
  assert.not.equal(await arrivals(poor, 2), heard);
  assert.ok(heard.length > 30 && heard.length < 50, `${heard.length} of 50 arrived`);
  const order = heard.map(([n]) => n);
  assert.not.equal(
    order,
    order.toSorted((a, b) => a - b),
  );
  for (const [n, at] of heard) assert.ok(at >= n * 10 + 5 && at <= n * 10 + 45, `packet ${n} took ${at - n * 10} ms`);
});

networks('without reordering a slow packet holds up those behind it', async () => {
  const heard = await arrivals({ jitterMs: 40 });
  assert.is(heard.length, 50);
  assert.equal(
    heard.map(([n]) => n),
    Array.from({ length: 50 }, (_, n) => n),
  );
});

networks('ports are taken once and given back, on addresses that are the host`s', async () => {
  const clock = new ManualClock(0);
  const host = new VirtualNetwork({ clock }).host('10.0.0.1');
  const open = (address: string, port: number) =>
    host
      .openUdp({ listen: { protocol: 'udp', host: address, port }, onDatagram: () => {}, onError: () => {} })
      .catch((error: { code: string }) => error.code);
  const socket = await open('10.0.0.1', 5060);
  assert.is(await open('10.0.0.1', 5060), 'EADDRINUSE');
  assert.is(await open('10.0.0.2', 5060), 'EADDRNOTAVAIL');
  if (typeof socket !== 'string') await socket.close();
  assert.type(await open('10.0.0.1', 5060), 'object');
});

networks.run();
