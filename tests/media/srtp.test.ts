import { createHash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type SrtpKey, type SrtpSuite, srtpSuites } from '../../src/lib/srtp.ts';
import { Opener } from '../../src/media/srtp/opener.ts';
import { createTransform, loadPacketCrypto } from '../../src/media/srtp/packet-crypto.ts';
import { ReplayWindow } from '../../src/media/srtp/replay-window.ts';
import { Sealer } from '../../src/media/srtp/sealer.ts';
import { sessionKeys } from '../../src/media/srtp/session-keys.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const base64 = (text: string) => hex(text).toString('base64');

const masterKey = 'e1f97a0d3e018be0d64fa32c06de4139';
const masterSalt = '0ec675ad498afeebb6960b3aabe6';
const counterMode: SrtpKey = { suite: 'AES_CM_128_HMAC_SHA1_80', key: base64(masterKey + masterSalt) };

/** A key of a suite, the same for each. */
function keyOf(suite: SrtpSuite, seed = 'one'): SrtpKey {
  const { key, salt } = srtpSuites[suite];
  return {
    suite,
    key: createHash('sha512')
      .update(seed)
      .digest()
      .subarray(0, key + salt)
      .toString('base64'),
  };
}

function rtp(sequence: number, payload = 'sixteen octets..', ssrc = 0xcafebabe): Buffer {
  const packet = Buffer.alloc(12 + payload.length);
  packet.writeUInt16BE(0x8000);
  packet.writeUInt16BE(sequence, 2);
  packet.writeUInt32BE(ssrc, 8);
  packet.write(payload, 12);
  return packet;
}

const both: [string, () => void][] = [];
/** A test that runs with `node:crypto` and, where that can be had, with OpenSSL itself. */
function testBoth(name: string, run: () => void): void {
  both.push([name, run]);
}

const numbers = () => ({ audio: 0, control: 0 });
const suites = Object.keys(srtpSuites) as SrtpSuite[];

testBoth('RFC 3711 B.3: the keys of a session follow from the master key', () => {
  const { rtp: made } = sessionKeys(counterMode);
  assert.equal(
    [made.cipher, made.salt, made.auth].map((each) => each.toString('hex')),
    ['c61e7a93744f39ee10734afe3ff7a087', '30cbbc08863d8c85d49db34a9ae1', 'cebe321f6ff7716b6fd4ab49af256a156d38baa4'],
  );
});

testBoth('packets may be made with any key of the far side that they name; its numbers go on from key to key', () => {
  for (const suite of suites) {
    const [one, other] = ['one', 'other'].map((seed, index) => ({ ...keyOf(suite, seed), mki: `0${index}` }));
    const opener = new Opener({ ...one!, others: [{ key: other!.key, mki: other!.mki }] });
    const rtcp = Buffer.concat([Buffer.from('81c80006', 'hex'), Buffer.alloc(24, 5)]);
    const sealers = [one!, other!].map((key) => new Sealer(key, numbers()));
    const packets = [0, 1, 0].map((by, index) => Buffer.from(sealers[by]!.audio(rtp(index + 1))!));
    for (const [index, packet] of packets.entries())
      assert.equal(opener.audio(Buffer.from(packet))?.toString('hex'), rtp(index + 1).toString('hex'));
    assert.equal(opener.control(sealers[1]!.control(rtcp)!)?.toString('hex'), rtcp.toString('hex'));
    const stranger = new Sealer({ ...keyOf(suite, 'third'), mki: '01' }, numbers());
    assert.is(opener.audio(stranger.audio(rtp(4))!), undefined);
    assert.is(opener.audio(packets[1]!), undefined, 'it came before');
  }
});

