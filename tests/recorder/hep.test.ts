import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRuntime } from '../../src/actors/spawn.ts';
import { buildHomer } from '../../src/build/homer.ts';
import { buildMailboxes } from '../../src/build/mailboxes.ts';
import { loadConfig } from '../../src/config/load.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Scope } from '../../src/lib/scope.ts';
import { formatTimestamp } from '../../src/models/timestamp.ts';
import { type OpenUdp, openUdpSocket } from '../../src/sip/transport/udp.ts';
import { recordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { createTestRecorder } from '../support/recorder.ts';

const hep = suite('HEP3');

/** Reads a packet by what is written of the format: vendor, type, length, value. */
function read(packet: Buffer): Map<number, Buffer> {
  assert.is(packet.toString('latin1', 0, 4), 'HEP3');
  assert.is(packet.readUInt16BE(4), packet.length);
  const chunks = new Map<number, Buffer>();
  for (let at = 6; at < packet.length; ) {
    assert.is(packet.readUInt16BE(at), 0);
    const length = packet.readUInt16BE(at + 4);
    chunks.set(packet.readUInt16BE(at + 2), packet.subarray(at + 6, at + length));
    at += length;
  }
  return chunks;
}

hep('a SIP message comes to the collector as it was, without what authenticates anybody', async () => {
  const collector = createSocket('udp4');
  collector.bind(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const log = recordingLog();
  const recorder = createTestRecorder(createRuntime(systemClock, log), systemClock);
  const scope = new Scope();
  const config = loadConfig({ env: {} });
  const settings = { ...config.recorder.hep, address: '127.0.0.1', port, agent: 7, key: 'shown' };
  await buildHomer(settings, { recorder, log, scope, clock: systemClock });
  const heard = once(collector, 'message') as Promise<[Buffer]>;
  const lines = ['OPTIONS sip:a SIP/2.0', 'Call-ID: x@y', 'CSeq: 1 OPTIONS', 'Authorization: Digest secret', '', ''];
  recorder.sip(
    'in',
    Buffer.from(lines.join('\r\n')),
    { address: '192.0.2.1', port: 5060 },
    { address: '192.0.2.9', port: 40_000, protocol: 'tcp' },
  );
  const [packet] = await heard;
  const chunks = read(packet);
  const number = (type: number): number =>
    (chunks.get(type) ?? Buffer.alloc(0)).readUIntBE(0, chunks.get(type)?.length ?? 0);
  assert.equal([1, 2, 7, 8, 11, 12].map(number), [2, 6, 40_000, 5060, 1, 7]);
  assert.equal(
    [3, 4].map((type) => [...(chunks.get(type) ?? [])].join('.')),
    ['192.0.2.9', '192.0.2.1'],
  );
  assert.equal(
    [14, 17].map((type) => String(chunks.get(type))),
    ['shown', 'x@y'],
  );
  assert.is(String(chunks.get(15)), [...lines.slice(0, 3), 'Authorization: Digest ***', '', ''].join('\r\n'));
  await scope.close();
  recorder.close();
  collector.close();
  assert.equal(log.lines, []);
});

hep(
  'over TCP packets follow one another, and a collector that is configured anew takes the place of another',
  async () => {
    const arrived: Buffer[] = [];
    let seen = (): void => {};
    const collector = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => {
        arrived.push(data);
        seen();
      });
    });
    collector.listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const other = createSocket('udp4');
    other.bind(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = collector.address() as AddressInfo;
    const log = recordingLog();
    const recorder = createTestRecorder(createRuntime(systemClock, log), systemClock);
    const scope = new Scope();
    const base = loadConfig({ env: {} }).recorder.hep;
    const stream = { ...base, address: '127.0.0.1', port, transport: 'tcp' as const };
    const { take } = await buildHomer(stream, { recorder, log, scope, clock: systemClock });
    const say = (name: string): void => {
      const [local, remote] = [
        { address: '192.0.2.1', port: 5060 },
        { address: '192.0.2.9', port: 40_000 },
      ];
      const text = `OPTIONS sip:${name} SIP/2.0\r\nCall-ID: ${name}\r\nCSeq: 1 OPTIONS\r\n\r\n`;
      recorder.sip('in', Buffer.from(text), local, { ...remote, protocol: 'udp' });
    };
    /** The packets of the stream, by the lengths that they tell. */
    const packets = (): Buffer[] => {
      const whole = Buffer.concat(arrived);
      const found: Buffer[] = [];
      for (let at = 0; at + 6 <= whole.length && at + whole.readUInt16BE(at + 4) <= whole.length; )
        at += (found[found.push(whole.subarray(at, at + whole.readUInt16BE(at + 4))) - 1] as Buffer).length;
      return found;
    };
    say('a');
    say('b');
    while (packets().length < 2)
      await new Promise<void>((resolve) => {
        seen = resolve;
      });
    assert.equal(
      packets().map((packet) => String(read(packet).get(17))),
      ['a', 'b'],
    );
    const heard = once(other, 'message') as Promise<[Buffer]>;
    void take({ ...base, address: '127.0.0.1', port: (other.address() as AddressInfo).port });
    const talking = setInterval(() => say('c'), 10);
    assert.is(String(read((await heard)[0]).get(17)), 'c');
    clearInterval(talking);
    assert.is(packets().length, 2);
    void take(base);
    await scope.close();
    recorder.close();
    other.close();
    collector.close();
    assert.equal(
      log.lines.filter(({ level }) => level !== 'info'),
      [],
    );
  },
);

