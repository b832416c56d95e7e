import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type NodeNameEvent, nodeNameTable } from '../machines/node-name.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import { type ClusterLink, LinkError, type LinkState } from './link.ts';

/** A process that has, or had, the name of a node. */
type Holder = {
  epoch: string;
  /** Later holders of a name have higher terms. */
  term: number;
  /** The processes whose calls it goes on with, the latest first. */
  after?: readonly string[];
};

/** What carries messages while this server has its name. Without the name it is down. */
export interface NamedLink extends ClusterLink {
  /** Names this process. */
  readonly epoch: string;
  readonly term: number;
  /** Whether another server has the name. */
  readonly isExcluded: boolean;
  /** Whether a process can be asked. */
  answers(epoch: string): Promise<boolean>;
  /** Whether NATS is reached and has no connection of a process. */
  isGone(epoch: string): Promise<boolean>;
  /** A message under the name of this node says which process has sent it. */
  heard(holder: Holder): void;
}

type NamedLinkOptions = {
  link: ClusterLink;
  name: string;
  epoch: string;
  /** Of a process that has the name already. */
  term?: number | undefined;
  /** When the calls that it goes on with were saved, in ms since the Unix epoch; undefined: it has none of a process before. */
  savedAt?: number | undefined;
  /** Another server has the name now, and may go on with the calls. */
  overtaken?(): void;
  /** Begins the subjects of the cluster. */
  cluster: string;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  requestTimeoutMs: number;
  /** How long a holder that does not answer keeps the name. */
  awayAfterMs: number;
  /** Pause before a name that was refused is claimed again. */
  retryMs: number;
};

/** The row of a node in the shared table. */
export const nodeKey = (name: string): string => `node.${name}`;

/** The row that says when the calls of a node were taken over. It stays: the node may come back much later. */
const takenKey = (name: string): string => `taken.${name}`;

/** The process that a row names; undefined for another text. */
export function holderOf(row: string | undefined): Holder | undefined {
  try {
    const { epoch, term, after } = JSON.parse(row ?? '') as Partial<Holder>;
    if (typeof epoch !== 'string' || typeof term !== 'number') return undefined;
    return { epoch, term, ...(Array.isArray(after) && { after: after.filter((each) => typeof each === 'string') }) };
  } catch {
    return undefined;
  }
}

/** Later holders win; equal terms, which only a lost table can lead to, are decided by the epoch. */
const isLater = (one: Holder, other: Holder): boolean =>
  one.term === other.term ? one.epoch > other.epoch : one.term > other.term;

const why = 'another server has the same name (cluster.name)';
type NodeNameEffect = 'takePart' | 'stopPart' | 'tellRefused' | 'leaveCalls';

const nothing = new Uint8Array(0);

/** The process that has the name is asked at a subject of its own. */
const aliveSubject = (cluster: string, epoch: string): string => `${cluster}.alive.${epoch}`;

/** Whether a process can be asked: it may not answer, or NATS has no connection of it. */
type Life = 'answers' | 'silent' | 'gone';

/** Asks whether a process lives. @throws (rejects) LinkError when NATS cannot be reached. */
async function lifeOf(
  link: Pick<ClusterLink, 'request'>,
  { cluster, epoch, timeoutMs }: { cluster: string; epoch: string; timeoutMs: number },
): Promise<Life> {
  try {
    await link.request(aliveSubject(cluster, epoch), nothing, timeoutMs);
    return 'answers';
  } catch (error) {
    const { failure } = error as LinkError;
    if (failure === 'nobody') return 'gone';
    if (failure === 'timeout') return 'silent';
    throw error;
  }
}

/** Processes that a row names besides its own. */
const mostBefore = 4;

/** The name of a lost node, which this process has claimed for one that goes on with its calls. */
export type ClaimedName = Holder & {
  readonly after: readonly string[];
  /** Ends answering in the name of the process that goes on: it answers itself, or there is none. */
  silence(): void;
};

/**
 * Claims the name of a node whose process is lost, as `lost` decides.
 * @param epoch of the process that will go on. @returns undefined: the node is not lost, is unknown, or another was faster.
 * @throws (rejects) LinkError
 */
