import type { BridgeFlag } from '../machines/bridge.ts';
import type { VideoMode } from '../models/bridge.ts';
import type { LegVideo, ShownStream } from '../telephony/driver.ts';
import type { MediaSession, Mix } from '../telephony/media.ts';
import type { VideoCodec } from '../telephony/video.ts';

/** What a bridge needs to know of one who is in it. */
export type Present = { channel: { id: string; leg: { media: MediaSession; video?: LegVideo | undefined } } };

/** What the bridge says of its video. */
export type Room = {
  mode: VideoMode;
  /** Whom all are to see, where that was asked for. */
  chosen: string | undefined;
  flags: readonly BridgeFlag[];
};

type Source = { id: string; media: MediaSession; codec: VideoCodec };

/**
 * Who is seen by whom in one bridge. The mix follows who talks, or shows one to all, by itself. In the mode `sfu` each member
 * sees the others, one in each of its streams: those who came first where it takes fewer streams than there are others. Whoever
 * is shown stays where he is as long as both are there; the last one takes the place of one who leaves, so that the streams are
 * always the first ones. Calls without video cost nothing: the mix is told of none.
 */
export class BridgeViews {
  /** Whom each is shown, by stream. */
  readonly #shown = new Map<string, readonly string[]>();
  /** What the mix was told of each, so that it is told once. */
  readonly #told = new Map<string, string>();
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
      return own?.receive ? [{ id, media: leg.media, codec: own.codec }] : [];
    });
    for (const { channel } of present) this.#arrangeOne(mix, channel, sources, flags.includes('sdp_label'));
  }

  /** One has left: it has its own stream alone. */
  left({ channel: { id, leg } }: Present): void {
    this.#told.delete(id);
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
    const shown = placed(
      this.#shown.get(id) ?? [],
      sources.map((source) => source.id).filter((each) => each !== id),
      video.capacity,
    );
    this.#shown.set(id, shown);
    const seen = shown.flatMap((each) => sources.find((source) => source.id === each) ?? []);
    video.show(seen.map(({ id: label, codec }): ShownStream => ({ codec, ...(labelled && { label }) })));
    const agreed = seen.map(({ id: from, media: its, codec }, at) => {
      const can = video.streams.some(({ stream, send, codec: taken }) => stream === at && send && taken === codec);
      return can ? { from, its } : undefined;
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
