import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

/** How long a program may go on working before the test does, in ms of real time. */
const mostMs = 2_000;
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Threads that run, wait for a processor, or wait for a disk (proc_pid_stat(5)). */
const working = new Set(['R', 'D']);
/** What these files hold is shorter. */
const text = Buffer.allocUnsafe(65_536);

/** A file of /proc that stays open: reading it again from its beginning shows what is so now. */
class ProcFile {
  readonly #fd: number;

  constructor(path: string) {
    this.#fd = openSync(path, 'r');
  }

  read(): string {
    return text.toString('latin1', 0, readSync(this.#fd, text, 0, text.length, 0));
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Opens all or none. */
function openAll(paths: readonly string[]): ProcFile[] {
  const files: ProcFile[] = [];
  try {
    for (const path of paths) files.push(new ProcFile(path));
  } catch (error) {
    for (const file of files) file.close();
    throw error;
  }
  return files;
}

/** A thread of a program. Its files are read thousands of times: to open them each time took most of a test. */
class Thread {
  readonly #files: ProcFile[];
  /** How many threads the program had when this one was last looked at. */
  siblings = 0;

  constructor(place: string) {
    this.#files = openAll([`${place}/stat`, `${place}/schedstat`, `${place}/children`]);
  }

  /** How often it has run; undefined while it works. @throws Error when it has ended. */
  turns(): string | undefined {
    const stat = this.#read(0);
    const state = stat.lastIndexOf(')') + 2;
    this.siblings = Number(stat.slice(state).split(' ', 18)[17]);
    return working.has(stat.charAt(state)) ? undefined : (this.#read(1).trim().split(' ')[2] ?? '');
  }

  children(): number[] {
    const children = this.#read(2);
    return children === '' ? [] : children.split(' ').filter(Boolean).map(Number);
  }

  close(): void {
    for (const file of this.#files) file.close();
  }

  #read(place: 0 | 1 | 2): string {
    return (this.#files[place] as ProcFile).read();
  }
}

/** The threads of a program, and the programs that it has started. */
class Program {
  readonly #pid: number;
  readonly #threads = new Map<string, Thread>();
  readonly #children = new Map<number, Program>();

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** How often its threads have run, and those of its children; undefined while one of them works. */
  turns(): string | undefined {
    try {
      return this.#look();
    } catch {
      // A thread has just ended, or the system does not say.
      this.close();
      return '';
    }
  }

  close(): void {
    for (const thread of this.#threads.values()) thread.close();
    for (const child of this.#children.values()) child.close();
    this.#threads.clear();
    this.#children.clear();
  }

  #look(): string | undefined {
    let turns = '';
    if (this.#threads.size === 0) this.#findThreads();
    const children = new Set<number>();
    for (const thread of this.#threads.values()) {
      const own = thread.turns();
      if (own === undefined) return undefined;
      if (thread.siblings !== this.#threads.size) {
        this.#findThreads();
        return undefined;
      }
      turns += ` ${own}`;
      for (const child of thread.children()) children.add(child);
    }
    for (const pid of children) {
      const child = this.#children.get(pid) ?? new Program(pid);
      this.#children.set(pid, child);
      const below = child.turns();
      if (below === undefined) return undefined;
      turns += ` ${pid}:${below}`;
    }
    for (const [pid, child] of this.#children) if (!children.has(pid) && this.#children.delete(pid)) child.close();
    return turns;
  }

  #findThreads(): void {
    const place = `/proc/${this.#pid}/task`;
    const ids = new Set(readdirSync(place));
    for (const [id, thread] of this.#threads) if (!ids.has(id) && this.#threads.delete(id)) thread.close();
    for (const id of ids) if (!this.#threads.has(id)) this.#threads.set(id, new Thread(`${place}/${id}`));
  }
}

/** Knows whether programs work. Linux says so; elsewhere they count as resting. */
export class ProgramWatch {
  readonly #programs = new Map<number, Program>();

  add(pid: number): void {
    this.#programs.set(pid, new Program(pid));
  }

  remove(pid: number): void {
    this.#programs.get(pid)?.close();
    this.#programs.delete(pid);
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
    for (const [pid, program] of this.#programs) {
      const own = program.turns();
      if (own === undefined) return undefined;
      turns += `${pid}:${own};`;
    }
    return turns;
  }
}
