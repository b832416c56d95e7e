import { test as once } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeUlaw } from '../support/rtp-audio.ts';
import { flaws, meeting } from './phones.ts';
import { test, threadCount } from './spread.ts';
import { settle } from './support.ts';

const tones = [400, 620, 900, 1300];
/** Opens the two halves of a Local pair. */
function openPair(engine: Awaited<ReturnType<typeof meeting>>['engine'], first: number, second: number): void {
  engine.openLocal(first);
  engine.openLocal(second, undefined, first);
}
const item = (uri: string) => ({ uri, language: 'en', offsetMs: 0 });

test('two of one codec hear each other by packets that are passed on as they are', async () => {
  const { engine, sides, join, pass, collect, deliver } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  pass(15);
  const said = sides[0]!.packet();
  const payload = [...said.subarray(12)];
  deliver(sides[0]!, said);
  collect();
  assert.equal(sides[1]!.heard.at(-1)?.payload, payload, 'no tick is waited for');
  pass(2000);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  assert.equal([engine.forwarded(1), engine.forwarded(2)], [102, 101]);
  assert.equal([flaws(sides[0]!.heard), flaws(sides[1]!.heard)], [[], []]);
  engine.close();
});

test('losses, changes of order and digits of one are the same for the other', async () => {
  const { engine, sides, join, deliver, collect } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  const [first, second] = sides as [(typeof sides)[0], (typeof sides)[0]];
  deliver(first, first.packet());
  first.lose();
  const late = first.packet();
  deliver(first, first.packet());
  deliver(first, late);
  for (const payload of [
    [5, 10, 0, 160],
    [5, 0x8a, 3, 32],
  ])
    deliver(first, first.event(payload));
  collect();
  const [base] = second.heard;
  assert.equal(
    second.heard.map(({ sequence, timestamp, payloadType, marker }) => [
      (sequence - base!.sequence) & 0xffff,
      (timestamp - base!.timestamp) | 0,
      payloadType,
      marker,
    ]),
    [
      [0, 0, 0, true],
      [3, 480, 0, false],
      [2, 320, 0, false],
      [4, 640, 101, false],
      [5, 640, 101, false],
    ],
  );
  assert.equal(
    second.heard.slice(3).map(({ payload }) => payload),
    [
      [5, 10, 0, 160],
      [5, 0x8a, 3, 32],
    ],
  );
  engine.close();
});

test('whom the mix mutes is not heard, and digits that it keeps are not passed on', async () => {
  const { engine, sides, join, pass, deliver, collect } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  join(1, { muted: true, passDigits: false });
  join(2);
  pass(200);
  deliver(sides[0]!, sides[0]!.event([5, 0x8a, 3, 32]));
  collect();
  assert.equal([sides[0]!.hears(tones), sides[1]!.heard], [[620], []]);
  engine.close();
});

test('of several each hears all others and not itself', async () => {
  const { engine, sides, join, pass } = await meeting(tones);
  engine.openMix(1, 'mixing');
  for (const { session } of sides) join(session);
  pass(1000);
  assert.equal(
    sides.map((side) => side.hears(tones)),
    tones.map((own) => tones.filter((each) => each !== own)),
  );
  assert.equal(
    sides.flatMap(({ heard }) => flaws(heard)),
    [],
  );
  assert.is(engine.forwarded(1), 0);
  engine.close();
});

test('from two to three and back to two nothing is lost, said twice or interrupted', async () => {
  const { engine, sides, join, leave, pass } = await meeting(tones.slice(0, 3));
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  pass(1000);
  for (let round = 0; round < 5; round++) {
    join(3);
    pass(500);
    assert.equal(
      sides.map((side) => side.hears(tones)),
      [
        [620, 900],
        [400, 900],
        [400, 620],
      ],
    );
    leave(3);
    pass(500);
    assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  }
  assert.equal([...flaws(sides[0]!.heard), ...flaws(sides[1]!.heard)], []);
  const said = (1000 + 5 * 1000) / 20;
  for (const side of sides.slice(0, 2))
    assert.ok(Math.abs(side.heard.length - said) <= 5 * 3, `${side.heard.length} packets of ${said}`);
  engine.close();
});

