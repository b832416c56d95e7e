import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import { restoreSnapshot } from '../../src/actors/snapshot.ts';
import { createCallControl, FakeLeg, settled } from '../support/call-control.ts';
import { takeSnapshot } from '../support/snapshots.ts';

/** Parties of a Dial that ask for something by keys. */
const test = suite('feature keys');

/** Alice has called 202, where Bob has answered; Carol is 300. */
async function world(options: string, extensions: Record<string, string[]> = {}) {
  const w = createCallControl({
    contexts: {
      default: { '202': [`Dial(Fake/bob,20,${options})`, 'Wait(60)'], '300': ['Dial(Fake/carol)'], ...extensions },
    },
  });
  const { events } = w.connect('all', true);
  const alice = w.incoming('alice', '202');
  const named = (name: string) => w.channels.all().find((each) => each.name.startsWith(name))?.id ?? '';
  const bobId = named('Fake/bob');
  const bob = w.legs.get(bobId)!;
  bob.report({ type: 'leg.answered' });
  await settled();
  assert.equal(w.bridges.size, 1);
  const mix = w.meeting.mixes[0]!;
  const sent = (leg: FakeLeg) =>
    leg.calls.filter((call) => call.startsWith('sendDigits')).map((call) => call.replace('sendDigits ', ''));
  const tones = (leg: FakeLeg) => leg.media.calls.filter((call) => call.startsWith('indicate'));
  const music = (id: string) => JSON.stringify(w.audio.snapshot(id)?.value ?? '').includes('"background":"music"');
  return { ...w, events, alice, bob, bobId, mix, named, sent, tones, music };
}

const press = (leg: FakeLeg, keys: string): void => {
  for (const digit of keys) leg.report({ type: 'leg.digit', digit, durationMs: 140 });
};

test('the code of disconnect ends the call of whoever may', async () => {
  for (const option of ['h', 'H']) {
    const w = await world(option);
    const [has, hasNot] = option === 'h' ? [w.bob, w.alice] : [w.alice, w.bob];
    press(hasNot, '*0');
    await settled();
    assert.is(w.channels.size, 2, option);
    press(has, '*0');
    await settled();
    assert.equal([w.channels.size, w.bridges.size, w.featureKeys.size, w.clock.pending], [0, 0, 0, 0], option);
  }
});

test('with H the caller ends the calling by the code of disconnect, and its dialplan goes on', async () => {
  for (const options of ['H', 'rH', 'm(default)H']) {
    const w = createCallControl({ contexts: { default: { '202': [`Dial(Fake/bob,20,${options})`, 'Wait(60)'] } } });
    const alice = w.incoming('alice', '202');
    press(alice, '5*');
    w.clock.advance(1_000);
    press(alice, '*0');
    await settled();
    const { variables } = snapshotOf(w.channels.get('alice')).context;
    assert.equal([variables['DIALSTATUS'], w.operations.get('alice').dialplan.app_name], ['CANCEL', 'Wait'], options);
    assert.equal([w.channels.size, w.featureKeys.size, w.dialSessions.size], [1, 0, 0]);
  }
});

test('without H no code ends the calling; with it, it ends the call once somebody has answered', async () => {
  for (const steps of [[], ['Answer()']]) {
    const silent = createCallControl({ contexts: { default: { '202': [...steps, 'Dial(Fake/bob,20,hTX)'] } } });
    const caller = silent.incoming('alice', '202');
    await settled();
    press(caller, '*0');
    await settled();
    assert.equal([silent.channels.size, silent.featureKeys.size], [2, 0]);
    const w = createCallControl({ contexts: { default: { '202': [...steps, 'Dial(Fake/bob,20,TH)'] } } });
    const alice = w.incoming('alice', '202');
    await settled();
    assert.is(w.featureKeys.size, 1);
    const [bob] = [...w.legs.values()];
    bob!.report({ type: 'leg.answered' });
    await settled();
    press(alice, '7*0');
    await settled();
    const sent = bob!.calls.filter((call) => call.startsWith('sendDigits'));
    assert.equal([sent, w.channels.size, w.bridges.size, w.featureKeys.size], [['sendDigits 7'], 0, 0, 0]);
  }
});

