import type { Clock } from '../../lib/clock.ts';
import type { End, EndOptions } from '../end.ts';
import { answer, type Bells, bellSlots } from './bell.ts';
import { TieEnd } from './tie-end.ts';
import { TieMeeting } from './tie-meeting.ts';
import type { TiePlan } from './tie-wire.ts';

export type TiesOptions = {
  clock: Clock;
  /** Ours: others ring it when they have something for a tie. */
  bell: SharedArrayBuffer;
  bells: Bells;
  /** A fault of ours in an end, or in what stands for one. */
  failed: (end: End, error: unknown) => void;
};

/** The sides of ties in one thread: those of ends that are in mixes elsewhere, and those of mixes with ends elsewhere. */
export class Ties {
  readonly #options: TiesOptions;
  readonly #bell: Int32Array;
  readonly #meetings = new Map<End, TieMeeting>();
  /** By slot of the bell. */
  readonly #sides = new Map<number, Set<TieMeeting | TieEnd>>();
  readonly #slots = new Map<TieMeeting | TieEnd, number>();
  /** What else is rung for, by slot: it catches what it throws. */
  readonly #others = new Map<number, Set<() => void>>();

  constructor(options: TiesOptions) {
    this.#options = options;
    this.#bell = new Int32Array(options.bell);
    options.bells.watch(this.#bell, () => answer(this.#bell, (slot) => this.#wake(slot)));
  }

  /** Lets an end meet a mix of another thread; it is in no other mix then. */
  enter(end: End, plan: TiePlan): void {
    this.leave(end);
    const meeting = new TieMeeting(end, plan, this.#options);
    this.#meetings.set(end, meeting);
    this.#addSide(meeting, plan);
  }

  /** @param tie only that one, when it is given. */
  leave(end: End, tie?: number): void {
    const meeting = this.#meetings.get(end);
    if (!meeting || (tie !== undefined && tie !== meeting.tie)) return;
    this.#meetings.delete(end);
    this.#removeSide(meeting);
    meeting.close();
  }

  /** What stands for an end of another thread. */
  open(options: EndOptions, plan: TiePlan): TieEnd {
    const end = new TieEnd(options, plan, this.#options.bells);
    this.#addSide(end, plan);
    return end;
  }

  /** An end is gone, whatever it was. */
  forget(end: End): void {
    this.leave(end);
    if (end instanceof TieEnd) this.#removeSide(end);
  }

  /** Calls `woken` when another thread rings for a number of ours. @returns a function that ends that. */
  watch(tie: number, woken: () => void): () => void {
    const slot = tie % bellSlots;
    this.#others.set(slot, (this.#others.get(slot) ?? new Set()).add(woken));
    return () => {
      const others = this.#others.get(slot);
      others?.delete(woken);
      if (others?.size === 0) this.#others.delete(slot);
    };
  }

  /** Second phase of a tick. */
  tick(): void {
    for (const meeting of this.#meetings.values()) this.#guard(meeting, () => meeting.tick());
  }

  #wake(slot: number): void {
    for (const side of this.#sides.get(slot) ?? []) this.#guard(side, () => side.wake());
    for (const woken of this.#others.get(slot) ?? []) woken();
  }

  #guard(side: TieMeeting | TieEnd, fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.#options.failed(side instanceof TieEnd ? side : side.end, error);
    }
  }

  #addSide(side: TieMeeting | TieEnd, { tie }: TiePlan): void {
    const slot = tie % bellSlots;
    this.#slots.set(side, slot);
    this.#sides.set(slot, (this.#sides.get(slot) ?? new Set()).add(side));
  }

  #removeSide(side: TieMeeting | TieEnd): void {
    const slot = this.#slots.get(side);
    this.#slots.delete(side);
    if (slot === undefined) return;
    const sides = this.#sides.get(slot);
    sides?.delete(side);
    if (sides?.size === 0) this.#sides.delete(slot);
  }
}