// In one thread: between threads that are late one after the other, what is heard moves by some frames.
for (const late of [40, 100, 500])
  once(`a conference whose ticks are ${late} ms late sends every packet, with what was said`, async () => {
    const { engine, sides, join, pass, clock, deliver, collect } = await meeting(tones.slice(0, 3));
    engine.openMix(1, 'mixing');
    for (const { session } of sides) join(session);
    pass(1000);
    const before = sides.map(({ heard }) => heard.length);
    clock.stall(late);
    for (let packet = 0; packet < late / 20; packet++) for (const side of sides) deliver(side, side.packet());
    pass(400);
    for (const [index, side] of sides.entries()) {
      const said = side.heard.slice(before[index]);
      assert.is(said.length, (400 + late) / 20);
      assert.equal(flaws(side.heard, late + 40), []);
      assert.equal(
        said.slice(1).map(({ timestamp }, at) => (timestamp - said[at]!.timestamp) | 0),
        said.slice(1).map(() => 160),
      );
      const others = tones.slice(0, 3).filter((hertz) => hertz !== side.hertz);
      assert.equal(side.hears(tones, 400 + late), others);
      const own = Math.min(...others.map((hertz) => side.amplitude(hertz, 400 + late)));
      assert.ok(own > 5400, `an amplitude of ${own}`);
    }
    collect();
    engine.close();
  });

for (const late of [100, 500])
  test(`nothing of what one says in a conference is lost when ticks are ${late} ms late`, async () => {
    const { engine, sides, join, pass, clock, deliver } = await meeting(tones.slice(0, 3));
    engine.openMix(1, 'mixing');
    for (const side of sides) {
      side.says = () => 0;
      join(side.session);
    }
    // Each packet is as loud as its number says.
    const loudness = (packet: number) => decodeUlaw(0xe0 - (packet % 64));
    sides[1]!.says = (sample) => (sample % 2 === 0 ? 1 : -1) * loudness(Math.floor(sample / 160));
    pass(1000);
    clock.stall(late);
    for (let packet = 0; packet < late / 20; packet++) for (const side of sides) deliver(side, side.packet());
    pass(400);
    for (const hearer of [sides[0]!, sides[2]!]) {
      const heard = hearer.heard.map(({ payload }) => Math.abs(decodeUlaw(payload[80]!)));
      let said = 30;
      for (const level of heard.slice(25)) if (level === loudness(said)) said++;
      const all = (1400 + late) / 20;
      assert.ok(said > all - 8 - late / 20, `${said} of ${all} packets were heard in their order: ${heard.join(' ')}`);
    }
    engine.close();
  });

for (const [from, to] of [
  ['ulaw', 'alaw'],
  ['g722', 'ulaw'],
  ['ulaw', 'slin16'],
] as const)
  test(`${from} is transcoded to ${to} when it comes while nothing is lost, and by ticks after a loss`, async () => {
    const { engine, sides, join, clock, deliver, collect } = await meeting([400, 620], {}, [from, to]);
    const [speaker, hearer] = sides as [(typeof sides)[0], (typeof sides)[0]];
    engine.openMix(1, 'mixing');
    join(1);
    join(2);
    const say = (count: number, isLost = (_packet: number) => false) => {
      const before = hearer.heard.length;
      for (let packet = 0; packet < count; packet++) {
        clock.advance(7);
        collect();
        if (isLost(packet)) speaker.lose();
        else deliver(speaker, speaker.packet());
        collect();
        clock.advance(13);
        collect();
      }
      const heard = hearer.heard.slice(before);
      return { heard, atOnce: heard.filter(({ at }) => at % 20 === 7).length };
    };
    const clean = say(100);
    assert.equal([clean.heard.length, clean.atOnce], [100, 100]);
    const lossy = say(100, (packet) => packet % 20 === 10);
    assert.ok(lossy.atOnce <= 12, `${lossy.atOnce} at once while packets are lost`);
    assert.ok(Math.abs(lossy.heard.length - 100) <= 1, `${lossy.heard.length} packets`);
    assert.equal(hearer.hears(tones), [400]);
    assert.ok(say(520).atOnce < 40);
    const again = say(100);
    assert.equal([again.heard.length, again.atOnce], [100, 100]);
    assert.equal(
      flaws(hearer.heard, threadCount() > 1 ? 60 : 50).filter((flaw) => !flaw.includes('in time')),
      [],
    );
    assert.ok(hearer.amplitude(400, 1000) > 5000, 'nothing clicks or is missing');
    engine.close();
  });

