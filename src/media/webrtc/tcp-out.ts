import type { Clock } from '../../lib/clock.ts';
import type { PacketAddress } from '../rtp/source-lock.ts';

/** Octets of one turn of the event loop; what is more is lost. */
const mostOctets = 262_144;

/** Packets to a browser by TCP: those of a turn cross to the main thread together, which has the connection. */
export class TcpOut {
  readonly #clock: Clock;
  readonly #send: (to: PacketAddress, packets: readonly Uint8Array[]) => void;
  #to: PacketAddress | undefined;
  #packets: Uint8Array[] = [];
  #octets = 0;

  constructor(clock: Clock, send: (to: PacketAddress, packets: readonly Uint8Array[]) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** The octets may change afterwards. */
  send(packet: Uint8Array, { address, port }: PacketAddress): void {
    if (this.#to?.port !== port || this.#to.address !== address) this.#flush();
    if (this.#octets + packet.length > mostOctets) return;
    if (this.#packets.length === 0) this.#clock.soon(() => this.#flush());
    this.#to = { address, port };
    this.#octets += packet.length;
    this.#packets.push(Uint8Array.from(packet));
  }

  #flush(): void {
    const [to, packets] = [this.#to, this.#packets];
    this.#to = undefined;
    this.#packets = [];
    this.#octets = 0;
    if (to && packets.length > 0) this.#send(to, packets);
  }
}
