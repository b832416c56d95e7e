/** The application of the media benchmark: bridges the callers of a scenario. */
import WebSocket from 'ws';
import type { Scenario } from './media-scenarios.ts';
import { authorizationOf, type Subject } from './server-process.ts';

type Entered = { type: string; args?: string[]; channel?: { id: string } };

/** How many requests are under way at a time. */
const atOnce = 16;
const application = 'bench';

/** Runs a task for each, some at a time. */
async function forEach<T>(all: readonly T[], task: (each: T, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < all.length; index = next++) await task(all[index]!, index);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

export class BenchApplication {
  readonly #server: Subject;
  readonly #socket: WebSocket;
  /** Channels by the number of the call; those of servers by their ids. */
  readonly #channels = new Map<number, string>();
  readonly #entered = new Set<string>();
  readonly #made: string[] = [];
  readonly #waiting: (() => void)[] = [];

  private constructor(server: Subject, socket: WebSocket) {
    this.#server = server;
    this.#socket = socket;
    socket.on('message', (data) => this.#hear(JSON.parse(String(data)) as Entered));
  }

  static async open(server: Subject): Promise<BenchApplication> {
    const [user = '', password = ''] = server.credentials.split(':');
    const key = encodeURIComponent(`${user}:${password}`);
    const socket = new WebSocket(`${server.http.replace(/^http/, 'ws')}/events?app=${application}&api_key=${key}`);
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return new BenchApplication(server, socket);
  }

  /** Bridges all legs by the scenario once they are up. @param echoPort port of an echo server. */
  async arrange({ members, recorded, external }: Scenario, legs: number, echoPort: number): Promise<void> {
    await this.#until(() => this.#channels.size >= legs);
    const channels = Array.from({ length: legs }, (_, leg) => this.#channels.get(leg)!);
    if (external) {
      await forEach(channels, async (channel) => {
        const host = encodeURIComponent(`127.0.0.1:${echoPort}`);
        const made = await this.#ask<{ id: string }>(
          'POST',
          `/channels/externalMedia?app=${application}&external_host=${host}&format=ulaw`,
        );
        this.#made.push(`/channels/${made.id}`);
        await this.#until(() => this.#entered.has(made.id));
        await this.#bridge([channel, made.id], false);
      });
      return;
    }
    if (!members) return;
    const groups: string[][] = [];
    for (let first = 0; first < legs; first += members) groups.push(channels.slice(first, first + members));
    await forEach(groups, (group) => this.#bridge(group, recorded === true));
  }

  /** Undoes what was arranged. */
  async close(): Promise<void> {
    await forEach(this.#made.reverse(), async (path) => {
      await this.#ask('DELETE', path).catch(() => undefined);
    });
    this.#socket.close();
  }

  async #bridge(channels: readonly string[], recorded: boolean): Promise<void> {
    const { id } = await this.#ask<{ id: string }>('POST', '/bridges?type=mixing');
    this.#made.push(`/bridges/${id}`);
    await this.#ask('POST', `/bridges/${id}/addChannel?channel=${channels.join(',')}`);
    if (recorded) await this.#ask('POST', `/bridges/${id}/record?name=bench-${id}&format=wav&ifExists=overwrite`);
  }

  async #ask<T>(method: string, path: string): Promise<T> {
    const headers = { authorization: authorizationOf(this.#server) };
    const response = await fetch(`${this.#server.http}${path}`, { method, headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  #hear({ type, args, channel }: Entered): void {
    if (type !== 'StasisStart' || !channel) return;
    this.#entered.add(channel.id);
    const number = /^m(\d+)$/.exec(args?.[0] ?? '')?.[1];
    if (number !== undefined) this.#channels.set(Number(number), channel.id);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #until(enough: () => boolean): Promise<void> {
    while (!enough()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
