import { systemClock } from '../../../src/lib/clock.ts';
import { LimitCounts } from '../../../src/lib/limit-counts.ts';
import type { SipMessage } from '../../../src/sip/message/message.ts';
import type { ParseFailure } from '../../../src/sip/message/parse.ts';
import type { Protocol } from '../../../src/sip/transport/kind.ts';
import type { Listen, SendFailure, Source, Target, Transports } from '../../../src/sip/transport/transport.ts';
import { createTransports, type TransportsOptions } from '../../../src/sip/transport/transports.ts';
import { silentLog } from '../../support/log.ts';

/** A list that can be waited for: `next` gives its elements one after the other, as they come. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];

  put(item: T): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(item);
    else this.#items.push(item);
  }

  /** How many nobody has waited for yet. */
  get size(): number {
    return this.#items.length;
  }

  next(): Promise<T> {
    const item = this.#items.shift();
    return item === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(item);
  }
}

export type Party = {
  readonly transports: Transports;
  readonly messages: Inbox<{ message: SipMessage; source: Source }>;
  readonly malformed: Inbox<{ failure: ParseFailure; source: Source }>;
  readonly closed: Inbox<number>;
  /** The bounds that were met. */
  readonly limits: LimitCounts;
};

/** Transports on 127.0.0.1 (UDP, TCP and what else is named, any ports) and what they receive. */
export async function openParty(
  options: Partial<TransportsOptions> = {},
  more: readonly Listen[] = [],
): Promise<Party> {
  const limits = new LimitCounts();
  const transports = createTransports({ clock: systemClock, log: silentLog, hit: limits.hit, ...options });
  const party: Party = { transports, messages: new Inbox(), malformed: new Inbox(), closed: new Inbox(), limits };
  transports.onMessage((message, source) => party.messages.put({ message, source }));
  transports.onMalformed((failure, source) => party.malformed.put({ failure, source }));
  transports.onConnectionClosed((connection) => party.closed.put(connection));
  await transports.bind([
    { protocol: 'udp', host: '127.0.0.1', port: 0 },
    { protocol: 'tcp', host: '127.0.0.1', port: 0 },
    ...more,
  ]);
  return party;
}

/** Where a party listens. */
export function addressOf({ transports }: Party, protocol: Protocol): Target {
  const { host, port } = transports.listeners.find((listener) => listener.protocol === protocol)!;
  return { protocol, address: host, port };
}

/** The failure of one send. */
export function failureOf(transports: Transports, bytes: Buffer, target: Target): Promise<SendFailure> {
  return new Promise((resolve) => transports.send(bytes, target, resolve));
}

/** An OPTIONS request as text; `via` is what follows `SIP/2.0/`. */
export function options(via = 'UDP 127.0.0.1:5060;branch=z9hG4bKx', body = ''): Buffer {
  const lines = [
    'OPTIONS sip:us@127.0.0.1 SIP/2.0',
    `Via: SIP/2.0/${via}`,
    'Max-Forwards: 70',
    'From: <sip:carol@127.0.0.1>;tag=1',
    'To: <sip:us@127.0.0.1>',
    'Call-ID: abc',
    'CSeq: 1 OPTIONS',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ];
  return Buffer.from(lines.join('\r\n'));
}