test('with g the dialplan goes on after the code of disconnect', async () => {
  const w = await world('hg');
  press(w.bob, '*0');
  await settled();
  assert.equal([w.operations.get('alice').dialplan.app_name, w.channels.size], ['Wait', 1]);
});

test('keys of a party that may ask for something go to the other by way of us, but for codes', async () => {
  const w = await world('T');
  const passes = () => [...w.mix.sessions.values()].map(({ passDigits }) => passDigits);
  assert.equal(passes(), [false, true]);
  press(w.alice, '12#');
  assert.equal([w.sent(w.bob), w.sent(w.alice)], [['1', '2'], []]);
  w.clock.advance(1_000);
  assert.equal(w.sent(w.bob), ['1', '2', '#']);
});

test('without such options, and where no keys stand for what they allow, keys pass as ever', async () => {
  const without = await world('g');
  assert.equal(
    [[...without.mix.sessions.values()].map(({ passDigits }) => passDigits), without.featureKeys.size],
    [[true, true], 0],
  );
  const w = createCallControl({ contexts: { default: { '202': ['Dial(Fake/bob,20,hH)'] } } });
  w.featureKeys.change({
    codes: {
      ...{ blindxfer: '#1', disconnect: '', automon: '', automixmon: '' },
      ...{ atxfer: '*2', atxferabort: '*1', atxfercomplete: '*2' },
    },
    ...{ digitTimeoutMs: 1_000, numberTimeoutMs: 3_000, attempts: 1, noAnswerTimeoutMs: 15_000, beep: false },
  });
  w.incoming('alice', '202');
  w.report([...w.legs.keys()][0]!, { type: 'leg.answered' });
  await settled();
  assert.equal(
    [[...w.meeting.mixes[0]!.sessions.values()].map(({ passDigits }) => passDigits), w.featureKeys.size],
    [[true, true], 0],
  );
});

test('a called party transfers the caller by keys: music and dial tone, ringing, then the target', async () => {
  const w = await world('t');
  press(w.bob, '#1');
  assert.equal([w.tones(w.bob), w.music('alice')], [['indicate dial'], true]);
  press(w.bob, '300');
  const carol = w.legs.get(w.named('Fake/carol'))!;
  assert.equal(w.tones(w.bob), ['indicate dial', 'indicate nothing']);
  carol.report({ type: 'leg.ringing' });
  assert.equal(w.tones(w.bob).at(-1), 'indicate ringing');
  assert.equal(w.sent(w.alice), []);
  carol.report({ type: 'leg.answered' });
  await settled();
  const ended = w.events.flatMap((event) => (event.type === 'ChannelDestroyed' ? [event.channel.name] : []));
  assert.equal(
    ended.map((name) => name.replace(/-.*/, '')),
    ['Fake/bob'],
  );
  const [transferred] = w.events.filter(({ type }) => type === 'BridgeBlindTransfer') as {
    result?: string;
    exten?: string;
  }[];
  assert.equal([transferred?.result, transferred?.exten], ['Success', '300']);
  assert.equal([w.music('alice'), w.featureKeys.size, w.transfers.size], [false, 0, 0]);
  // Whoever is in Bob's place presses keys for Alice as anybody does.
  assert.equal(
    [...w.mix.sessions.values()].map(({ passDigits }) => passDigits),
    [true, true],
  );
  w.alice.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.channels.size, w.bridges.size, w.clock.pending], [0, 0, 0]);
});

test('a caller that has put the other through may hang up while it rings', async () => {
  const w = await world('T');
  press(w.alice, '#1300');
  w.report(w.named('Fake/carol'), { type: 'leg.ringing' });
  w.alice.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  w.report(w.named('Fake/carol'), { type: 'leg.answered' });
  await settled();
  assert.equal(
    w.channels
      .all()
      .map(({ name }) => name.replace(/-.*/, ''))
      .sort(),
    ['Fake/bob', 'Fake/carol', 'Local/300@default', 'Local/300@default'],
  );
  w.bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.channels.size, w.bridges.size, w.featureKeys.size, w.transfers.size], [0, 0, 0, 0]);
});

