import { isIPv6 } from 'node:net';
import type { ListenAddress, ListeningSockets, SocketUse } from '../lib/listening-sockets.ts';
import type { HandoverCalls } from './handover-calls.ts';
import type { HeldDescriptors } from './held-descriptors.ts';
import type { InheritedSockets } from './inherited.ts';
import { AddressMemory, addressFamily, addressRoom, SocketAddress } from './socket-address.ts';
import {
  checked,
  closeOnExec,
  failure,
  ipv6Level,
  ipv6Only,
  nonBlocking,
  type SystemCalls,
  socketLevel,
} from './system-calls.ts';

/** Numbers of Linux, of socket(2), socket(7) and fcntl(2). */
const types: Readonly<Record<SocketUse, number>> = { connections: 1, datagrams: 2 };
const reuseAddress = 2;
const typeOfSocket = 3;
const acceptsConnections = 30;
const duplicate = 1030;
/** As Node has it; the system bounds it. */
const backlog = 511;

type Options = {
  calls: SystemCalls;
  handover: HandoverCalls;
  inherited: InheritedSockets;
  held: HeldDescriptors;
};

/**
 * Opens sockets of the main thread by system calls: those of Node cannot be held by another process, which would read
 * them. Each stays open until this process ends, and is reused for its address.
 */
export class HeldListeningSockets implements ListeningSockets {
  readonly #options: Options;
  readonly #memory: AddressMemory;
  /** By use and address. */
  readonly #open = new Map<string, number>();
  /** Established connections that the process before has left. */
  #left: number[] = [];

  constructor(options: Options) {
    this.#options = options;
    this.#memory = new AddressMemory(options.calls);
  }

  open(use: SocketUse, address: ListenAddress): number {
    const key = `${use} ${address.host} ${address.port}`;
    const known = address.port === 0 ? undefined : this.#open.get(key);
    const descriptor = known ?? this.#take(use, address);
    const { calls, handover } = this.#options;
    const copy = checked(calls, 'fcntl', handover.fcntl(descriptor, duplicate, 0));
    if (known === undefined) {
      this.#options.held.hold(descriptor);
      this.#open.set(address.port === 0 ? `${key} ${descriptor}` : key, descriptor);
    }
    return copy;
  }

  isLeft(use: SocketUse, { host, port }: ListenAddress): boolean {
    const { calls, inherited } = this.#options;
    const family = isIPv6(host) ? addressFamily.ipv6 : addressFamily.ipv4;
    const isAddress = new SocketAddress(calls, this.#memory).write(family, host, port);
    return isAddress && inherited.has(use, this.#memory.words);
  }

  /** Lets sockets be claimed that another process or thread had. Others are closed. */
  inherit(descriptors: readonly number[]): void {
    const { calls, inherited } = this.#options;
    for (const descriptor of descriptors) {
      const use = this.#option(descriptor, typeOfSocket) === types.datagrams ? 'datagrams' : 'connections';
      if (use === 'connections' && this.#option(descriptor, acceptsConnections) === 0) {
        this.#left.push(descriptor);
        continue;
      }
      this.#memory.octets.fill(0);
      const isKnown = calls.getsockname(descriptor, this.#memory.octets, new Uint32Array([addressRoom])) >= 0;
      if (!isKnown || !inherited.add(descriptor, use, this.#memory.words)) calls.close(descriptor);
    }
  }

  leave(descriptors: readonly number[]): void {
    const { held } = this.#options;
    for (const descriptor of descriptors) held.hold(descriptor);
    // The next process has them only if this one does not end before.
    held.flush();
  }

  takeLeft(): number[] {
    const left = this.#left;
    this.#left = [];
    // Held on, a connection would stay open when this process closes it.
    for (const descriptor of left) this.#options.held.release(descriptor);
    return left;
  }

  /** Closes what was inherited and what nobody has claimed; it is no longer held. */
  closeRest(): void {
    const { calls, held, inherited } = this.#options;
    for (const descriptor of this.takeLeft()) calls.close(descriptor);
    for (const descriptor of inherited.claimRest()) {
      held.release(descriptor);
      calls.close(descriptor);
    }
    held.flush();
  }

  /** The value of an option of the socket itself. */
  #option(descriptor: number, option: number): number {
    const value = new Int32Array(1);
    this.#options.handover.getsockopt(descriptor, socketLevel, option, value, new Uint32Array([4]));
    return value[0]!;
  }

  #take(use: SocketUse, { host, port, ipv6Only: only }: ListenAddress): number {
    const { calls, handover, inherited } = this.#options;
    const family = isIPv6(host) ? addressFamily.ipv6 : addressFamily.ipv4;
    const own = new SocketAddress(calls, this.#memory);
    if (!own.write(family, host, port)) throw failure('bind', 'EINVAL');
    const waiting = inherited.claim(use, this.#memory.words);
    if (waiting !== undefined) return waiting;
    const type = types[use] | nonBlocking | closeOnExec;
    const descriptor = checked(calls, 'socket', calls.socket(family, type, 0));
    try {
      const set = (level: number, option: number, value: number): unknown =>
        calls.setsockopt(descriptor, level, option, new Int32Array([value]), 4);
      // Connections of an earlier process may linger on the port (socket(7)); for datagrams that would mean to share it.
      if (use === 'connections') set(socketLevel, reuseAddress, 1);
      if (family === addressFamily.ipv6) set(ipv6Level, ipv6Only, only ? 1 : 0);
      own.write(family, host, port);
      checked(calls, 'bind', calls.bind(descriptor, this.#memory.octets, own.length));
      if (use === 'connections') checked(calls, 'listen', handover.listen(descriptor, backlog));
      return descriptor;
    } catch (error) {
      calls.close(descriptor);
      throw error;
    }
  }
}
