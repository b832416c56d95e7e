import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import { createCallControl, inShort, settled } from '../support/call-control.ts';

const test = suite('the dialplan brings channels together');

/** One who calls `extension`, and an application that hears everything. `places`: contexts beside. */
function world(contexts: Record<string, string[]>, places: Record<string, Record<string, string[]>> = {}) {
  const control = createCallControl({ contexts: { default: { s: ['Wait(60)'], ...contexts }, ...places } });
  const { events } = control.connect('all', true);
  const said = (): string[] =>
    events
      .splice(0)
      .filter(({ type }) => !['ChannelDialplan', 'EndpointStateChange', 'ChannelConnectedLine'].includes(type))
      .map((event) => {
        const about = 'channel' in event && event.channel ? ` ${event.channel.id}` : '';
        const bridge = 'bridge' in event && event.bridge ? ` [${event.bridge.channels.join()}]` : '';
        return `${inShort(event)}${about}${bridge}`;
      });
  /** The channels that were made to call somebody, in their order. */
  const called = (): string[] => [...control.legs.keys()];
  const variables = (id: string) => snapshotOf(control.channels.get(id)).context.variables;
  return { ...control, events, said, called, variables };
}

test('Dial rings, answers and joins; when one goes, the other is hung up', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20)'] });
  const caller = w.incoming('a', '202');
  const [bob = ''] = w.called();
  const callee = w.operations.get(bob);
  assert.equal([callee.caller.number, callee.connected.number], ['202', '100']);
  w.said();
  w.report(bob, { type: 'leg.ringing' });
  assert.equal(caller.calls, ['ring']);
  assert.equal(w.said(), [`ChannelStateChange Ringing ${bob}`, 'DeviceStateChanged', 'Dial RINGING']);
  w.report(bob, { type: 'leg.answered' });
  await settled();
  assert.equal(w.said(), [
    `ChannelStateChange Up ${bob}`,
    'DeviceStateChanged',
    'Dial ANSWER',
    'ChannelStateChange Up a',
    'BridgeCreated []',
    'ChannelEnteredBridge a [a]',
    `ChannelEnteredBridge ${bob} [a,${bob}]`,
    `ChannelVarset BRIDGEPEER=${callee.name} a`,
    'ChannelVarset BRIDGEPVTCALLID=call-1 a',
    `ChannelVarset BRIDGEPEER=${w.operations.get('a').name} ${bob}`,
    `ChannelVarset BRIDGEPVTCALLID=call-1 ${bob}`,
  ]);
  const [bridge] = w.bridges.list();
  assert.equal([bridge?.bridge_class, bridge?.creator], ['basic', '']);
  assert.equal([w.operations.get('a').connected.number, w.operations.get(bob).connected.number], ['202', '100']);
  assert.is(snapshotOf(w.channels.get(bob)).context.linked.id, 'a');
  w.report(bob, { type: 'leg.hungUp', cause: 16 });
  await settled();
  const end = w.said();
  const forgets = (id: string) => [`ChannelVarset BRIDGEPEER= ${id}`, `ChannelVarset BRIDGEPVTCALLID= ${id}`];
  assert.equal(end, [
    `ChannelHangupRequest 16 ${bob}`,
    ...forgets(bob),
    `ChannelLeftBridge ${bob} [a]`,
    ...forgets('a'),
    `ChannelDestroyed 16 ${bob}`,
    'ChannelLeftBridge a []',
    'BridgeDestroyed []',
    'ChannelVarset DIALSTATUS=ANSWER a',
    `ChannelVarset DIALEDPEERNAME=${callee.name} a`,
    'ChannelVarset DIALEDPEERNUMBER=bob a',
    'ChannelVarset ANSWEREDTIME=0 a',
    'ChannelHangupRequest 16 soft a',
    'ChannelDestroyed 16 a',
    'DeviceStateChanged',
  ]);
  assert.equal([w.channels.size, w.bridges.size], [0, 0]);
});

