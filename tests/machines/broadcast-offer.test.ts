import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type BroadcastOfferEvent,
  broadcastOfferMachine,
  broadcastOfferTable,
  refuseBroadcastOfferOperation,
} from '../../src/machines/broadcast-offer.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: BroadcastOfferEvent['type'][]) => afterEvents(broadcastOfferTable, 'offered', ...types);
const chart = suite('broadcast offer chart');

chart('the first that claims has the call; the offer is known until its time is over', () => {
  assert.equal(after('claim'), ['claimed', 'tellLosers', 'settleClaimed']);
  assert.equal(after('claim', 'claim'), ['claimed']);
  assert.equal(after('claim', 'stop'), ['claimed']);
  assert.equal(after('claim', 'time.over'), ['over', 'forgetOffer']);
});

chart('without a claim the dialplan goes on when time is over, or earlier if it stops the offer', () => {
  for (const type of ['time.over', 'stop'] as const) {
    assert.equal(after(type), ['over', 'forgetOffer', 'settleUnclaimed']);
    assert.equal(after(type, 'claim'), ['over']);
  }
});

chart('a second claim is too late', () => {
  const refused = (value: 'offered' | 'claimed' | 'over') => refuseBroadcastOfferOperation({ value }, 'claim');
  assert.equal((['offered', 'claimed', 'over'] as const).map(refused), [undefined, 'claimTooLate', 'claimTooLate']);
});

chart('every state and every transition is reached', () => assertTableCovered(broadcastOfferMachine, 'offered'));

chart.run();
