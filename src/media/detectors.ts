import type { SessionCommand } from '../telephony/media.ts';
import type { End } from './end.ts';
import type { EngineReport } from './protocol.ts';
import { TalkTap, type Tap } from './talk-tap.ts';
import { ToneTap } from './tone-tap.ts';

/** Commands of detectors for the audio of an end. */
type DetectCommand = Extract<SessionCommand, { type: 'detectTalking' | 'detectTone' }>;

/** The talk and tone detectors of one thread: one of each kind for an end. */
export class Detectors {
  readonly #taps: Set<Tap>;
  readonly #toneZone: string;
  readonly #report: (report: EngineReport) => void;
  readonly #ofEnds = { detectTalking: new Map<End, Tap>(), detectTone: new Map<End, Tap>() };

  /** @param taps receivers at the end of each tick. @param toneZone country of the signals. */
  constructor(taps: Set<Tap>, toneZone: string, report: (report: EngineReport) => void) {
    this.#taps = taps;
    this.#toneZone = toneZone;
    this.#report = report;
  }

  /** Replaces or removes a detector. */
  apply(end: End, command: DetectCommand): void {
    this.#stop(end, command.type);
    const tap = this.#tap(end, command);
    if (!tap) return;
    this.#ofEnds[command.type].set(end, tap);
    this.#taps.add(tap);
  }

  /** An end is about to close: its talking ends. */
  forget(end: End): void {
    this.#stop(end, 'detectTalking');
    this.#stop(end, 'detectTone');
  }

  #stop(end: End, kind: DetectCommand['type']): void {
    const tap = this.#ofEnds[kind].get(end);
    this.#ofEnds[kind].delete(end);
    // A failed one has been removed already.
    if (tap && this.#taps.delete(tap)) tap.close();
  }

  #tap(end: End, command: DetectCommand): Tap | undefined {
    if (command.type === 'detectTalking') return command.detection && new TalkTap(end, command.detection, this.#report);
    return command.detection && new ToneTap(end, command.detection, this.#toneZone, this.#report);
  }
}