test('a number that is busy, or that there is not, leaves both in their call after so many attempts', async () => {
  const w = await world('t');
  press(w.bob, '#19');
  assert.equal([w.tones(w.bob).at(-1), w.transfers.size], ['indicate congestion', 0]);
  w.clock.advance(1_500);
  assert.equal(w.tones(w.bob).at(-1), 'indicate dial');
  press(w.bob, '300');
  w.report(w.named('Fake/carol'), { type: 'leg.hungUp', cause: 17 });
  await settled();
  assert.equal(w.tones(w.bob).at(-1), 'indicate congestion');
  w.clock.advance(1_500);
  assert.equal([w.tones(w.bob).at(-1), w.music('alice'), w.bridges.size], ['indicate nothing', false, 1]);
  press(w.bob, '7');
  assert.equal(w.sent(w.alice), ['7']);
});

test('a phone whose calls are bounded puts nobody through beyond', async () => {
  const w = await world('t');
  Object.assign(w.bob, { mayCall: (extension: string) => extension !== '300' });
  press(w.bob, '#1300');
  await settled();
  assert.equal([w.named('Fake/carol'), w.tones(w.bob).at(-1)], ['', 'indicate congestion']);
});

test('TRANSFER_CONTEXT says where numbers are looked up, and the time between keys when they end', async () => {
  const w = await world('T', { '30': ['Wait(60)'] });
  w.channels.tell(w.channels.get('alice'), { type: 'variable.set', name: 'TRANSFER_CONTEXT', value: 'default' });
  press(w.alice, '#130');
  assert.is(w.transfers.size, 0);
  w.clock.advance(3_000);
  await settled();
  const [told] = w.events.filter(({ type }) => type === 'ChannelDialplan').slice(-1) as {
    channel?: { dialplan: { exten: string } };
  }[];
  assert.is(told?.channel?.dialplan.exten, '30');
});

test('a call is recorded from one press of the code to the next, whoever presses it', async () => {
  const w = await world('xW');
  press(w.bob, '*3');
  const [recorder] = w.mix.recorders;
  const name = `auto-${Math.floor(w.clock.now() / 1000)}-100-bob`;
  assert.is(recorder?.request.path, `/recordings/${name}.wav`);
  const output = snapshotOf(w.channels.get('alice')).context.variables['TOUCH_MIXMONITOR_OUTPUT'];
  assert.is(output, `${name}.wav`);
  press(w.alice, '*1');
  await settled();
  assert.equal([recorder?.calls, w.recordings.size], [['stop'], 0]);
  assert.equal(
    w.events.map(({ type }) => type).filter((type) => type.startsWith('Recording')),
    ['RecordingStarted', 'RecordingFinished'],
  );
  press(w.alice, '*1');
  w.alice.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.recordings.size, w.bridges.size, w.channels.size], [0, 0, 0]);
});

test('variables name the recording and its format; what cannot be recorded is logged', async () => {
  const w = await world('X');
  w.channels.tell(w.channels.get('alice'), { type: 'variable.set', name: 'TOUCH_MIXMONITOR', value: '../x y' });
  w.channels.tell(w.channels.get('alice'), { type: 'variable.set', name: 'TOUCH_MIXMONITOR_FORMAT', value: 'ogg' });
  press(w.alice, '*3');
  assert.is(w.mix.recorders[0]?.request.path, `/recordings/auto-${Math.floor(w.clock.now() / 1000)}-___x_y.ogg`);
  press(w.alice, '*3');
  await settled();
  w.channels.tell(w.channels.get('alice'), { type: 'variable.set', name: 'TOUCH_MIXMONITOR_FORMAT', value: 'mp3' });
  press(w.alice, '*3');
  assert.match(w.mix.recorders[1]?.request.path ?? '', /\.wav$/);
});

/** Bob has asked to talk to Carol first, who has answered. */
async function talk(options = 't') {
  const w = await world(options);
  const [asks, waits] = options === 't' ? [w.bob, 'alice'] : [w.alice, w.bobId];
  press(asks, '*2300');
  const carol = w.legs.get(w.named('Fake/carol'))!;
  carol.report({ type: 'leg.ringing' });
  carol.report({ type: 'leg.answered' });
  await settled();
  return { ...w, asks, waits, carol };
}

