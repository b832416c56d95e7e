import type { LegReport } from '../telephony/driver.ts';
import type { MediaReport } from '../telephony/media.ts';

/** What a leg tells of what its far side pressed or said; undefined for anything else that media tell. */
export function heardOf(told: MediaReport): LegReport | undefined {
  switch (told.type) {
    case 'media.digit':
      return { type: 'leg.digit', digit: told.digit, durationMs: told.durationMs };
    case 'media.talkingStarted':
      return { type: 'leg.talkingStarted' };
    case 'media.talkingFinished':
      return { type: 'leg.talkingFinished', durationMs: told.durationMs };
    case 'media.toneDetected':
      return { ...told, type: 'leg.toneDetected' };
    default:
      return undefined;
  }
}
