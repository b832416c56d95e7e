import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isControl } from './rtp-peer.ts';
import { untilFound } from './waiting.ts';

/** A message on its way through the relay. */
export type Passing = { from: 'phone' | 'server'; text: string };

/**
 * A piece of network between a phone and the server: passes SIP over UDP on, can lose messages, and shows what passes.
 * The phone uses `port` as if it were the server's.
 */
export class SippRelay {
  /** Every message that arrived, those that were lost then included. */
  readonly passed: (Passing & { lost: boolean })[] = [];
  readonly #outer = createSocket('udp4');
  readonly #inner = createSocket('udp4');
  readonly #waiting = new Set<() => void>();
  readonly #loses: (message: Passing) => boolean;
  #phone: { address: string; port: number } | undefined;

  private constructor(loses: (message: Passing) => boolean) {
    this.#loses = loses;
  }

  /** @param server `address:port` of the server. @param loses whether a message gets lost. */
  static async open(server: string, loses: (message: Passing) => boolean = () => false): Promise<SippRelay> {
    const relay = new SippRelay(loses);
    const [address = '', port] = server.split(':');
    relay.#outer.on('message', (data, from) => {
      if (isControl(data)) return;
      relay.#phone = { address: from.address, port: from.port };
      relay.#pass('phone', data, relay.#inner, { address, port: Number(port) });
    });
    relay.#inner.on('message', (data) => relay.#pass('server', data, relay.#outer, relay.#phone));
    for (const socket of [relay.#outer, relay.#inner]) {
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
    }
    return relay;
  }

  /** Where the phone sends to, `address:port`. */
  get address(): string {
    return `127.0.0.1:${this.#outer.address().port}`;
  }

  /** The first message that begins so and was not lost. @throws Error with what passed, when it does not come. */
  async seen(from: Passing['from'], beginning: string): Promise<string> {
    const found = () => this.passed.find((one) => one.from === from && !one.lost && one.text.startsWith(beginning));
    const late = () => {
      const log = this.passed.map(
        ({ from: who, lost, text }) => `${who}${lost ? ' (lost)' : ''}: ${text.split('\r\n')[0]}`,
      );
      return `no ${beginning} from the ${from}; passed:\n${log.join('\n')}`;
    };
    return (await untilFound(this.#waiting, found, late)).text;
  }

  async close(): Promise<void> {
    this.#outer.close();
    this.#inner.close();
    await Promise.all([once(this.#outer, 'close'), once(this.#inner, 'close')]);
  }

  #pass(from: Passing['from'], data: Buffer, to: Socket, where: { address: string; port: number } | undefined): void {
    const text = data.toString('latin1');
    const lost = this.#loses({ from, text });
    this.passed.push({ from, text, lost });
    if (!lost && where) to.send(data, where.port, where.address);
    for (const look of [...this.#waiting]) look();
  }
}

/** A network that loses the first copy of every message: nothing arrives unless it is sent again. */
export function losesFirstCopies(): (message: Passing) => boolean {
  const known = new Set<string>();
  return ({ from, text }) => {
    const key = `${from} ${text}`;
    if (known.has(key)) return false;
    known.add(key);
    return true;
  };
}
