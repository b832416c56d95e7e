import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type PictureUpdatesEvent,
  pictureUpdatesMachine,
  pictureUpdatesTable,
} from '../../src/machines/picture-updates.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: PictureUpdatesEvent['type'][]) => afterEvents(pictureUpdatesTable, 'ready', ...types);
const chart = suite('picture updates chart');

chart('one request is under way at a time', () => {
  assert.equal(after('picture.wanted'), ['ready', 'sendInfo']);
  assert.equal(after('picture.wanted', 'info.sent'), ['asking']);
  assert.equal(after('info.sent', 'picture.wanted'), ['asking']);
  assert.equal(after('info.sent', 'info.ended'), ['ready']);
  assert.equal(after('info.ended'), ['ready']);
});

chart('a far side that does not understand it is asked no more', () => {
  assert.equal(after('info.sent', 'info.refused'), ['refused']);
  assert.equal(after('info.refused'), ['refused']);
  assert.equal(after('info.refused', 'picture.wanted'), ['refused']);
});

chart('no more requests are sent after the call', () => {
  assert.equal(after('call.over'), ['over']);
  assert.equal(after('info.sent', 'call.over'), ['over']);
  assert.equal(after('call.over', 'picture.wanted'), ['over']);
});

chart('every state and every transition is reached', () => assertTableCovered(pictureUpdatesMachine, 'ready'));

chart.run();
