import type { DigitSequence } from '../../telephony/media.ts';
import { eventOfDigit } from './telephone-event.ts';

/** Packets of this tick for the present digit. */
export type DigitStep = {
  event: number;
  /** First packet of the digit: a new timestamp and the marker bit. */
  start: boolean;
  /** The digit is over; the same is sent three times. */
  end: boolean;
  /** The first of the three. */
  ended: boolean;
  /** How long the digit lasts so far, in ms. */
  durationMs: number;
};

type Step = { pauseMs: number } | { event: number; durationMs: number; passed?: true };

/** Quiet before the first digit, so that the far side is ready for it, in ms. */
const leadMs = 100;
const endPackets = 3;
/** A longer digit would need a duration that one event packet of an 8 kHz clock cannot tell (65,535 units). */
const longestDigitMs = 8000;
/** Shorter ones are made so long: many far sides take none that is shorter. */
const shortestPassedMs = 80;
const passedGapMs = 60;
/** Audio is heard between digits of others for at least this share of their length, however many of them press. */
const passedGapShare = 0.5;
const pauses: Readonly<Record<string, number>> = { w: 500, W: 1000 };

/** Times the digits of a leg, one sequence after another, in steps of one tick. It sends nothing itself. */
export class DigitSender {
  readonly #tickMs: number;
  readonly #steps: Step[] = [];
  readonly #action: DigitStep = { event: 0, start: false, end: false, ended: false, durationMs: 0 };
  /** Ticks spent in the first step. */
  #ticks = 0;
  #endsSent = 0;
  readonly #mostPassed: number;
  /** Passed digits that wait or are under way. */
  #passed = 0;

  /** @param mostPassed digits of other parties that may wait; more are left out. */
  constructor(tickMs: number, mostPassed = 20) {
    this.#tickMs = tickMs;
    this.#mostPassed = mostPassed;
  }

  /** Nothing is under way or waiting. */
  get idle(): boolean {
    return this.#steps.length === 0;
  }

  /** Appends a sequence. Other characters than digits and pauses are skipped. */
  add({ digits, beforeMs, betweenMs, durationMs, afterMs }: DigitSequence): void {
    const lasting = Math.min(durationMs > 0 ? durationMs : 100, longestDigitMs);
    this.#pause(leadMs + beforeMs);
    for (const character of digits) {
      const pause = pauses[character];
      const event = eventOfDigit(character);
      if (pause !== undefined) this.#pause(pause);
      if (event < 0) continue;
      this.#steps.push({ event, durationMs: lasting });
      this.#pause(betweenMs);
    }
    this.#pause(afterMs);
  }

  /** Appends one digit that another party pressed for `durationMs`, with a pause behind it, unless too many wait. */
  pass(digit: string, durationMs: number): void {
    const event = eventOfDigit(digit);
    if (event < 0 || this.#passed >= this.#mostPassed) return;
    const lasting = Math.max(shortestPassedMs, Math.min(durationMs, longestDigitMs));
    this.#passed++;
    this.#steps.push({ event, durationMs: lasting, passed: true });
    this.#pause(Math.max(passedGapMs, lasting * passedGapShare));
  }

  /** The packets of this tick; undefined while idle. The object is reused by the next call. */
  tick(): DigitStep | undefined {
    const step = this.#steps[0];
    if (!step) return undefined;
    if ('event' in step) return this.#digit(step.event, step.durationMs);
    if (++this.#ticks * this.#tickMs >= step.pauseMs) this.#next();
    return undefined;
  }

  #digit(event: number, durationMs: number): DigitStep {
    const action = this.#action;
    const elapsedMs = ++this.#ticks * this.#tickMs;
    action.event = event;
    action.start = this.#ticks === 1;
    action.end = elapsedMs >= durationMs;
    action.ended = action.end && this.#endsSent === 0;
    action.durationMs = Math.min(elapsedMs, durationMs);
    if (action.end && ++this.#endsSent === endPackets) {
      this.#next();
      this.#creditPause((endPackets - 1) * this.#tickMs);
    }
    return action;
  }

  /** The repetitions of the end were sent in time that belongs to the pause after the digit. */
  #creditPause(ms: number): void {
    const step = this.#steps[0];
    if (!step || !('pauseMs' in step)) return;
    step.pauseMs -= ms;
    if (step.pauseMs <= 0) this.#next();
  }

  #pause(ms: number): void {
    if (ms > 0) this.#steps.push({ pauseMs: ms });
  }

  #next(): void {
    const step = this.#steps.shift();
    if (step && 'passed' in step) this.#passed--;
    this.#ticks = 0;
    this.#endsSent = 0;
  }
}
