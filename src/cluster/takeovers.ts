import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import { type TakeoverEvent, takeoverTable } from '../machines/takeover.ts';
import type { Members } from './members.ts';
import { type ClaimedName, claimLostName, type NamedLink } from './named-link.ts';

/** A server that goes on with the calls of a lost node. */
export type StandIn = {
  /** Resolves when its last call has ended. */
  ended: Promise<void>;
  /** Lets its calls end as those of a server that stops, and ends it. */
  stop(): Promise<void>;
};

type TakeoversOptions = {
  link: NamedLink;
  members: Pick<Members, 'list'>;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  cluster: string;
  requestTimeoutMs: number;
  /** How often nodes are looked at. */
  lookMs: number;
  /** Silence of a node whose process is gone. */
  afterMs: number;
  /** Silence of a node whose process has a connection with NATS and does not answer; 0: it is never lost. */
  silentAfterMs: number;
  /** Stand-ins at the same time. */
  most: number;
  hit(): void;
  newEpoch(): string;
  /** Starts a stand-in; undefined: the node has no calls. @throws (rejects) Error with the reason. */
  start(node: string, claimed: ClaimedName): Promise<StandIn | undefined>;
  /** Removes the node. @throws (rejects) */
  forget(node: string): Promise<void>;
};

/** Goes on with the calls of lost nodes. */
export interface Takeovers {
  readonly standIns: number;
  /** Ends all stand-ins in an orderly way, and looks no more. */
  close(): Promise<void>;
}

type Run = TableRun<keyof typeof takeoverTable, TakeoverEvent, keyof Effects>;
type Effects = Record<'claimName' | 'startStandIn' | 'stopStandIn' | 'freeName' | 'forgetNode', () => void>;

/** One other node. */
type Watched = {
  run: Run;
  claimed: ClaimedName | undefined;
  standIn: StandIn | undefined;
  silentMs: number;
  /** Hears each step of its chart, while this server ends. */
  moved: () => void;
};

/** Begins to look at all other nodes. */
export function createTakeovers(options: TakeoversOptions): Takeovers {
  const { link, members, clock, lookMs, afterMs } = options;
  const watched = new Map<string, Watched>();
  /** Since when this node hears others; undefined while it does not. */
  let upSince: number | undefined;
  let timer: unknown;

  const watch = (name: string): Watched => {
    const effects = effectsOf(name, () => node, options);
    const run: Run = new TableRun(takeoverTable, 'watching', effects, { watch: options.tables, id: name });
    const node: Watched = { run, claimed: undefined, standIn: undefined, silentMs: 0, moved() {} };
    watched.set(name, node);
    return node;
  };
  const busy = (): number => [...watched.values()].filter(({ run }) => isBusy(run.state)).length;
  const look = (): void => {
    const now = clock.now();
    upSince = link.state === 'up' ? (upSince ?? now) : undefined;
    const found = upSince === undefined ? [] : members.list();
    for (const { name, heardAt, beat } of found) {
      const silentMs = beat?.moves ? afterMs : now - Math.max(heardAt ?? 0, upSince ?? now);
      if (silentMs < afterMs) {
        watched.get(name)?.run.send({ type: 'heard' });
        continue;
      }
      const node = watched.get(name) ?? watch(name);
      node.silentMs = silentMs;
      if (!node.run.takes('overdue')) continue;
      if (busy() < options.most) node.run.send({ type: 'overdue' });
      else options.hit();
    }
    const names = new Set(found.map(({ name }) => name));
    for (const [name, { run }] of watched) if (!names.has(name) && !isBusy(run.state)) watched.delete(name);
    timer = clock.setTimeout(look, lookMs);
  };
  look();

  return {
    get standIns() {
      return [...watched.values()].filter(({ standIn }) => standIn).length;
    },
    async close() {
      clock.clearTimeout(timer);
      await Promise.all([...watched.values()].map(stopped));
    },
  };
}

/** Stops what goes on for a node. Resolves when no stand-in of it runs or starts. */
function stopped(node: Watched): Promise<void> {
  const { run } = node;
  return new Promise((resolve) => {
    const before = node.moved;
    node.moved = () => {
      before();
      if (run.state === 'stopped') resolve();
    };
    run.send({ type: 'stop' });
    node.moved();
  });
}

const isBusy = (state: keyof typeof takeoverTable): boolean =>
  state === 'claiming' || state === 'starting' || state === 'running';

function effectsOf(name: string, nodeOf: () => Watched, options: TakeoversOptions): Effects {
  const { link, clock, log, cluster, requestTimeoutMs: timeoutMs, silentAfterMs } = options;
  const claim = async (): Promise<TakeoverEvent> => {
    const node = nodeOf();
    node.claimed = await claimLostName(
      link,
      { cluster, name, timeoutMs, epoch: options.newEpoch(), now: clock.now() },
      (life) => life === 'gone' || (life === 'silent' && silentAfterMs > 0 && node.silentMs >= silentAfterMs),
    );
    return { type: node.claimed ? 'claimed' : 'refused' };
  };
  const send = (event: TakeoverEvent): void => {
    const node = nodeOf();
    node.run.send(event);
    node.moved();
  };
  const start = async (): Promise<TakeoverEvent> => {
    const node = nodeOf();
    log.warn({ node: name, silent_ms: node.silentMs }, 'a node is lost; its calls are taken over');
    const standIn = await options.start(name, node.claimed!);
    if (!standIn) return { type: 'ended' };
    node.standIn = standIn;
    void standIn.ended.then(() => {
      node.standIn = undefined;
      send({ type: 'ended' });
      log.info({ node: name }, 'the calls of a lost node have ended');
    });
    return { type: 'started' };
  };
  const then = (done: Promise<TakeoverEvent>, failed: TakeoverEvent['type'], what: string): void =>
    void done
      .catch((error: unknown): TakeoverEvent => {
        log.error({ node: name, error }, what);
        return { type: failed };
      })
      .then(send);
  return {
    claimName: () => then(claim(), 'refused', 'the name of a lost node could not be claimed'),
    startStandIn: () => then(start(), 'failed', 'the calls of a lost node could not be taken over'),
    stopStandIn() {
      const stopping = async (): Promise<TakeoverEvent> => {
        await nodeOf().standIn?.stop();
        return { type: 'ended' };
      };
      then(stopping(), 'ended', 'a stand-in did not end in an orderly way');
    },
    freeName: () => nodeOf().claimed?.silence(),
    forgetNode: () =>
      void options
        .forget(name)
        .catch((error: unknown) => log.warn({ node: name, error }, 'a lost node was not removed')),
  };
}