/** One who is transcoded speaks 7 ms behind each tick. `say` tells how many of its packets were passed on then. */
async function transcoded() {
  const { engine, sides, join, clock, deliver, collect } = await meeting([400, 620], {}, ['ulaw', 'alaw']);
  const [speaker, hearer] = sides as [(typeof sides)[0], (typeof sides)[0]];
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  const pass = (ticks: number, packets: number, packet = () => speaker.packet()) => {
    const before = hearer.heard.length;
    for (let tick = 0; tick < ticks; tick++) {
      clock.advance(7);
      collect();
      for (let each = 0; each < packets; each++) deliver(speaker, packet());
      collect();
      clock.advance(13);
      collect();
    }
    const heard = hearer.heard.slice(before);
    return [heard.length, heard.filter(({ at }) => at % 20 === 7).length] as const;
  };
  /** Nothing of two seconds waits. Between threads a frame may still be on its way. */
  const isPassedOn = () => {
    const [all, atOnce] = pass(100, 1);
    assert.is(atOnce, all);
    assert.ok(Math.abs(all - 100) <= 1, `${all} packets`);
  };
  return { engine, speaker, hearer, clock, deliver, collect, pass, isPassedOn };
}

for (const [how, counts] of [
  ['timestamps that count it', true],
  ['timestamps that do not', false],
] as const)
  test(`one who pauses, with ${how}, is passed on without a wait afterwards`, async () => {
    const { engine, speaker, hearer, pass, isPassedOn } = await transcoded();
    isPassedOn();
    for (const ms of [200, 500, 3_000]) {
      speaker.pause(ms, counts);
      pass(ms / 20, 0);
      isPassedOn();
    }
    assert.equal(hearer.hears(tones), [400]);
    engine.close();
  });

test('one whose packets stood still in the network and then come together waits in the jitter buffer', async () => {
  const { engine, pass, isPassedOn } = await transcoded();
  isPassedOn();
  pass(8, 0);
  pass(1, 9);
  const [, atOnce] = pass(100, 1);
  assert.ok(atOnce < 10, `${atOnce} packets were passed on without a wait`);
  engine.close();
});

for (const late of [25, 45, 90, 150, 500])
  test(`packets that a stalled thread reads ${late} ms late are passed on at once`, async () => {
    const { engine, speaker, clock, deliver, collect, isPassedOn } = await transcoded();
    isPassedOn();
    clock.stall(late);
    for (let packet = 0; packet < Math.floor(late / 20) + 1; packet++) deliver(speaker, speaker.packet());
    clock.advance(20 - (late % 20));
    collect();
    isPassedOn();
    engine.close();
  });

test('one who presses a key is passed on without a wait afterwards', async () => {
  const { engine, speaker, pass, isPassedOn } = await transcoded();
  isPassedOn();
  const five = speaker.digit(5);
  let units = 0;
  pass(8, 1, () => five((units += 160)));
  pass(1, 3, () => five(units, true));
  speaker.pause(180, true);
  // The key is sent on for a while.
  pass(20, 1);
  isPassedOn();
  engine.close();
});

