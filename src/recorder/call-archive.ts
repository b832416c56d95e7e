import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { CallDetail } from '../models/call.ts';
import type { CallRecord } from './call-record.ts';
import type { Calls } from './calls.ts';
import type { Recorder } from './recorder.ts';

/** Where ended calls are written. A place tells where a call is. */
export interface CallDisk<Place> {
  /** Resolves to its place; undefined if it could not be written. */
  append(call: CallDetail, earlier?: Place): Promise<Place | undefined>;
}

type ArchiveOptions<Place> = {
  recorder: Recorder;
  detail: Calls['detail'];
  disk: CallDisk<Place>;
  clock: Pick<Clock, 'now' | 'soon'>;
  log: Logger;
  /** Calls that are written a second at most. Read at every use. */
  most(): number;
};

/** A call is written when it has ended for so long: its last messages have come, in ms. */
const restMs = 3_000;
/** How often calls are written, in s: `Recorder.onExpiry`. */
const passSeconds = 5;
/** Rows of an ordinary call, written to the file of a stored one. */
const rowsOfCall = 100;

/**
 * Writes ended calls to the disk. Every 5 s it files some of what was captured, and writes the calls that ended: at most so many.
 * While more is recorded than it may file, it waits, so that it costs nothing under load. A call that changes afterwards, or is masked, is written again in place of the earlier
 * version. The last calls of a process that is killed are lost.
 */
export class CallArchive<Place> {
  readonly #options: ArchiveOptions<Place>;
  #running: Promise<void> | undefined;
  #closed = false;
  /** Entries that were recorded until the last look. */
  #order = 0;

  constructor(options: ArchiveOptions<Place>) {
    this.#options = options;
    options.recorder.onExpiry = () => {
      const { recorder, most } = options;
      const recorded = recorder.order - this.#order;
      this.#order = recorder.order;
      if (!this.#closed && recorded <= most() * passSeconds * rowsOfCall) this.#run(restMs);
    };
  }

  /** Writes what is left, as many calls as in 5 s. Resolves when it is written. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#options.recorder.onExpiry = () => {};
    await this.#running;
    this.#run(0);
    await this.#running;
  }

  #run(rest: number): void {
    if (this.#running || this.#options.most() === 0 || !this.#options.recorder.on) return;
    this.#running = this.#write(rest)
      .catch((error) => this.#options.log.error({ error }, 'cannot store ended calls'))
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #write(rest: number): Promise<void> {
    const { recorder, clock, most } = this.#options;
    let left = Math.ceil(most() * passSeconds);
    for (let calls = left; calls > 0; calls--) {
      if (recorder.settleSome(rowsOfCall)) break;
      await this.#turn();
    }
    const due = clock.now() - rest;
    const waiting: CallRecord[] = [];
    for (const call of recorder.endedCalls) {
      if (call.ended === undefined || call.ended > due || left === 0) break;
      if (call.stored?.changed === call.changed && call.stored.mask === call.mask) continue;
      waiting.push(call);
      left--;
    }
    for (const call of waiting) {
      await this.#store(call);
      await this.#turn();
    }
  }

  async #store(call: CallRecord): Promise<void> {
    // It may have been dropped, joined to another one, or begun again.
    if (call.gone || call.into || call.ended === undefined) return;
    const { detail, disk } = this.#options;
    const { changed, mask, stored } = call;
    const place = await disk.append(detail(call), stored?.place as Place | undefined);
    call.stored = { changed, mask, place: place ?? stored?.place };
  }

  /** Others have their turn. */
  #turn(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.soon(resolve));
  }
}
