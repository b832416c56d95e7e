import { patienceMs } from './ari-client.ts';

/**
 * Resolves once a condition holds: it is looked at now, and by all of `looks` whenever something has come.
 * @throws Error with what `late` says when it does not come to hold.
 */
export function untilHolds(looks: Set<() => void>, holds: () => boolean, late: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!holds()) return;
      clearTimeout(timer);
      looks.delete(look);
      resolve();
    };
    const timer = setTimeout(() => {
      looks.delete(look);
      reject(new Error(late()));
    }, patienceMs);
    looks.add(look);
    look();
  });
}