export async function claimLostName(
  link: Pick<ClusterLink, 'request' | 'serve' | 'find' | 'replace' | 'claim'>,
  node: { cluster: string; name: string; timeoutMs: number; epoch: string; now: number },
  lost: (life: Life) => boolean,
): Promise<ClaimedName | undefined> {
  const row = await link.find(nodeKey(node.name));
  const holder = holderOf(row);
  if (row === undefined || !holder || !lost(await lifeOf(link, { ...node, epoch: holder.epoch }))) return undefined;
  // One that did not get as far as writing its state leaves that of the process before.
  const after = [holder.epoch, ...(holder.after ?? [])].slice(0, mostBefore);
  const next = { epoch: node.epoch, term: Math.max(node.now, holder.term + 1), after };
  // First: a node that reads the row asks the process that it names.
  const silence = link.serve(aliveSubject(node.cluster, node.epoch), async () => nothing);
  try {
    if (await link.replace(nodeKey(node.name), row, JSON.stringify(next))) {
      const at = String(node.now);
      const taken = await link.claim(takenKey(node.name), at);
      if (taken !== undefined) await link.replace(takenKey(node.name), taken, at);
      return { ...next, silence };
    }
  } catch (error) {
    silence();
    throw error;
  }
  silence();
  return undefined;
}

/** Claims the name for as long as it is `wanted`, and tells each time whether it was granted. */
function createClaiming(options: NamedLinkOptions, wanted: () => boolean, told: (granted: boolean) => void) {
  const { link, name, epoch, cluster, clock, log, requestTimeoutMs, awayAfterMs, retryMs } = options;
  let term = options.term ?? clock.now();
  let rival: Holder | undefined;
  /** Since when the rival does not answer. */
  let silentSince: number | undefined;
  let claiming = false;
  let timer: unknown;

  const ask = (of: string): Promise<Life> =>
    lifeOf(link, { cluster, epoch: of, timeoutMs: requestTimeoutMs }).catch(() => 'silent');
  /** Whether the holder of a name answers. One that is silent may be slow: it keeps the name for a while. */
  const isAlive = async (holder: Holder): Promise<boolean> => {
    const found = await ask(holder.epoch);
    if (found !== 'silent') {
      silentSince = undefined;
      return found === 'answers';
    }
    silentSince ??= clock.monotonic();
    return clock.monotonic() - silentSince < awayAfterMs;
  };
  const own = (): string => JSON.stringify({ epoch, term });
  /** The row of another holder; undefined if there is none, or no table. */
  const rowOfOther = async (): Promise<string | undefined> => {
    try {
      const row = await link.claim(nodeKey(name), own());
      if (row !== undefined && holderOf(row)?.epoch !== epoch) return row;
      // The row is this one's, maybe by a claim whose answer was lost: an earlier holder may live, and has been replaced.
      if (rival && !isLater(rival, { epoch, term })) rival = undefined;
      return undefined;
    } catch (error) {
      // A table that is slow may have another holder.
      if (link.state !== 'up' || (error as LinkError).failure === 'timeout') throw error;
      log.warn({ error }, 'the name of this node is not in the table of the cluster: it cannot be read or written');
      return undefined;
    }
  };
  /** Whether another server has gone on with the calls that this one began with. */
  const isTaken = async (): Promise<boolean> =>
    options.savedAt !== undefined && Number(await link.find(takenKey(name))) > options.savedAt;
  /** @returns whether this server has the name. */
  const take = async (): Promise<boolean> => {
    if (await isTaken()) return false;
    const row = await rowOfOther();
    if (row !== undefined) rival = holderOf(row);
    if (rival && (await isAlive(rival))) return false;
    if (row !== undefined) {
      term = Math.max(clock.now(), (rival?.term ?? 0) + 1);
      if (!(await link.replace(nodeKey(name), row, own()))) return false;
    }
    rival = undefined;
    silentSince = undefined;
    return true;
  };
  const again = (): void => {
    clock.clearTimeout(timer);
    if (link.state === 'up' && wanted()) timer = clock.setTimeout(claim, retryMs);
  };
  function claim(): void {
    if (claiming || link.state !== 'up') return;
    claiming = true;
    take()
      .then(
        (granted) => link.state === 'up' && told(granted),
        (error) => log.warn({ node: name, error }, 'the name of this node could not be claimed'),
      )
      .catch((error: unknown) => log.error({ error }, 'a node did not begin'))
      .finally(() => {
        claiming = false;
        again();
      });
  }

  return {
    ask,
    claim,
    get term() {
      return term;
    },
    /** Another process has the name. */
    meet(holder: Holder): void {
      rival = holder;
      again();
    },
    stop: () => clock.clearTimeout(timer),
  };
}

