import type { Clock } from '../../lib/clock.ts';
import type { VideoFormatName } from '../../lib/formats.ts';
import { guarded } from '../../lib/guard.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Logger } from '../../lib/log.ts';
import type { Timers } from '../../sip/dialog/stack.ts';
import type { Direction } from '../../sip/sdp/media-line.ts';
import type { AgreedVideo, LocalVideo } from '../../sip/sdp/video-lines.ts';
import type { LegVideo, LegVideoStream, ShownStream } from '../../telephony/driver.ts';
import type { RtpSession } from '../../telephony/media.ts';
import type { VideoStatistics } from '../../telephony/video.ts';

/** The video of a leg, as plain data. */
export type VideoStreamsData = {
  readonly agreed: readonly AgreedVideo[];
  /** Sources to show the far side. */
  readonly wanted: readonly ShownStream[];
  /** Number of streams that we requested: surplus ones end when they show nothing. */
  readonly asked: number;
  /** As many streams as the far side takes. */
  readonly limit: number;
  /** Labels sent to the far side, by stream. */
  readonly labels: Readonly<Record<string, string>>;
  /** End of the pause before the next renegotiation, in ms since the epoch. */
  readonly quietUntil: number;
  readonly dueAt?: number;
  /** Our ports, by stream. */
  readonly ports?: Readonly<Record<string, number>>;
  /** Its codecs, where they are not as its endpoint has them. */
  readonly codecs?: readonly VideoFormatName[];
  /** Codecs that the far side accepts in its own stream. */
  readonly choices?: readonly VideoFormatName[];
  /** Whether it may accept others of those offered. */
  readonly maybeMore?: boolean;
};

/** How streams are offered to a far side. */
type VideoOffers = {
  clock: Clock;
  timers: Timers;
  /** Time to collect changes, and shortest interval between renegotiations, in ms. */
  pace: { delayMs: number; intervalMs: number };
  /** Whether the call is up, so that a re-offer is possible. */
  canOffer(): boolean;
  /** Sends a re-offer. */
  offer(): void;
};

type VideoStreamsOptions = {
  log: Logger;
  channelId: string;
  /** Counts limits that were reached. */
  hit: LimitHit;
  /** Codecs in our order of preference; at least one. */
  codecs: readonly VideoFormatName[];
  /** Streams there may be. */
  most: number;
  /** Highest bit rate that the far side is asked to send in each stream, in bit/s. */
  maxBitrate?: number | undefined;
  /** Streams share the port and the keys of the audio, as browsers have them. */
  bundled: boolean;
  /** Left out: only the far side offers streams, and there are as many as it has offered. */
  offers?: VideoOffers;
  /** The negotiated video has changed. */
  changed(): void;
  from?: VideoStreamsData | undefined;
};

/** How many video lines an offer has, at most: their ports are to be there when it is answered. */
export const videoLinesIn = (sdp: string): number => sdp.split('\nm=video ').length - 1;

type LocalStream = LocalVideo['streams'][number];

/**
 * The video of one leg: its ports, its negotiated streams, and the sources for the far side. Several changes become one
 * offer, no more often than the settings allow. A refused stream is not offered again.
 */
export class VideoStreams implements LegVideo {
  readonly #options: VideoStreamsOptions;
  /** Our ports by stream. */
  readonly #ports = new Map<number, number>();
  /** Our SSRCs by stream. */
  readonly #sources = new Map<number, number>();
  readonly #opening = new Map<number, Promise<void>>();
  /** Ports of a restored leg that are not open again. */
  readonly #closed: Set<number>;
  #session: RtpSession | undefined;
  #codecs: readonly VideoFormatName[];
  #choices: readonly VideoFormatName[];
  /** Whether its last SDP was an answer, which does not show all of its codecs. */
  #maybeMore: boolean;
  #preferred: VideoFormatName | undefined;
  /** The codec that we asked it to use. */
  #moved: VideoFormatName | undefined;
  /** Its own stream was refused with the codec that was asked for: it is offered as before. */
  #isLost = false;
  /** Codecs that the far side did not take although they were preferred. */
  readonly #disliked = new Set<VideoFormatName>();
  #agreed: readonly AgreedVideo[];
  #wanted: readonly ShownStream[];
  /** Members that it has no streams for. */
  #others = 0;
  #asked: number;
  #limit: number;
  #labels: Readonly<Record<string, string>>;
  #quietUntil: number;
  #dueAt: number | undefined;
  #timer: unknown;

