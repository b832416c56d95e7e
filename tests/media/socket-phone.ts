import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { RtpSession } from '../../src/telephony/media.ts';
import { isControl } from '../support/rtp-peer.ts';
import { decodePacket, encodePacket, type Packet, usualFlow } from './support.ts';

/** A far side on a real port: what it hears, and how to wait for that. */
export class Phone {
  readonly socket: Socket = createSocket('udp4');
  readonly heard: Packet[] = [];
  #waiting: (() => void) | undefined;

  static async bind(): Promise<Phone> {
    const phone = new Phone();
    phone.socket.on('message', (octets) => {
      if (isControl(octets)) return;
      phone.heard.push(decodePacket(octets));
      phone.#waiting?.();
    });
    phone.socket.bind(0, '127.0.0.1');
    await once(phone.socket, 'listening');
    return phone;
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
