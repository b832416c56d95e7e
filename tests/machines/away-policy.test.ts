import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AwayPolicyEvent, awayPolicyMachine, awayPolicyTable } from '../../src/machines/away-policy.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: AwayPolicyEvent['type'][]) => afterEvents(awayPolicyTable, 'idle', ...types);
const chart = suite('away policy chart');

chart('an application that is away for too long loses its channels', () => {
  assert.equal(after('application.lost'), ['away', 'startTimer']);
  assert.equal(after('application.lost', 'application.lost'), ['away']);
  assert.equal(after('application.lost', 'time.over'), ['over', 'releaseChannels']);
});

chart('one that comes back, or whose channels are kept, is not awaited', () => {
  assert.equal(after('application.lost', 'application.back'), ['over', 'stopTimer']);
  assert.equal(after('application.lost', 'application.kept'), ['over', 'stopTimer']);
  for (const type of ['application.back', 'application.kept', 'time.over'] as const)
    assert.equal(after(type), ['idle']);
});

chart('channels hear music until it is back or the second time is over', () => {
  assert.equal(after('application.lost', 'music.due'), ['entertained', 'startMusic', 'startTimer']);
  assert.equal(after('application.lost', 'music.due', 'application.back'), ['over', 'stopTimer', 'stopMusic']);
  assert.equal(after('application.lost', 'music.due', 'application.kept'), ['over', 'stopTimer', 'stopMusic']);
  assert.equal(after('application.lost', 'music.due', 'time.over'), ['over', 'stopMusic', 'releaseChannels']);
  assert.equal(after('application.lost', 'music.due', 'system.closing'), ['over', 'stopTimer']);
});

chart('no time runs when the system stops', () => {
  assert.equal(after('application.lost', 'system.closing'), ['over', 'stopTimer']);
  assert.equal(after('system.closing'), ['over']);
  assert.equal(after('system.closing', 'application.lost'), ['over']);
});

chart('every state and every transition is reached', () => assertTableCovered(awayPolicyMachine, 'idle'));

chart.run();
