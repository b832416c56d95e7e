import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createDialplan } from '../../src/dialplan/dialplan.ts';
import { parseStep, validate } from '../../src/dialplan/parse.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { recordingLog } from './fake-channel.ts';

const dialplan = (contexts: Parameters<typeof createDialplan>[0]['contexts']) =>
  createDialplan({ contexts, clock: new ManualClock(), log: recordingLog() });

test('the default dialplan is valid', () => {
  assert.equal(
    validate({
      default: {
        '_X.': ['Stasis(hello,${EXTEN})'],
        echo: ['Answer', 'Echo'],
        s: ['Answer', 'Wait(60)'],
        1000: ['Answer', 'Wait(60)'],
      },
    }),
    [],
  );
});

for (const [steps, path, message] of [
  [['Nope(1)'], '/c/1/0', 'unknown application "Nope"'],
  [['Answer('], '/c/1/0', '"Answer(" is not a step; expected Application(arguments)'],
  [['Answer', '1+1'], '/c/1/1', '"1+1" is not a step; expected Application(arguments)'],
  [['NoOp(${X)'], '/c/1/0', '"${" is not closed by "}"'],
  [
    [
      { label: 'a', app: 'Answer' },
      { label: 'a', app: 'Echo' },
    ],
    '/c/1/1',
    'the label "a" is already taken',
  ],
  [[{ label: '1', app: 'Answer' }], '/c/1/0', 'label must be a word that begins with a letter'],
  [[{ label: 'a' }], '/c/1/0', 'app must be App(arguments)'],
  [[{ label: 'a', app: 'Echo', next: 1 }], '/c/1/0', 'unknown key "next"; a step has only `label` and `app`'],
  [[17], '/c/1/0', 'a step must be App(arguments), or label and app'],
  [[], '/c/1', 'an extension must have a list of steps'],
  ['Answer', '/c/1', 'an extension must have a list of steps'],
  [['NoOp', 'Wait(soon)'], '/c/1/1', 'Wait: "soon" is no number of seconds'],
  [['Hangup(NEVER)'], '/c/1/0', 'Hangup: "NEVER" is no hangup cause'],
  [['Hangup(128)'], '/c/1/0', 'Hangup: "128" is no hangup cause'],
  [['Busy(x)'], '/c/1/0', 'Busy: "x" is no number of seconds'],
  [['Stasis()'], '/c/1/0', 'Stasis: the name of the application is missing'],
  [['Set(X)'], '/c/1/0', 'Set: "X" is not NAME=value'],
  [['Set(=1)'], '/c/1/0', 'Set: "=1" is not NAME=value'],
  [['Playback(,skip)'], '/c/1/0', 'Playback: no file to play is given'],
  [['UserEvent()'], '/c/1/0', 'UserEvent: the event has no name'],
  [['Goto(nowhere)'], '/c/1/0', 'Goto: there is no location c,1,nowhere'],
  [['Goto(2)'], '/c/1/0', 'Goto: there is no location c,1,2'],
  [['NoOp', 'Goto(-2)'], '/c/1/1', 'Goto: there is no location c,1,0'],
  [['Goto(d,s,1)'], '/c/1/0', 'Goto: there is no location d,s,1'],
  [['Goto()'], '/c/1/0', 'Goto: a priority or label is needed'],
  [['GotoIf(1)'], '/c/1/0', 'GotoIf: condition?place:place is needed'],
] as const)
  test(`${JSON.stringify(steps)} is told as ${message}`, () => {
    assert.equal(validate({ c: { 1: steps } }), [{ path, message }]);
  });

for (const steps of [
  ['Answer()', ' noop ( anything (with) parentheses ) ', 'GOTO(1)'],
  [{ label: 'again', app: 'Wait(.5)' }, 'Goto(again)'],
  ['NoOp', 'Goto(+1)', 'Goto(-1)'],
  ['Goto(c,2345,1)', 'Goto(2345,here)', 'Goto(${NOT}known)', 'Wait(${X})'],
  ['Hangup', 'Hangup(17)', 'Hangup(busy)', 'Hangup(NO_ANSWER)', 'Set(A=)', 'Set(CALLERID(name)=a,b=c)'],
])
  test(`${JSON.stringify(steps)} is valid`, () => {
    assert.equal(validate({ c: { 1: steps, '_2X!': [{ label: 'here', app: 'NoOp' }] } }), []);
  });

test('problems of patterns, extensions and contexts are told with their paths', () => {
  const problems = validate({
    a: { '_[1': ['Answer'], '_X/1': ['Answer'], '_x/1': ['Answer'], '1-2': ['Answer'], 12: ['Answer'] },
    b: ['Answer'],
    'c~': { '1/2': ['Nope'] },
  });
  assert.equal(problems, [
    { path: '/a/_[1', message: '"[" is not closed in the pattern "_[1"' },
    { path: '/a/_x~11', message: 'another pattern is equivalent to "_x/1"; remove one' },
    { path: '/a/1-2', message: 'another extension is equivalent to "1-2"; remove one' },
    { path: '/b', message: 'a context must map extensions to lists of steps' },
    { path: '/c~0/1~12/0', message: 'unknown application "Nope"' },
  ]);
  assert.equal(validate(['x']), [{ path: '', message: 'the dialplan must map contexts to extensions' }]);
});

