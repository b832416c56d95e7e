import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { patienceMs } from './ari-client.ts';

/** A TypeScript program in a process of its own: an example, or a client that cannot live in the test's process. */
export class Program {
  /** Everything it has written so far, errors too. */
  written = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #heard = new EventEmitter();
  #over = false;

  /** @param file relative to the root of the project. @param env what stands above this process's environment. */
  constructor(file: string, args: string[] = [], env: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, ['--import', 'tsx', file, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        this.written += chunk;
        this.#heard.emit('more');
      });
    this.#ended = once(this.#child, 'close').then(() => {
      this.#over = true;
      this.#heard.emit('more');
    });
  }

  /** Resolves once all that it wrote matches. @throws Error with what it wrote when that does not come. */
  async until(matches: RegExp): Promise<void> {
    const signal = AbortSignal.timeout(patienceMs);
    while (!matches.test(this.written)) {
      if (this.#over) throw new Error(`the program has ended after it wrote: ${this.written}`);
      await once(this.#heard, 'more', { signal }).catch(() => {
        throw new Error(`${matches} did not come; the program wrote: ${this.written}`);
      });
    }
  }

  /** Resolves when it has ended by itself, with its exit code; null when a signal ended it. */
  async end(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  explain(): string {
    return `program:\n${this.written}`;
  }

  /** Ends it, when it has not ended yet. */
  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
