import { MessageChannel } from 'node:worker_threads';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import { writeBindingRequest, writeBindingResponse } from '../../../src/lib/stun.ts';
import { PortPool } from '../../../src/media/rtp/ports.ts';
import { hostSockets, RelayedSockets } from '../../../src/media/rtp/relayed-sockets.ts';
import type { Sockets } from '../../../src/media/rtp/sockets.ts';
import { tracedPair } from '../../../src/media/rtp/traced-pair.ts';
import { writeCheckAnswer } from '../../../src/media/webrtc/checks.ts';
import { SharedPort } from '../../../src/media/webrtc/shared-port.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { check, iceLocal, iceRemote } from '../../support/ice-check.ts';
import { FakeNetwork } from '../support.ts';

const test = suite('one port for the calls of all browsers');

const port = 7000;
const place = (last: number, from = 4000) => ({ address: `192.0.2.${last}`, port: from });
const [here, there] = [place(1), place(2)];
/** Credentials of a session, and a check for it. */
const namesOf = (ufrag: string) => ({ local: { ...iceLocal, ufrag }, remote: iceRemote });
const checkFor = (ufrag: string, password?: string) =>
  check({ username: `${ufrag}:theirs`, ...(password && { password }) });
const audio = Buffer.alloc(172, 0x80);

function setUp() {
  const [clock, network, hits] = [new ManualClock(0), new FakeNetwork(), [] as string[]];
  const hit = (setting: string) => void hits.push(setting);
  const shared = new SharedPort({ clock, sockets: network, address: '127.0.0.1', port, drainMs: 500, hit });
  const open = async (ufrag?: string) => {
    const rtp = await shared.open();
    const heard: string[] = [];
    rtp.listen((_packet, address, from) => void heard.push(`${address}:${from}`));
    if (ufrag !== undefined) rtp.identify?.(namesOf(ufrag), undefined);
    return { rtp, heard };
  };
  const give = (packet: Uint8Array, from = here) => network.deliver(port, packet, from);
  return { clock, network, hits, shared, open, give };
}

test('two sessions hear by one port what comes from where their checks came', async () => {
  const { network, hits, open, give } = setUp();
  const [one, two] = await Promise.all([open('one'), open('two')]);
  assert.equal([one.rtp.port, two.rtp.port, network.attempts], [port, port, 1]);
  give(audio);
  assert.equal([one.heard, two.heard, hits], [[], [], ['media.webrtc.udp_port']], 'a stranger');
  give(checkFor('one'), here);
  give(checkFor('two'), there);
  for (const from of [here, here, there]) give(audio, from);
  assert.equal(one.heard, Array(3).fill('192.0.2.1:4000'));
  assert.equal(two.heard, Array(2).fill('192.0.2.2:4000'));
  two.rtp.send(audio, 9, '192.0.2.9');
  assert.equal(
    network.sent.map(({ from, to }) => [from, to]),
    [[port, '192.0.2.9:9']],
  );
  assert.is(hits.length, 1);
});

test('a check with an unknown name, a wrong password or a wrong far name gives nothing', async () => {
  const { hits, shared, open, give } = setUp();
  const one = await open('one');
  await open();
  give(checkFor('other'));
  give(checkFor('one', 'a+password+of+nobody+here'));
  give(check({ username: 'one:nobody' }));
  give(check({ username: 'one' }));
  give(audio);
  assert.equal([one.heard, hits.length, shared.known], [[], 5, 0]);
});

test('an address stays with its session while that proves it, and goes to another one after 15 s', async () => {
  const { clock, hits, open, give } = setUp();
  const [one, two] = [await open('one'), await open('two')];
  give(checkFor('one'));
  clock.advance(14_000);
  give(checkFor('two'));
  assert.equal([two.heard.length, hits.length], [0, 1]);
  give(checkFor('one'));
  clock.advance(14_999);
  give(checkFor('two'));
  assert.is(two.heard.length, 0);
  clock.advance(1);
  give(checkFor('two'));
  give(audio);
  assert.equal([one.heard.length, two.heard.length], [2, 2]);
});