test('a wrong dialplan is refused whole, with every problem', () => {
  assert.throws(
    () => dialplan({ a: { 1: ['Nope'], 2: ['Wait(x)'] } }),
    (error: Error) => /\/a\/1\/0: .*\n\/a\/2\/0: /.test(error.message),
  );
});

const some = dialplan({
  default: {
    1000: ['Answer', { label: 'again', app: 'Wait(1)' }],
    _1XXX: ['NoOp(four)'],
    '_1.': ['NoOp(more)'],
    _10XX: ['NoOp(ten)'],
    '_!': ['NoOp(any)'],
    'a-b': ['NoOp(dash)'],
  },
  empty: {},
});

for (const [extension, data] of [
  ['1000', ''],
  ['10-00', ''],
  ['1001', 'ten'],
  ['1100', 'four'],
  ['11', 'more'],
  ['11000', 'more'],
  ['2', 'any'],
  ['ab', 'dash'],
] as const)
  test(`of all that fits ${extension} the most specific is found`, () => {
    assert.is(some.find('default', extension, 1)?.data, data);
  });

test('steps are found by priority, labels by name', () => {
  assert.equal(some.find('default', '1000', 2), { application: 'Wait', data: '1', label: 'again' });
  assert.is(some.find('default', '1000', 3), undefined);
  assert.is(some.find('default', '1000', 0), undefined);
  assert.is(some.resolveLabel('default', '1000', 'again'), 2);
  assert.is(some.resolveLabel('default', '1001', 'again'), undefined);
  assert.is(some.resolveLabel('nowhere', '1000', 'again'), undefined);
});

test('an extension exists by name or pattern, in its own context only', () => {
  assert.equal(
    [
      some.hasExtension('default', '1000'),
      some.hasExtension('default', 'anything'),
      some.hasExtension('empty', '1000'),
      some.hasExtension('nowhere', '1000'),
      some.hasExtension('constructor', 'toString'),
    ],
    [true, true, false, false, false],
  );
});

test('no step makes parsing throw, and no dialplan makes checking throw', () => {
  const text = fc.string({
    unit: fc.constantFrom('A', 'Wait', 'Goto', '(', ')', ',', '${', '}', '[', ']', '_', '\\', ' '),
  });
  const step = fc.oneof(text, fc.string(), fc.record({ label: text, app: text }), fc.anything());
  fc.assert(
    fc.property(step, text, (configured, extension) => {
      const parsed = parseStep(configured);
      assert.ok(typeof parsed === 'string' || parsed.application.name);
      assert.ok(Array.isArray(validate({ c: { [extension]: [configured, configured] } })));
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.anything(), (anything) => {
      assert.ok(Array.isArray(validate(anything)));
    }),
  );
});

test('hints stand beside extensions: exact ones win, patterns name their devices by the extension', () => {
  const plan = dialplan({
    office: {
      include: ['shared'],
      hints: { '201': 'PJSIP/alice&Stasis:desk', _2XX: 'PJSIP/p${EXTEN:1}&PJSIP/lobby' },
      '201': ['Dial(PJSIP/alice)'],
    },
    shared: { hints: { '9-00': 'Custom:night' } },
    empty: { s: ['Hangup'] },
  });
  assert.equal(plan.hint('office', '201'), ['PJSIP/alice', 'Stasis:desk']);
  assert.equal(plan.hint('office', '2-45'), ['PJSIP/p45', 'PJSIP/lobby']);
  assert.equal(plan.hint('office', '900'), ['Custom:night']);
  assert.equal(
    [plan.hint('office', '300'), plan.hint('empty', '201'), plan.hint('none', '201')],
    [undefined, undefined, undefined],
  );
  assert.not.ok(plan.hasExtension('office', 'hints'), 'hints are no extension');
});

test('what is dialed names no further devices', () => {
  const plan = dialplan({ office: { hints: { '_.': 'PJSIP/${EXTEN}' }, s: ['Hangup'] } });
  assert.equal(plan.hint('office', 'a'), ['PJSIP/a']);
  assert.equal(plan.hint('office', 'a&Stasis:secret'), undefined);
});

test('what is wrong with hints is told where it stands', () => {
  const problems = (hints: unknown) => validate({ c: { hints } });
  assert.equal(problems(['PJSIP/alice']), [{ path: '/c/hints', message: 'hints must map extensions to devices' }]);
  assert.equal(problems({ '201': 'alice', '202': '', '203': 7, _: 'PJSIP/a', '2-04': 'PJSIP/a', '204': 'PJSIP/b' }), [
    { path: '/c/hints/201', message: '"alice" is not a device; write PJSIP/alice or Stasis:name' },
    { path: '/c/hints/202', message: 'a hint must name devices, e.g. PJSIP/alice&PJSIP/bob' },
    { path: '/c/hints/203', message: 'a hint must name devices, e.g. PJSIP/alice&PJSIP/bob' },
    { path: '/c/hints/_', message: 'the pattern "_" matches nothing' },
    { path: '/c/hints/2-04', message: 'another hint is equivalent to "2-04"; remove one' },
  ]);
});

test.run();
