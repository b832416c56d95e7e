import type { Static } from 'typebox';
import { type SnapshotFrom, setup } from 'xstate';
import { extended, object, text } from '../models/plain-schema.ts';
import { effect } from './effect.ts';
import type { Expectations } from './expectations.ts';
import type { Ignores } from './ignores.ts';

const ApplicationInput = object({ name: text });
export type ApplicationInput = Static<typeof ApplicationInput>;

export const ApplicationContext = extended(ApplicationInput, {
  /** Id of the connection that it is reached through; '' while it is away. */
  connection: text,
});
export type ApplicationContext = Static<typeof ApplicationContext>;

export type ApplicationEvent =
  /** A connection registers the application, for the first time or again. */
  | { type: 'connect'; connection: string; subscribeAll: boolean }
  /** A connection has closed. */
  | { type: 'disconnect'; connection: string }
  /** It has no subscription to a channel, bridge or endpoint left. */
  | { type: 'subscriptions.ended' };

/** `connection` is the one that lost the application and gets the event. */
export type ApplicationFact = { type: 'ApplicationReplaced'; connection: string };

const application = setup({
  types: {
    input: {} as ApplicationInput,
    context: {} as ApplicationContext,
    events: {} as ApplicationEvent,
    emitted: {} as ApplicationFact,
  },
  actions: {
    /** Sends the application's events through a connection from now on. */
    attachConnection: effect<{ connection: string; subscribeAll: boolean }>('attachConnection'),
    /** Drops its events from now on, and what it subscribed to with "all". */
    detachConnection: effect('detachConnection'),
    /** Answers with `subscriptions.ended` when nothing holds the application. */
    reviewSubscriptions: effect('reviewSubscriptions'),
  },
  guards: {
    isCurrentConnection: ({ context }, { connection }: { connection: string }) => context.connection === connection,
  },
});

type Connect = Extract<ApplicationEvent, { type: 'connect' }>;

const attach = {
  type: 'attachConnection',
  params: ({ event }: { event: Connect }) => ({ connection: event.connection, subscribeAll: event.subscribeAll }),
} as const;
const keepConnection = application.assign({
  connection: ({ event, context }) => (event.type === 'connect' ? event.connection : context.connection),
});
const replaced = application.emit(({ context }) => ({ type: 'ApplicationReplaced', connection: context.connection }));

/**
 * An application as a client registers it. While its connection is away it stays known as long as something references
 * it: a subscription to a channel (every channel in the application is one), bridge or endpoint. It ends with the last
 * reference. (Asterisk checks only when an application comes or goes, or a channel leaves or moves. These are the
 * moments when the last subscription can end. The exceptions are DELETE and the end of the object. After these Asterisk
 * keeps the name until its next check.)
 *
 * Subscriptions and filter are not in the context. They change with every call and live in `bus/`. A client restores
 * them by registering and subscribing again.
 */
export const applicationMachine = application.createMachine({
  id: 'application',
  context: ({ input }) => ({ ...input, connection: '' }),
  initial: 'inactive',
  states: {
    inactive: {
      on: {
        connect: { target: 'active', actions: [keepConnection, attach] },
        'subscriptions.ended': 'gone',
      },
    },
    active: {
      on: {
        connect: { actions: [replaced, keepConnection, attach] },
        // The closing of a connection that lost the application before is no matter of the application.
        disconnect: {
          guard: { type: 'isCurrentConnection', params: ({ event }) => ({ connection: event.connection }) },
          target: 'inactive',
          actions: [application.assign({ connection: '' }), 'detachConnection', 'reviewSubscriptions'],
        },
      },
    },
    gone: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const applicationIgnores: Ignores<typeof applicationMachine> = [
  { events: ['disconnect'], in: ['inactive'], why: 'it has no connection that could close' },
  { events: ['subscriptions.ended'], in: ['active'], why: 'an open connection keeps it' },
];

type ApplicationSnapshot = SnapshotFrom<typeof applicationMachine>;

/** Whether channels may enter it: it is registered and its connection is there. */
export const isActiveApplication = (snapshot: ApplicationSnapshot): boolean => snapshot.value === 'active';

/** Longest expected time in each state, and what ends it. */
export const applicationExpectations: Expectations<ApplicationSnapshot['value']> = {
  inactive: { atMost: 30_000, waitsFor: 'its WebSocket to connect again' },
};
