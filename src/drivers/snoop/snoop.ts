import type { Ids } from '../../lib/ids.ts';
import { SlotMap } from '../../lib/slot-map.ts';
import type { ExternalLegRun } from '../../machines/external-leg.ts';
import type { TableWatch } from '../../machines/table-run.ts';
import { Cause } from '../../telephony/causes.ts';
import { DriverError, type Leg, type LegData, type Report } from '../../telephony/driver.ts';
import type {
  AudioMeeting,
  DigitSequence,
  MediaReport,
  MediaSession,
  MediaSessionDump,
} from '../../telephony/media.ts';
import { apply, plainCommandsOf } from '../../telephony/session-commands.ts';
import type { SnoopDriver, SnoopRequest } from '../../telephony/snoop.ts';
import { heardOf } from '../heard.ts';
import { QuietLeg, runExternalLeg } from '../quiet-leg.ts';

/** A leg as plain data. */
type SnoopLegData = LegData &
  Pick<SnoopRequest, 'targetId' | 'spy' | 'whisper'> & { readonly ended: boolean; readonly media: MediaSessionDump };

type SnoopLegOptions = {
  media: Pick<AudioMeeting, 'openSnoop'>;
  report: Report;
  /** Whether it was hung up before a restart. */
  ended: boolean;
  onRelease: (leg: SnoopLeg) => void;
  /** Sees its chart; undefined: nobody. */
  tables: TableWatch | undefined;
};

/** The leg of a channel that listens to another: connected from the start, without a far side. */
class SnoopLeg extends QuietLeg implements Leg {
  readonly protocolId = '';
  readonly formats = ['slin'];
  readonly media: MediaSession;
  readonly #request: SnoopRequest;
  readonly #run: ExternalLegRun;
  readonly #report: Report;
  readonly #onRelease: (leg: SnoopLeg) => void;

  constructor(request: SnoopRequest, { media, report, ended, onRelease, tables }: SnoopLegOptions) {
    super();
    const { channelId, target, spy, whisper } = request;
    this.media = media.openSnoop(channelId, target, { spy, whisper }, (told) => this.#hear(told));
    this.#request = request;
    this.#report = report;
    this.#run = runExternalLeg(report, ended ? 'ended' : 'up', { watch: tables, id: channelId });
    this.#onRelease = onRelease;
  }

  hangup(): void {
    this.#run.send({ type: 'hangup' });
  }

  sendDigits(sequence: DigitSequence): void {
    this.media.sendDigits(sequence);
  }

  /** The channel that it listens to has ended. */
  lose(cause: number): void {
    this.#run.send({ type: 'connection.lost', cause });
  }

  dump(): SnoopLegData {
    const { targetId, spy, whisper } = this.#request;
    return { version: 1, targetId, spy, whisper, ended: this.#run.state === 'ended', media: this.media.dump() };
  }

  release(): void {
    this.#run.send({ type: 'release' });
    this.media.close();
    this.#onRelease(this);
  }

  get channelId(): string {
    return this.#request.channelId;
  }

  /** It is answered as long as it is there. */
  dial(): void {}
  ring(): void {}
  stopRinging(): void {}

  #hear(report: MediaReport): void {
    const heard = heardOf(report);
    if (heard && this.#run.state !== 'ended') this.#report(heard);
    if (report.type === 'media.lost') this.lose(Cause.temporaryFailure);
  }
}

const isSnoopLeg = (data: LegData): data is SnoopLegData =>
  data.version === 1 && typeof (data as Partial<SnoopLegData>).targetId === 'string';

/** The driver of channels that listen to others. */
export function createSnoopDriver({
  media,
  ids,
  tables,
}: Pick<SnoopLegOptions, 'media'> & { ids: Ids; tables?: TableWatch | undefined }): SnoopDriver {
  /** By the id of the channel that is listened to. */
  const legs = new SlotMap<string, Set<SnoopLeg>>();

  const forget = (targetId: string, leg: SnoopLeg): void => {
    const others = legs.get(targetId);
    others?.delete(leg);
    if (others?.size === 0) legs.delete(targetId);
  };

  const open = (request: SnoopRequest, report: Report, ended = false): SnoopLeg => {
    const { targetId } = request;
    const leg = new SnoopLeg(request, { media, report, ended, tables, onRelease: (gone) => forget(targetId, gone) });
    const others = legs.get(targetId) ?? new Set();
    legs.set(targetId, others.add(leg));
    return leg;
  };

  return {
    technology: 'Snoop',
    name: (targetId) => `Snoop/${targetId}-${ids.hex(8)}`,

    open: (request, report) => open(request, report),

    resume(data, channelId, targetOf, report) {
      if (!isSnoopLeg(data)) throw new DriverError('data', 'this is no snoop leg');
      const { targetId, spy, whisper, ended } = data;
      const target = targetOf(targetId);
      if (!target) throw new DriverError('data', `the channel ${targetId} that was listened to has ended`);
      const leg = open({ channelId, targetId, target, spy, whisper }, report, ended);
      for (const command of plainCommandsOf(data.media.standing)) apply(leg.media, command);
      return leg;
    },

    targetGone(targetId) {
      for (const leg of [...(legs.get(targetId) ?? [])]) leg.lose(Cause.normalClearing);
    },

    targetOf: (channelId) =>
      [...legs].find(([, snoops]) => [...snoops].some((leg) => leg.channelId === channelId))?.[0],

    get size() {
      return [...legs.values()].reduce((sum, { size }) => sum + size, 0);
    },
  };
}