test('a snoop, a playback or a mute of one who is transcoded at once have what they need, and it goes on', async () => {
  const { engine, sides, ask, join, pass } = await meeting([400, 620], {}, ['ulaw', 'alaw']);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  pass(500);
  engine.openSnoop(3, 1, { spy: 'both', whisper: 'none' });
  pass(500);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  ask(3, { type: 'close' } as never);
  ask(2, { type: 'play', play: 1, item: item('ramp:8000') });
  await settle();
  pass(1500);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  ask(1, { type: 'mute', in: true, out: false });
  pass(500);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], []]);
  ask(1, { type: 'mute', in: false, out: false });
  pass(500);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  assert.equal(
    [...flaws(sides[0]!.heard), ...flaws(sides[1]!.heard)].filter((flaw) => !flaw.includes('in time')),
    [],
  );
  engine.close();
});

test('what is played to a mix is heard by all with what they say, and told once', async () => {
  const { engine, sides, join, mix, pass, reports } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  pass(200);
  mix({ type: 'play', play: 7, item: item('ramp:8000') });
  await settle();
  pass(500);
  assert.equal([sides[0]!.hears([620], 200), sides[1]!.hears([400], 200)], [[620], [400]]);
  const forwarded = engine.forwarded(1);
  pass(1000);
  assert.equal(
    reports.filter(({ type }) => type === 'mixPlayed'),
    [{ type: 'mixPlayed', mix: 1, play: 7, report: { type: 'media.finished' } }],
  );
  assert.ok(engine.forwarded(1) > forwarded, 'packets are passed on as they are again');
  engine.close();
});

for (const kind of ['mixing', 'holding'] as const)
  test(`a playback to a ${kind} bridge without members takes its time and is told, with music below it, too`, async () => {
    const { engine, mix, pass, reports } = await meeting([]);
    const told = () => reports.filter(({ type }) => type === 'mixPlayed');
    engine.openMix(1, kind);
    for (const play of [7, 8]) {
      mix({ type: 'play', play, item: item('ramp:8000') });
      await settle();
      pass(500);
      assert.equal(told().slice(play - 7), [], 'it is not over before its time');
      pass(600);
      assert.equal(told().at(-1), { type: 'mixPlayed', mix: 1, play, report: { type: 'media.finished' } });
      mix({ type: 'music', musicClass: '900' });
    }
    engine.close();
  });

test('two of the same wide codec pass packets on; what one says is what the other hears', async () => {
  for (const codec of ['g722', 'slin16', 'opus'] as const) {
    const { engine, sides, join, pass } = await meeting([3000, 5000], {}, [codec, codec]);
    engine.openMix(1, 'mixing');
    join(1);
    join(2);
    pass(1000);
    assert.equal([sides[0]!.hears([3000, 5000]), sides[1]!.hears([3000, 5000])], [[5000], [3000]], codec);
    assert.equal([engine.forwarded(1), engine.forwarded(2)], [50, 50]);
    engine.close();
  }
});

test('members of all codecs and rates hear each other, as well as each of them can', async () => {
  const codecs = ['ulaw', 'alaw', 'g722', 'slin16', 'slin48', 'opus'] as const;
  const own = [400, 620, 900, 1300, 1800, 2300];
  const { engine, sides, join, pass } = await meeting(own, {}, codecs);
  engine.openMix(1, 'mixing');
  for (const { session } of sides) join(session);
  pass(100);
  // The library of Opus makes its streams in turns of the event loop.
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  pass(1500);
  assert.equal(
    sides.map((side) => side.hears(own)),
    own.map((each) => own.filter((other) => other !== each)),
  );
  engine.close();
});

test('on hold each hears announcers and nobody else, and announcers hear nobody', async () => {
  const { engine, sides, join, pass } = await meeting(tones.slice(0, 3));
  engine.openMix(1, 'holding');
  join(1);
  join(2);
  join(3, { role: 'announcer' });
  pass(500);
  assert.equal(
    sides.map((side) => side.hears(tones)),
    [[900], [900], []],
  );
  engine.close();
});

