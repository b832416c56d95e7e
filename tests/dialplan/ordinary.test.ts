import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Outcome } from '../../src/dialplan/applications/application.ts';
import { createDialplan } from '../../src/dialplan/dialplan.ts';
import { type ConfiguredContexts, validate } from '../../src/dialplan/parse.ts';
import { readTimes } from '../../src/dialplan/times.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { FakeChannel, recordingLog } from './fake-channel.ts';

/** What an ordinary dialplan consists of: contexts in contexts, subroutines, loops, keys. */

function start(contexts: ConfiguredContexts, set: Partial<FakeChannel> = {}, extension = '1') {
  const clock = new ManualClock(Date.UTC(2026, 0, 5, 10, 30));
  const log = recordingLog();
  const channel = Object.assign(new FakeChannel(), set);
  const taken = new AbortController();
  const dialplan = createDialplan({ contexts, clock, log, subroutineDepth: 5 });
  const ended: { outcome?: Outcome } = {};
  const outcome = dialplan.run(channel, { context: 'c', extension, priority: 1 }, taken.signal).then((how) => {
    ended.outcome = how;
    return how;
  });
  const warnings = () => log.lines.map(({ message }) => message);
  return { clock, log, channel, taken, outcome, ended, warnings };
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await undefined;
};

/** What was done, without the steps that were told and without variables. */
const done = ({ calls }: FakeChannel): string[] =>
  calls.filter((call) => !/^\w+,[^ ]+,\d+ /.test(call) && !call.startsWith('set '));
/** The texts of NoOp steps, in order. */
const noted = ({ calls }: FakeChannel): string[] => calls.flatMap((call) => /NoOp\((.*)\)$/.exec(call)?.[1] ?? []);

test('a context is searched first, then its includes in order, each with its own includes', async () => {
  const contexts: ConfiguredContexts = {
    c: { include: ['d', 'e'], _1X: ['NoOp(c)'] },
    d: { include: ['f'], '_[12]X': ['NoOp(d ${CONTEXT})'], 30: ['NoOp(d30)'] },
    e: { 40: ['NoOp(e)'], 50: ['NoOp(e)'] },
    f: { 40: ['NoOp(f)'], '_i[n]clude': ['NoOp(f)'] },
  };
  const seen: string[] = [];
  for (const extension of ['11', '21', '30', '40', '50', 'include']) {
    const run = start(contexts, {}, extension);
    await run.outcome;
    seen.push(noted(run.channel).join());
  }
  assert.equal(seen, ['c', 'd c', 'd30', 'f', 'e', 'f']);
});

for (const [contexts, path, message] of [
  [{ c: { include: ['d'] } }, '/c/include/0', 'there is no context "d"'],
  [{ c: { include: 'd' }, d: { 1: ['NoOp'] } }, '/c/include', 'include must be a list of names of contexts'],
  [{ c: { include: ['c'] } }, '/c/include', 'the context includes itself'],
  [{ c: { include: ['d'] }, d: { include: ['c'] } }, '/c/include', 'the context includes itself through "d"'],
  [{ c: { 1: ['ExecIf(1?Nope())'] } }, '/c/1/0', 'ExecIf: unknown application "Nope"'],
  [{ c: { 1: ['ExecIf(${X}?Goto)'] } }, undefined, undefined],
  [{ c: { 1: ['ExecIf(1)'] } }, '/c/1/0', 'ExecIf: condition?App(arguments) is needed'],
  [{ c: { 1: ['ExecIf(1?${APP}())'] } }, '/c/1/0', 'ExecIf: "${APP}()" is not a step; expected Application(arguments)'],
  [{ c: { 1: ['Gosub(nowhere,s,1(x))'] } }, '/c/1/0', 'Gosub: there is no location nowhere,s,1'],
  [
    { c: { 1: ['GotoIfTime(25:00,*,*,*?1)'] } },
    '/c/1/0',
    'GotoIfTime: "25:00,*,*,*" is not times,weekdays,days,months',
  ],
] as const)
  test(`${JSON.stringify(contexts)}: ${message ?? 'well'}`, () => {
    const [problem] = validate(contexts);
    assert.equal(problem, path === undefined ? undefined : { path, message });
  });

