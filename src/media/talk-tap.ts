import type { TalkDetection } from '../telephony/media.ts';
import { TalkDetector } from './dsp/talk-detector.ts';
import type { End } from './end.ts';
import type { EngineReport } from './protocol.ts';
import { tickMs } from './ticker.ts';

/** Something that takes what an end or a mix says, at the end of each tick. */
export interface Tap {
  tick(): void;
  /** Its end or mix has ended, or it is no longer needed. */
  close(): void;
}

/** Tells when an end's far side begins and stops to talk. */
export class TalkTap implements Tap {
  readonly #end: End;
  readonly #detector: TalkDetector;
  readonly #report: (report: EngineReport) => void;

  constructor(end: End, detection: TalkDetection, report: (report: EngineReport) => void) {
    this.#end = end;
    this.#detector = new TalkDetector(detection);
    this.#report = report;
    end.watchLevel(true);
  }

  tick(): void {
    const change = this.#detector.takeLevel(this.#end.level, tickMs);
    if (change) this.#tell(change.talking ? undefined : change.durationMs);
  }

  close(): void {
    this.#end.watchLevel(false);
    const change = this.#detector.end();
    if (change && !change.talking) this.#tell(change.durationMs);
  }

  #tell(durationMs: number | undefined): void {
    const { session } = this.#end;
    this.#report(
      durationMs === undefined ? { type: 'talkingStarted', session } : { type: 'talkingFinished', session, durationMs },
    );
  }
}
