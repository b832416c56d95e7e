import type { VideoVisibility } from './video-visibility.ts';

/** Reasons for invisible sources, in words; unknown ones stay as they are. */
const words: Readonly<Record<string, string>> = {
  no_video: 'has no video',
  inactive: 'takes no picture now (on hold, or it only sends)',
  source_inactive: 'no picture is sent (on hold, or without a camera)',
  silent: 'nothing comes of it now',
  another: 'the bridge shows another member',
  streams: "no stream is left for it (max_video_streams, or the phone's limit)",
  negotiating: 'it is being negotiated with the phone',
  codec: 'no codec in common',
  packetization: 'units of H.264 that are too long for it (packetization-mode 0)',
  profile: 'another profile of H.264: it may not be decoded',
  level: 'a higher level of H.264: it may not be decoded',
  bandwidth: 'more than it takes',
  key_frame: 'waits for a key frame',
};

/** A reason of {@link VideoVisibility} in words. */
export const whyUnseenText = (why: string): string => words[why] ?? why;

/** A source that is visible: its size, codec and bit rate, where they are known, and why it may not be decoded. */
function seenText({ codec, bitrate = 0, size, sizes, why }: VideoVisibility['others'][number], name: string): string {
  const said = [
    size === undefined || sizes === undefined ? [] : `size ${size} of ${sizes}`,
    codec ?? [],
    bitrate > 0 ? `${Math.round(bitrate / 1000)} kbit/s` : [],
    why === undefined ? [] : whyUnseenText(why),
  ].flat();
  return said.length > 0 ? `${name} (${said.join(', ')})` : name;
}

/** One member's view: visible sources, and invisible ones by reason; visible ones may have a reason, too. */
export type VisibilityRow = {
  member: string;
  sees: readonly string[];
  unseen: readonly { why: string; others: readonly string[] }[];
};

/** A row for each member, however many others there are. */
export const visibilityRowsOf = (
  members: readonly VideoVisibility[],
  nameOf: (channel: string) => string,
): VisibilityRow[] =>
  members
    .filter(({ others }) => others.length > 0)
    .map(({ channel, others }) => {
      const unseen = new Map<string, string[]>();
      for (const other of others) {
        if (other.seen) continue;
        const why = other.why === undefined ? '' : whyUnseenText(other.why);
        unseen.set(why, [...(unseen.get(why) ?? []), nameOf(other.channel)]);
      }
      const seen = others.filter((other) => other.seen);
      return {
        member: nameOf(channel),
        sees: seen.map((other) => seenText(other, nameOf(other.channel))),
        unseen: [...unseen].map(([why, names]) => ({ why, others: names })),
      };
    });