test('Gosub comes back with its value, and its arguments and local variables are as they were', async () => {
  const { channel, outcome, warnings } = start(
    {
      c: {
        1: ['Set(ARG1=mine)', 'Gosub(sub,s,work(a,"b,c"))', 'NoOp(${ARG1}/${ARG2}/${ARGC}/${X}/${Y}/${GOSUB_RETVAL})'],
      },
      sub: {
        s: [
          'NoOp(never)',
          { label: 'work', app: 'Set(LOCAL(X)=${ARG2})' },
          'Set(Y=kept)',
          'NoOp(${ARG1}/${ARGC}/${X}/${LOCAL(X)})',
          'GosubIf($[${ARGC} = 2]?inner(z):never)',
          'Return(${ARG1}!)',
        ],
        inner: ['NoOp'],
        _s: ['NoOp'],
      },
    },
    {},
  );
  assert.equal(await outcome, { type: 'hangup', cause: 16 });
  assert.equal(noted(channel), ['a/2/b,c/b,c']);
  assert.equal(warnings(), ['there is no location inner']);
});

/** What somebody dialed, with everything in it that separates arguments. */
const hostile = '1,evil&evil?evil:evil(x)';

for (const [step, outcome] of [
  // A place is one argument, and what is in it stays in it: there is no such place, rather than another one.
  ['Gosub(sub,s,1(${X},two))', ['2 1,evil&evil?evil:evil(x) two']],
  ['Gosub(sub,s,1("${X}"))', ['1 1,evil&evil?evil:evil(x) ']],
  ['Gosub(${PLACE})', ['2 one two']],
  ['Gosub(sub,s,1(${LIST}))', ['1 a,b,c ']],
  ['Gosub(sub,s,${X}(a))', []],
  ['GosubIf($["${X}" = "1"]?sub,s,1(no):sub,s,1(${X}))', ['1 1,evil&evil?evil:evil(x) ']],
  ['GosubIf(${X}?sub,s,1(yes))', ['1 yes ']],
  ['GosubIf(${BRANCHES})', ['1 no ']],
  ['GotoIf(${X}?sub,t,1)', ['t']],
  ['GotoIf($[1 = 2]?${X}:sub,t,1)', ['t']],
  ['GotoIf(1?sub,${X},1)', []],
  ['GotoIf(${EITHER})', ['t']],
  ['GotoIf(1?${THERE}:${X})', ['t']],
  ['GotoIf(1?"sub,t,1")', ['t']],
  ['GotoIfTime(*,mon,*,*,UTC?sub,t,1:${X})', ['t']],
  ['GotoIfTime(*,${X},*,*?sub,t,1)', ['evil']],
  ['GotoIfTime(${MONDAYS}?sub,t,1)', ['t']],
  ['GotoIfTime(*,${DAYS},*,*,UTC?sub,t,1)', ['t']],
  ['GotoIfTime(*,sun&${DAY},*,*,UTC?sub,t,1)', ['t']],
  ['GotoIfTime(*,sun-${DAYS},*,*,UTC?sub,t,1)', ['evil']],
  ['GotoIfTime(*,${CALLERID(name)},*,*,UTC?sub,t,1)', ['evil']],
  ['ExecIf(1?Gosub(sub,s,1(${X})))', ['1 1,evil&evil?evil:evil(x) ']],
  ['ExecIf(1?GotoIf(${X}?sub,t,1))', ['t']],
  // Nor does what the network chose, even alone.
  ['Goto(${INVALID_EXTEN})', []],
  ['Gosub(${INVALID_EXTEN})', []],
  ['GotoIf(1?${INVALID_EXTEN})', []],
  ['GotoIfTime(*,*,*,*,UTC?${INVALID_EXTEN})', []],
  ['ExecIf(1?Goto(${INVALID_EXTEN}))', []],
] as const)
  test(`${step}: what a variable holds adds no argument`, async () => {
    const run = start(
      {
        c: { 1: [step, 'NoOp(evil)'], evil: ['NoOp(evil)'] },
        sub: { s: ['NoOp(${ARGC} ${ARG1} ${ARG2})', 'Hangup'], t: ['NoOp(t)', 'Hangup'], evil: ['NoOp(evil)'] },
      },
      {
        variables: new Map(
          Object.entries({
            ...{ X: hostile, PLACE: 'sub,s,1(one,two)', LIST: 'a,b,c', BRANCHES: '0?sub,s,1(yes):sub,s,1(no)' },
            ...{ EITHER: '1?sub,t,1:nowhere', THERE: 'sub,t,1', MONDAYS: '*,mon,*,*,UTC' },
            ...{ DAYS: 'sun&mon', DAY: 'mon', 'CALLERID(name)': 'sun&mon' },
            INVALID_EXTEN: 'sub,t,1',
          }),
        ),
      },
    );
    await run.outcome;
    assert.equal(noted(run.channel), outcome);
  });

