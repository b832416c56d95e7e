import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callOutcome, type LegFacts, legOutcome } from '../../src/actors/call-outcome.ts';

const outcome = suite('the outcome of a call');

const leg = (facts: Partial<LegFacts>): LegFacts => ({
  ...{ direction: 'in', answered: false, ended: true, cause: 16, ...facts },
});
const rows: readonly (readonly [string, Partial<LegFacts>, string])[] = [
  ['ringing', { ended: false, cause: 0 }, 'pending  -'],
  ['talking', { ended: false, answered: true, cause: 0 }, 'answered answered -'],
  ['talked', { answered: true, by: 'farSide' }, 'answered answered caller'],
  ['talked, hung up by an application', { answered: true, by: 'application' }, 'answered answered application'],
  [
    'ended by a timer',
    { answered: true, cause: 102, by: 'timeout' },
    'failed dropped: Recover on timer expiry (cause 102) timeout',
  ],
  [
    'no ACK',
    { answered: true, cause: 18, sipStatus: 408, by: 'farSide' },
    'failed dropped: No user responding (cause 18, SIP 408) timeout',
  ],
  ['crash', { answered: true, cause: 41, by: 'fault' }, 'failed dropped: Temporary failure (cause 41) fault'],
  ['gave up', { by: 'farSide' }, 'abandoned the caller hung up before an answer caller'],
  [
    'busy',
    { direction: 'out', cause: 17, sipStatus: 486, by: 'farSide' },
    'refused User busy (cause 17, SIP 486) callee',
  ],
  [
    'redirected',
    { direction: 'out', cause: 19, sipStatus: 301, by: 'farSide' },
    'refused redirected, and the redirection was not followed (SIP 301) callee',
  ],
  ['no answer', { direction: 'out', cause: 19, by: 'timeout' }, 'failed User alerting, no answer (cause 19) timeout'],
  ['unreachable', { direction: 'out', cause: 20, by: 'server' }, 'failed Subscriber absent (cause 20) server'],
  [
    'server error',
    { direction: 'out', cause: 41, sipStatus: 503, by: 'farSide' },
    'failed Temporary failure (cause 41, SIP 503) callee',
  ],
  ['answered elsewhere', { direction: 'out', cause: 26, by: 'server' }, 'abandoned answered elsewhere server'],
  ['given up', { direction: 'out', by: 'application' }, 'abandoned given up before an answer application'],
  ['turned down without a cause', { by: 'dialplan' }, 'refused hung up without an answer dialplan'],
  ['internal error', { by: 'fault', cause: 41 }, 'failed internal error fault'],
  ['ended without a cause', { direction: 'out', by: 'farSide', cause: 0 }, 'failed no cause given callee'],
  [
    'application away',
    { by: 'dialplan', failure: 'the application desk is not connected' },
    'failed the application desk is not connected application',
  ],
];
for (const [title, facts, wanted] of rows)
  outcome(`a leg: ${title}`, () => {
    const { result, reason, by = '-' } = legOutcome(leg(facts));
    assert.is(`${result} ${reason} ${by}`, wanted);
  });

outcome('a live call that somebody answered is answered, whatever became of its other legs', () => {
  const legs = [leg({ answered: true, ended: false, cause: 0 }), leg({ direction: 'out', cause: 20, by: 'server' })];
  assert.equal(callOutcome(legs), { result: 'answered', reason: 'answered' });
});

outcome('a caller who was turned down because the called phone was busy learns that', () => {
  const legs = [
    leg({ cause: 16, by: 'dialplan' }),
    leg({ direction: 'out', cause: 17, sipStatus: 486, by: 'farSide' }),
  ];
  assert.equal(callOutcome(legs), { result: 'refused', reason: 'User busy (cause 17, SIP 486)', by: 'callee' });
});

outcome('a call that was answered stays answered when a later leg fails', () => {
  const legs = [leg({ answered: true, by: 'farSide' }), leg({ direction: 'out', cause: 20, by: 'server' })];
  assert.equal(callOutcome(legs), { result: 'answered', reason: 'answered', by: 'caller' });
});

outcome('a caller who gave up has abandoned the call, although the phone was cancelled', () => {
  assert.is(
    callOutcome([leg({ by: 'farSide' }), leg({ direction: 'out', cause: 0, by: 'server' })]).result,
    'abandoned',
  );
});

outcome('a call without legs is pending', () => {
  assert.equal(callOutcome([]), { result: 'pending', reason: '' });
});

outcome.run();
