import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  isConnected,
  type OutboundConnectionEvent,
  type OutboundConnectionInput,
  outboundConnectionMachine,
} from '../../src/machines/outbound-connection.ts';
import { assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const persistent: OutboundConnectionInput = {
  id: 'hello',
  kind: 'persistent',
  connectionTimeoutMs: 500,
  reconnectIntervalMs: 500,
  reconnectAttempts: 1,
};
const forCall: OutboundConnectionInput = { ...persistent, kind: 'call' };

type Step = OutboundConnectionEvent['type'] | 'timeout' | 'interval' | 'linger';

const delays: Readonly<Record<string, string>> = {
  timeout: 'xstate.after.connectionTimeout.outboundConnection.connecting',
  interval: 'xstate.after.reconnectInterval.outboundConnection.waiting',
  linger: 'xstate.after.lingerTimeout.outboundConnection.connected.lingering',
};

/** Takes a connection through events; gives where it ended and what the last one asked for or told. */
function after(input: OutboundConnectionInput, ...steps: Step[]) {
  let [snapshot, actions] = initialTransition(outboundConnectionMachine, input);
  for (const step of steps)
    [snapshot, actions] = transition(outboundConnectionMachine, snapshot, {
      type: delays[step] ?? step,
    } as OutboundConnectionEvent);
  const asked = (actions as unknown as { type: string; params?: { event?: { type: string } } }[])
    .map(({ type, params }) => (type === 'xstate.emit' ? params?.event?.type : type))
    .filter((type) => !type?.startsWith('xstate.'));
  return { value: snapshot.value, asked, snapshot };
}

const chart = suite('outbound connection chart');

chart('connects at once, and registers the application when it is connected', () => {
  assert.equal(after(persistent).asked, ['openSocket']);
  const connected = after(persistent, 'socket.opened');
  assert.equal([connected.value, connected.asked], [{ connected: 'serving' }, ['registerApplications']]);
  assert.ok(isConnected(connected.snapshot));
  assert.not(isConnected(after(persistent).snapshot));
});

chart('a persistent one is tried for ever, an interval after each failure', () => {
  const failing: Step[] = Array.from({ length: 9 }, () => ['socket.failed', 'interval'] as const).flat();
  assert.is(after(persistent, ...failing, 'socket.failed').value, 'waiting');
  const again = after(persistent, ...failing);
  assert.equal([again.value, again.asked], ['connecting', ['openSocket']]);
});

chart('a persistent one that is lost is made again and registers the application anew', () => {
  assert.is(after(persistent, 'socket.opened', 'socket.closed').value, 'waiting');
  const again = after(persistent, 'socket.opened', 'socket.closed', 'interval', 'socket.opened');
  assert.equal([again.value, again.asked], [{ connected: 'serving' }, ['registerApplications']]);
});

chart('an attempt that takes too long is dropped and counts as failed', () => {
  const late = after(persistent, 'timeout');
  assert.equal([late.value, late.asked], ['waiting', ['dropSocket']]);
  const last = after(forCall, 'timeout', 'interval', 'timeout');
  assert.equal([last.value, last.asked], ['closed', ['dropSocket']]);
});

chart('one for a call is tried again as often as configured, then given up', () => {
  assert.is(after(forCall, 'socket.failed').value, 'waiting');
  assert.is(after(forCall, 'socket.failed', 'interval', 'socket.failed').value, 'closed');
  assert.is(after({ ...forCall, reconnectAttempts: 0 }, 'socket.failed').value, 'closed');
});

chart('one for a call is not made again once lost', () => {
  assert.is(after(forCall, 'socket.opened', 'socket.closed').value, 'closed');
  assert.is(after(forCall, 'socket.opened', 'call.ended', 'socket.closed').value, 'closed');
});

chart('one for a call stays a while after the call has left, longer if the call comes back', () => {
  assert.equal(after(forCall, 'socket.opened', 'call.ended').value, { connected: 'lingering' });
  assert.equal(after(forCall, 'socket.opened', 'call.ended', 'call.ended').value, { connected: 'lingering' });
  assert.is(after(forCall, 'socket.opened', 'call.ended', 'linger').value, 'closed');
  const back = after(forCall, 'socket.opened', 'call.ended', 'call.entered');
  assert.equal([back.value, back.asked], [{ connected: 'serving' }, []]);
});

chart('a call that ends before the connection is there ends it, too', () => {
  assert.is(after(forCall, 'call.ended').value, 'closed');
  assert.is(after(forCall, 'socket.failed', 'call.ended').value, 'closed');
});

chart('everything ends when the system stops', () => {
  for (const steps of [[], ['socket.failed'], ['socket.opened'], ['socket.opened', 'call.ended']] as Step[][])
    assert.is(after(forCall, ...steps, 'system.closing').value, 'closed', steps.join());
});

chart('each wait has its time: for the socket, for the next try, and for what is to be tidied up', () => {
  const times = (...steps: Step[]) => delaysIn(outboundConnectionMachine, after(forCall, ...steps).snapshot);
  assert.equal(times(), { connectionTimeout: forCall.connectionTimeoutMs });
  assert.equal(times('socket.failed'), { reconnectInterval: forCall.reconnectIntervalMs });
  assert.equal(times('socket.opened', 'call.ended'), { lingerTimeout: 3_000 });
  assert.is(after(forCall, 'socket.failed', 'interval', 'socket.opened').snapshot.context.attempts, 0);
});

chart('every state is reached and every transition taken', () => {
  const types: OutboundConnectionEvent['type'][] = [
    'call.entered',
    'call.ended',
    'socket.opened',
    'socket.failed',
    'socket.closed',
    'system.closing',
  ];
  const coverage = coverChart(outboundConnectionMachine, {
    inputs: [persistent, forCall],
    events: types.map((type) => ({ type })),
    key: ({ context }) => [context.kind, Math.min(context.attempts, 3)],
  });
  assertCovered(outboundConnectionMachine, coverage);
});

chart.run();
