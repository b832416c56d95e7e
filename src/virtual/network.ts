import type { RemoteInfo } from 'node:dgram';
import type { Clock } from '../lib/clock.ts';
import type { Sockets } from '../media/rtp/sockets.ts';
import { ListenError } from '../sip/transport/transport.ts';
import type { OpenUdp } from '../sip/transport/udp.ts';
import { createRandom, type Random } from './random.ts';

/** Packet transport properties. */
export type NetworkQuality = {
  /** Time that every packet takes, in ms. */
  delayMs: number;
  /** Largest additional delay of a packet, in ms; random for each. */
  jitterMs: number;
  /** How many of all packets are lost, from 0 to 1. */
  loss: number;
  /** Whether a packet may overtake one that is slower; otherwise packets between two sockets stay in order. */
  reorders: boolean;
};

export const perfectNetwork: NetworkQuality = { delayMs: 0, jitterMs: 0, loss: 0, reorders: false };

/** A machine of a simulated network: one address, and sockets that behave like real ones. */
export interface VirtualHost {
  readonly address: string;
  /** UDP for SIP. Rejects with ListenError: EADDRINUSE, EADDRNOTAVAIL for an address that is not this host's. */
  readonly openUdp: OpenUdp;
  /** UDP for audio. */
  readonly sockets: Sockets;
}

type Receive = (bytes: Buffer, from: { address: string; port: number }) => void;

/** The first port that the system chooses. */
const firstFreePort = 32_768;
const largestPort = 65_535;

/**
 * A simulated network for servers and phones in one process: UDP between hosts, with delay, jitter, loss and reordering
 * from a seed, so that runs are reproducible.
 */
export class VirtualNetwork {
  /** Properties of packets sent from now on. */
  quality: NetworkQuality;
  /** Properties of packets from and to some hosts, by address; they replace those of the network. */
  readonly qualities = new Map<string, Partial<NetworkQuality>>();
  /** Sent datagrams, and lost ones: at random, or without a listener. */
  readonly counts = { sent: 0, lost: 0 };
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #receivers = new Map<string, Receive>();
  /** When the last packet between two sockets arrives, by both. */
  readonly #arrivals = new Map<string, number>();

  constructor({ clock, seed = 1, quality = {} }: { clock: Clock; seed?: number; quality?: Partial<NetworkQuality> }) {
    this.#clock = clock;
    this.#random = createRandom(seed);
    this.quality = { ...perfectNetwork, ...quality };
  }

  /** @param address the literal IPv4 or IPv6 address of the host. */
  host(address: string): VirtualHost {
    const bind = (at: string, wanted: number, receive: Receive) => this.#bind(address, at, wanted, receive);
    return {
      address,
      openUdp: async ({ listen, onDatagram }) => {
        const take: Receive = (bytes, from) => onDatagram(bytes, remoteInfo(from, bytes.length));
        const socket = trying(listen, () => bind(listen.host, listen.port, take));
        return {
          port: socket.port,
          send: (bytes, to, port, done) => {
            socket.send(bytes, to, port);
            done(null);
          },
          close: async () => socket.close(),
        };
      },
      sockets: {
        async bind(at, wanted) {
          let listener: ((packet: Uint8Array, address: string, port: number) => void) | undefined;
          const socket = bind(at, wanted, (bytes, from) => listener?.(bytes, from.address, from.port));
          return {
            port: socket.port,
            send: (packet, port, to) => socket.send(packet, to, port),
            listen: (next) => {
              listener = next;
            },
            close: () => socket.close(),
          };
        },
      },
    };
  }

  /** @throws Error with `code` EADDRINUSE or EADDRNOTAVAIL. */
  #bind(host: string, at: string, wanted: number, receive: Receive) {
    if (at !== host && at !== '0.0.0.0' && at !== '::') throw bindError('EADDRNOTAVAIL', at, wanted);
    const port = wanted === 0 ? this.#freePort(host) : wanted;
    const own = keyOf(host, port);
    if (this.#receivers.has(own)) throw bindError('EADDRINUSE', at, port);
    this.#receivers.set(own, receive);
    return {
      port,
      send: (bytes: Uint8Array, to: string, toPort: number) => this.#send(bytes, { address: host, port }, to, toPort),
      close: () => void (this.#receivers.get(own) === receive && this.#receivers.delete(own)),
    };
  }

  #freePort(host: string): number {
    for (let port = firstFreePort; port <= largestPort; port++)
      if (!this.#receivers.has(keyOf(host, port))) return port;
    throw bindError('EADDRINUSE', host, 0);
  }

  #send(bytes: Uint8Array, from: { address: string; port: number }, to: string, port: number): void {
    this.counts.sent++;
    const own = { ...this.qualities.get(from.address), ...this.qualities.get(to) };
    const { delayMs, jitterMs, loss, reorders } = { ...this.quality, ...own };
    // Both are drawn for every packet, so that packets do not influence each other.
    const lost = this.#random() < loss;
    const arrives = this.#clock.monotonic() + delayMs + this.#random() * jitterMs;
    if (lost) {
      this.counts.lost++;
      return;
    }
    const target = keyOf(to, port);
    const packet = Buffer.from(bytes);
    const at = reorders ? arrives : this.#inOrder(`${keyOf(from.address, from.port)} ${target}`, arrives);
    this.#clock.setTimeout(() => {
      const receive = this.#receivers.get(target);
      if (receive) receive(packet, from);
      else this.counts.lost++;
    }, at - this.#clock.monotonic());
  }

  #inOrder(pair: string, arrives: number): number {
    const at = Math.max(arrives, this.#arrivals.get(pair) ?? 0);
    this.#arrivals.set(pair, at);
    return at;
  }
}

const keyOf = (address: string, port: number): string => `${address} ${port}`;

const remoteInfo = ({ address, port }: { address: string; port: number }, size: number): RemoteInfo => ({
  address,
  port,
  size,
  family: address.includes(':') ? 'IPv6' : 'IPv4',
});

const bindError = (code: string, address: string, port: number): Error & { code: string } =>
  Object.assign(new Error(`bind ${code} ${address}:${port}`), { code });

function trying<T>(listen: ConstructorParameters<typeof ListenError>[0], bind: () => T): T {
  try {
    return bind();
  } catch (error) {
    throw new ListenError(listen, (error as { code?: string }).code ?? 'UNKNOWN', error);
  }
}
