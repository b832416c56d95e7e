import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { nodeArguments } from '../../scripts/compiled.ts';
import { untilHolds } from './waiting.ts';

/** A program in a process of its own: a phone, a proxy, an example. */
export class Command {
  /** Everything it has written so far, errors too. */
  written = '';
  readonly #child: ChildProcess;
  readonly #forks: boolean;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Set<() => void>();
  #over = false;

  /**
   * @param env what stands above this process's environment.
   * @param forks it starts processes of its own, which are to end with it.
   */
  constructor(program: string, args: readonly string[] = [], env: Record<string, string> = {}, forks = false) {
    this.#forks = forks;
    this.#child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: forks,
    });
    // Who does not read any more has ended, and that is told.
    this.#child.stdin!.on('error', () => {});
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        this.written += chunk;
        this.#look();
      });
    this.#ended = once(this.#child, 'close').then(() => {
      this.#over = true;
      this.#look();
    });
  }

  /** Resolves once all that it wrote matches. @throws Error with what it wrote when that does not come. */
  until(matches: RegExp): Promise<void> {
    const holds = () => {
      if (matches.test(this.written)) return true;
      if (this.#over) throw new Error(`the program has ended after it wrote: ${this.written}`);
      return false;
    };
    return untilHolds(this.#waiting, holds, () => `${matches} did not come; the program wrote: ${this.written}`);
  }

  /** Resolves when it has ended by itself, with its exit code; null when a signal ended it. */
  async end(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  /** Enters a line, as who sits in front of it would. */
  enter(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }

  /** Asks it to end; resolves when it has. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }

  explain(): string {
    return `program:\n${this.written}`;
  }

  /** Ends it, when it has not ended yet. */
  async close(): Promise<void> {
    const { pid } = this.#child;
    if (this.#forks && !this.#over && pid !== undefined) process.kill(-pid, 'SIGKILL');
    else this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }
}

/** A TypeScript program: an example, or a client that cannot live in the test's process. */
export class Program extends Command {
  /** @param file relative to the root of the project. @param env what stands above this process's environment. */
  constructor(file: string, args: readonly string[] = [], env: Record<string, string> = {}) {
    super(process.execPath, [...nodeArguments(file), ...args], env);
  }
}
