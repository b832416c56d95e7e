import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { type ApplicationEvent, applicationMachine, isActiveApplication } from '../../src/machines/application.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

const connect = (connection: string, subscribeAll = false): ApplicationEvent => ({
  type: 'connect',
  connection,
  subscribeAll,
});
const disconnect = (connection: string): ApplicationEvent => ({ type: 'disconnect', connection });
const ended: ApplicationEvent = { type: 'subscriptions.ended' };

/** Takes an application through events; gives where it ended and what the last one asked for or told. */
function after(...events: ApplicationEvent[]) {
  let [snapshot, actions] = initialTransition(applicationMachine, { name: 'hello' });
  for (const event of events) [snapshot, actions] = transition(applicationMachine, snapshot, event);
  const asked = (actions as unknown as { type: string; params?: { event?: unknown } }[]).map(({ type, params }) =>
    type === 'xstate.emit' ? params?.event : [type, params].filter(Boolean),
  );
  return { value: snapshot.value, connection: snapshot.context.connection, asked, snapshot };
}

const chart = suite('application chart');

chart('is active while its connection is there', () => {
  assert.is(after().value, 'inactive');
  const active = after(connect('1', true));
  assert.is(active.value, 'active');
  assert.equal(active.asked, [['attachConnection', { connection: '1', subscribeAll: true }]]);
  assert.ok(isActiveApplication(active.snapshot));
  const inactive = after(connect('1'), disconnect('1'));
  assert.equal([inactive.value, inactive.connection], ['inactive', '']);
  assert.equal(inactive.asked, [['detachConnection'], ['reviewSubscriptions']]);
  assert.not(isActiveApplication(inactive.snapshot));
  assert.is(after(connect('1'), disconnect('1'), connect('2')).value, 'active');
});

chart('another connection takes it over, and the old one hears of it', () => {
  const replaced = after(connect('1'), connect('2'));
  assert.equal([replaced.value, replaced.connection], ['active', '2']);
  assert.equal(replaced.asked, [
    { type: 'ApplicationReplaced', connection: '1' },
    ['attachConnection', { connection: '2', subscribeAll: false }],
  ]);
});

chart('the closing of a connection that lost it is no matter of the application', () => {
  const closed = after(connect('1'), connect('2'), disconnect('1'));
  assert.equal([closed.value, closed.connection, closed.asked], ['active', '2', []]);
  assert.is(after(connect('1'), disconnect('1'), disconnect('1')).value, 'inactive');
});

chart('it is gone once it is inactive and nothing holds it', () => {
  assert.is(after(connect('1'), ended).value, 'active');
  assert.is(after(connect('1'), disconnect('1'), ended).value, 'gone');
});

chart('every state is reached and every transition taken', () => {
  const coverage = coverChart(applicationMachine, {
    inputs: [{ name: 'hello' }],
    events: [connect('1'), connect('2'), disconnect('1'), ended],
    key: ({ context }) => context.connection,
  });
  assertCovered(applicationMachine, coverage);
});

chart.run();