testBoth(
  'an MKI stands where RFC 3711 3.1 and RFC 7714 8.2 have it, in audio and RTCP; another one, or none, is refused',
  () => {
    for (const suite of suites) {
      const { tag, controlTag, aead } = srtpSuites[suite];
      const key = { ...keyOf(suite), mki: '00000102' };
      const bare = new Sealer(keyOf(suite), numbers());
      const sealer = new Sealer(key, numbers());
      const rtcp = Buffer.concat([Buffer.from('81c80006', 'hex'), Buffer.alloc(24, 5)]);
      const both = [
        [bare.audio(rtp(1))!, sealer.audio(rtp(1))!, tag],
        [bare.control(rtcp)!, sealer.control(rtcp)!, controlTag],
      ] as const;
      for (const [plain, named, behind] of both) {
        const at = plain.length - (aead ? 0 : behind);
        const expected = [plain.subarray(0, at), Buffer.from(key.mki, 'hex'), plain.subarray(at)];
        assert.is(named.toString('hex'), Buffer.concat(expected).toString('hex'));
      }
      const opener = new Opener(key);
      const other = new Opener({ ...key, mki: '00000103' });
      const [[plainAudio, namedAudio], [plainControl, namedControl]] = both;
      assert.equal([other.audio(namedAudio), opener.audio(plainAudio)], [undefined, undefined]);
      assert.equal([other.control(namedControl), opener.control(plainControl)], [undefined, undefined]);
      assert.is(new Opener(keyOf(suite)).audio(namedAudio), undefined);
      assert.equal(opener.audio(Buffer.alloc(3)), undefined);
      assert.equal([opener.audio(namedAudio), opener.control(namedControl)], [rtp(1), rtcp]);
    }
  },
);

testBoth('RFC 3711 B.2: counter mode', () => {
  const transform = createTransform(
    srtpSuites.AES_CM_128_HMAC_SHA1_80,
    {
      cipher: hex('2b7e151628aed2a6abf7158809cf4f3c'),
      salt: hex('f0f1f2f3f4f5f6f7f8f9fafbfcfd'),
      auth: Buffer.alloc(20),
    },
    'rtp',
  );
  const packet = Buffer.alloc(12 + 48);
  const layout = { header: 12, ssrc: 0, index: 0, trailer: 0, sendsTrailer: false };
  assert.is(
    transform.seal(packet, layout).subarray(12, 60).toString('hex'),
    'e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab41e95b3bb0a2e8dd477901e4fca894c0',
  );
});

test('RFC 3711 B.2: counter mode far into a stream, farther than a datagram goes', () => {
  const keys = {
    cipher: hex('2b7e151628aed2a6abf7158809cf4f3c'),
    salt: hex('f0f1f2f3f4f5f6f7f8f9fafbfcfd'),
    auth: Buffer.alloc(20),
  };
  const transform = createTransform(srtpSuites.AES_CM_128_HMAC_SHA1_80, keys, 'rtp');
  const packet = Buffer.alloc(12 + 16 * 0xff02);
  const layout = { header: 12, ssrc: 0, index: 0, trailer: 0, sendsTrailer: false };
  const at = 12 + 16 * 0xfeff;
  assert.is(
    transform
      .seal(packet, layout)
      .subarray(at, at + 48)
      .toString('hex'),
    'ec8cdf7398607cb0f2d21675ea9ea1e4362b7c3c6773516318a077d7fc5073ae6a2cc3787889374fbeb4c81b17ba6c44',
  );
});

testBoth('RFC 7714 17.1 and 17.2: RTCP in Galois/counter mode, 128 and 256 bits', () => {
  const packet = hex(`81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61 deadbeef deadbeef deadbeef
    deadbeef deadbeef`);
  const trailer = 0x8000_05d4;
  const layout = { header: 8, ssrc: 0x4d617273, index: 0x5d4, trailer, sendsTrailer: true };
  const short = '000102030405060708090a0b0c0d0e0f';
  for (const [suite, cipher, sealed] of [
    [
      'AEAD_AES_128_GCM',
      short,
      `81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d c676a5f1 730d6fda 4ce09b46 86303ded
        0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4`,
    ],
    [
      'AEAD_AES_256_GCM',
      `${short}101112131415161718191a1b1c1d1e1f`,
      `81c8000d 4d617273 d50ae4d1 f5ce5d30 4ba297e4 7d470c28 2c3ece5d bffe0a50 a2eaa5c1 110555be 8415f658 c61de047
        6f1b6fad 1d1eb30c 4446839f 57ff6f6c b26ac3be 800005d4`,
    ],
  ] as const) {
    const keys = { cipher: hex(cipher), salt: hex('517569642070726f2071756f'), auth: Buffer.alloc(20) };
    const transform = createTransform(srtpSuites[suite], keys, 'rtcp');
    assert.is(transform.seal(packet, layout).toString('hex'), hex(sealed).toString('hex'));
  }
});