for (const [step, played] of [
  ['Playback(hello/${X})', 'sound:hello/a&digits:1'],
  ['Playback(hello&${PREFIX}-bye)', 'sound:hello sound:recording:x-bye'],
  ['Playback(${LIST})', 'sound:one digits:2'],
  ['Playback(zero&${LIST})', 'sound:zero sound:one digits:2'],
  ['Playback(${INVALID_EXTEN})', 'sound:digits:1&tone:440'],
  ['Playback("zero&${X}")', 'sound:zero sound:a digits:1'],
  ['Playback(recording:${X})', 'recording:a&digits:1'],
  ['Background(hello/${X},n)', 'sound:hello/a&digits:1'],
  ['Read(N,hello/${X},1,n,1,1)', 'sound:hello/a&digits:1'],
] as const)
  test(`${step} plays ${played}`, async () => {
    const { channel, taken } = start(
      { c: { 1: [step] } },
      {
        variables: new Map(
          Object.entries({
            X: 'a&digits:1',
            PREFIX: 'recording:x',
            LIST: 'one&digits:2',
            INVALID_EXTEN: 'digits:1&tone:440',
          }),
        ),
      },
    );
    await settled();
    assert.equal(
      channel.calls.filter((call) => call.startsWith('play ')),
      [`play ${played}`],
    );
    taken.abort();
  });

test('subroutines in subroutines return one after another', async () => {
  const { channel, outcome, warnings } = start({
    c: { 1: ['Gosub(sub,s,1(a,b,c))', 'NoOp(${ARGC}${ARG1} ${GOSUB_RETVAL})', 'StackPop', 'Return'] },
    sub: {
      s: [
        'Gosub(deeper(x))',
        'NoOp(${ARG1}${ARG2}${ARG3} ${GOSUB_RETVAL})',
        'Return(outer)',
        { label: 'deeper', app: 'NoOp(${ARG1}${ARG2}${ARGC})' },
        'Return(inner)',
      ],
    },
  });
  assert.equal(await outcome, { type: 'hangup', cause: 16 });
  assert.equal(noted(channel), ['x1', 'abc inner', ' outer']);
  assert.equal(warnings(), ['there is no subroutine to forget', 'there is no subroutine to return from']);
  assert.equal(channel.subroutines, []);
});

test('subroutines that call themselves for ever end the call', async () => {
  const { channel, outcome, warnings } = start({ c: { 1: ['Gosub(1)'] } });
  assert.equal(await outcome, { type: 'hangup', cause: 16 });
  assert.is(channel.subroutines.length, 5);
  assert.equal(warnings(), ['more than 5 subroutines are inside one another']);
});

