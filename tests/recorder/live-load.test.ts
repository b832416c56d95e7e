import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LiveApplicationEvents, LiveOverview } from '../../src/models/live.ts';
import { createCalls } from '../../src/recorder/calls.ts';
import { createLive, type LiveScope, type LiveSettings } from '../../src/recorder/live.ts';
import { createStuck } from '../../src/recorder/stuck.ts';
import { createCallControl } from '../support/call-control.ts';
import { createTestRecorder, liveSettings } from '../support/recorder.ts';

/** What those are told who watch a busy server, on simulated time: how often, how much, and what that costs the server. */

const load = suite('watching a busy server');

/** A server with who watches it; what is made for them is counted. */
function busyServer(bounds: Partial<LiveSettings> = {}) {
  const world = createCallControl();
  const { clock, log, operations } = world;
  const recorder = createTestRecorder(world.runtime, clock, { octets: 20_000_000, keepEndedMs: 1_000 });
  const full = { owners: [] as string[] };
  const mailboxes = () => full.owners.map((owner) => ({ owner, waiting: 1, atMost: 1, waitsFor: 'somebody' }));
  const stuck = createStuck({ recorder, lagging: () => [], mailboxes });
  const calls = createCalls(recorder, stuck, { versions: {}, config: () => ({}) });
  const work = { models: 0, lists: 0 };
  const desk = { name: 'desk', connected: true, state: 'active', events: 0, missed: 0 };
  const live = createLive({
    ...{ recorder, clock, log },
    calls: {
      ...calls,
      model(call) {
        work.models++;
        return calls.model(call);
      },
    },
    applications: () => [desk],
    application: () => desk,
    refused: () => [],
    settings: () => ({ ...liveSettings, ...bounds }),
    stuck() {
      work.lists++;
      return stuck.all();
    },
  });
  world.connect('desk');
  let made = 0;
  return {
    ...{ clock, recorder, live, work, full },
    watch<M>(scope: LiveScope) {
      const messages: { octets: number; message: M }[] = [];
      live.watch(scope, (json) => messages.push({ octets: json.length, message: JSON.parse(json) as M }));
      return messages;
    },
    /** A call comes and is answered; the one that came `most` calls before ends. */
    call(most = 200) {
      made++;
      operations.originate({ channelId: `c${made}`, endpoint: 'Fake/phone', app: 'desk', timeout: 20 });
      world.report(`c${made}`, { type: 'leg.answered' });
      if (made > most) operations.hangup(`c${made - most}`, {});
    },
    /** A call that nobody answers. @returns its id */
    fail() {
      const id = `failed${made}`;
      operations.originate({ channelId: id, endpoint: 'Fake/phone', app: 'desk', timeout: 20 });
      world.report(id, { type: 'leg.hungUp', cause: 18 });
      return id;
    },
    event() {
      desk.events++;
      const event = { type: 'ChannelUserevent', eventname: 'e', userevent: {} } as never;
      const { events: number } = desk;
      const json = JSON.stringify({ type: 'ChannelUserevent', seq: number });
      recorder.sent({ application: 'desk', number, missed: false }, event, json);
    },
  };
}

load('400 calls a second are told four times a second, each call once in a message, to however many watch', () => {
  const { clock, live, work, watch, call } = busyServer();
  const watchers = [1, 2, 3].map(() => watch<LiveOverview>({ kind: 'overview' }));
  const seconds = 3;
  for (let ms = 0; ms < seconds * 1_000; ms += 10) {
    for (let each = 0; each < 4; each++) call();
    clock.advance(10);
  }
  for (const messages of watchers) {
    const at = messages.map(({ message }) => message.at);
    assert.is(messages.length, 1 + seconds * 4, 'what there is at once, then four a second');
    assert.equal(
      at.slice(2).map((each, index) => each - (at[index + 1] ?? 0)),
      at.slice(2).map(() => 250),
    );
    for (const { message, octets } of messages) {
      const ids = message.calls.map(({ id }) => id);
      assert.is(new Set(ids).size, ids.length, 'each call once');
      assert.ok(ids.length <= 210 && octets < 150_000, `${ids.length} calls in ${octets} octets`);
    }
  }
  const told = watchers.flat().reduce((sum, { message }) => sum + message.calls.length, 0);
  assert.equal(work, { models: told, lists: watchers.flat().length }, 'what is told is made, and no more');
  live.close();
});