test('a restart of ICE ends the old name, and keeps the address until another one is proved', async () => {
  const { hits, open, give } = setUp();
  const one = await open('one');
  give(checkFor('one'));
  one.rtp.identify?.(namesOf('new'), undefined);
  give(checkFor('one'));
  assert.is(hits.length, 1);
  give(audio);
  give(checkFor('new'), there);
  give(audio, there);
  assert.equal(one.heard, [...Array(2).fill('192.0.2.1:4000'), ...Array(2).fill('192.0.2.2:4000')]);
});

test('the end of a session frees its name and addresses; its late packets are not those of strangers', async () => {
  const { clock, hits, shared, open, give } = setUp();
  const one = await open('one');
  give(checkFor('one'), here);
  give(checkFor('one'), there);
  one.rtp.close();
  one.rtp.close();
  give(audio);
  assert.equal([one.heard.length, hits.length, shared.used], [2, 0, 0]);
  const two = await open('two');
  give(checkFor('two'), there);
  clock.advance(500);
  give(audio, there);
  assert.equal([two.heard.length, shared.known], [2, 1]);
  give(checkFor('one'));
  give(audio);
  assert.is(hits.length, 2);
});

test('10,000 datagrams of strangers beside the audio of a call change nothing', async () => {
  const { network, hits, shared, open, give } = setUp();
  const one = await open('one');
  give(checkFor('one'));
  const stranger = (at: number) => place(9, 1 + at);
  const kinds = [
    audio,
    checkFor('one', 'a+password+of+nobody+here'),
    writeBindingRequest('cd'.repeat(12)),
    Buffer.alloc(1),
  ];
  for (let at = 0; at < 10_000; at++) {
    give(kinds[at % kinds.length]!, stranger(at));
    if (at % 200 === 0) give(audio);
  }
  assert.equal([one.heard, shared.known], [Array(51).fill('192.0.2.1:4000'), 1]);
  assert.equal([hits.length, network.sent.length], [10_000, 0], 'each is counted, and none is answered');
});

test('strangers leave nothing behind, and a session has 16 addresses and 256 requests at most', async () => {
  const { clock, hits, shared, open, give } = setUp();
  const one = await open('one');
  for (let from = 1; from <= 5000; from++) {
    give(audio, place(9, from));
    give(checkFor(`x${from}`), place(9, from));
  }
  assert.equal([shared.known, hits.length], [0, 10_000]);
  for (let from = 1; from <= 100; from++) give(checkFor('one'), place(1, from));
  assert.is(shared.known, 16);
  one.heard.length = 0;
  give(audio, place(1, 84));
  give(audio, place(1, 85));
  assert.equal(one.heard, ['192.0.2.1:85']);
  const request = (id: number) => writeBindingRequest(String(id).padStart(24, '0'));
  for (let id = 0; id < 1000; id++) one.rtp.send(request(id), 3478, '192.0.2.3');
  assert.is(shared.known, 16 + 256);
  one.rtp.close();
  clock.advance(500);
  assert.is(shared.known, 0);
});

test('an answer goes to who asked: a proved one names the address, that of a STUN server does not', async () => {
  const { hits, open, give } = setUp();
  const [one, two] = [await open('one'), await open('two')];
  const request = writeBindingRequest('ab'.repeat(12));
  give(writeBindingResponse(request, here)!, there);
  assert.is(hits.length, 1, 'nobody has asked');
  one.rtp.send(request, there.port, there.address);
  give(writeBindingResponse(request, here)!, there);
  give(audio, there);
  assert.equal([one.heard.length, hits.length], [1, 2]);
  give(writeCheckAnswer(request, here, 'a+password+of+nobody+here')!, there);
  give(audio, there);
  assert.equal([one.heard.length, hits.length], [2, 3]);
  give(writeCheckAnswer(request, here, iceRemote.password)!, there);
  give(audio, there);
  assert.equal([one.heard.length, two.heard.length, hits.length], [4, 0, 3]);
});