test('a session or a mix hears music until it is turned off; a playback replaces it', async () => {
  const { engine, sides, ask, join, mix, pass, collect } = await meeting([400, 620]);
  ask(1, { type: 'music', musicClass: '900' });
  pass(400);
  assert.equal([sides[0]!.hears([900, 1300]), sides[1]!.heard.length], [[900], 0]);
  ask(1, { type: 'play', play: 1, item: item('ramp:1600') });
  await settle();
  pass(200);
  assert.equal(sides[0]!.hears([900]), []);
  pass(200);
  assert.equal(sides[0]!.hears([900], 100), [900]);
  ask(1, { type: 'music', musicClass: undefined });
  engine.openMix(1, 'holding');
  join(1);
  join(2);
  mix({ type: 'music', musicClass: '1300' });
  pass(500);
  assert.equal(
    sides.map((side) => side.hears([400, 620, 900, 1300])),
    [[1300], [1300]],
  );
  mix({ type: 'music', musicClass: undefined });
  pass(400);
  collect();
  assert.equal(
    sides.map((side) => side.hears([1300])),
    [[], []],
  );
  engine.close();
});

test('a digit of one member of a mixed conference reaches the others', async () => {
  const { engine, sides, join, pass, deliver } = await meeting(tones.slice(0, 3));
  engine.openMix(1, 'mixing');
  for (const { session } of sides) join(session);
  pass(200);
  deliver(sides[0]!, sides[0]!.event([7, 0x8a, 3, 32]));
  pass(400);
  const digits = (index: number) =>
    new Set(sides[index]!.heard.filter(({ payloadType }) => payloadType === 101).map(({ payload }) => payload[0]));
  assert.equal([[...digits(0)], [...digits(1)], [...digits(2)]], [[], [7], [7]]);
  engine.close();
});

test('a digit that signalling tells reaches the others once, also where packets are forwarded', async () => {
  for (const members of [2, 3]) {
    const { engine, sides, ask, join, pass } = await meeting(tones.slice(0, members));
    engine.openMix(1, 'mixing');
    for (const { session } of sides) join(session);
    pass(200);
    ask(1, { type: 'hearDigit', digit: '7', durationMs: 100 });
    pass(400);
    const digits = sides.map(({ heard }) => {
      const events = heard.filter(({ payloadType }) => payloadType === 101);
      return new Set(events.map(({ payload, timestamp }) => `${payload[0]} at ${timestamp}`)).size;
    });
    assert.equal(digits, [0, 1, 1].slice(0, members));
    engine.close();
  }
});

test('a far side that takes digits by signalling has those of a mix reported; an echo of its own, too', async () => {
  const { engine, sides, ask, join, pass, reports } = await meeting([400, 620]);
  const { telephoneEvent: _none, ...flow } = sides[1]!.flow;
  ask(2, { type: 'configure', flow: { ...flow, digitsBySignalling: true } });
  engine.openMix(1, 'mixing');
  for (const { session } of sides) join(session);
  ask(1, { type: 'hearDigit', digit: '7', durationMs: 100 });
  pass(400);
  engine.applyToMix(1, { type: 'leave', session: 2 });
  ask(2, { type: 'echo', on: true });
  ask(2, { type: 'hearDigit', digit: '8', durationMs: 120 });
  pass(400);
  const passed = reports.filter(({ type }) => type === 'digitPassed');
  assert.equal(
    passed.map((report) => report.type === 'digitPassed' && [report.session, report.digit, report.durationMs]),
    [
      [2, '7', 100],
      [2, '8', 120],
    ],
  );
  assert.equal(sides[1]!.hears([697, 852]), [], 'no tones');
  for (let press = 0; press < 100; press++) ask(2, { type: 'hearDigit', digit: '9', durationMs: 10 });
  pass(20_000);
  const flood = reports.filter((report) => report.type === 'digitPassed' && report.digit === '9');
  assert.is(flood.length, 20, 'no more than may wait');
  engine.close();
});

test('local halves carry audio between mixes, and nothing while nobody listens', async () => {
  const { engine, sides, join, pass } = await meeting([400, 620]);
  openPair(engine, 11, 12);
  engine.openMix(1, 'mixing');
  engine.openMix(2, 'mixing');
  join(1);
  join(11);
  join(12, {}, 2);
  join(2, {}, 2);
  pass(600);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  engine.close();
});