test('While goes round as long as its condition holds, loops in loops included', async () => {
  const { channel, outcome } = start({
    c: {
      1: [
        'Set(I=0)',
        'While($[${I} < 4])',
        'Set(I=$[${I} + 1])',
        'GotoIf($[${I} = 2]?skip)',
        'GotoIf($[${I} = 4]?out)',
        'Set(J=0)',
        'While($[${J} < 2])',
        'Set(J=$[${J} + 1])',
        'NoOp(${I}.${J})',
        'EndWhile',
        { label: 'skip', app: 'ContinueWhile' },
        { label: 'out', app: 'ExitWhile' },
        'EndWhile',
        'NoOp(behind)',
      ],
    },
  });
  assert.equal(await outcome, { type: 'ended' });
  assert.equal(noted(channel), ['1.1', '1.2', '3.1', '3.2', 'behind']);
});

test('a loop without its other end is told, and the next step follows', async () => {
  const { channel, outcome, warnings } = start({ c: { 1: ['While(0)', 'NoOp(here)', 'ExitWhile', 'NoOp(there)'] } });
  assert.equal(await outcome, { type: 'ended' });
  assert.equal(noted(channel), ['here', 'there']);
  assert.equal(warnings(), ['the other end of this loop is missing', 'the other end of this loop is missing']);
});

test('a loop that never ends and never waits ends the call', async () => {
  const { outcome, warnings } = start({ c: { 1: ['While(1)', 'EndWhile'] } });
  assert.equal(await outcome, { type: 'hangup', cause: 41 });
  assert.equal(warnings(), ['1000 steps in no time: the dialplan loops']);
});

test('ExecIf runs what is configured, whatever a caller calls himself', async () => {
  const { channel, outcome } = start(
    {
      c: {
        1: ['ExecIf($["${CALLERID(num)}" = "1001"]?Set(X=${CALLERID(name)}):Ringing)', 'ExecIf(0?Answer:Progress)'],
      },
    },
    { identity: { name: 'a):Answer(', number: '1001' } },
  );
  assert.equal(await outcome, { type: 'ended' });
  assert.is(channel.variables.get('X'), 'a):Answer(');
  assert.equal(done(channel), ['progress']);
});

test('ExecIf goes elsewhere, and ends a call', async () => {
  const { channel, outcome } = start({ c: { 1: ['ExecIf(1?Goto(2,1))'], 2: ['NoOp(two)', 'ExecIf(1?Hangup(17))'] } });
  assert.equal(await outcome, { type: 'hangup', cause: 17 });
  assert.equal(noted(channel), ['two']);
});

const menu: ConfiguredContexts = {
  c: {
    1: ['Answer', 'Background(menu)', 'WaitExten(4)'],
    2: ['NoOp(two)'],
    21: ['NoOp(twenty-one)'],
    '#': ['NoOp(hash)'],
    i: ['NoOp(invalid ${INVALID_EXTEN})'],
    t: ['NoOp(too late)'],
  },
};

test('a key during Background ends it; what is dialed then is gone to when nothing longer fits', async () => {
  const { channel, clock, outcome } = start(menu);
  await settled();
  channel.press('2');
  await settled();
  assert.equal(done(channel), ['answer', 'play sound:menu', 'stop play']);
  channel.press('1');
  assert.equal(await outcome, { type: 'ended' });
  assert.equal(noted(channel), ['twenty-one']);
  assert.is(clock.pending, 0);
  assert.is(channel.listeners, 0);
});

test('what may be longer is gone to when no key follows in time', async () => {
  const { channel, clock, outcome, ended } = start(menu);
  await settled();
  channel.press('2');
  await settled();
  clock.advance(4_999);
  await settled();
  assert.is(ended.outcome, undefined);
  clock.advance(1);
  await outcome;
  assert.equal(noted(channel), ['two']);
});

