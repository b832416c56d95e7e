import { type LocalLegEffect, type LocalLegEvent, localLegTable } from '../../machines/local-leg.ts';
import { TableRun, type TableWatch, type Watched } from '../../machines/table-run.ts';
import {
  type Driver,
  DriverError,
  type Leg,
  type LegData,
  type LegReport,
  type LegRequest,
  type OpenedLeg,
  type Report,
} from '../../telephony/driver.ts';
import type { DigitSequence, MediaPlane, MediaReport, MediaSession, MediaSessionDump } from '../../telephony/media.ts';
import { apply, plainCommandsOf } from '../../telephony/session-commands.ts';
import { heardOf } from '../heard.ts';
import { QuietLeg } from '../quiet-leg.ts';

/**
 * Local channels: two halves joined back to back. Dialing the first half offers the second to the dialplan. Events of
 * one half are reported on the other. There is no network, so reports are synchronous.
 */

/** Which half of which Local channel a leg is. */
type Place = {
  /** `Local/extension@context-…`, the name of both channels without `;1` and `;2`. */
  readonly pair: string;
  readonly half: 1 | 2;
  readonly otherId: string;
};

/** A half as plain data. */
type LocalLegData = LegData & {
  readonly version: 1;
  readonly place: Place;
  readonly answered: boolean;
  readonly ended: boolean;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly media: MediaSessionDump;
};

/** The audio of a half, and who sees its chart. */
type Parts = { readonly media: MediaSession; readonly watched: Watched };

/** One half. Told its peer when both exist. There is no far side to put on hold, to tell names or to send elsewhere. */
class LocalLeg extends QuietLeg implements Leg {
  readonly protocolId = '';
  readonly formats = ['slin'];
  readonly media: MediaSession;
  readonly #place: Place;
  peer: LocalLeg | undefined;
  report: Report;
  readonly #run: TableRun<keyof typeof localLegTable, LocalLegEvent, LocalLegEffect>;
  readonly #headers: Map<string, string>;

  constructor(place: Place, { media, watched }: Parts, report: Report, from?: LocalLegData) {
    super();
    this.#place = place;
    this.media = media;
    this.report = report;
    this.#run = new TableRun(
      localLegTable,
      from?.ended ? 'ended' : from?.answered ? 'up' : 'early',
      {
        offerPeer: () => this.#tellPeer({ type: 'leg.offered' }),
        tellRinging: () => this.#tellPeer({ type: 'leg.ringing' }),
        tellForwarding: () => this.#tellPeer({ type: 'leg.forwarding' }),
        tellProgress: () => this.#tellPeer({ type: 'leg.progressed' }),
        tellAnswered: () => this.#tellAnswered(),
        playRinging: () => media.indicate('ringing'),
        tellEnded: () => this.report({ type: 'leg.ended' }),
        hangUpPeer: ({ cause }: Extract<LocalLegEvent, { type: 'hangup' }>) =>
          this.#tellPeer({ type: 'leg.hungUp', cause }),
        losePeer: () => this.#tellPeer({ type: 'leg.hungUp', cause: 0 }),
      },
      watched,
    );
    this.#headers = new Map(from?.headers);
    for (const command of plainCommandsOf(from?.media.standing ?? [])) apply(media, command);
  }

  /** Offers the second half to the dialplan. */
  dial(): void {
    this.#run.send({ type: 'dial' });
  }

  ring(): void {
    this.#run.send({ type: 'ring' });
  }

  stopRinging(): void {
    this.media.indicate(undefined);
  }

  forwarding(): void {
    this.#run.send({ type: 'forwarding' });
  }

  override progress(): void {
    this.#run.send({ type: 'progress' });
  }

  override answer(): void {
    this.#run.send({ type: 'answer' });
  }

  #tellAnswered(): void {
    const { peer } = this;
    if (peer) peer.#run.send({ type: 'peer.answered' });
    this.report({ type: 'leg.answered' });
    this.#tellPeer({ type: 'leg.answered' });
  }

  hangup(cause: number): void {
    this.#run.send({ type: 'hangup', cause });
  }

  sendDigits(sequence: DigitSequence): void {
    this.media.sendDigits(sequence);
  }

  override header(name: string): string | undefined {
    const { peer } = this;
    return peer ? peer.#added(name) : undefined;
  }

  /** Headers travel to the other half, where the dialplan can read them. */
  override addHeader(name: string, value: string): boolean {
    this.#headers.set(name.toLowerCase(), value);
    return true;
  }

  override updateHeader(name: string, value: string): boolean {
    if (!this.#headers.has(name.toLowerCase())) return false;
    return this.addHeader(name, value);
  }

  override removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  release(): void {
    this.media.close();
    this.#run.send({ type: 'release' });
  }

  dump(): LocalLegData {
    const { state } = this.#run;
    return {
      version: 1,
      place: this.#place,
      answered: state === 'up',
      ended: state === 'ended',
      headers: [...this.#headers],
      media: this.media.dump(),
    };
  }

  #added(name: string): string | undefined {
    return this.#headers.get(name.toLowerCase());
  }

  #tellPeer(report: LegReport): void {
    const { peer } = this;
    if (peer && peer.#run.state !== 'ended') peer.report(report);
  }
}