test('who talks is told once when it begins and once when it ends', async () => {
  const { engine, sides, join, pass, reports } = await meeting(tones.slice(0, 3));
  engine.openMix(1, 'mixing');
  for (const { session } of sides) join(session);
  sides[1]!.sending = false;
  sides[2]!.sending = false;
  pass(1000);
  sides[0]!.sending = false;
  pass(4000);
  assert.equal(
    reports.map((report) =>
      report.type === 'mixTalking'
        ? [report.session, report.talking]
        : [report.type, 'session' in report && report.session],
    ),
    [
      ['activeSpeaker', 1],
      [1, true],
      [1, false],
    ],
  );
  engine.close();
});

test('a whisperer is heard by whom it whispers to, and a spy hears both sides', async () => {
  const { engine, sides, join, pass } = await meeting([400, 620, 900]);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  pass(400);
  const forwarded = engine.forwarded(1);
  engine.openSnoop(20, 1, { spy: 'both', whisper: 'out' });
  engine.openMix(2, 'mixing');
  join(20, {}, 2);
  join(3, {}, 2);
  pass(600);
  assert.equal(
    sides.map((side) => side.hears(tones)),
    [[620, 900], [400], [400, 620]],
  );
  engine.apply({ type: 'close', session: 20 });
  pass(600);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  assert.ok(engine.forwarded(1) > forwarded + 20, 'packets are passed on as they are again');
  assert.equal([...flaws(sides[0]!.heard), ...flaws(sides[1]!.heard)], []);
  engine.close();
});

test('talking is told of a session only while that is wanted', async () => {
  const { engine, sides, ask, pass, reports } = await meeting([400]);
  ask(1, { type: 'detectTalking', detection: { thresholdLevel: 256, silenceMs: 500 } });
  pass(1000);
  sides[0]!.sending = false;
  pass(1000);
  sides[0]!.sending = true;
  pass(200);
  ask(1, { type: 'detectTalking', detection: undefined });
  assert.equal(
    reports.map(({ type }) => type),
    ['talkingStarted', 'talkingFinished', 'talkingStarted', 'talkingFinished'],
  );
  const [, finished] = reports;
  const durationMs = finished?.type === 'talkingFinished' ? finished.durationMs : 0;
  assert.ok(durationMs >= 900 && durationMs <= 1100, `${durationMs} ms`);
  pass(1000);
  assert.is(reports.length, 4);
  engine.close();
});

test('a tone is told each time it has sounded long enough, in the direction that is looked at', async () => {
  const { engine, sides, ask, pass, join, reports } = await meeting([1100, 620], {}, ['ulaw', 'slin16']);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  const look = (direction: 'in' | 'out' | 'both', hertz = 1100) =>
    ask(1, { type: 'detectTone', detection: { hertz, durationMs: 300, direction } });
  const told = () => reports.splice(0).flatMap((report) => (report.type === 'toneDetected' ? [report.session] : []));
  const side = sides[0]!;
  look('in');
  side.sending = false;
  pass(400);
  assert.equal(told(), []);
  side.sending = true;
  pass(200);
  assert.equal(told(), [], 'not long enough');
  pass(800);
  assert.equal(told(), [1]);
  side.sending = false;
  pass(300);
  side.sending = true;
  pass(500);
  assert.equal(told(), [1]);
  look('in', 620);
  pass(800);
  assert.equal(told(), []);
  look('out', 620);
  pass(800);
  assert.equal(told(), [1]);
  look('both', 5000);
  pass(800);
  ask(1, { type: 'detectTone', detection: undefined });
  look('both');
  ask(1, { type: 'detectTone', detection: undefined });
  pass(800);
  assert.equal(told(), []);
  engine.close();
});

