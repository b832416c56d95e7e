import type { Socket } from 'node:dgram';
import type { RtpSession } from '../../src/telephony/media.ts';
import { isControl } from '../support/rtp-peer.ts';
import { boundPair } from '../support/socket-pair.ts';
import { decodePacket, encodePacket, type Packet, usualFlow } from './support.ts';

/** A far side on a real port: what it hears, and how to wait for that. */
export class Phone {
  readonly socket: Socket;
  readonly heard: Packet[] = [];
  #waiting: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('message', (octets) => {
      if (isControl(octets)) return;
      this.heard.push(decodePacket(octets));
      this.#waiting?.();
    });
  }

  static async bind(): Promise<Phone> {
    return new Phone((await boundPair()).rtp);
  }

  configure(session: RtpSession): void {
    session.configure({ ...usualFlow, remote: { address: '127.0.0.1', port: this.socket.address().port } });
  }

  send(session: RtpSession, packet: Packet): void {
    this.socket.send(encodePacket(packet), session.local.port, '127.0.0.1');
  }

  /** Waits until `enough` holds of what was heard. */
  async hears(enough: (heard: Packet[]) => boolean): Promise<Packet[]> {
    while (!enough(this.heard)) await new Promise<void>((resolve) => (this.#waiting = resolve));
    return this.heard;
  }
}
