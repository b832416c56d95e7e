import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Codec } from '../../src/telephony/media.ts';
import { flaws, meeting } from './phones.ts';
import { largestStep, level } from './signal.ts';

const codecs: readonly Codec[] = ['ulaw', 'alaw', 'g722', 'opus', 'slin', 'slin16', 'slin24', 'slin48'];
const rate = 16_000;
const frame = rate / 50;
const hertz = 400;

/** Two who hear each other in frames: one speaks a codec with losses, the other hears linear audio without any. */
async function pair(codec: Codec) {
  const all = await meeting([hertz, 620], {}, [codec, codec === 'slin16' ? 'slin48' : 'slin16']);
  const { engine, sides, join, pass } = all;
  const [speaker, hearer] = sides as [(typeof sides)[0], (typeof sides)[0]];
  speaker.sending = false;
  hearer.sending = false;
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  /** The speaker's next packet, unless it is lost, and the 20 ms that it takes. */
  const say = (isLost = false): void => {
    if (isLost) speaker.lose();
    else all.deliver(speaker, speaker.packet());
    pass(20);
  };
  // The library of Opus makes its encoders and decoders in a turn of their own, when the first packets need them.
  for (let packet = 0; packet < warmUp; packet++) {
    say();
    await turn();
  }
  return { ...all, speaker, hearer, say };
}

/** Packets that are said before anything is looked at. */
const warmUp = 10;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** The least RMS of any 20 ms. */
function quietest(samples: Int16Array, perFrame: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at + perFrame <= samples.length; at += perFrame)
    least = Math.min(least, level(samples, at, at + perFrame));
  return least;
}

/** How much of the tone is left at least while packets are lost. The library of Opus fades by itself, and faster. */
function leastShare(codec: Codec, longest: number): number {
  if (codec === 'opus') return longest === 1 ? 0.15 : 0;
  return longest === 1 ? 0.35 : 0.2;
}

const patterns: readonly { name: string; isLost: (packet: number) => boolean; longest: number }[] = [
  { name: 'one packet in ten', isLost: (packet) => (packet * 7) % 10 === 3, longest: 1 },
  { name: 'two packets in a row of twenty', isLost: (packet) => packet % 20 < 2, longest: 2 },
  { name: 'bursts of five of fifty', isLost: (packet) => packet % 50 < 5, longest: 5 },
];

for (const codec of codecs)
  for (const { name, isLost, longest } of patterns)
    test(`${codec}: ${name} is lost: nothing clicks, what is missing is made up, and all of it is counted`, async () => {
      const { engine, hearer, say } = await pair(codec);
      for (let packet = 0; packet < 25; packet++) say();
      const before = hearer.count;
      const { rxploss, rxcount } = engine.statistics(1)!;
      assert.equal([rxploss, rxcount], [0, warmUp + 25]);
      let lost = 0;
      for (let packet = 1; packet <= 205; packet++) {
        const gone = packet <= 200 && isLost(packet);
        if (gone) lost++;
        say(gone);
      }
      const samples = hearer.samples(before);
      const perFrame = hearer.codec.sampleRate / 50;
      const usual = 6000 * 2 * Math.PI * hertz * (1 / hearer.codec.sampleRate);
      const step = largestStep(samples);
      assert.ok(step < 3 * usual, `a step of ${step}, where the tone alone has ${Math.round(usual)}`);
      // What is made up fades: of a loss longer than two packets the end is silent.
      if (longest < 3) {
        const least = quietest(samples, perFrame);
        assert.ok(
          least > leastShare(codec, longest) * (6000 / Math.SQRT2),
          `20 ms with a level of ${Math.round(least)}`,
        );
      }
      const after = engine.statistics(1)!;
      assert.equal([after.rxploss, after.rxcount], [lost, warmUp + 25 + 205 - lost]);
      assert.equal(
        flaws(hearer.heard).filter((flaw) => !flaw.includes('in time')),
        [],
      );
      engine.close();
    });

for (const codec of ['ulaw', 'alaw', 'g722', 'slin'] as const)
  test(`${codec}: noise that is described instead of sent is heard until there is audio again`, async () => {
    const { engine, speaker, hearer, say, deliver, pass } = await pair(codec);
    for (let packet = 0; packet < 25; packet++) say();
    const [talkEnds] = [hearer.count];
    deliver(speaker, speaker.comfortNoise(50, 1000));
    pass(1000);
    const [noiseEnds] = [hearer.count];
    for (let packet = 0; packet < 25; packet++) say();
    const all = hearer.samples();
    const quiet = hearer.samples(talkEnds + 5).subarray(0, (noiseEnds - talkEnds - 10) * frame);
    const expected = 32_768 * 10 ** (-50 / 20);
    assert.ok(noiseEnds - talkEnds >= 49, `${noiseEnds - talkEnds} frames of noise`);
    const heard = level(quiet);
    assert.ok(Math.abs(20 * Math.log10(heard / expected)) < 3, `a level of ${heard} instead of ${expected}`);
    const usual = (6000 * 2 * Math.PI * hertz) / rate;
    assert.ok(largestStep(all.subarray(frame * 5)) < 3 * usual, `a step of ${largestStep(all.subarray(frame * 5))}`);
    const { rxploss, rxcount } = engine.statistics(1)!;
    assert.equal([rxploss, rxcount], [0, warmUp + 51]);
    assert.ok(hearer.amplitude(hertz) > 5000, 'who spoke before is heard again');
    engine.close();
  });

