import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';

/** Whether a nonce may be used now: `stale` was ours but is too old or used up, `foreign` was never ours. */
type NonceVerdict = 'fresh' | 'stale' | 'foreign';

/** Makes and checks nonces. */
interface Nonces {
  /** @param holder the only source that may use it. */
  create(holder: string): string;
  /** Tells the result without using the nonce. */
  check(nonce: string, holder: string): NonceVerdict;
  /**
   * Uses the nonce once with this count (1 and up; undefined for credentials without qop, which may use it once).
   * False when that use was seen before or came too late: a replay, or a client that does not count.
   */
  use(nonce: string, holder: string, count: number | undefined): boolean;
  /** How many used nonces are remembered. */
  size(): number;
}

type NonceOptions = {
  clock: Clock;
  ids: Ids;
  /** ms that a nonce is good for. */
  lifetimeMs: number;
  /** Used nonces remembered at most; beyond it the oldest become stale. */
  capacity?: number;
};

const MAC_LENGTH = 32;

/**
 * Nonces that verify themselves: they contain their time and a keyed hash, so unauthenticated requests cost no memory.
 * Only nonces of successful log-ins are remembered, to refuse replays.
 */
export function createNonces({ clock, ids, lifetimeMs, capacity = 100_000 }: NonceOptions): Nonces {
  const key = ids.secret(40);
  // Insertion order is order of first use, close enough to age for throwing the oldest out.
  const used = new Map<string, { count: number; expiresAt: number }>();
  let forgottenBefore = 0;

  const sign = (text: string) => createHmac('sha256', key).update(text).digest('hex').slice(0, MAC_LENGTH);

  const madeAt = (nonce: string, holder: string): number | undefined => {
    const [time, salt, mac, rest] = nonce.split('.');
    if (time === undefined || salt === undefined || mac?.length !== MAC_LENGTH || rest !== undefined) return undefined;
    const genuine = timingSafeEqual(
      Buffer.from(sign(`${time}.${salt}.${holder}`)),
      Buffer.from(mac.padEnd(MAC_LENGTH)).subarray(0, MAC_LENGTH),
    );
    return genuine ? Number.parseInt(time, 36) : undefined;
  };

  const forgetOld = () => {
    for (const [nonce, use] of used) {
      if (use.expiresAt > clock.monotonic() && used.size <= capacity) break;
      // Older nonces than one dropped early could be replays.
      if (use.expiresAt > clock.monotonic()) forgottenBefore = Math.max(forgottenBefore, use.expiresAt - lifetimeMs);
      used.delete(nonce);
    }
  };

  return {
    create(holder) {
      const text = `${Math.floor(clock.monotonic()).toString(36)}.${ids.secret(16)}`;
      return `${text}.${sign(`${text}.${holder}`)}`;
    },
    check(nonce, holder) {
      const made = madeAt(nonce, holder);
      if (made === undefined) return 'foreign';
      if (made + lifetimeMs <= clock.monotonic()) return 'stale';
      return made <= forgottenBefore && !used.has(nonce) ? 'stale' : 'fresh';
    },
    use(nonce, holder, count) {
      const seen = used.get(nonce);
      if (seen && (count === undefined || count <= seen.count)) return false;
      const made = madeAt(nonce, holder);
      if (made === undefined) return false;
      // Credentials without a count use the nonce up.
      used.set(nonce, { count: count ?? Number.MAX_SAFE_INTEGER, expiresAt: made + lifetimeMs });
      forgetOld();
      return true;
    },
    size: () => used.size,
  };
}
