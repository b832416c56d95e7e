import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** Octets of the packets that may be lost: those of video, mostly. */
const leastOctets = 300;

async function bound(): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

/** UDP ports of 127.0.0.1 that stand before others, and lose each so many-th packet, both ways. */
export class LossyWay {
  readonly #every: number;
  readonly #losesAll: boolean;
  readonly #sockets: Socket[] = [];
  readonly #fronts = new Map<number, Promise<number>>();
  #counted = 0;
  /** Packets that were lost. */
  lost = 0;

  /** @param losesAll those of ICE, DTLS and audio, too; left out: larger ones of SRTP alone. */
  constructor(every: number, losesAll = false) {
    this.#every = every;
    this.#losesAll = losesAll;
  }

  /** A port that stands before this one. */
  before(port: number): Promise<number> {
    const known = this.#fronts.get(port);
    if (known) return known;
    const opened = this.#open(port);
    this.#fronts.set(port, opened);
    return opened;
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }

  async #open(port: number): Promise<number> {
    const front = await bound();
    this.#sockets.push(front);
    const ways = new Map<string, Promise<Socket>>();
    const open = async (far: { address: string; port: number }): Promise<Socket> => {
      const back = await bound();
      this.#sockets.push(back);
      back.on('message', (packet) => this.#carry(packet, () => front.send(packet, far.port, far.address)));
      return back;
    };
    front.on('message', (packet, { address, port: from }) => {
      const name = `${address} ${from}`;
      const way = ways.get(name) ?? open({ address, port: from });
      ways.set(name, way);
      this.#carry(packet, () => void way.then((back) => back.send(packet, port, '127.0.0.1')));
    });
    return front.address().port;
  }

  #carry(packet: Buffer, send: () => void): void {
    const [first = 0] = packet;
    const isLarge = first >= 128 && first < 192 && packet.length >= leastOctets;
    if ((this.#losesAll || isLarge) && ++this.#counted % this.#every === 0) this.lost++;
    else send();
  }
}
