import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PacketAddress } from '../../../src/media/rtp/source-lock.ts';
import { IceLite } from '../../../src/media/webrtc/ice-lite.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { attributeOf, check, header, iceLocal as local, iceRemote as remote } from '../../support/ice-check.ts';

const test = suite('ICE of a lite agent');

const fingerprint = { hash: 'sha256', digest: '' } as const;
const here: PacketAddress = { address: '192.0.2.1', port: 5000 };
const there: PacketAddress = { address: '2001:db8::1', port: 6000 };

function agent() {
  const clock = new ManualClock();
  const sent: { datagram: Buffer; to: PacketAddress }[] = [];
  const selected: (PacketAddress | undefined)[] = [];
  let expired = 0;
  const ice = new IceLite(
    { local, remote, fingerprint },
    {
      ...{ clock, consentMs: 60_000 },
      send: (datagram, to) => sent.push({ datagram: Buffer.from(datagram), to }),
      selected: (source) => selected.push(source),
      expired: () => expired++,
    },
  );
  return { clock, ice, sent, selected, expired: () => expired };
}

test('a check is answered with its source address, proved with our password; a nomination selects it', () => {
  for (const source of [here, there]) {
    const { ice, sent, selected } = agent();
    const request = check({ nominates: true });
    ice.receive(request, source);
    const { datagram } = sent[0]!;
    assert.equal([datagram.readUInt16BE(), sent[0]!.to, sent.length], [0x0101, source, 1]);
    assert.equal(datagram.subarray(4, 20), request.subarray(4, 20));
    const at = datagram.length - 32;
    const proved = Buffer.from(datagram.subarray(0, at));
    proved.writeUInt16BE(at + 24 - 20, 2);
    const expected = createHmac('sha1', local.password).update(proved).digest();
    assert.equal(datagram.subarray(at + 4, at + 24), expected);
    assert.is(datagram.readUInt32BE(datagram.length - 4), (crc32(datagram.subarray(0, -8)) ^ 0x5354554e) >>> 0);
    assert.equal(selected, [source]);
    assert.is(ice.isProved(source), true);
  }
});

const broken = (at: number) => {
  const octets = check({ nominates: true });
  octets[at < 0 ? octets.length + at : at]! ^= 1;
  return octets;
};

for (const [title, datagram] of [
  ['another password', check({ password: 'a+guess+of+22+characters' })],
  ['another name', check({ username: 'ours:others' })],
  ['our name alone', check({ username: 'ours' })],
  ['a changed fingerprint', broken(-1)],
  ['a changed proof', broken(-20)],
  ['a changed attribute', broken(30)],
  ['no proof at all', Buffer.concat([header(1, 0)])],
  ['an answer instead of a request', check({ type: 0x0101 })],
  ['three octets', Buffer.from([0, 1, 0])],
] as [string, Buffer][])
  test(`a datagram with ${title} gets no answer and selects nothing`, () => {
    const { ice, sent, selected } = agent();
    ice.receive(datagram, here);
    assert.equal([sent, selected, ice.state, ice.isProved(here)], [[], [], 'new', false]);
  });

test('a far side that wants to be controlled hears 487, and attributes that have to be understood 420', () => {
  const { ice, sent, selected } = agent();
  ice.receive(check({ role: 0x8029, nominates: true }), here);
  ice.receive(check({ nominates: true, more: [attributeOf(0x7fff, Buffer.alloc(4))] }), here);
  const codes = sent.map(({ datagram }) => [datagram.readUInt16BE(), datagram[26]! * 100 + datagram[27]!]);
  assert.equal(codes, [
    [0x0111, 487],
    [0x0111, 420],
  ]);
  assert.equal(selected, []);
});

test('no answer is longer than its request', () => {
  const { ice, sent } = agent();
  for (const request of [check(), check({ nominates: true }), check({ role: 0x8029 })]) ice.receive(request, there);
  for (const { datagram } of sent) assert.ok(datagram.length <= check().length);
});

test('media goes to the first checked address until another is nominated; a check alone moves nothing', () => {
  const { ice, selected } = agent();
  ice.receive(check(), here);
  ice.receive(check(), there);
  ice.receive(check({ nominates: true }), there);
  ice.receive(check(), here);
  assert.equal(selected, [here, there]);
});

test('without checks media stops after 30 s and the call ends after the setting’s time; a check resumes it', () => {
  const { ice, clock, selected, expired } = agent();
  ice.receive(check({ nominates: true }), here);
  clock.advance(29_999);
  ice.receive(check(), here);
  clock.advance(30_000);
  assert.equal([selected, ice.state, expired()], [[here, undefined], 'expired', 0]);
  ice.receive(check(), here);
  assert.equal([selected, ice.state], [[here, undefined, here], 'checked']);
  clock.advance(60_000);
  assert.is(expired(), 1);
});

test('after a restart only the new credentials count, and media goes on meanwhile', () => {
  const { ice, selected } = agent();
  ice.receive(check({ nominates: true }), here);
  const next = { ufrag: 'anew', password: 'another+password+of+ours' };
  ice.use({ local: next, remote, fingerprint });
  ice.receive(check({ nominates: true }), there);
  assert.equal(ice.selected, here);
  ice.receive(check({ username: 'anew:theirs', password: next.password, nominates: true }), there);
  assert.equal(selected, [here, there]);
});

test('an address by a relay is another one than the same address itself', () => {
  const { ice, sent, selected } = agent();
  const far = { ...here, via: 'relay' } as const;
  ice.receive(check({ nominates: true }), far);
  assert.equal([ice.isProved(far), ice.isProved(here)], [true, false]);
  ice.receive(check({ nominates: true }), here);
  assert.equal(selected, [far, here]);
  assert.equal(
    sent.map(({ to }) => to),
    [far, here],
  );
});

test('what was relayed to another process is not gone on with: it ends unless a check comes', () => {
  for (const isBack of [false, true]) {
    const { ice, clock, selected, expired } = agent();
    ice.resume({ ...here, via: 'relay' });
    assert.equal([selected, ice.isProved(here)], [[], false]);
    clock.advance(59_999);
    if (isBack) ice.receive(check(), here);
    clock.advance(1);
    assert.equal([expired(), selected], isBack ? [0, [here]] : [1, []]);
  }
});

test('closing leaves no timer', () => {
  const { ice, clock, expired } = agent();
  ice.receive(check({ nominates: true }), here);
  ice.close();
  clock.advance(100_000);
  assert.is(expired(), 0);
});

test.run();
