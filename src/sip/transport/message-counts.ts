import type { SipMessage } from '../message/message.ts';

/** How many SIP messages came and went since the start; requests by method, responses by status. */
type MessageFigures = {
  received: { requests: Readonly<Record<string, number>>; responses: Readonly<Record<string, number>> };
  sent: { requests: Readonly<Record<string, number>>; responses: Readonly<Record<string, number>> };
};

/** Methods that are counted by name; all others are one. */
const methods = [
  ...['INVITE', 'ACK', 'BYE', 'CANCEL', 'REGISTER', 'OPTIONS', 'INFO', 'UPDATE', 'PRACK'],
  ...['SUBSCRIBE', 'NOTIFY', 'REFER', 'MESSAGE', 'PUBLISH'],
];

type Counts = { requests: Map<string, number>; responses: Uint32Array };

const longestMethod = 10;
/** `SIP/2.0 ` and three digits. */
const statusAt = 8;

/** Counts messages, at the cost of a look at their first octets. */
export class MessageCounts {
  readonly #received = newCounts();
  readonly #sent = newCounts();

  received(message: SipMessage): void {
    if (message.kind === 'response') this.#received.responses[message.status]!++;
    else countRequest(this.#received, message.method);
  }

  sent(bytes: Buffer): void {
    const space = bytes.indexOf(0x20);
    const isResponse = space === statusAt - 1 && bytes[3] === 0x2f;
    if (!isResponse) {
      countRequest(this.#sent, bytes.toString('latin1', 0, Math.min(space, longestMethod)));
      return;
    }
    const digit = (index: number): number => bytes[statusAt + index]! - 0x30;
    const status = digit(0) * 100 + digit(1) * 10 + digit(2);
    if (status < 1000) this.#sent.responses[status]!++;
  }

  figures(): MessageFigures {
    return { received: shown(this.#received), sent: shown(this.#sent) };
  }
}

const newCounts = (): Counts => ({
  requests: new Map(methods.map((method) => [method, 0])),
  responses: new Uint32Array(1000),
});

function countRequest({ requests }: Counts, method: string): void {
  const known = requests.get(method);
  if (known === undefined) requests.set('other', (requests.get('other') ?? 0) + 1);
  else requests.set(method, known + 1);
}

const shown = ({ requests, responses }: Counts): MessageFigures['sent'] => ({
  requests: Object.fromEntries([...requests].filter(([, count]) => count > 0)),
  responses: Object.fromEntries([...responses.entries()].filter(([, count]) => count > 0)),
});
