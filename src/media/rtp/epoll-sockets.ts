import { isIPv6 } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { HeldDescriptors } from '../../native/held-descriptors.ts';
import type { InheritedSockets } from '../../native/inherited.ts';
import {
  type AddressFamily,
  AddressMemory,
  addressFamily,
  addressRoom,
  SocketAddress,
} from '../../native/socket-address.ts';
import {
  checked,
  closeOnExec,
  epollEvent,
  failure,
  ipv6Level,
  ipv6Only,
  nonBlocking,
  type SystemCalls,
  socketLevel,
} from '../../native/system-calls.ts';
import { longestSecret } from '../srtp/sealer.ts';
import type { Descriptors } from './descriptors.ts';
import { type FastRelayEnd, type FastRelayPlan, FastRelays } from './fast-relays.ts';
import { type PacketListener, type PacketSocket, receiveBufferBytes, type Sockets } from './sockets.ts';
import type { PacketAddress } from './source-lock.ts';

/** Numbers of Linux, of socket(2), socket(7) and epoll_ctl(2). */
const datagram = 2;
const receiveBuffer = 8;
const add = 1;
const readable = 1;
/** MSG_TRUNC of recv(2): the length told is that of the whole datagram. */
const truncated = 0x20;

/** Octets of the longest packet, and of the read buffer for consecutive packets. */
const longestPacket = 16_384;
const slabBytes = 131_072;
/** Sockets that one call finds, and how often such calls follow each other before others have their turn. */
const foundAtOnce = 256;
const roundsAtOnce = 8;
/** Between two looks, in ms; and when nothing was found that many times in a row. */
const paceMs = 1;
const idlePaceMs = 5;
const idleLooks = 200;

type EpollSocketsOptions = {
  calls: SystemCalls;
  clock: Pick<Clock, 'monotonic' | 'setTimeout' | 'clearTimeout' | 'soon'>;
  /** List of open descriptors. */
  descriptors: Descriptors;
  /** Descriptors from this number on are for others; left out, all may be taken. */
  reservedFrom?: number | undefined;
  /** A supervisor holds the sockets, and those that it held for another process or thread are taken up. */
  held?: HeldSockets | undefined;
};

/** Sockets that a supervisor holds. */
export type HeldSockets = {
  inherited: Pick<InheritedSockets, 'claim'>;
  descriptors: Pick<HeldDescriptors, 'hold' | 'drop'>;
};

/**
 * UDP sockets read by system calls. One epoll descriptor knows which have data. Every millisecond each of those is read
 * in turn, so that busy sockets do not delay others. This costs no event-loop turn per packet, but 1000 wake-ups per
 * second: it suits threads with many sockets.
 */
export class EpollSockets implements Sockets {
  readonly #options: EpollSocketsOptions;
  readonly #epoll: number;
  readonly #epollEntry: number;
  /** Open sockets, by descriptor. */
  readonly #sockets: (EpollSocket | undefined)[] = [];
  #open = 0;
  readonly #events = new Int32Array(new ArrayBuffer(foundAtOnce * epollEvent.words * 4));
  readonly #eventsAt: number;
  readonly #memory: AddressMemory;
  readonly #room: Room;
  readonly #fastRelays: FastRelays;
  /** Numbers the looks. */
  #looks = 0;
  #nothingFound = 0;
  #timer: unknown;
  /** A read pass is running or due, and plans the next one; or none is wanted yet. */
  #looking = false;

  /** @throws Error with `code` EMFILE and the like. */
  constructor(options: EpollSocketsOptions) {
    this.#options = options;
    const { calls } = options;
    this.#epoll = checked(calls, 'epoll_create1', calls.epoll_create1(closeOnExec));
    this.#epollEntry = this.#note(this.#epoll);
    this.#eventsAt = calls.addressOf(this.#events);
    this.#memory = new AddressMemory(calls);
    this.#room = new Room(calls, this.#memory.at);
    this.#fastRelays = new FastRelays(calls, this.#memory);
  }

