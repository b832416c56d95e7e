import type { WebSocket } from 'ws';
import type { Clock } from '../lib/clock.ts';
import type { HttpUser } from './user.ts';

/** Longest that a timer can wait, in ms: about 24 days. */
const longestTimerMs = 2_147_483_647;

/** Reason of closing (1008) a WebSocket whose user or token is no longer valid. */
export const notLetIn = 'the credentials are no longer valid';

/** Closes a WebSocket (1008) when the token expires that its rights come from. @returns what ends the wait. */
export function closeWithToken(
  { raw, user }: { raw: Pick<WebSocket, 'close'>; user?: HttpUser | undefined },
  clock: Pick<Clock, 'now' | 'setTimeout' | 'clearTimeout'>,
): () => void {
  const expiresAt = user?.token?.expiresAt;
  if (expiresAt === undefined) return () => {};
  let timer: unknown;
  const wait = (): void => {
    const left = expiresAt - clock.now();
    if (left <= 0) raw.close(1008, notLetIn);
    else timer = clock.setTimeout(wait, Math.min(left, longestTimerMs));
  };
  wait();
  return () => clock.clearTimeout(timer);
}
