import { type SnapshotFrom, setup } from 'xstate';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

export type OutboundConnectionInput = {
  id: string;
  /** persistent: made at start and again whenever it is lost; call: made for one call, and given up in the end. */
  kind: 'persistent' | 'call';
  /** ms that an attempt may take. */
  connectionTimeoutMs: number;
  /** ms between attempts. */
  reconnectIntervalMs: number;
  /** How often a connection for a call is tried again. */
  reconnectAttempts: number;
};

export type OutboundConnectionContext = OutboundConnectionInput & {
  /** Attempts since it was last connected, the one under way included. */
  attempts: number;
};

export type OutboundConnectionEvent =
  /** The call enters its application once more. */
  | { type: 'call.entered' }
  /** The call has left its application, or is gone. */
  | { type: 'call.ended' }
  | { type: 'socket.opened' }
  /** An attempt has come to nothing. */
  | { type: 'socket.failed' }
  /** The socket was open and is closed. */
  | { type: 'socket.closed' }
  /** The system stops. */
  | { type: 'system.closing' };

const outboundConnection = setup({
  types: {
    input: {} as OutboundConnectionInput,
    context: {} as OutboundConnectionContext,
    events: {} as OutboundConnectionEvent,
  },
  actions: {
    /** Connects to the application: answers with `socket.opened`, or `socket.failed`. */
    openSocket: effect('openSocket'),
    /** Gives up the attempt under way, which tells nothing any more. */
    dropSocket: effect('dropSocket'),
    /** The application is there for calls, and is told so where it is told at all; then what waited for it. */
    registerApplications: effect('registerApplications'),
  },
  guards: {
    isPersistent: ({ context }) => context.kind === 'persistent',
    canRetry: ({ context }) => context.kind === 'persistent' || context.attempts <= context.reconnectAttempts,
  },
  delays: {
    connectionTimeout: ({ context }) => context.connectionTimeoutMs,
    reconnectInterval: ({ context }) => context.reconnectIntervalMs,
    /** How long the application may still tidy up after its call, in ms. */
    lingerTimeout: 3_000,
  },
});

/**
 * A WebSocket that this system makes to an application. A persistent one is tried for ever. One that is made for a call
 * is tried as often as configured, ends a while after its call has left, and is not made again once lost: the
 * application has closed it, or is gone with what it knew of the call.
 */
export const outboundConnectionMachine = outboundConnection.createMachine({
  id: 'outboundConnection',
  context: ({ input }) => ({ ...input, attempts: 0 }),
  initial: 'connecting',
  on: {
    'call.ended': '.closed',
    'system.closing': '.closed',
  },
  states: {
    connecting: {
      entry: [outboundConnection.assign({ attempts: ({ context }) => context.attempts + 1 }), 'openSocket'],
      on: {
        'socket.opened': 'connected',
        'socket.failed': [{ guard: 'canRetry', target: 'waiting' }, { target: 'closed' }],
      },
      after: {
        connectionTimeout: [
          { guard: 'canRetry', target: 'waiting', actions: 'dropSocket' },
          { target: 'closed', actions: 'dropSocket' },
        ],
      },
    },
    waiting: { after: { reconnectInterval: 'connecting' } },
    connected: {
      entry: [outboundConnection.assign({ attempts: 0 }), 'registerApplications'],
      on: { 'socket.closed': [{ guard: 'isPersistent', target: 'waiting' }, { target: 'closed' }] },
      initial: 'serving',
      states: {
        serving: { on: { 'call.ended': 'lingering' } },
        /** The call has left; what the application still asks for is carried out. */
        lingering: {
          on: { 'call.entered': 'serving', 'call.ended': {} },
          after: { lingerTimeout: '#outboundConnection.closed' },
        },
      },
    },
    closed: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const outboundConnectionIgnores: Ignores<typeof outboundConnectionMachine> = [
  { events: ['call.entered'], why: 'the call is on its way in, or in, already' },
  { events: ['call.ended'], in: ['connected.lingering'], why: 'the call has left already' },
  { events: ['socket.opened', 'socket.failed'], why: 'it tells of an attempt that is over' },
  { events: ['socket.closed'], why: 'it tells of a socket that was given up' },
];

type OutboundConnectionSnapshot = SnapshotFrom<typeof outboundConnectionMachine>;

/** Whether events go out at once. */
export const isConnected = (snapshot: OutboundConnectionSnapshot): boolean => snapshot.matches('connected');

/** How long it is expected to stay in a state, and what would end that. */
export const outboundConnectionExpectations: Expectations<'connecting' | 'waiting'> = {
  connecting: { atMost: 30_000, waitsFor: 'the program to take the WebSocket' },
  waiting: { atMost: 60_000, waitsFor: 'the next try to connect' },
};
