import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createDialplan } from '../../src/dialplan/dialplan.ts';
import { Cancellation } from '../../src/lib/cancellation.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { FakeChannel, recordingLog } from './fake-channel.ts';

const test = suite('applications that bring channels together');

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs one step on a channel that is up, unless said otherwise. */
function run(step: string, up = true, channel = new FakeChannel()) {
  channel.up = up;
  const log = recordingLog();
  const dialplan = createDialplan({ contexts: { c: { s: [step] } }, clock: new ManualClock(), log });
  const cancel = new Cancellation();
  const outcome = dialplan.run(channel, { context: 'c', extension: 's', priority: 1 }, cancel);
  /** What was asked of the channel after the step began. */
  const asked = () => channel.calls.slice(1);
  return { channel, outcome, cancel, asked };
}

test('Dial asks for everyone at once, and hangs up after a call unless told otherwise', async () => {
  const answered = { status: 'ANSWER', peer: { name: 'PJSIP/bob-1', number: 'bob' }, answeredMs: 61_999 };
  const one = run('Dial(PJSIP/bob & Local/1@c, 20)');
  assert.equal(one.asked(), ['dial {"targets":["PJSIP/bob","Local/1@c"],"timeoutMs":20000,"waiting":"alert"}']);
  one.channel.ended(answered);
  assert.equal(await one.outcome, { type: 'hangup', cause: 16 });
  assert.equal(Object.fromEntries(one.channel.variables), {
    DIALSTATUS: 'ANSWER',
    DIALEDPEERNAME: 'PJSIP/bob-1',
    DIALEDPEERNUMBER: 'bob',
    ANSWEREDTIME: '61',
  });
  const other = run('Dial(PJSIP/bob,,gm(jazz))');
  assert.equal(other.asked(), ['dial {"targets":["PJSIP/bob"],"waiting":{"music":"jazz"}}']);
  other.channel.ended(answered);
  assert.equal(await other.outcome, { type: 'ended' });
  const busy = run('Dial(PJSIP/bob,,r)');
  assert.match(busy.asked()[0] ?? '', /"waiting":"ring"/);
  busy.channel.ended({ status: 'BUSY' });
  assert.equal(await busy.outcome, { type: 'ended' });
  assert.is(busy.channel.variables.get('DIALSTATUS'), 'BUSY');
});

/** What Dial asks for when variables hold this. */
async function dialed(step: string, variables: Record<string, string>): Promise<unknown> {
  const channel = new FakeChannel();
  channel.up = true;
  for (const [name, value] of Object.entries(variables)) channel.variables.set(name, value);
  const dialplan = createDialplan({ contexts: { c: { s: [step] } }, clock: new ManualClock(), log: recordingLog() });
  const cancel = new Cancellation();
  const over = dialplan.run(channel, { context: 'c', extension: 's', priority: 1 }, cancel);
  const [asked = ''] = channel.calls.slice(1);
  cancel.abort();
  await over;
  return asked === '' ? undefined : JSON.parse(asked.replace(/^dial /, ''));
}

