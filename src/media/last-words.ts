import type { EngineReport } from './protocol.ts';

/**
 * Memory through which a media thread tells what happened while its main thread stood still: in an upgrade it goes on
 * until the next process has restored the calls. Words: the state, and how many octets of JSON follow.
 */
const word = { state: 0, length: 1 } as const;
const headOctets = 8;
const roomOctets = 262_144;
const over = 1;

/** What the next process has to hear: its own threads find out everything else. */
const kept: ReadonlySet<string> = new Set<EngineReport['type']>([
  ...(['digit', 'digitPassed', 'talkingStarted', 'talkingFinished', 'toneDetected', 'timedOut'] as const),
  ...(['located', 'videoLocated', 'secured', 'hangupAsked', 'answerAsked'] as const),
]);

export const newLastWords = (): SharedArrayBuffer => new SharedArrayBuffer(headOctets + roomOctets);

/** The reports of a thread since its main thread stands still. */
export class LastWords {
  readonly #room: SharedArrayBuffer;
  readonly #reports: string[] = [];
  #octets = 2;

  constructor(room: SharedArrayBuffer) {
    this.#room = room;
  }

  /** Keeps a report, as long as there is room. */
  add(report: { type: string }): void {
    if (!kept.has(report.type)) return;
    const json = JSON.stringify(report);
    const octets = Buffer.byteLength(json) + 1;
    if (this.#octets + octets > roomOctets) return;
    this.#octets += octets;
    this.#reports.push(json);
  }

  /** Tells them, and stops the thread where it is. It ends with the process. */
  end(): void {
    const words = new Int32Array(this.#room);
    words[word.length] = Buffer.from(this.#room, headOctets).write(`[${this.#reports.join()}]`);
    Atomics.store(words, word.state, over);
    Atomics.notify(words, word.state);
    Atomics.wait(words, word.state, over);
  }
}

/** Waits for a thread to stop. @returns its reports; undefined: it has not stopped within so many ms. */
export function hearLastWords(
  room: SharedArrayBuffer,
  waitMs: number,
): (EngineReport & { session: number })[] | undefined {
  const words = new Int32Array(room);
  Atomics.wait(words, word.state, 0, waitMs);
  if (Atomics.load(words, word.state) !== over) return undefined;
  const json = Buffer.from(room, headOctets, words[word.length]!).toString();
  return JSON.parse(json) as (EngineReport & { session: number })[];
}
