import type { FormatName } from '../../lib/formats.ts';
import type { ExternalLegRun } from '../../machines/external-leg.ts';
import type { Watched } from '../../machines/table-run.ts';
import { Cause } from '../../telephony/causes.ts';
import { DriverError, type Leg, type LegData, type Report } from '../../telephony/driver.ts';
import type { ExternalReport } from '../../telephony/external.ts';
import type { DigitSequence, MediaReport, MediaSession, MediaSessionDump } from '../../telephony/media.ts';
import { heardOf } from '../heard.ts';
import { QuietLeg, runExternalLeg } from '../quiet-leg.ts';

/** How a leg is saved: the state of its chart, its connection as its driver writes it, and its audio. */
export type ExternalLegData = LegData & {
  readonly version: 1;
  readonly state: ExternalLegRun['state'];
  readonly connection: Readonly<Record<string, unknown>>;
  readonly media: MediaSessionDump;
};

/** A leg that was saved. @throws DriverError `endpoint` for one of a process that saved no connections. */
export function readExternalLeg(data: LegData): ExternalLegData {
  const { connection, media, state } = data as Partial<ExternalLegData>;
  if (connection === undefined || media?.version !== 1 || state === undefined || state === 'ended')
    throw new DriverError('endpoint', 'its connection was not saved, or is over');
  return data as ExternalLegData;
}

const isOfAnySession = (report: ExternalReport): report is MediaReport =>
  report.type !== 'media.connected' &&
  report.type !== 'media.cut' &&
  report.type !== 'media.flowing' &&
  report.type !== 'media.answerAsked';

export type ExternalLegOptions = {
  protocolId: string;
  media: MediaSession;
  /** Format of the exchanged audio. */
  format: FormatName;
  report: Report;
  /** From what another process connects again. */
  connection: ExternalLegData['connection'];
  /** Of a leg that goes on. */
  state?: ExternalLegData['state'] | undefined;
  /** Called when the leg is released. */
  released: () => void;
  watched: Watched;
};

/** The leg of a channel whose far side is a server. It is answered once it was dialed and its connection is there. */
export class ExternalLeg extends QuietLeg implements Leg {
  readonly protocolId: string;
  readonly formats: readonly string[];
  readonly media: MediaSession;
  readonly #report: Report;
  readonly #released: () => void;
  readonly #connection: ExternalLegData['connection'];
  readonly #life: ExternalLegRun;

  constructor({
    protocolId,
    media,
    format,
    report,
    released,
    watched,
    connection,
    state = 'idle',
  }: ExternalLegOptions) {
    super();
    this.#connection = connection;
    this.protocolId = protocolId;
    this.formats = [format];
    this.media = media;
    this.#report = report;
    this.#life = runExternalLeg(report, state, watched);
    this.#released = released;
  }

  /** The connection is there. */
  connect(): void {
    this.#life.send({ type: 'connection.made' });
  }

  /** The connection is lost, or its server ends the call. */
  lose(cause: number): void {
    this.#life.send({ type: 'connection.lost', cause });
  }

  /** Handles a report of the media plane. */
  hear(report: ExternalReport): void {
    if (report.type === 'media.hangupAsked') this.lose(Cause.normalClearing);
    else if (report.type === 'media.lost') this.lose(Cause.temporaryFailure);
    else if (isOfAnySession(report)) {
      const heard = heardOf(report);
      if (heard && this.#life.state !== 'ended') this.#report(heard);
    }
  }

  dial(): void {
    this.#life.send({ type: 'dial' });
  }

  hangup(): void {
    this.#life.send({ type: 'hangup' });
  }

  sendDigits(sequence: DigitSequence): void {
    this.media.sendDigits(sequence);
  }

  ring(): void {
    this.media.indicate('ringing');
  }

  stopRinging(): void {
    this.media.indicate(undefined);
  }

  release(): void {
    this.#life.send({ type: 'release' });
    this.media.close();
    this.#released();
  }

  dump(): ExternalLegData {
    return { version: 1, state: this.#life.state, connection: this.#connection, media: this.media.dump() };
  }
}
