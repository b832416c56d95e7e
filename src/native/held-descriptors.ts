import { fstatSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { type DescriptorLink, mostDescriptors } from './descriptor-link.ts';

/** How long descriptors wait for others to be sent with them, in ms: a call that is shorter costs nothing. */
const gatherMs = 100;
/** Numbers of inodes in one message: it holds 8 KB. */
const mostDropped = 500;

/** The message to the holder beside the descriptors that it now holds. */
export type HoldMessage = { drop?: readonly number[] };

/**
 * Gives the supervisor copies of sockets, so that they stay open when this process is killed. It knows them by their
 * inodes, which are the same in both processes.
 */
export class HeldDescriptors {
  readonly #link: Pick<DescriptorLink, 'send'>;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  /** Held, or about to be, by descriptor: the inode. */
  readonly #inodes = new Map<number, number>();
  #coming: number[] = [];
  #going: number[] = [];
  #isPlanned = false;

  constructor(link: Pick<DescriptorLink, 'send'>, clock: Pick<Clock, 'setTimeout'>) {
    this.#link = link;
    this.#clock = clock;
  }

  /** Has a socket held, soon. The holder knows whether it has it already. */
  hold(descriptor: number): void {
    this.#inodes.set(descriptor, fstatSync(descriptor).ino);
    this.#coming.push(descriptor);
    this.#plan();
  }

  /** Has a socket no longer held. Call it before the socket is closed. */
  drop(descriptor: number): void {
    const inode = this.#inodes.get(descriptor);
    if (inode === undefined) return;
    this.#inodes.delete(descriptor);
    const at = this.#coming.indexOf(descriptor);
    if (at >= 0) this.#coming.splice(at, 1);
    else {
      this.#going.push(inode);
      this.#plan();
    }
  }

  /** Has a socket no longer held that another process or thread had held. */
  release(descriptor: number): void {
    this.#going.push(fstatSync(descriptor).ino);
    this.#plan();
  }

  /** Sends what waits. Descriptors that the link refuses are not held. */
  readonly flush = (): void => {
    this.#isPlanned = false;
    while (this.#going.length > 0) {
      const drop = this.#going.slice(0, mostDropped);
      // A socket that stays held would keep its port: it is tried again.
      if (!this.#send({ drop })) {
        this.#plan();
        return;
      }
      this.#going.splice(0, drop.length);
    }
    while (this.#coming.length > 0) {
      const descriptors = this.#coming.splice(0, mostDescriptors);
      if (!this.#send({}, descriptors)) for (const each of descriptors) this.#inodes.delete(each);
    }
  };

  #send(message: HoldMessage, descriptors: readonly number[] = []): boolean {
    return this.#link.send(JSON.stringify(message), descriptors);
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.setTimeout(this.flush, gatherMs);
  }
}
