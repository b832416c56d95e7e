import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Outcome } from '../../src/dialplan/applications/application.ts';
import { createDialplan } from '../../src/dialplan/dialplan.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { FakeChannel, recordingLog } from './fake-channel.ts';

/** A run of `steps` as extension 1 of context c on a new channel. */
function start(steps: string[], set: Partial<FakeChannel> = {}) {
  const clock = new ManualClock();
  const log = recordingLog();
  const channel = Object.assign(new FakeChannel(), set);
  const taken = new AbortController();
  const dialplan = createDialplan({ contexts: { c: { 1: steps, 2: ['NoOp(two)'] } }, clock, log });
  const ended: { outcome?: Outcome } = {};
  const outcome = dialplan.run(channel, { context: 'c', extension: '1', priority: 1 }, taken.signal).then((how) => {
    ended.outcome = how;
    return how;
  });
  return { clock, log, channel, taken, outcome, ended };
}

/** Lets promises that are settled have their effect. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await undefined;
};

/** What was asked of the channel, without the steps that were told. */
const asked = ({ calls }: FakeChannel): string[] => calls.filter((call) => !/^c,\d,/.test(call));

for (const { steps, channel = {}, calls, outcome, warnings = [] } of [
  { steps: ['Answer'], calls: ['answer'], outcome: { type: 'ended' } },
  { steps: ['Answer'], channel: { up: true }, calls: [], outcome: { type: 'ended' } },
  { steps: ['NoOp(x)', 'noop'], calls: [], outcome: { type: 'ended' } },
  { steps: ['Ringing', 'Progress'], calls: ['ring', 'progress'], outcome: { type: 'ended' } },
  { steps: ['Hangup'], calls: [], outcome: { type: 'hangup', cause: 16 } },
  { steps: ['Hangup()'], channel: { cause: 21 }, calls: [], outcome: { type: 'hangup', cause: 21 } },
  { steps: ['Hangup(17)', 'Ringing'], calls: [], outcome: { type: 'hangup', cause: 17 } },
  { steps: ['Hangup(user_busy)'], calls: [], outcome: { type: 'hangup', cause: 17 } },
  { steps: ['Hangup(answered_elsewhere)'], calls: [], outcome: { type: 'hangup', cause: 26 } },
  {
    steps: ['Hangup(${NO}x)'],
    calls: [],
    outcome: { type: 'hangup', cause: 16 },
    warnings: ['"x" is no hangup cause, cleared normally'],
  },
  { steps: ['Busy'], calls: ['indicate busy', 'stop busy'], outcome: { type: 'hangup', cause: 17 } },
  {
    steps: ['Congestion(5)'],
    calls: ['indicate congestion', 'stop congestion'],
    outcome: { type: 'hangup', cause: 34 },
  },
  {
    steps: ['Stasis(hello)', 'Ringing'],
    calls: [],
    outcome: { type: 'stasis', app: 'hello', args: [], next: { context: 'c', extension: '1', priority: 2 } },
  },
  {
    steps: ['Stasis(hello,${COMMAS},c)'],
    channel: { variables: new Map([['COMMAS', 'a,b']]) },
    calls: [],
    outcome: { type: 'stasis', app: 'hello', args: ['a,b', 'c'], next: { context: 'c', extension: '1', priority: 2 } },
  },
  {
    steps: ['ExecIf(1?Stasis(hello,${COMMAS},c))'],
    channel: { variables: new Map([['COMMAS', 'a,b']]) },
    calls: [],
    outcome: { type: 'stasis', app: 'hello', args: ['a,b', 'c'], next: { context: 'c', extension: '1', priority: 2 } },
  },
  {
    steps: ['NoOp', 'Stasis(hello,${EXTEN},"a,b",, x,F(1,2))'],
    calls: [],
    outcome: {
      type: 'stasis',
      app: 'hello',
      args: ['1', 'a,b', '', ' x', 'F(1,2)'],
      next: { context: 'c', extension: '1', priority: 3 },
    },
  },
  {
    steps: ['Stasis(${NO})'],
    calls: [],
    outcome: { type: 'hangup', cause: 16 },
    warnings: ['the name of the application is missing'],
  },
  {
    steps: ['Set(X=a=b,"c")', 'Set(Y=${X:0:3})', 'Set( __Z = )'],
    calls: ['set X=a=b,"c"', 'set Y=a=b', 'set __Z= '],
    outcome: { type: 'ended' },
  },
  {
    steps: ['Set(SHELL(ls)=1)', 'Set(${NO})', 'NoOp(${SHELL(ls)})'],
    calls: [],
    outcome: { type: 'ended' },
    warnings: [
      'the function SHELL is refused: it reaches beyond calls',
      '"" is not NAME=value',
      'the function SHELL is refused: it reaches beyond calls',
    ],
  },
  {
    steps: ['UserEvent(Called,from: ${CALLERID(num)},note:a:b,, none)'],
    calls: ['userEvent Called {"from":"1001","note":"a:b"}'],
    outcome: { type: 'ended' },
    warnings: ['"" is not key: value, left out', '" none" is not key: value, left out'],
  },
  {
    steps: ['UserEvent(${NO})'],
    calls: [],
    outcome: { type: 'ended' },
    warnings: ['the event has no name'],
  },
  { steps: ['Wait(0)'], calls: [], outcome: { type: 'ended' } },
  {
    steps: ['Wait(${NO})'],
    calls: [],
    outcome: { type: 'ended' },
    warnings: ['"" is no number of seconds, not waited'],
  },
  { steps: ['Playback(a,skip)'], calls: ['set PLAYBACKSTATUS=SUCCESS'], outcome: { type: 'ended' } },
  {
    steps: ['Playback(${NO}&)'],
    calls: ['answer', 'set PLAYBACKSTATUS=FAILED'],
    outcome: { type: 'ended' },
    warnings: ['no file to play is given'],
  },
  {
    steps: ['Goto(${NO}nowhere)'],
    calls: [],
    outcome: { type: 'hangup', cause: 16 },
    warnings: ['there is no location nowhere'],
  },
] as {
  steps: string[];
  channel?: Partial<FakeChannel>;
  calls: string[];
  outcome: Outcome;
  warnings?: string[];
}[])
  test(`${steps.join(', ')}${Object.keys(channel).length ? ` with ${JSON.stringify(channel)}` : ''}`, async () => {
    const run = start(steps, channel);
    assert.equal(await run.outcome, outcome);
    assert.equal(asked(run.channel), calls);
    assert.equal(
      run.log.lines.map(({ message }) => message),
      warnings,
    );
    assert.is(run.clock.pending, 0);
  });

