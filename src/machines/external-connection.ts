import { type SnapshotFrom, setup } from 'xstate';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

type ExternalConnectionInput = {
  /** Of the channel. */
  id: string;
  /** ms that connecting may take, in either direction. */
  connectionTimeoutMs: number;
};

type ExternalConnectionContext = ExternalConnectionInput & {
  /** Why it was lost, in words; '' before. */
  reason: string;
};

export type ExternalConnectionEvent =
  /** The server has taken the connection. */
  | { type: 'socket.opened' }
  /** The server's first audio. */
  | { type: 'audio.flowed' }
  /** The media thread that had the socket is gone; another one connects again, to the same server. */
  | { type: 'socket.cut' }
  /** The socket could not be opened, or is closed. */
  | { type: 'socket.closed'; reason: string }
  /** The channel's leg has been released. */
  | { type: 'leg.released' };

const externalConnection = setup({
  types: {
    input: {} as ExternalConnectionInput,
    context: {} as ExternalConnectionContext,
    events: {} as ExternalConnectionEvent,
  },
  actions: {
    /** Begins to connect: answers with `socket.opened` or `socket.closed`. */
    openSocket: effect('openSocket'),
    closeSocket: effect('closeSocket'),
    /** Reports the connection to its channel. */
    tellStarted: effect('tellStarted'),
    /** Reports to the channel that the connection is lost. */
    tellLost: effect('tellLost'),
    keepReason: setup({
      types: { context: {} as ExternalConnectionContext, events: {} as ExternalConnectionEvent },
    }).assign(({ event }) => ({ reason: event.type === 'socket.closed' ? event.reason : 'no answer in time' })),
  },
  delays: { connectionTimeout: ({ context }) => context.connectionTimeoutMs },
});

/**
 * A channel's connection to an external media server. It is reopened only after a failure on our side: a server that
 * closes it has forgotten the call.
 */
export const externalConnectionMachine = externalConnection.createMachine({
  id: 'externalConnection',
  context: ({ input }) => ({ ...input, reason: '' }),
  initial: 'connecting',
  on: {
    'socket.closed': { target: '.lost', actions: 'keepReason' },
    'leg.released': '.closed',
  },
  states: {
    connecting: {
      entry: 'openSocket',
      on: { 'socket.opened': 'started' },
      after: { connectionTimeout: { target: 'lost', actions: 'keepReason' } },
    },
    /** Connected; the server has said nothing yet. */
    started: { entry: 'tellStarted', on: { 'audio.flowed': 'flowing', 'socket.cut': 'reconnecting' } },
    flowing: { on: { 'socket.cut': 'reconnecting' } },
    /** The channel stays and hears silence meanwhile. */
    reconnecting: {
      on: { 'socket.opened': 'started' },
      after: { connectionTimeout: { target: 'lost', actions: 'keepReason' } },
    },
    lost: { type: 'final', entry: ['closeSocket', 'tellLost'] },
    closed: { type: 'final', entry: 'closeSocket' },
  },
});

/** Ignored events, with reasons. */
export const externalConnectionIgnores: Ignores<typeof externalConnectionMachine> = [
  { events: ['socket.opened'], in: ['started', 'flowing'], why: 'it is open already' },
  {
    events: ['audio.flowed'],
    in: ['connecting', 'reconnecting'],
    why: 'there is no audio before the connection',
  },
  { events: ['audio.flowed'], in: ['flowing'], why: 'it flows already' },
  { events: ['socket.cut'], in: ['connecting', 'reconnecting'], why: 'it is being made, and has its time for that' },
];

type ExternalConnectionSnapshot = SnapshotFrom<typeof externalConnectionMachine>;

/** Longest expected time in each state, and what ends it. */
export const externalConnectionExpectations: Expectations<ExternalConnectionSnapshot['value']> = {
  connecting: { atMost: 30_000, waitsFor: 'the server to take the connection' },
  reconnecting: { atMost: 30_000, waitsFor: 'the server to take the connection again' },
};
