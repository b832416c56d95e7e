import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { maximumPayload } from '../../../src/media/codec/audio-codec.ts';
import { loadOpus, OpusCodec, type OpusOptions, opusOptionsOf } from '../../../src/media/codec/opus.ts';
import { level, likeness, sine, speech } from '../signal.ts';

const frame = 960;
const samples = speech(48_000, 4);
const payload = new Uint8Array(maximumPayload(frame));

async function open(options: OpusOptions = {}): Promise<OpusCodec> {
  const codec = new OpusCodec(options);
  await codec.ready();
  return codec;
}

/** All frames as packets; empty where nothing is sent. */
function packets(codec: OpusCodec, audio: Int16Array, size = frame): Uint8Array[] {
  return Array.from({ length: Math.floor(audio.length / size) }, (_, index) => {
    const octets = codec.encode(audio.subarray(index * size, (index + 1) * size), payload);
    return payload.slice(0, octets);
  });
}

/** What is heard; lost packets are concealed, with the packet behind them where that has arrived. */
function heard(
  codec: OpusCodec,
  sent: readonly Uint8Array[],
  lost: (index: number) => boolean,
  fec = true,
): Int16Array {
  const result = new Int16Array(sent.length * frame);
  for (const [index, packet] of sent.entries()) {
    const target = result.subarray(index * frame, (index + 1) * frame);
    const next = fec && !lost(index + 1) ? sent[index + 1] : undefined;
    const count = lost(index) ? codec.conceal(target, next) : codec.decode(packet, target);
    assert.is(count, frame);
  }
  return result;
}

const none = () => false;

test.before(loadOpus);

test('speech comes out as it went in, at the bit rate asked for', async () => {
  const codec = await open({ bitRate: 24_000 });
  const sent = packets(codec, samples);
  const octets = sent.reduce((sum, each) => sum + each.length, 0);
  assert.ok(octets * 8 < 24_000 * 4 * 1.15, `${octets} octets in 4 s`);
  const out = heard(codec, sent, none);
  const { correlation } = likeness(samples.subarray(48_000, 96_000), out.subarray(48_000, 96_000), 400);
  assert.ok(correlation > 0.9, `correlation ${correlation}`);
  codec.close();
});

test('a lost packet comes back from the copy in the next one, nearer than a guess', async () => {
  const lost = (index: number) => index % 10 === 5;
  const likenessOf = async (fec: boolean) => {
    const codec = await open({ fec, lossPercent: 20, bitRate: 32_000 });
    const sent = packets(codec, samples);
    const whole = heard(await open(), sent, none);
    const out = heard(codec, sent, lost, fec);
    let [sum, power] = [0, 0];
    for (let index = 5; index < sent.length; index += 10)
      for (let at = index * frame; at < (index + 1) * frame; at++) {
        sum += (whole[at]! - out[at]!) ** 2;
        power += whole[at]! ** 2;
      }
    return sum / power;
  };
  const [guessed, copied] = [await likenessOf(false), await likenessOf(true)];
  assert.ok(copied < guessed * 0.7, `error with copies ${copied}, without ${guessed}`);
});

test('a long loss fades away and does not grow', async () => {
  const codec = await open();
  const sent = packets(codec, samples);
  const out = heard(codec, sent, (index) => index >= 60 && index < 100, false);
  assert.ok(level(out, 90 * frame, 100 * frame) < level(samples) / 10);
  codec.close();
});

test('with DTX silence sends next to nothing, and speech goes on after it', async () => {
  const codec = await open({ dtx: true });
  const pause = new Int16Array(48_000 * 2 + samples.length);
  pause.set(samples.subarray(0, 48_000));
  pause.set(samples.subarray(0, 48_000), 3 * 48_000);
  const sent = packets(codec, pause);
  const silent = sent.slice(75, 150).filter((packet) => packet.length === 0).length;
  assert.ok(silent >= 65, `${silent} of 75 packets were not sent`);
  assert.ok(sent.slice(152, 190).filter((packet) => packet.length > 0).length > 20);
  codec.close();
});

test('Opus follows the far side: its playback rate, its bit rate, and constant bit rate if it asks', async () => {
  const high = sine(10_000, 48_000, 48_000);
  const bandOf = async (maxPlaybackRate?: number) => {
    const codec = await open({ ...(maxPlaybackRate !== undefined && { maxPlaybackRate }), bitRate: 64_000 });
    const out = heard(codec, packets(codec, high), none);
    codec.close();
    return level(out, 24_000);
  };
  const [whole, narrow] = [await bandOf(), await bandOf(8000)];
  assert.ok(whole > 3000 && narrow < whole / 20, `10 kHz has a level of ${whole}, and of ${narrow} for 8 kHz`);
  const bits = async (options: OpusOptions) => {
    const codec = await open(options);
    const sent = packets(codec, samples).slice(25);
    codec.close();
    return {
      perSecond: (sent.reduce((sum, { length }) => sum + length, 0) * 8 * 50) / sent.length,
      sizes: new Set(sent.map(({ length }) => length)).size,
    };
  };
  const low = await bits(opusOptionsOf({ maxAverageBitrate: 12_000, fec: false, dtx: false, cbr: false }));
  assert.ok(low.perSecond < 12_000 * 1.1 && low.sizes > 5, JSON.stringify(low));
  const even = await bits(opusOptionsOf({ fec: false, dtx: false, cbr: true }));
  assert.is(even.sizes, 1);
  const sending = { bitRate: 16_000, complexity: 7, fec: true, lossPercent: 20 };
  assert.equal(opusOptionsOf(undefined, sending), sending);
  assert.equal(
    opusOptionsOf({ maxAverageBitrate: 40_000, maxPlaybackRate: 8000, fec: true, dtx: true, cbr: false }, sending),
    { ...sending, maxPlaybackRate: 8000, dtx: true, cbr: false },
    'never more than is configured',
  );
  assert.is(
    opusOptionsOf({ fec: false, dtx: false, cbr: false }, sending).fec,
    false,
    'no copies that nobody asks for',
  );
  assert.is(opusOptionsOf({ fec: true, dtx: false, cbr: false }, { ...sending, fec: false }).fec, false);
});

test('a stream of 16 kHz is read by one of 48 kHz', async () => {
  const narrow = speech(16_000, 2);
  const sent = packets(await open({ sampleRate: 16_000 }), narrow, 320);
  const out = heard(await open(), sent, none);
  const expected = speech(48_000, 2);
  assert.ok(Math.abs(level(out) / level(expected) - 1) < 0.25, `${level(out)} of ${level(expected)}`);
});

test('no length but that of a frame is encoded, nothing before it is ready, nothing after it is closed', async () => {
  const early = new OpusCodec();
  assert.is(early.encode(samples.subarray(0, frame), payload), 0);
  assert.is(early.decode(Uint8Array.of(1, 2, 3), new Int16Array(frame)), 0);
  await early.ready();
  assert.is(early.encode(samples.subarray(0, 100), payload), 0);
  assert.is(early.encode(samples.subarray(0, frame), new Uint8Array(0)), 0);
  assert.ok(early.encode(samples.subarray(0, frame), payload) > 0);
  assert.is(early.conceal(new Int16Array(3)), 0);
  early.close();
  early.close();
  assert.is(early.encode(samples.subarray(0, frame), payload), 0);
  assert.is(early.decode(payload, new Int16Array(frame)), 0);
  const never = new OpusCodec();
  never.encode(samples.subarray(0, frame), payload);
  never.close();
  await never.ready();
  assert.is(never.encode(samples.subarray(0, frame), payload), 0);
});

test.run();
