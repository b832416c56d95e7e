import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type WebrtcLegEvent, webrtcLegMachine, webrtcLegTable } from '../../src/machines/webrtc-leg.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { assertCovered, coverChart } from '../support/charts.ts';
import { afterEvents } from '../support/table-runs.ts';

const after = (...types: WebrtcLegEvent['type'][]) => afterEvents(webrtcLegTable, 'undialed', ...types);
const chart = suite('WebRTC leg chart');

chart('a call to a browser is up when a page takes it, once', () => {
  assert.equal(after('dial'), ['calling', 'callBrowser']);
  assert.equal(after('dial', 'call.taken'), ['up', 'tellAnswered']);
  assert.equal(after('dial', 'call.taken', 'call.taken'), ['up']);
  assert.equal(after('dial', 'call.refused'), ['gone', 'endSession', 'tellHungUp']);
});

chart("a browser's call is up when it is answered", () => {
  assert.equal(after('offer.came', 'answer'), ['up', 'tellAnswered']);
  assert.equal(after('offer.came', 'call.taken'), ['offered']);
});

chart('its end is told once, and after the hang-up nothing', () => {
  assert.equal(after('offer.came', 'transport.lost'), ['gone', 'endSession', 'tellHungUp']);
  assert.equal(after('offer.came', 'transport.lost', 'transport.lost'), ['gone']);
  assert.equal(after('offer.came', 'transport.lost', 'hangup'), ['ended', 'tellEnded']);
  assert.equal(after('offer.came', 'answer', 'hangup'), ['ended', 'endSession', 'tellEnded']);
  assert.equal(after('offer.came', 'answer', 'release', 'transport.lost'), ['ended']);
});

chart('a hold is told once, until the browser takes us back; then it may hold again', () => {
  assert.equal(after('offer.came', 'answer', 'far.held'), ['held', 'tellHeld']);
  assert.equal(after('offer.came', 'answer', 'far.held', 'far.held'), ['held']);
  assert.equal(after('offer.came', 'answer', 'far.held', 'far.unheld'), ['up', 'tellUnheld']);
  assert.equal(after('offer.came', 'answer', 'far.held', 'far.unheld', 'far.held'), ['held', 'tellHeld']);
});

chart('a release after the end of the browser tells nothing', () => {
  assert.equal(after('offer.came', 'transport.lost', 'release'), ['ended']);
});

chart('every state and every transition is reached', () => {
  const { events } = chartSamples.find(({ machine }) => (machine as unknown) === webrtcLegMachine)!;
  const coverage = coverChart(webrtcLegMachine, { inputs: [undefined], events: events as never });
  assertCovered(webrtcLegMachine, coverage);
});

chart.run();
