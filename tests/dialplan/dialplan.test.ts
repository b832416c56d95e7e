import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Outcome } from '../../src/dialplan/applications/application.ts';
import { createDialplan } from '../../src/dialplan/dialplan.ts';
import type { ConfiguredContexts } from '../../src/dialplan/parse.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { FakeChannel, recordingLog } from './fake-channel.ts';

function system(contexts: ConfiguredContexts) {
  const clock = new ManualClock();
  const log = recordingLog();
  const channel = new FakeChannel();
  const dialplan = createDialplan({ contexts, clock, log });
  const taken = new AbortController();
  const run = (context: string, extension: string, priority = 1): Promise<Outcome> =>
    dialplan.run(channel, { context, extension, priority }, taken.signal);
  return { clock, log, channel, dialplan, taken, run };
}

test('each step is told with its place and its arguments as they are on this call', async () => {
  const { channel, run } = system({
    default: {
      '_X.': ['NoOp(${EXTEN}-${EXTEN:1}@${CONTEXT}:${PRIORITY})', 'Set(A=$[${PRIORITY} + 40])', 'noop(${A})'],
    },
  });
  assert.equal(await run('default', '123'), { type: 'ended' });
  assert.equal(channel.calls, [
    'default,123,1 NoOp(123-23@default:1)',
    'default,123,2 Set(A=42)',
    'set A=42',
    'default,123,3 NoOp(42)',
  ]);
});

test('what needs no waiting has happened when run returns', async () => {
  const { channel, run } = system({ c: { s: ['Answer', 'Set(A=1)', 'Ringing', 'Stasis(app)'] } });
  const outcome = run('c', 's');
  assert.equal(channel.calls.at(-1), 'c,s,4 Stasis(app)');
  assert.is((await outcome).type, 'stasis');
});

test('a run goes on from where an application left it', async () => {
  const { channel, run } = system({ c: { s: ['Stasis(app)', 'NoOp(after)'] } });
  const outcome = await run('c', 's');
  assert.is(outcome.type, 'stasis');
  if (outcome.type !== 'stasis') return;
  const { context, extension, priority } = outcome.next;
  assert.equal(await run(context, extension, priority), { type: 'ended' });
  assert.equal(channel.calls, ['c,s,1 Stasis(app)', 'c,s,2 NoOp(after)']);
});

test('a run under way goes on in the dialplan it began with; the next one finds the new', async () => {
  const { channel, clock, dialplan, run } = system({ c: { s: ['Wait(1)', 'NoOp(old)'] } });
  const underWay = run('c', 's');
  dialplan.replace({ c: { s: ['NoOp(new)'] }, d: { s: ['NoOp'] } });
  clock.advance(1_000);
  assert.equal(await underWay, { type: 'ended' });
  assert.equal(channel.calls, ['c,s,1 Wait(1)', 'c,s,2 NoOp(old)']);
  await run('c', 's');
  assert.equal(channel.calls.slice(2), ['c,s,1 NoOp(new)']);
  assert.is(dialplan.hasContext('d'), true);
  assert.throws(() => dialplan.replace({ c: { s: ['Anser'] } }), /unknown application "Anser"/);
  assert.equal(dialplan.find('c', 's', 1), { application: 'NoOp', data: 'new' });
});

test('a place behind the last step ends normally', async () => {
  const { channel, run } = system({ c: { s: ['NoOp'] } });
  assert.equal(await run('c', 's', 2), { type: 'ended' });
  assert.equal(channel.calls, []);
});

for (const [step, place] of [
  ['Goto(2)', 'c,1,2 NoOp(a)'],
  ['Goto(+2)', 'c,1,3 NoOp(b)'],
  ['Goto(there)', 'c,1,3 NoOp(b)'],
  ['Goto(2,1)', 'c,2,1 NoOp(two)'],
  ['Goto(2,end)', 'c,2,2 NoOp(end)'],
  ['Goto(d,345,1)', 'd,345,1 NoOp(345)'],
  ['Goto(,,2)', 'c,1,2 NoOp(a)'],
  ['Goto(${TARGET})', 'd,345,1 NoOp(345)'],
  ['GotoIf(1?there)', 'c,1,3 NoOp(b)'],
  ['GotoIf($[1 = 2]?there:2,end)', 'c,2,2 NoOp(end)'],
  ['GotoIf(?there)', 'c,1,2 NoOp(a)'],
  ['GotoIf(x?:there)', 'c,1,2 NoOp(a)'],
] as const)
  test(`${step} leads to ${place}`, async () => {
    const { channel, run } = system({
      c: {
        1: [step, 'NoOp(a)', { label: 'there', app: 'NoOp(b)' }],
        2: ['NoOp(two)', { label: 'end', app: 'NoOp(end)' }],
      },
      d: { '_3.': ['NoOp(${EXTEN})'] },
    });
    channel.variables.set('TARGET', 'd,345,1');
    await run('c', '1');
    assert.is(channel.calls[1], place);
  });