test('packets go through local halves as they are, until somebody taps one, plays to one, or mutes one', async () => {
  const { engine, sides, ask, join, pass } = await meeting([400, 620]);
  // In one thread, wherever the phones are.
  openPair(engine, 13, 16);
  engine.openMix(1, 'mixing');
  engine.openMix(4, 'mixing');
  join(1);
  join(13);
  join(16, {}, 4);
  join(2, {}, 4);
  pass(600);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  const forwarded = engine.forwarded(1);
  pass(400);
  const passed = engine.forwarded(1) - forwarded;
  assert.is(passed, 20, 'all of them');
  ask(13, { type: 'play', play: 1, item: item('ramp:4000') });
  await settle();
  pass(200);
  assert.equal([sides[0]!.hears([620], 100), sides[1]!.hears([400], 100)], [[620], []], 'what it plays wins');
  pass(800);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  ask(16, { type: 'mute', in: true, out: false });
  pass(400);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], []]);
  ask(16, { type: 'mute', in: false, out: false });
  pass(400);
  const again = engine.forwarded(1);
  pass(200);
  assert.is(engine.forwarded(1) - again, 10);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  engine.close();
});

test('both halves of a pair in one bridge, and bridges joined in rows or rings, make no loop', async () => {
  const { engine, sides, join, leave, pass } = await meeting([400, 620]);
  openPair(engine, 13, 16);
  openPair(engine, 19, 22);
  for (const mix of [1, 4, 7]) engine.openMix(mix, 'mixing');
  join(13);
  join(16);
  pass(100);
  join(19);
  join(22);
  pass(100);
  for (const half of [16, 19, 22]) leave(half);
  // A row: a phone, a pair, a pair, a phone.
  join(1);
  join(16, {}, 4);
  join(19, {}, 4);
  join(22, {}, 7);
  join(2, {}, 7);
  pass(600);
  assert.equal([sides[0]!.hears(tones), sides[1]!.hears(tones)], [[620], [400]]);
  // A circle: what is heard in one comes back from the other.
  leave(1);
  leave(2, 7);
  leave(22, 7);
  join(22);
  pass(100);
  engine.close();
});

test('packets pass chains of pairs unchanged until one is tapped, and none is lost by the tap', async () => {
  for (const pairs of [2, 3, 5]) {
    const { engine, sides, ask, join, pass } = await meeting([400, 620]);
    const halves = Array.from({ length: pairs }, (_, pair) => [31 + 6 * pair, 34 + 6 * pair] as const);
    for (const [near, far] of halves) openPair(engine, near, far);
    const row = [1, ...halves.flat(), 2];
    for (let mix = 0; mix <= pairs; mix++) {
      engine.openMix(1 + 3 * mix, 'mixing');
      join(row[2 * mix]!, {}, 1 + 3 * mix);
      join(row[2 * mix + 1]!, {}, 1 + 3 * mix);
    }
    const passes = (ms: number): [number, number] => {
      const before = [engine.forwarded(1), engine.forwarded(2)] as const;
      pass(ms);
      return [engine.forwarded(1) - before[0], engine.forwarded(2) - before[1]];
    };
    const hear = () => sides.map((side) => side.hears(tones));
    pass(600);
    assert.equal(
      [hear(), passes(400)],
      [
        [[620], [400]],
        [20, 20],
      ],
      `${pairs} pairs`,
    );
    const middle = halves[pairs >> 1]![0];
    engine.openSnoop(91, middle, { spy: 'both', whisper: 'none' });
    pass(600);
    assert.equal(
      [hear(), passes(400)],
      [
        [[620], [400]],
        [20, 20],
      ],
      'a spy that nobody hears costs nothing',
    );
    engine.openMix(97, 'mixing');
    join(91, {}, 97);
    pass(600);
    assert.equal(
      [hear(), passes(400)],
      [
        [[620], [400]],
        [0, 0],
      ],
      'one in a bridge hears frames',
    );
    engine.apply({ type: 'close', session: 91 });
    pass(600);
    assert.equal(
      [hear(), passes(400)],
      [
        [[620], [400]],
        [20, 20],
      ],
    );
    ask(middle, { type: 'play', play: 1, item: item('ramp:4000') });
    await settle();
    pass(300);
    assert.equal(sides[0]!.hears([620], 100), [620]);
    assert.equal(sides[1]!.hears([400], 100), [], 'what is played in the middle wins beyond it');
    pass(1000);
    assert.equal(
      [hear(), passes(400)],
      [
        [[620], [400]],
        [20, 20],
      ],
    );
    assert.equal([...flaws(sides[0]!.heard), ...flaws(sides[1]!.heard)], []);
    engine.close();
  }
});

