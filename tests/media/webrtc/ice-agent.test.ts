import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { WebrtcTransport } from '../../../src/lib/webrtc.ts';
import type { PacketAddress } from '../../../src/media/rtp/source-lock.ts';
import { readCheck, writeCheckAnswer } from '../../../src/media/webrtc/checks.ts';
import { IceAgent } from '../../../src/media/webrtc/ice-agent.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { attributeOf, check, header, iceLocal as local, iceRemote as remote } from '../../support/ice-check.ts';

const test = suite('an agent of ICE');

const fingerprint = { hash: 'sha256', digest: '' } as const;
const here: PacketAddress = { address: '192.0.2.1', port: 5000 };
const there: PacketAddress = { address: '2001:db8::1', port: 6000 };

/** @param more left out: it is lite. */
function agent(more: Partial<WebrtcTransport> = {}) {
  const clock = new ManualClock();
  const sent: { datagram: Buffer; to: PacketAddress }[] = [];
  const selected: (PacketAddress | undefined)[] = [];
  let expired = 0;
  const ice = new IceAgent(
    { local, remote, fingerprint, ...more },
    {
      ...{ clock, consentMs: 60_000 },
      send: (datagram, to) => sent.push({ datagram: Buffer.from(datagram), to }),
      selected: (source) => selected.push(source),
      expired: () => expired++,
    },
  );
  /** The far side answers our checks since `from`. */
  const answerChecks = (from = 0): void => {
    for (const { datagram, to } of sent.slice(from))
      if (readCheck(datagram, remote, local)) ice.receive(writeCheckAnswer(datagram, here, remote.password)!, to);
  };
  return { clock, ice, sent, selected, answerChecks, expired: () => expired };
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

const full = { checked: [], isControlled: true } as const;

test('a full agent sends media where its own checks were answered, and nowhere by a check of the far side alone', () => {
  const { ice, clock, selected, answerChecks } = agent(full);
  ice.receive(check({ nominates: true }), here);
  clock.advance(40_000);
  assert.equal([selected, ice.isProved(here)], [[], true]);
  ice.receive(check({ nominates: true }), here);
  clock.advance(500);
  answerChecks();
  assert.equal(selected, [here]);
});

test('checks of the far side are no consent for a full agent: without answers media stops and the call ends', () => {
  const { ice, clock, selected, answerChecks, expired } = agent(full);
  ice.receive(check({ nominates: true }), here);
  clock.advance(0);
  answerChecks();
  for (let times = 0; times < 61; times++) {
    clock.advance(1_000);
    ice.receive(check({ nominates: true }), here);
  }
  assert.equal([selected, expired()], [[here, undefined], 1]);
});

test('consent that comes back lets media go on', () => {
  const { ice, clock, sent, selected, answerChecks } = agent(full);
  ice.receive(check({ nominates: true }), here);
  clock.advance(0);
  answerChecks();
  clock.advance(35_000);
  const before = sent.length;
  clock.advance(6_000);
  answerChecks(before);
  assert.equal(selected, [here, undefined, here]);
});

test('of two agents with one role the far side hears 487 or gets its way, by the tie-breaker; a lite one is always controlled', () => {
  const [least, greatest] = [Buffer.alloc(8), Buffer.alloc(8, 255)];
  for (const [more, role, refused, taken] of [
    [full, 0x8029, greatest, least],
    [{ checked: [] }, 0x802a, least, greatest],
  ] as const) {
    const { ice, sent } = agent(more);
    ice.receive(check({ role, tiebreaker: refused }), here);
    assert.equal([sent.at(-1)?.datagram.readUInt16BE(), ice.isProved(here)], [0x0111, false]);
    ice.receive(check({ role, tiebreaker: taken }), here);
    assert.equal([sent.at(-1)?.datagram.readUInt16BE(), ice.isProved(here)], [0x0101, true]);
  }
});

test('what comes by a relay or by TCP is checked the same way', () => {
  for (const via of ['relay', 'tcp'] as const) {
    const { ice, clock, sent, selected, answerChecks } = agent(full);
    ice.receive(check({ nominates: true }), { ...here, via });
    clock.advance(0);
    assert.ok(sent.every(({ to }) => 'via' in to && to.via === via));
    answerChecks();
    assert.equal(selected, [{ ...here, via }]);
  }
});

test('mutated answers and checks change nothing, in each state of a full agent', () => {
  const one = agent(full);
  const states: string[] = [];
  const tryAll = (): void => {
    states.push(one.ice.state);
    const asked = one.sent.findLast(({ datagram }) => readCheck(datagram, remote, local));
    const answer = asked && writeCheckAnswer(asked.datagram, here, remote.password)!;
    const samples = [check({ nominates: true }), ...(answer ? [answer] : [])];
    const [selected, proved] = [one.selected.length, one.ice.isProved(there)];
    for (const sample of samples)
      for (let at = 0; at < sample.length; at++)
        for (const bit of [1, 16, 128]) {
          const octets = Buffer.from(sample);
          octets[at]! ^= bit;
          one.ice.receive(octets, there);
          one.ice.receive(octets.subarray(0, at), there);
        }
    assert.equal([one.selected.length, one.ice.isProved(there)], [selected, proved]);
  };
  tryAll();
  one.ice.receive(check({ nominates: true }), here);
  one.clock.advance(0);
  tryAll();
  one.answerChecks();
  one.clock.advance(6_000);
  tryAll();
  one.clock.advance(40_000);
  tryAll();
  assert.equal(states, ['new', 'new', 'nominated', 'expired']);
});

test('closing leaves no timer', () => {
  const { ice, clock, expired } = agent();
  ice.receive(check({ nominates: true }), here);
  ice.close();
  clock.advance(100_000);
  assert.is(expired(), 0);
});

test.run();
