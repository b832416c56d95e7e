import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AudioCodec } from '../../src/media/codec/audio-codec.ts';
import { openCodec } from '../../src/media/codec/open-codec.ts';
import { isSilent, meanLevel } from '../../src/media/dsp/level.ts';
import { SharedPayloads } from '../../src/media/frame.ts';
import { FramePackets } from '../../src/media/rtp/frame-packets.ts';
import { meeting } from './phones.ts';

/** A codec that counts how often it encodes. */
function counting(codec: AudioCodec) {
  const counted = {
    ...{ codec: codec.codec, sampleRate: codec.sampleRate, clockRate: codec.clockRate, stateless: codec.stateless },
    encoded: 0,
    encode(samples: Int16Array, target: Uint8Array) {
      counted.encoded++;
      return codec.encode(samples, target);
    },
    decode: codec.decode.bind(codec),
    close: () => codec.close(),
  };
  return counted;
}

/** What two who say the same send in two ticks, and how often that was encoded. */
function twoOf(name: 'ulaw' | 'alaw' | 'slin' | 'g722') {
  const codecs = [1, 2].map(() => counting(openCodec(name, { order: 'network' })));
  const packets = codecs.map((codec) => new FramePackets(codec, 20));
  const shared = new SharedPayloads();
  const samples = new Int16Array(codecs[0]!.sampleRate / 50);
  const sent: string[] = [];
  for (const level of [1000, 2000]) {
    samples.fill(level);
    shared.changed();
    for (const each of packets)
      each.push(samples, true, (packet) => sent.push(Buffer.from(packet!).toString('hex')), shared);
  }
  return { encoded: codecs.map(({ encoded }) => encoded), sent };
}

test('what several say in a codec without state is encoded once a tick, and sent by all', () => {
  for (const name of ['ulaw', 'alaw', 'slin'] as const) {
    const { encoded, sent } = twoOf(name);
    assert.equal(encoded, [2, 0]);
    assert.equal([sent[0] === sent[1], sent[2] === sent[3], sent[0] === sent[2]], [true, true, false], name);
  }
});

test('a codec whose packets build on each other encodes for itself', () => {
  assert.equal(twoOf('g722').encoded, [2, 2]);
});

test('silence is silence in A-law, too, which has no 0; a click is not', () => {
  const silent = (samples: Int16Array) => isSilent(samples, meanLevel(samples));
  const click = new Int16Array(160);
  click[7] = 9;
  assert.equal(
    [0, 8, -8, 9].map((sample) => silent(new Int16Array(160).fill(sample))),
    [true, true, true, false],
  );
  assert.is(silent(click), false);
});

test('one speaks to many who are silent, in both laws: all hear it as it was said, and it hears silence', async () => {
  const { engine, sides, join, pass } = await meeting([400, 620, 900, 1300], {}, ['ulaw', 'alaw', 'alaw', 'ulaw']);
  for (const side of sides.slice(1)) side.says = () => 0;
  engine.openMix(1, 'mixing');
  for (const { session } of sides) join(session);
  pass(1000);
  const heard = sides.map(({ heard: all }) =>
    all.slice(-20).map(({ payload }) => Buffer.from(payload).toString('hex')),
  );
  assert.equal(
    sides.map((side) => side.hears([400, 620, 900, 1300])),
    [[], [400], [400], [400]],
  );
  assert.equal(heard[1], heard[2]);
  assert.equal(new Set(heard[0]), new Set(['ff'.repeat(160)]));
  engine.close();
});

test.run();
