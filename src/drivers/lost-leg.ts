import type { ExternalLegRun } from '../machines/external-leg.ts';
import { Cause } from '../telephony/causes.ts';
import type { Leg, LegData, Report } from '../telephony/driver.ts';
import type { MediaPlane, MediaSession } from '../telephony/media.ts';
import { QuietLeg, runExternalLeg } from './quiet-leg.ts';

/** Replaces the leg of a channel that cannot continue after a restore, so that the channel ends normally. */
export class LostLeg extends QuietLeg implements Leg {
  readonly protocolId = '';
  readonly formats: readonly string[] = [];
  readonly media: MediaSession;
  readonly #other: MediaSession;
  readonly #run: ExternalLegRun;

  constructor(media: MediaPlane, channelId: string, report: Report) {
    super();
    const nobody = (): void => {};
    [this.media, this.#other] = media.openPair([channelId, `${channelId};lost`], [nobody, nobody]);
    this.#run = runExternalLeg(report, 'up', { watch: undefined, id: channelId });
  }

  /** Reports that the far side is gone (cause 41). */
  lose(): void {
    this.#run.send({ type: 'connection.lost', cause: Cause.temporaryFailure });
  }

  hangup(): void {
    this.#run.send({ type: 'hangup' });
  }

  release(): void {
    this.#run.send({ type: 'release' });
    this.media.close();
    this.#other.close();
  }

  dump(): LegData {
    return { version: 1 };
  }

  /** Nobody is there. */
  dial(): void {}
  ring(): void {}
  stopRinging(): void {}
  sendDigits(): void {}
}
