import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { overview, rateOf, takeOverview } from '../../page/core/overview.ts';
import type { LiveOverview } from '../../src/models/live.ts';

const shown = suite('figures of the page');

const message = (at: number, events: number): LiveOverview => ({
  type: 'overview',
  ...{ at, seq: events, calls: [], removed: [], stuck: [] },
  figures: { live_calls: 1, kept_calls: 1, evicted: 0, recorded: events, octets: 0, recording: true },
  applications: [
    { name: 'desk', connected: true, events, missed: 0 },
    { name: 'other', connected: true, events: 7, missed: 0 },
  ],
});

shown('events a second are those that were made, however few of them were sent to the page', () => {
  for (let second = 0; second <= 20; second++) takeOverview(message(second * 1_000, second * 5_000));
  const { history } = overview.get();
  assert.is(
    rateOf(history, ({ events }) => events),
    5_000,
  );
  assert.is(
    rateOf(history, ({ made }) => made.get('desk') ?? 0),
    5_000,
  );
  assert.is(
    rateOf(history, ({ made }) => made.get('other') ?? 0),
    0,
  );
});

shown.run();
