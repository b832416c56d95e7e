import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import { type LimitHit, uncounted } from '../../lib/limit-counts.ts';
import { SlotMap } from '../../lib/slot-map.ts';
import type { IceCredentials } from '../../lib/webrtc.ts';
import type { PacketAddress } from '../rtp/source-lock.ts';
import { readCheck, ufragIn } from './checks.ts';

/** Where browsers connect by TCP, and what they may take of us. */
type IceTcpTerms = {
  readonly port: number;
  /** Connections at once. */
  readonly connections: number;
  /** Connections that have not proved themselves; a further one ends the oldest of them. */
  readonly unproved: number;
  /** Octets that a browser may leave unread; packets beyond that are left out. */
  readonly unsentBytes: number;
};

type IceTcpOptions = IceTcpTerms & {
  readonly address: string;
  readonly clock: Clock;
  readonly hit?: LimitHit | undefined;
};

type Ice = { readonly local: IceCredentials; readonly remote: IceCredentials };

/** Hears packets of a connection whose sender knows the password of a session. */
type Heard = (from: PacketAddress, packets: readonly Uint8Array[]) => void;

/** A connection has to prove itself within this time, in ms, and to send something within the other (RFC 7675: 5 s). */
const [proofMs, idleMs] = [10_000, 35_000];
/** Connections of one session; further ones are not taken. */
const mostOfSession = 4;
/** Octets of a packet (RFC 4571 section 2): browsers send none that is larger than an Ethernet frame. */
const longestFrame = 2048;
/** A browser that reads nothing for so long is given up, in ms. */
const stuckMs = 10_000;
/** Octets that are read of a connection in such a time, in ms; the rest waits with its sender: 25 Mbit/s. */
const pace = { octets: 65_536, ms: 20 };

/** Whether a connection has proved that it is for a session, or is over. */
type ConnectionState = 'unproved' | 'proved' | 'closed';

/** A connection by TCP (RFC 6544), passive, with packets behind their lengths (RFC 4571). */
class Connection {
  readonly from: PacketAddress;
  readonly #socket: Socket;
  readonly #server: IceTcpServer;
  readonly #options: IceTcpOptions;
  state: ConnectionState = 'unproved';
  end: IceTcpEnd | undefined;
  #rest: Uint8Array = new Uint8Array(0);
  #timer: unknown;
  #paceTimer: unknown;
  #paced = 0;
  #stuckSince: number | undefined;
  #heardAt = 0;

  constructor(socket: Socket, server: IceTcpServer, options: IceTcpOptions) {
    this.#socket = socket;
    this.#server = server;
    this.#options = options;
    this.from = { address: plainAddress(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0 };
    socket.setNoDelay(true);
    socket.on('data', (octets) => this.#read(octets));
    socket.on('error', () => this.close());
    socket.on('close', () => this.close());
    this.#timer = options.clock.setTimeout(() => this.close(), proofMs);
  }

  /** Sends packets; what finds no room is lost, as by UDP. */
  send(packets: readonly Uint8Array[]): void {
    const { clock, unsentBytes, hit = uncounted } = this.#options;
    const socket = this.#socket;
    const isFull = socket.writableLength > unsentBytes;
    if (!isFull) this.#stuckSince = undefined;
    else {
      hit('media.webrtc.tcp.unsent');
      this.#stuckSince ??= clock.monotonic();
      if (clock.monotonic() - this.#stuckSince >= stuckMs) this.close();
      return;
    }
    const fitting = packets.filter(({ length }) => length <= longestFrame);
    socket.write(Buffer.concat(fitting.flatMap((packet) => [lengthOf(packet), packet])));
  }

  close(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.#options.clock.clearTimeout(this.#timer);
    this.#options.clock.clearTimeout(this.#paceTimer);
    this.#socket.destroy();
    this.#server.closed(this);
  }

  #read(octets: Uint8Array): void {
    if (this.state === 'closed') return;
    this.#slow(octets.length);
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, octets]) : octets;
    const packets: Uint8Array[] = [];
    let at = 0;
    while (at + 2 <= all.length) {
      const length = (all[at]! << 8) | all[at + 1]!;
      if (length > longestFrame) {
        this.close();
        return;
      }
      if (at + 2 + length > all.length) break;
      if (length > 0) packets.push(Uint8Array.from(all.subarray(at + 2, at + 2 + length)));
      at += 2 + length;
    }
    this.#rest = Uint8Array.from(all.subarray(at));
    if (packets.length > 0) this.#take(packets);
  }