test('Answer waits until the channel is up', async () => {
  const { channel, outcome, ended } = start(['Answer', 'Ringing'], { answersAtOnce: false });
  await settled();
  assert.equal(asked(channel), ['answer']);
  assert.is(ended.outcome, undefined);
  channel.comeUp();
  assert.equal(await outcome, { type: 'ended' });
  assert.equal(asked(channel), ['answer', 'ring']);
});

test('Answer waits its milliseconds after the answer', async () => {
  const { channel, clock, outcome } = start(['Answer(500)', 'Ringing']);
  await settled();
  clock.advance(499);
  await settled();
  assert.equal(asked(channel), ['answer']);
  clock.advance(1);
  await outcome;
  assert.equal(asked(channel), ['answer', 'ring']);
});

test('Wait waits for its seconds, decimals included', async () => {
  const { clock, outcome, ended } = start(['Wait(1.5)']);
  clock.advance(1499);
  await settled();
  assert.is(ended.outcome, undefined);
  clock.advance(1);
  assert.equal(await outcome, { type: 'ended' });
});

test('a Wait longer than any timer can be set for lasts as long as a timer can', async () => {
  const { clock, outcome, ended } = start(['Wait(9999999999)']);
  clock.advance(2 ** 31 - 2);
  await settled();
  assert.is(ended.outcome, undefined);
  clock.advance(1);
  assert.equal(await outcome, { type: 'ended' });
});

test('a channel taken away while media begins has it stopped', async () => {
  const { channel, taken, outcome, clock } = start(['Wait(1)', 'Echo']);
  const echo = channel.echo.bind(channel);
  channel.echo = () => {
    taken.abort();
    return echo();
  };
  clock.advance(1000);
  assert.equal(await outcome, { type: 'aborted' });
  assert.equal(asked(channel), ['echo', 'stop echo']);
});

