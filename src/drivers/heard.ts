import type { LegReport } from '../telephony/driver.ts';
import type { MediaReport } from '../telephony/media.ts';

/** The leg's report of digits or talking; undefined for other media reports. */
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