test('packets to a local half that nobody is behind are passed on to nobody, and cost no mixing', async () => {
  const { engine, sides, join, pass } = await meeting([400]);
  openPair(engine, 13, 16);
  engine.openMix(1, 'mixing');
  join(1);
  join(13);
  pass(400);
  assert.ok(engine.forwarded(1) >= 19);
  assert.equal(sides[0]!.heard, []);
  engine.close();
});

test('a digit reaches the other phone, and the half on its way, also through forwarded local halves', async () => {
  const { engine, sides, join, pass, deliver, reports } = await meeting([400, 620]);
  openPair(engine, 13, 16);
  engine.openMix(1, 'mixing');
  engine.openMix(4, 'mixing');
  join(1);
  join(13);
  join(16, {}, 4);
  join(2, {}, 4);
  pass(400);
  deliver(sides[0]!, sides[0]!.event([7, 0x8a, 3, 32]));
  pass(600);
  assert.equal(
    reports.flatMap((report) =>
      report.type === 'digit' || report.type === 'digitSent' ? [[report.type, report.session]] : [],
    ),
    [
      ['digit', 1],
      ['digitSent', 13],
    ],
  );
  const events = sides[1]!.heard.filter(({ payloadType }) => payloadType === 101);
  assert.is(new Set(events.map(({ timestamp }) => timestamp)).size, 1, 'one digit');
  assert.is(events.at(-1)?.payload[0], 7);
  engine.close();
});

test('a digit under way when forwarding turns to mixing, or back, is heard once by everyone', async () => {
  for (const [before, after] of [
    [2, 3],
    [3, 2],
  ] as const) {
    const { engine, sides, join, leave, pass, deliver } = await meeting(tones.slice(0, 3));
    engine.openMix(1, 'mixing');
    for (let session = 1; session <= before; session++) join(session);
    pass(400);
    const digit = sides[0]!.digit(5);
    deliver(sides[0]!, digit(400));
    pass(20);
    deliver(sides[0]!, digit(800));
    if (after === 3) join(3);
    else leave(3);
    pass(20);
    for (const end of [false, true, true, true]) deliver(sides[0]!, digit(1200, end));
    pass(600);
    const digits = (index: number) => {
      const events = sides[index]!.heard.filter(({ payloadType }) => payloadType === 101);
      const ended = events.filter(({ payload }) => (payload[1]! & 0x80) !== 0);
      return [
        new Set(events.map(({ timestamp }) => timestamp)).size,
        new Set(ended.map(({ timestamp }) => timestamp)).size,
      ];
    };
    assert.equal(
      [digits(0), digits(1)],
      [
        [0, 0],
        [1, 1],
      ],
      `from ${before} to ${after}`,
    );
    if (after === 3) assert.equal(digits(2), [1, 1], 'who came meanwhile hears it, too');
    engine.close();
  }
});

test('who talks is told of two whose packets are passed on as they are', async () => {
  const { engine, sides, ask, join, pass, reports } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  pass(200);
  ask(1, { type: 'detectTalking', detection: { thresholdLevel: 256, silenceMs: 500 } });
  const forwarded = engine.forwarded(1);
  pass(1000);
  assert.ok(engine.forwarded(1) - forwarded >= 49, 'nothing is mixed for that');
  sides[0]!.sending = false;
  pass(1000);
  const told = reports.filter(({ type }) => type.startsWith('talking'));
  assert.equal(
    told.map(({ type }) => type),
    ['talkingStarted', 'talkingFinished'],
  );
  const [, finished] = told;
  const durationMs = finished?.type === 'talkingFinished' ? finished.durationMs : 0;
  assert.ok(durationMs >= 900 && durationMs <= 1100, `${durationMs} ms`);
  engine.close();
});

test.run();
