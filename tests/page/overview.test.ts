import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { failures, overview, rateOf, stuckCalls, takeOverview } from '../../page/core/overview.ts';
import type { Call, WaitingFor } from '../../src/models/call.ts';
import type { LiveOverview } from '../../src/models/live.ts';
import type { RefusedCall } from '../../src/models/refused-call.ts';

const shown = suite('figures of the page');

const message = (at: number, events: number): LiveOverview => ({
  type: 'overview',
  ...{ at, seq: events, calls: [], removed: [], stuck: [] },
  figures: {
    live_calls: 1,
    begun_calls: events,
    kept_calls: 1,
    evicted: 0,
    recorded: events,
    octets: 0,
    recording: true,
  },
  applications: [
    { name: 'desk', connected: true, state: 'active', events, missed: 0 },
    { name: 'other', connected: true, state: 'active', events: 7, missed: 0 },
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

shown('new calls a second are those of the server, however few of them were sent to the page', () => {
  for (let second = 100; second <= 120; second++) takeOverview(message(second * 1_000, second * 500));
  assert.is(
    rateOf(overview.get().history, ({ begun }) => begun),
    500,
  );
});

shown('failed calls are listed with their reason, newest first, calls without an application included', () => {
  const ended = (id: string, at: number, result: string, reason: string) =>
    ({ id, state: 'ended', ended: at, channels: [], outcome: { result, reason } }) as unknown as Call;
  const failure = 'the application desk is not connected';
  const calls = [
    ended('away', 1, 'failed', failure),
    ended('busy', 2, 'refused', 'User busy (cause 17)'),
    ended('well', 3, 'answered', 'answered'),
    ended('given up', 4, 'abandoned', 'the caller hung up before an answer'),
    { id: 'live', state: 'live', channels: [], outcome: { result: 'pending', reason: '' } } as unknown as Call,
  ];
  const refused: RefusedCall = {
    ...{ first: 1, last: 9, count: 3, technology: 'PJSIP', endpoint: 'alice', from: '100', to: '200' },
    ...{ context: 'default', source: '10.0.0.2:5060', protocol_id: 'x', status: 488, cause: 58 },
    reason: 'its audio has no address',
  };
  assert.equal(
    failures(calls, [refused]).map((each) => ['call' in each ? each.call.id : each.refused.endpoint, each.reason]),
    [
      ['alice', 'refused with 488: its audio has no address (3 calls)'],
      ['busy', 'User busy (cause 17)'],
      ['away', failure],
    ],
  );
});

shown('what is stuck counts as a call once, and not at all where it belongs to none', () => {
  const waits = (object: string, call?: string) =>
    ({ kind: 'object', object, since: 0, expected_ms: 0, waits_for: 'x', ...(call && { call }) }) as WaitingFor;
  assert.is(stuckCalls([waits('a', '1'), waits('b', '1'), waits('c', '2'), waits('cdr.webhook')]), 2);
  assert.is(stuckCalls([waits('cdr.webhook')]), 0);
});

shown('a call is stuck as soon as the overview says so, and no longer, though nothing else is told of it', () => {
  const call = { id: 'c1', began: 0, state: 'live', stuck: [] as WaitingFor[] } as unknown as Call;
  const waits: WaitingFor = { kind: 'object', object: 'ch1', since: 0, expected_ms: 0, waits_for: 'x', call: 'c1' };
  const stuckAt = (second: number, calls: Call[], stuck: WaitingFor[]) => {
    takeOverview({ ...message(second * 1_000, 0), calls, stuck });
    return overview.get().calls.get('c1')?.stuck;
  };
  assert.equal(stuckAt(60, [call], []), []);
  assert.equal(stuckAt(61, [], [waits]), [waits]);
  assert.equal(stuckAt(62, [], [waits]), [waits]);
  assert.equal(stuckAt(63, [], []), []);
});

shown.run();