test('an extension that does not exist goes to i, which is told which one it was', async () => {
  const { channel, run } = system({ c: { i: ['NoOp(${INVALID_EXTEN})', 'Hangup(28)'] } });
  assert.equal(await run('c', '999', 3), { type: 'hangup', cause: 28 });
  assert.equal(channel.calls, ['set INVALID_EXTEN=999', 'c,i,1 NoOp(999)', 'c,i,2 Hangup(28)']);
});

test('without i the call is hung up as unallocated, without the context as having no route', async () => {
  const { run, log } = system({ c: { s: ['NoOp'] } });
  assert.equal(await run('c', '999'), { type: 'hangup', cause: 1 });
  assert.equal(await run('nowhere', 's'), { type: 'hangup', cause: 3 });
  assert.equal(log.lines, [
    { fields: { channel: 'c1', context: 'c', extension: '999' }, message: 'no such extension' },
    { fields: { channel: 'c1', context: 'nowhere', extension: 's' }, message: 'no such extension' },
  ]);
});

test('what goes wrong in a step is logged with its place', async () => {
  const { run, log } = system({ c: { s: ['NoOp', 'NoOp(${CHANNEL(shoe)})'] } });
  await run('c', 's');
  assert.equal(log.lines, [
    {
      fields: { channel: 'c1', context: 'c', extension: 's', priority: 2 },
      message: 'CHANNEL(shoe) cannot be read',
    },
  ]);
});

test('a dialplan that goes round without waiting ends the call', async () => {
  const { channel, run, log } = system({ c: { s: ['NoOp', 'Goto(1)'] } });
  assert.equal(await run('c', 's'), { type: 'hangup', cause: 41 });
  assert.is(channel.calls.length, 1000);
  assert.match(log.lines[0]!.message, 'the dialplan loops');
});

test('a dialplan that goes round in waits that take no time ends the call', async () => {
  const { channel, run } = system({ c: { s: ['Playback(nothing)', 'Goto(1)'] } });
  channel.up = true;
  channel.onEntering = () => void Promise.resolve().then(() => channel.played('failed'));
  assert.equal(await run('c', 's'), { type: 'hangup', cause: 41 });
});

test('a dialplan that goes round slowly may do so for ever', async () => {
  const { channel, run, clock, taken } = system({ c: { s: ['Wait(1)', 'Goto(1)'] } });
  const outcome = run('c', 's');
  for (let second = 0; second < 3000; second++) {
    clock.advance(1000);
    for (let i = 0; i < 5; i++) await undefined;
  }
  taken.abort();
  assert.equal(await outcome, { type: 'aborted' });
  assert.is(channel.calls.length, 6001);
  assert.is(clock.pending, 0);
});

test('a channel taken away before the run is left alone', async () => {
  const { channel, run, taken } = system({ c: { s: ['Answer'] } });
  taken.abort();
  assert.equal(await run('c', 's'), { type: 'aborted' });
  assert.equal(channel.calls, []);
});

test('a channel taken away while a step is told is left alone', async () => {
  const { channel, run, taken } = system({ c: { s: ['NoOp', 'Answer', 'Ringing'] } });
  channel.onEntering = ({ position }) => {
    if (position.priority === 2) taken.abort();
  };
  assert.equal(await run('c', 's'), { type: 'aborted' });
  assert.equal(channel.calls, ['c,s,1 NoOp()', 'c,s,2 Answer()']);
});

test('a channel that throws ends its call, logged, and the run does not reject', async () => {
  const { channel, run, log } = system({ c: { s: ['Ringing'] } });
  channel.ring = () => {
    throw new Error('broken');
  };
  assert.equal(await run('c', 's'), { type: 'hangup', cause: 41 });
  assert.is(log.lines[0]?.message, 'the dialplan failed on this channel');
});

test('a text can be expanded on a channel outside a run', () => {
  const { channel, dialplan, log } = system({});
  channel.variables.set('A', 'x');
  assert.is(dialplan.expand(channel, '${A}-${EXTEN}-${CALLERID(num)}-${SHELL(ls)}'), 'x-place-1001-');
  assert.is(log.lines[0]?.message, 'the function SHELL is refused: it reaches beyond calls');
});

test.run();
