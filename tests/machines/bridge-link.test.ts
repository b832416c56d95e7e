import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type BridgeLinkEvent, bridgeLinkMachine, bridgeLinkTable } from '../../src/machines/bridge-link.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: BridgeLinkEvent['type'][]) => afterEvents(bridgeLinkTable, 'opening', ...types);
const chart = suite('bridge link chart');

chart('audio is joined once both nodes know where it goes', () => {
  assert.equal(after('opened'), ['open', 'joinAudio']);
  assert.equal(after('opened', 'opened'), ['open']);
});

chart('a link that is refused ends at both nodes: the other one may have opened it and not been heard', () => {
  assert.equal(after('refused'), ['closed', 'tellEnd', 'closeAudio']);
  assert.equal(after('opened', 'refused'), ['open']);
});

chart('members are lost when nothing comes for long', () => {
  assert.equal(after('opened', 'missed'), ['silent', 'awaitSign']);
  assert.equal(after('opened', 'missed', 'missed'), ['silent']);
  assert.equal(after('opened', 'missed', 'heard'), ['open', 'stopWaiting']);
  assert.equal(after('opened', 'missed', 'overdue'), ['closed', 'closeAudio', 'loseMembers']);
  assert.equal(after('opened', 'overdue'), ['open']);
});

chart('a link that the other node does not know is lost at once', () => {
  assert.equal(after('opened', 'lost'), ['closed', 'stopWaiting', 'closeAudio', 'loseMembers']);
  assert.equal(after('opened', 'missed', 'lost'), ['closed', 'stopWaiting', 'closeAudio', 'loseMembers']);
  assert.equal(after('lost'), ['opening']);
});

chart('a node whose audio fails tells the other one', () => {
  assert.equal(after('failed'), ['closed', 'tellEnd', 'closeAudio']);
  assert.equal(after('opened', 'failed'), ['closed', 'stopWaiting', 'tellEnd', 'closeAudio', 'releaseMembers']);
});

chart('each node may end it, and what comes late changes nothing', () => {
  assert.equal(after('opened', 'ended'), ['closed', 'stopWaiting', 'closeAudio', 'releaseMembers']);
  assert.equal(after('opened', 'close'), ['closed', 'stopWaiting', 'tellEnd', 'closeAudio']);
  assert.equal(after('close'), ['closed', 'tellEnd', 'closeAudio']);
  assert.equal(after('ended'), ['closed', 'closeAudio']);
  for (const late of ['opened', 'refused', 'heard', 'missed', 'overdue', 'lost', 'failed', 'ended', 'close'] as const)
    assert.equal(after('opened', 'close', late), ['closed']);
});

chart('every state and every transition is reached', () => assertTableCovered(bridgeLinkMachine, 'opening'));

chart.run();