for (const { keys, told } of [
  { keys: '#', told: 'hash' },
  { keys: '9', told: 'invalid 9' },
  { keys: '21', told: 'twenty-one' },
  { keys: '', told: 'too late' },
])
  test(`WaitExten: ${keys || 'nothing'} is dialed`, async () => {
    const { channel, clock, outcome } = start(menu);
    await settled();
    channel.played('done');
    await settled();
    channel.press(keys);
    await settled();
    clock.advance(4_000);
    await outcome;
    assert.equal(noted(channel), [told]);
    assert.is(channel.listeners, 0);
  });

test('keys that are pressed ahead are read by the next steps that read keys', async () => {
  const { channel, outcome } = start({
    c: {
      1: ['Answer', 'Read(A,,2)', 'Set(X=1)', 'Read(B,ask,2)', 'WaitExten(4)'],
      7: ['NoOp(seven after ${A} and ${B})'],
    },
  });
  await settled();
  channel.press('12347');
  await outcome;
  assert.equal(noted(channel), ['seven after 12 and 34']);
  // The prompt of what was known already is not begun.
  assert.not(done(channel).some((call) => call.startsWith('play')));
  assert.equal([channel.journal.typedAhead, channel.listeners], [[], 0]);
});

test('what takes time in between passes over keys that were pressed ahead', async () => {
  const { channel, clock, outcome } = start({
    c: { 1: ['Answer', 'Read(A,,1)', 'Wait(1)', 'Read(B,,1,,1,1)', 'NoOp(${A} and ${B})'] },
  });
  await settled();
  channel.press('12');
  await settled();
  clock.advance(1_000);
  await settled();
  clock.advance(1_000);
  await outcome;
  assert.equal(noted(channel), ['1 and ']);
});

test('WaitExten goes on with the next step, where there is one, rather than to t', async () => {
  const { channel, clock, outcome } = start({
    c: { 1: ['Set(TIMEOUT(response)=0.5)', 'WaitExten(,m(jazz))', 'NoOp(next)'], t: ['NoOp(t)'] },
  });
  clock.advance(500);
  await outcome;
  assert.equal(noted(channel), ['next']);
  assert.equal(done(channel), ['music jazz', 'stop music']);
});

test('Background looks for extensions where it is told, and with m only for those of one key', async () => {
  const { channel, outcome } = start({
    c: { 1: ['Answer', 'Background(a&b,m,,d)', 'NoOp(next)'] },
    d: { 3: ['NoOp(three ${CONTEXT})'] },
  });
  await settled();
  channel.press('1');
  await settled();
  assert.equal(done(channel), ['answer', 'play sound:a sound:b']);
  channel.press('3');
  await outcome;
  assert.equal(noted(channel), ['three d']);
});

for (const { args, keys, status, digits, played = true } of [
  { args: 'X,pin,4', keys: '1234', status: 'OK', digits: '1234' },
  { args: 'X,pin,4', keys: '12#', status: 'OK', digits: '12' },
  { args: 'X,pin,4', keys: '#', status: 'OK', digits: '' },
  { args: 'X,pin,4', keys: '12', status: 'TIMEOUT', digits: '12' },
  { args: 'X,,4', keys: '', status: 'TIMEOUT', digits: '', played: false },
  { args: 'X,,,,2', keys: '', status: 'TIMEOUT', digits: '', played: false },
])
  test(`Read(${args}) when ${keys || 'nothing'} is pressed`, async () => {
    const { channel, clock, outcome } = start({ c: { 1: [`Read(${args})`, 'NoOp(next)'] } });
    await settled();
    assert.equal(done(channel), ['answer', ...(played ? ['play sound:pin'] : [])]);
    channel.press(keys);
    await settled();
    if (status !== 'OK')
      for (let n = 0; n < 3; n++) {
        clock.advance(10_000);
        await settled();
      }
    await outcome;
    assert.equal([channel.variables.get('X'), channel.variables.get('READSTATUS')], [digits, status]);
    assert.equal(noted(channel), ['next']);
    assert.is(clock.pending, 0);
    assert.is(channel.listeners, 0);
  });