testBoth('RFC 7714 16.1: AES in Galois/counter mode, 128 and 256 bits', () => {
  const packet = hex(`8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976 69736120 696e2070 61727465
    73207472 6573`);
  const layout = { header: 12, ssrc: 0x5501a0b2, index: 0xf17b, trailer: 0, sendsTrailer: false };
  const keys = (cipher: string) => ({
    cipher: hex(cipher),
    salt: hex('517569642070726f2071756f'),
    auth: Buffer.alloc(20),
  });
  const short = createTransform(srtpSuites.AEAD_AES_128_GCM, keys('000102030405060708090a0b0c0d0e0f'), 'rtp');
  assert.is(
    short.seal(packet, layout).toString('hex'),
    hex(`8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f 42a5f47a 51c7d19b 36de3adf
      8833899d 7f27beb1 6a9152cf 765ee439 0cce`).toString('hex'),
  );
  const long = createTransform(
    srtpSuites.AEAD_AES_256_GCM,
    keys('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'),
    'rtp',
  );
  assert.is(
    long.seal(packet, layout).toString('hex'),
    hex(`8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238 9a58e2f3 b50b2a02 76ffae0f 1ba63799
      b87b7aa3 db36dfff d6b0f9bb 7878d7a7 6c13`).toString('hex'),
  );
});

testBoth('a packet of audio and one of RTCP as other implementations make them', () => {
  const sealer = new Sealer(counterMode, numbers());
  const audio = hex('800f1234 decafbad cafebabe abababab abababab abababab abababab');
  const sealed = hex('800f1234 decafbad cafebabe 4e55dc4c e79978d8 8ca4d215 949d2402 b78d6acc 99ea179b 8dbb');
  assert.is(sealer.audio(audio)?.toString('hex'), sealed.toString('hex'));
  const report = hex('81c8000b cafebabe abababab abababab abababab abababab');
  const sealedReport = hex(`81c8000b cafebabe 7128035b e487b9bd bef89041 f977a5a8 80000001 993e08cd 54d6c123 0798`);
  assert.is(sealer.control(report)?.toString('hex'), sealedReport.toString('hex'));
  const opener = new Opener(counterMode);
  assert.is(opener.audio(sealed)?.toString('hex'), audio.toString('hex'));
  assert.is(opener.control(sealedReport)?.toString('hex'), report.toString('hex'));
  assert.is(opener.refused, 0);
});

for (const suite of suites)
  test(`${suite}: what is sealed opens once, with its key alone, and not when anything of it was changed`, () => {
    const key = keyOf(suite);
    const [sealer, opener] = [new Sealer(key, numbers()), new Opener(key)];
    const packets = [rtp(7), Buffer.from(hex('81c8000bcafebabe0011223344556677'))];
    const sealed = [sealer.audio(packets[0]!)!, sealer.control(packets[1]!)!];
    const { tag, controlTag } = srtpSuites[suite];
    assert.equal(
      sealed.map(({ length }) => length),
      [packets[0]!.length + tag, packets[1]!.length + controlTag + 4],
    );
    const other = new Opener(keyOf(suite, 'another'));
    const refused = (packet: Buffer, by = opener) => [by.audio(packet), by.control(packet)];
    for (const packet of sealed) assert.equal(refused(packet, other), [undefined, undefined]);
    for (const [kind, packet] of [
      ['audio', sealed[0]!],
      ['control', sealed[1]!],
    ] as const)
      for (let at = 0; at < packet.length; at++) {
        const changed = Buffer.from(packet);
        changed[at]! ^= 1;
        assert.is(new Opener(key)[kind](changed), undefined, `${kind} with octet ${at} changed`);
        assert.is(opener[kind](packet.subarray(0, at)), undefined, `${kind} cut to ${at}`);
      }
    assert.equal(opener.audio(sealed[0]!), packets[0]);
    assert.equal(opener.control(sealed[1]!), packets[1]);
    assert.equal([opener.audio(sealed[0]!), opener.control(sealed[1]!)], [undefined, undefined]);
  });

testBoth('sequence numbers that begin again are followed, both ways, whatever is lost or late', () => {
  const key = keyOf('AES_CM_128_HMAC_SHA1_32');
  const sending = numbers();
  const [sealer, opener] = [new Sealer(key, sending), new Opener(key)];
  const sealed = new Map<number, Buffer>();
  for (let index = 65_000; index < 65_000 + 3 * 65_536; index++) sealed.set(index, sealer.audio(rtp(index % 65_536))!);
  assert.is(sending.audio, 65_000 + 3 * 65_536);
  const opened = (index: number) => opener.audio(sealed.get(index)!) !== undefined;
  const order = [
    65_000, 65_535, 65_537, 65_536, 65_534, 90_000, 120_000, 131_071, 131_072, 131_070, 160_000, 190_000, 196_700,
  ];
  assert.equal(
    order.map(opened),
    order.map(() => true),
  );
  // Older than the window, and one that came already.
  assert.equal([opened(196_600), opened(196_700)], [false, false]);
});

