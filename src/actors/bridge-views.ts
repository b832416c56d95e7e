import type { BridgeFlag } from '../machines/bridge.ts';
import type { VideoMode } from '../models/bridge.ts';
import type { LegVideo, LegVideoStream, ShownStream } from '../telephony/driver.ts';
import type { MediaSession, Mix } from '../telephony/media.ts';
import type { H264Terms, VideoCodec } from '../telephony/video.ts';
import { canBe, commonCodec, whyUnseen } from './video-terms.ts';

/** What a bridge needs to know of one who is in it. */
export type Present = { channel: { id: string; leg: { media: MediaSession; video?: LegVideo | undefined } } };

/** What the bridge says of its video. */
export type Room = {
  mode: VideoMode;
  /** Whom all are to see, where that was asked for. */
  chosen: string | undefined;
  flags: readonly BridgeFlag[];
};

type Source = { id: string; media: MediaSession; codec: VideoCodec; h264?: H264Terms | undefined };

/** Whom a member cannot be shown, or may not be able to decode, and why. */
type Unseen = { channel: string; sources: readonly { channel: string; why: string }[] };

/** Members that are named of those whom one does not see. */
const mostTold = 10;

/**
 * Decides who sees whom in one bridge. The mix follows the talker, or shows one member to all, by itself. In the mode `sfu`
 * each member sees the others, one in each of its streams; with too few streams it sees those that joined first. A shown
 * member keeps its stream as long as both stay. When one leaves, the last one takes its stream. Calls without video cost
 * nothing.
 */
export class BridgeViews {
  /** Whom each is shown, by stream. */
  readonly #shown = new Map<string, readonly string[]>();
  /** What the mix was told of each, so that it is told once. */
  readonly #told = new Map<string, string>();
  /** Whom each was said not to see, so that it is said once. */
  readonly #unseen = new Map<string, ReadonlySet<string>>();
  #mode: string | undefined;
  /** Whom the mix showed last in the mode `talker` or `single`. */
  lastSource: string | undefined;

  /** Another mix takes the place of the one before: it knows nothing. */
  reset(): void {
    this.#mode = undefined;
    this.#told.clear();
  }

