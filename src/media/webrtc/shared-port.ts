import type { Clock } from '../../lib/clock.ts';
import { type LimitHit, uncounted } from '../../lib/limit-counts.ts';
import { SlotMap } from '../../lib/slot-map.ts';
import { isBindingRequest, isStun } from '../../lib/stun.ts';
import type { IceNames, PacketListener, PacketSocket, Sockets } from '../rtp/sockets.ts';
import type { PacketAddress } from '../rtp/source-lock.ts';
import { readCheck, readCheckAnswer, ufragIn } from './checks.ts';

type SharedPortOptions = {
  readonly clock: Clock;
  readonly sockets: Sockets;
  readonly address: string;
  readonly port: number;
  /** Kernel buffer for all of them, in octets; the system may allow less. Left out: that of the system. */
  readonly bufferBytes?: number | undefined;
  /** How long addresses of a session that is over are known, so that late packets are not counted as those of strangers, in ms. */
  readonly drainMs: number;
  readonly hit?: LimitHit | undefined;
};

/** Another session gets an address when its holder has proved it for so long no longer, in ms: three checks of a browser. */
const heldMs = 15_000;
/** Addresses of a session that are known at once, and requests of it that wait for an answer. */
const [mostAddresses, mostRequests] = [16, 256];

/** Where a session was proved to be, and when last, in monotonic ms. */
type Place = { readonly end: SharedEnd; readonly at: number };

const keyOf = ({ address, port }: PacketAddress): string => `${address} ${port}`;
/** The transaction of a STUN message (RFC 8489 5). */
const transactionOf = (packet: Uint8Array): string =>
  Buffer.from(packet.buffer, packet.byteOffset + 8, 12).toString('hex');
/** The class of a STUN message is success or error (RFC 8489 5). */
const isAnswer = (packet: Uint8Array): boolean => (packet[0]! & 1) === 1;

/**
 * One UDP port for the sessions of all browsers. A check names the session by its ufrag (RFC 8445 7.3) and proves it by the
 * password; an answer of the far side to a check of ours does, too. Then the remote address is that session's. An address is
 * of one session: another one gets it when that is over, or has not proved it for {@link heldMs}. All else is dropped.
 */
export class SharedPort {
  readonly #options: SharedPortOptions;
  /** By our ufrag, by remote address, and by the transaction of a request of ours. */
  readonly #named = new SlotMap<string, SharedEnd>();
  readonly #places = new SlotMap<string, Place>();
  readonly #asked = new SlotMap<string, SharedEnd>();
  readonly #open = new Set<SharedEnd>();
  readonly #draining = new Map<SharedEnd, unknown>();
  #socket: Promise<PacketSocket> | undefined;
  #closed = false;

  constructor(options: SharedPortOptions) {
    this.#options = options;
  }

  /** Sessions that have it. */
  get used(): number {
    return this.#open.size;
  }

  /** Addresses and requests that are known. */
  get known(): number {
    return this.#places.size + this.#asked.size;
  }

