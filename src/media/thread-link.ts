import type { Clock } from '../lib/clock.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { HeldCommands } from './held-commands.ts';
import { hearLastWords, newLastWords } from './last-words.ts';
import type { EngineReport, LoggedAbout, MediaCommand, MediaMessage } from './protocol.ts';
import { countHeard } from './report-window.ts';
import { blockSlots, memoryIn, newBlock, type SessionMemory } from './session-memory.ts';
import type { MediaThread } from './start-worker.ts';

/** Callbacks of the session or mix that a report concerns. */
export interface Linked {
  /** Id of the channel or bridge; left out otherwise. */
  readonly id?: string;
  /** A report of the engine. */
  heard(report: EngineReport): void;
}

/** A session's location in a thread. */
export type Place = {
  /** Its number there. */
  session: number;
  slot: number;
  /** Memory shared with the thread. */
  memory: SessionMemory;
};

type Answer = Exclude<Extract<MediaMessage, { request: number }>, { type: 'refused' }>;
type Asking = Extract<MediaCommand, { request: number }>;
type AnswerTo<Command extends Asking> = Extract<
  Answer,
  {
    type: Command['type'] extends 'openRtp' | 'openVideo'
      ? 'opened'
      : Command['type'] extends 'shutdown'
        ? 'ended'
        : Command['type'];
  }
>;
type Pending = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

type ThreadLinkOptions = {
  clock: Clock;
  log: Logger;
  /** A thread that answers nothing for this long is ended, in ms; twelve times as long before its first word. */
  timeoutMs: number;
  /** Wake-up memory of the thread. */
  wakeUp: SharedArrayBuffer;
  /** Counter of processed reports: see `report-window.ts`. */
  heard: SharedArrayBuffer;
  /** Hears how often bounds were met there. */
  hit?: LimitHit | undefined;
  /** Hears that the thread is gone, with its ports, and that requests are rejected. */
  lost: (reason: string) => void;
};

/** Questions that have to stay unanswered one after another before the thread counts as hung. */
const unansweredBeats = 5;
/** The same for a starting thread, which first compiles its code. */
const startingBeats = 12 * unansweredBeats;
const threadEnded = 'the media thread ended';
/** A thread that has not stopped by then is left as it is: its process ends. */
const longestHaltMs = 200;

/**
 * The main thread's end of one media thread. Commands of one event-loop turn share a message; answers and reports are
 * routed; the thread's end is reported to all sessions. A heartbeat detects a hung thread and ends it.
 */
