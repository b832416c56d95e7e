import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { EngineReport, MediaCommand, MediaMessage, SessionCommand } from './protocol.ts';
import type { MediaThread } from './start-worker.ts';

/** What the link tells the session that a report is about. */
export interface LinkedSession {
  /** A report of the engine. */
  heard(report: EngineReport): void;
  /** The thread is gone: nothing will be heard any more. */
  lost(reason: string): void;
}

type Answer = Exclude<Extract<MediaMessage, { request: number }>, { type: 'refused' }>;
type Asking = Extract<MediaCommand, { request: number }>;
type AnswerTo<Command extends Asking> = Extract<
  Answer,
  {
    type: Command['type'] extends 'openRtp' ? 'opened' : Command['type'] extends 'shutdown' ? 'ended' : Command['type'];
  }
>;
type Pending = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

export type ThreadLinkOptions = {
  clock: Clock;
  log: Logger;
  /** A thread that answers nothing for this long is ended, in ms. */
  timeoutMs: number;
};

/** Questions that have to stay unanswered one after another before the thread counts as hung. */
const unansweredBeats = 5;

/**
 * The main thread's end of one media thread: commands of one turn of the event loop go in one message, answers find
 * who asked, reports find their session, and the end of the thread is told to everyone concerned. A thread that hangs
 * is ended: it is asked now and then whether it lives.
 */
export class ThreadLink {
  readonly #thread: MediaThread;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #beatMs: number;
  readonly #sessions = new Map<number, LinkedSession>();
  readonly #pending = new Map<number, Pending>();
  #batch: MediaCommand[] = [];
  #nextSession = 1;
  #nextRequest = 1;
  #alive = true;
  #closing = false;
  #unanswered = 0;
  #beatTimer: unknown;
  #exited: () => void = () => {};
  readonly #exit = new Promise<void>((resolve) => {
    this.#exited = resolve;
  });

  constructor(thread: MediaThread, { clock, log, timeoutMs }: ThreadLinkOptions) {
    this.#thread = thread;
    this.#clock = clock;
    this.#log = log;
    this.#beatMs = timeoutMs / unansweredBeats;
    thread.on('message', (messages) => {
      for (const message of messages as MediaMessage[]) {
        try {
          this.#hear(message);
        } catch (thrown) {
          // A listener's mistake must not cost the other sessions of this batch their reports.
          this.#log.error({ error: thrown, message: message.type }, 'a listener of the media plane threw');
        }
      }
    });
    thread.on('error', (error) => this.#lose(error));
    thread.on('exit', (code) => {
      this.#lose(new Error(`the media thread ended with code ${code}`));
      this.#exited();
    });
    this.#planBeat();
  }

  /** False once the thread has ended or is being ended. */
  get alive(): boolean {
    return this.#alive && !this.#closing;
  }

  /** Runs `fn` in a turn of its own, behind all that is told in this one. */
  soon(fn: () => void): void {
    this.#clock.soon(fn);
  }

  /** Gives a session its number and hears reports for it until `remove`. */
  add(session: LinkedSession): number {
    const key = this.#nextSession++;
    this.#sessions.set(key, session);
    return key;
  }

  remove(session: number): void {
    this.#sessions.delete(session);
  }

  /** Sends a command; on a thread that is gone nothing happens. */
  send(command: SessionCommand | Extract<MediaCommand, { type: 'openLocal' }>): void {
    this.#post(command);
  }

  /**
   * Sends a command that is answered. `heard` gets the answer before anything that the thread told after it.
   * @throws Error (rejects) when refused or when the thread ends before.
   */
  request<Command extends Asking>(
    command: (request: number) => Command,
    heard: (answer: AnswerTo<Command>) => void = () => {},
  ): Promise<AnswerTo<Command>> {
    const request = this.#nextRequest++;
    if (!this.#alive) return Promise.reject(new Error('the media thread has ended'));
    return new Promise<Answer>((resolve, reject) => {
      const settle = (answer: Answer) => {
        heard(answer as AnswerTo<Command>);
        resolve(answer);
      };
      this.#pending.set(request, { resolve: settle, reject });
      this.#post(command(request));
    }) as Promise<AnswerTo<Command>>;
  }

  /** Ends all sessions and the thread; resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#alive && !this.#closing) {
      this.#closing = true;
      // A thread that dies instead of answering is as good.
      await this.request((request) => ({ type: 'shutdown', request })).catch(() => undefined);
      await this.#thread.terminate();
    }
    await this.#exit;
  }

  /** Counted in questions, not in time: a main thread that stood still itself finds the answers first. */
  #planBeat(): void {
    // Planned in a turn of its own, so that answers are heard between two questions on any clock.
    this.#clock.soon(() => {
      if (this.#alive) this.#beatTimer = this.#clock.setTimeout(() => this.#beat(), this.#beatMs);
    });
  }

  #beat(): void {
    if (!this.#alive) return;
    if (this.#unanswered >= unansweredBeats) {
      this.#log.error({ sessions: this.#sessions.size }, 'the media thread hangs and is ended');
      this.#thread.terminate().catch((error: unknown) => this.#lose(error));
      return;
    }
    this.#unanswered++;
    this.#post({ type: 'ping' });
    this.#planBeat();
  }

  #post(command: MediaCommand): void {
    if (!this.#alive) return;
    if (this.#batch.length === 0) queueMicrotask(() => this.#flush());
    this.#batch.push(command);
  }

  #flush(): void {
    const batch = this.#batch;
    this.#batch = [];
    if (this.#alive) this.#thread.postMessage(batch);
  }

  #hear(message: MediaMessage): void {
    if (message.type === 'log') {
      this.#log[message.level](message.fields, message.message);
      return;
    }
    if (message.type === 'pong') {
      this.#unanswered = 0;
      return;
    }
    if (!('request' in message)) {
      this.#sessions.get(message.session)?.heard(message);
      return;
    }
    const pending = this.#pending.get(message.request);
    this.#pending.delete(message.request);
    if (message.type === 'refused') pending?.reject(new Error(message.reason));
    else pending?.resolve(message);
  }

  #lose(error: unknown): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#clock.clearTimeout(this.#beatTimer);
    const reason = 'the media thread ended';
    if (!this.#closing) this.#log.error({ error, sessions: this.#sessions.size }, reason);
    for (const { reject } of this.#pending.values()) reject(new Error(reason, { cause: error }));
    this.#pending.clear();
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) session.lost(reason);
  }
}
