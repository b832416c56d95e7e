import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SignalDetector } from '../../../src/media/dsp/signal-detector.ts';
import { parseToneList, signalPatterns, toneList } from '../../../src/media/tones.ts';
import { noise, speech } from '../signal.ts';

const all = ['busy', 'dial', 'information', 'ringing'] as const;
const nameOf = { busy: 'busy', dial: 'dial', information: 'info', ringing: 'ring' } as const;

/** A tone of a zone as linear samples, over and over. */
function played(zone: string, tone: string, ms: number, sampleRate = 8000): Int16Array {
  const elements = parseToneList(toneList(zone, tone)!)!;
  const whole = elements.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return Int16Array.from({ length: (ms * sampleRate) / 1000 }, (_, index) => {
    const at = (index * 1000) / sampleRate;
    let left = whole === Number.POSITIVE_INFINITY ? at : at % whole;
    const element = elements.find(({ durationMs }) => {
      left -= durationMs;
      return left < 0;
    });
    const hertz = element?.frequencies ?? [];
    return Math.round(hertz.reduce((sum, each) => sum + 5000 * Math.sin((2 * Math.PI * each * index) / sampleRate), 0));
  });
}

function made(samples: Int16Array, zone: string, wanted: readonly (typeof all)[number][] = all, sampleRate = 8000) {
  const detector = new SignalDetector(signalPatterns(zone), wanted, sampleRate);
  const found: string[] = [];
  const size = sampleRate / 50;
  for (let at = 0; at < samples.length; at += size) found.push(...detector.take(samples.subarray(at, at + size)));
  return found;
}

for (const zone of ['us', 'gb', 'de', 'fr'])
  for (const signal of all)
    for (const sampleRate of [8000, 16_000])
      test(`${signal} of ${zone} at ${sampleRate} Hz is made out, and nothing else`, () => {
        const found = made(played(zone, nameOf[signal], 5000, sampleRate), zone, all, sampleRate);
        assert.equal([...new Set(found)], [signal], found.join());
      });

test('a signal that is not looked for is not told, and each sound of one is told once', () => {
  assert.equal(made(played('us', 'busy', 3000), 'us', ['dial']), []);
  assert.equal(made(played('us', 'busy', 3000), 'us', ['busy']), ['busy', 'busy', 'busy']);
  assert.equal(made(played('us', 'dial', 3000), 'us', ['dial']), ['dial']);
});

test('speech, noise and silence are no signals', () => {
  for (const zone of ['us', 'de'])
    for (const samples of [speech(8000, 20), noise(8000 * 20, 9000), new Int16Array(8000 * 5)])
      assert.equal(made(samples, zone), []);
});

test.run();
