import { setTimeout as pause } from 'node:timers/promises';
import type { ServerInfo } from '../models/server-info.ts';
import { AskError, type Client } from './client.ts';

/** Between two looks at the calls that are left, in ms. */
const everyMs = 500;

export type DrainOptions = {
  /** How long to wait for live calls, in ms; undefined: until the last one ends. */
  waitMs?: number | undefined;
  /** Ends the wait; the server stays drained. */
  signal: AbortSignal;
  /** Hears how many channels are left, each time that it changes. */
  left(channels: number): void;
};

/**
 * Has the server take no new calls, and waits until no channel is left.
 * @throws AskError (rejects) if channels are left at the end of the wait; the server stays drained.
 */
export async function drain(client: Client, { waitMs, signal, left }: DrainOptions): Promise<void> {
  const end = waitMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + waitMs;
  let { channels } = JSON.parse(await client.ask('POST', '/hookswitch/server/drain')) as ServerInfo;
  left(channels);
  while (channels > 0 && !signal.aborted && performance.now() < end) {
    await pause(Math.min(everyMs, end - performance.now()), undefined, { signal }).catch(() => {});
    const before = channels;
    ({ channels } = await client.get<ServerInfo>('/hookswitch/server'));
    if (channels !== before) left(channels);
  }
  if (channels > 0)
    throw new AskError(`${channels} channel${channels === 1 ? '' : 's'} left. The server takes no new calls`);
}