load('what comes all at once is told in messages of bounded size, and nothing of it is left out', () => {
  const { clock, live, watch, call } = busyServer();
  const messages = watch<LiveOverview>({ kind: 'overview' });
  for (let each = 0; each < 1_700; each++) call(10_000);
  clock.advance(1_000);
  const sizes = messages.map(({ message }) => message.calls.length);
  assert.equal(sizes, [0, 500, 500, 500, 200]);
  assert.ok(Math.max(...messages.map(({ octets }) => octets)) < 400_000);
  assert.is(new Set(messages.flatMap(({ message }) => message.calls.map(({ id }) => id))).size, 1_700);
  live.close();
});

load('who begins to watch is told of the newest calls at once, and of all that are live within seconds', () => {
  const { clock, live, watch, call } = busyServer();
  for (let each = 0; each < 1_700; each++) call(1_200);
  const messages = watch<LiveOverview>({ kind: 'overview' });
  clock.advance(1_000);
  assert.equal(
    messages.map(({ message }) => message.calls.length),
    [500, 500, 200],
  );
  const [newest = []] = messages.map(({ message }) => message.calls.map(({ id }) => id));
  assert.equal([newest[0], newest.at(-1)], ['c1700', 'c1201']);
  const told = new Set(messages.flatMap(({ message }) => message.calls.map(({ id }) => id)));
  assert.equal([told.size, told.has('c501'), told.has('c500')], [1_200, true, false]);
  live.close();
});

load(
  'of an application with 5,000 events a second the last 200 are shown four times a second, the others counted',
  () => {
    const { clock, live, watch, event } = busyServer();
    const messages = watch<LiveApplicationEvents>({ kind: 'application', name: 'desk' });
    for (let ms = 0; ms < 1_000; ms++) {
      for (let each = 0; each < 5; each++) event();
      clock.advance(1);
    }
    assert.equal(
      messages.map(({ message: { application, events, skipped } }) => [application.events, events.length, skipped]),
      [[0, 0, 0], ...[1, 2, 3, 4].map((quarter) => [quarter * 1_250, 200, 1_050])],
    );
    assert.equal(
      messages.at(-1)?.message.events.map(({ number }) => number),
      Array.from({ length: 200 }, (_, at) => 4_801 + at),
    );
    assert.ok(Math.max(...messages.map(({ octets }) => octets)) < 50_000);
    live.close();
  },
);

load('of 500 calls a second for long a sample is told: all failures, and each call that was told to its end', () => {
  const { clock, live, watch, call, fail } = busyServer();
  const messages = watch<LiveOverview>({ kind: 'overview' });
  const second = (): void => {
    for (let ms = 0; ms < 1_000; ms += 10) {
      for (let each = 0; each < 5; each++) call(1_000);
      clock.advance(10);
    }
  };
  for (let each = 0; each < 10; each++) second();
  const before = messages.length;
  const failed = Array.from({ length: 3 }, () => {
    const id = fail();
    second();
    return id;
  });
  const sample = messages.slice(before).map(({ message }) => message);
  const sizes = sample.map(({ calls }) => calls.length);
  assert.ok(Math.max(...sizes) <= 60 && Math.min(...sizes) >= 45, `calls of each message: ${sizes.join(' ')}`);
  assert.equal(
    failed.filter((id) => !sample.some(({ calls }) => calls.some((each) => each.id === id && each.state === 'ended'))),
    [],
    'failures that were left out',
  );
  assert.is(sample.at(-1)?.figures.begun_calls, 13 * 500 + 3);
  // In peace, all that is live is told, and nothing that was told is shown as live for ever.
  clock.advance(20_000);
  const shown = new Map<string, string>();
  for (const { message } of messages) {
    for (const id of message.removed) shown.delete(id);
    for (const { id, state } of message.calls) shown.set(id, state);
  }
  assert.is(
    [...shown.values()].filter((state) => state === 'live').length,
    messages.at(-1)?.message.figures.live_calls,
  );
  live.close();
});

