import { createHash } from 'node:crypto';
import type { BridgeEntry } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type BridgeLinkEvent, bridgeLinkTable } from '../machines/bridge-link.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import type { LinkAnswer, LinkFormat, LinkPlace, LinkRequest } from '../models/bridge-link.ts';

/** The audio of one node for all members of a bridge at another one. */
interface LinkAudio {
  /** Where this node receives. */
  readonly place: LinkPlace;
  readonly session: Parameters<Bridges['connect']>[1];
  /** Begins to send. @throws Error if the place cannot be used */
  start(place: LinkPlace, format: LinkFormat): void;
  /** Packets that have come so far. */
  received(): Promise<number>;
  close(): void;
}

/** Opens audio. @param near a peer's address, if it is known. @throws (rejects) Error when no port is free */
type OpenLinkAudio = (
  id: string,
  options: { near?: string | undefined; secure: boolean },
  lost: () => void,
) => Promise<LinkAudio>;

/** Asks another node. @throws (rejects) AriError nodeUnavailable, clusterBusy */
export type AskNode = (node: string, request: LinkRequest) => Promise<LinkAnswer>;

export type BridgeLinkOptions = {
  /** This node. */
  name: string;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  ask: AskNode;
  openAudio: OpenLinkAudio;
  bridges: Pick<Bridges, 'connect'>;
  /** Silence of a node after which it is lost, in ms. */
  awayAfterMs: number;
  /** Links of this node. */
  most: number;
  hit(): void;
};

/** Short for the members of one side: if it is that of the other side, both have the same. */
export const digestOf = (stays: readonly number[]): string =>
  createHash('sha256')
    .update(stays.toSorted((one, other) => one - other).join())
    .digest('base64url');

/** A sign of the other node: `unknown` = it does not have the link, `unused` = this node does not need it any more. */
export type Sign = 'heard' | 'nothing' | 'unknown' | 'unused';

type Effects = 'releaseMembers' | 'loseMembers';

/** One side of the audio between two nodes for one bridge. */
export type BridgeLink = {
  readonly id: string;
  /** The other node. */
  readonly node: string;
  readonly bridge: BridgeEntry;
  readonly audio: LinkAudio;
  readonly isOpen: boolean;
  tell(event: BridgeLinkEvent): void;
};

type LinkStart = {
  id: string;
  node: string;
  bridge: BridgeEntry;
  audio: LinkAudio;
  /** Looks for a sign of the other node. It never rejects. */
  look(link: BridgeLink): Promise<Sign>;
  effects: Readonly<Record<Effects, () => void>>;
  closed(): void;
};

/** How often a node looks for a sign of the other one, within the time after which that is lost. */
const looksWithin = 3;

/** Begins one side of a link, in the state `opening`. */
export function beginLink(options: BridgeLinkOptions, start: LinkStart): BridgeLink {
  const { clock, log, tables, ask, bridges, awayAfterMs } = options;
  const { id, node, bridge, audio, look, effects, closed } = start;
  const everyMs = awayAfterMs / looksWithin;
  const ends = bridge.actor.getSnapshot().context.home === undefined ? 'close' : 'ended';
  let leaveMix = (): void => {};
  let looking: unknown;
  let waiting: unknown;
  let received = 0;

  /** Whether audio has come since the last time. */
  const hasAudio = async (): Promise<boolean> => {
    const now = await audio.received().catch(() => received);
    const grown = now > received;
    received = now;
    return grown;
  };
  const lookOn = (): void => {
    looking = clock.setTimeout(() => {
      check()
        .catch((error: unknown) => log.error({ bridge: bridge.id, node, error }, 'a link of a bridge was not checked'))
        .finally(() => run.state !== 'closed' && lookOn());
    }, everyMs);
  };
  const check = async (): Promise<void> => {
    const seen = await look(link);
    if (seen === 'unused') run.send({ type: 'close' });
    else if (seen === 'unknown') run.send({ type: 'lost' });
    else run.send({ type: seen === 'heard' || (await hasAudio()) ? 'heard' : 'missed' });
  };

  const run = new TableRun<keyof typeof bridgeLinkTable, BridgeLinkEvent, LinkEffect>(
    bridgeLinkTable,
    'opening',
    {
      joinAudio() {
        leaveMix = bridges.connect(bridge, audio.session, node);
        lookOn();
      },
      closeAudio() {
        leaveMix();
        clock.clearTimeout(looking);
        audio.close();
        closed();
      },
      tellEnd: () => void ask(node, { do: ends, link: id }).catch(() => {}),
      awaitSign() {
        log.warn({ bridge: bridge.id, node }, 'neither an answer nor audio of the other node of a bridge has come');
        waiting = clock.setTimeout(() => run.send({ type: 'overdue' }), awayAfterMs - everyMs);
      },
      stopWaiting: () => clock.clearTimeout(waiting),
      ...effects,
    },
    { watch: tables, id: bridge.id },
  );
  const link: BridgeLink = {
    ...{ id, node, bridge, audio },
    get isOpen() {
      return run.state === 'open' || run.state === 'silent';
    },
    tell: (event) => void run.send(event),
  };
  return link;
}

type LinkEffect = 'joinAudio' | 'closeAudio' | 'tellEnd' | 'awaitSign' | 'stopWaiting' | Effects;