test('the source of a hang-up is the called party, the channel itself, or Hangup', async () => {
  const w = world({
    '202': ['Dial(Fake/bob,20,g)', 'Set(AFTER=${CHANNEL(hangupsource)})', 'Wait(60)'],
    '203': ['Answer', 'Hangup'],
    h: ['Set(OVER=${CHANNEL(hangupsource)})'],
  });
  const over = () => w.said().filter((line) => line.startsWith('ChannelVarset OVER='));
  w.incoming('a', '202');
  const [bob = ''] = w.called();
  const { name } = w.operations.get(bob);
  w.report(bob, { type: 'leg.answered' });
  await settled();
  w.report(bob, { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.is(w.variables('a')['AFTER'], name);
  w.said();
  const leg = w.incoming('c');
  const own = w.operations.get('c').name;
  leg.report({ type: 'leg.hungUp', cause: 16 });
  assert.equal(over(), [`ChannelVarset OVER=${own} c`]);
  w.incoming('d', '203');
  await settled();
  assert.equal(over(), ['ChannelVarset OVER=dialplan/builtin d']);
});

/** Who hears whom before the answer, by the ids of channels; `closed` where nobody does any more. */
const earlyAudio = (w: ReturnType<typeof world>): string[] =>
  w.meeting.mixes
    .filter(({ id }) => id.endsWith(';early'))
    .map((mix) => (mix.closed ? 'closed' : [...mix.sessions.keys()].join()));

test('Dial passes on early media, then that it rings, and joins both in a bridge when it is answered', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20)'] });
  const caller = w.incoming('a', '202');
  const [bob = ''] = w.called();
  w.said();
  w.report(bob, { type: 'leg.progressed' });
  assert.equal([caller.calls, earlyAudio(w)], [['progress'], [`a,${bob}`]]);
  w.report(bob, { type: 'leg.ringing' });
  assert.equal(caller.calls, ['progress', 'ring']);
  assert.equal(w.said(), ['Dial PROGRESS', `ChannelStateChange Ringing ${bob}`, 'DeviceStateChanged', 'Dial RINGING']);
  w.report(bob, { type: 'leg.answered' });
  await settled();
  assert.equal(earlyAudio(w), ['closed']);
  assert.equal(w.bridges.list()[0]?.channels, ['a', bob]);
});

test('the first callee with early media is heard, then the next; after the answer nobody hears it', async () => {
  const w = world({ '202': ['Dial(Fake/bob&Fake/eve)'] });
  w.incoming('a', '202');
  const [bob = '', eve = ''] = w.called();
  w.report(eve, { type: 'leg.progressed' });
  w.report(bob, { type: 'leg.progressed' });
  assert.equal(earlyAudio(w), [`a,${eve}`]);
  w.report(eve, { type: 'leg.hungUp', cause: 17 });
  assert.equal(earlyAudio(w), ['closed', `a,${bob}`]);
  w.report(bob, { type: 'leg.hungUp', cause: 17 });
  await settled();
  assert.equal(earlyAudio(w), ['closed', 'closed']);
  assert.is(w.channels.size, 0);
});

test('a caller that is up hears early media instead of the tone; with r, m or after an answer it does not', async () => {
  const up = world({ '202': ['Answer', 'Dial(Fake/bob)'] });
  const caller = up.incoming('a', '202');
  await settled();
  const [bob = ''] = up.called();
  up.report(bob, { type: 'leg.progressed' });
  up.report(bob, { type: 'leg.ringing' });
  assert.not.ok(caller.calls.includes('ring') || caller.calls.includes('progress'), caller.calls.join());
  assert.equal(earlyAudio(up), [`a,${bob}`]);
  for (const options of ['r', 'm']) {
    const w = world({ '202': [`Dial(Fake/bob,,${options})`] });
    w.incoming('a', '202');
    w.report(w.called()[0]!, { type: 'leg.progressed' });
    assert.equal(earlyAudio(w), []);
  }
  const w = world({ '202': ['Dial(Fake/bob&Fake/eve)'] });
  w.incoming('a', '202');
  const [first = '', second = ''] = w.called();
  w.report(first, { type: 'leg.progressed' });
  w.report(second, { type: 'leg.answered' });
  assert.equal(earlyAudio(w), ['closed']);
  const gone = world({ '202': ['Dial(Fake/bob)'] });
  const leaver = gone.incoming('a', '202');
  gone.report(gone.called()[0]!, { type: 'leg.progressed' });
  leaver.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([earlyAudio(gone), gone.channels.size], [['closed'], 0]);
});

