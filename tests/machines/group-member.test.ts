import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type GroupMemberEvent,
  type GroupMemberState,
  groupMemberMachine,
  groupMemberTable,
} from '../../src/machines/group-member.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const chart = suite('group member chart');
const from =
  (state: GroupMemberState) =>
  (...types: GroupMemberEvent['type'][]) =>
    afterEvents(groupMemberTable, state, ...types);
const [active, away] = [from('active'), from('away')];

chart('a member that leaves gives its calls to others; its next connection gets them again', () => {
  assert.equal(active('member.left'), ['gone', 'moveCalls']);
  assert.equal(active('member.joined'), ['active', 'replayCalls']);
  assert.equal(active('member.left', 'member.joined'), ['gone']);
});

chart('a member that drains is told when its last call is over, until it joins again', () => {
  assert.equal(active('drain.requested', 'calls.over'), ['draining', 'tellDrained']);
  assert.equal(active('drain.requested', 'drain.requested'), ['draining']);
  assert.equal(active('drain.requested', 'member.joined'), ['active', 'replayCalls']);
  assert.equal(active('drain.requested', 'member.left'), ['gone', 'moveCalls']);
  assert.equal(active('calls.over'), ['active']);
});

chart('a member is awaited after a restart and keeps its calls', () => {
  assert.equal(away('member.joined'), ['active', 'replayCalls']);
  assert.equal(away('time.over'), ['gone', 'moveCalls']);
  assert.equal(away('drain.requested', 'member.joined'), ['draining', 'replayCalls']);
  assert.equal(away('drain.requested', 'time.over'), ['gone', 'moveCalls']);
  for (const type of ['member.left', 'member.lost', 'calls.over'] as const) assert.equal(away(type), ['away']);
  assert.equal(active('time.over'), ['active']);
});

chart('the last connected member is awaited as the others are', () => {
  assert.equal(active('member.lost'), ['away']);
  assert.equal(active('drain.requested', 'member.lost'), ['drainingAway']);
});

chart('every state and every transition is reached', () => assertTableCovered(groupMemberMachine, 'active'));

chart.run();
