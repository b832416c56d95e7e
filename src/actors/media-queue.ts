import { type MediaQueueEffect, type MediaQueueEvent, mediaQueueTable } from '../machines/media-queue.ts';
import { TableRun, type Watched } from '../machines/table-run.ts';

/** Something that sounds on a target, or listens to it, and must have it for itself while it runs. */
export interface QueuedWork {
  /** Its kind, for works that wait behind it; left out if it has no name. */
  readonly kind?: 'playback' | 'recording';
  /** Its id, where it has one. */
  readonly id?: string;
  /** Starts the work at the head of the queue. Called once; may call {@link MediaQueue.finished} synchronously. */
  begin(): void;
  /** The target has ended. Called once, whether the work runs or waits; it then ends itself. */
  abandon(): void;
}

type QueueEvent = MediaQueueEvent<QueuedWork>;
type Arrival = Extract<QueueEvent, { work: QueuedWork }>;

/**
 * The playbacks and recordings of one target, one after another in request order. Nothing runs in parallel and nothing
 * is skipped: a cancelled work ends when its turn comes.
 */
export class MediaQueue {
  readonly #works: QueuedWork[] = [];
  readonly #onIdle: () => void;
  readonly #watched: Watched | undefined;
  #run: TableRun<keyof typeof mediaQueueTable, QueueEvent, MediaQueueEffect> | undefined;

  /**
   * @param onIdle runs whenever the last work has finished, and once when the queue is closed
   * @param watched who sees the chart: from the first work to the end of the last
   */
  constructor(onIdle: () => void, watched?: Watched) {
    this.#onIdle = onIdle;
    this.#watched = watched;
  }

  #send(event: QueueEvent): boolean {
    if (!this.#run || this.#run.state === 'drained') this.#run = this.#start();
    return this.#run.send(event);
  }

  #start() {
    return new TableRun<keyof typeof mediaQueueTable, QueueEvent, MediaQueueEffect>(
      mediaQueueTable,
      'idle',
      {
        keepWork: ({ work, at }: Arrival) => this.#works.splice(at, 0, work),
        beginFirst: () => this.#works[0]?.begin(),
        abandonAll: () => {
          for (const work of this.#works.splice(0)) work.abandon();
        },
        tellIdle: () => this.#onIdle(),
      },
      this.#watched,
    );
  }

  /**
   * Puts work at the end; on an idle queue it begins before this returns, on a closed one it is abandoned. `begun`: it
   * runs already (work that is restored again), and is the first.
   */
  add(work: QueuedWork, begun = false): void {
    this.#add({ type: begun ? 'work.restored' : 'work.added', work, at: this.#works.length });
  }

  #add(arrival: Arrival): void {
    if (this.#send(arrival)) this.#advance();
    else arrival.work.abandon();
  }

  /**
   * Puts unnamed work, of a queue that is restored, where it was: behind something, and behind other unnamed work there;
   * before everything where that is not said, or is not there.
   */
  insert(work: QueuedWork, behind: { kind: string; id: string } | undefined): void {
    let at = behind ? this.#works.findIndex(({ kind, id }) => kind === behind.kind && id === behind.id) + 1 : 0;
    while (this.#works[at] && this.#works[at]?.kind === undefined) at++;
    // A work that runs is not displaced.
    this.#add({ type: 'work.added', work, at: this.#run?.takes('work.ended') ? Math.max(at, 1) : at });
  }

  /** The last named work: work that is added now waits behind it. */
  get last(): { kind: 'playback' | 'recording'; id: string } | undefined {
    for (let at = this.#works.length - 1; at >= 0; at--) {
      const { kind, id } = this.#works[at] as QueuedWork;
      if (kind !== undefined && id !== undefined) return { kind, id };
    }
    return undefined;
  }

  /** Called by a work that has ended; the next one starts. Unknown works are ignored. */
  finished(work: QueuedWork): void {
    const position = this.#works.indexOf(work);
    if (position === -1) return;
    this.#works.splice(position, 1);
    if (position === 0) this.#send({ type: 'work.ended' });
    this.#advance();
  }

  /** The target has ended: abandons the running work, then the waiting ones, in order. Nothing starts afterwards. */
  close(): void {
    this.#send({ type: 'close' });
  }

  get size(): number {
    return this.#works.length;
  }

  /** A loop, because work may end while it begins, and a thousand of those in a row must not nest. */
  #advance(): void {
    while (this.#works.length > 0 && this.#send({ type: 'work.due' })) this.#send({ type: 'work.begun' });
    if (this.#works.length === 0) this.#run?.send({ type: 'queue.emptied' });
  }
}