const plain = { waiting: 'alert' };
for (const [what, step, variables, expected] of [
  [
    'a target in what was dialed',
    'Dial(PJSIP/${X}@line)',
    { X: '1&Local/900@internal' },
    { targets: ['PJSIP/1&Local/900@internal@line'], ...plain },
  ],
  [
    'options in what was dialed',
    'Dial(PJSIP/${X}@line,20)',
    { X: '1@line,5,m(x)' },
    { targets: ['PJSIP/1@line,5,m(x)@line'], timeoutMs: 20_000, ...plain },
  ],
  [
    'options in what a caller is called',
    'Dial(PJSIP/bob,20,m(${X})t)',
    { X: 'x)r(1' },
    {
      targets: ['PJSIP/bob'],
      timeoutMs: 20_000,
      waiting: { music: 'x)r(1' },
      features: { called: ['blindxfer', 'atxfer'], calling: [] },
    },
  ],
  [
    'a context in what a caller is called',
    'Dial(PJSIP/bob,20,U(screen^${X})F(c^${X}^1))',
    { X: 'evil^s' },
    {
      targets: ['PJSIP/bob'],
      timeoutMs: 20_000,
      ...plain,
      afterwards: { context: 'c', extension: 'evil^s', priority: 1 },
      subroutine: { position: { context: 'screen', extension: 's', priority: 1 }, args: ['evil^s'] },
    },
  ],
  [
    'a target in a name of the network',
    'Dial(${CALLERID(name)}&PJSIP/bob)',
    { HOSTILE: '1' },
    { targets: ['PJSIP/bob'], ...plain },
  ],
  [
    'a target in a dialed number that is invalid',
    'Dial(${INVALID_EXTEN})',
    { INVALID_EXTEN: 'Local/900@internal&Local/901@internal,5,m' },
    { targets: [], ...plain },
  ],
  [
    'a context in a dialed number that is invalid',
    'Dial(PJSIP/bob,20,F(${INVALID_EXTEN}))',
    { INVALID_EXTEN: 'c^s^1' },
    { targets: ['PJSIP/bob'], timeoutMs: 20_000, ...plain },
  ],
  [
    'files and digits in what a caller is called',
    'Dial(PJSIP/bob,20,A(hello-${X})D(1${X}:2))',
    { X: 'a&recording:secret:9(b)' },
    {
      targets: ['PJSIP/bob'],
      timeoutMs: 20_000,
      ...plain,
      announcement: ['sound:hello-a&recording:secret:9(b)'],
      digits: { called: '1a&recording:secret:9(b)', calling: '2' },
    },
  ],
  [
    'a place in a variable alone',
    'Dial(PJSIP/bob,20,F(${X}))',
    { X: 'c^s^1' },
    {
      targets: ['PJSIP/bob'],
      timeoutMs: 20_000,
      ...plain,
      afterwards: { context: 'c', extension: 's', priority: 1 },
    },
  ],
  [
    'options in a variable beside others',
    'Dial(PJSIP/bob,,t${X})',
    { X: 'm(jazz)' },
    { targets: ['PJSIP/bob'], waiting: { music: 'jazz' }, features: { called: ['blindxfer', 'atxfer'], calling: [] } },
  ],
  ['options in a time limit', 'Dial(PJSIP/bob,${X})', { X: '5,m(jazz)' }, { targets: ['PJSIP/bob'], ...plain }],
  [
    'several targets in a variable alone',
    'Dial(${X}&PJSIP/eve,20)',
    { X: 'PJSIP/a & PJSIP/b' },
    { targets: ['PJSIP/a', 'PJSIP/b', 'PJSIP/eve'], timeoutMs: 20_000, ...plain },
  ],
  [
    'everything in a variable alone',
    'Dial(${X})',
    { X: 'PJSIP/a&PJSIP/b,20,r' },
    { targets: ['PJSIP/a', 'PJSIP/b'], timeoutMs: 20_000, waiting: 'ring' },
  ],
  [
    'a function with commas',
    'Dial(PJSIP/${CUT(X,-,2)},20,${Y})',
    { X: 'a-bob', Y: 'm(jazz)' },
    { targets: ['PJSIP/bob'], timeoutMs: 20_000, waiting: { music: 'jazz' } },
  ],
  ['nothing', 'Dial(PJSIP/bob&${X})', { X: '' }, { targets: ['PJSIP/bob'], ...plain }],
] as const)
  test(`Dial with ${what}`, async () => assert.equal(await dialed(step, variables), expected));

test('what goes on is stopped when the channel is taken away, and nothing is set any more', async () => {
  for (const step of ['Dial(PJSIP/bob)', 'Bridge(x)', 'ConfBridge(x)', 'Record(x.wav)']) {
    const { channel, cancel, outcome, asked } = run(step);
    await settled();
    cancel.abort();
    assert.equal(await outcome, { type: 'aborted' }, step);
    assert.is(asked().at(-1), `stop ${asked()[0]}`, step);
    assert.is(channel.variables.size, 0, step);
  }
});

test('a room is entered answered; Bridge tells whether there was anybody', async () => {
  const room = run('ConfBridge(team)', false);
  await settled();
  assert.equal(room.asked(), ['answer', 'room team']);
  room.channel.ended();
  assert.equal(await room.outcome, { type: 'ended' });
  const nobody = run('Bridge(nobody)');
  await nobody.outcome;
  assert.is(nobody.channel.variables.get('BRIDGERESULT'), 'NONEXISTENT');
});

test('Record reads its file, limits and options', async () => {
  const { channel, outcome, asked } = run('Record(mail/1.wav,3,30,aqy)');
  await settled();
  assert.equal(JSON.parse((asked()[0] ?? '').replace('record ', '')), {
    name: 'mail/1',
    format: 'wav',
    append: true,
    beep: false,
    maxSilenceMs: 3_000,
    maxDurationMs: 30_000,
    terminateOn: 'any',
  });
  channel.ended('SILENCE');
  await outcome;
  assert.equal(Object.fromEntries(channel.variables), { RECORDED_FILE: 'mail/1', RECORD_STATUS: 'SILENCE' });
});

test('Record appends to what a process of an earlier version has recorded', async () => {
  const channel = new FakeChannel();
  channel.journal.restore({ notes: ['recording'], due: 12_000 });
  const { asked } = run('Record(mail/1.wav,3,30)', true, channel);
  await settled();
  const { append, beep } = JSON.parse((asked()[0] ?? '').replace('record ', ''));
  assert.equal({ append, beep }, { append: true, beep: false });
});

test('what makes no sense is told while the dialplan is loaded', () => {
  const problem = (step: string): string => {
    try {
      createDialplan({ contexts: { c: { s: [step] } }, clock: new ManualClock(), log: recordingLog() });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (const step of ['Dial()', 'Dial(bob)', 'Dial(PJSIP/)', 'Dial(PJSIP/bob,soon)', 'Bridge()', 'ConfBridge()'])
    assert.is.not(problem(step), '', step);
  for (const step of ['MusicOnHold(jazz,x)', 'Record()', 'Record(name)', 'Record(.wav)'])
    assert.is.not(problem(step), '', step);
  for (const step of ['Dial(PJSIP/bob)', 'MusicOnHold', 'MusicOnHold(jazz,1.5)', 'Record(a.b.wav)'])
    assert.is(problem(step), '', step);
});

test.run();