test('a session that goes on in another thread hears from where it was found, also while it is traced', async () => {
  const { clock, shared, give } = setUp();
  const rtcp = await shared.open();
  const { rtp } = tracedPair({ rtp: rtcp, rtcp }, { put: () => undefined } as never, clock);
  const heard: number[] = [];
  rtp.listen((packet) => void heard.push(packet.length));
  rtp.identify?.(namesOf('one'), here);
  give(audio);
  assert.equal(heard, [172]);
});

test('it is bound with a buffer for many calls, also by the thread that holds sockets of Node', async () => {
  const asked: unknown[] = [];
  const network = new FakeNetwork();
  const sockets: Sockets = {
    bind(address, wanted, bufferBytes) {
      asked.push(bufferBytes);
      return network.bind(address, wanted);
    },
  };
  const { port1, port2 } = new MessageChannel();
  const close = hostSockets(sockets, { port: port1, clock: systemClock, most: 10 });
  const relayed = new RelayedSockets({ port: port2, clock: systemClock, most: 10 });
  try {
    await relayed.bind('127.0.0.1', 7001);
    await new SharedPort({
      clock: systemClock,
      sockets: relayed,
      address: '127.0.0.1',
      port,
      drainMs: 1,
      bufferBytes: 4_194_304,
    }).open();
    assert.equal(asked, [undefined, 4_194_304]);
  } finally {
    close();
    port2.close();
  }
});

test('a port that is taken is tried again for the next call', async () => {
  const { network, open, shared } = setUp();
  network.foreign.add(port);
  const refused = await open('one').catch(({ message }: Error) => message);
  assert.is(refused, 'port 7000 is taken');
  network.foreign.delete(port);
  await open('one');
  assert.is(shared.used, 1);
});

test('once it is closed, nothing is bound any more, also where binding was under way', async () => {
  const { network, open, shared } = setUp();
  const opening = open('one').catch(({ message }: Error) => message);
  shared.close();
  assert.is(await opening, 'the media ports are closed');
  assert.equal([...network.listeners.keys()], []);
  const closed = setUp();
  closed.shared.close();
  assert.is(await closed.open('two').catch(({ message }: Error) => message), 'the media ports are closed');
  assert.is(closed.network.attempts, 0);
});

test('where the system chooses the ports of calls, none has that of the browsers', async () => {
  for (let ahead = 1; ahead <= 4; ahead++) {
    const [clock, network] = [new ManualClock(0), new FakeNetwork()];
    const { port: first } = await network.bind('127.0.0.1', 0);
    const pool = new PortPool({
      ...{ clock, sockets: network, address: '127.0.0.1', range: { first: 0, last: 0 }, drainMs: 500 },
      ...{ random32: () => 0, browsers: { udpPort: first + ahead } },
    });
    const { rtp, rtcp } = await pool.take({});
    const ports = [rtp.port, rtcp.port];
    assert.not.ok(ports.includes(first + ahead), `${ports} has ${first + ahead}`);
    assert.is((await pool.take({ gathers: true })).rtp.port, first + ahead);
  }
});

test('the pool gives browsers the port, also after a loss, and others a pair', async () => {
  const [clock, network] = [new ManualClock(0), new FakeNetwork()];
  const pool = new PortPool({
    ...{ clock, sockets: network, address: '127.0.0.1', range: { first: 8000, last: 8001 }, drainMs: 500 },
    ...{ random32: () => 0, browsers: { udpPort: port } },
  });
  const pairs = [await pool.take({ gathers: true }), await pool.take({ port }), await pool.take({})];
  assert.equal(
    pairs.map(({ rtp }) => rtp.port),
    [port, port, 8000],
  );
  assert.is(pool.used, 3);
  for (const pair of pairs) pool.release(pair);
  assert.is(pool.used, 0);
  assert.equal([...network.listeners.keys()], [port, 8000, 8001], 'it stays bound for the next call');
  pool.close();
  await Promise.resolve();
  assert.equal([...network.listeners.keys()], []);
});

test.run();
