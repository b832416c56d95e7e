import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ExternalLegEvent, externalLegMachine, externalLegTable } from '../../src/machines/external-leg.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: ExternalLegEvent['type'][]) => afterEvents(externalLegTable, 'idle', ...types);
const chart = suite('external leg chart');

chart('it is answered when it is dialed and connected, in either order, once', () => {
  assert.equal([after('dial'), after('connection.made')], [['dialed'], ['connected']]);
  assert.equal(after('dial', 'connection.made'), ['up', 'tellAnswered']);
  assert.equal(after('connection.made', 'dial'), ['up', 'tellAnswered']);
  for (const type of ['dial', 'connection.made'] as const) {
    assert.equal(after('connection.made', 'dial', type), ['up']);
    assert.equal(after(type, type).length, 1);
  }
});

chart('a lost connection is told, the hang-up ends it, and after that nothing is told', () => {
  const ways = [[], ['dial'], ['connection.made'], ['dial', 'connection.made']] as const;
  for (const way of ways) {
    const [state] = after(...way);
    assert.equal(after(...way, 'connection.lost'), [state, 'tellHungUp']);
    assert.equal(after(...way, 'hangup'), ['ended', 'tellEnded']);
    assert.equal(after(...way, 'release'), ['ended']);
    assert.equal(after(...way, 'release', 'connection.lost'), ['ended']);
  }
});

chart('every state and every transition is reached', () => assertTableCovered(externalLegMachine, 'idle'));

chart.run();
