import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';

/** One record; the fields that its type has. */
export type Answer =
  | { type: 'A'; address: string; ttl?: number }
  | { type: 'SRV'; priority: number; weight: number; port: number; name: string }
  | { type: 'NAPTR'; order: number; preference: number; service: string; replacement: string };

const types = { A: 1, SRV: 33, NAPTR: 35 } as const;

const u16 = (value: number) => Buffer.of(value >> 8, value & 255);
const labels = (name: string) => Buffer.concat([...name.split('.').filter(Boolean).map(text), Buffer.of(0)]);
const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);

function dataOf(answer: Answer): Buffer {
  switch (answer.type) {
    case 'A':
      return Buffer.from(answer.address.split('.').map(Number));
    case 'SRV':
      return Buffer.concat([u16(answer.priority), u16(answer.weight), u16(answer.port), labels(answer.name)]);
    case 'NAPTR':
      return Buffer.concat([
        u16(answer.order),
        u16(answer.preference),
        text('s'),
        text(answer.service),
        text(''),
        labels(answer.replacement),
      ]);
  }
}

/** A name server on 127.0.0.1 with given records. It counts questions; other names do not exist. */
export class DnsServer {
  readonly #socket = createSocket('udp4');
  readonly #zone: Readonly<Record<string, readonly Answer[]>>;
  /** `name type`, in order. */
  readonly asked: string[] = [];

  /** @param zone records by `name`. */
  constructor(zone: Readonly<Record<string, readonly Answer[]>>) {
    this.#zone = zone;
    this.#socket.on('message', (query, from) => {
      // Others may have meant somebody else: a query has one question.
      if (query.length > 12 && query.readUInt16BE(4) === 1) this.#answer(query, from);
    });
  }

  async start(): Promise<string> {
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  close(): void {
    this.#socket.close();
  }

  #answer(query: Buffer, from: RemoteInfo): void {
    const parts: string[] = [];
    let at = 12;
    while (query[at]! > 0) {
      parts.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
      at += 1 + query[at]!;
    }
    const type = query.readUInt16BE(at + 1);
    const question = query.subarray(12, at + 5);
    const name = parts.join('.').toLowerCase();
    const named = Object.entries(types).find(([, number]) => number === type)?.[0] ?? String(type);
    this.asked.push(`${name} ${named}`);
    const answers = (this.#zone[name] ?? []).filter((each) => types[each.type] === type);
    const records = answers.map((each) => {
      const data = dataOf(each);
      const ttl = each.type === 'A' ? (each.ttl ?? 60) : 60;
      // The name is the one of the question, which stands at octet 12.
      return Buffer.concat([u16(0xc00c), u16(type), u16(1), u16(0), u16(ttl), u16(data.length), data]);
    });
    const isThere = Object.keys(this.#zone).includes(name);
    const flags = isThere ? 0x8180 : 0x8183;
    const head = Buffer.concat([query.subarray(0, 2), u16(flags), u16(1), u16(records.length), u16(0), u16(0)]);
    this.#socket.send(Buffer.concat([head, question, ...records]), from.port, from.address);
  }
}
