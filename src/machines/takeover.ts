import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type TakeoverEvent =
  /** The node was not heard for `cluster.take_over_after`. */
  | { type: 'overdue' }
  /** Its process is gone, and this server has its name. */
  | { type: 'claimed' }
  /** It answers, another server was faster, or NATS could not be asked. */
  | { type: 'refused' }
  /** A stand-in goes on with its calls. */
  | { type: 'started' }
  /** No stand-in could be started. */
  | { type: 'failed' }
  /** It has no calls, or its last call has ended. */
  | { type: 'ended' }
  /** It is heard again. */
  | { type: 'heard' }
  /** This server ends. */
  | { type: 'stop' };

const effects = {
  /** Asks whether its process lives, and claims its name if not. */
  claimName: effect('claimName'),
  /** Starts a server of its name with its calls. */
  startStandIn: effect('startStandIn'),
  /** Lets the calls of the stand-in end as those of a server that stops: answers with `ended`. */
  stopStandIn: effect('stopStandIn'),
  /** Answers no longer in its name: another server may claim it. */
  freeName: effect('freeName'),
  /** Nothing is left of it: it is no node any more. */
  forgetNode: effect('forgetNode'),
};
const takeover = setup({ types: { events: {} as TakeoverEvent }, actions: effects });

/** The calls of another node, which this server goes on with when the node is lost. */
export const takeoverMachine = takeover.createMachine({
  id: 'takeover',
  initial: 'watching',
  states: {
    watching: { on: { overdue: { target: 'claiming', actions: 'claimName' }, stop: { target: 'stopped' } } },
    claiming: {
      on: {
        claimed: { target: 'starting', actions: 'startStandIn' },
        refused: { target: 'watching' },
        stop: { target: 'lettingGo' },
      },
    },
    starting: {
      on: {
        started: { target: 'running' },
        failed: { target: 'failed', actions: 'freeName' },
        ended: { target: 'watching', actions: ['freeName', 'forgetNode'] },
        stop: { target: 'stoppingStart' },
      },
    },
    /** The stand-in has its name. */
    running: {
      on: {
        ended: { target: 'watching', actions: 'freeName' },
        stop: { target: 'stopping', actions: 'stopStandIn' },
      },
    },
    /** Another server may try. */
    failed: { on: { heard: { target: 'watching' }, stop: { target: 'stopped' } } },
    /** This server ends while the name is being claimed: no stand-in starts. */
    lettingGo: {
      on: { claimed: { target: 'stopped', actions: 'freeName' }, refused: { target: 'stopped' } },
    },
    /** This server ends while the stand-in starts: it is stopped as soon as it has the calls. */
    stoppingStart: {
      on: {
        started: { target: 'stopping', actions: 'stopStandIn' },
        failed: { target: 'stopped', actions: 'freeName' },
        ended: { target: 'stopped', actions: ['freeName', 'forgetNode'] },
      },
    },
    /** The calls of the stand-in end. */
    stopping: { on: { ended: { target: 'stopped', actions: 'freeName' } } },
    stopped: {},
  },
});

/** What it ignores, and why. */
export const takeoverIgnores: Ignores<typeof takeoverMachine> = [
  {
    events: ['claimed', 'refused'],
    in: ['watching', 'starting', 'running', 'failed', 'stoppingStart', 'stopping', 'stopped'],
    why: 'the name is not being claimed',
  },
  {
    events: ['started', 'failed'],
    in: ['watching', 'claiming', 'running', 'failed', 'lettingGo', 'stopping', 'stopped'],
    why: 'no stand-in is being started',
  },
  { events: ['ended'], in: ['watching', 'claiming', 'failed', 'lettingGo', 'stopped'], why: 'there is no stand-in' },
  { events: ['overdue'], in: ['claiming', 'starting', 'running', 'failed'], why: 'it was overdue before' },
  {
    events: ['heard'],
    in: ['watching', 'claiming', 'starting', 'running'],
    why: 'only a failed attempt waits for that',
  },
  {
    events: ['overdue', 'heard', 'stop'],
    in: ['lettingGo', 'stoppingStart', 'stopping', 'stopped'],
    why: 'this server ends',
  },
];

type TakeoverEffect = keyof typeof effects;

/** The chart as a table. */
export const takeoverTable = plainTable<typeof takeoverMachine, TakeoverEffect>(takeoverMachine);
