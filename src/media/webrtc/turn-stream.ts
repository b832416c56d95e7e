import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../lib/clock.ts';
import { headerOctets } from '../../lib/stun.ts';
import type { TurnServer } from './turn.ts';
import { channelHeaderOctets, isChannelData } from './turn-channels.ts';

type TurnStreamOptions = {
  readonly server: TurnServer;
  readonly clock: Clock;
  /** A message of the server. Its octets are not to be kept. */
  readonly heard: (message: Uint8Array) => void;
  /** The connection has ended, and not by us. @param reason in words. */
  readonly lost: (reason: string) => void;
};

/** How long the last messages may take, in ms. */
const goodbyeMs = 1000;

/** A connection to a TURN server by TCP or TLS (RFC 8656 3.1), for one allocation. What is sent before it is open waits. */
export class TurnStream {
  readonly #options: TurnStreamOptions;
  readonly #socket: Socket;
  #rest: Uint8Array = new Uint8Array(0);
  #isClosed = false;

  constructor(options: TurnStreamOptions) {
    this.#options = options;
    const { address: host, port, transport, name, authorities: ca } = options.server;
    const who = { host, port, ...(name && { servername: name }) };
    this.#socket =
      transport === 'tls'
        ? connectTls({ ...who, rejectUnauthorized: true, ...(ca && { ca: [...ca] }) })
        : connect({ host, port });
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (octets) => this.#read(octets));
    this.#socket.on('error', ({ message }) => this.#lose(message));
    this.#socket.on('close', () => this.#lose('its connection has ended'));
  }

  /** Sends a message. One beyond what the server may leave unread is lost, as by UDP. */
  send(message: Uint8Array): void {
    const socket = this.#socket;
    if (this.#isClosed || socket.writableLength > this.#options.server.unsentBytes) return;
    const padding = paddingOf(message.length);
    socket.write(padding === 0 ? message : Buffer.concat([message, new Uint8Array(padding)]));
  }

  /** Ends it behind what was sent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { clock } = this.#options;
    const socket = this.#socket;
    if (socket.connecting) return void socket.destroy();
    const timer = clock.setTimeout(() => socket.destroy(), goodbyeMs);
    socket.once('close', () => clock.clearTimeout(timer));
    socket.destroySoon();
  }

  #lose(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    this.#options.lost(reason);
  }

  #read(octets: Uint8Array): void {
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, octets]) : octets;
    let at = 0;
    while (!this.#isClosed && at + channelHeaderOctets <= all.length) {
      const length = lengthAt(all, at);
      if (length === undefined || length > this.#options.server.messageBytes) {
        this.#lose('it sends what is no message of TURN');
        return;
      }
      const end = at + length + paddingOf(length);
      if (end > all.length) break;
      this.#options.heard(all.subarray(at, at + length));
      at = end;
    }
    this.#rest = Uint8Array.from(all.subarray(at));
  }
}

/** By TCP, data of channels is filled up to words (RFC 8656 12.5); messages of STUN are. */
const paddingOf = (length: number): number => (4 - (length % 4)) % 4;

/** Octets of a message, by its first four; undefined where it is none. */
function lengthAt(octets: Uint8Array, at: number): number | undefined {
  const said = (octets[at + 2]! << 8) | octets[at + 3]!;
  if (isChannelData(octets.subarray(at))) return channelHeaderOctets + said;
  return octets[at]! >> 6 === 0 ? headerOctets + said : undefined;
}