  /** Lets a session share it. The port is bound for the first one, and then stays so. @throws Error when it cannot be bound. */
  async open(): Promise<PacketSocket> {
    if (!this.#closed) this.#socket ??= this.#bind();
    const socket = await this.#socket;
    if (this.#closed || !socket) throw new Error('the media ports are closed');
    const end = new SharedEnd(socket, this);
    this.#open.add(end);
    return end;
  }

  /** Closes the port, once its sessions are over. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#draining.values()) this.#options.clock.clearTimeout(timer);
    this.#draining.clear();
    this.#socket?.then((socket) => socket.close()).catch(() => {});
  }

  /** A session goes by other credentials, or by its first ones. */
  rename(end: SharedEnd, before: IceNames | undefined, ice: IceNames): void {
    this.#unname(end, before);
    this.#named.set(ice.local.ufrag, end);
  }

  /** Gives a proved address to a session. @returns false while another one has it. */
  place(key: string, end: SharedEnd): boolean {
    const at = this.#options.clock.monotonic();
    const before = this.#places.get(key);
    if (before && before.end !== end) {
      if (this.#open.has(before.end) && at - before.at < heldMs) return false;
      before.end.addresses.delete(key);
    }
    this.#places.set(key, { end, at });
    const oldest = addTo(end.addresses, key, mostAddresses);
    if (oldest !== undefined) this.#places.delete(oldest);
    return true;
  }

  /** A session has sent a request, whose answer is for it. */
  ask(end: SharedEnd, request: Uint8Array): void {
    const transaction = transactionOf(request);
    this.#asked.set(transaction, end);
    const oldest = addTo(end.requests, transaction, mostRequests);
    if (oldest !== undefined) this.#asked.delete(oldest);
  }

  /** A session is over. */
  leave(end: SharedEnd, ice: IceNames | undefined): void {
    this.#open.delete(end);
    this.#unname(end, ice);
    for (const transaction of end.requests) this.#asked.delete(transaction);
    if (this.#closed) return;
    const drained = () => {
      this.#draining.delete(end);
      for (const key of end.addresses) this.#places.delete(key);
    };
    this.#draining.set(end, this.#options.clock.setTimeout(drained, this.#options.drainMs));
  }

  async #bind(): Promise<PacketSocket> {
    const { sockets, address, port, bufferBytes } = this.#options;
    try {
      const socket = await sockets.bind(address, port, bufferBytes);
      socket.listen((packet, from, fromPort) => {
        if (!this.#hear(packet, { address: from, port: fromPort }))
          (this.#options.hit ?? uncounted)('media.webrtc.udp_port');
      });
      return socket;
    } catch (error) {
      // The next call tries it again.
      this.#socket = undefined;
      throw error;
    }
  }

  /** @returns whether it is for a session. */
  #hear(packet: Uint8Array, from: PacketAddress): boolean {
    const key = keyOf(from);
    const end = isStun(packet) ? this.#provedBy(packet, key) : this.#places.get(key)?.end;
    end?.hear(packet, from);
    return end !== undefined;
  }

  /** The session that a message of STUN is for. */
  #provedBy(packet: Uint8Array, key: string): SharedEnd | undefined {
    if (isAnswer(packet)) return this.#answered(packet, key);
    if (!isBindingRequest(packet)) return this.#places.get(key)?.end;
    const end = this.#named.get(ufragIn(packet) ?? '');
    return end?.ice && readCheck(packet, end.ice.local, end.ice.remote) && this.place(key, end) ? end : undefined;
  }

  /** That of a STUN server proves no address. */
  #answered(packet: Uint8Array, key: string): SharedEnd | undefined {
    const transaction = transactionOf(packet);
    const end = this.#asked.get(transaction);
    if (!end) return undefined;
    const isProved = end.ice && readCheckAnswer(packet, end.ice.remote.password);
    if (isProved && !this.place(key, end)) return undefined;
    if (isProved) {
      end.requests.delete(transaction);
      this.#asked.delete(transaction);
    }
    return end;
  }

  #unname(end: SharedEnd, ice: IceNames | undefined): void {
    if (ice && this.#named.get(ice.local.ufrag) === end) this.#named.delete(ice.local.ufrag);
  }
}

/** Puts a key behind all others. @returns one to forget: of more than `most`, the oldest. */
function addTo(keys: Set<string>, key: string, most: number): string | undefined {
  keys.delete(key);
  keys.add(key);
  const [oldest] = keys.size > most ? keys : [];
  if (oldest !== undefined) keys.delete(oldest);
  return oldest;
}

/** A session's side of the port. */
class SharedEnd implements PacketSocket {
  readonly port: number;
  readonly copies: boolean | undefined;
  ice: IceNames | undefined;
  /** Where it was proved to be, and its requests that wait for an answer; the latest last. */
  readonly addresses = new Set<string>();
  readonly requests = new Set<string>();
  readonly #socket: PacketSocket;
  readonly #shared: SharedPort;
  #listener: PacketListener | undefined;
  #open = true;

  constructor(socket: PacketSocket, shared: SharedPort) {
    this.port = socket.port;
    this.copies = socket.copies;
    this.#socket = socket;
    this.#shared = shared;
  }

  identify(ice: IceNames, found: PacketAddress | undefined): void {
    if (!this.#open) return;
    this.#shared.rename(this, this.ice, ice);
    this.ice = ice;
    if (found) this.#shared.place(keyOf(found), this);
  }

  send(packet: Uint8Array, port: number, address: string): void {
    if (!this.#open) return;
    if (isBindingRequest(packet)) this.#shared.ask(this, packet);
    this.#socket.send(packet, port, address);
  }

  listen(listener: PacketListener | undefined): void {
    this.#listener = listener;
  }

  hear(packet: Uint8Array, { address, port }: PacketAddress): void {
    this.#listener?.(packet, address, port);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#listener = undefined;
    this.#shared.leave(this, this.ice);
  }
}
