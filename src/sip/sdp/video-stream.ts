import type { VideoFeedback, VideoFormatName } from '../../lib/formats.ts';
import { readParameters } from './h264-parameters.ts';
import {
  atBrowser,
  type Direction,
  directionSaid,
  type MediaLine,
  type Place,
  parametersOf,
  payloadTypes,
  placeOf,
  plainProfiles,
  type RawMedia,
  type RawSession,
  type RtpMap,
  rtpmapsOf,
  secretProfiles,
} from './media-line.ts';
import { readSdes, type SdesLine } from './sdes.ts';
import { isForwardable, VIDEO_CLOCK, videoNamed } from './video-codecs.ts';
import { dtlsProfiles, type RemoteBundled, readBundled } from './webrtc.ts';

/** One codec of a video stream as it was described. */
export type VideoFormat = {
  codec: VideoFormatName;
  payloadType: number;
  parameters?: string;
  /** The feedback that its receiver supports. */
  feedback: VideoFeedback;
  /** Payload type of its retransmissions in a stream of their own (RFC 4588 8.6). */
  rtx?: number;
};

/** A usable video stream of a description: with a port, an RTP profile and an address. */
export type VideoStream = {
  /** Its place among the `m=` lines. */
  line: number;
  /** It will not do without SRTP (RTP/SAVP, RFC 3711 12). */
  secret: boolean;
  /** It is in the transport of a browser's audio. */
  bundled?: RemoteBundled;
  keys?: readonly SdesLine[];
  address: string;
  /** `address` is a host name, and stands for an address of that version of IP. */
  named?: 4 | 6;
  port: number;
  /** Our codecs among those listed, in the order listed. */
  formats: readonly VideoFormat[];
  /** Bits a second that it takes at most. */
  maxBitrate?: number;
  direction: Direction;
  /** `a=label` (RFC 4574). */
  label?: string;
};

/** Longest label that is read. */
const MAX_LABEL = 256;

/** Reads the video streams of a description. */
export function readVideos(lines: readonly MediaLine[], session: RawSession): VideoStream[] {
  return lines.flatMap((line, index) => {
    const secret = secretProfiles.includes(line.protocol);
    if (line.type !== 'video' || line.port === 0) return [];
    const media = session.media[index]!;
    const bundled = dtlsProfiles.includes(line.protocol) ? readBundled(media, session) : undefined;
    if (bundled) return [{ ...readVideo(line, media, session, { index, secret: true, place: atBrowser }), bundled }];
    if (!(secret || plainProfiles.includes(line.protocol))) return [];
    const place = placeOf(media, session);
    return place ? [readVideo(line, media, session, { index, secret, place })] : [];
  });
}

/** The positions of the video lines, refused ones included: a stream's number is its index here. */
export const videoLines = (lines: readonly Pick<MediaLine, 'type'>[]): number[] =>
  lines.flatMap(({ type }, index) => (type === 'video' ? [index] : []));

function readVideo(
  line: MediaLine,
  media: RawMedia,
  session: RawSession,
  { index, secret, place }: { index: number; secret: boolean; place: Place },
): VideoStream {
  const maps = rtpmapsOf(media);
  const keys = readSdes((media as { crypto?: unknown }).crypto);
  const retransmissions = rtxTypes(media, maps);
  const maxBitrate = bitrateOf(media.bandwidth) ?? bitrateOf(session.bandwidth);
  const label = media.label === undefined ? undefined : String(media.label).slice(0, MAX_LABEL);
  return {
    line: index,
    secret,
    ...(keys.length > 0 && { keys }),
    ...place,
    port: line.port,
    formats: payloadTypes(line).flatMap((payloadType) => {
      const map = maps.get(payloadType);
      const codec = map && videoNamed(String(map.codec), Number(map.rate));
      const parameters = parametersOf(media, payloadType);
      if (!codec || !isForwardable(codec, parameters)) return [];
      const feedback = feedbackOf(media, payloadType);
      const rtx = retransmissions.get(payloadType);
      const more = { ...(parameters !== undefined && { parameters }), ...(rtx !== undefined && { rtx }) };
      return [{ codec, payloadType, ...more, feedback }];
    }),
    ...(maxBitrate !== undefined && { maxBitrate }),
    direction: directionSaid(media, session),
    ...(label !== undefined && { label }),
  };
}

/** Payload types of retransmissions by those of what is sent again: `apt` names that (RFC 4588 8.6). The first of several counts. */
function rtxTypes(media: RawMedia, maps: ReadonlyMap<number, RtpMap>): ReadonlyMap<number, number> {
  const types = new Map<number, number>();
  for (const [payloadType, { codec, rate }] of maps) {
    if (String(codec).toLowerCase() !== 'rtx' || Number(rate) !== VIDEO_CLOCK || !(payloadType <= 127)) continue;
    const said = Number(readParameters(parametersOf(media, payloadType) ?? '').get('apt') ?? Number.NaN);
    if (maps.has(said) && said !== payloadType && !types.has(said)) types.set(said, payloadType);
  }
  return types;
}

/** `rtcp-fb` of a payload type, or of all (RFC 4585 4.2), also with a profile without feedback. */
function feedbackOf(media: RawMedia, payloadType: number): VideoFeedback {
  const said = (media.rtcpFb ?? []).filter(({ payload }) => String(payload) === '*' || Number(payload) === payloadType);
  const has = (type: string, subtype?: string): boolean =>
    said.some((each) => String(each.type).toLowerCase() === type && each.subtype?.toLowerCase() === subtype);
  return {
    ...{ nack: has('nack'), pli: has('nack', 'pli'), fir: has('ccm', 'fir') },
    ...{ tmmbr: has('ccm', 'tmmbr'), remb: has('goog-remb') },
  };
}

/** `b=TIAS` in bit/s (RFC 3890), or else `b=AS` in kbit/s (RFC 8866 5.8); undefined without a positive value. */
function bitrateOf(bandwidth: RawMedia['bandwidth']): number | undefined {
  const of = (name: string): number => {
    const limit = Number(bandwidth?.find(({ type }) => type === name)?.limit);
    return Number.isSafeInteger(limit) ? limit : 0;
  };
  return of('TIAS') || of('AS') * 1000 || undefined;
}