test('of those who were called in vain Dial tells CANCEL', async () => {
  const w = world({ '202': ['Dial(Fake/bob&Fake/eve)'] });
  w.incoming('a', '202');
  const [bob = '', eve = ''] = w.called();
  w.report(eve, { type: 'leg.ringing' });
  w.said();
  w.report(bob, { type: 'leg.answered' });
  assert.equal(
    w.said().filter((line) => /^Dial|HangupRequest|Destroyed/.test(line)),
    ['Dial ANSWER', `ChannelHangupRequest 26 soft ${eve}`, 'Dial CANCEL', `ChannelDestroyed 26 ${eve}`],
  );
});

test('how dialing goes is told of the caller', () => {
  const w = world({ '202': ['Dial(Fake/bob,20)'] });
  w.incoming('a', '202');
  const dial = w.events.find(({ type }) => type === 'Dial');
  assert.equal((dial as { caller?: { id: string } } | undefined)?.caller?.id, 'a');
});

test('a caller that hangs up takes everything with it', async () => {
  const w = world({ '202': ['Dial(Fake/bob&Fake/eve)'] });
  const caller = w.incoming('a', '202');
  assert.is(w.called().length, 2);
  caller.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(w.channels.size, 0);
  const again = w.incoming('b', '202');
  w.report(w.called()[2]!, { type: 'leg.answered' });
  await settled();
  assert.is(w.bridges.size, 1);
  // The one that did not answer in time is told that somebody else did.
  assert.equal(w.legs.get(w.called()[3]!)?.calls.at(-2), 'hangup 26');
  again.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.channels.size, w.bridges.size], [0, 0]);
});

const refusals: readonly [causes: number[], status: string][] = [
  [[17], 'BUSY'],
  [[34], 'CONGESTION'],
  [[20], 'CHANUNAVAIL'],
  [[1], 'CHANUNAVAIL'],
  [[21], 'CHANUNAVAIL'],
  [[19], 'NOANSWER'],
  [[20, 17], 'BUSY'],
  [[20, 34], 'CONGESTION'],
  [[19, 17], 'NOANSWER'],
];
for (const [causes, status] of refusals)
  test(`when those who are called end with ${causes}, DIALSTATUS is ${status} and the dialplan goes on`, async () => {
    const w = world({ '202': [`Dial(${causes.map((cause) => `Fake/${cause}`).join('&')})`, 'Wait(60)'] });
    w.incoming('a', '202');
    for (const [at, id] of w.called().entries()) w.report(id, { type: 'leg.hungUp', cause: causes[at]! });
    await settled();
    assert.is(w.variables('a')['DIALSTATUS'], status);
    assert.is(w.operations.get('a').dialplan.app_name, 'Wait');
  });

