import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type GroupMembershipEvent,
  type GroupMembershipState,
  groupMembershipMachine,
  groupMembershipTable,
} from '../../src/machines/group-membership.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const chart = suite('group membership chart');
const from =
  (state: GroupMembershipState) =>
  (...types: GroupMembershipEvent['type'][]) =>
    afterEvents(groupMembershipTable, state, ...types);
const [seeking, asking, there, here] = [from('seeking'), from('asking'), from('there'), from('here')];

chart('a WebSocket joins its group where the application is', () => {
  assert.equal(seeking('home.here'), ['here', 'joinHere']);
  assert.equal(seeking('home.elsewhere'), ['asking', 'askHome']);
  assert.equal(asking('home.joined'), ['there']);
  assert.equal(asking('home.refused'), ['gone', 'leaveHome', 'cutSocket']);
  assert.equal(here('home.refused'), ['gone', 'cutSocket']);
});

chart('a node that does not answer is asked again; one that is lost is replaced, and the client is told', () => {
  assert.equal(asking('home.lost'), ['seeking', 'seekLater']);
  assert.equal(there('home.lost'), ['seeking', 'tellLost', 'seekHome']);
  assert.equal(here('home.moved'), ['seeking', 'leaveHere', 'tellLost', 'seekHome']);
});

chart('a client that has missed events connects again', () => {
  for (const state of [asking, there]) assert.equal(state('events.missed'), ['gone', 'leaveHome', 'cutSocket']);
});

chart('the group hears that a WebSocket has closed', () => {
  assert.equal(seeking('socket.closed'), ['gone']);
  assert.equal(here('socket.closed'), ['gone', 'leaveHere']);
  for (const state of [asking, there]) {
    assert.equal(state('socket.closed'), ['gone', 'leaveHome']);
    assert.equal(state('application.replaced', 'home.lost', 'socket.closed'), ['gone', 'leaveHome']);
  }
});

chart('every state and every transition is reached', () => assertTableCovered(groupMembershipMachine, 'seeking'));

chart.run();
