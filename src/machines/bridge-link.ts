import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

export type BridgeLinkEvent =
  /** Both nodes know where the other one sends audio to. */
  | { type: 'opened' }
  /** The other node refused, or did not answer in time. */
  | { type: 'refused' }
  /** The other node answers, or its audio comes. */
  | { type: 'heard' }
  /** Neither an answer nor audio has come for a while. */
  | { type: 'missed' }
  /** Nothing has come for `cluster.away_after`. */
  | { type: 'overdue' }
  /** The other node does not know the link any more. */
  | { type: 'lost' }
  /** The media plane of this node lost the audio. */
  | { type: 'failed' }
  /** The other node has ended the link. */
  | { type: 'ended' }
  /** This node has no use for the link any more. */
  | { type: 'close' };

const effects = {
  /** The bridge hears the audio of the other node, and is heard there. */
  joinAudio: effect('joinAudio'),
  closeAudio: effect('closeAudio'),
  /** Tells the other node that the link has ended. */
  tellEnd: effect('tellEnd'),
  /** Waits for a sign of the other node, `cluster.away_after` at most. */
  awaitSign: effect('awaitSign'),
  stopWaiting: effect('stopWaiting'),
  /** The members that are joined by the link leave. */
  releaseMembers: effect('releaseMembers'),
  /** They leave, and applications hear of it from this node: the other one cannot tell them. */
  loseMembers: effect('loseMembers'),
};
const link = setup({ types: { events: {} as BridgeLinkEvent }, actions: effects });

/** What ends a link that is open. */
const ending = {
  lost: { target: 'closed', actions: ['stopWaiting', 'closeAudio', 'loseMembers'] },
  failed: { target: 'closed', actions: ['stopWaiting', 'tellEnd', 'closeAudio', 'releaseMembers'] },
  ended: { target: 'closed', actions: ['stopWaiting', 'closeAudio', 'releaseMembers'] },
  close: { target: 'closed', actions: ['stopWaiting', 'tellEnd', 'closeAudio'] },
} as const;

/**
 * The audio between a bridge and its members at one other node, as each of the two nodes sees it. The node of the bridge
 * opens it, for all members of the other node together.
 */
export const bridgeLinkMachine = link.createMachine({
  id: 'bridgeLink',
  initial: 'opening',
  states: {
    opening: {
      on: {
        opened: { target: 'open', actions: 'joinAudio' },
        refused: { target: 'closed', actions: ['tellEnd', 'closeAudio'] },
        failed: { target: 'closed', actions: ['tellEnd', 'closeAudio'] },
        ended: { target: 'closed', actions: 'closeAudio' },
        close: { target: 'closed', actions: ['tellEnd', 'closeAudio'] },
      },
    },
    open: { on: { ...ending, missed: { target: 'silent', actions: 'awaitSign' } } },
    /** The other node may be lost. Without NATS, audio that still comes shows that it is not. */
    silent: {
      on: {
        ...ending,
        heard: { target: 'open', actions: 'stopWaiting' },
        overdue: { target: 'closed', actions: ['closeAudio', 'loseMembers'] },
      },
    },
    closed: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const bridgeLinkIgnores: Ignores<typeof bridgeLinkMachine> = [
  {
    events: ['heard', 'missed', 'overdue', 'lost'],
    in: ['opening'],
    why: 'the request that opens it has a time limit of its own',
  },
  { events: ['heard', 'overdue'], in: ['open'], why: 'nothing is missing' },
  { events: ['missed'], in: ['silent'], why: 'it waits for a sign already' },
  { events: ['opened', 'refused'], in: ['open', 'silent'], why: 'it was opened' },
];

type BridgeLinkEffect = keyof typeof effects;

/** The chart as a table. */
export const bridgeLinkTable = plainTable<typeof bridgeLinkMachine, BridgeLinkEffect>(bridgeLinkMachine);
