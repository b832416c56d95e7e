import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import type { AriClient } from './ari-client.ts';
import { confirm, invite, label, provisional, receive, request, SippRun } from './sipp.ts';
import { untilAsked } from './waiting.ts';

/** A call that is answered, follows its server to another address, and ends with BYE. */
const steps = [
  invite({ mediaPort: 9, from: '4711' }),
  provisional(),
  receive(200),
  request('ACK', 1),
  label(1),
  receive('INVITE', { optional: true, attributes: ' next="2"' }),
  receive('BYE'),
  confirm({ attributes: ' next="3"' }),
  label(2),
  confirm({ mediaPort: 9 }),
  receive('ACK', { optional: true, attributes: ' next="1"' }),
  // Kamailio may have let it overtake the ACK.
  receive('BYE'),
  confirm(),
  label(3),
];

/** Calls of SIPp to the nodes of a cluster, which an application answers. */
export class ClusterCalls {
  /** The channels, in the order in which they came. */
  readonly ids: string[] = [];
  readonly #total: number;
  readonly #phones: readonly SippRun[];

  /**
   * @param to the proxy.
   * @param addresses of phones, which share the calls: Kamailio bounds what one address sends.
   */
  constructor(sipp: string, to: string, total: number, addresses: readonly string[]) {
    this.#total = total;
    this.#phones = addresses.flatMap((address, at) => {
      const calls = Math.floor(total / addresses.length) + (at < total % addresses.length ? 1 : 0);
      return calls > 0 ? new SippRun(sipp, { remote: to, steps, service: '1001', calls, rate: 5, address }) : [];
    });
  }

  /** Answers each call as it comes; resolves when all are up. @param others calls of the application that are not these. */
  async answerBy(client: AriClient, others: readonly string[] = []): Promise<void> {
    const answers: Promise<string>[] = [];
    const answerNew = (): void => {
      const all = client.events
        .flatMap((event) => (event.type === 'StasisStart' ? [event.channel.id] : []))
        .filter((id) => !others.includes(id));
      for (const id of all.slice(this.ids.length)) {
        this.ids.push(id);
        const answer = client.ok('POST', `/channels/${id}/answer`);
        answers.push(
          answer.then(
            () => '',
            (error: unknown) => String(error),
          ),
        );
      }
    };
    await untilAsked(
      () => {
        answerNew();
        return this.ids.length === this.#total;
      },
      () => `${this.ids.length} calls have come`,
    );
    assert.equal((await Promise.all(answers)).filter(Boolean), []);
    assert.is(new Set(this.ids).size, this.#total);
    await untilAsked(
      async () => (await this.up(client)) === this.#total,
      () => 'not all calls are up',
    );
  }

  /** How many are up. */
  async up(client: AriClient): Promise<number> {
    const channels = await client.ok<Channel[]>('GET', '/channels');
    return channels.filter(({ id, state }) => state === 'Up' && this.ids.includes(id)).length;
  }

  /** Those at a node. */
  at(node: string): string[] {
    return this.ids.filter((id) => id.startsWith(`${node}~`));
  }

  /** How many calls at each node. @throws Error when a node has none. */
  spread(nodes: readonly string[]): Record<string, number> {
    const counts = Object.fromEntries(nodes.map((name) => [name, this.at(name).length]));
    assert.ok(
      Object.values(counts).every((count) => count > 0),
      JSON.stringify(counts),
    );
    return counts;
  }

  /** Calls whose server has told its new address. */
  get reinvited(): number {
    const ofPhone = (phone: SippRun): number => {
      const invites = phone
        .messages()
        .filter(({ text, direction }) => direction === 'received' && text.startsWith('INVITE '));
      return new Set(invites.map(({ text }) => /^Call-ID: (.*)$/m.exec(text)?.[1])).size;
    };
    return this.#phones.reduce((sum, phone) => sum + ofPhone(phone), 0);
  }

  /** Hangs all up. Resolves when each ended as it should, for the application and at its phone. */
  async endBy(client: AriClient): Promise<void> {
    const ended = Promise.all(this.ids.map((id) => client.waitFor('StasisEnd', ({ channel }) => channel.id === id)));
    await Promise.all([ended, ...this.ids.map((id) => client.ok('DELETE', `/channels/${id}`))]);
    const outcomes = await Promise.allSettled(this.#phones.map(({ done }) => done));
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
    assert.is(failed.length, 0, `${failed.length} phones failed; the end of one: ${failed[0]?.slice(-4000)}`);
  }

  close(): void {
    for (const phone of this.#phones) phone.close();
  }
}

/**
 * Places calls until the proxy has sent one to each node: it leaves out those whose first OPTIONS was not answered, for a while.
 * @returns the channels, which have ended.
 */
export async function untilAllTakeCalls(
  nodes: readonly string[],
  client: AriClient,
  place: () => ClusterCalls,
): Promise<string[]> {
  const ended: string[] = [];
  await untilAsked(
    async () => {
      const calls = place();
      try {
        await calls.answerBy(client, ended);
        await calls.endBy(client);
      } finally {
        calls.close();
      }
      ended.push(...calls.ids);
      return nodes.every((node) => ended.some((id) => id.startsWith(`${node}~`)));
    },
    () => `calls came to ${ended.join()} only`,
  );
  return ended;
}

/** The events have the numbers that follow each other. */
export function requireEveryNumber(client: AriClient): void {
  const numbers = (client.events as unknown as { seq: number }[]).map(({ seq }) => seq);
  assert.equal(
    numbers,
    numbers.map((_, at) => numbers[0]! + at),
  );
}