/** What a caller that was never answered hears when the last step was a Dial that failed so. */
const ends: readonly [cause: number, hears: number][] = [
  [17, 17],
  [34, 34],
  [20, 34],
  [1, 34],
  [21, 34],
  [19, 19],
];
for (const [cause, hears] of ends)
  test(`a caller whose dialplan ends with a Dial that ended with ${cause} is hung up with ${hears}`, async () => {
    const w = world({ '202': ['Dial(Fake/bob)'], '203': ['Answer', 'Dial(Fake/bob)'] });
    const caller = w.incoming('a', '202');
    w.report(w.called()[0]!, { type: 'leg.hungUp', cause });
    await settled();
    assert.ok(caller.calls.includes(`hangup ${hears}`), caller.calls.join());
    const answered = w.incoming('b', '203');
    await settled();
    w.report(w.called()[1]!, { type: 'leg.hungUp', cause });
    await settled();
    assert.ok(answered.calls.includes('hangup 16'), 'one that was answered heard it already');
    assert.is(w.channels.size, 0);
  });

for (const cause of [1, 17, 19, 20, 21, 34])
  test(`Hangup behind a Dial that ended with ${cause} gives the caller that cause`, async () => {
    const w = world({ '202': ['Dial(Fake/bob)', 'Set(SEEN=${HANGUPCAUSE})', 'Wait(1)', 'Hangup'] });
    const caller = w.incoming('a', '202');
    w.report(w.called()[0]!, { type: 'leg.hungUp', cause });
    await settled();
    assert.is(w.variables('a')['SEEN'], String(cause));
    w.clock.advance(1_000);
    await settled();
    assert.ok(caller.calls.includes(`hangup ${cause}`), caller.calls.join());
  });

