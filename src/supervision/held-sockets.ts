import { closeSync, fstatSync } from 'node:fs';
import type { Logger } from '../lib/log.ts';
import { type DescriptorLink, mostDescriptors } from '../native/descriptor-link.ts';
import type { HoldMessage } from '../native/held-descriptors.ts';

/** A copy of a socket, and which server in turn had it last. */
type Held = { descriptor: number; server: number };

/** The copies of a server's sockets that a supervisor holds. It never reads them. */
export class HeldSockets {
  most: number;
  readonly #log: Logger;
  /** By inode, which is the same in both processes; those that were told of last at the end. */
  readonly #held = new Map<number, Held>();
  #server = 0;
  #isFull = false;

  constructor(most: number, log: Logger) {
    this.most = most;
    this.#log = log;
  }

  get size(): number {
    return this.#held.size;
  }

  take({ drop = [] }: HoldMessage, descriptors: readonly number[]): void {
    for (const descriptor of descriptors) this.#add(descriptor);
    for (const inode of drop) this.#drop(inode);
  }

  /** Sends copies of all to the next server, which tells of those that it takes up. @returns the number of messages; undefined: not all could be sent. */
  sendTo(link: Pick<DescriptorLink, 'send'>): number | undefined {
    const all = [...this.#held.values()].map(({ descriptor }) => descriptor);
    this.#server++;
    let messages = 0;
    for (let at = 0; at < all.length; at += mostDescriptors, messages++)
      if (!link.send('{}', all.slice(at, at + mostDescriptors))) return undefined;
    return messages;
  }

  #add(descriptor: number): void {
    const { ino } = fstatSync(descriptor);
    const known = this.#held.get(ino);
    if (known) {
      closeSync(descriptor);
      this.#held.delete(ino);
    } else if (this.#held.size >= this.most && !this.#dropStale()) {
      closeSync(descriptor);
      if (this.#isFull) return;
      this.#isFull = true;
      this.#log.warn(
        { most: this.most },
        'the limit of held sockets is reached (supervisor.sockets): a crash closes the others',
      );
      return;
    }
    this.#held.set(ino, { descriptor: known?.descriptor ?? descriptor, server: this.#server });
  }

  /** Makes room: drops a socket that the present server has not taken up. @returns whether there is one. */
  #dropStale(): boolean {
    const [oldest] = this.#held;
    if (!oldest || oldest[1].server === this.#server) return false;
    this.#drop(oldest[0]);
    return true;
  }

  #drop(inode: number): void {
    const held = this.#held.get(inode);
    if (!held) return;
    this.#held.delete(inode);
    closeSync(held.descriptor);
    this.#isFull = false;
  }
}
