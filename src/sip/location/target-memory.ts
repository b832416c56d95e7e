import type { Clock } from '../../lib/clock.ts';
import type { Target } from '../transport/transport.ts';

/** Times of a failover, read at each request, so that they can change meanwhile. */
export type FailoverTimes = {
  /** How long a server is waited for while others can be asked, in ms. */
  readonly patienceMs: number;
  /** How long a server that did not answer is asked after all others, in ms. */
  readonly avoidMs: number;
};

/** Servers that are remembered as failed, at most; beyond it the oldest are forgotten. */
const mostFailed = 1_000;

/**
 * Remembers failed servers, and servers with a registration of ours. So requests to a domain with several servers (RFC
 * 3263 section 4.3) do not wait for a dead one each time.
 */
export class TargetMemory {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #times: () => FailoverTimes;
  /** End of avoidance of each; the last failure is last. */
  readonly #failed = new Map<string, number>();
  /** How many registrations each server holds. */
  readonly #registered = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>, times: () => FailoverTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  /** How long a server is waited for while others can be asked, in ms. */
  get patienceMs(): number {
    return this.#times().patienceMs;
  }

  /** A server gave no sign of life. */
  failed(target: Target): void {
    const key = keyOf(target);
    this.#failed.delete(key);
    this.#failed.set(key, this.#clock.monotonic() + this.#times().avoidMs);
    if (this.#failed.size <= mostFailed) return;
    for (const oldest of this.#failed.keys()) {
      this.#failed.delete(oldest);
      return;
    }
  }

  /** A server has answered. */
  heard(target: Target): void {
    if (this.#failed.size > 0) this.#failed.delete(keyOf(target));
  }

  /** A server holds one registration more, or one less. */
  registered(target: Target, change: 1 | -1): void {
    const key = keyOf(target);
    const count = (this.#registered.get(key) ?? 0) + change;
    if (count > 0) this.#registered.set(key, count);
    else this.#registered.delete(key);
  }

  /** The order of attempts: servers with a registration of ours, then the others in DNS order, then failed ones. */
  inOrder(targets: readonly Target[]): readonly Target[] {
    if (targets.length < 2 || (this.#failed.size === 0 && this.#registered.size === 0)) return targets;
    const ranked = targets.map((target) => [this.#rank(target), target] as const);
    return ranked.sort(([one], [other]) => one - other).map(([, target]) => target);
  }

  #rank(target: Target): number {
    const key = keyOf(target);
    const until = this.#failed.get(key);
    if (until !== undefined) {
      if (until > this.#clock.monotonic()) return 2;
      this.#failed.delete(key);
    }
    return this.#registered.has(key) ? 0 : 1;
  }
}

const keyOf = ({ protocol, address, port }: Target): string => `${protocol} ${address} ${port}`;
