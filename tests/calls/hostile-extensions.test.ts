import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AriError } from '../../src/models/errors.ts';
import { createCallControl, settled } from '../support/call-control.ts';

const test = suite('what an application passes on from a caller opens no other technology or context');

/** An application of callers. `toll` may not be called from outside; the line is what callers are to reach. */
async function world() {
  const control = createCallControl({
    contexts: {
      default: { desk: ['Stasis(desk)'] },
      outside: {
        '_0X.': ['Dial(Fake/${EXTEN}@line)'],
        list: ['Dial(Fake/${X}@line&Fake/second,5)'],
        option: ['Dial(Fake/line,5,F(outside^${X}^1)m(${X}))'],
        jump: ['Goto(outside,${X},1)'],
        sub: ['Gosub(outside,sub-${X},1)'],
        app: ['Stasis(desk,${X})'],
        when: ['GotoIf($["${X}"="1"]?internal,900,1)'],
        either: ['Dial(Fake/${IF($["${X}"="1"]?toll:line)})'],
      },
      internal: { '900': ['Dial(Fake/toll)'] },
    },
  });
  const { events } = control.connect('desk');
  control.connect('other');
  let calls = 0;
  /** One more caller reaches the application. */
  const called = async (): Promise<string> => {
    const id = `caller${++calls}`;
    control.incoming(id, 'desk');
    await settled();
    return id;
  };
  /** Everybody who is left goes. */
  const over = async (): Promise<void> => {
    for (const { id } of [...control.operations.list()])
      if (control.channels.findByIdOrName(id)) control.operations.hangup(id, {});
    await settled();
  };
  const names = () => [...control.operations.list()].map(({ name }) => name.replace(/-[0-9a-f]{8}(;\d)?$/, ''));
  const started = () => events.flatMap((event) => (event.type === 'StasisStart' ? [event.args] : []));
  return { ...control, called, over, names, started };
}

const hostile = [
  '0123&Local/900@internal',
  '0123&Fake/toll',
  '0123@internal',
  '900@internal',
  'internal,900',
  '0123,5,F(internal^900^1)',
  '0123^900',
  '0123:900',
  '0123(900)',
  '0123\r\n900',
  '900',
  '${EVAL(0123)}',
  '_0X.',
];

test('continue in the dialplan at an extension that no pattern means', async () => {
  const w = await world();
  for (const extension of hostile) {
    w.operations.continueInDialplan(await w.called(), { context: 'outside', extension });
    await settled();
    assert.equal(w.names(), [], extension);
  }
});

test('continue in the dialplan at an extension that a pattern means', async () => {
  const w = await world();
  // Octets that are escaped are those of the number.
  for (const extension of ['0123', '0123%26Local%2F900%40internal']) {
    w.operations.continueInDialplan(await w.called(), { context: 'outside', extension });
    await settled();
    assert.equal(w.names(), ['Fake/phone', `Fake/${extension}@line`]);
    await w.over();
  }
});

test('continue in the dialplan in a context that names an extension, too', async () => {
  const w = await world();
  for (const request of [
    { context: 'internal,900', extension: '1' },
    { context: 'internal,900,1' },
    { context: 'outside&internal', extension: '900' },
    { context: 'outside', extension: 'list', label: '1)&Local/900@internal' },
  ]) {
    try {
      w.operations.continueInDialplan(await w.called(), request);
    } catch (error) {
      assert.instance(error, AriError);
      await w.over();
    }
    await settled();
    assert.equal(w.names(), [], JSON.stringify(request));
  }
});

for (const [extension, expected] of [
  ['list', (x) => ['Fake/phone', `Fake/${x}@line`, 'Fake/second']],
  ['option', () => ['Fake/phone', 'Fake/line']],
  ['either', () => ['Fake/phone', 'Fake/line']],
  ['jump', () => []],
  ['sub', () => []],
  ['when', () => []],
  ['app', () => ['Fake/phone']],
] as const satisfies readonly (readonly [string, (x: string) => string[]])[])
  test(`continue in the dialplan with such a channel variable, at ${extension}`, async () => {
    const w = await world();
    for (const value of [
      '1&Local/900@internal',
      '1^900',
      '1)F(internal^900^1',
      '1,5,F(internal^900^1)',
      '"1"|1?',
      '1" | "1',
    ]) {
      const id = await w.called();
      w.operations.setVariable(id, { variable: 'X', value });
      w.operations.continueInDialplan(id, { context: 'outside', extension });
      await settled();
      assert.equal(w.names(), expected(value), value);
      if (extension === 'app') assert.equal(w.started().at(-1), [value]);
      await w.over();
    }
  });

test('redirect names one target of the same technology', async () => {
  const w = await world();
  const caller = w.incoming('b', 'desk');
  await settled();
  for (const endpoint of ['Local/900@internal', 'Local/900@internal&Fake/bob', ' Fake/bob', 'Fake', '/bob', 'Fake/'])
    assert.throws(
      () => w.operations.redirect('b', { endpoint }),
      (error: unknown) => error instanceof AriError,
      endpoint,
    );
  assert.equal(caller.calls, []);
  const target = 'bob&Local/900@internal,5,F(internal^900^1)';
  w.operations.redirect('b', { endpoint: `Fake/${target}` });
  await settled();
  assert.equal(caller.calls, [`redirect ${target}`]);
  assert.equal(w.names(), ['Fake/phone']);
});

test('move names one application; arguments are text', async () => {
  const w = await world();
  const { events } = w.connect(['other', 'internal']);
  const id = await w.called();
  w.operations.move(id, { app: 'other', appArgs: 'a&Local/900@internal,${EXTEN},$[1+1],Goto(internal^900^1)' });
  await settled();
  assert.equal(
    events.flatMap((event) => (event.type === 'StasisStart' ? [event.args] : [])),
    [['a&Local/900@internal', '${EXTEN}', '$[1+1]', 'Goto(internal^900^1)']],
  );
  assert.equal(w.names(), ['Fake/phone']);
  w.operations.move(id, { app: 'desk,internal' });
  await settled();
  const failed = events.flatMap((event) => (event.type === 'ApplicationMoveFailed' ? [event.destination] : []));
  assert.equal([w.started(), failed], [[[]], ['desk,internal']]);
});

test.run();
