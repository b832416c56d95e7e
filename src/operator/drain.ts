import { systemClock } from '../lib/clock.ts';
import type { ServerInfo } from '../models/server-info.ts';
import { AskError, type Client } from './client.ts';

/** Between two looks at the calls that are left, in ms. */
const everyMs = 500;

type DrainOptions = {
  /** How long to wait for live calls, in ms; undefined: until the last one ends. */
  waitMs?: number | undefined;
  /** Take new calls again. */
  off?: boolean | undefined;
  /** Have another node of the cluster go on with all calls: the server ends. */
  move?: boolean | undefined;
  /** Write JSON, one line for each change. */
  json: boolean;
  /** Ends the wait; the server stays drained. */
  signal: AbortSignal;
  write(text: string): void;
};

/**
 * Has the server take no new calls, and waits until no channel is left. Writes how many are left, each time that it
 * changes. @throws AskError (rejects) if channels are left at the end of the wait; the server stays drained.
 */
export async function drain(client: Client, { waitMs, off, move, json, signal, write }: DrainOptions): Promise<void> {
  const tell = (text: string, state: object) => write(json ? `${JSON.stringify(state)}\n` : `${text}\n`);
  if (off) {
    await client.ask('DELETE', '/hookswitch/server/drain');
    return tell('the server takes new calls again', { draining: false });
  }
  if (move) {
    await client.ask('POST', '/hookswitch/server/move');
    return tell('another node goes on with the calls; the server ends', { moved: true });
  }
  const end = waitMs === undefined ? Number.POSITIVE_INFINITY : systemClock.monotonic() + waitMs;
  let { channels } = JSON.parse(await client.ask('POST', '/hookswitch/server/drain')) as ServerInfo;
  let told: number | undefined;
  for (;;) {
    if (channels !== told) tell(`no new calls; channels left: ${channels}`, { draining: true, channels });
    told = channels;
    const leftMs = end - systemClock.monotonic();
    if (channels === 0 || signal.aborted || leftMs <= 0) break;
    await new Promise<void>((resolve) => void systemClock.setTimeout(resolve, Math.min(everyMs, leftMs)));
    ({ channels } = await client.get<ServerInfo>('/hookswitch/server'));
  }
  if (channels > 0)
    throw new AskError(`${channels} channel${channels === 1 ? '' : 's'} left. The server takes no new calls`);
}
