import type { SessionCommand } from '../telephony/media.ts';
import type { End } from './end.ts';
import type { EngineReport } from './protocol.ts';
import { TalkTap, type Tap } from './talk-tap.ts';
import { ToneTap } from './tone-tap.ts';

/** What looks for something in the audio of an end. */
type DetectCommand = Extract<SessionCommand, { type: 'detectTalking' | 'detectTone' }>;

/** What looks for talk and for tones in one thread: of each kind one at a time for an end. */
export class Detectors {
  readonly #taps: Set<Tap>;
  readonly #toneZone: string;
  readonly #report: (report: EngineReport) => void;
  readonly #ofEnds = { detectTalking: new Map<End, Tap>(), detectTone: new Map<End, Tap>() };

  /** @param taps what the engine lets take at the end of each tick. @param toneZone country whose signals are looked for. */
  constructor(taps: Set<Tap>, toneZone: string, report: (report: EngineReport) => void) {
    this.#taps = taps;
    this.#toneZone = toneZone;
    this.#report = report;
  }

  /** Looks for something instead of what was looked for before, or for nothing any more. */
  apply(end: End, command: DetectCommand): void {
    this.#stop(end, command.type);
    const tap = this.#tap(end, command);
    if (!tap) return;
    this.#ofEnds[command.type].set(end, tap);
    this.#taps.add(tap);
  }

  /** An end is about to close: talk that is under way is told to be over. */
  forget(end: End): void {
    this.#stop(end, 'detectTalking');
    this.#stop(end, 'detectTone');
  }

  #stop(end: End, kind: DetectCommand['type']): void {
    const tap = this.#ofEnds[kind].get(end);
    this.#ofEnds[kind].delete(end);
    // One that failed is among them no more.
    if (tap && this.#taps.delete(tap)) tap.close();
  }

  #tap(end: End, command: DetectCommand): Tap | undefined {
    if (command.type === 'detectTalking') return command.detection && new TalkTap(end, command.detection, this.#report);
    return command.detection && new ToneTap(end, command.detection, this.#toneZone, this.#report);
  }
}
