import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { decode } from '../../src/media/codec/codecs.ts';
import { SequenceReader } from '../../src/media/sequence.ts';
import {
  digitFrequencies,
  isToneZone,
  parseToneList,
  type ToneElement,
  toneList,
  toneSequence,
} from '../../src/media/tones.ts';

const element = (frequencies: number[], durationMs: number, more: Partial<ToneElement> = {}): ToneElement => ({
  frequencies,
  durationMs,
  modulated: false,
  once: false,
  ...more,
});

/** Power of one frequency in the samples, as a share of a full-scale sine. */
function power(samples: Int16Array, frequency: number): number {
  let real = 0;
  let imaginary = 0;
  for (let index = 0; index < samples.length; index++) {
    real += samples[index]! * Math.cos((2 * Math.PI * frequency * index) / 8000);
    imaginary += samples[index]! * Math.sin((2 * Math.PI * frequency * index) / 8000);
  }
  return (2 * Math.hypot(real, imaginary)) / samples.length / 32_768;
}

function listen(list: string, ms: number): Int16Array {
  const reader = new SequenceReader(toneSequence(parseToneList(list)!, 'ulaw'));
  const octets = new Uint8Array(ms * 8);
  return decode('ulaw', octets.subarray(0, reader.read(octets, 0, octets.length)));
}

test('a list is read element by element', () => {
  assert.equal(parseToneList('!350+440/100, 0/50|1000*50/20,425'), [
    element([350, 440], 100, { once: true }),
    element([], 50),
    element([1000, 50], 20, { modulated: true }),
    element([425], Number.POSITIVE_INFINITY),
  ]);
});

test('lists that cannot be read, or would take no time, are refused', () => {
  const refused = ['', 'busy', '440/', '440/x', '4000', '44000', '440+480/2000,', '440/0', '!!440', '-5', '440/0,0/0'];
  assert.equal(
    refused.map(parseToneList),
    refused.map(() => undefined),
  );
  assert.is(parseToneList(new Array(300).fill('440/10').join(',')), undefined);
});

test('a long list is made as far as it is read, and not before', () => {
  const list = Array.from({ length: 256 }, (_, at) => `${400 + at}/5000`).join(',');
  const sequence = toneSequence(parseToneList(list)!, 'ulaw');
  const made = () => sequence.segments.map(({ payload }) => payload.filter((octet) => octet !== 0).length);
  const none = new Array(256).fill(0);
  assert.equal(made(), none);
  const octets = new Uint8Array(160);
  const reader = new SequenceReader(sequence);
  reader.read(octets, 0, 160);
  assert.equal(made(), [160, ...none.slice(1)]);
  assert.ok(reader.convert('alaw'));
  reader.read(octets, 0, 160);
  assert.equal(made(), [160, ...none.slice(1)]);
  assert.is(reader.positionMs, 40);
});

test('a tone that is made piece by piece sounds as one that is made at once', () => {
  const pieces = new SequenceReader(toneSequence(parseToneList('350+440/1500')!, 'ulaw'));
  const whole = new SequenceReader(toneSequence(parseToneList('350+440/1500')!, 'ulaw'));
  const [one, other] = [new Uint8Array(12_000), new Uint8Array(12_000)];
  for (let at = 0; at < 12_000; at += 160) pieces.read(one, at, 160);
  whole.read(other, 0, 12_000);
  assert.equal([...one], [...other]);
});

test('each zone has all the tones of Asterisk, and each can be read', () => {
  const names = ['dial', 'busy', 'ring', 'congestion', 'callwaiting', 'dialrecall', 'record', 'info', 'stutter'];
  for (const zone of ['us', 'gb', 'uk', 'de', 'fr', 'US'])
    for (const name of names) assert.ok(parseToneList(toneList(zone, name) ?? ''), `${zone} ${name}`);
  assert.equal(
    [isToneZone('de'), isToneZone('xx'), toneList('xx', 'busy'), toneList('us', 'toString')],
    [true, false, undefined, undefined],
  );
});

test('both frequencies sound, and the cadence is kept over its repetition', () => {
  const samples = listen('480+620/500,0/500', 2000);
  for (const [from, sounding] of [
    [0, true],
    [4000, false],
    [8000, true],
    [12_000, false],
  ] as const) {
    const part = samples.subarray(from, from + 4000);
    const found = [480, 620, 1000].map((frequency) => power(part, frequency) > 0.1);
    assert.equal(found, [sounding, sounding, false]);
  }
});

test('an element without a duration goes on without a break in its wave', () => {
  const samples = listen('425', 3000);
  assert.is(samples.length, 24_000);
  assert.equal([...samples.subarray(7990, 8010)], [...samples.subarray(7990 + 8000, 8010 + 8000)]);
  assert.ok(power(samples, 425) > 0.14);
});

test('what is marked to be played once is not repeated', () => {
  const samples = listen('!950/20,400/20', 60);
  const parts = [0, 160, 320].map((from) => samples.subarray(from, from + 160));
  assert.equal(
    parts.map((part) => power(part, 950) > 0.1),
    [true, false, false],
  );
  assert.equal(
    parts.map((part) => power(part, 400) > 0.1),
    [false, true, true],
  );
});

test('a list of which everything is played once ends', () => {
  assert.is(listen('!950/330,!1400/330,!1800/330', 2000).length, 990 * 8);
});

test('digits have the frequencies of Q.23', () => {
  assert.equal([...'1D*#0x'].map(digitFrequencies), [
    [697, 1209],
    [941, 1633],
    [941, 1209],
    [941, 1477],
    [941, 1336],
    [],
  ]);
});

test('no text makes the reading of lists throw or a tone turn for ever', () => {
  const list = fc
    .array(fc.constantFrom('440', '0', '!', '+', '/', ',', '*', '5', '99999'))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.oneof(fc.string(), list), (text) => {
      const elements = parseToneList(text);
      if (!elements) return;
      const octets = new Uint8Array(160);
      assert.ok(new SequenceReader(toneSequence(elements, 'alaw')).read(octets, 0, 160) > 0);
    }),
  );
});

test.run();
