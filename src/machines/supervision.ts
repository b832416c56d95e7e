import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';

/** Bounds of a supervisor; the server that it starts tells those of its configuration. */
export type SupervisionBounds = {
  /** ms that a start may take. */
  startTimeoutMs: number;
  /** A server that has run for so many ms did not crash at once. */
  steadyMs: number;
  /** Pause in ms behind the second crash at once; each further one doubles it. */
  pauseMs: number;
  /** The longest pause, in ms. */
  mostPauseMs: number;
  /** Crashes at once, one behind the other, that are one too many. */
  mostCrashes: number;
  /** ms that a server may take to leave its calls to the next one. */
  leaveTimeoutMs: number;
  /** Whether a second process waits, with its code loaded, to go on at once behind a crash. */
  standby: boolean;
};

export type SupervisionInput = { id: string } & SupervisionBounds;

type SupervisionContext = SupervisionInput & {
  /** Crashes since a server last ran steadily. */
  crashes: number;
  /** Exit code of the server that ended last. */
  code: number;
  /** Whether any server was ready. */
  hasRun: boolean;
  /** The server that starts may have read the configuration before it changed. */
  reloadsLater: boolean;
};

export type SupervisionEvent =
  /** The server has read its configuration and waits for its sockets. */
  | { type: 'server.prepared' }
  /** It has restored the calls of a server that ended meanwhile. */
  | { type: 'server.restored' }
  /** The server takes calls. */
  | { type: 'server.ready' }
  /** The server's process has ended. */
  | { type: 'server.ended'; how: 'done' | 'refused' | 'crashed'; code: number }
  /** The server has told the bounds of its configuration. */
  | { type: 'server.bounds'; bounds: SupervisionBounds }
  /** The next server has read its configuration and waits. */
  | { type: 'successor.prepared' }
  | { type: 'successor.ended' }
  /** It has restored the calls, and can take over their audio. */
  | { type: 'successor.restored' }
  /** The server has written its state and stands still, but for its audio. */
  | { type: 'server.left' }
  /** Its audio has ended. */
  | { type: 'server.silent' }
  | { type: 'upgrade' }
  /** The configuration is to be read again. */
  | { type: 'reload' }
  | { type: 'stop'; signal: 'SIGTERM' | 'SIGINT' };

const supervision = setup({
  types: {
    input: {} as SupervisionInput,
    context: {} as SupervisionContext,
    events: {} as SupervisionEvent,
  },
  actions: {
    /** Starts a server: answers with `server.prepared` or `server.ended`. One that is being prepared is taken. */
    startServer: effect('startServer'),
    /** The successor is the server from now on. */
    promoteSuccessor: effect('promoteSuccessor'),
    /** Gives the server its sockets: answers with `server.ready` or `server.ended`. */
    beginServer: effect('beginServer'),
    /** The server goes on with the audio. `isWhole`: the one before has written where it ended. */
    goOnWithAudio: effect<{ isWhole: boolean }>('goOnWithAudio'),
    /** Starts the next server beside the present one: answers with `successor.prepared` or `successor.ended`. */
    prepareSuccessor: effect<{ role: 'standby' | 'upgrade' }>('prepareSuccessor'),
    /** Ends the next server. */
    dropSuccessor: effect('dropSuccessor'),
    /** The server that asked for the upgrade hears why it goes on. */
    refuseUpgrade: effect<{ reason: string }>('refuseUpgrade'),
    /** The server writes what it has and ends; its calls stay. */
    askToLeave: effect('askToLeave'),
    /** The successor restores the calls, whose audio stays where it is: answers with `successor.restored`. */
    beginSuccessor: effect('beginSuccessor'),
    /** The server ends its audio: answers with `server.silent`. */
    silenceServer: effect('silenceServer'),
    /** Ends a server that does not answer. */
    killServer: effect('killServer'),
    /** The server reads its configuration again. */
    passReload: effect('passReload'),
    /** Logs that no process stands by. */
    tellNoStandby: effect('tellNoStandby'),
    /** Passes on a signal. */
    passSignal: effect<{ signal: 'SIGTERM' | 'SIGINT' }>('passSignal'),
    /** Logs that there will be no further start. */
    tellGivenUp: effect('tellGivenUp'),
  },
  guards: {
    isCrash: ({ event }) => event.type === 'server.ended' && event.how === 'crashed',
    hasRun: ({ context }) => context.hasRun,
    wantsStandby: ({ context }) => context.standby,
    reloadsLater: ({ context }) => context.reloadsLater,
    isOneTooMany: ({ context, event }) =>
      event.type === 'server.ended' && event.how === 'crashed' && context.crashes + 1 >= context.mostCrashes,
    isFirstCrash: ({ context, event }) =>
      event.type === 'server.ended' && event.how === 'crashed' && context.crashes === 0,
  },
  delays: {
    startTimeout: ({ context }) => context.startTimeoutMs,
    steadyTime: ({ context }) => context.steadyMs,
    mostPause: ({ context }) => context.mostPauseMs,
    leaveTimeout: ({ context }) => context.leaveTimeoutMs,
    pause: ({ context }) => Math.min(context.mostPauseMs, context.pauseMs * 2 ** Math.max(0, context.crashes - 2)),
  },
});

