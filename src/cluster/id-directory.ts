import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { Roster } from '../lib/slot-map.ts';
import { type IdDirectoryEvent, idDirectoryTable } from '../machines/id-directory.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import { AriError } from '../models/errors.ts';
import { unavailable } from './forwards.ts';
import { type ClusterLink, LinkError } from './link.ts';
import { nodeKey } from './named-link.ts';

/**
 * Who decides about ids that clients choose. A node that is alone has the directory and decides in memory: a row of the shared
 * table says so, which it renews with each heartbeat. Another node that comes waits until the first one has written its ids and
 * has removed the row. From then on each id is a row of its own.
 */
export interface IdDirectory {
  /** How an id is decided now: in memory, or by its row. Undefined: later. */
  decides(): 'memory' | 'row' | undefined;
  /** Waits while {@link decides} is undefined. @throws (rejects) AriError clusterUnavailable, clusterBusy */
  changed(): Promise<void>;
  /** Begins, when other nodes can ask this one. */
  begin(): void;
  /** Runs with each heartbeat. @param isAlone whether no other node is known */
  beat(isAlone: boolean): void;
  /** Another node has come. @returns whether it may take part now */
  share(): Promise<boolean>;
  /** Gives the directory up. */
  close(): Promise<void>;
}

type IdDirectoryOptions = {
  link: Pick<ClusterLink, 'state' | 'onState' | 'claim' | 'replace' | 'find' | 'release' | 'keys'>;
  node: string;
  epoch: string;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  /** How long an id waits at most, and how many do. */
  timeoutMs: number;
  mostWaiting: number;
  hit(): void;
  retryMs: number;
  /** How long the row of another process must stay the same before it is removed: its process is gone, or it may be slow. */
  lostAfterMs: { gone: number; silent: number };
  /** Asks another process to share. @throws (rejects) LinkError */
  ask(node: string, epoch: string): Promise<boolean>;
  /** Writes all ids that were decided in memory. It rejects if that fails. */
  write(): Promise<void>;
};

type Holder = { node: string; epoch: string; row: string };

/** The row that names the process which has the directory. */
export const directoryKey = 'directory';

/** How often a row is removed that changes meanwhile. */
const mostTries = 3;

/** Of the time after which others may take the directory away. The rest is for clocks that run at different speeds. */
const safeShare = 2 / 3;

/** Why ids wait no longer, for people. */
const late = (holder: Holder | undefined): AriError =>
  new AriError('clusterUnavailable', {
    why: holder
      ? `the node '${holder.node}' was alone, and has not told which ids are in use`
      : 'NATS does not answer in time',
  });

function holderOf(row: string): Holder | undefined {
  try {
    const { node, epoch } = JSON.parse(row) as Partial<Holder>;
    return typeof node === 'string' && typeof epoch === 'string' ? { node, epoch, row } : undefined;
  } catch {
    return undefined;
  }
}

export const createIdDirectory = (options: IdDirectoryOptions): IdDirectory => new Directory(options);

