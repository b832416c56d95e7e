import { closeSync, fstatSync } from 'node:fs';
import type { Logger } from '../lib/log.ts';
import { type DescriptorLink, mostDescriptors } from '../native/descriptor-link.ts';
import type { HoldMessage } from '../native/held-descriptors.ts';

/** The copies of a server's sockets that a supervisor holds. It never reads them. */
export class HeldSockets {
  most: number;
  readonly #log: Logger;
  /** By inode, which is the same in both processes. */
  readonly #held = new Map<number, number>();
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

  /** Sends copies of all to the next server. @returns the number of messages; undefined: not all could be sent. */
  sendTo(link: Pick<DescriptorLink, 'send'>): number | undefined {
    const all = [...this.#held.values()];
    let messages = 0;
    for (let at = 0; at < all.length; at += mostDescriptors, messages++)
      if (!link.send('{}', all.slice(at, at + mostDescriptors))) return undefined;
    return messages;
  }

  #add(descriptor: number): void {
    const { ino } = fstatSync(descriptor);
    const isKnown = this.#held.has(ino);
    if (!isKnown && this.#held.size < this.most) {
      this.#held.set(ino, descriptor);
      return;
    }
    closeSync(descriptor);
    if (isKnown || this.#isFull) return;
    this.#isFull = true;
    this.#log.warn(
      { most: this.most },
      'the limit of held sockets is reached (supervisor.sockets): a crash closes the others',
    );
  }

  #drop(inode: number): void {
    const descriptor = this.#held.get(inode);
    if (descriptor === undefined) return;
    this.#held.delete(inode);
    closeSync(descriptor);
    this.#isFull = false;
  }
}