type Asked = 'request' | 'claim' | 'replace' | 'find' | 'reserve' | 'release' | 'keys' | 'append' | 'trim' | 'kept';

/** What asks NATS, refused by `require` while this server does not have its name. */
const guarded = (link: ClusterLink, require: () => void): Pick<ClusterLink, Asked> => {
  const whenHeld =
    <T extends unknown[], R>(run: (...asked: T) => Promise<R>) =>
    async (...asked: T): Promise<R> => {
      require();
      return run(...asked);
    };
  return {
    request: whenHeld((...asked: Parameters<ClusterLink['request']>) => link.request(...asked)),
    claim: whenHeld((key: string, value: string) => link.claim(key, value)),
    replace: whenHeld((key: string, before: string, value: string) => link.replace(key, before, value)),
    find: whenHeld((key: string) => link.find(key)),
    reserve: whenHeld((key: string, value: string) => link.reserve(key, value)),
    release: whenHeld((key: string, row?: string) => link.release(key, row)),
    keys: whenHeld((prefix: string) => link.keys(prefix)),
    append: whenHeld((subject: string, data: Uint8Array, after?: number) => link.append(subject, data, after)),
    trim: whenHeld((subject: string, before?: number) => link.trim(subject, before)),
    kept: whenHeld((subject: string) => link.kept(subject)),
  };
};

/** Claims the name of this node whenever NATS is reached, and keeps others out. */
export function createNamedLink(options: NamedLinkOptions): NamedLink {
  const { link, name, epoch, cluster, log } = options;
  const listeners: ((state: LinkState) => void)[] = [];
  const tell = (state: LinkState): void => {
    for (const listener of listeners) listener(state);
  };
  const run = new TableRun<keyof typeof nodeNameTable, NodeNameEvent, NodeNameEffect>(
    nodeNameTable,
    options.savedAt === undefined ? 'unheld' : 'lost',
    {
      takePart: () => tell('up'),
      stopPart: () => tell('lost'),
      leaveCalls: () => options.overtaken?.(),
      tellRefused: () => log.error({ node: name }, `this server takes no part in the cluster: ${why}`),
    },
    { watch: options.tables, id: name },
  );
  const isHeld = (): boolean => run.state === 'held' && link.state === 'up';
  const claiming = createClaiming(
    options,
    () => run.state !== 'held',
    (granted) => void run.send({ type: granted ? 'granted' : 'refused' }),
  );

  link.serve(aliveSubject(cluster, epoch), async () => nothing);
  link.onState((state) => {
    if (state === 'up') return claiming.claim();
    claiming.stop();
    run.send({ type: 'link.lost' });
    if (state === 'closed') tell(state);
  });
  claiming.claim();

  return {
    ...guarded(link, () => {
      if (!isHeld()) throw new LinkError(link.state === 'up' && run.state === 'excluded' ? 'excluded' : 'down');
    }),
    epoch,
    get term() {
      return claiming.term;
    },
    get isExcluded() {
      return run.state === 'excluded';
    },
    get largest() {
      return link.largest;
    },
    get state() {
      return link.state !== 'up' || isHeld() ? link.state : 'connecting';
    },
    get reason() {
      if (link.state !== 'up' || isHeld()) return link.reason;
      return run.state === 'excluded' ? why : 'the name of this node is being claimed';
    },
    onState: (listener) => void listeners.push(listener),
    publish: (subject, data) => isHeld() && link.publish(subject, data),
    hear: (subject, listener) => link.hear(subject, (data) => isHeld() && listener(data)),
    serve: (subject, answerer) => link.serve(subject, async (data) => (isHeld() ? answerer(data) : nothing)),
    answers: async (of) => (await claiming.ask(of)) === 'answers',
    isGone: async (of) => (await claiming.ask(of)) === 'gone',
    heard(holder) {
      if (holder.epoch === epoch || !isLater(holder, { epoch, term: claiming.term })) return;
      run.send({ type: 'overtaken' });
      claiming.meet(holder);
    },
    close() {
      claiming.stop();
      return link.close();
    },
  };
}