load('of an application with many events for long 100 a second are shown, and the others counted', () => {
  const { clock, live, watch, event } = busyServer();
  const messages = watch<LiveApplicationEvents>({ kind: 'application', name: 'desk' });
  for (let ms = 0; ms < 10_000; ms++) {
    event();
    clock.advance(1);
  }
  const last = messages.slice(-20).map(({ message: { events, skipped } }) => [events.length, skipped]);
  assert.equal(
    last,
    last.map(() => [25, 225]),
  );
  assert.is(messages.at(-1)?.message.events.at(-1)?.number, 10_000);
  live.close();
});

load('only who sees everything sees calls that were refused before they had a channel', () => {
  const { clock, live } = busyServer();
  const told: unknown[] = [];
  const hear = (json: string): void => void told.push((JSON.parse(json) as LiveOverview).refused);
  live.watch({ kind: 'overview' }, hear);
  live.watch({ kind: 'overview' }, hear, { seesAll: () => false, sees: () => false });
  clock.advance(250);
  assert.equal(told.slice(0, 2), [[], undefined]);
});

load('the bounds of a sample are settings', () => {
  const { clock, live, watch, call, event } = busyServer({
    ...{ message_calls: 30, calls_burst: 40, calls_per_second: 20 },
    ...{ message_events: 10, events_burst: 15, events_per_second: 4 },
  });
  const calls = watch<LiveOverview>({ kind: 'overview' });
  const events = watch<LiveApplicationEvents>({ kind: 'application', name: 'desk' });
  for (let quarter = 0; quarter < 8; quarter++) {
    for (let each = 0; each < 50; each++) call(10_000);
    for (let each = 0; each < 20; each++) event();
    clock.advance(250);
  }
  const sizes = calls.map(({ message }) => message.calls.length);
  assert.equal(sizes.slice(0, 3), [0, 30, 15], 'a message, then the rest of the burst');
  assert.ok(Math.max(...sizes.slice(3)) <= 30 && sizes.length === 9, sizes.join(' '));
  assert.equal(
    events.map(({ message }) => message.events.length),
    [0, 10, 6, 1, 1, 1, 1, 1, 1],
  );
  live.close();
});

load('stuck objects are told up to a bound, and the others counted', () => {
  const { clock, live, watch, full } = busyServer({ stuck: 3 });
  const messages = watch<LiveOverview>({ kind: 'overview' });
  const told = (owners: string[]) => {
    full.owners = owners;
    clock.advance(1_000);
    const { stuck, stuck_left_out: leftOut } = messages.at(-1)?.message ?? {};
    return [stuck?.map(({ object }) => object), leftOut];
  };
  assert.equal(told(['a', 'b', 'c']), [['a', 'b', 'c'], undefined]);
  assert.equal(told(['a', 'b', 'c', 'd', 'e']), [['a', 'b', 'c'], 2]);
  live.close();
});

load('a user that does not see all calls is told how many of those that it sees began', () => {
  const { clock, live, call } = busyServer();
  const told: (number | undefined)[] = [];
  call();
  const seesOdd = (applications: Iterable<string>): boolean => [...applications].includes('desk');
  const sees = { seesAll: seesOdd, sees: () => true };
  const nothing = { seesAll: () => false, sees: () => false };
  live.watch({ kind: 'overview' }, (json) => told.push((JSON.parse(json) as LiveOverview).figures.begun_calls), sees);
  const unseen: number[] = [];
  live.watch(
    { kind: 'overview' },
    (json) => unseen.push((JSON.parse(json) as LiveOverview).figures.begun_calls),
    nothing,
  );
  for (let each = 0; each < 4; each++) call();
  clock.advance(250);
  call();
  clock.advance(1_000);
  assert.equal([told[0], told[1], told.at(-1)], [1, 5, 6]);
  assert.is(unseen.at(-1), 0);
  live.close();
});

load.run();
