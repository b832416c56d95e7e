import type { MessagePort } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';
import type { PacketListener, PacketSocket, Sockets } from './sockets.ts';

/** Messages between the two sides of relayed sockets; packets of one event-loop turn share a message. */
type Relayed =
  | { type: 'bind'; socket: number; address: string; port: number; bufferBytes?: number | undefined }
  | { type: 'bound'; socket: number; port: number }
  | { type: 'refused'; socket: number; code: string; reason: string }
  | { type: 'packets'; packets: RelayedPacket[] }
  /** How many packets the other side has taken. */
  | { type: 'taken'; count: number }
  | { type: 'close'; socket: number };
type RelayedPacket = { socket: number; octets: Uint8Array; address: string; port: number };

/** The end of a message channel, as far as relayed sockets use it. */
export type RelayPort = Pick<MessagePort, 'postMessage' | 'on' | 'close'>;

/** One end of a relay. */
type RelayOptions = {
  port: RelayPort;
  clock: Pick<Clock, 'soon'>;
  /** Packets that may be under way to the other end. More are dropped, as a full socket buffer does. */
  most: number;
};

/** One side of a relay: batches packets, and drops them while the other side is behind. */
class Batches {
  readonly #port: RelayPort;
  readonly #clock: Pick<Clock, 'soon'>;
  readonly #most: number;
  #batch: RelayedPacket[] = [];
  #underWay = 0;

  constructor({ port, clock, most }: RelayOptions) {
    this.#port = port;
    this.#clock = clock;
    this.#most = most;
  }

  add(packet: RelayedPacket): void {
    if (this.#underWay >= this.#most) return;
    this.#underWay++;
    if (this.#batch.length === 0) this.#clock.soon(() => this.flush());
    this.#batch.push(packet);
  }

  flush(): void {
    const packets = this.#batch;
    if (packets.length === 0) return;
    this.#batch = [];
    this.tell({ type: 'packets', packets });
  }

  /** The other side has taken packets. */
  taken(count: number): void {
    this.#underWay -= count;
  }

  tell(message: Relayed): void {
    this.#port.postMessage(message);
  }
}

/**
 * The thread that is never terminated: opens `sockets` for the other thread. Node 20 may abort if a packet arrives at a
 * dgram socket of a thread being terminated. So media threads have none.
 * @returns a function that closes all; call it when the other thread has ended.
 */
export function hostSockets(sockets: Sockets, options: RelayOptions): () => void {
  const { port } = options;
  const batches = new Batches(options);
  /** Undefined while it is being bound. */
  const open = new Map<number, PacketSocket | undefined>();
  let over = false;
  const bind = async (message: Extract<Relayed, { type: 'bind' }>): Promise<void> => {
    const { socket, address, port: wanted, bufferBytes } = message;
    open.set(socket, undefined);
    try {
      const bound = await sockets.bind(address, wanted, bufferBytes);
      if (over || !open.has(socket)) {
        bound.close();
        return;
      }
      open.set(socket, bound);
      bound.listen((packet, from, fromPort) =>
        batches.add({ socket, octets: new Uint8Array(packet), address: from, port: fromPort }),
      );
      batches.tell({ type: 'bound', socket, port: bound.port });
    } catch (error) {
      open.delete(socket);
      const { code = '', message } = error as NodeJS.ErrnoException;
      if (!over) batches.tell({ type: 'refused', socket, code, reason: message });
    }
  };
  port.on('message', (message: Relayed) => {
    if (over) return;
    if (message.type === 'bind') void bind(message);
    else if (message.type === 'taken') batches.taken(message.count);
    else if (message.type === 'close') {
      open.get(message.socket)?.close();
      open.delete(message.socket);
    } else if (message.type === 'packets') {
      for (const { socket, octets, address, port: to } of message.packets) open.get(socket)?.send(octets, to, address);
      batches.tell({ type: 'taken', count: message.packets.length });
    }
  });
  return () => {
    over = true;
    for (const socket of open.values()) socket?.close();
    open.clear();
    port.close();
  };
}

/** Sockets that another thread holds: see {@link hostSockets}. */
export class RelayedSockets implements Sockets {
  readonly #batches: Batches;
  readonly #sockets = new Map<number, RelayedSocket>();
  readonly #binding = new Map<number, { resolve: (socket: PacketSocket) => void; reject: (error: Error) => void }>();
  #next = 0;

  constructor(options: RelayOptions) {
    this.#batches = new Batches(options);
    options.port.on('message', (message: Relayed) => this.#hear(message));
  }

  bind(address: string, port: number, bufferBytes?: number): Promise<PacketSocket> {
    const socket = this.#next++;
    return new Promise((resolve, reject) => {
      this.#binding.set(socket, { resolve, reject });
      this.#batches.tell({ type: 'bind', socket, address, port, ...(bufferBytes && { bufferBytes }) });
    });
  }

  #hear(message: Relayed): void {
    if (message.type === 'taken') this.#batches.taken(message.count);
    else if (message.type === 'packets') {
      this.#batches.tell({ type: 'taken', count: message.packets.length });
      for (const { socket, octets, address, port } of message.packets)
        this.#sockets.get(socket)?.listener?.(Buffer.from(octets.buffer), address, port);
    } else if (message.type === 'bound') {
      const closed = (): void => {
        this.#sockets.delete(message.socket);
        this.#batches.flush();
        this.#batches.tell({ type: 'close', socket: message.socket });
      };
      const socket = new RelayedSocket(message.socket, message.port, this.#batches, closed);
      this.#sockets.set(message.socket, socket);
      this.#settle(message.socket)?.resolve(socket);
    } else if (message.type === 'refused') {
      const { code, reason } = message;
      this.#settle(message.socket)?.reject(Object.assign(new Error(reason), { code }));
    }
  }

  #settle(socket: number) {
    const binding = this.#binding.get(socket);
    this.#binding.delete(socket);
    return binding;
  }
}

class RelayedSocket implements PacketSocket {
  readonly port: number;
  readonly copies = true;
  listener: PacketListener | undefined;
  readonly #number: number;
  readonly #batches: Batches;
  readonly #closed: () => void;
  #open = true;

  constructor(number: number, port: number, batches: Batches, closed: () => void) {
    this.port = port;
    this.#number = number;
    this.#batches = batches;
    this.#closed = closed;
  }

  send(packet: Uint8Array, port: number, address: string): void {
    if (this.#open) this.#batches.add({ socket: this.#number, octets: new Uint8Array(packet), address, port });
  }

  listen(listener: PacketListener | undefined): void {
    this.listener = listener;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.listener = undefined;
    this.#closed();
  }
}
