import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type NodeMemberEvent, nodeMemberTable } from '../machines/node-member.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import type { NodeFigures } from '../models/cluster-node.ts';

type MemberState = keyof typeof nodeMemberTable;

/** What a node tells about itself with each heartbeat. */
export type Beat = {
  name: string;
  /** Names the process. Another process starts with another epoch. */
  epoch: string;
  /** Later processes under one name have higher terms. */
  term: number;
  /** Counts changes of the applications that are connected to it. */
  revision: number;
  /** The same of its shared states; left out by earlier versions. */
  states?: number;
  figures: NodeFigures;
  /** It ends. */
  leaves?: true;
  /** It ends, and another node is to go on with its calls. */
  moves?: true;
};

/** Another node. */
export type Member = {
  readonly name: string;
  readonly state: MemberState;
  /** The process that has its name, as far as it is known. */
  readonly epoch: string | undefined;
  readonly beat: Beat | undefined;
  /** When it was heard last, in ms since the Unix epoch. */
  readonly heardAt: number | undefined;
};

export interface Members {
  /** All other nodes that are known, by name. */
  list(): Member[];
  find(name: string): Member | undefined;
  /** A node is known by its name and process alone. */
  know(name: string, epoch: string | undefined): void;
  /** A node is no node of the cluster any more. */
  forget(name: string): void;
  /** Takes a heartbeat of another node. */
  hear(beat: Beat): void;
  close(): void;
}

type MembersOptions = {
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  suspectAfterMs: number;
  awayAfterMs: number;
  most: number;
  hit(): void;
  /** A node is there, maybe as a new process. */
  greet(name: string): void;
  /** A node is suspected to be lost. */
  suspect(name: string): void;
  /** A node is away. */
  drop(name: string): void;
  /** It was not heard for too long. */
  lost(node: Member): void;
  /** A heartbeat of a node that was greeted. */
  heard(beat: Beat): void;
};

type Held = {
  name: string;
  run: TableRun<MemberState, NodeMemberEvent, 'greetNode' | 'askProcess' | 'dropApplications' | 'tellLost'>;
  epoch: string | undefined;
  beat: Beat | undefined;
  heardAt: number | undefined;
  timer: unknown;
};

/** Keeps the other nodes of the cluster, each with its chart. */
export function createMembers(options: MembersOptions): Members {
  const { clock, log, suspectAfterMs, awayAfterMs } = options;
  const held = new Map<string, Held>();

  const tell = (node: Held, event: NodeMemberEvent): void => {
    const before = node.run.state;
    node.run.send(event);
    const { state } = node.run;
    if (state !== before) log.info({ node: node.name, before, state }, 'the state of a cluster node changed');
  };
  const wait = (node: Held): void => {
    clock.clearTimeout(node.timer);
    const lose = () => tell(node, { type: 'lost' });
    node.timer = clock.setTimeout(() => {
      tell(node, { type: 'overdue' });
      node.timer = clock.setTimeout(lose, awayAfterMs - suspectAfterMs);
    }, suspectAfterMs);
  };
  const add = (name: string): Held | undefined => {
    if (held.size >= options.most) {
      options.hit();
      return undefined;
    }
    const effects = {
      greetNode: () => options.greet(name),
      askProcess: () => options.suspect(name),
      dropApplications: () => options.drop(name),
      tellLost: () => options.lost(shown(node)),
    };
    const run: Held['run'] = new TableRun(nodeMemberTable, 'joining', effects, { watch: options.tables, id: name });
    const node: Held = { name, run, epoch: undefined, beat: undefined, heardAt: undefined, timer: undefined };
    held.set(name, node);
    wait(node);
    return node;
  };

  const shown = ({ name, run, epoch, beat, heardAt }: Held): Member => ({
    ...{ name, state: run.state, epoch, beat, heardAt },
  });
  const remove = (node: Held): void => {
    clock.clearTimeout(node.timer);
    tell(node, { type: 'left' });
    held.delete(node.name);
  };
  /** Its process ends; its calls do not. */
  const leaveCalls = (node: Held): void => {
    clock.clearTimeout(node.timer);
    tell(node, { type: 'left' });
  };
  return {
    list: () => [...held.values()].map(shown).sort((one, other) => (one.name < other.name ? -1 : 1)),
    find(name) {
      const node = held.get(name);
      return node && shown(node);
    },
    know(name, epoch) {
      const node = held.get(name) ?? add(name);
      if (node) node.epoch ??= epoch;
    },
    forget(name) {
      const node = held.get(name);
      if (node) remove(node);
    },
    hear(beat) {
      const node = held.get(beat.name) ?? (beat.leaves ? undefined : add(beat.name));
      if (!node) return;
      const { beat: before } = node;
      // A process that has lost its name does not know it yet.
      if (before && before.term > beat.term && node.run.state !== 'away') return;
      node.beat = beat;
      node.heardAt = clock.now();
      // It has ended its calls: nothing of it is missing.
      if (beat.leaves) return remove(node);
      if (beat.moves) return leaveCalls(node);
      node.epoch = beat.epoch;
      wait(node);
      // Another process has this name: the objects of the previous one are gone.
      if (before && before.epoch !== beat.epoch) tell(node, { type: 'left' });
      tell(node, { type: 'heard' });
      options.heard(beat);
    },
    close() {
      for (const { timer } of held.values()) clock.clearTimeout(timer);
    },
  };
}