/** `extension@context`, with options after `/` ignored as Asterisk ignores unknown ones; context `default` when absent. */
function parseResource(resource: string): { extension: string; context: string } {
  const [target = ''] = resource.split('/');
  const at = target.lastIndexOf('@');
  const extension = at < 0 ? target : target.slice(0, at);
  const context = at < 0 ? 'default' : target.slice(at + 1);
  if (extension === '' || context === '') throw new DriverError('resource', `'${resource}' is not extension@context`);
  return { extension, context };
}

const ignore = (): void => {};

/** Both halves, back to back. */
type Pair = { readonly first: LocalLeg; readonly second: LocalLeg };

const heardBy = (half: () => LocalLeg) => (told: MediaReport) => {
  const heard = heardOf(told);
  if (heard) half().report(heard);
};

/** Eight hexadecimal digits; after the last number comes the first. */
const numberOf = (count: number): string => (count >>> 0).toString(16).padStart(8, '0');

const isLocalLeg = (data: LegData): data is LocalLegData =>
  data.version === 1 && typeof (data as Partial<LocalLegData>).place?.pair === 'string';

/**
 * The driver of Local channels.
 * @param freshId an unused id for a second half without a requested one; its audio uses the same id.
 * @param hasContext whether a context exists: dialing into an unknown one is refused.
 */
export function createLocalDriver(options: {
  media: MediaPlane;
  freshId: () => string;
  hasContext: (context: string) => boolean;
  /** Sees the charts of legs; left out: nobody. */
  tables?: TableWatch | undefined;
}): Driver {
  const { media, freshId, hasContext, tables } = options;
  const partsOf = (id: string, session: MediaSession): Parts => ({ media: session, watched: { watch: tables, id } });
  /** Halves that were restored and whose other half was not yet, by pair. */
  const waiting = new Map<string, { media: MediaSession; leg: LocalLeg }>();

  /** How many pairs were made: their names count them, as in Asterisk. */
  let made = 0;

  const join = (first: LocalLeg, second: LocalLeg): Pair => {
    first.peer = second;
    second.peer = first;
    return { first, second };
  };

  return {
    technology: 'Local',

    open(request: LegRequest, report: Report): OpenedLeg {
      const { extension, context } = parseResource(request.resource);
      if (!hasContext(context)) throw new DriverError('endpoint', `there is no context '${context}'`);
      const name = `Local/${extension}@${context}-${numberOf(made++)}`;
      const otherId = request.otherChannelId ?? freshId();
      const [firstMedia, secondMedia] = media.openPair(
        [request.channelId, otherId],
        [heardBy(() => first), heardBy(() => second)],
      );
      const { first, second } = join(
        new LocalLeg({ pair: name, half: 1, otherId }, partsOf(request.channelId, firstMedia), report),
        new LocalLeg({ pair: name, half: 2, otherId: request.channelId }, partsOf(otherId, secondMedia), ignore),
      );
      return {
        name: `${name};1`,
        leg: first,
        context,
        extension,
        companion: {
          technology: 'Local',
          name: `${name};2`,
          channelId: otherId,
          context,
          extension,
          caller: request.caller,
          state: 'reserved',
          open(_channelId, secondReport) {
            second.report = secondReport;
            return second;
          },
        },
      };
    },

    resume(data: LegData, channelId: string, report: Report): Leg {
      if (!isLocalLeg(data)) throw new DriverError('data', 'this is no half of a Local channel');
      const { place } = data;
      // Continues the count of restored channels.
      made = Math.max(made, Number.parseInt(place.pair.slice(-8), 16) + 1 || 0);
      const other = waiting.get(place.pair);
      if (other) {
        waiting.delete(place.pair);
        const leg = new LocalLeg(place, partsOf(channelId, other.media), report, data);
        join(other.leg, leg);
        return leg;
      }
      const [own, others] = media.openPair(
        [channelId, place.otherId],
        [heardBy(() => leg), heardBy(() => leg.peer ?? leg)],
      );
      const leg = new LocalLeg(place, partsOf(channelId, own), report, data);
      waiting.set(place.pair, { media: others, leg });
      return leg;
    },
  };
}
