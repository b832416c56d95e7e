import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { isTelling, type WatcherEvent, watcherMachine } from '../../src/machines/watcher.ts';
import type { WatcherDetails } from '../../src/telephony/watchers.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const lamp: WatcherDetails = {
  id: 'call;ours;theirs',
  technology: 'PJSIP',
  endpoint: 'alice',
  topics: ['device:pjsip/bob'],
  expiresMs: 300_000,
  intervalMs: 1_000,
};

const answered = (attempt: number): WatcherEvent => ({ type: 'notify.answered', attempt });
const lost = (attempt: number): WatcherEvent => ({ type: 'notify.lost', attempt, reason: '481 Gone' });
const changed: WatcherEvent = { type: 'subject.changed' };
const over: WatcherEvent = { type: 'interval.over' };

type Action = {
  type: string;
  params?: { attempt?: number; end?: string; id?: string; delay?: number; event?: { type: string } };
};

/** Takes a watcher through events; gives where it ended, and what the last of them asked for. */
function after(events: readonly WatcherEvent[], watcher = lamp) {
  let [snapshot, actions] = initialTransition(watcherMachine, { watcher });
  for (const event of events) [snapshot, actions] = transition(watcherMachine, snapshot, event);
  const asked = (actions as unknown as Action[]).flatMap(({ type, params }) => {
    if (type === 'notifyWatcher') return [`tell ${params?.attempt}`];
    if (type === 'dismissWatcher') return [`dismiss ${params?.attempt} ${params?.end}`];
    return type === 'xstate.raise' && !String(params?.id).startsWith('xstate')
      ? [`${params?.id} ${params?.delay}`]
      : [];
  });
  return { value: snapshot.value, asked, snapshot };
}
const in_ = ({ value, asked }: ReturnType<typeof after>) => [value, asked];

const chart = suite('watcher chart');

chart('who subscribes is told at once, then rests, then knows', () => {
  assert.equal(in_(after([])), ['telling', ['expiry 300000', 'tell 1']]);
  // No timer runs longer than 2³¹ − 1 ms.
  assert.is(after([], { ...lamp, expiresMs: 10 ** 12 }).asked[0], `expiry ${0x7fff_ffff}`);
  assert.equal(in_(after([answered(1)])), ['resting', ['interval 1000']]);
  assert.equal(in_(after([answered(1), over])), ['current', []]);
  assert.ok(isTelling(after([]).snapshot));
  assert.not.ok(isTelling(after([answered(1)]).snapshot));
});

chart('a change is told at once to who knows, and later to who was told just now; several are told as one', () => {
  assert.equal(in_(after([answered(1), over, changed])), ['telling', ['tell 2']]);
  assert.equal(in_(after([answered(1), changed])), ['due', []]);
  assert.equal(in_(after([answered(1), changed, changed, over])), ['telling', ['tell 2']]);
});

chart('what changes while it is being told is told when it may be told again', () => {
  assert.equal(in_(after([changed])), ['behind', []]);
  assert.equal(in_(after([changed, changed, answered(1)])), ['due', ['interval 1000']]);
  assert.equal(in_(after([changed, answered(1), over])), ['telling', ['tell 2']]);
});

chart('where nothing had to be sent there is no rest', () => {
  assert.equal(in_(after([{ type: 'notify.unneeded', attempt: 1 }])), ['current', []]);
  assert.equal(in_(after([changed, { type: 'notify.unneeded', attempt: 1 }])), ['telling', ['tell 2']]);
});

chart('a phone that says when to come back is told then', () => {
  const deferred: WatcherEvent = { type: 'notify.deferred', attempt: 1, waitMs: 30_000 };
  assert.equal(in_(after([deferred])), ['due', ['interval 30000']]);
  assert.equal(in_(after([deferred, over])), ['telling', ['tell 2']]);
  assert.equal(in_(after([changed, deferred])), ['due', ['interval 30000']]);
});

chart('a phone that does not answer, or knows of no subscription, has none any more', () => {
  const { value, snapshot } = after([lost(1)]);
  assert.equal([value, snapshot.status, snapshot.context.reason], ['lost', 'done', '481 Gone']);
  assert.is(after([changed, lost(1)]).value, 'lost');
  const silent = after([{ type: 'xstate.after.notifyTimeout.watcher.telling' } as unknown as WatcherEvent]);
  assert.equal([silent.value, silent.snapshot.context.reason], ['lost', 'no answer']);
});