  constructor(options: VideoStreamsOptions) {
    const { from, most } = options;
    this.#options = options;
    for (const [stream, port] of Object.entries(from?.ports ?? {})) this.#ports.set(Number(stream), port);
    this.#closed = new Set(this.#ports.keys());
    this.#codecs = from?.codecs ?? options.codecs;
    this.#choices = from?.choices ?? [];
    this.#maybeMore = from?.maybeMore ?? false;
    this.#agreed = from?.agreed ?? [];
    this.#wanted = from?.wanted ?? [];
    this.#asked = from?.asked ?? 1;
    this.#limit = from?.limit ?? most;
    this.#labels = from?.labels ?? {};
    this.#quietUntil = from?.quietUntil ?? 0;
    if (from?.dueAt !== undefined && options.offers) this.#tellAt(from.dueAt, options.offers);
  }

  get streams(): readonly LegVideoStream[] {
    return this.#agreed.map(({ stream, codec, h264, send, receive }) => ({
      ...{ stream, codec, send, receive },
      ...(h264 && { h264 }),
    }));
  }

  get capacity(): number {
    const { most, offers } = this.#options;
    return Math.min(offers ? this.#limit : this.#highest() + 1, most);
  }

  get formats(): readonly VideoFormatName[] {
    const [first] = this.#agreed;
    return first ? [first.codec] : this.#codecs;
  }

  get choices(): readonly VideoFormatName[] {
    return this.#of(0)
      ? this.#choices.filter((codec) => this.#codecs.includes(codec) && !this.#disliked.has(codec))
      : [];
  }

  get untried(): readonly VideoFormatName[] {
    if (!this.#maybeMore || !this.#of(0)) return [];
    return this.#codecs.filter((codec) => !this.#choices.includes(codec) && !this.#disliked.has(codec));
  }

  prefer(codec: VideoFormatName | undefined): void {
    this.#preferred = codec;
    this.consider();
  }

  /** Opens the ports of the session. Resolves when all that can be opened are; never rejects. */
  async open(session: RtpSession, streams: number): Promise<void> {
    this.#session = session;
    const isRestored = this.#closed.size > 0;
    await this.#openUpTo(Math.max(streams, this.#kept()));
    // What was agreed before the session was open.
    if (isRestored && this.#agreed.length > 0) this.#configure([]);
  }

  show(streams: readonly ShownStream[], others = 0): void {
    const { most, hit } = this.#options;
    if (others > this.#others && this.#limit >= most) hit('sip.endpoints.*.max_video_streams', others - this.#others);
    this.#others = others;
    this.#wanted = streams.slice(0, most);
    this.consider();
  }

  /** Other codecs from the next offer or answer on; at least one. */
  change(codecs: readonly VideoFormatName[]): void {
    this.#codecs = codecs;
  }

  /** The far side needs a key frame of what it is shown. */
  askKeyFrame(): void {
    this.#session?.askKeyFrame();
  }

  async statistics(): Promise<VideoStatistics[]> {
    return this.#agreed.length > 0 && this.#session ? this.#session.videoStatistics() : [];
  }

  /** Offers new streams to the far side, if there are any, as soon as allowed. */
  consider(): void {
    const { offers } = this.#options;
    if (this.#timer !== undefined || !offers?.canOffer() || !this.#isNews()) return;
    const soonest = offers.clock.now() + offers.pace.delayMs;
    if (soonest < this.#quietUntil) this.#options.hit('sip.video.renegotiate_interval');
    this.#tellAt(Math.max(soonest, this.#quietUntil), offers);
  }

  /**
   * Our present capabilities.
   * @param wished `sendonly` while we hold the far side.
   * @param purpose a first offer has our first stream. Streams for other sources are send-only, unless they are
   * offered.
   */
  local(wished: Direction, purpose: 'first offer' | 'offer' | 'answer'): LocalVideo {
    const streams: LocalStream[] = [];
    for (let stream = 0; stream < this.#portsInARow(); stream++) {
      const ssrc = this.#sources.get(stream);
      streams.push({ ...this.#localStream(stream, wished, purpose), ...(ssrc !== undefined && { ssrc }) });
    }
    const { maxBitrate } = this.#options;
    return { codecs: this.#codecs, streams, ...(maxBitrate !== undefined && { maxBitrate }) };
  }

  #localStream(stream: number, wished: Direction, purpose: 'first offer' | 'offer' | 'answer'): LocalStream {
    const { label, codec: wanted } = this.#wanted[stream] ?? {};
    const asked = stream === 0 && purpose === 'offer' ? this.#askedFor() : undefined;
    const codec = stream === 0 ? asked : wanted;
    const ours = stream > 0 && stream < this.#asked;
    const first = stream === 0 && (purpose === 'first offer' || this.#isLost);
    return {
      port: this.#ports.get(stream) ?? 0,
      offered: first || (ours ? this.#isWanted(stream) : this.#of(stream) !== undefined),
      direction: ours && purpose !== 'answer' ? 'sendonly' : wished,
      ...(codec !== undefined && { codecs: [codec] }),
      ...(label !== undefined && { label }),
    };
  }

  /**
   * Applies the result of offer and answer.
   * @param offered our offer, if it was ours; its labels and refused streams are remembered.
   */
  settle(agreed: readonly AgreedVideo[], said: LocalVideo, isOurOffer: boolean): void {
    const before = this.#agreed;
    const seen = this.#seen();
    this.#agreed = agreed;
    for (const { stream } of agreed) if (stream >= this.#limit) this.#limit = stream + 1;
    if (isOurOffer) this.#limit = Math.min(this.#limit, this.#refusedFrom(said));
    this.#chose(isOurOffer, said);
    const told = agreed.flatMap(({ stream }) => {
      const label = said.streams[stream]?.label;
      return label === undefined ? [] : [[String(stream), label] as const];
    });
    this.#labels = Object.fromEntries(told);
    this.#configure(before);
    this.#tellChange(seen);
    this.consider();
  }

  /** Our offer failed and is not repeated. */
  refused(): void {
    const seen = this.#seen();
    this.#limit = Math.max(1, this.#highest() + 1);
    if (this.#of(0)?.codec !== this.#wish()) this.#dislike();
    this.#labels = Object.fromEntries(
      this.#wanted.flatMap(({ label }, stream) => (label === undefined ? [] : [[String(stream), label]])),
    );
    this.#tellChange(seen);
  }

  /** Applies another early dialog's answer instead of the last one. */
  resettle(agreed: readonly AgreedVideo[]): void {
    const before = this.#agreed;
    const seen = this.#seen();
    this.#agreed = agreed;
    this.#chose(true);
    this.#configure(before);
    this.#tellChange(seen);
  }

  /** The call has ended: its session has released the ports. */
  close(): void {
    this.#session = undefined;
  }

  dump(): VideoStreamsData {
    return {
      agreed: this.#agreed,
      wanted: this.#wanted,
      asked: this.#asked,
      limit: this.#limit,
      labels: this.#labels,
      quietUntil: this.#quietUntil,
      ...(this.#ports.size > 0 && { ports: Object.fromEntries(this.#ports) }),
      ...(this.#dueAt !== undefined && { dueAt: this.#dueAt }),
      ...(this.#codecs !== this.#options.codecs && { codecs: this.#codecs }),
      ...(this.#choices.length > 0 && { choices: this.#choices }),
      ...(this.#maybeMore && { maybeMore: true }),
    };
  }

  /** The one codec that its own stream is offered with; undefined = all of ours. One that listed several may choose another. */
  #askedFor(): VideoFormatName | undefined {
    const wish = this.#wish();
    return wish === this.#moved || wish !== this.#of(0)?.codec ? wish : undefined;
  }

  /** The preferred codec, unless the far side lacks it. */
  #wish(): VideoFormatName | undefined {
    const codec = this.#preferred;
    return codec !== undefined && [...this.choices, ...this.untried].includes(codec) ? codec : undefined;
  }

  /** Codecs that the far side could have chosen: an offer lists all, an answer a part of ours. */
  #chose(isOurOffer: boolean, said?: LocalVideo): void {
    const own = this.#of(0);
    const asked = isOurOffer ? said?.streams[0]?.codecs?.[0] : undefined;
    this.#isLost = asked !== undefined && own === undefined;
    if (asked !== undefined && own?.codec !== asked) this.#dislike();
    this.#moved = asked !== undefined && own?.codec === asked ? asked : undefined;
    if (!own) return;
    this.#maybeMore = isOurOffer;
    const told = [own.codec, ...(own.alternatives ?? [])];
    this.#choices = isOurOffer ? [...new Set([...told, ...this.#choices])] : told;
  }

  /** It did not take the codec that it was asked for. */
  #dislike(): void {
    if (this.#preferred !== undefined) this.#disliked.add(this.#preferred);
  }

  /** The stream as viewers see it. */
  #seen(): string {
    return JSON.stringify([this.capacity, this.streams, this.choices, this.untried]);
  }

  #tellChange(seen: string): void {
    if (this.#seen() !== seen) this.#options.changed();
  }

  #of(stream: number): AgreedVideo | undefined {
    return this.#agreed.find((each) => each.stream === stream);
  }

  /** Streams from the first one on that have a port: a place is never left out. */
  #portsInARow(): number {
    let count = 0;
    while (this.#ports.has(count)) count++;
    return count;
  }

  /** Streams that have a port in any case. */
  #kept(): number {
    return this.#agreed.length > 0 ? this.#options.most : 1;
  }

  #highest(): number {
    return Math.max(-1, ...this.#agreed.map(({ stream }) => stream));
  }

  #isWanted(stream: number): boolean {
    return stream < this.capacity && this.#wanted[stream] !== undefined;
  }

  /** The first requested stream that was refused. */
  #refusedFrom({ streams }: LocalVideo): number {
    const refused = streams.findIndex(({ offered }, stream) => stream > 0 && offered && !this.#of(stream));
    return refused < 0 ? this.#options.most : refused;
  }

  /** Whether an offer is needed. The first stream is the far side's own and is never requested. */
  #isNews(): boolean {
    const own = this.#of(0);
    if (!own) return this.#isLost;
    const wish = this.#wish();
    if (wish !== undefined && wish !== own.codec) return true;
    const last = Math.max(this.#asked, this.#wanted.length);
    for (let stream = 0; stream < last; stream++) {
      const agreed = this.#of(stream);
      const wanted = this.#isWanted(stream) ? this.#wanted[stream] : undefined;
      if (stream > 0 && (agreed === undefined) !== (wanted === undefined)) return true;
      if (stream > 0 && agreed && agreed.codec !== wanted?.codec) return true;
      if (agreed && wanted?.label !== undefined && this.#labels[stream] !== wanted.label) return true;
    }
    return false;
  }

  #tellAt(at: number, offers: VideoOffers): void {
    this.#dueAt = at;
    this.#timer = offers.timers.start(
      () => {
        this.#timer = undefined;
        this.#dueAt = undefined;
        this.#tell(offers);
      },
      Math.max(0, at - offers.clock.now()),
    );
  }

  #tell({ clock, pace, canOffer, offer: offerAgain }: VideoOffers): void {
    const { log, channelId } = this.#options;
    if (!canOffer() || !this.#isNews()) return;
    const count = Math.min(this.#wanted.length, this.capacity);
    this.#quietUntil = clock.now() + pace.intervalMs;
    this.#asked = Math.max(this.#asked, count);
    const offer = guarded(log, 'offering video', () => {
      // Without ports there are as many streams as there are ports.
      const had = this.#portsInARow();
      if (had < count) this.#limit = Math.max(1, had);
      if (canOffer()) offerAgain();
    });
    this.#openUpTo(count).then(offer, (error: unknown) => log.error({ channel: channelId, error }, 'no video'));
  }

  /** Opens the ports that are missing among the first ones. Never rejects. */
  async #openUpTo(count: number): Promise<void> {
    const missing = [...Array(Math.min(count, this.#options.most)).keys()].filter(
      (stream) => !this.#ports.has(stream) || this.#closed.has(stream),
    );
    await Promise.all(missing.map((stream) => this.#openPort(stream)));
  }

  #openPort(stream: number): Promise<void> {
    const session = this.#session;
    const under = this.#opening.get(stream);
    if (under || !session) return under ?? Promise.resolve();
    const opening = session.openVideo(stream, this.#options.bundled).then(
      ({ port, ssrc }) => {
        this.#closed.delete(stream);
        this.#ports.set(stream, port);
        if (ssrc !== undefined) this.#sources.set(stream, ssrc);
      },
      (error: unknown) => {
        const { log, channelId } = this.#options;
        // It was closed while the port was being opened.
        if (this.#session !== session) return;
        this.#closed.delete(stream);
        this.#ports.delete(stream);
        const reason = error instanceof Error ? error.message : String(error);
        log.warn({ channel: channelId, stream, reason }, 'no port could be opened for video');
      },
    );
    const done = opening.finally(() => this.#opening.delete(stream));
    this.#opening.set(stream, done);
    return done;
  }

  /**
   * Applies the negotiated video to the session. A call with video keeps a port for each possible stream, a call
   * without keeps one. The far side may add streams at any time and needs an answer without delay.
   */
  #configure(before: readonly AgreedVideo[]): void {
    const session = this.#session;
    if (!session) return;
    const kept = this.#kept();
    for (const { stream, alternatives: _, ...flow } of this.#agreed) session.configureVideo(stream, flow);
    for (const { stream, alternatives: _, ...flow } of before)
      if (!this.#of(stream) && stream < kept) session.configureVideo(stream, { ...flow, send: false, receive: false });
    for (const stream of [...this.#ports.keys()].filter((each) => each >= kept)) {
      session.configureVideo(stream, undefined);
      this.#ports.delete(stream);
      this.#sources.delete(stream);
    }
    this.#openUpTo(kept).catch(() => {});
  }
}
