import { type SnapshotFrom, setup } from 'xstate';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

type ExternalConnectionInput = {
  /** Of the channel. */
  id: string;
  /** ms that connecting may take, in either direction. */
  connectionTimeoutMs: number;
  /** A process before had the connection, and it is made again: in so many further attempts, with a pause of ms before each. */
  resumes?: { attempts: number; intervalMs: number };
};

type ExternalConnectionContext = ExternalConnectionInput & {
  /** Further attempts that are left to make it again. */
  attempts: number;
  /** Why it was lost, in words; '' before. */
  reason: string;
};

export type ExternalConnectionEvent =
  /** The server that we wait for has opened its WebSocket. */
  | { type: 'socket.arrived' }
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
  guards: {
    resumes: ({ context }) => context.resumes !== undefined,
    mayTryAgain: ({ context }) => context.attempts > 0,
  },
  actions: {
    /** Begins to connect: answers with `socket.opened` or `socket.closed`. */
    openSocket: effect('openSocket'),
    closeSocket: effect('closeSocket'),
    /** Reports the connection to its channel. */
    tellStarted: effect('tellStarted'),
    /** Reports to the channel that it has a connection again. */
    tellRestarted: effect('tellRestarted'),
    /** Reports to the channel that the connection was never there. */
    tellUnreached: effect('tellUnreached'),
    /** Reports to the channel that the connection is lost. */
    tellLost: effect('tellLost'),
    keepReason: setup({
      types: { context: {} as ExternalConnectionContext, events: {} as ExternalConnectionEvent },
    }).assign(({ event }) => ({ reason: event.type === 'socket.closed' ? event.reason : 'no answer in time' })),
  },
  delays: {
    connectionTimeout: ({ context }) => context.connectionTimeoutMs,
    reconnectInterval: ({ context }) => context.resumes!.intervalMs,
  },
});

const unreached = { target: 'lost', actions: ['keepReason', 'closeSocket', 'tellUnreached'] } as const;
const lost = { target: 'lost', actions: ['keepReason', 'closeSocket', 'tellLost'] } as const;

/** Being made for the first time. */
const making = {
  on: { 'socket.opened': { target: 'started', actions: 'tellStarted' }, 'socket.closed': unreached },
  after: { connectionTimeout: unreached },
} as const;

const madeAgain = { target: 'started', actions: 'tellRestarted' } as const;
const tryAgain = [
  {
    guard: 'mayTryAgain',
    target: 'pausing',
    actions: externalConnection.assign({ attempts: ({ context }) => context.attempts - 1 }),
  },
  lost,
] as const;

/**
 * A channel's connection to an external media server. It is reopened only after a failure on our side: a server that
 * closes it has forgotten the call. Behind a restart of this server the media server may need a while, so there are
 * further attempts.
 */
export const externalConnectionMachine = externalConnection.createMachine({
  id: 'externalConnection',
  context: ({ input }) => ({ ...input, attempts: input.resumes?.attempts ?? 0, reason: '' }),
  initial: 'new',
  on: { 'leg.released': '.closed' },
  states: {
    new: { always: [{ guard: 'resumes', target: 'resuming' }, { target: 'connecting' }] },
    /** The server is called, or its WebSocket is awaited. */
    connecting: { entry: 'openSocket', on: { ...making.on, 'socket.arrived': 'arrived' }, after: making.after },
    /** The server has opened its WebSocket, and may open no other. */
    arrived: making,
    /** Connected; the server has said nothing yet. */
    started: { on: { 'audio.flowed': 'flowing', 'socket.cut': 'reconnecting', 'socket.closed': lost } },
    flowing: { on: { 'socket.cut': 'reconnecting', 'socket.closed': lost } },
    /** The channel stays and hears silence meanwhile. */
    reconnecting: {
      on: { 'socket.opened': madeAgain, 'socket.closed': lost },
      after: { connectionTimeout: lost },
    },
    /** A process before had it: the server is called again, or its WebSocket is awaited again. */
    resuming: {
      entry: 'openSocket',
      on: { 'socket.opened': madeAgain, 'socket.arrived': 'returned', 'socket.closed': tryAgain },
      after: { connectionTimeout: tryAgain },
    },
    /** Before another attempt. The last one may still succeed. */
    pausing: { on: { 'socket.opened': madeAgain }, after: { reconnectInterval: 'resuming' } },
    /** The server has opened its WebSocket again. */
    returned: { on: { 'socket.opened': madeAgain, 'socket.closed': lost }, after: { connectionTimeout: lost } },
    lost: { type: 'final' },
    closed: { type: 'final', entry: 'closeSocket' },
  },
});

/** Ignored events, with reasons. */
export const externalConnectionIgnores: Ignores<typeof externalConnectionMachine> = [
  { events: ['socket.opened'], in: ['started', 'flowing'], why: 'it is open already' },
  {
    events: ['socket.arrived'],
    in: ['arrived', 'returned', 'started', 'flowing', 'reconnecting', 'pausing'],
    why: 'it has a socket, or is called by us',
  },
  {
    events: ['audio.flowed'],
    in: ['connecting', 'arrived', 'reconnecting', 'resuming', 'pausing', 'returned'],
    why: 'there is no audio before the connection',
  },
  { events: ['audio.flowed'], in: ['flowing'], why: 'it flows already' },
  {
    events: ['socket.cut'],
    in: ['connecting', 'arrived', 'reconnecting', 'resuming', 'pausing', 'returned'],
    why: 'it is being opened, with a deadline of its own',
  },
  { events: ['socket.closed'], in: ['pausing'], why: 'the attempt has failed already' },
];

type ExternalConnectionSnapshot = SnapshotFrom<typeof externalConnectionMachine>;

/** Whether a server that is awaited may open its WebSocket. */
export const awaitsSocket = ({ value }: ExternalConnectionSnapshot): boolean =>
  value === 'connecting' || value === 'resuming';

/** Longest expected time in each state, and what ends it. */
export const externalConnectionExpectations: Expectations<ExternalConnectionSnapshot['value']> = {
  connecting: { atMost: 30_000, waitsFor: 'the server to accept the connection' },
  arrived: { atMost: 30_000, waitsFor: 'the WebSocket that the server has opened' },
  reconnecting: { atMost: 30_000, waitsFor: 'the server to accept the connection again' },
  resuming: { atMost: 30_000, waitsFor: 'the server to accept the connection again' },
  pausing: { atMost: 60_000, waitsFor: 'the next attempt to connect' },
  returned: { atMost: 30_000, waitsFor: 'the WebSocket that the server has opened again' },
};