chart('answers to what was told before change nothing', () => {
  const renewed: WatcherEvent = { type: 'watcher.renewed', watcher: lamp };
  assert.equal(in_(after([renewed, answered(1)])), ['telling', []]);
  assert.equal(in_(after([renewed, lost(1), answered(2)])), ['resting', ['interval 1000']]);
});

chart('who renews is told at once, and keeps the subscription as long as it says now', () => {
  const renewed: WatcherEvent = { type: 'watcher.renewed', watcher: { ...lamp, expiresMs: 600_000 } };
  for (const before of [[], [changed], [answered(1)], [answered(1), changed], [answered(1), over]])
    assert.equal(in_(after([...before, renewed])), ['telling', ['expiry 600000', 'tell 2']]);
});

chart('whoever unsubscribes, expires, or watches what is gone is told a last time, and why', () => {
  const ends: [WatcherEvent, string][] = [
    [{ type: 'watcher.withdrawn' }, 'timeout'],
    [{ type: 'watcher.expired' }, 'timeout'],
    [{ type: 'subject.gone', end: 'noresource' }, 'noresource'],
    [{ type: 'system.closing' }, 'probation'],
  ];
  for (const before of [[], [changed], [answered(1)], [answered(1), changed], [answered(1), over]])
    for (const [event, end] of ends) assert.equal(in_(after([...before, event])), ['dismissing', [`dismiss 2 ${end}`]]);
  assert.is(after([{ type: 'system.closing' }, changed, answered(1)]).value, 'dismissing');
  for (const last of [answered(2), lost(2), { type: 'notify.unneeded', attempt: 2 } as const])
    assert.is(after([{ type: 'system.closing' }, last]).value, 'closed');
  assert.is(
    after([
      { type: 'system.closing' },
      { type: 'xstate.after.dismissTimeout.watcher.dismissing' } as unknown as WatcherEvent,
    ]).value,
    'closed',
  );
});

chart('who asks once is told once', () => {
  assert.equal(in_(after([], { ...lamp, expiresMs: 0 })), ['dismissing', ['dismiss 1 timeout']]);
});

chart('what it watches may become something else', () => {
  const moved: WatcherEvent = { type: 'subject.moved', topics: ['device:stasis:x'] };
  const { value, snapshot } = after([answered(1), over, moved]);
  assert.equal([value, snapshot.context.watcher.topics], ['telling', ['device:stasis:x']]);
  for (const [before, then] of [
    [[], 'behind'],
    [[changed], 'behind'],
    [[answered(1)], 'due'],
    [[answered(1), changed], 'due'],
  ] as const)
    assert.is(after([...before, moved]).value, then);
});

chart('each wait for an answer has its time, then the subscription is over', () => {
  for (const way of [[], [changed]]) {
    const state = way.length === 0 ? 'telling' : 'behind';
    assert.equal(delaysIn(watcherMachine, after(way).snapshot), { notifyTimeout: 70_000 });
    const silent = { type: `xstate.after.notifyTimeout.watcher.${state}` } as never;
    assert.equal(after([...way, silent]).value, 'lost');
  }
  assert.equal(delaysIn(watcherMachine, after([{ type: 'system.closing' }]).snapshot), { dismissTimeout: 2_000 });
});

chart('answers to earlier requests change nothing', () => {
  const again = [answered(1), over, changed];
  const unneeded: WatcherEvent = { type: 'notify.unneeded', attempt: 1 };
  const deferred: WatcherEvent = { type: 'notify.deferred', attempt: 1, waitMs: 5 };
  for (const late of [answered(1), lost(1), unneeded, deferred]) {
    assert.is(after([...again, late]).value, 'telling');
    assert.is(after([...again, changed, late]).value, 'behind');
  }
});

chart('every state and every transition is reached', () => {
  const { inputs, events } = chartSamples.find(({ machine }) => machine.id === 'watcher')!;
  const coverage = coverChart(watcherMachine, { inputs: inputs as never, events: events as WatcherEvent[] });
  assertCovered(watcherMachine, coverage);
});

chart.run();
