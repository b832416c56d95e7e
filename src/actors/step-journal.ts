import type { DialplanJournal } from '../dialplan/host.ts';
import type { RecordProgress } from '../telephony/media.ts';
import type { PlaybackDump, StepDump } from './dumps.ts';

/**
 * What the step of the dialplan that a channel is in has been through. From its dump another process goes on with the step:
 * it runs again, gets the keys that it had read, waits for the rest of its time, and plays on where the caller was. Its recording
 * goes on in the same file.
 */
export class StepJournal implements DialplanJournal {
  readonly typedAhead: string[] = [];
  readonly #now: () => number;
  readonly #changed: () => void;
  #notes: (string | null)[] = [];
  /** How many of the notes the step has been given again. */
  #recalled = 0;
  #due: number | undefined;
  /** A playback of the process before, until the step asks for it. */
  #left: PlaybackDump | undefined;
  #playing: (() => PlaybackDump | undefined) | undefined;
  /** The same of a recording. */
  #leftRecording: StepDump['recording'];
  #recording: (() => StepDump['recording']) | undefined;
  #goesOn = false;

  /** @param changed hears of each change that has to be saved */
  constructor(now: () => number, changed: () => void) {
    this.#now = now;
    this.#changed = changed;
  }

  dump(): StepDump | undefined {
    const playback = this.#playing?.() ?? this.#left;
    const recording = this.#recording?.() ?? this.#leftRecording;
    const dump: StepDump = {
      ...(this.#notes.length > 0 && { notes: [...this.#notes] }),
      ...(this.#due !== undefined && { due: this.#due }),
      ...(this.typedAhead.length > 0 && { typedAhead: [...this.typedAhead] }),
      ...(playback && { playback }),
      ...(recording && { recording }),
    };
    return Object.keys(dump).length === 0 ? undefined : dump;
  }

  restore({ notes = [], due, typedAhead = [], playback, recording }: StepDump): void {
    this.#notes = [...notes];
    this.#due = due;
    this.typedAhead.push(...typedAhead);
    this.#left = playback;
    this.#leftRecording = recording;
  }

  /** The next step that begins is the one that was under way in the process before. */
  goOn(): void {
    this.#goesOn = true;
  }

  /**
   * A step begins.
   * @param isSame it stands where the step of the process before stood
   * @returns whether it goes on with that step
   */
  begin(isSame: boolean): boolean {
    const goesOn = this.#goesOn && isSame;
    this.#goesOn = false;
    this.#recalled = 0;
    if (goesOn) return true;
    const left = this.#left ?? this.#leftRecording;
    const had = this.#notes.length > 0 || this.#due !== undefined || left !== undefined;
    this.#notes = [];
    this.#due = undefined;
    this.#left = undefined;
    this.#playing = undefined;
    this.#leftRecording = undefined;
    this.#recording = undefined;
    if (had) this.#changed();
    return false;
  }

  recall(): string | null | undefined {
    return this.#recalled < this.#notes.length ? this.#notes[this.#recalled++] : undefined;
  }

  note(key: string | undefined): void {
    this.#notes.push(key ?? null);
    this.#recalled = this.#notes.length;
    this.#changed();
  }

  timeLeft(ms: number): number {
    const now = this.#now();
    // A clock that was set back makes no wait longer.
    if (this.#due !== undefined) return Math.min(ms, Math.max(0, this.#due - now));
    this.#due = now + ms;
    this.#changed();
    return ms;
  }

  timeOver(): void {
    this.#due = undefined;
    this.#changed();
  }

  /** Something that is saved has changed. */
  changed(): void {
    this.#changed();
  }

  /** The playback of the process before, if it was of these items. */
  takePlayback(media: readonly string[]): PlaybackDump | undefined {
    const left = this.#left;
    this.#left = undefined;
    return left && left.actor.context.media.join('\n') === media.join('\n') ? left : undefined;
  }

  /** @param dump the playback of the step as it is now; undefined once it is over */
  plays(dump: () => PlaybackDump | undefined): void {
    this.#playing = dump;
    this.#changed();
  }

  /** How far the recording of the process before was, if it was of this file. */
  takeRecording(name: string, format: string): RecordProgress | undefined {
    const left = this.#leftRecording;
    this.#leftRecording = undefined;
    if (left?.name !== name || left.format !== format) return undefined;
    return { durationMs: left.durationMs, talkingMs: left.talkingMs };
  }

  /** @param dump the recording of the step as it is now; undefined before it has a file, and once it is over */
  records(dump: () => StepDump['recording']): void {
    this.#recording = dump;
  }
}