/** Who is with whom, by names without what makes them unique. */
const together = ({ bridges, channels }: Pick<Awaited<ReturnType<typeof world>>, 'bridges' | 'channels'>) =>
  bridges
    .list()
    .map((each) => each.channels.map((id) => channels.get(id).name.replace(/-[0-9a-f]{8}/, '')))
    .sort();

const attended = ({ events }: { events: { type: string }[] }) =>
  events.filter(({ type }) => type === 'BridgeAttendedTransfer') as unknown as Record<string, unknown>[];

test('a party talks to the target first, the other one waits with music, and hanging up puts it through', async () => {
  const w = await world('t');
  press(w.bob, '*2');
  assert.equal([w.tones(w.bob), w.music('alice')], [['indicate dial'], true]);
  press(w.bob, '300');
  const carol = w.legs.get(w.named('Fake/carol'))!;
  carol.report({ type: 'leg.ringing' });
  assert.equal([w.tones(w.bob).at(-1), together(w)], ['indicate ringing', [['Fake/phone', 'Fake/bob']]]);
  // She is called by Bob, not by whoever may be put through to her.
  const bobs = w.views.model(w.channels.get(w.bobId)).caller;
  assert.equal(carol.dialed?.caller, bobs);
  carol.report({ type: 'leg.answered' });
  await settled();
  assert.equal(together(w), [
    ['Fake/phone'],
    ['Local/300@default;1', 'Fake/bob'],
    ['Local/300@default;2', 'Fake/carol'],
  ]);
  assert.equal([w.tones(w.bob).at(-1), w.music('alice')], ['indicate nothing', true]);
  const [waiting, room] = [w.bridges.bridgeOf('alice')!.id, w.bridges.bridgeOf(w.bobId)!.id];
  w.bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(together(w), [
    ['Fake/phone', 'Local/300@default;1'],
    ['Local/300@default;2', 'Fake/carol'],
  ]);
  const of = (value: unknown) => (value as { id: string; name: string }).name.replace(/-[0-9a-f]{8}/, '');
  const [told, ...more] = attended(w) as Record<string, { id: string; name: string; channels: string[] }>[];
  assert.equal(
    [
      of(told!['transferer_first_leg']),
      of(told!['transferer_second_leg']),
      of(told!['transferee']),
      of(told!['transfer_target']),
      told!['transferer_first_leg_bridge']!.id,
      told!['transferer_second_leg_bridge']!.id,
      [told!['result'], told!['is_external'], told!['destination_type'], told!['destination_bridge']],
      more,
    ] as unknown[],
    [
      ...['Fake/bob', 'Fake/bob', 'Fake/phone', 'Local/300@default;1', waiting, room],
      ...[['Success', true, 'bridge', waiting], []],
    ],
  );
  const [merged] = w.events.filter(({ type }) => type === 'BridgeMerged') as unknown as {
    bridge: { id: string };
    bridge_from: { id: string };
  }[];
  assert.equal([merged?.bridge.id, merged?.bridge_from.id], [waiting, room]);
  assert.equal([w.music('alice'), w.featureKeys.size, w.transfers.size], [false, 0, 0]);
  assert.equal(
    [...w.mix.sessions.values()].map(({ passDigits }) => passDigits),
    [true, true],
  );
  carol.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.channels.size, w.bridges.size, w.clock.pending, w.dialSessions.size], [0, 0, 0, 0]);
});

test('a caller does the same, and the one that it called outlives its dialplan', async () => {
  const w = await talk('T');
  assert.equal(together(w), [
    ['Fake/bob'],
    ['Local/300@default;1', 'Fake/phone'],
    ['Local/300@default;2', 'Fake/carol'],
  ]);
  w.alice.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(together(w), [
    ['Fake/bob', 'Local/300@default;1'],
    ['Local/300@default;2', 'Fake/carol'],
  ]);
  w.bob.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.channels.size, w.bridges.size, w.clock.pending, w.dialSessions.size], [0, 0, 0, 0]);
});