for (const { args, status } of [
  { args: 'X,,,s', status: 'SKIPPED' },
  { args: '${NO}', status: undefined },
])
  test(`Read(${args}) on a channel that is not up`, async () => {
    const { channel, clock, outcome } = start({ c: { 1: [`Read(${args})`] } });
    await settled();
    clock.advance(20_000);
    await outcome;
    assert.is(channel.variables.get('READSTATUS'), status ?? 'ERROR');
  });

for (const step of ['Background(menu)', 'WaitExten', 'Read(X,menu)', 'SayDigits(12)'])
  test(`${step}: taking the channel away leaves nothing behind`, async () => {
    const { channel, clock, taken, outcome } = start({ c: { 1: [step, 'Ringing'] } }, { up: true });
    await settled();
    taken.abort();
    assert.equal(await outcome, { type: 'aborted' });
    assert.is(clock.pending, 0);
    assert.is(channel.listeners, 0);
    assert.is(done(channel).includes('ring'), false);
  });

for (const { step, plays, warning } of [
  { step: 'SayDigits(12*#)', plays: 'play digits:12*#' },
  { step: 'SayNumber(-42)', plays: 'play number:-42' },
  { step: 'SayAlpha(Ab 1)', plays: 'play characters:Ab 1' },
  { step: 'SayNumber(many)', warning: '"many" cannot be said: a number of up to nine digits is expected' },
  { step: 'SayDigits(${X}x)', warning: '"x" cannot be said: digits is expected' },
])
  test(step, async () => {
    const { channel, outcome, warnings } = start({ c: { 1: [step] } }, { up: true });
    await settled();
    channel.played('done');
    await outcome;
    assert.equal(done(channel), plays ? [plays, 'stop play'] : []);
    assert.equal(warnings(), warning ? [warning] : []);
  });

test('Verbose and Log write to the log, without the level', async () => {
  const { log, outcome, warnings } = start({
    c: { 1: ['Verbose(2,one, two)', 'Verbose(plain)', 'Log(WARNING,careful)', 'Log(NOTICE,so)'] },
  });
  await outcome;
  assert.equal(warnings(), ['careful']);
  assert.equal(log.informed, ['one, two', 'plain', 'so']);
});

/** Monday, 5 January 2026, 10:30 UTC. */
const monday = Date.UTC(2026, 0, 5, 10, 30);
for (const { text, is } of [
  { text: '9:00-17:00,mon-fri,*,*,UTC', is: true },
  { text: '10:30,*,*,*,UTC', is: true },
  { text: '10:31-11:00,*,*,*,UTC', is: false },
  { text: '22:00-11:00,*,*,*,UTC', is: true },
  { text: '*,sat-mon,*,*,UTC', is: true },
  { text: '*,tue&wed,*,*,UTC', is: false },
  { text: '*,*,5,jan,UTC', is: true },
  { text: '*,*,20-4,*,UTC', is: false },
  { text: '*,*,*,February-december,UTC', is: false },
  { text: '12:30,*,*,*,Europe/Athens', is: true },
  { text: '*,*,*,*,No/Where', is: undefined },
])
  test(`a Monday morning is${is ? '' : is === false ? ' not' : ' perhaps'} within ${text}`, () => {
    const times = readTimes(text.split(',').map((part) => part.split('&')));
    assert.is(typeof times === 'string' ? times : times(monday), is);
  });

for (const text of ['9-17', '9:60', '*,monday-noday', '*,*,32', '*,*,*,*,UTC,more'])
  test(`${text} are no times`, () => assert.type(readTimes(text.split(',').map((part) => part.split('&'))), 'string'));

test('GotoIfTime goes where the time says', async () => {
  const { channel, outcome } = start({
    c: {
      1: ['GotoIfTime(9:00-17:00,mon-fri,*,*,UTC?open,1:closed,1)'],
      open: ['NoOp(open)', 'GotoIfTime(*,sun,*,*,UTC?1,1)', 'NoOp(on)'],
      closed: ['NoOp(closed)'],
    },
  });
  await outcome;
  assert.equal(noted(channel), ['open', 'on']);
});

test.run();
