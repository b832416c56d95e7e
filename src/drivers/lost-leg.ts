import { Cause } from '../telephony/causes.ts';
import type { Leg, Report } from '../telephony/driver.ts';
import type { MediaPlane } from '../telephony/media.ts';

/**
 * Replaces the leg of a channel that cannot continue after a restore, so that the channel ends normally. `lose` reports
 * that the far side is gone (cause 41).
 */
export function createLostLeg(media: MediaPlane, channelId: string, report: Report): { leg: Leg; lose(): void } {
  const nobody = (): void => {};
  const [own, other] = media.openPair([channelId, `${channelId};lost`], [nobody, nobody]);
  let ended = false;
  const leg: Leg = {
    protocolId: '',
    formats: [],
    media: own,
    dial: nobody,
    ring: nobody,
    stopRinging: nobody,
    progress: nobody,
    answer: nobody,
    hangup() {
      if (ended) return;
      ended = true;
      report({ type: 'leg.ended' });
    },
    sendDigits: nobody,
    hold: nobody,
    unhold: nobody,
    present: nobody,
    redirect: () => false,
    tellTransfer: nobody,
    header: () => undefined,
    addHeader: () => false,
    updateHeader: () => false,
    removeHeader: nobody,
    dump: () => ({ version: 1 }),
    release() {
      ended = true;
      own.close();
      other.close();
    },
  };
  return {
    leg,
    lose() {
      if (!ended) report({ type: 'leg.hungUp', cause: Cause.temporaryFailure });
    },
  };
}