  /** Has the mix show whom the mode says, if anybody in it can have video. @returns whether that is news to it. */
  tell(mix: Pick<Mix, 'video'>, { mode, chosen }: Room, present: readonly Present[]): boolean {
    if (!present.some(({ channel }) => channel.leg.video)) return false;
    const source = mode === 'single' ? find(present, chosen)?.leg.media : undefined;
    const told = `${mode} ${source?.id}`;
    if (told === this.#mode) return false;
    this.#mode = told;
    mix.video(source ? { mode: 'single', source } : { mode: mode === 'sfu' ? 'sfu' : 'talker' });
    return true;
  }

  /** Shows each the others where that is the mode; ends it where it is not any more. */
  arrange(mix: Pick<Mix, 'show'>, { mode, flags }: Room, present: readonly Present[]): void {
    if (mode !== 'sfu') return void this.#end(mix, present);
    const sources = present.flatMap(({ channel: { id, leg } }): Source[] => {
      const own = leg.video?.streams.find(({ stream }) => stream === 0);
      return own?.receive ? [{ id, media: leg.media, codec: own.codec, h264: own.h264 }] : [];
    });
    for (const { channel } of present) this.#arrangeOne(mix, channel, sources, flags.includes('sdp_label'));
  }

  /**
   * Has those who could have another codec change to the one that most could have, so that all see each other where that is
   * possible. @returns whom a member cannot be shown, or may not be able to decode, and why; only where that is news.
   */
  unify(present: readonly Present[]): Unseen[] {
    const videos = present.flatMap(({ channel: { leg } }) => (leg.video?.choices.length ? [leg.video] : []));
    const codec = videos.length > 1 ? commonCodec(videos) : undefined;
    for (const video of videos) video.prefer(codec !== undefined && canBe(video, codec) ? codec : undefined);
    return present.flatMap(({ channel }) => this.#unseenBy(channel, present, codec) ?? []);
  }

  #unseenBy(
    { id, leg }: Present['channel'],
    present: readonly Present[],
    common: VideoCodec | undefined,
  ): Unseen | undefined {
    const own = soon(leg.video, common);
    if (!own?.send) return undefined;
    const sources = present.flatMap(({ channel }) => {
      const its = channel.id === id ? undefined : soon(channel.leg.video, common);
      const why = its?.receive ? whyUnseen(its, own) : undefined;
      return why === undefined ? [] : [{ channel: channel.id, why }];
    });
    const before = this.#unseen.get(id);
    const pairs = new Set(sources.map(({ channel, why }) => `${channel} ${why}`));
    this.#unseen.set(id, pairs);
    if ([...pairs].every((pair) => before?.has(pair))) return undefined;
    return { channel: id, sources: sources.slice(0, mostTold) };
  }

  /** One has left: it has its own stream alone. */
  left({ channel: { id, leg } }: Present): void {
    this.#told.delete(id);
    this.#unseen.delete(id);
    leg.video?.prefer(undefined);
    if (this.#shown.delete(id)) leg.video?.show([]);
    if (this.lastSource === id) this.lastSource = undefined;
  }

  /** Whom one is shown; undefined where nobody is. */
  shownTo(id: string): string[] | undefined {
    const shown = this.#shown.get(id);
    return shown && [...shown];
  }

  /** Takes up where another process left off. */
  restore(id: string, shown: readonly string[] | undefined): void {
    if (shown) this.#shown.set(id, shown);
  }

  #arrangeOne(
    mix: Pick<Mix, 'show'>,
    { id, leg: { media, video } }: Present['channel'],
    sources: readonly Source[],
    labelled: boolean,
  ): void {
    if (!video) return;
    const others = sources.map((source) => source.id).filter((each) => each !== id);
    const shown = placed(this.#shown.get(id) ?? [], others, video.capacity);
    this.#shown.set(id, shown);
    const seen = shown.flatMap((each) => sources.find((source) => source.id === each) ?? []);
    video.show(
      seen.map(({ id: label, codec }): ShownStream => ({ codec, ...(labelled && { label }) })),
      others.length - shown.length,
    );
    const agreed = seen.map((source, at) => {
      const taken = video.streams.find(({ stream }) => stream === at);
      const reason = taken && whyUnseen(source, taken);
      const can = taken?.send && reason !== 'codec';
      return can ? { from: source.id, its: source.media } : undefined;
    });
    const told = agreed.map((each) => each?.from ?? '').join();
    if (this.#told.get(id) === told || (told === '' && !this.#told.has(id))) return;
    this.#told.set(id, told);
    mix.show(
      media,
      agreed.map((each) => each?.its),
    );
  }

  #end(mix: Pick<Mix, 'show'>, present: readonly Present[]): void {
    if (this.#shown.size === 0) return;
    for (const { channel } of present) {
      if (!this.#shown.delete(channel.id)) continue;
      channel.leg.video?.show([]);
      if (this.#told.delete(channel.id)) mix.show(channel.leg.media, []);
    }
    this.#shown.clear();
  }
}

const find = (present: readonly Present[], id: string | undefined) =>
  present.find(({ channel }) => channel.id === id)?.channel;

/** Its own stream, as it is to be when it has changed to the codec that most can have. */
function soon(video: LegVideo | undefined, common: VideoCodec | undefined): LegVideoStream | undefined {
  const own = video?.streams.find(({ stream }) => stream === 0);
  if (!own || common === undefined || own.codec === common || !video || !canBe(video, common)) return own;
  const { h264: _, ...rest } = own;
  return { ...rest, codec: common };
}

/** Who is shown in which stream: those who were and still can be, each in his place, then those who wait. */
function placed(before: readonly string[], others: readonly string[], capacity: number): string[] {
  const can = new Set(others);
  const shown = before.slice(0, capacity);
  for (let at = 0; at < shown.length; ) {
    if (can.has(shown[at]!)) {
      at++;
      continue;
    }
    const last = shown.pop()!;
    if (at < shown.length) shown[at] = last;
  }
  const waiting = others.filter((each) => !shown.includes(each));
  return [...shown, ...waiting.slice(0, Math.max(0, capacity - shown.length))];
}
