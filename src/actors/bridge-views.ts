import type { BridgeFlag } from '../machines/bridge.ts';
import type { VideoMode } from '../models/bridge.ts';
import type { LegVideo, LegVideoStream, ShownStream } from '../telephony/driver.ts';
import type { MediaSession, Mix } from '../telephony/media.ts';
import type { H264Terms, VideoCodec } from '../telephony/video.ts';
import { canBe, commonCodec, whyUnseen } from './video-terms.ts';

/** The view of a member that its bridge needs. */
export type Present = { channel: { id: string; leg: { media: MediaSession; video?: LegVideo | undefined } } };

/** The bridge's video mode. */
export type Room = {
  mode: VideoMode;
  /** The source that a command chose for all members. */
  chosen: string | undefined;
  flags: readonly BridgeFlag[];
};

type Source = { id: string; media: MediaSession; codec: VideoCodec; h264?: H264Terms | undefined };

/** Sources that a member cannot see, or may be unable to decode, and why. */
type Unseen = { channel: string; sources: readonly { channel: string; why: string }[] };

/** How many of the members that one does not see are named. */
const mostTold = 10;

/**
 * Decides which member sees which in one bridge. The mix itself follows the talker, or shows one member to all. In the
 * mode `sfu` each member sees the others, one in each of its streams. With too few streams it sees those that joined
 * first. A source keeps its stream as long as both stay. When one leaves, the last one takes its stream. Calls without
 * video cost nothing.
 */
export class BridgeViews {
  /** Sources of each member, by stream. */
  readonly #shown = new Map<string, readonly string[]>();
  /** Last command to the mix for each member, to avoid repeats. */
  readonly #told = new Map<string, string>();
  /** Last report of invisible sources for each member, to avoid repeats. */
  readonly #unseen = new Map<string, ReadonlySet<string>>();
  #mode: string | undefined;
  /** Last source of the modes `talker` and `single`. */
  lastSource: string | undefined;

  /** Forgets what the mix knows: a new mix replaces it. */
  reset(): void {
    this.#mode = undefined;
    this.#told.clear();
  }

  /** Applies the mode to the mix, if any member can have video. @returns whether anything changed. */
  tell(mix: Pick<Mix, 'video'>, { mode, chosen }: Room, present: readonly Present[]): boolean {
    if (!present.some(({ channel }) => channel.leg.video)) return false;
    const source = mode === 'single' ? find(present, chosen)?.leg.media : undefined;
    const told = `${mode} ${source?.id}`;
    if (told === this.#mode) return false;
    this.#mode = told;
    mix.video(source ? { mode: 'single', source } : { mode: mode === 'sfu' ? 'sfu' : 'talker' });
    return true;
  }

  /** Shows each member the others in the mode `sfu`, and ends that in other modes. */
  arrange(mix: Pick<Mix, 'show'>, { mode, flags }: Room, present: readonly Present[]): void {
    if (mode !== 'sfu') return void this.#end(mix, present);
    const sources = present.flatMap(({ channel: { id, leg } }): Source[] => {
      const own = leg.video?.streams.find(({ stream }) => stream === 0);
      return own?.receive ? [{ id, media: leg.media, codec: own.codec, h264: own.h264 }] : [];
    });
    for (const { channel } of present) this.#arrangeOne(mix, channel, sources, flags.includes('sdp_label'));
  }

  /**
   * Moves members to the codec that most of them support, if their streams can change. @returns new reports of sources
   * that a member cannot see or may be unable to decode.
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

  /** Sources that a member sees; undefined without any. */
  shownTo(id: string): string[] | undefined {
    const shown = this.#shown.get(id);
    return shown && [...shown];
  }

  /** Restores the sources of a member. */
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

/** Assigns sources to streams. Present sources keep their streams; waiting ones fill the free streams. */
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