hep(
  'where no socket to another collector can be had, the one before stays, and the next change is tried anew',
  async () => {
    const [first, second] = [createSocket('udp4'), createSocket('udp4')];
    for (const collector of [first, second]) {
      collector.bind(0, '127.0.0.1');
      await once(collector, 'listening');
    }
    const log = recordingLog();
    const recorder = createTestRecorder(createRuntime(systemClock, log), systemClock);
    const scope = new Scope();
    const base = loadConfig({ env: {} }).recorder.hep;
    const at = (collector: typeof first) => ({ ...base, address: '127.0.0.1', port: collector.address().port });
    let refuses = false;
    let tried = (): void => {};
    const open: OpenUdp = (options) => {
      tried();
      return refuses ? Promise.reject(new Error('no descriptors are left')) : openUdpSocket(options);
    };
    const { take, standing } = await buildHomer(at(first), { recorder, log, scope, clock: systemClock, open });
    const say = (): void => {
      const [local, remote] = [
        { address: '192.0.2.1', port: 5060 },
        { address: '192.0.2.9', port: 40_000 },
      ];
      recorder.sip('in', Buffer.from('OPTIONS sip:a SIP/2.0\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\n\r\n'), local, {
        ...remote!,
        protocol: 'udp',
      });
    };
    refuses = true;
    const trying = new Promise<void>((resolve) => {
      tried = resolve;
    });
    const refused = take(at(second));
    await trying;
    assert.is(
      await refused.catch((error: Error) => error.message),
      'no socket to the HEP collector could be opened: no descriptors are left',
    );
    const { since: _since, ...told } = standing() ?? {};
    assert.equal(told, {
      ...{ address: '127.0.0.1', port: first.address().port, transport: 'udp', state: 'sending', left_out: 0 },
      refused: 'no descriptors are left',
    });
    const stays = once(first, 'message');
    say();
    await stays;
    refuses = false;
    await take(at(second));
    assert.equal([standing()?.port, standing()?.refused], [second.address().port, undefined]);
    const moved = once(second, 'message');
    const talking = setInterval(say, 10);
    await moved;
    clearInterval(talking);
    await scope.close();
    recorder.close();
    first.close();
    second.close();
    assert.equal(log.lines, []);
  },
);