test('the key that puts through does so in the talk, and ends the call of who asked', async () => {
  for (const options of ['t', 'T']) {
    const w = await talk(options);
    press(w.asks, '*2');
    await settled();
    assert.ok(w.asks.calls.includes('hangup 16'), options);
    assert.equal(together(w), [
      [options === 't' ? 'Fake/phone' : 'Fake/bob', 'Local/300@default;1'],
      ['Local/300@default;2', 'Fake/carol'],
    ]);
    assert.equal([attended(w)[0]?.['result'], w.featureKeys.size, w.transfers.size], ['Success', 0, 0]);
    w.carol.report({ type: 'leg.hungUp', cause: 16 });
    await settled();
    assert.equal([w.channels.size, w.bridges.size, w.clock.pending, w.dialSessions.size], [0, 0, 0, 0]);
  }
});

test('a key or the target’s hangup ends a consultation; digits go to the party that is heard', async () => {
  for (const options of ['t', 'T'])
    for (const way of ['key', 'target']) {
      const w = await talk(options);
      press(w.asks, '5');
      const digits = () => w.pairs.flatMap(({ calls }) => calls.filter((call) => call.startsWith('digits')));
      assert.equal([w.sent(w.asks === w.bob ? w.alice : w.bob), digits()], [[], ['digits 5']]);
      if (way === 'key') press(w.asks, '*1');
      else w.carol.report({ type: 'leg.hungUp', cause: 16 });
      await settled();
      assert.equal(
        [together(w).map((each) => each.sort()), w.music(w.waits), w.transfers.size],
        [[['Fake/bob', 'Fake/phone']], false, 0],
        `${options} ${way}`,
      );
      assert.equal(
        [attended(w)[0]?.['result'], attended(w)[0]?.['destination_type'], w.carol.calls.at(-1)],
        ['Fail', 'fail', 'release'],
      );
      // They may ask for something again.
      press(w.asks, '7*2');
      assert.equal([w.sent(w.asks === w.bob ? w.alice : w.bob), w.music(w.waits)], [['7'], true]);
      w.asks.report({ type: 'leg.hungUp', cause: 16 });
      await settled();
      assert.equal([w.channels.size, w.bridges.size, w.clock.pending, w.dialSessions.size], [0, 0, 0, 0]);
    }
});

test('who waits may hang up: the talk ends, and the call of both as any other', async () => {
  for (const options of ['t', 'T', 'Tg']) {
    const w = await talk(options.slice(0, 1));
    const waiting = options === 't' ? w.alice : w.bob;
    waiting.report({ type: 'leg.hungUp', cause: 16 });
    await settled();
    assert.equal(
      [w.channels.size, w.bridges.size, w.featureKeys.size, w.transfers.size, w.clock.pending, w.dialSessions.size],
      [0, 0, 0, 0, 0, 0],
      options,
    );
  }
});

test('the target rings: a key gives it up, another one or hanging up puts the other party through to it', async () => {
  for (const way of ['abort', 'complete', 'hang up', 'time'] as const) {
    const w = await world('t');
    press(w.bob, '*2300');
    const carol = w.legs.get(w.named('Fake/carol'))!;
    carol.report({ type: 'leg.ringing' });
    if (way === 'hang up') w.bob.report({ type: 'leg.hungUp', cause: 16 });
    else if (way === 'time') w.clock.advance(15_000);
    else press(w.bob, way === 'abort' ? '*1' : '*2');
    await settled();
    if (way === 'abort' || way === 'time') {
      assert.equal([together(w), attended(w)[0]?.['result']], [[['Fake/phone', 'Fake/bob']], 'Fail'], way);
      assert.equal([w.tones(w.bob).at(-1)], [way === 'abort' ? 'indicate nothing' : 'indicate congestion']);
      assert.is(w.music('alice'), way === 'time');
    } else {
      assert.equal(together(w), [['Fake/phone', 'Local/300@default;1']], way);
      carol.report({ type: 'leg.answered' });
      await settled();
      const [told] = attended(w);
      assert.equal(
        [told?.['result'], told?.['destination_type'], told?.['destination_bridge'], w.music('alice')],
        ['Success', 'bridge', w.bridges.bridgeOf('alice')?.id, false],
      );
    }
    w.alice.report({ type: 'leg.hungUp', cause: 16 });
    await settled();
    assert.equal([w.channels.size, w.bridges.size, w.clock.pending, w.dialSessions.size], [0, 0, 0, 0], way);
  }
});

