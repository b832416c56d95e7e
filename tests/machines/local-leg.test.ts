import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LocalLegEvent, localLegMachine, localLegTable } from '../../src/machines/local-leg.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: LocalLegEvent['type'][]) => afterEvents(localLegTable, 'early', ...types);
const chart = suite('Local leg chart');

chart('the other half is told until the call is answered', () => {
  assert.equal(after('dial'), ['early', 'offerPeer']);
  assert.equal(after('ring'), ['early', 'tellRinging']);
  assert.equal(after('forwarding'), ['early', 'tellForwarding']);
  assert.equal(after('progress'), ['early', 'tellProgress']);
});

chart('both halves are answered together', () => {
  assert.equal(after('answer'), ['up', 'tellAnswered']);
  assert.equal(after('peer.answered'), ['up']);
  assert.equal(after('peer.answered', 'dial'), ['up', 'offerPeer']);
  assert.equal(after('answer', 'ring'), ['up', 'playRinging']);
  for (const type of ['answer', 'peer.answered', 'forwarding', 'progress'] as const)
    assert.equal(after('peer.answered', type), ['up']);
});

chart('an ended half tells its peer, then no more', () => {
  for (const before of [[], ['answer']] as const) {
    assert.equal(after(...before, 'hangup'), ['ended', 'tellEnded', 'hangUpPeer']);
    assert.equal(after(...before, 'release'), ['ended', 'losePeer']);
  }
  for (const type of ['dial', 'ring', 'answer', 'hangup', 'release'] as const)
    assert.equal(after('hangup', type), ['ended']);
});

chart('every state and every transition is reached', () => assertTableCovered(localLegMachine, 'early'));

chart.run();