class Directory implements IdDirectory {
  readonly #options: IdDirectoryOptions;
  readonly #run: TableRun<keyof typeof idDirectoryTable, IdDirectoryEvent, 'look' | 'askHolder' | 'writeIds'>;
  readonly #waiting = new Roster<{ end(error?: AriError): void }>();
  /** Its own row, and when it was last known to be there. */
  #row = '';
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #rows = 0;
  /** The row of another process, and since when it is the same. */
  #other: (Holder & { since: number }) | undefined;
  #failure: AriError | undefined;
  #timer: unknown;
  #looks = 0;
  #renewing: Promise<void> | undefined;
  #sharing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: IdDirectoryOptions) {
    this.#options = options;
    const effects = {
      look: () => void this.#look(),
      askHolder: () => void this.#askHolder(),
      writeIds: () => {
        this.#sharing = this.#writeIds();
      },
    };
    this.#run = new TableRun(idDirectoryTable, 'lost', effects, { watch: options.tables, id: options.node });
  }

  decides(): 'memory' | 'row' | undefined {
    const { link, clock, lostAfterMs } = this.#options;
    if (this.#isClosed) return undefined;
    switch (this.#run.state) {
      case 'lost':
        // The row is refused.
        return link.state === 'up' ? undefined : 'row';
      case 'sole':
        return clock.monotonic() - this.#confirmedAt < safeShare * lostAfterMs.gone ? 'memory' : undefined;
      case 'sharing':
      case 'shared':
        return 'row';
      default:
        return undefined;
    }
  }

  async changed(): Promise<void> {
    const { clock, timeoutMs, mostWaiting, hit } = this.#options;
    if (this.#isClosed) throw unavailable(new LinkError('down'));
    const { state } = this.#run;
    if (this.#failure && (state === 'looking' || state === 'sole')) throw this.#failure;
    if (this.#waiting.size >= mostWaiting) {
      hit();
      throw new AriError('clusterBusy', { most: String(mostWaiting), limit: 'requests' });
    }
    await new Promise<void>((resolve, reject) => {
      const waiting = {
        end: (error?: AriError): void => {
          clock.clearTimeout(timer);
          this.#waiting.remove(number);
          if (error) reject(error);
          else resolve();
        },
      };
      const timer = clock.setTimeout(() => waiting.end(late(this.#other)), timeoutMs);
      const number = this.#waiting.add(waiting);
      if (state === 'sole') this.#renewing ??= this.#renew();
    });
  }

  begin(): void {
    const { link } = this.#options;
    const follow = (): void => this.#send(link.state === 'up' ? 'link.up' : 'link.lost');
    link.onState(follow);
    follow();
  }

  beat(isAlone: boolean): void {
    this.#send(isAlone ? 'deserted' : 'joined');
    if (this.#run.state === 'sole' || this.#run.state === 'sharing') this.#renewing ??= this.#renew();
  }

  async share(): Promise<boolean> {
    this.#send('joined');
    await this.#sharing;
    return this.#run.state === 'shared';
  }

  async close(): Promise<void> {
    const { clock, link, log } = this.#options;
    const { state } = this.#run;
    this.#isClosed = true;
    this.#send('link.lost');
    this.#wake();
    clock.clearTimeout(this.#timer);
    if (link.state !== 'up' || (state !== 'sole' && state !== 'sharing')) return;
    await this.#giveUp('lost').catch((error: unknown) => log.warn({ error }, 'the id directory was not given up'));
  }

  #send(type: IdDirectoryEvent['type']): void {
    const before = this.#run.state;
    this.#run.send({ type });
    if (this.#run.state !== before && this.decides() !== undefined) this.#wake();
  }

  #wake(error?: AriError): void {
    for (const waiting of [...this.#waiting]) waiting.end(error);
  }

  #again(): void {
    const { clock, retryMs } = this.#options;
    clock.clearTimeout(this.#timer);
    this.#timer = clock.setTimeout(() => this.#send('again'), retryMs);
  }

  async #look(): Promise<void> {
    const look = ++this.#looks;
    const isNow = (): boolean => look === this.#looks && this.#run.state === 'looking';
    try {
      const found = await this.#find();
      if (!isNow()) return;
      this.#failure = undefined;
      if (found === undefined) return this.#again();
      this.#send(found === 'joined' ? 'granted' : found);
      if (found === 'joined') this.#send(found);
    } catch (error) {
      if (!isNow()) return;
      this.#failure = unavailable(error);
      this.#wake(this.#failure);
      this.#again();
    }
  }

  /** @returns undefined: another process was faster. */
  async #find(): Promise<'granted' | 'joined' | 'free' | 'held' | undefined> {
    const { link, node, epoch, clock } = this.#options;
    const row = await link.find(directoryKey);
    const holder = holderOf(row ?? '');
    // An earlier process of this node has lost its name, so it decides no more.
    if (row !== undefined && holder && holder.node !== node) {
      if (this.#other?.row !== row) this.#other = { ...holder, since: clock.monotonic() };
      return 'held';
    }
    this.#other = undefined;
    if (row === undefined && (await this.#hasOthers())) return 'free';
    const own = JSON.stringify({ node, epoch, count: ++this.#rows });
    const at = clock.monotonic();
    const isOwn =
      row === undefined
        ? (await link.claim(directoryKey, own)) === undefined
        : await link.replace(directoryKey, row, own);
    if (!isOwn) return undefined;
    this.#row = own;
    this.#confirmedAt = at;
    return (await this.#hasOthers()) ? 'joined' : 'granted';
  }

  async #hasOthers(): Promise<boolean> {
    const { link, node } = this.#options;
    return (await link.keys('node')).some((key) => key !== nodeKey(node));
  }

  /** Without an answer the directory is taken away in the end. */
  async #askHolder(): Promise<void> {
    const { link, clock, log, ask, lostAfterMs } = this.#options;
    const holder = this.#other!;
    const isNow = (): boolean => this.#run.state === 'waiting' && this.#other === holder;
    try {
      let isGone = false;
      const isShared = await ask(holder.node, holder.epoch).catch((error: unknown) => {
        isGone = error instanceof LinkError && error.failure === 'nobody';
        return false;
      });
      if (!isNow()) return;
      if (isShared) return this.#send('again');
      if (clock.monotonic() - holder.since >= (isGone ? lostAfterMs.gone : lostAfterMs.silent)) {
        log.warn({ node: holder.node }, 'a node that was alone is lost; others decide about ids now');
        await link.release(directoryKey, holder.row);
        if (isNow()) return this.#send('again');
      }
    } catch (error) {
      log.warn({ error }, 'the id directory cannot be taken from a lost node; it is tried again');
    }
    if (isNow()) this.#again();
  }

  async #renew(): Promise<void> {
    const { link, node, epoch, clock, log } = this.#options;
    try {
      const next = JSON.stringify({ node, epoch, count: ++this.#rows });
      const at = clock.monotonic();
      const isOwn = await link.replace(directoryKey, this.#row, next);
      if (isOwn) {
        this.#row = next;
        this.#confirmedAt = at;
        this.#failure = undefined;
        this.#wake();
      } else this.#send('overtaken');
    } catch (error) {
      this.#failure = unavailable(error);
      if (this.decides() === undefined) this.#wake(this.#failure);
      log.warn({ error }, 'the id directory cannot be renewed; it is tried again');
    } finally {
      this.#renewing = undefined;
    }
  }

  async #writeIds(): Promise<void> {
    const { write, log } = this.#options;
    try {
      await write();
      if (await this.#giveUp('sharing')) this.#send('written');
    } catch (error) {
      log.warn({ error }, 'the ids of this node cannot be written; it is tried again');
      if (this.#run.state === 'sharing') this.#again();
    }
  }

  /**
   * Removes the row, which may be another one than the last that is known, if NATS did not answer.
   * @returns false: the state is another one by now. @throws (rejects) LinkError
   */
  async #giveUp(state: 'sharing' | 'lost'): Promise<boolean> {
    const { link, epoch } = this.#options;
    for (let left = mostTries; left > 0; left--) {
      await this.#renewing;
      const row = await link.find(directoryKey);
      // Later the row is another one: this process would have taken the directory again.
      if (this.#run.state !== state) return false;
      if (row === undefined || holderOf(row)?.epoch !== epoch) return true;
      await link.release(directoryKey, row);
    }
    throw new LinkError('timeout');
  }
}
