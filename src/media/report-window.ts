import type { ReportLimits } from './config.ts';
import type { MediaMessage } from './protocol.ts';

/** A counter in memory that both threads see: how many batches of messages the main thread has dealt with. */
export function newHeardCounter(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** The main thread has dealt with a batch. */
export function countHeard(counter: SharedArrayBuffer): void {
  Atomics.add(new Int32Array(counter), 0, 1);
}

/** Messages caused by packets, whose rate cannot be limited at the source: beyond the limits they are dropped. */
const droppable: ReadonlySet<MediaMessage['type']> = new Set([
  'digit',
  'digitPassed',
  'digitSent',
  'talkingStarted',
  'talkingFinished',
  'toneDetected',
  'measured',
  'videoMeasured',
  'keyFrameNeeded',
  'tcpSent',
  'mixTalking',
  'activeSpeaker',
  'videoSource',
  'log',
]);

/** Part of the room for all that sources which can wait may use: the rest is for messages that would be dropped. */
const waitingShare = 1 / 8;

/**
 * The messages that the main thread has not heard yet. The counts start again when it has heard everything. Sources that
 * can be paused ask {@link mayTell} first; of the others {@link take} drops what is too much.
 */
export class ReportWindow {
  readonly #heard: Int32Array;
  readonly #limits: ReportLimits;
  readonly #bySession = new Map<number, number>();
  #total = 0;
  #posted = 0;
  /** A batch is being gathered. */
  #gathering = false;

  constructor(counter: SharedArrayBuffer, limits: ReportLimits) {
    this.#heard = new Int32Array(counter);
    this.#limits = limits;
  }

  /** Whether a session whose source can wait may tell something more. */
  mayTell(session: number): boolean {
    return this.#fits(session, Math.ceil(this.#limits.inAll * waitingShare));
  }

  /** Counts a message to report; false: it is dropped. */
  take(message: MediaMessage): boolean {
    const session = 'session' in message ? message.session : undefined;
    const fits = this.#fits(session, this.#limits.inAll);
    if (!fits && droppable.has(message.type)) return false;
    this.#startAgain();
    this.#gathering = true;
    this.#total++;
    if (session !== undefined) this.#bySession.set(session, (this.#bySession.get(session) ?? 0) + 1);
    return true;
  }

  /** The counted messages were posted as one batch. */
  posted(): void {
    this.#posted = (this.#posted + 1) | 0;
    this.#gathering = false;
  }

  #fits(session: number | undefined, inAll: number): boolean {
    this.#startAgain();
    if (this.#total >= inAll) return false;
    return session === undefined || (this.#bySession.get(session) ?? 0) < this.#limits.perSession;
  }

  #startAgain(): void {
    if (this.#total === 0 || this.#gathering || Atomics.load(this.#heard, 0) !== this.#posted) return;
    this.#total = 0;
    this.#bySession.clear();
  }
}
