import type { Ids } from '../../lib/ids.ts';
import { Cause } from '../../telephony/causes.ts';
import type { DigitSequence, Leg, Report } from '../../telephony/driver.ts';
import type { AudioMeeting, MediaReport, MediaSession } from '../../telephony/media.ts';
import type { SnoopDriver, SnoopRequest } from '../../telephony/snoop.ts';

/** The leg of a channel that listens to another: connected from the start, with nobody behind it. */
class SnoopLeg implements Leg {
  readonly protocolId = '';
  readonly media: MediaSession;
  readonly #report: Report;
  readonly #onRelease: (leg: SnoopLeg) => void;
  #ended = false;

  constructor(
    open: (told: (report: MediaReport) => void) => MediaSession,
    report: Report,
    onRelease: (leg: SnoopLeg) => void,
  ) {
    this.media = open((told) => this.#hear(told));
    this.#report = report;
    this.#onRelease = onRelease;
  }

  hangup(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#report({ type: 'leg.ended' });
  }

  sendDigits(sequence: DigitSequence): void {
    this.media.sendDigits(sequence);
  }

  /** What it was made for is no more. */
  lose(cause: number): void {
    if (!this.#ended) this.#report({ type: 'leg.hungUp', cause });
  }

  release(): void {
    this.#ended = true;
    this.media.close();
    this.#onRelease(this);
  }

  /** It is answered as long as it is there: there is nobody to alert, to put on hold or to send elsewhere. */
  dial(): void {}
  ring(): void {}
  stopRinging(): void {}
  progress(): void {}
  answer(): void {}
  hold(): void {}
  unhold(): void {}
  redirect(): boolean {
    return false;
  }
  header(): undefined {}
  addHeader(): void {}
  updateHeader(): boolean {
    return false;
  }
  removeHeader(): void {}

  #hear(report: MediaReport): void {
    if (report.type === 'media.digit' && !this.#ended) this.#report({ ...report, type: 'leg.digit' });
    if (report.type === 'media.lost') this.lose(Cause.temporaryFailure);
  }
}

/** The driver of channels that listen to others. */
export function createSnoopDriver({ media, ids }: { media: Pick<AudioMeeting, 'openSnoop'>; ids: Ids }): SnoopDriver {
  /** By the id of the channel that is listened to. */
  const legs = new Map<string, Set<SnoopLeg>>();

  const forget = (targetId: string, leg: SnoopLeg): void => {
    const others = legs.get(targetId);
    others?.delete(leg);
    if (others?.size === 0) legs.delete(targetId);
  };

  return {
    technology: 'Snoop',
    name: (targetId) => `Snoop/${targetId}-${ids.hex(8)}`,

    open({ channelId, targetId, target, spy, whisper }: SnoopRequest, report: Report): Leg {
      const leg = new SnoopLeg(
        (told) => media.openSnoop(channelId, target, { spy, whisper }, told),
        report,
        (ended) => forget(targetId, ended),
      );
      const others = legs.get(targetId) ?? new Set();
      legs.set(targetId, others.add(leg));
      return leg;
    },

    targetGone(targetId) {
      for (const leg of [...(legs.get(targetId) ?? [])]) leg.lose(Cause.normalClearing);
    },

    get size() {
      return [...legs.values()].reduce((sum, { size }) => sum + size, 0);
    },
  };
}