test('Echo ends at #, and the dialplan goes on', async () => {
  const { channel, outcome, clock } = start(['Wait(1)', 'Echo', 'Playback(a)']);
  clock.advance(1000);
  await settled();
  channel.press('1');
  await settled();
  assert.equal(asked(channel), ['echo']);
  channel.press('#');
  await settled();
  assert.equal(asked(channel), ['echo', 'stop echo', 'answer', 'play sound:a']);
  channel.played('done');
  assert.equal(await outcome, { type: 'ended' });
});

for (const [application, tone, cause] of [
  ['Busy', 'busy', 17],
  ['Congestion', 'congestion', 34],
] as const) {
  test(`${application} on an answered channel plays its tone for the time given, then hangs up`, async () => {
    const { channel, clock, outcome } = start([`${application}(3)`], { up: true });
    assert.equal(asked(channel), [`indicate ${tone}`]);
    clock.advance(3000);
    assert.equal(await outcome, { type: 'hangup', cause });
    assert.equal(asked(channel), [`indicate ${tone}`, `stop ${tone}`]);
  });

  test(`${application} without a time lasts until the channel is taken away`, async () => {
    const { channel, clock, taken, outcome } = start([application], { up: true });
    assert.is(clock.pending, 0);
    taken.abort();
    assert.equal(await outcome, { type: 'aborted' });
    assert.equal(asked(channel), [`indicate ${tone}`, `stop ${tone}`]);
  });
}

test('Playback answers, plays its files in order and tells that it worked', async () => {
  const { channel, outcome } = start(['Playback(hello-world&digits:12& tone:ring)', 'Ringing']);
  await settled();
  assert.equal(asked(channel), ['answer', 'play sound:hello-world digits:12 tone:ring']);
  channel.played('done');
  assert.equal(await outcome, { type: 'ended' });
  assert.equal(asked(channel).slice(2), ['stop play', 'set PLAYBACKSTATUS=SUCCESS', 'ring']);
});

test('Playback tells a failure and the dialplan goes on', async () => {
  const { channel, outcome } = start(['Playback(nothing)', 'Ringing'], { up: true });
  channel.played('failed');
  await outcome;
  assert.equal(asked(channel), ['play sound:nothing', 'stop play', 'set PLAYBACKSTATUS=FAILED', 'ring']);
});

test('Playback with noanswer plays as early media', async () => {
  const { channel, outcome } = start(['Playback(a,noanswer)']);
  assert.equal(asked(channel), ['play sound:a']);
  channel.played('done');
  await outcome;
});

test('Playback with skip plays on a channel that is up', async () => {
  const { channel, outcome } = start(['Playback(a,skip)'], { up: true });
  assert.equal(asked(channel), ['play sound:a']);
  channel.played('done');
  await outcome;
});

test('Echo does not answer, and lasts until the channel is taken away', async () => {
  const { channel, taken, outcome, ended } = start(['Echo', 'Ringing']);
  await settled();
  assert.equal(asked(channel), ['echo']);
  assert.is(ended.outcome, undefined);
  taken.abort();
  assert.equal(await outcome, { type: 'aborted' });
  assert.equal(asked(channel), ['echo', 'stop echo']);
});

for (const { steps, up = true, before, after } of [
  { steps: ['Wait(10)'], before: [], after: [] },
  { steps: ['Answer'], up: false, before: ['answer'], after: [] },
  { steps: ['Answer(100)'], before: [], after: [] },
  { steps: ['Playback(a)'], up: false, before: ['answer'], after: [] },
  { steps: ['Playback(a)'], before: ['play sound:a'], after: ['stop play'] },
  { steps: ['Busy(10)'], before: ['indicate busy'], after: ['stop busy'] },
  { steps: ['Congestion(10)'], before: ['indicate congestion'], after: ['stop congestion'] },
  { steps: ['Echo'], before: ['echo'], after: ['stop echo'] },
])
  test(`${steps.join()}${up ? '' : ' before the answer'}: taking the channel away leaves nothing behind`, async () => {
    const { channel, clock, taken, outcome } = start([...steps, 'Ringing'], { up, answersAtOnce: false });
    await settled();
    assert.equal(asked(channel), before);
    taken.abort();
    // Whatever was begun has stopped before `abort` returns.
    assert.equal(asked(channel), [...before, ...after]);
    assert.is(clock.pending, 0);
    assert.equal(await outcome, { type: 'aborted' });
    channel.comeUp();
    channel.played('done');
    clock.advance(60_000);
    await settled();
    assert.equal(asked(channel), [...before, ...after]);
  });

test.run();
