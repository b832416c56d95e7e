import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Channel } from '../../src/models/channel.ts';
import type { AriClient } from './ari-client.ts';

/** The far sides of many external media channels, on one UDP socket: one talks, the others listen. */

const packetMs = 20;
/** A gap after which a packet is late, in ms. */
const lateMs = 40;

/** Packets that a listener has received; the silent ones among them, and those that came late. */
export type Heard = { packets: number; late: number; silent: number };

export class Listeners {
  readonly #socket: Socket;
  /** By the port of the server that sends to it. */
  readonly #heard = new Map<number, Heard & { last: number }>();
  #talking: NodeJS.Timeout | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (packet, { port }) => this.#hear(packet, port));
  }

  static async open(): Promise<Listeners> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    socket.setRecvBufferSize(8 * 1024 * 1024);
    return new Listeners(socket);
  }

  /** Creates a channel of the application `shop` at a node, whose far side is here. @returns its id, and the server's port */
  async enter(app: AriClient, node: string): Promise<{ id: string; port: number }> {
    const channelId = `${node}~${crypto.randomUUID()}`;
    const host = `127.0.0.1:${this.#socket.address().port}`;
    const query = new URLSearchParams({ app: 'shop', external_host: host, format: 'ulaw', channelId });
    const entered = app.waitFor('StasisStart', ({ channel }) => channel.id === channelId);
    const { id, channelvars } = await app.ok<Channel>('POST', `/channels/externalMedia?${query}`);
    await entered;
    return { id, port: Number(channelvars?.['UNICASTRTP_LOCAL_PORT']) };
  }

  /** Sends a square wave of 500 Hz to a port, until it is closed. */
  talk(port: number): void {
    const packet = Buffer.alloc(172);
    packet[0] = 0x80;
    for (let at = 12; at < packet.length; at++) packet[at] = (at - 12) % 16 < 8 ? 0x20 : 0xa0;
    const begun = performance.now();
    let sent = 0;
    this.#talking = setInterval(() => {
      for (; sent * packetMs < performance.now() - begun; sent++) {
        packet.writeUInt16BE(sent & 0xffff, 2);
        packet.writeUInt32BE((sent * 160) >>> 0, 4);
        this.#socket.send(packet, port, '127.0.0.1');
      }
    }, packetMs / 4);
  }

  /** Counts from now on what comes from these ports. */
  count(ports: readonly number[]): void {
    this.#heard.clear();
    for (const port of ports) this.#heard.set(port, { packets: 0, late: 0, silent: 0, last: performance.now() });
  }

  get heard(): Heard[] {
    return [...this.#heard.values()];
  }

  close(): void {
    clearInterval(this.#talking);
    this.#socket.close();
  }

  #hear(packet: Buffer, port: number): void {
    const one = this.#heard.get(port);
    if (!one) return;
    const now = performance.now();
    one.packets++;
    if (now - one.last > lateMs) one.late++;
    one.last = now;
    if (packet.subarray(12).every((octet) => (octet & 0x7f) > 0x70)) one.silent++;
  }
}
