import type { SocketUse } from '../lib/listening-sockets.ts';
import { addressRoom } from './socket-address.ts';

const uses: Readonly<Record<SocketUse, number>> = { datagrams: 1, connections: 2 };

const addressWords = addressRoom / 4;
/** Words of an entry: its state, its descriptor, its use and its address. */
const word = { state: 0, descriptor: 1, use: 2, address: 3 } as const;
const entryWords = word.address + addressWords;
const state = { free: 1, claimed: 2 } as const;
/** As many as there are ports. */
const mostEntries = 65_536;
/** The first word counts the entries. */
const firstEntry = 1;

/** Memory for sockets that wait for their user. All threads share it. */
export const newInheritedTable = (): SharedArrayBuffer =>
  new SharedArrayBuffer(4 * (firstEntry + mostEntries * entryWords));

/** Bound sockets of a process or thread that has ended, which is on the same addresses again. Each is claimed once. */
export class InheritedSockets {
  readonly table: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(table: SharedArrayBuffer) {
    this.table = table;
    this.#words = new Int32Array(table);
  }

  /** Adds a socket. @param address in the kernel's form, its unused words 0. @returns false: no room. */
  add(descriptor: number, use: SocketUse, address: Int32Array): boolean {
    const count = Atomics.load(this.#words, 0);
    if (count >= mostEntries) return false;
    const at = firstEntry + count * entryWords;
    this.#words[at + word.descriptor] = descriptor;
    this.#words[at + word.use] = uses[use];
    for (let each = 0; each < addressWords; each++) this.#words[at + word.address + each] = address[each] ?? 0;
    Atomics.store(this.#words, at + word.state, state.free);
    Atomics.store(this.#words, 0, count + 1);
    return true;
  }

  /** The socket on that address, now the caller's; undefined: there is none. */
  claim(use: SocketUse, address: Int32Array): number | undefined {
    const at = this.#find(use, address, (each) => this.#take(each));
    return at === undefined ? undefined : this.#words[at + word.descriptor]!;
  }

  /** Whether a socket on that address can be claimed. */
  has(use: SocketUse, address: Int32Array): boolean {
    const isFree = (at: number): boolean => Atomics.load(this.#words, at + word.state) === state.free;
    return this.#find(use, address, isFree) !== undefined;
  }

  /** Claims all that nobody has claimed, and forgets the others. Not while sockets may be added. */
  claimRest(): number[] {
    const count = Atomics.load(this.#words, 0);
    const rest: number[] = [];
    for (let entry = 0, at = firstEntry; entry < count; entry++, at += entryWords)
      if (this.#take(at)) rest.push(this.#words[at + word.descriptor]!);
    Atomics.store(this.#words, 0, 0);
    return rest;
  }

  #find(use: SocketUse, address: Int32Array, accepts: (at: number) => boolean): number | undefined {
    const count = Atomics.load(this.#words, 0);
    for (let entry = 0, at = firstEntry; entry < count; entry++, at += entryWords)
      if (this.#words[at + word.use] === uses[use] && this.#isAt(at, address) && accepts(at)) return at;
    return undefined;
  }

  #take(at: number): boolean {
    return Atomics.compareExchange(this.#words, at + word.state, state.free, state.claimed) === state.free;
  }

  #isAt(at: number, address: Int32Array): boolean {
    for (let each = 0; each < addressWords; each++)
      if (this.#words[at + word.address + each] !== (address[each] ?? 0)) return false;
    return true;
  }
}

/** How a media thread has its sockets held by a supervisor. */
export type SupervisedThread = {
  /** Descriptor of the process's link to it (`descriptor-link.ts`). */
  link: number;
  /** Sockets to take up, see {@link InheritedSockets}. */
  inherited: SharedArrayBuffer;
};