test('after an answer the cause of an earlier Dial no longer counts', async () => {
  const w = world({ '202': ['Dial(Fake/bob)', 'Dial(Fake/eve,20,g)', 'Hangup'] });
  const caller = w.incoming('a', '202');
  w.report(w.called()[0]!, { type: 'leg.hungUp', cause: 17 });
  await settled();
  w.report(w.called()[1]!, { type: 'leg.answered' });
  await settled();
  w.report(w.called()[1]!, { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.ok(caller.calls.includes('hangup 16'), caller.calls.join());
});

test('Local channels are numbered in the order in which they are made', async () => {
  const w = world({ '202': ['Dial(Local/300@default&Local/300@default)'], '300': ['Wait(60)'] });
  w.incoming('a', '202');
  await settled();
  const names = [...w.operations.list()].map(({ name }) => name);
  const made = ['00000000;1', '00000000;2', '00000001;1', '00000001;2'].map((part) => `Local/300@default-${part}`);
  assert.equal(names.filter((name) => name.startsWith('Local/')).sort(), made);
});

test('a caller hears that its application is away, and not that it was rejected', async () => {
  const w = world({ '202': ['Stasis(nowhere)'], '203': ['NoOp'], '204': ['Hangup(21)'] });
  const [away, over, rejected] = ['202', '203', '204'].map((number) => w.incoming(`to ${number}`, number));
  await settled();
  assert.ok(away?.calls.includes('hangup 20'));
  assert.ok(over?.calls.includes('hangup 16'));
  assert.ok(rejected?.calls.includes('hangup 21'));
});

test('nobody there is CHANUNAVAIL; nobody who answers in time NOANSWER', async () => {
  const w = world({ '202': ['Dial(Nothing/x)', 'Wait(60)'], '203': ['Dial(Fake/bob,5)', 'Wait(60)'] });
  w.incoming('a', '202');
  await settled();
  assert.is(w.variables('a')['DIALSTATUS'], 'CHANUNAVAIL');
  w.incoming('b', '203');
  w.clock.advance(5_000);
  await settled();
  assert.is(w.variables('b')['DIALSTATUS'], 'NOANSWER');
});

test('with g the dialplan goes on after the call; r rings at once, m plays music', async () => {
  const w = world({
    '202': ['Dial(Fake/bob,20,g)', 'Wait(60)'],
    '203': ['Dial(Fake/bob,20,r)'],
    '204': ['Dial(Fake/bob,20,m(jazz))'],
  });
  w.incoming('a', '202');
  const bob = w.called()[0]!;
  w.report(bob, { type: 'leg.answered' });
  await settled();
  w.report(bob, { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.is(w.operations.get('a').dialplan.app_name, 'Wait');
  assert.equal(w.incoming('b', '203').calls, ['ring']);
  w.incoming('c', '204');
  assert.is(w.audio.snapshot('c')?.context.musicClass, 'jazz');
  w.report(w.called().at(-1)!, { type: 'leg.answered' });
  await settled();
  assert.match(JSON.stringify(w.audio.snapshot('c')?.value), /"background":"nothing"/);
});

test('a call is cut off at its limit, and the dialplan goes on where it says so', async () => {
  for (const options of ['L(60000:10000:5000)g', 'S(60)g', 'L(60000)S(90)g']) {
    const w = world({ '202': [`Dial(Fake/bob,20,${options})`, 'Wait(60)'] });
    w.incoming('a', '202');
    w.clock.advance(10_000);
    w.report(w.called()[0]!, { type: 'leg.answered' });
    await settled();
    w.clock.advance(59_999);
    await settled();
    assert.is(w.operations.get('a').dialplan.app_name, 'Dial', options);
    w.clock.advance(1);
    await settled();
    assert.equal([w.operations.get('a').dialplan.app_name, w.variables('a')['ANSWEREDTIME']], ['Wait', '60'], options);
    assert.equal([w.channels.size, w.bridges.size], [1, 0], options);
  }
});

test('a limit is over with its call', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20,S(60)g)', 'Wait(600)'] });
  w.incoming('a', '202');
  const bob = w.called()[0]!;
  w.report(bob, { type: 'leg.answered' });
  await settled();
  w.report(bob, { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.is(w.clock.pending, 1);
});

/** Asks for a key; without 1 it says what its second argument is. */
const screening = {
  screen: {
    s: [
      'Set(HEARD=${ARG1})',
      'Read(KEY,,1,,1,5)',
      'GotoIf($["${KEY}" = "1"]?5)',
      'Set(GOSUB_RESULT=${ARG2})',
      'Return',
    ],
  },
};

test('who answers is asked first (U): only who takes the call is joined, and the caller waits until then', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20,U(screen^me^CONTINUE)r)', 'Wait(60)'] }, screening);
  const caller = w.incoming('a', '202');
  const [bob = ''] = w.called();
  w.report(bob, { type: 'leg.answered' });
  await settled();
  assert.equal([caller.calls, w.bridges.size, w.variables(bob)['HEARD']], [['ring'], 0, 'me']);
  w.report(bob, { type: 'leg.digit', digit: '1', durationMs: 100 });
  await settled();
  assert.equal(
    [caller.calls, w.bridges.list()[0]?.channels],
    [
      ['ring', 'stopRinging', 'answer', 'present  <202>'],
      ['a', bob],
    ],
  );
  assert.equal(w.variables(bob)['ARG1'], undefined);
});

const verdicts: readonly [word: string, status: string, goesOn: boolean][] = [
  ['CONTINUE', 'ANSWER', true],
  ['BUSY', 'BUSY', true],
  ['CONGESTION', 'CONGESTION', true],
  ['CHANUNAVAIL', 'CHANUNAVAIL', true],
  ['ABORT', 'ANSWER', false],
  ['GOTO:default^s^1', 'ANSWER', false],
];
for (const [word, status, goesOn] of verdicts)
  test(`a subroutine of who answers that says ${word} joins nobody; the caller ${goesOn ? 'goes on' : 'is hung up'}`, async () => {
    const w = world({ '202': [`Dial(Fake/bob,20,U(screen^me^${word}))`, 'Wait(60)'] }, screening);
    w.incoming('a', '202');
    const [bob = ''] = w.called();
    w.report(bob, { type: 'leg.answered' });
    await settled();
    w.said();
    w.clock.advance(5_000);
    await settled();
    assert.is(w.channels.find(bob), undefined);
    assert.equal(
      w.said().filter((line) => /BridgeCreated|DIALSTATUS|Destroyed/.test(line)),
      [
        `ChannelDestroyed 16 ${bob}`,
        `ChannelVarset DIALSTATUS=${status} a`,
        ...(goesOn ? [] : ['ChannelDestroyed 16 a']),
      ],
    );
    assert.is(w.channels.size, goesOn ? 1 : 0);
  });

test('who is asked may hang up, and so may who waits; a place that is not there lets nobody through', async () => {
  const w = world(
    { '202': ['Dial(Fake/bob,20,U(screen))', 'Wait(60)'], '203': ['Set(X=gone)', 'Dial(Fake/bob,,U(${X}))'] },
    screening,
  );
  for (const leaves of ['callee', 'caller'] as const) {
    const caller = w.incoming('a', '202');
    const bob = w.called().at(-1)!;
    w.report(bob, { type: 'leg.answered' });
    await settled();
    if (leaves === 'callee') w.report(bob, { type: 'leg.hungUp', cause: 16 });
    else caller.report({ type: 'leg.hungUp', cause: 16 });
    await settled();
    assert.equal([w.channels.size, w.bridges.size], [0, 0], leaves);
  }
  w.incoming('c', '203');
  w.report(w.called().at(-1)!, { type: 'leg.answered' });
  await settled();
  assert.equal([w.channels.size, w.bridges.size], [0, 0]);
});

test('who answers hears what is announced, and keys are pressed for both, before they are joined', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20,A(beep&hello)D(12#:9))'] });
  const caller = w.incoming('a', '202');
  const bob = w.called()[0]!;
  w.report(bob, { type: 'leg.answered' });
  await settled();
  const { media } = w.legs.get(bob)!;
  const heard = () => media.calls.filter((call) => call.startsWith('play'));
  assert.equal([heard(), w.bridges.size], [['play sound:beep'], 0]);
  media.finish();
  assert.equal([heard(), w.bridges.size], [['play sound:beep', 'play sound:hello'], 0]);
  media.finish();
  await settled();
  assert.is(w.bridges.size, 1);
  const pressed = [w.legs.get(bob)!, caller].map(({ calls }) => calls.filter((call) => call.startsWith('sendDigits')));
  assert.equal(pressed, [['sendDigits 12#'], ['sendDigits 9']]);
});

test('a room joins everyone who calls it, and is gone with the last', async () => {
  const w = world({ '300': ['ConfBridge(team)', 'Wait(60)'] });
  const legs = ['a', 'b', 'c'].map((id) => w.incoming(id, '300'));
  await settled();
  const [room] = w.bridges.list();
  assert.equal([room?.name, room?.channels], ['team', ['a', 'b', 'c']]);
  for (const leg of legs) leg.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.bridges.size, w.channels.size], [0, 0]);
  w.incoming('d', '300');
  await settled();
  assert.equal(w.bridges.list()[0]?.channels, ['d']);
});

