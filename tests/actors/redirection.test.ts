import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCallControl } from '../support/call-control.ts';

/** How a call came to be redirected, and whether its caller wants to be known, on its way to the next leg. */
const test = suite('redirected and shy callers');

const redirection = { from: { name: 'Bob', number: '202' }, reason: 'cfnr' } as const;
const shy = { name: 'Alice', number: '100', presentation: 0x20 };

test('who redirected a call that comes in is shown, and told to whom the dialplan dials', () => {
  const w = createCallControl({ contexts: { default: { s: ['Dial(Fake/bob,20)'] } } });
  w.incoming('a', 's', 'default', { redirection, caller: shy });
  assert.is(w.operations.get('a').caller_rdnis, '202');
  const [leg] = [...w.legs.values()];
  assert.equal(leg?.dialed, { caller: shy, redirection });
});

test('the dialplan sets it, and through a Local channel it reaches the far end', () => {
  const w = createCallControl({
    contexts: {
      default: {
        s: ['Set(CALLERID(rdnis)=777)', 'Set(REDIRECTING(reason)=cfb)', 'Dial(Local/far@default,20)'],
        far: ['Dial(Fake/bob,20)'],
      },
    },
  });
  w.incoming('a');
  const [leg] = [...w.legs.values()];
  assert.equal(leg?.dialed, {
    caller: { name: 'Alice', number: '100' },
    redirection: { from: { name: '', number: '777' }, reason: 'cfb' },
  });
});

test('variables of an originate say how it is dialed, and whether its caller is known', () => {
  const w = createCallControl();
  const { id } = w.operations.originate({
    endpoint: 'Fake/bob',
    extension: 's',
    callerId: 'Carol <300>',
    variables: { 'CALLERID(rdnis)': '777', 'CALLERID(pres)': 'prohib' },
  });
  w.clock.advance(0);
  assert.is(w.operations.get(id).caller_rdnis, '777');
  assert.equal(w.legs.get(id)?.dialed, {
    caller: { name: 'Carol', number: '300', presentation: 0x23 },
    redirection: { from: { name: '', number: '777' } },
  });
});

test('a channel that is dialed for a caller takes its redirection over', () => {
  const w = createCallControl();
  w.incoming('a', 's', 'default', { redirection, caller: shy });
  w.connect('app');
  const { id } = w.operations.create({ endpoint: 'Fake/bob', app: 'app' });
  w.clock.advance(0);
  w.operations.dial(id, { caller: 'a' });
  assert.equal(w.legs.get(id)?.dialed, { caller: shy, redirection, prefers: ['ulaw', 'alaw'] });
  assert.is(w.operations.get(id).caller_rdnis, '202');
});

test.run();