test('who waits ends the call by keys for all, and finds nobody to put through', async () => {
  const w = await world('thTH');
  press(w.bob, '*2300');
  w.report(w.named('Fake/carol'), { type: 'leg.answered' });
  await settled();
  press(w.alice, '#1300');
  assert.is(w.tones(w.alice).at(-1), 'indicate congestion');
  w.clock.advance(1_500);
  press(w.alice, '#*0');
  await settled();
  assert.equal([w.channels.size, w.bridges.size, w.featureKeys.size, w.clock.pending], [0, 0, 0, 0]);
});

test('a bridge that is taken from those who talk leads back to the others', async () => {
  const w = await talk();
  w.bridges.destroy(w.bridges.bridgeOf(w.bobId)!);
  await settled();
  assert.equal([together(w), w.music('alice'), w.transfers.size], [[['Fake/phone', 'Fake/bob']], false, 0]);
});

test('where there is no room for one more bridge the parties are with each other again', async () => {
  const w = createCallControl({
    contexts: { default: { '202': ['Dial(Fake/bob,20,t)'], '300': ['Answer()', 'Wait(60)'] } },
    limits: { bridges: 1, members: 100 },
  });
  w.incoming('alice', '202');
  const bob = [...w.legs.values()][0]!;
  bob.report({ type: 'leg.answered' });
  await settled();
  press(bob, '*2300');
  await settled();
  assert.equal([together(w), w.transfers.size, w.channels.size], [[['Fake/phone', 'Fake/bob']], 0, 2]);
});

test('a call whose limit is over ends for all, also while one of both talks to somebody else', async () => {
  for (const options of ['t', 'T']) {
    const w = await world(`${options}L(9000)`);
    press(options === 't' ? w.bob : w.alice, '*2300');
    w.report(w.named('Fake/carol'), { type: 'leg.answered' });
    await settled();
    assert.is(w.bridges.size, 3, options);
    w.clock.advance(9_000);
    await settled();
    assert.equal(
      [w.channels.size, w.bridges.size, w.featureKeys.size, w.transfers.size, w.dialSessions.size],
      [0, 0, 0, 0, 0],
      options,
    );
  }
});

/** The world in another process, with the same dialplan, and legs by the ids of their channels. */
async function takenUp(w: Pick<Awaited<ReturnType<typeof world>>, 'owners' | 'clock'>, options: string) {
  const dump = takeSnapshot(w.owners);
  const again = createCallControl({
    contexts: { default: { '202': [`Dial(Fake/bob,20,${options})`, 'Wait(60)'], '300': ['Dial(Fake/carol)'] } },
    now: w.clock.now(),
  });
  const legOf: Parameters<typeof restoreSnapshot>[2]['legOf'] = ({ id }, report) => {
    const leg = new FakeLeg(id, report);
    again.legs.set(id, leg);
    return leg;
  };
  restoreSnapshot(again.owners, dump, { legOf });
  await settled();
  const music = (id: string) => JSON.stringify(again.audio.snapshot(id)?.value ?? '').includes('"background":"music"');
  return { ...again, leg: (id: string) => again.legs.get(id)!, music };
}

const sent = (leg: FakeLeg) => leg.calls.filter((call) => call.startsWith('sendDigits'));
const passes = ({ meeting }: Pick<Awaited<ReturnType<typeof world>>, 'meeting'>) =>
  meeting.mixes.flatMap(({ sessions }) => [...sessions.values()].map(({ passDigits }) => passDigits));

test('parties that are saved and restored are with each other as before, and ask for something by keys', async () => {
  const w = await world('tHg');
  press(w.bob, '7');
  press(w.alice, '*');
  const again = await takenUp(w, 'tHg');
  assert.equal(
    [together(again), passes(again), again.featureKeys.size],
    [[['Fake/phone', 'Fake/bob']], [false, false], 2],
  );
  const [alice, bob] = [again.leg('alice'), again.leg(w.bobId)];
  // Half of a code was pressed before: it counts, and so does the time of it.
  press(bob, '#');
  again.clock.advance(1_000);
  assert.equal([sent(bob), sent(alice)], [['sendDigits *'], ['sendDigits #']]);
  press(alice, '*0');
  await settled();
  // The dialplan goes on behind the Dial that began in the process before.
  assert.equal([again.operations.get('alice').dialplan.app_name, again.channels.size], ['Wait', 1]);
  assert.equal([again.featureKeys.size, again.bridges.size, again.dialSessions.size], [0, 0, 0]);
});

