import { readdirSync, readFileSync } from 'node:fs';

/** How long a program may go on working before the test does, in ms of real time. */
const mostMs = 2_000;
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Threads that run, wait for a processor, or wait for a disk (proc_pid_stat(5)). */
const working = new Set(['R', 'D']);

/** How often the threads of a process and its children have run; undefined while one of them works. */
function turnsOf(pid: number): string | undefined {
  let turns = '';
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const place = `/proc/${pid}/task/${thread}`;
    const stat = readFileSync(`${place}/stat`, 'latin1');
    if (working.has(stat.charAt(stat.lastIndexOf(')') + 2))) return undefined;
    turns += ` ${readFileSync(`${place}/schedstat`, 'latin1').trim().split(' ')[2]}`;
    for (const child of readFileSync(`${place}/children`, 'latin1').split(' ').filter(Boolean)) {
      const below = turnsOf(Number(child));
      if (below === undefined) return undefined;
      turns += below;
    }
  }
  return turns;
}

/** Knows whether programs work. Linux says so; elsewhere they count as resting. */
export class ProgramWatch {
  readonly #pids = new Set<number>();

  add(pid: number): void {
    this.#pids.add(pid);
  }

  remove(pid: number): void {
    this.#pids.delete(pid);
  }

  /**
   * Waits until no thread of a program works, up to 2 s of real time: on a busy machine it takes long to get a turn.
   * @returns whether all rest.
   */
  async atRest(): Promise<boolean> {
    for (let waited = 0; waited < mostMs; waited++) {
      const before = this.#turns();
      // One thread may have woken another while we looked.
      if (before !== undefined && before === this.#turns()) return true;
      await later(1);
    }
    return false;
  }

  #turns(): string | undefined {
    let turns = '';
    for (const pid of this.#pids) {
      let own: string | undefined = '';
      try {
        own = turnsOf(pid);
      } catch {
        // It has just ended, or the system does not say.
      }
      if (own === undefined) return undefined;
      turns += `${pid}:${own};`;
    }
    return turns;
  }
}
