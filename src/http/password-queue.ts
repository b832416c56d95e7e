import { AriError } from '../models/errors.ts';

/** A password to be checked. */
type PasswordCheck = {
  /** Whose turn it takes. */
  readonly address: string;
  /** Whether the client has gone. */
  gone(): boolean;
  /** Runs the check; never throws synchronously. */
  run(): Promise<boolean>;
};

/** Checks passwords one after another, because each takes a processor for a good while. */
export interface PasswordQueue {
  /**
   * Whether the password is right; false, without a check, if the client has gone. Rejects with AriError
   * `tooManyLogIns` if too many wait.
   */
  check(check: PasswordCheck): Promise<boolean>;
  /** How many wait or are being checked. */
  readonly size: number;
}

type Waiting = { check: PasswordCheck; resolve(fits: boolean): void; reject(error: Error): void };

/**
 * At most `limit` checks wait. Addresses take turns, so that wrong passwords of one address do not delay others. In a
 * full queue the address with the most entries gives its last one to an address with fewer.
 */
export function createPasswordQueue(limit: number): PasswordQueue {
  /** By address, in the order of their turns. */
  const lines = new Map<string, Waiting[]>();
  let waiting = 0;
  let busy = false;

  const leave = (address: string, line: Waiting[]): void => {
    waiting--;
    if (line.length === 0) lines.delete(address);
  };
  const dropGone = (): void => {
    for (const [address, line] of lines) {
      for (const each of line.filter(({ check }) => check.gone())) {
        line.splice(line.indexOf(each), 1);
        leave(address, line);
        each.resolve(false);
      }
    }
  };
  const makeRoom = (address: string): void => {
    if (waiting >= limit) dropGone();
    if (waiting < limit) return;
    const [longest, line] = [...lines].reduce((one, other) => (other[1].length > one[1].length ? other : one));
    const refused = new AriError('tooManyLogIns');
    if (line.length <= (lines.get(address)?.length ?? 0) + 1) throw refused;
    const last = line.pop();
    leave(longest, line);
    last?.reject(refused);
  };
  const next = (): Waiting | undefined => {
    for (const [address, line] of lines) {
      const first = line.shift();
      // To the end of the round.
      lines.delete(address);
      if (line.length > 0) lines.set(address, line);
      if (!first) continue;
      waiting--;
      if (!first.check.gone()) return first;
      first.resolve(false);
    }
    return undefined;
  };
  const work = (): void => {
    const taken = next();
    busy = taken !== undefined;
    taken?.check.run().then(taken.resolve, taken.reject).finally(work);
  };

  return {
    check: async (check) => {
      makeRoom(check.address);
      return new Promise<boolean>((resolve, reject) => {
        const line = lines.get(check.address) ?? [];
        line.push({ check, resolve, reject });
        lines.set(check.address, line);
        waiting++;
        if (!busy) work();
      });
    },
    get size() {
      return waiting + Number(busy);
    },
  };
}