const keepCode = supervision.assign({
  code: ({ event, context }) => (event.type === 'server.ended' ? event.code : context.code),
});
const countCrash = supervision.assign({
  crashes: ({ context }) => context.crashes + 1,
  code: ({ event, context }) => (event.type === 'server.ended' ? event.code : context.code),
});
const passSignal = {
  type: 'passSignal',
  params: ({ event }: { event: SupervisionEvent }) => ({
    signal: event.type === 'stop' ? event.signal : ('SIGTERM' as const),
  }),
} as const;
const prepare = (role: 'standby' | 'upgrade') => ({ type: 'prepareSuccessor', params: { role } }) as const;
const refuse = (reason: string) => ({ type: 'refuseUpgrade', params: { reason } }) as const;

/** A crash starts the server again: the first one at once, others after a pause. */
const onCrash = [
  { guard: 'isOneTooMany', target: 'gaveUp', actions: [countCrash, 'tellGivenUp'] },
  { guard: 'isFirstCrash', target: 'starting', reenter: true, actions: countCrash },
  { guard: 'isCrash', target: 'backingOff', actions: countCrash },
] as const;

const reloadLater = supervision.assign({ reloadsLater: true });
const forgetCrashes = supervision.assign({ crashes: 0 });
const goOn = (isWhole: boolean) => ({ type: 'goOnWithAudio', params: { isWhole } }) as const;
/** A server that ran steadily has ended. */
const oneTooMany = {
  guard: 'isOneTooMany',
  target: 'gaveUp',
  actions: [countCrash, 'tellGivenUp', 'dropSuccessor'],
} as const;
const endedItself = { target: 'ended', actions: [keepCode, 'dropSuccessor'] } as const;
const onSteadyEnd = [oneTooMany, { guard: 'isCrash', target: 'starting', actions: countCrash }, endedItself] as const;
/** The server starts. */
const onStart = {
  // The signal would end a process that does not listen for it yet.
  reload: { actions: reloadLater },
  'server.ended': [
    ...onCrash,
    // The configuration or an address cannot be used: that may pass, and calls wait.
    { guard: 'hasRun', target: 'backingOff', actions: countCrash },
    { target: 'ended', actions: keepCode },
  ],
  stop: { target: 'stopping', actions: passSignal },
  upgrade: { actions: refuse('the server is starting') },
} as const;
/** The server leaves its calls to the next one. */
const onLeaving = {
  upgrade: { actions: refuse('an upgrade is under way') },
  reload: { actions: reloadLater },
} as const;
/** The prepared process has an old configuration or version. */
const onStandby = {
  stop: { target: 'stopping', actions: ['dropSuccessor', passSignal] },
  upgrade: { target: 'upgrading', actions: 'dropSuccessor' },
  reload: { target: 'preparingStandby', reenter: true, actions: ['passReload', 'dropSuccessor'] },
} as const;

/**
 * Keeps a server running. The supervisor holds the server's sockets, so nothing that is sent to them is refused while
 * the next process starts. In an upgrade the next server is prepared beside the present one, which then leaves its
 * calls to it. With `standby`, the next server is prepared as soon as the present one runs steadily. So calls do not
 * wait for its start.
 */