export class ThreadLink {
  /** Wake-up memory of the thread. */
  readonly wakeUp: SharedArrayBuffer;
  readonly #thread: MediaThread;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #beatMs: number;
  readonly #hit: LimitHit;
  readonly #lost: (reason: string) => void;
  readonly #sessions = new SlotMap<number, Linked>();
  readonly #mixes = new SlotMap<number, Linked>();
  readonly #blocks: SharedArrayBuffer[] = [];
  readonly #freeSlots: number[] = [];
  readonly #pending = new SlotMap<number, Pending>();
  #batch: MediaCommand[] = [];
  #next = 1;
  #nextRequest = 1;
  #nextPipe = 0;
  #alive = true;
  #held: HeldCommands | undefined;
  #lastWords: SharedArrayBuffer | undefined;
  #closing = false;
  #unanswered = 0;
  /** Whether it has said something. */
  #up = false;
  #beatTimer: unknown;
  #exited: () => void = () => {};
  readonly #exit = new Promise<void>((resolve) => {
    this.#exited = resolve;
  });

  constructor(thread: MediaThread, { clock, log, timeoutMs, wakeUp, heard, hit, lost }: ThreadLinkOptions) {
    this.wakeUp = wakeUp;
    this.#thread = thread;
    this.#clock = clock;
    this.#log = log;
    this.#hit = hit ?? uncounted;
    this.#lost = lost;
    this.#beatMs = timeoutMs / unansweredBeats;
    thread.on('message', (messages) => {
      this.#up = true;
      for (const message of messages as MediaMessage[]) {
        try {
          this.#hear(message);
        } catch (thrown) {
          // A listener's mistake must not cost the other sessions of this batch their reports.
          this.#log.error({ error: thrown, message: message.type }, 'a listener of the media plane failed');
        }
      }
      countHeard(heard);
    });
    thread.on('error', (error) => this.#fail(error));
    thread.on('exit', (code) => {
      this.#fail(new Error(`the media thread ended with code ${code}`));
      this.#lose();
    });
    this.#planBeat();
  }

  /** False once the thread has ended or is being ended. */
  get alive(): boolean {
    return this.#alive && !this.#closing;
  }

  /** Runs `fn` in a later turn, after all reports of this one. */
  soon(fn: () => void): void {
    this.#clock.soon(fn);
  }

  /** Gives a session its place, cleared, and hears reports for it until `remove`. */
  add(session: Linked): Place {
    const key = this.#next++;
    this.#sessions.set(key, session);
    const slot = this.#freeSlots.shift() ?? this.#moreSlots();
    const memory = memoryIn(this.#blocks[Math.floor(slot / blockSlots)]!, slot % blockSlots);
    memory.fill(0);
    return { session: key, slot, memory };
  }

  remove({ session, slot }: Place): void {
    if (this.#sessions.delete(session)) this.#freeSlots.push(slot);
  }

  /** How many sessions it has. */
  get load(): number {
    return this.#sessions.size;
  }

  /** Numbers what stands here for a session of another thread, and hears reports for it until `removeOther`. */
  addOther(other: Linked): number {
    const key = this.#next++;
    this.#sessions.set(key, other);
    return key;
  }

  removeOther(other: number): void {
    this.#sessions.delete(other);
  }

  /** A number for a pipe's side here. */
  nextPipe(): number {
    return this.#nextPipe++;
  }

  /** Gives a mix its number and hears reports for it until `removeMix`. */
  addMix(mix: Linked): number {
    const key = this.#next++;
    this.#mixes.set(key, mix);
    return key;
  }

  removeMix(mix: number): void {
    this.#mixes.delete(mix);
  }

  /** Sends a command that is not answered; on a thread that is gone nothing happens. */
  send(command: Exclude<MediaCommand, Asking>): void {
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

  /** Hears nothing of the thread any more, which goes on until {@link halt}. Resolves when everything before is heard. */
  async linger(): Promise<void> {
    const room = newLastWords();
    await this.request((request) => ({ type: 'linger', request, room }));
    this.#lastWords = room;
  }

  /** Stops the thread where it is, without a turn of the event loop. @returns what it told since {@link linger}. */
  halt(): [id: string, report: EngineReport][] {
    if (!this.#lastWords || !this.#alive) return [];
    this.#thread.postMessage([{ type: 'halt' }]);
    return (hearLastWords(this.#lastWords, longestHaltMs) ?? []).flatMap((report) => {
      const id = this.#sessions.get(report.session)?.id;
      return id === undefined ? [] : [[id, report] as [string, EngineReport]];
    });
  }

  /** Another process has the audio until {@link goOn}: the thread was started so. */
  hold(): void {
    this.#held = new HeldCommands();
  }

  goOn(): void {
    const held = this.#held?.all() ?? [];
    this.#held = undefined;
    for (const command of [{ type: 'goOn' } as const, ...held]) this.#post(command);
    // The far sides hear nothing meanwhile.
    this.#flush();
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
    if (this.#unanswered >= (this.#up ? unansweredBeats : startingBeats)) {
      this.#log.error({ sessions: this.#sessions.size }, 'the media thread hangs and is ended');
      this.#thread.terminate().catch((error: unknown) => {
        this.#fail(error);
        this.#lose();
      });
      return;
    }
    this.#unanswered++;
    this.#post({ type: 'ping' });
    this.#planBeat();
  }

  /** A message costs more than what is in it: both threads take part, and the other one is woken. */
  #post(command: MediaCommand): void {
    if (!this.#alive || this.#held?.take(command)) return;
    if (this.#batch.length === 0) this.#clock.soon(() => this.#flush());
    this.#batch.push(command);
  }

  #flush(): void {
    const batch = this.#batch;
    this.#batch = [];
    if (this.#alive && batch.length > 0) this.#thread.postMessage(batch);
  }

  /** Names the channel of a line about a session, and the bridge of one about a mix. */
  #named(fields: LoggedAbout): object {
    const { session, mix, ...rest } = fields;
    const channel = session === undefined ? undefined : this.#sessions.get(session)?.id;
    const bridge = mix === undefined ? undefined : this.#mixes.get(mix)?.id;
    return { ...(channel !== undefined && { channel }), ...(bridge !== undefined && { bridge }), ...rest };
  }

  #hear(message: MediaMessage): void {
    if (message.type === 'log') {
      this.#log[message.level](this.#named(message.fields as LoggedAbout), message.message);
      return;
    }
    if (message.type === 'pong') {
      this.#unanswered = 0;
      return;
    }
    if (message.type === 'limits') {
      for (const [setting, times] of Object.entries(message.counts)) this.#hit(setting, times);
      return;
    }
    if ('mix' in message) {
      this.#mixes.get(message.mix)?.heard(message);
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

  /** The thread has failed; its ports may be bound until it has ended. */
  #fail(error: unknown): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#clock.clearTimeout(this.#beatTimer);
    if (!this.#closing) this.#log.error({ error, sessions: this.#sessions.size }, threadEnded);
  }

  /** It is gone, and so are its ports. */
  #lose(): void {
    this.#exited();
    for (const { reject } of this.#pending.values()) reject(new Error(threadEnded));
    this.#pending.clear();
    this.#sessions.clear();
    this.#mixes.clear();
    this.#lost(threadEnded);
  }

  #moreSlots(): number {
    const block = newBlock();
    const first = this.#blocks.push(block) * blockSlots - blockSlots;
    this.#post({ type: 'memory', block });
    for (let slot = first + 1; slot < first + blockSlots; slot++) this.#freeSlots.push(slot);
    return first;
  }
}