test('who describes noise is heard with it by somebody of the same codec as well', async () => {
  const { engine, sides, join, pass, deliver } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  pass(500);
  const [speaker, hearer] = sides as [(typeof sides)[0], (typeof sides)[0]];
  assert.ok(engine.forwarded(1) > 20, 'packets are passed on');
  speaker.sending = false;
  deliver(speaker, speaker.comfortNoise(40, 500));
  const before = hearer.count;
  pass(500);
  const noise = hearer.samples(before + 5);
  const expected = 32_768 * 10 ** (-40 / 20);
  assert.ok(Math.abs(20 * Math.log10(level(noise) / expected)) < 3, `a level of ${level(noise)}`);
  speaker.sending = true;
  pass(500);
  assert.equal([speaker.hears([400, 620]), hearer.hears([400, 620])], [[620], [400]]);
  assert.equal(flaws(hearer.heard, 60), []);
  engine.close();
});

test('Opus that is not sent in silence is quiet without a click, and goes on', async () => {
  const { engine, hearer, say, pass } = await pair('opus');
  for (let packet = 0; packet < 25; packet++) say();
  for (let at = 0; at < 25; at++) pass(20);
  const before = hearer.count;
  for (let packet = 0; packet < 25; packet++) say();
  const usual = (6000 * 2 * Math.PI * hertz) / rate;
  assert.ok(largestStep(hearer.samples(5)) < 3 * usual, `a step of ${largestStep(hearer.samples(5))}`);
  assert.ok(hearer.count > before);
  assert.ok(hearer.amplitude(hertz) > 4000, 'it is heard again');
  assert.is(engine.statistics(1)?.rxploss, 0);
  engine.close();
});

test('to who asks for DTX nothing is sent in silence; what follows stands at its time', async () => {
  const { engine, sides, ask, pass, join } = await meeting([400, 620], {}, ['slin48', 'opus']);
  const [speaker, hearer] = sides as [(typeof sides)[0], (typeof sides)[0]];
  ask(2, { type: 'configure', flow: { ...hearer.flow, opus: { fec: false, dtx: true, cbr: false } } });
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  hearer.sending = false;
  for (let packet = 0; packet < warmUp; packet++) {
    pass(20);
    await turn();
  }
  pass(1000);
  const talking = hearer.heard.length;
  assert.ok(talking > 40, `${talking} packets while somebody talks`);
  speaker.says = () => 0;
  pass(3000);
  const silent = hearer.heard.length - talking;
  assert.ok(silent < 60, `${silent} packets in 3 s of silence`);
  speaker.says = undefined;
  pass(1000);
  const { heard } = hearer;
  const last = heard.at(-1)!;
  assert.equal(
    heard.slice(1).map(({ sequence }, index) => (sequence - heard[index]!.sequence) & 0xffff),
    heard.slice(1).map(() => 1),
  );
  const spokenMs = (((last.timestamp - heard[0]!.timestamp) | 0) / 48_000) * 1000;
  assert.ok(Math.abs(spokenMs - (last.at - heard[0]!.at)) <= 40, `${spokenMs} ms by its timestamps`);
  assert.ok(
    heard.some(({ marker }, index) => index > talking && marker),
    'a talkspurt begins with a marker',
  );
  engine.close();
});

test('digits are heard in the audio where they are looked for, told once, and kept from the others', async () => {
  const { engine, sides, ask, pass, join, reports } = await meeting([400, 620], {}, ['ulaw', 'slin16']);
  const [speaker, hearer] = sides as [(typeof sides)[0], (typeof sides)[0]];
  ask(1, { type: 'configure', flow: { ...speaker.flow, inbandDigits: true } });
  engine.openMix(1, 'mixing');
  join(1, { passDigits: false });
  join(2);
  speaker.says = () => 0;
  pass(200);
  const key = (low: number, high: number) => (at: number) =>
    4000 * (Math.sin((2 * Math.PI * low * at) / 8000) + Math.sin((2 * Math.PI * high * at) / 8000));
  for (const says of [key(770, 1336), undefined, key(941, 1477)]) {
    speaker.says = says ?? (() => 0);
    pass(120);
  }
  speaker.says = () => 0;
  pass(200);
  const digits = reports.filter((report) => report.type === 'digit');
  assert.equal(
    digits.map(({ session, digit }) => [session, digit]),
    [
      [1, '5'],
      [1, '#'],
    ],
  );
  for (const { durationMs } of digits) assert.ok(Math.abs(durationMs - 120) <= 30, `${durationMs} ms`);
  const leaked = hearer.samples();
  let audible = 0;
  for (let at = 0; at + 160 <= leaked.length; at += 160) if (level(leaked, at, at + 160) > 500) audible += 10;
  assert.ok(audible <= 120, `${audible} ms of 240 ms are heard by others`);
  ask(1, { type: 'configure', flow: speaker.flow });
  speaker.says = key(697, 1209);
  pass(300);
  assert.is(reports.filter((report) => report.type === 'digit').length, 2);
  engine.close();
});

test.run();
