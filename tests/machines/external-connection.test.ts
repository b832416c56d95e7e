import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  awaitsSocket,
  type ExternalConnectionEvent,
  externalConnectionMachine,
} from '../../src/machines/external-connection.ts';
import { assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const input = { id: 'c1', connectionTimeoutMs: 3000 };
const timeout = 'xstate.after.connectionTimeout.externalConnection.connecting';
const timeoutArrived = 'xstate.after.connectionTimeout.externalConnection.arrived';
const timeoutAgain = 'xstate.after.connectionTimeout.externalConnection.reconnecting';

/** Takes a connection through events; gives where it ended, why, and what the last event asked for. */
function after(
  ...events: (ExternalConnectionEvent | { type: typeof timeout | typeof timeoutArrived | typeof timeoutAgain })[]
) {
  return afterOf(input, events);
}

function afterOf(
  from: typeof input & { resumes?: { attempts: number; intervalMs: number } },
  events: readonly { type: string }[],
) {
  let [snapshot, actions] = initialTransition(externalConnectionMachine, from);
  for (const event of events)
    [snapshot, actions] = transition(externalConnectionMachine, snapshot, event as ExternalConnectionEvent);
  const asked = actions.map(({ type }) => type).filter((type) => !type.startsWith('xstate.'));
  return { value: snapshot.value, reason: snapshot.context.reason, asked };
}

const closed = { type: 'socket.closed', reason: 'refused' } as const;
const chart = suite('external connection chart');

chart('connects at once, and tells when it has', () => {
  assert.equal(after(), { value: 'connecting', reason: '', asked: ['openSocket'] });
  assert.equal(after({ type: 'socket.opened' }), { value: 'started', reason: '', asked: ['tellStarted'] });
  assert.is(after({ type: 'socket.opened' }, { type: 'audio.flowed' }).value, 'flowing');
});

chart('one that cannot be made, takes too long or breaks is lost, and says why', () => {
  const lost = { value: 'lost', reason: 'refused', asked: ['closeSocket', 'tellLost'] };
  const unreached = { ...lost, asked: ['closeSocket', 'tellUnreached'] };
  assert.equal(after(closed), unreached);
  assert.equal(after({ type: 'socket.opened' }, closed), lost);
  assert.equal(after({ type: 'socket.opened' }, { type: 'audio.flowed' }, closed), lost);
  assert.equal(after({ type: timeout }), { ...unreached, reason: 'no answer in time' });
});

chart('a server opens one WebSocket, and the connection is there when that is open', () => {
  const arrived = { type: 'socket.arrived' } as const;
  const unreached = { value: 'lost', reason: 'refused', asked: ['closeSocket', 'tellUnreached'] };
  assert.equal(after(arrived), { value: 'arrived', reason: '', asked: [] });
  assert.equal(after(arrived, arrived, { type: 'socket.cut' }), { value: 'arrived', reason: '', asked: [] });
  assert.equal(after(arrived, { type: 'socket.opened' }), { value: 'started', reason: '', asked: ['tellStarted'] });
  assert.equal(after(arrived, closed), unreached);
  assert.equal(after(arrived, { type: timeoutArrived }), { ...unreached, reason: 'no answer in time' });
  assert.equal(after(arrived, { type: 'leg.released' }), { value: 'closed', reason: '', asked: ['closeSocket'] });
  const [first] = initialTransition(externalConnectionMachine, input);
  const [snapshot] = transition(externalConnectionMachine, first, arrived);
  assert.equal([awaitsSocket(first), awaitsSocket(snapshot)], [true, false]);
  assert.equal(delaysIn(externalConnectionMachine, snapshot), { connectionTimeout: 3_000 });
});

chart('one that is cut on our side is made again, in the same time, and lost when it cannot be', () => {
  const flowing = [{ type: 'socket.opened' }, { type: 'audio.flowed' }] as const;
  const cut = { type: 'socket.cut' } as const;
  for (const before of [flowing.slice(0, 1), flowing]) {
    assert.equal(after(...before, cut), { value: 'reconnecting', reason: '', asked: [] });
    assert.equal(after(...before, cut, cut).value, 'reconnecting');
    const again = { value: 'started', reason: '', asked: ['tellRestarted'] };
    assert.equal(after(...before, cut, { type: 'socket.opened' }), again);
    assert.equal(after(...before, cut, ...flowing).value, 'flowing');
    const lost = { value: 'lost', asked: ['closeSocket', 'tellLost'] };
    assert.equal(after(...before, cut, closed), { ...lost, reason: 'refused' });
    assert.equal(after(...before, cut, { type: timeoutAgain }), { ...lost, reason: 'no answer in time' });
  }
});

chart('one whose leg is released is closed, and tells nothing', () => {
  for (const before of [
    [],
    [{ type: 'socket.opened' }],
    [{ type: 'socket.opened' }, { type: 'audio.flowed' }],
  ] as const)
    assert.equal(after(...before, { type: 'leg.released' }), { value: 'closed', reason: '', asked: ['closeSocket'] });
});

chart('it has the time that is set to be made, and to be made again', () => {
  let [snapshot] = initialTransition(externalConnectionMachine, input);
  assert.equal(delaysIn(externalConnectionMachine, snapshot), { connectionTimeout: 3_000 });
  for (const type of ['socket.opened', 'socket.cut'] as const)
    [snapshot] = transition(externalConnectionMachine, snapshot, { type });
  assert.equal(delaysIn(externalConnectionMachine, snapshot), { connectionTimeout: 3_000 });
});

chart('one of a process before is made again, with so many further attempts, and then lost', () => {
  const timeoutOf = (state: string, delay = 'connectionTimeout') =>
    ({ type: `xstate.after.${delay}.externalConnection.${state}` }) as never;
  const resumes = { ...input, resumes: { attempts: 1, intervalMs: 500 } };
  const again = (...events: ExternalConnectionEvent[]) => afterOf(resumes, events);
  const lost = { value: 'lost', reason: 'refused', asked: ['closeSocket', 'tellLost'] };
  const made = { value: 'started', reason: '', asked: ['tellRestarted'] };
  assert.equal(again(), { value: 'resuming', reason: '', asked: ['openSocket'] });
  assert.equal(again({ type: 'socket.opened' }), made);
  for (const failed of [closed, timeoutOf('resuming')]) {
    const pause = timeoutOf('pausing', 'reconnectInterval');
    assert.equal(again(failed), { value: 'pausing', reason: '', asked: [] });
    assert.equal(again(failed, { type: 'socket.opened' }), made);
    assert.equal(again(failed, closed).value, 'pausing');
    assert.equal(again(failed, pause), { value: 'resuming', reason: '', asked: ['openSocket'] });
    assert.equal(again(failed, pause, { type: 'socket.opened' }), made);
    assert.equal(again(failed, pause, closed), lost);
    assert.equal(again(failed, pause, timeoutOf('resuming')), { ...lost, reason: 'no answer in time' });
  }
  assert.equal(afterOf({ ...input, resumes: { attempts: 0, intervalMs: 500 } }, [closed]), lost);
  const twice = { ...input, resumes: { attempts: 2, intervalMs: 500 } };
  const failures = [closed, timeoutOf('pausing', 'reconnectInterval'), closed] as const;
  assert.is(afterOf(twice, failures).value, 'pausing');
  assert.equal(afterOf(twice, [...failures, ...failures.slice(1)]), lost);
  assert.is(initialTransition(externalConnectionMachine, input)[0].context.attempts, 0);
  const arrived = { type: 'socket.arrived' } as const;
  assert.equal(again(arrived), { value: 'returned', reason: '', asked: [] });
  assert.equal(again(arrived, arrived, { type: 'socket.opened' }), made);
  assert.equal(again(arrived, closed), lost);
  assert.equal(again(arrived, timeoutOf('returned')), { ...lost, reason: 'no answer in time' });
  const [first] = initialTransition(externalConnectionMachine, resumes);
  assert.equal([awaitsSocket(first), delaysIn(externalConnectionMachine, first)], [true, { connectionTimeout: 3_000 }]);
  const [pausing] = transition(externalConnectionMachine, first, closed);
  assert.equal(
    [awaitsSocket(pausing), delaysIn(externalConnectionMachine, pausing)],
    [false, { reconnectInterval: 500 }],
  );
});

chart('every state and transition is reached', () => {
  const coverage = coverChart(externalConnectionMachine, {
    inputs: [input, ...[0, 1].map((attempts) => ({ ...input, resumes: { attempts, intervalMs: 500 } }))],
    key: ({ context }) => context.attempts,
    events: [
      { type: 'socket.arrived' },
      { type: 'socket.opened' },
      { type: 'socket.cut' },
      { type: 'audio.flowed' },
      closed,
      { type: 'leg.released' },
    ],
  });
  assertCovered(externalConnectionMachine, coverage);
});

chart.run();
