import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { readBindingResponse, writeBindingRequest } from '../../lib/stun.ts';
import type { IceAddress, LocalCandidate } from '../../lib/webrtc.ts';
import type { PacketListener, PacketSocket } from '../rtp/sockets.ts';
import type { PacketAddress } from '../rtp/source-lock.ts';
import { Relay, type TurnServer } from './turn.ts';
import { TurnStream } from './turn-stream.ts';

/** Servers that tell or lend addresses, and how long a call waits for them, in ms. */
export type GatheringTerms = {
  readonly stun?: PacketAddress;
  readonly turn?: TurnServer;
  readonly waitMs: number;
};

type GatheringOptions = GatheringTerms & {
  readonly clock: Clock;
  /** A server has not helped. @param reason in words. */
  readonly failed: (reason: string) => void;
};

/** A request is repeated so often, in ms (RFC 8489 6.2.1), as long as the call waits. */
const repeatMs = 500;

/**
 * The candidates of a port beside its own address (RFC 8445 5.1.1): as a STUN server sees it, and one that a TURN server relays.
 * The listener of the port gives it what comes from there: see {@link hears}.
 */
export class Gathering {
  readonly #socket: PacketSocket;
  readonly #options: GatheringOptions;
  readonly #relay: Relay | undefined;
  /** The connection to the TURN server, where it is reached by TCP. */
  #stream: TurnStream | undefined;
  readonly #id = randomBytes(12).toString('hex');
  readonly #found: LocalCandidate[] = [];
  readonly #waiting = new Set<'stun' | 'turn'>();
  #timer: unknown;
  #repeat: unknown;
  #done: () => void = () => {};
  #listener: PacketListener | undefined;

  constructor(socket: PacketSocket, options: GatheringOptions) {
    this.#socket = socket;
    this.#options = options;
    const { clock, turn, failed } = options;
    if (!turn) return;
    this.#relay = new Relay({
      ...{ clock, server: turn },
      send: (datagram) =>
        turn.transport ? this.#stream?.send(datagram) : socket.send(datagram, turn.port, turn.address),
      allocated: (relayed, mapped) => {
        // By TCP it is the address of the connection.
        if (mapped && !turn.transport) this.#find('srflx', mapped);
        this.#find('relay', relayed);
        this.#settle('turn');
      },
      failed: (reason) => {
        this.#stream?.close();
        failed(`the TURN server is of no use: ${reason}`);
        this.#settle('turn');
      },
      data: (datagram, from) => this.#listener?.(datagram, from.address, from.port),
    });
  }

  /** Asks the servers, and hears the port until somebody else does. Never rejects, and ends in the time of its terms. */
  open(): Promise<readonly LocalCandidate[]> {
    const { clock, stun, turn, waitMs } = this.#options;
    if (turn?.transport) this.#stream = this.#connect(turn);
    this.#socket.listen((packet, address, port) => void this.hears(packet, address, port));
    if (stun) this.#ask(stun);
    if (this.#relay) this.#waiting.add('turn');
    return new Promise((resolve) => {
      this.#done = () => {
        clock.clearTimeout(this.#timer);
        clock.clearTimeout(this.#repeat);
        this.#done = () => {};
        resolve([...this.#found]);
      };
      this.#timer = clock.setTimeout(() => {
        if (this.#waiting.has('stun')) this.#options.failed('the STUN server does not answer');
        this.#done();
      }, waitMs);
      this.#relay?.open();
    });
  }

  /** Takes a datagram of the port. @returns false when it is of none of the servers. */
  hears(packet: Uint8Array, address: string, port: number): boolean {
    const { stun, turn } = this.#options;
    const mapped = isAt(stun, address, port) && readBindingResponse(packet, this.#id);
    if (mapped) {
      this.#find('srflx', mapped);
      this.#settle('stun');
    } else if (!turn?.transport && isAt(turn, address, port)) this.#relay?.receive(packet);
    else return isAt(stun, address, port);
    return true;
  }

  /** Hears what comes by the relay, from now on. */
  listen(listener: PacketListener): void {
    this.#listener = listener;
  }

  /** Sends by the relay. */
  send(packet: Uint8Array, to: PacketAddress): void {
    this.#relay?.send(packet, to);
  }

  /** See {@link Relay.permit}. */
  permit(addresses: Iterable<string>): void {
    this.#relay?.permit(addresses);
  }

  /** Packets of the far side go there from now on: what is relayed goes by a channel. */
  use(source: IceAddress | undefined): void {
    this.#relay?.use(source?.via === 'relay' ? source : undefined);
  }

  /** Gives back what was lent. The port stays with its owner. */
  close(): void {
    this.#done();
    this.#relay?.close();
    this.#stream?.close();
    this.#listener = undefined;
  }

  #connect(server: TurnServer): TurnStream {
    return new TurnStream({
      ...{ server, clock: this.#options.clock },
      heard: (message) => this.#relay?.receive(message),
      lost: (reason) => this.#relay?.lost(reason),
    });
  }

  #ask(server: PacketAddress): void {
    this.#waiting.add('stun');
    this.#socket.send(writeBindingRequest(this.#id), server.port, server.address);
    this.#repeat = this.#options.clock.setTimeout(() => this.#ask(server), repeatMs);
  }

  /** One of each type: of two mapped addresses the first counts. */
  #find(type: LocalCandidate['type'], { address, port }: PacketAddress): void {
    if (!this.#found.some((each) => each.type === type)) this.#found.push({ type, address, port });
  }

  #settle(server: 'stun' | 'turn'): void {
    this.#waiting.delete(server);
    if (server === 'stun') this.#options.clock.clearTimeout(this.#repeat);
    if (this.#waiting.size === 0) this.#done();
  }
}

const isAt = (server: PacketAddress | undefined, address: string, port: number): boolean =>
  server?.port === port && server.address === address;

/** What finds further candidates of a browser's port; undefined where no server is known. */
export const gatheringOn = (
  socket: PacketSocket,
  terms: GatheringTerms | undefined,
  session: number,
  { clock, log }: { clock: Clock; log: Pick<Logger, 'warn'> },
): Gathering | undefined =>
  terms &&
  new Gathering(socket, {
    ...terms,
    clock,
    failed: (reason) => log.warn({ session, reason }, 'a call of a browser has fewer ICE candidates'),
  });