export const supervisionMachine = supervision.createMachine({
  id: 'supervision',
  context: ({ input }) => ({ ...input, crashes: 0, code: 0, hasRun: false, reloadsLater: false }),
  initial: 'starting',
  on: {
    reload: { actions: 'passReload' },
    'server.bounds': {
      actions: supervision.assign(({ event }) => (event.type === 'server.bounds' ? event.bounds : {})),
    },
  },
  states: {
    /** The server reads its configuration. */
    starting: {
      entry: 'startServer',
      on: { ...onStart, 'server.prepared': { target: 'beginning', actions: 'beginServer' } },
      after: { startTimeout: { actions: 'killServer' } },
    },
    /** The server has its sockets, and restores the calls. */
    beginning: {
      on: {
        ...onStart,
        // The one before has ended meanwhile.
        'server.restored': { actions: goOn(false) },
        'server.ready': [
          {
            guard: 'reloadsLater',
            target: 'running',
            actions: [supervision.assign({ hasRun: true, reloadsLater: false }), 'passReload'],
          },
          { target: 'running', actions: supervision.assign({ hasRun: true }) },
        ],
      },
      after: { startTimeout: { actions: 'killServer' } },
    },
    running: {
      on: {
        'server.ended': [...onCrash, { target: 'ended', actions: keepCode }],
        stop: { target: 'stopping', actions: passSignal },
        upgrade: 'upgrading',
      },
      after: {
        steadyTime: [
          { guard: 'wantsStandby', target: 'preparingStandby', actions: forgetCrashes },
          { actions: forgetCrashes },
        ],
      },
    },
    /** The server runs steadily; the next one is being prepared. */
    preparingStandby: {
      entry: prepare('standby'),
      on: {
        ...onStandby,
        'server.ended': onSteadyEnd,
        'successor.prepared': 'standingBy',
        'successor.ended': { target: 'withoutStandby', actions: 'tellNoStandby' },
      },
      after: { startTimeout: { target: 'withoutStandby', actions: ['dropSuccessor', 'tellNoStandby'] } },
    },
    /** The server runs; the next one is prepared. */
    standingBy: {
      on: {
        ...onStandby,
        'server.ended': [
          oneTooMany,
          { guard: 'isCrash', target: 'beginning', actions: [countCrash, 'promoteSuccessor', 'beginServer'] },
          endedItself,
        ],
        'successor.ended': { target: 'withoutStandby', actions: 'tellNoStandby' },
      },
    },
    /** The server runs; the next one could not be prepared. */
    withoutStandby: {
      on: {
        'server.ended': onSteadyEnd,
        stop: { target: 'stopping', actions: passSignal },
        upgrade: 'upgrading',
        reload: { target: 'preparingStandby', actions: 'passReload' },
      },
      after: { mostPause: 'preparingStandby' },
    },
    backingOff: {
      on: { stop: { target: 'ended', actions: supervision.assign({ code: 0 }) } },
      after: { pause: 'starting' },
    },
    /** The next server is being prepared; the present one works. */
    upgrading: {
      entry: prepare('upgrade'),
      on: {
        'successor.prepared': 'handingOver',
        'successor.ended': { target: 'running', actions: refuse('the new version did not start; see its log') },
        'server.ended': [
          // What is prepared starts in its place.
          { guard: 'isCrash', target: 'starting', actions: [countCrash, 'dropSuccessor'] },
          { target: 'ended', actions: [keepCode, 'dropSuccessor'] },
        ],
        stop: { target: 'stopping', actions: ['dropSuccessor', passSignal] },
        upgrade: { actions: refuse('an upgrade is under way') },
        reload: { actions: ['passReload', reloadLater] },
      },
      after: {
        startTimeout: {
          target: 'running',
          actions: ['dropSuccessor', refuse('the new version did not start in time')],
        },
      },
    },
    /** The present server leaves. */
    handingOver: {
      entry: 'askToLeave',
      on: {
        ...onLeaving,
        'server.left': 'takingOver',
        'server.ended': { target: 'beginning', actions: ['promoteSuccessor', 'beginServer'] },
        'successor.ended': 'leavingToNone',
        stop: { target: 'stopping', actions: ['dropSuccessor', passSignal] },
      },
      after: { leaveTimeout: { actions: 'killServer' } },
    },
    /** The next server restores the calls; the present one does nothing but send and take their audio. */
    takingOver: {
      entry: 'beginSuccessor',
      on: {
        ...onLeaving,
        'successor.restored': 'silencing',
        'server.ended': { target: 'beginning', actions: 'promoteSuccessor' },
        'successor.ended': { target: 'leavingToNone', actions: 'killServer' },
        stop: { target: 'stopping', actions: ['dropSuccessor', 'killServer'] },
      },
      after: { leaveTimeout: { actions: 'killServer' } },
    },
    /** The present server writes where its audio ends. */
    silencing: {
      entry: 'silenceServer',
      on: {
        ...onLeaving,
        'server.silent': { target: 'beginning', actions: ['promoteSuccessor', goOn(true)] },
        'server.ended': { target: 'beginning', actions: ['promoteSuccessor', goOn(false)] },
        'successor.ended': { target: 'leavingToNone', actions: 'killServer' },
        stop: { target: 'stopping', actions: ['dropSuccessor', 'killServer'] },
      },
      after: { leaveTimeout: { actions: 'killServer' } },
    },
    /** The next server has ended. What the present one has written is there for a third one. */
    leavingToNone: {
      on: {
        ...onLeaving,
        'server.left': { actions: 'killServer' },
        'server.ended': 'starting',
        stop: { target: 'stopping', actions: passSignal },
      },
      after: { leaveTimeout: { actions: 'killServer' } },
    },
    stopping: {
      on: {
        // One that had not begun is ended by the signal itself.
        'server.ended': [
          { guard: 'isCrash', target: 'ended', actions: supervision.assign({ code: 0 }) },
          { target: 'ended', actions: keepCode },
        ],
        stop: { actions: passSignal },
        upgrade: { actions: refuse('the server is stopping') },
      },
    },
    ended: { type: 'final' },
    gaveUp: { type: 'final' },
  },
});

/** Ignored events, with reasons. */
export const supervisionIgnores: Ignores<typeof supervisionMachine> = [
  {
    events: ['server.ready', 'server.prepared', 'server.restored'],
    why: 'it is further already, or ends',
  },
  { events: ['server.ended', 'upgrade'], in: ['backingOff'], why: 'no server runs' },
  {
    events: ['server.left', 'server.silent', 'successor.restored'],
    why: 'another one goes on already, or the calls end',
  },
  {
    events: ['successor.prepared', 'successor.ended'],
    why: 'no upgrade waits for it: it was dropped, or is the server now',
  },
];