test('Bridge joins with a channel of the dialplan, and tells when there is none', async () => {
  const w = world({ '400': ['Answer', 'Bridge(a)', 'Wait(60)'], '401': ['Answer', 'Bridge(nobody)', 'Wait(60)'] });
  w.incoming('a');
  const other = w.incoming('b', '400');
  await settled();
  assert.equal(w.bridges.list()[0]?.channels, ['b', 'a']);
  w.operations.hangup('a', {});
  await settled();
  assert.is(w.variables('b')['BRIDGERESULT'], 'SUCCESS');
  assert.is(w.bridges.size, 0);
  other.report({ type: 'leg.hungUp', cause: 16 });
  w.incoming('c', '401');
  await settled();
  assert.is(w.variables('c')['BRIDGERESULT'], 'NONEXISTENT');
});

test('Record makes a file and tells how it ended', async () => {
  const w = world({ '500': ['Record(mail/1.wav,3,30,q)', 'Wait(60)'], '501': ['Record(x.mp3)', 'Wait(60)'] });
  const { media } = w.incoming('a', '500');
  media.startsRecorders = false;
  await settled();
  const { journal } = w.channels.get('a');
  assert.is(journal.dump()?.recording, undefined);
  media.recorders[0]?.start();
  assert.equal(journal.dump()?.recording, { name: 'mail/1', format: 'wav', durationMs: 0, talkingMs: 0 });
  assert.equal(media.recorders[0]?.request, {
    path: '/recordings/mail/1.wav',
    format: 'wav',
    ifExists: 'overwrite',
    beep: false,
    channels: 1,
    maxDurationMs: 30_000,
    maxSilenceMs: 3_000,
    terminateOn: '#',
  });
  media.recorders[0]?.finish('digit');
  await settled();
  assert.is(w.variables('a')['RECORD_STATUS'], 'DTMF');
  assert.is(w.variables('a')['RECORDED_FILE'], 'mail/1');
  assert.is(journal.dump()?.recording, undefined);
  w.incoming('b', '501');
  await settled();
  assert.is(w.variables('b')['RECORD_STATUS'], 'ERROR');
});

