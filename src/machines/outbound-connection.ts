import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { extended, number, object, oneOf, text } from '../models/plain-schema.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

const OutboundConnectionInput = object({
  id: text,
  /** persistent: made at start and again whenever it is lost; call: made for one call, and given up in the end. */
  kind: oneOf('persistent', 'call'),
  /** ms that an attempt may take. */
  connectionTimeoutMs: number,
  /** ms between attempts. */
  reconnectIntervalMs: number,
  /** How often a connection for a call is tried again. */
  reconnectAttempts: number,
});
export type OutboundConnectionInput = Static<typeof OutboundConnectionInput>;

export const OutboundConnectionContext = extended(OutboundConnectionInput, {
  /** Attempts since it was last connected, the one under way included. */
  attempts: number,
});
export type OutboundConnectionContext = Static<typeof OutboundConnectionContext>;

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
    /** Abandons the present attempt, whose reports are then ignored. */
    dropSocket: effect('dropSocket'),
    /** The application is ready for calls and gets its events, first those that waited. */
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
 * A WebSocket from this system to an application. A persistent one is retried without end. One for a call is tried as
 * often as configured, and closes a while after its call has left. Once lost it is not reopened, because the
 * application has ended it or lost its state of the call.
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

/** Ignored events, with reasons. */
export const outboundConnectionIgnores: Ignores<typeof outboundConnectionMachine> = [
  { events: ['call.entered'], why: 'the call is entering or has entered' },
  { events: ['call.ended'], in: ['connected.lingering'], why: 'the call has left already' },
  { events: ['socket.opened', 'socket.failed'], why: 'it belongs to an attempt that is over' },
  { events: ['socket.closed'], why: 'it belongs to a socket that was abandoned' },
];

type OutboundConnectionSnapshot = SnapshotFrom<typeof outboundConnectionMachine>;

/** Whether events are sent without waiting. */
export const isConnected = (snapshot: OutboundConnectionSnapshot): boolean => snapshot.matches('connected');

/** Longest expected time in each state, and what ends it. */
export const outboundConnectionExpectations: Expectations<'connecting' | 'waiting'> = {
  connecting: { atMost: 30_000, waitsFor: 'the program to accept the WebSocket' },
  waiting: { atMost: 60_000, waitsFor: 'the next attempt to connect' },
};