testBoth('a thread that takes over goes on with the numbers, and never makes a keystream twice', () => {
  const key = keyOf('AEAD_AES_128_GCM');
  const sending = numbers();
  const heard = { audio: 0, control: 0, source: 0 };
  const [first, before] = [new Sealer(key, sending), new Opener(key, heard)];
  for (let index = 65_530; index < 65_540; index++) before.audio(first.audio(rtp(index % 65_536))!);
  before.control(first.control(hex('81c8000bcafebabe00112233'))!);
  assert.equal(sending, { audio: 65_540, control: 1 });
  assert.equal(heard, { audio: 65_540, control: 2, source: 0xcafebabe + 1 });
  const [second, after] = [new Sealer(key, sending), new Opener(key, heard)];
  assert.equal(after.audio(second.audio(rtp(4))!), rtp(4));
  const report = second.control(hex('81c8000bcafebabe00112233'))!;
  assert.equal(report.readUInt32BE(8 + 4 + 16), 0x8000_0002);
  assert.ok(after.control(report));
});

testBoth('a thread that ended between the number of a packet and the packet leaves the count right', () => {
  const key = keyOf('AES_CM_128_HMAC_SHA1_80');
  for (const lost of [65_535, 65_536, 65_537]) {
    const sending = numbers();
    const [first, opener] = [new Sealer(key, sending), new Opener(key)];
    for (let index = 65_500; index < lost; index++) opener.audio(first.audio(rtp(index % 65_536))!);
    // The number was taken, and nothing was sealed with it.
    const second = new Sealer(key, sending);
    const next = rtp((lost + 1) % 65_536);
    assert.equal(opener.audio(second.audio(next)!), next, String(lost));
    assert.is(sending.audio, lost + 2);
  }
});

testBoth('what came before a thread was lost is not taken again, and does not keep out what comes next', () => {
  const key = keyOf('AES_CM_128_HMAC_SHA1_80');
  const heard = { audio: 0, control: 0, source: 0 };
  const [sealer, before] = [new Sealer(key, numbers()), new Opener(key, heard)];
  const sealed: Buffer[] = [];
  for (let index = 30_000; index < 65_546; index++) sealed.push(sealer.audio(rtp(index % 65_536))!);
  const report = sealer.control(hex('81c8000bcafebabe00112233'))!;
  for (const packet of [...sealed.slice(0, -1), report])
    packet === report ? before.control(packet) : before.audio(packet);
  const after = new Opener(key, heard);
  assert.equal(
    [sealed[0]!, sealed.at(-3)!, sealed.at(-2)!].map((packet) => after.audio(packet)),
    [undefined, undefined, undefined],
  );
  assert.is(after.control(report), undefined);
  assert.ok(after.audio(sealed.at(-1)!));
});

testBoth('a new key of the far side may go on counting, or begin', () => {
  for (const begins of [false, true]) {
    const heard = { audio: 3 * 65_536 + 7, control: 0, source: 0 };
    const key = keyOf('AES_CM_128_HMAC_SHA1_80');
    const sealer = new Sealer(key, { audio: begins ? 0 : heard.audio, control: 0 });
    assert.equal(new Opener(key, heard).audio(sealer.audio(rtp(7))!), rtp(7));
  }
});

testBoth('a packet from before the first one of all is not sent: another one will have its number', () => {
  const sealer = new Sealer(keyOf('AES_CM_128_HMAC_SHA1_80'), numbers());
  assert.ok(sealer.audio(rtp(2)));
  assert.ok(sealer.audio(rtp(1)));
  assert.is(sealer.audio(rtp(65_535)), undefined);
});

testBoth('a window of 64 packets: each once, in any order, none older', () => {
  const window = new ReplayWindow();
  const seen = new Set<number>();
  let highest = -1;
  let seed = 12_345;
  for (let i = 0; i < 20_000; i++) {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    const index = Math.max(0, Math.floor(i / 3) + (seed % 150) - 75);
    const expected = index > highest || (highest - index < 64 && !seen.has(index));
    assert.is(window.admits(index), expected, `index ${index} after ${highest}`);
    if (!expected) continue;
    window.take(index);
    seen.add(index);
    highest = Math.max(highest, index);
  }
});

for (const [name, run] of both) test(name, run);
test('OpenSSL can be called itself', () => loadPacketCrypto());
for (const [name, run] of both) test(`with OpenSSL itself: ${name}`, run);

test.run();