test('the limit of a call counts from its answer, whichever process that was in', async () => {
  const w = await world('L(10000)g');
  w.clock.advance(4_000);
  const again = await takenUp(w, 'L(10000)g');
  again.clock.advance(5_999);
  await settled();
  assert.is(again.bridges.size, 1);
  again.clock.advance(1);
  await settled();
  const { variables } = snapshotOf(again.channels.get('alice')).context;
  assert.equal([again.bridges.size, variables['ANSWEREDTIME'], variables['DIALSTATUS']], [0, '10', 'ANSWER']);
});

test('a number is dialed to its end in another process, and who asked hears how that goes', async () => {
  const w = await world('t');
  press(w.bob, '#13');
  const again = await takenUp(w, 't');
  const bob = again.leg(w.bobId);
  press(bob, '00');
  const carol = again.channels.all().find(({ name }) => name.startsWith('Fake/carol'))!;
  again.report(carol.id, { type: 'leg.ringing' });
  const rings = await takenUp(again, 't');
  assert.is(w.tones(rings.leg(w.bobId)).at(-1), 'indicate ringing');
  rings.report(carol.id, { type: 'leg.answered' });
  rings.report(rings.channels.all().find(({ name }) => name.endsWith(';1'))!.id, { type: 'leg.answered' });
  await settled();
  assert.equal([rings.transfers.size, rings.featureKeys.size], [0, 0]);
  assert.ok(together(rings).some((names) => names.join() === 'Fake/phone,Local/300@default;1'));
});

test('who is to dial a number hears the dial tone again; what nobody carries out any more leads back', async () => {
  const w = await world('tT');
  press(w.bob, '#1');
  const dump = takeSnapshot(w.owners);
  assert.is(dump.dials?.length, 1);
  const again = await takenUp(w, 'tT');
  assert.is(w.tones(again.leg(w.bobId)).at(-1), 'indicate dial');
  assert.is(again.music('alice'), true);
  press(again.leg(w.bobId), '300');
  again.owners.transfers.dump = () => [];
  const forgotten = await takenUp(again, 'tT');
  assert.is(w.tones(forgotten.leg(w.bobId)).at(-1), 'indicate congestion');
});

test('a talk goes on when it is saved and restored, and so do those who wait', async () => {
  for (const way of ['hang up', 'key', 'back'] as const) {
    const w = await talk();
    const again = await takenUp(w, 't');
    assert.equal(together(again), together(w));
    assert.equal([again.transfers.size, again.music('alice')], [1, true]);
    const bob = again.leg(w.bobId);
    if (way === 'hang up') bob.report({ type: 'leg.hungUp', cause: 16 });
    else press(bob, way === 'key' ? '*2' : '*1');
    await settled();
    if (way === 'back') assert.equal(together(again)[0], ['Fake/phone', 'Fake/bob']);
    else assert.equal(together(again)[0], ['Fake/phone', 'Local/300@default;1']);
    assert.equal([again.transfers.size, again.music('alice')], [0, false]);
    again.leg('alice').report({ type: 'leg.hungUp', cause: 16 });
    await settled();
    // Halves of a Local channel are apart here: each is a leg of the test.
    const left = again.channels.all().map(({ name }) => name.replace(/-[0-9a-f]{8}/, ''));
    assert.equal(
      left.filter((name) => !/;2|carol/.test(name)),
      [],
      way,
    );
    assert.equal([again.featureKeys.size], [0]);
  }
});

test('a Dial that is not where it was is not gone on with, and nothing is left of it', async () => {
  const w = await world('t');
  const dump = takeSnapshot(w.owners);
  const again = createCallControl({ contexts: { default: { '202': ['Wait(60)'] } } });
  restoreSnapshot(again.owners, dump, { legOf: ({ id }, report) => new FakeLeg(id, report) });
  await settled();
  assert.equal([passes(again), again.featureKeys.size], [[true, true], 0]);
  again.channels.tell(again.channels.get('alice'), { type: 'finish', cause: 16 });
  await settled();
  assert.equal(again.owners.dials.dump(), []);
});

test.run();