test('MusicOnHold plays for as long as it is told', async () => {
  const w = world({ '600': ['Answer', 'MusicOnHold(jazz,2)', 'Wait(60)'] });
  w.incoming('a', '600');
  await settled();
  assert.is(w.audio.snapshot('a')?.context.musicClass, 'jazz');
  w.clock.advance(2_000);
  await settled();
  assert.is(w.operations.get('a').dialplan.app_name, 'Wait');
});

test('the audio of both halves of a Local channel that is dialed goes by the ids of their channels', async () => {
  const w = world({ '700': ['Dial(Local/701@default)'], '701': ['Answer', 'Wait(60)'] });
  w.incoming('a', '700');
  await settled();
  const all = w.channels.all();
  assert.is(all.length, 3);
  assert.equal(
    all.map(({ leg }) => leg.media.id),
    all.map(({ id }) => id),
  );
});

/** Subroutines that keep what they were given, in variables of the channel that goes through them. */
const marking = {
  mark: {
    s: ['Set(GIVEN=${ARG1}-${ARG2})', 'Return'],
    wait: ['Wait(5)', 'Return'],
    refuse: ['Hangup(21)'],
  },
};

test('the caller runs a subroutine before anybody is called (B), then the call goes on as usual', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20,B(mark^s^1(one^two))g)', 'Wait(60)'] }, marking);
  w.incoming('a', '202');
  await settled();
  assert.equal([w.variables('a')['GIVEN'], w.variables('a')['ARG1'], w.called().length], ['one-two', undefined, 1]);
  const [bob = ''] = w.called();
  w.report(bob, { type: 'leg.answered' });
  await settled();
  assert.equal(w.bridges.list()[0]?.channels, ['a', bob]);
  w.report(bob, { type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.variables('a')['DIALSTATUS'], w.channels.size], ['ANSWER', 1]);
});

test('a caller whose subroutine takes time is called for afterwards; one that hangs up there calls nobody', async () => {
  const w = world(
    { '202': ['Dial(Fake/bob,20,B(mark^wait^1))'], '203': ['Dial(Fake/bob,20,B(mark^refuse^1))'] },
    marking,
  );
  w.incoming('a', '202');
  await settled();
  assert.equal(w.called(), []);
  w.clock.advance(5_000);
  await settled();
  assert.is(w.called().length, 1);
  w.incoming('b', '203');
  await settled();
  assert.equal([w.called().length, w.channels.find('b')], [1, undefined]);
});

