import type { Clock } from '../../lib/clock.ts';
import type { End, EndOptions } from '../end.ts';
import { PipeEnd } from './pipe-end.ts';
import { PipeMeeting } from './pipe-meeting.ts';
import type { PipePlan } from './pipe-wire.ts';
import { answer, type WakeUps, wakeUpSlots } from './wake-up.ts';

type PipesOptions = {
  clock: Clock;
  /** Ours: others ring it when they have something for a pipe. */
  wakeUp: SharedArrayBuffer;
  wakeUps: WakeUps;
  /** An internal error in an end or its stand-in. */
  failed: (end: End, error: unknown) => void;
};

/** The pipe sides of one thread: ends in mixes elsewhere, and mixes with ends elsewhere. */
export class Pipes {
  readonly #options: PipesOptions;
  readonly #wakeUp: Int32Array;
  readonly #meetings = new Map<End, PipeMeeting>();
  /** By slot of the wake-up. */
  readonly #sides = new Map<number, Set<PipeMeeting | PipeEnd>>();
  readonly #slots = new Map<PipeMeeting | PipeEnd, number>();
  /** Other wake-up handlers, by slot; they catch their own exceptions. */
  readonly #others = new Map<number, Set<() => void>>();

  constructor(options: PipesOptions) {
    this.#options = options;
    this.#wakeUp = new Int32Array(options.wakeUp);
    options.wakeUps.watch(this.#wakeUp, () => answer(this.#wakeUp, (slot) => this.#wake(slot)));
  }

  /** Lets an end meet a mix of another thread; it is in no other mix then. */
  enter(end: End, plan: PipePlan): void {
    this.leave(end);
    const meeting = new PipeMeeting(end, plan, this.#options);
    this.#meetings.set(end, meeting);
    this.#addSide(meeting, plan);
  }

  /** @param pipe only that one, when it is given. */
  leave(end: End, pipe?: number): void {
    const meeting = this.#meetings.get(end);
    if (!meeting || (pipe !== undefined && pipe !== meeting.pipe)) return;
    this.#meetings.delete(end);
    this.#removeSide(meeting);
    meeting.close();
  }

  /** Opens the stand-in for an end of another thread. */
  open(options: EndOptions, plan: PipePlan): PipeEnd {
    const end = new PipeEnd(options, plan, this.#options.wakeUps);
    this.#addSide(end, plan);
    return end;
  }

  /** Removes an end of any kind. */
  forget(end: End): void {
    this.leave(end);
    if (end instanceof PipeEnd) this.#removeSide(end);
  }

  /** Calls `woken` when another thread rings for a number of ours. @returns a function that ends that. */
  watch(pipe: number, woken: () => void): () => void {
    const slot = pipe % wakeUpSlots;
    this.#others.set(slot, (this.#others.get(slot) ?? new Set()).add(woken));
    return () => {
      const others = this.#others.get(slot);
      others?.delete(woken);
      if (others?.size === 0) this.#others.delete(slot);
    };
  }

  /** Second phase of a tick. @param now nominal monotonic time of the tick. */
  tick(now: number): void {
    for (const meeting of this.#meetings.values()) this.#guard(meeting, () => meeting.tick(now));
  }

  #wake(slot: number): void {
    for (const side of this.#sides.get(slot) ?? []) this.#guard(side, () => side.wake());
    for (const woken of this.#others.get(slot) ?? []) woken();
  }

  #guard(side: PipeMeeting | PipeEnd, fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.#options.failed(side instanceof PipeEnd ? side : side.end, error);
    }
  }

  #addSide(side: PipeMeeting | PipeEnd, { pipe }: PipePlan): void {
    const slot = pipe % wakeUpSlots;
    this.#slots.set(side, slot);
    this.#sides.set(slot, (this.#sides.get(slot) ?? new Set()).add(side));
  }

  #removeSide(side: PipeMeeting | PipeEnd): void {
    const slot = this.#slots.get(side);
    this.#slots.delete(side);
    if (slot === undefined) return;
    const sides = this.#sides.get(slot);
    sides?.delete(side);
    if (sides?.size === 0) this.#sides.delete(slot);
  }
}