hep('of a collector that is not there is told why, and what was left out, until it is there', async () => {
  const taken = createServer();
  taken.listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, 'close');
  const clock = new ManualClock();
  let lost = (): void => {};
  const losing = new Promise<void>((resolve) => {
    lost = resolve;
  });
  const log = { ...recordingLog(), warn: () => lost() };
  const recorder = createTestRecorder(createRuntime(clock, log), clock);
  const scope = new Scope();
  const base = loadConfig({ env: {} }).recorder.hep;
  const { take, standing } = await buildHomer(base, { recorder, log, scope, clock });
  assert.is(standing(), undefined);
  await take({ ...base, address: '127.0.0.1', port, transport: 'tcp', queue: 1_024 });
  assert.is(standing()?.state, 'connecting');
  await losing;
  const text = `OPTIONS sip:a SIP/2.0\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nSubject: ${'x'.repeat(2_000)}\r\n\r\n`;
  const place = { address: '192.0.2.1', port: 5060 };
  recorder.sip('in', Buffer.from(text), place, { ...place, protocol: 'udp' });
  assert.equal(standing(), {
    ...{ address: '127.0.0.1', port, transport: 'tcp', state: 'lost', left_out: 1 },
    since: formatTimestamp(clock.now()),
    reason: `connect ECONNREFUSED 127.0.0.1:${port}`,
  });
  await take(base);
  assert.is(standing(), undefined);
  await scope.close();
  recorder.close();
});

hep('of a collector that takes the connection and never reads is told that it is behind', async () => {
  const sockets: Socket[] = [];
  const collector = createServer((socket) => {
    socket.on('error', () => {});
    sockets.push(socket.pause());
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const clock = new ManualClock();
  const log = recordingLog();
  const recorder = createTestRecorder(createRuntime(clock, log), clock);
  const scope = new Scope();
  const base = { ...loadConfig({ env: {} }).recorder.hep, address: '127.0.0.1', port, transport: 'tcp' as const };
  const homer = await buildHomer({ ...base, queue: 100_000 }, { recorder, log, scope, clock });
  const text = `OPTIONS sip:a SIP/2.0\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nSubject: ${'x'.repeat(8_000)}\r\n\r\n`;
  const place = { address: '192.0.2.1', port: 5060 };
  const say = () => recorder.sip('in', Buffer.from(text), place, { ...place, protocol: 'udp' });
  while (homer.standing()?.state !== 'behind') {
    say();
    await new Promise(setImmediate);
  }
  say();
  const nothing = { waiting: () => [] };
  const waits = () =>
    buildMailboxes(
      { applications: nothing } as never,
      { outbound: nothing, playbacks: nothing } as never,
      () => undefined,
      homer,
    )().filter(({ waiting }) => waiting > 0);
  const left = homer.standing()?.left_out ?? 0;
  assert.ok(left >= 1);
  assert.equal(homer.standing(), {
    ...{ address: '127.0.0.1', port, transport: 'tcp', state: 'behind', left_out: left },
    ...{ since: formatTimestamp(clock.now()), reason: 'it does not read what is sent' },
  });
  assert.equal(waits(), [
    {
      ...{ owner: 'recorder.hep', waiting: 1, atMost: 1, since: undefined },
      waitsFor: `the HEP collector 127.0.0.1 port ${port} (tcp) to read; ${left} ${left === 1 ? 'message was' : 'messages were'} left out`,
      since: clock.now(),
    },
  ]);
  // Once it reads, it is said so, and nothing waits any more.
  for (const socket of sockets) socket.resume();
  while (homer.standing()?.state !== 'sending') {
    await new Promise(setImmediate);
    say();
  }
  assert.equal(waits(), []);
  assert.equal(
    log.lines.map(({ level, message }) => `${level} ${message}`),
    [
      'info connected to the HEP collector',
      'warn the HEP collector is too slow; messages are dropped',
      'info the HEP collector reads again',
    ],
  );
  await scope.close();
  recorder.close();
  collector.close();
});

hep.run();
