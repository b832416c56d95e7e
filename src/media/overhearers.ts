import type { Overhearer } from '../telephony/media.ts';
import { addInto } from './dsp/mixer.ts';
import type { End } from './end.ts';
import type { EngineReport, OverhearCommand } from './protocol.ts';
import { RateChanger } from './rate-changer.ts';
import type { Tap } from './talk-tap.ts';
import { tickMs } from './ticker.ts';

/** Rate of what is heard, in Hz, and how much of it a piece is. */
const sampleRate = 8_000;
const ticksInPiece = 5;
const samplesInTick = (sampleRate * tickMs) / 1000;
/** Pieces that may be in flight. A listener that takes none for a second gets only newer ones. */
const mostUntaken = 10;

/** Takes what both sides of an end say together. */
class OverhearTap implements Tap {
  readonly #end: End;
  readonly #overhearer: number;
  readonly #report: (report: EngineReport) => void;
  readonly #rates = { heard: new RateChanger(sampleRate), said: new RateChanger(sampleRate) };
  #piece = new Int16Array(samplesInTick * ticksInPiece);
  #ticks = 0;
  untaken = 0;

  constructor(end: End, overhearer: number, report: (report: EngineReport) => void) {
    this.#end = end;
    this.#overhearer = overhearer;
    this.#report = report;
    end.listen();
    end.overhear();
  }

  tick(): void {
    const { heardAlone, saidAlone, session } = this.#end;
    const place = this.#piece.subarray(this.#ticks * samplesInTick, (this.#ticks + 1) * samplesInTick);
    if (heardAlone) addInto(place, this.#rates.heard.samples(heardAlone));
    if (saidAlone) addInto(place, this.#rates.said.samples(saidAlone));
    if (++this.#ticks < ticksInPiece) return;
    const audio = new Uint8Array(this.#piece.buffer);
    this.#ticks = 0;
    this.#piece = new Int16Array(this.#piece.length);
    if (this.untaken >= mostUntaken) return;
    this.untaken++;
    this.#report({ type: 'overheard', session, overhearer: this.#overhearer, audio });
  }

  close(): void {
    this.#end.unlisten();
    this.#end.unoverhear();
  }
}

/** Listeners of the ends of one engine. */
export class Overhearers {
  readonly #taps: Set<Tap>;
  readonly #report: (report: EngineReport) => void;
  readonly #ofEnd = new Map<End, Map<number, OverhearTap>>();

  /** @param taps what the engine lets take at the end of each tick */
  constructor(taps: Set<Tap>, report: (report: EngineReport) => void) {
    this.#taps = taps;
    this.#report = report;
  }

  apply(end: End, { overhearer, action }: OverhearCommand): void {
    const taps = this.#ofEnd.get(end) ?? new Map<number, OverhearTap>();
    const known = taps.get(overhearer);
    if (action === 'taken' && known) known.untaken = Math.max(0, known.untaken - 1);
    if (action === 'end' && known) {
      taps.delete(overhearer);
      this.#close(known);
      if (taps.size === 0) this.#ofEnd.delete(end);
    }
    if (action !== 'begin' || known) return;
    const tap = new OverhearTap(end, overhearer, this.#report);
    this.#ofEnd.set(end, taps.set(overhearer, tap));
    this.#taps.add(tap);
  }

  /** An end is about to close. */
  forget(end: End): void {
    for (const tap of this.#ofEnd.get(end)?.values() ?? []) this.#close(tap);
    this.#ofEnd.delete(end);
  }

  #close(tap: OverhearTap): void {
    if (this.#taps.delete(tap)) tap.close();
  }
}

/** Listeners of one session, on the main thread. */
export class OverhearingSide {
  readonly #known = new Map<number, Overhearer>();
  readonly #post: (command: OverhearCommand) => void;
  #next = 1;

  constructor(post: (command: OverhearCommand) => void) {
    this.#post = post;
  }

  /** @returns a function that ends it. */
  begin(listener: Overhearer): () => void {
    const overhearer = this.#next++;
    this.#known.set(overhearer, listener);
    this.#post({ type: 'overhear', overhearer, action: 'begin' });
    return () => {
      if (this.#known.delete(overhearer)) this.#post({ type: 'overhear', overhearer, action: 'end' });
    };
  }

  heard(overhearer: number, audio: Uint8Array<ArrayBuffer>): void {
    this.#known.get(overhearer)?.heard(audio, () => this.#post({ type: 'overhear', overhearer, action: 'taken' }));
  }

  /** The session was opened again in another thread. */
  again(): void {
    for (const overhearer of this.#known.keys()) this.#post({ type: 'overhear', overhearer, action: 'begin' });
  }

  /** The session has ended. */
  ended(): void {
    const left = [...this.#known.values()];
    this.#known.clear();
    for (const listener of left) listener.ended();
  }
}