  /** Nothing is heard before a check by somebody who knows the password of a session. */
  #take(packets: readonly Uint8Array[]): void {
    const { clock } = this.#options;
    this.#heardAt = clock.monotonic();
    if (this.state === 'unproved') {
      this.end = this.#server.endOf(packets[0]!);
      if (!this.end?.take(this)) return;
      this.#server.proved(this);
      this.state = 'proved';
      this.#watch(idleMs);
    }
    this.end?.heard(this.from, packets);
  }

  /** Ends it when nothing has come for so long. */
  #watch(ms: number): void {
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    this.#timer = clock.setTimeout(() => {
      const left = idleMs - (clock.monotonic() - this.#heardAt);
      if (left <= 0) this.close();
      else this.#watch(left);
    }, ms);
  }

  /** Reads no more of it for now when it has sent its share. */
  #slow(octets: number): void {
    const { clock } = this.#options;
    this.#paced += octets;
    if (this.#paced >= pace.octets) this.#socket.pause();
    if (this.#paceTimer !== undefined) return;
    this.#paceTimer = clock.setTimeout(() => {
      this.#paced = 0;
      this.#paceTimer = undefined;
      this.#socket.resume();
    }, pace.ms);
  }
}

/** A session's side of its connections. */
export class IceTcpEnd {
  readonly heard: Heard;
  ice: Ice | undefined;
  readonly #ends: SlotMap<string, IceTcpEnd>;
  #connections: readonly Connection[] = [];

  constructor(ends: SlotMap<string, IceTcpEnd>, heard: Heard) {
    this.#ends = ends;
    this.heard = heard;
  }

  /** Connections with these credentials are for it from now on; earlier ones stay. */
  use(ice: Ice): void {
    if (this.ice) this.#ends.delete(this.ice.local.ufrag);
    this.ice = ice;
    this.#ends.set(ice.local.ufrag, this);
  }

  /** A connection has proved to be for it; false: it has enough. */
  take(connection: Connection): boolean {
    if (this.#connections.length >= mostOfSession) return false;
    this.#connections = [...this.#connections, connection];
    return true;
  }

  leave(connection: Connection): void {
    this.#connections = this.#connections.filter((each) => each !== connection);
  }

  /** Sends packets by the connection from there; without it they are lost. */
  send({ address, port }: PacketAddress, packets: readonly Uint8Array[]): void {
    this.#connections.find(({ from }) => from.port === port && from.address === address)?.send(packets);
  }

  /** The session is over. */
  close(): void {
    if (this.ice) this.#ends.delete(this.ice.local.ufrag);
    this.ice = undefined;
    for (const connection of this.#connections) connection.close();
  }
}

/**
 * Takes connections of browsers whose network blocks UDP, for all sessions on one port. Which session one is for, its first
 * check says. Until then it is nobody's, and heard by nobody.
 */
export class IceTcpServer {
  readonly #options: IceTcpOptions;
  readonly #server: Server;
  readonly #ends = new SlotMap<string, IceTcpEnd>();
  /** In the order in which they came. */
  readonly #unproved = new Set<Connection>();
  readonly #all = new Set<Connection>();

  constructor(options: IceTcpOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Undefined before the port is bound: browsers are not told of it. */
  get port(): number | undefined {
    return this.#server.listening ? this.#options.port : undefined;
  }

  /** May be called again after a failure. @throws Error (rejects) when the port cannot be bound. */
  listen(): Promise<void> {
    const { port, address } = this.#options;
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void => {
        this.#server.off('listening', bound);
        reject(error);
      };
      const bound = (): void => {
        this.#server.off('error', failed);
        // One that cannot be accepted is the browser's to try again.
        this.#server.on('error', () => {});
        resolve();
      };
      this.#server.once('error', failed).once('listening', bound).listen(port, address);
    });
  }

  /** Lets a session be reached, once its ICE is known. */
  open(heard: Heard): IceTcpEnd {
    return new IceTcpEnd(this.#ends, heard);
  }

  /** The session whose password a check proves to know. */
  endOf(packet: Uint8Array): IceTcpEnd | undefined {
    const end = this.#ends.get(ufragIn(packet) ?? '');
    return end?.ice && readCheck(packet, end.ice.local, end.ice.remote) ? end : undefined;
  }

  proved(connection: Connection): void {
    this.#unproved.delete(connection);
  }

  closed(connection: Connection): void {
    this.#all.delete(connection);
    this.#unproved.delete(connection);
    connection.end?.leave(connection);
  }

  /** Ends all. */
  async close(): Promise<void> {
    for (const connection of [...this.#all]) connection.close();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    const { connections, hit = uncounted } = this.#options;
    if (this.#all.size >= connections) {
      hit('media.webrtc.tcp.connections');
      // Those of sessions are left alone.
      const [oldest] = this.#unproved;
      if (!oldest) {
        socket.on('error', () => {});
        socket.destroy();
        return;
      }
      oldest.close();
    } else if (this.#unproved.size >= this.#options.unproved) {
      hit('media.webrtc.tcp.unproved');
      this.#unproved.values().next().value?.close();
    }
    const connection = new Connection(socket, this, this.#options);
    this.#all.add(connection);
    this.#unproved.add(connection);
  }
}

function lengthOf({ length }: Uint8Array): Uint8Array {
  return Uint8Array.of(length >> 8, length & 255);
}

/** As UDP has it, also where the listener takes both versions of IP. */
const plainAddress = (address: string): string => (address.startsWith('::ffff:') ? address.slice(7) : address);
