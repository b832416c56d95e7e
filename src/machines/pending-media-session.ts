import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

/** A command of a session, and its answer where it cannot be carried out. */
export type SessionTask<Session> = { run(session: Session): void; failed(reason: string): void };

/** `Session` is the type of the session that is opened. */
export type PendingMediaSessionEvent<Session = unknown> =
  /** The port is open. */
  | { type: 'session.opened'; session: Session }
  /** No port can be had. */
  | { type: 'opening.failed'; error: unknown }
  /** Somebody uses the session. */
  | { type: 'task'; task: SessionTask<Session> }
  | { type: 'close' };

const effects = {
  keepSession: effect('keepSession'),
  /** Carries out waiting tasks in their order. */
  runWaiting: effect('runWaiting'),
  refuseWaiting: effect('refuseWaiting'),
  tellFailed: effect('tellFailed'),
  queueTask: effect('queueTask'),
  runTask: effect('runTask'),
  refuseTask: effect('refuseTask'),
  closeSession: effect('closeSession'),
};
const session = setup({ types: { events: {} as PendingMediaSessionEvent }, actions: effects });

/** The media session of a leg, usable before its port is open. */
export const pendingMediaSessionMachine = session.createMachine({
  id: 'pendingMediaSession',
  initial: 'opening',
  states: {
    opening: {
      on: {
        'session.opened': { target: 'open', actions: ['keepSession', 'runWaiting'] },
        'opening.failed': { target: 'failed', actions: ['refuseWaiting', 'tellFailed'] },
        task: { actions: 'queueTask' },
        close: { target: 'closed', actions: 'refuseWaiting' },
      },
    },
    open: { on: { task: { actions: 'runTask' }, close: { target: 'closed', actions: 'closeSession' } } },
    failed: { on: { task: { actions: 'refuseTask' }, close: 'closed' } },
    /** It takes no task. A session that comes too late is closed. */
    closed: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const pendingMediaSessionIgnores: Ignores<typeof pendingMediaSessionMachine> = [
  { events: ['session.opened'], in: ['open', 'failed'], why: 'a port is opened once' },
  { events: ['opening.failed'], in: ['open', 'failed'], why: 'the outcome is known' },
];

export type PendingMediaSessionEffect = keyof typeof effects;

/** The chart as a table. */
export const pendingMediaSessionTable = plainTable<typeof pendingMediaSessionMachine, PendingMediaSessionEffect>(
  pendingMediaSessionMachine,
);
