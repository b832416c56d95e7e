import type { Hearer } from '../end.ts';
import type { Frame } from '../frame.ts';
import type { Playout } from './playout.ts';
import { Steadiness } from './steadiness.ts';

type AtOnceOptions = {
  /** Gets the far side's audio, and undefined for a tick without. */
  heard: (frame: Frame | undefined) => void;
  /** Whether the stream needs a jitter buffer has changed. */
  changed: () => void;
};

/** A packet, and how long its audio lasts, in ms; undefined if it has none. */
type FollowedPacket = { sequence: number; lastsMs: number | undefined };

/** Passes a far side's audio to another end on arrival, while its stream needs no jitter buffer. */
export class AtOnce {
  readonly #options: AtOnceOptions;
  readonly #steadiness = new Steadiness();
  #hearer: Hearer | undefined;
  /** Something was said since the last tick. */
  #spoke = false;

  constructor(options: AtOnceOptions) {
    this.#options = options;
  }

  get steady(): boolean {
    return this.#steadiness.steady;
  }

  /** Sets the receiver. Packets that wait for a tick come first. @param now monotonic ms. */
  sayTo(hearer: Hearer | undefined, playout: Playout | undefined, now: number): void {
    if (hearer === this.#hearer) return;
    this.#hearer = hearer;
    this.#say(playout, now);
  }

  /** Another source begins. */
  restart(playout: Playout | undefined): void {
    this.#steadiness.restart();
    if (this.#hearer) playout?.flush();
  }

  /** Takes a packet into account that the playout has already, or, of a digit, has not. */
  follow(packet: FollowedPacket, playout: Playout | undefined, now: number): void {
    const { sequence, lastsMs } = packet;
    if (lastsMs === undefined && this.#hearer) playout?.pass(sequence);
    if (this.#steadiness.hear(sequence, lastsMs, now)) this.#options.changed();
    this.#say(playout, now);
  }

  /** A tick. @param nominal its time. @param now monotonic ms. @returns whether it has nothing to take from the playout. */
  tick(nominal: number, now: number): boolean {
    const isLate = this.#steadiness.tick(nominal, now);
    if (!this.#hearer) return false;
    if (!this.#spoke) this.#options.heard(undefined);
    this.#spoke = false;
    if (!isLate && this.#steadiness.check(nominal)) this.#options.changed();
    return this.#hearer !== undefined;
  }

  #say(playout: Playout | undefined, now: number): void {
    const hearer = this.#hearer;
    if (!hearer) return;
    for (let frame = playout?.ready(); frame; frame = playout?.ready()) {
      this.#spoke = true;
      this.#options.heard(frame);
      hearer.sayAtOnce(frame, now);
    }
  }
}