  async bind(address: string, port: number, bufferBytes = receiveBufferBytes): Promise<PacketSocket> {
    const { calls, held } = this.#options;
    const family = isIPv6(address) ? addressFamily.ipv6 : addressFamily.ipv4;
    const inherited = this.#claim(family, address, port);
    const descriptor =
      inherited ?? checked(calls, 'socket', calls.socket(family, datagram | nonBlocking | closeOnExec, 0));
    this.#refuseReserved(descriptor);
    const entry = this.#note(descriptor);
    const retire = (): void => held?.descriptors.drop(descriptor);
    const close = (): void => {
      retire();
      calls.close(descriptor);
      this.#options.descriptors.forget(entry);
    };
    try {
      if (inherited === undefined) this.#bind(descriptor, family, address, port);
      calls.setsockopt(descriptor, socketLevel, receiveBuffer, new Int32Array([bufferBytes]), 4);
      const bound = this.#watch(descriptor);
      held?.descriptors.hold(descriptor);
      const closed = (): void => {
        this.#sockets[descriptor] = undefined;
        close();
        if (--this.#open === 0) this.#rest();
      };
      const shared = { calls, memory: this.#memory, fastRelays: this.#fastRelays };
      const socket = new EpollSocket({ ...shared, descriptor, family, port: bound, retire, closed });
      if (this.#open++ === 0 && !this.#looking) this.#plan();
      this.#sockets[descriptor] = socket;
      return socket;
    } catch (error) {
      close();
      throw error;
    }
  }

  hold(): void {
    this.#looking = true;
  }

  goOn(): void {
    this.#looking = false;
    if (this.#open > 0) this.#plan();
  }

  /** Closes all sockets and the epoll descriptor. */
  close(): void {
    for (const socket of this.#sockets.slice()) socket?.close();
    this.#options.calls.close(this.#epoll);
    this.#options.descriptors.forget(this.#epollEntry);
  }

  /** The socket on that address that waits for its user. */
  #claim(family: AddressFamily, address: string, port: number): number | undefined {
    const { calls, held } = this.#options;
    if (!held || port === 0 || !new SocketAddress(calls, this.#memory).write(family, address, port)) return undefined;
    return held.inherited.claim('datagrams', this.#memory.words);
  }

  #bind(descriptor: number, family: AddressFamily, address: string, port: number): void {
    const { calls } = this.#options;
    const memory = this.#memory;
    const own = new SocketAddress(calls, memory);
    if (!own.write(family, address, port)) throw failure('bind', 'EINVAL');
    // The any-address accepts both families, independent of the system's setting (ipv6(7)).
    if (address === '::') calls.setsockopt(descriptor, ipv6Level, ipv6Only, new Int32Array([0]), 4);
    checked(calls, 'bind', calls.bind(descriptor, memory.octets, own.length));
  }

  /** Has a bound socket read. @returns its port. */
  #watch(descriptor: number): number {
    const { calls } = this.#options;
    const memory = this.#memory;
    const own = new SocketAddress(calls, memory);
    checked(calls, 'getsockname', calls.getsockname(descriptor, memory.octets, new Uint32Array([addressRoom])));
    const event = new Int32Array(epollEvent.words);
    event[0] = readable;
    event[epollEvent.data] = descriptor;
    checked(calls, 'epoll_ctl', calls.epoll_ctl(this.#epoll, add, descriptor, event));
    own.look();
    return own.port;
  }

  /** The system gives the lowest number that is free: so nearly all below a high one are in use. */
  #refuseReserved(descriptor: number): void {
    const { calls, reservedFrom = Number.POSITIVE_INFINITY } = this.#options;
    if (descriptor < reservedFrom) return;
    calls.close(descriptor);
    throw failure('socket', 'EMFILE');
  }

  #note(descriptor: number): number {
    const entry = this.#options.descriptors.note(descriptor);
    if (entry !== undefined) return entry;
    this.#options.calls.close(descriptor);
    throw failure('socket', 'EMFILE');
  }

  #plan(): void {
    const { clock } = this.#options;
    this.#timer = clock.setTimeout(this.#look, this.#nothingFound < idleLooks ? paceMs : idlePaceMs);
  }

  #rest(): void {
    this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#nothingFound = 0;
  }

  /** Reads available packets, and repeats while there are more, after other work had its turn. */
  readonly #look = (): void => {
    this.#looking = true;
    let more = true;
    try {
      more = this.#read();
    } finally {
      this.#looking = more && this.#open > 0;
      if (this.#looking) this.#options.clock.soon(this.#look);
      else if (this.#open > 0) this.#plan();
    }
  };

  /** @returns whether there may be more. */
  #read(): boolean {
    const { calls, clock } = this.#options;
    const fastRelays = this.#fastRelays;
    const room = this.#room;
    const look = ++this.#looks;
    for (let round = 0; round < roundsAtOnce; round++) {
      const found = calls.epoll_wait(this.#epoll, this.#eventsAt, foundAtOnce, 0);
      if (round === 0) this.#nothingFound = found > 0 ? 0 : this.#nothingFound + 1;
      if (found <= 0) return false;
      let again = found === foundAtOnce;
      const now = clock.monotonic();
      for (let event = 0; event < found; event++) {
        const descriptor = this.#events[event * epollEvent.words + epollEvent.data]!;
        // An event of one that another one's listener has closed meanwhile.
        if (
          fastRelays.opens(descriptor) ? this.#pass(descriptor, look, now) : this.#sockets[descriptor]?.read(room, look)
        )
          again = true;
      }
      // Audio arrives packet by packet: other sockets are not read again in this pass.
      if (!again) return false;
    }
    return true;
  }

  /**
   * Relays one packet of a socket with a fast relay, without the socket object. @returns as {@link EpollSocket.read}.
   */
  #pass(descriptor: number, look: number, now: number): boolean {
    const room = this.#room;
    const fastRelays = this.#fastRelays;
    const length = receive(this.#options.calls, descriptor, room);
    if (length < 0) return false;
    const isBusy = fastRelays.heard(descriptor, look);
    if (!fastRelays.pass(descriptor, room, length, now)) this.#sockets[descriptor]?.hear(room, length);
    return isBusy;
  }
}

/**
 * Reads one packet into the buffer. @returns its length; negative if there is none, for an earlier send error, or for a
 * packet that is too long.
 */
function receive(calls: SystemCalls, descriptor: number, room: Room): number {
  const packetAt = room.next();
  const length = calls.recvfrom(descriptor, packetAt, longestPacket, truncated, room.addressAt, room.lengthAt);
  return length > longestPacket ? -1 : length;
}

/** Read buffer: consecutive packets, so that each can be kept without a copy. */
class Room {
  readonly #calls: SystemCalls;
  readonly #length = new Uint32Array(new ArrayBuffer(4));
  /** Addresses of the length and the address for system calls. */
  readonly lengthAt: number;
  readonly addressAt: number;
  #slab = Buffer.alloc(0);
  #slabAt = 0;
  #used = 0;
  /** The last packet's memory, as buffer and for system calls. */
  get slab(): Buffer {
    return this.#slab;
  }

  get used(): number {
    return this.#used;
  }

  get packetAt(): number {
    return this.#slabAt + this.#used;
  }

  constructor(calls: SystemCalls, addressAt: number) {
    this.#calls = calls;
    this.addressAt = addressAt;
    this.lengthAt = calls.addressOf(this.#length);
  }

  /** Space for a packet of up to {@link longestPacket} octets, and for what SRTP adds when it is passed on. */
  next(): number {
    this.#length[0] = addressRoom;
    if (this.#slab.length - this.#used < longestPacket + longestSecret) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#slabAt = this.#calls.addressOf(this.#slab);
      this.#used = 0;
    }
    return this.#slabAt + this.#used;
  }

  /** The packet that went there. */
  take(length: number): Buffer {
    const packet = this.#slab.subarray(this.#used, this.#used + length);
    this.#used += length;
    return packet;
  }
}

type EpollSocketOptions = {
  calls: SystemCalls;
  descriptor: number;
  family: AddressFamily;
  memory: AddressMemory;
  fastRelays: FastRelays;
  port: number;
  /** Nobody holds the descriptor any more. */
  retire: () => void;
  /** Closes the descriptor. */
  closed: () => void;
};

class EpollSocket implements PacketSocket {
  readonly port: number;
  readonly copies = true;
  readonly retire: () => void;
  readonly #calls: SystemCalls;
  readonly #descriptor: number;
  readonly #family: AddressFamily;
  readonly #closed: () => void;
  readonly #fastRelays: FastRelays;
  /** Source and destination of the last packets. */
  readonly #source: SocketAddress;
  readonly #destination: SocketAddress;
  /** Address memory of system calls. */
  readonly #memory: AddressMemory;
  #listener: PacketListener | undefined;
  /** Number of the look that found a packet last. */
  #heardAt = -2;
  #open = true;

  constructor({ calls, descriptor, family, memory, fastRelays, port, retire, closed }: EpollSocketOptions) {
    this.port = port;
    this.#calls = calls;
    this.#descriptor = descriptor;
    this.#family = family;
    this.retire = retire;
    this.#closed = closed;
    this.#fastRelays = fastRelays;
    this.#memory = memory;
    this.#source = new SocketAddress(calls, memory);
    this.#destination = new SocketAddress(calls, memory);
  }

  send(packet: Uint8Array, port: number, address: string): void {
    const destination = this.#destination;
    if (!this.#open || !destination.write(this.#family, address, port)) return;
    // Any error, even a full kernel buffer, only loses the packet.
    this.#calls.sendto(this.#descriptor, packet, packet.length, 0, this.#memory.at, destination.length);
  }

  listen(listener: PacketListener | undefined): void {
    this.endFastRelays(true);
    this.#listener = listener;
  }

  passOn(to: PacketSocket, target: PacketAddress, plan: FastRelayPlan): boolean {
    if (!(to instanceof EpollSocket) || to.#fastRelays !== this.#fastRelays) return false;
    const [source, destination] = [this.#source, to.#destination];
    if (!this.#open || !to.#open || !this.#listener) return false;
    if (!destination.write(to.#family, target.address, target.port)) return false;
    return this.#fastRelays.begin(
      fastRelayEnd(this.#descriptor, source),
      fastRelayEnd(to.#descriptor, destination),
      plan,
    );
  }

  settleFastRelay(): void {
    this.#fastRelays.settle(this.#descriptor);
  }

  endFastRelays(both: boolean): void {
    if (both) this.#fastRelays.end(this.#descriptor);
    else this.#fastRelays.endFrom(this.#descriptor);
  }

  close(): void {
    if (!this.#open) return;
    this.endFastRelays(true);
    this.#open = false;
    this.#listener = undefined;
    this.#closed();
  }

  /** Reads one packet, if any. @returns whether the previous pass had one, too: there may be more. */
  read(room: Room, look: number): boolean {
    const length = receive(this.#calls, this.#descriptor, room);
    if (length < 0) return false;
    const isBusy = look - this.#heardAt <= 1;
    this.#heardAt = look;
    this.hear(room, length);
    return isBusy;
  }

  /** Hears the packet that was read last. */
  hear(room: Room, length: number): void {
    const listener = this.#listener;
    if (!listener) return;
    const source = this.#source;
    source.look();
    listener(room.take(length), source.address, source.port);
  }
}

const fastRelayEnd = (descriptor: number, { first, second, words }: SocketAddress): FastRelayEnd => ({
  ...{ descriptor, first, second, words },
});