test('each callee runs a subroutine before the call (b), and is called only if it returns', async () => {
  const w = world(
    {
      '202': ['Dial(Fake/bob&Fake/eve,20,b(mark^s^1(x^y)))'],
      '203': ['Dial(Fake/bob,20,b(mark^refuse^1))', 'Wait(60)'],
    },
    marking,
  );
  w.incoming('a', '202');
  const [bob = '', eve = ''] = w.called();
  assert.equal([w.legs.get(bob)?.calls, w.legs.get(eve)?.calls], [[], []]);
  await settled();
  for (const id of [bob, eve])
    assert.equal(
      [w.variables(id)['GIVEN'], w.variables(id)['ARG1'], w.legs.get(id)?.calls],
      ['x-y', undefined, ['dial']],
    );
  w.report(bob, { type: 'leg.answered' });
  await settled();
  assert.equal(w.bridges.list()[0]?.channels, ['a', bob]);
  w.incoming('b', '203');
  const refused = w.called().at(-1)!;
  await settled();
  assert.equal(w.legs.get(refused)?.calls.includes('dial'), false);
  assert.equal([w.channels.find(refused), w.variables('b')['DIALSTATUS']], [undefined, 'CHANUNAVAIL']);
});

test('a caller who goes while those it calls are made ready has nobody called', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20,b(mark^wait^1))'] }, marking);
  const caller = w.incoming('a', '202');
  const [bob = ''] = w.called();
  await settled();
  caller.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  w.clock.advance(10_000);
  await settled();
  assert.equal([w.channels.size, w.legs.get(bob)?.calls.includes('dial')], [0, false]);
});

for (const [option, place] of [
  ['F(mark^kept^1)', 'mark,kept,1'],
  ['F', 'default,202,2'],
] as const)
  test(`the callee goes on at ${place} if the caller hangs up (${option}), else it is hung up`, async () => {
    const w = world({ '202': [`Dial(Fake/bob,20,${option}S(10))`, 'Wait(60)'] }, { mark: { kept: ['Wait(60)'] } });
    const caller = w.incoming('a', '202');
    const [bob = ''] = w.called();
    w.report(bob, { type: 'leg.answered' });
    await settled();
    caller.report({ type: 'leg.hungUp', cause: 16 });
    await settled();
    const { context, exten, priority } = w.operations.get(bob).dialplan;
    assert.is(`${context},${exten},${priority}`, place);
    assert.equal([w.channels.size, w.bridges.size, w.operations.get(bob).state], [1, 0, 'Up']);
    w.report(bob, { type: 'leg.hungUp', cause: 16 });
    await settled();
    w.incoming('c', '202');
    const second = w.called().at(-1)!;
    w.report(second, { type: 'leg.answered' });
    await settled();
    w.clock.advance(10_000);
    await settled();
    assert.equal([w.channels.find(second), w.channels.find('c')], [undefined, undefined], 'its limit ends the call');
  });

test('unknown places in options are reported at load; named by a variable, they end the call', async () => {
  for (const option of ['b(gone^s^1)', 'B(gone^s^1(x))', 'F(gone^s^1)'])
    assert.throws(
      () => world({ '202': [`Dial(Fake/bob,20,${option})`] }),
      (error: Error) => error.message.includes('there is no location gone,s,1'),
      option,
    );
  for (const letter of ['b', 'B']) {
    const w = world({ '202': ['Set(X=gone)', `Dial(Fake/bob,,${letter}(\${X}^s^label))`, 'Wait(60)'] });
    w.incoming('a', '202');
    await settled();
    assert.equal([w.called(), w.channels.size], [[], 0], letter);
  }
});

test('a Dial that breaks lets go of everybody it called', async () => {
  const w = world({ '202': ['Dial(Fake/bob,20,g)', 'Wait(60)'] });
  w.incoming('a', '202');
  const [bob = ''] = w.called();
  w.bridges.open = () => {
    throw new Error('no bridge today');
  };
  w.report(bob, { type: 'leg.answered' });
  await settled();
  assert.equal(
    [w.channels.find(bob) !== undefined, w.variables('a')['DIALSTATUS'], w.dialSessions.size],
    [false, 'CANCEL', 0],
  );
});

test.run();
