import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { hostEngine } from '../../src/media/engine-host.ts';
import { inlineWakeUps, newWakeUp } from '../../src/media/pipe/wake-up.ts';
import type { MediaMessage } from '../../src/media/protocol.ts';
import { newHeardCounter } from '../../src/media/report-window.ts';
import { Descriptors, newDescriptorTable } from '../../src/media/rtp/descriptors.ts';
import { EpollSockets } from '../../src/media/rtp/epoll-sockets.ts';
import { type OpenSockets, WarmUp } from '../../src/media/warm-up.ts';
import { loadSystemCalls } from '../../src/native/system-calls.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { endTurn, FakeNetwork, memoryLogger, rampLoader, settle } from './support.ts';

const calls = await loadSystemCalls().catch(() => undefined);
const native = calls ? test : test.skip;
if (!calls) process.stdout.write('skipped: needs koffi on Linux: warm-up calls over kernel sockets\n');

/** Longer than it all takes, in ms. */
const allOfIt = 20_000;
let word = 1;
const random32 = () => (word = (Math.imul(word, 1_103_515_245) + 12_345) >>> 0);
const optionsOn = (clock: ManualClock) => ({
  ...{ config: defaultMediaConfig, clock, sockets: new FakeNetwork(), log: memoryLogger(), loader: rampLoader },
  ...{ random32, report: () => {} },
});

native('the warm-up runs echoes, bridges of two and conferences over real sockets, and closes them', async () => {
  const clock = new ManualClock();
  const counts = { open: 0, opened: 0, sent: 0, passedOn: 0 };
  const opening = (result: number): number => {
    counts.open++;
    counts.opened++;
    return result;
  };
  const counting: typeof calls = {
    ...calls!,
    socket: (...how) => opening(calls!.socket(...how)),
    epoll_create1: (flags) => opening(calls!.epoll_create1(flags)),
    close(descriptor) {
      counts.open--;
      return calls!.close(descriptor);
    },
    sendto(...how) {
      counts.sent++;
      return calls!.sendto(...how);
    },
    sendtoAt(...how) {
      counts.passedOn++;
      return calls!.sendtoAt(...how);
    },
  };
  const descriptors = new Descriptors(newDescriptorTable());
  const warmUp = new WarmUp(optionsOn(clock), (on) => new EpollSockets({ calls: counting, clock: on, descriptors }));
  const over = warmUp.run();
  await clock.run(allOfIt);
  await over;
  const { open, opened, sent, passedOn } = counts;
  assert.equal({ open, pending: clock.pending }, { open: 0, pending: 0 });
  // Of 62 rounds with 24 phones that say 12 packets each, those of 8 are passed on, and those of 8 turned round, but for the first
  // ones of each source.
  assert.ok(passedOn > 62 * 16 * 6, `${passedOn} packets were passed on`);
  assert.ok(sent + passedOn > 62 * 24 * (12 + 8), `${sent} packets were sent`);
  assert.ok(opened >= 62 * 24 * 3, `${opened} were opened`);
});

/** Sockets of which nothing comes out; those that are open, and how often sockets were asked for. */
function deafSockets() {
  const open = new Set<number>();
  const clocks: unknown[] = [];
  const openSockets: OpenSockets = (clock) => {
    clocks.push(clock);
    let next = 40_000;
    return {
      async bind(_address, wanted) {
        while (open.has(next)) next++;
        const port = wanted || next;
        if (open.has(port)) throw Object.assign(new Error('bind EADDRINUSE'), { code: 'EADDRINUSE' });
        open.add(port);
        return { port, send() {}, listen() {}, close: () => void open.delete(port) };
      },
      close: () => open.clear(),
    };
  };
  return { open, clocks, openSockets };
}

for (const afterMs of [0, 1, 2, 3, 30, 250, 300, 490, 520, 600])
  test(`a warmUp that is stopped after ${afterMs} ms leaves nothing open`, async () => {
    const clock = new ManualClock();
    const { open, openSockets } = deafSockets();
    const warmUp = new WarmUp(optionsOn(clock), openSockets);
    const over = warmUp.run();
    await clock.run(afterMs);
    warmUp.stop();
    await clock.run(100);
    await over;
    assert.equal([...open], []);
    assert.is(clock.pending, 0);
  });

/** A hosted engine that is told to warm up or not. */
function host(warmsUp: boolean, warmUpSockets: OpenSockets, compact = (): void => {}) {
  const clock = new ManualClock();
  const posted: MediaMessage[] = [];
  const start = {
    config: { ...defaultMediaConfig, warmsUp },
    ...{ thread: 0, wakeUp: newWakeUp(1), heard: newHeardCounter(), descriptors: newDescriptorTable() },
  };
  const world = { clock, sockets: new FakeNetwork(), warmUpSockets, compact, random32, wakeUps: inlineWakeUps() };
  const carryOut = hostEngine(start, world, (messages) => posted.push(...messages));
  return { clock, carryOut, posted };
}

test('a thread warms up if it is configured to, until it ends', async () => {
  const { open, clocks, openSockets } = deafSockets();
  host(false, openSockets);
  await settle();
  assert.equal(clocks, []);
  const { clock, carryOut, posted } = host(true, openSockets);
  await clock.run(300);
  assert.is(clocks.length, 1);
  assert.is(clocks[0], clock, 'in its own time at first');
  assert.is(open.size, 72, 'three sockets for each of 24 legs');
  carryOut([{ type: 'shutdown', request: 7 }]);
  await clock.run(100);
  assert.equal([clocks.length, open.size], [1, 0]);
  assert.equal(posted.at(-1), { type: 'ended', request: 7 });
});

test('a thread returns memory when it is told to', () => {
  let compacted = 0;
  const { carryOut } = host(
    false,
    () => {
      throw new Error('no sockets');
    },
    () => void compacted++,
  );
  carryOut([{ type: 'ping' }]);
  assert.is(compacted, 0);
  carryOut([{ type: 'compact' }]);
  assert.is(compacted, 1);
});

test('a thread whose warm-up fails does all else', async () => {
  const { carryOut, posted } = host(true, () => {
    throw new Error('socket EMFILE');
  });
  carryOut([{ type: 'ping' }]);
  await endTurn();
  const message = 'the warm-up failed';
  assert.equal(
    posted.map((each) => (each.type === 'log' ? each.message : each.type)),
    ['pong', message],
  );
});

test.run();
