import type { VideoFeedback, VideoFormatName } from '../../lib/formats.ts';
import type { SrtpKeys } from '../../lib/srtp.ts';
import { type BundledLine, type RtxTypes, rtxSourceOf } from '../../lib/webrtc.ts';
import { type Description, directionOf, isNowhere, mirrored, receives, sends } from './description.ts';
import { type H264Terms, h264Terms } from './h264-parameters.ts';
import { type Direction, type MediaLine, type RemotePlace, remotePlace } from './media-line.ts';
import {
  answeredKey,
  besideKey,
  offeredLines,
  offerKeys,
  type SdesLine,
  type SrtpPolicy,
  type ToldKeys,
  withKeys,
  writeSdes,
} from './sdes.ts';
import {
  answeredParameters,
  numbered,
  type OfferedVideo,
  offerAnswered,
  VIDEO_CLOCK,
  type VideoNumbers,
  videoNameOf,
  videoOffers,
  videoRank,
  withNumbers,
} from './video-codecs.ts';
import { type VideoFormat, type VideoStream, videoLines } from './video-stream.ts';
import { bundledAttributes, offeredLine, transportFeedback } from './webrtc.ts';

/** One video stream of a call, as we would have it. */
export type LocalVideoStream = {
  port: number;
  /** Whether it is in our offers. An offer of the other side's is answered in any case. */
  offered: boolean;
  direction: Direction;
  /** Codecs of our offers; left out: all. */
  codecs?: readonly VideoFormatName[];
  /** `a=label` (RFC 4574). */
  label?: string;
  /** Its SSRC, once it is known: browsers are told. */
  ssrc?: number;
};

/** Our video capabilities on one call; the address is that of the audio. */
export type LocalVideo = {
  /** In our order of preference. */
  codecs: readonly VideoFormatName[];
  /** Highest bit rate for the other side in each stream, in bit/s (`b=TIAS`, `b=AS`). */
  maxBitrate?: number;
  /** By number: the first is for the first `m=video` line. Further lines are refused. */
  streams: readonly LocalVideoStream[];
};

/** Negotiated parameters of one stream, for the media plane. */
export type AgreedVideo = {
  /** Its number among the video lines. */
  stream: number;
  remote: RemotePlace;
  codec: VideoFormatName;
  /** The number that we send with: the other side's. */
  payloadType: number;
  /** The number that the other side sends with: ours, where it is not the same. */
  receivePayloadType?: number;
  /** The feedback that the other side supports. */
  feedback: VideoFeedback;
  /** Bits a second that it takes at most. */
  maxBitrate?: number;
  /** Its H.264 terms, if that is the codec. */
  h264?: H264Terms;
  /** Codecs that it could have agreed on as well, in our order; left out where there is no other. */
  alternatives?: readonly VideoFormatName[];
  srtp?: SrtpKeys;
  /** It is in the transport of the audio. */
  bundled?: BundledLine;
  /** Retransmissions go in a stream of their own, both ways (RFC 4588). */
  rtx?: RtxTypes;
  send: boolean;
  receive: boolean;
};

/** A format as we write it. */
type WrittenFormat = {
  codec: VideoFormatName;
  payloadType: number;
  parameters?: string | undefined;
  /** Of browsers: the payload type of its retransmissions. */
  rtx?: number | undefined;
};

/** A line as we write it. */
type WrittenVideo = {
  stream: LocalVideoStream;
  formats: readonly WrittenFormat[];
  direction: Direction;
  sdes: readonly SdesLine[];
  /** It is in the transport of the audio. */
  bundled?: BundledLine;
  feedback: readonly { payload: number | '*'; feedback: VideoFeedback }[];
  /** See {@link LocalVideo.maxBitrate}. */
  maxBitrate?: number;
};

/** The keys sent so far, by the number of the stream. Each stream has its own. */
export type VideoKeys = Readonly<Record<string, ToldKeys>>;

/** Memory of a session's streams by number: our keys, and payload types. */
export type VideoMemory = {
  keys?: VideoKeys | undefined;
  numbers?: Readonly<Record<string, VideoNumbers>> | undefined;
};

/** The video of one description: its lines by position, and the resulting session state. */
export type SaidVideo = {
  lines: readonly MediaLine[];
  written: ReadonlyMap<number, WrittenVideo>;
  keys: VideoKeys;
  numbers?: Readonly<Record<string, VideoNumbers>>;
};

/** The ways of codecs that a stream of ours is offered in. */
const offersOf = (local: LocalVideo, { codecs = local.codecs }: LocalVideoStream, numbers: VideoNumbers | undefined) =>
  numbered(videoOffers(codecs.filter((codec) => local.codecs.includes(codec))), numbers);

/** In a bundle a number stands for the same in all lines (RFC 9143 9.1): a new one has those of the first. */
const numbersOf = (numbers: VideoMemory['numbers'], stream: number, isBundled: boolean): VideoNumbers | undefined =>
  numbers?.[stream] ?? (isBundled ? numbers?.[0] : undefined);

const allFeedback: VideoFeedback = { nack: true, pli: true, fir: true, tmmbr: true, remb: true };

/**
 * Our streams in an offer: each in its place, new ones behind the others. The profile has no feedback, because more
 * phones accept it; feedback is declared all the same.
 */
export function offerVideos(
  lines: readonly MediaLine[],
  local: LocalVideo | undefined,
  srtp: SrtpPolicy | undefined,
  { keys: told = {}, numbers }: VideoMemory = {},
): SaidVideo {
  const known = videoLines(lines);
  const isBundled = srtp?.mode === 'webrtc';
  const all = [...lines];
  const written = new Map<number, WrittenVideo>();
  let keys = told;
  if (!local) return { lines: all, written, keys, ...(numbers && { numbers }) };
  for (const [number, stream] of local.streams.entries()) {
    // No place is left out: what comes behind it would be another stream's.
    if (known[number] === undefined && !stream.offered) break;
    if (!stream.offered) continue;
    const formats = offersOf(local, stream, numbersOf(numbers, number, isBundled));
    const line = known[number] ?? all.length;
    if (line === all.length) all.push(newLine(all, formats, srtp));
    if (srtp && offersKeys(srtp, keys[number])) keys = { ...keys, [number]: offerKeys(keys[number] ?? {}, srtp) };
    written.set(line, {
      stream,
      formats,
      direction: stream.direction,
      sdes: offeredLines(keys[number] ?? {}),
      ...bundledIn(isBundled ? all[line] : undefined, numbers?.[number]?.rids),
      feedback: [{ payload: '*', feedback: allFeedback }],
      ...bandwidthOf(local, stream.direction),
    });
  }
  return { lines: all, written, keys, ...(numbers && { numbers }) };
}

const offersKeys = ({ mode }: SrtpPolicy, told: ToldKeys | undefined): boolean =>
  mode === 'required' || mode === 'best_effort' || told !== undefined;

/** Answers the streams of an offer that we have a port for and a codec in common; the others are refused. */
export function answerVideos(
  offer: Description,
  local: LocalVideo | undefined,
  srtp: SrtpPolicy | undefined,
  { keys: told = {}, numbers: before }: VideoMemory = {},
): SaidVideo & { agreed: AgreedVideo[] } {
  const written = new Map<number, WrittenVideo>();
  const agreed: AgreedVideo[] = [];
  let keys = told;
  let numbers = before;
  const said = () => ({ lines: offer.lines, written, keys, agreed, ...(numbers && { numbers }) });
  if (!local) return said();
  for (const [number, line] of videoLines(offer.lines).entries()) {
    const stream = local.streams[number];
    const remote = offer.videos?.find((each) => each.line === line);
    if (!remote) continue;
    const { formats } = offer.lines[line]!;
    numbers = { ...numbers, [number]: withNumbers(numbers?.[number], remote, formats) };
    const secret = usableKeys(remote, srtp?.mode ?? 'off', offer);
    const chosen = chooseFormat(local.codecs, remote.formats);
    if (!stream || !secret || !chosen) continue;
    const { line: theirs } = secret;
    if (theirs && srtp) keys = { ...keys, [number]: withKeys(keys[number] ?? {}, [theirs.key.suite], srtp) };
    const ours = theirs && { local: besideKey(theirs, keys[number]), remote: theirs.key };
    const direction = within(stream.direction, remote.direction);
    const rtx = rtxOf(remote, chosen);
    written.set(line, {
      stream,
      formats: [{ ...chosen, rtx, parameters: answeredParameters(chosen.codec, chosen.parameters) }],
      direction,
      sdes: theirs && ours ? [{ tag: theirs.tag, key: ours.local }] : [],
      ...bundledOf(remote),
      feedback: [{ payload: chosen.payloadType, feedback: chosen.feedback }],
      ...bandwidthOf(local, direction),
    });
    agreed.push({
      ...agree(number, { remote, chosen }, direction, local.codecs),
      ...(ours && { srtp: ours }),
      ...rtxTypes(rtx, rtx),
    });
  }
  return said();
}

/** Reads what an answer says of the streams that we offered; what it refuses or gets wrong is left out. */
export function acceptVideos(
  answer: Description,
  lines: readonly MediaLine[],
  local: LocalVideo | undefined,
  { srtp, keys: told = {}, numbers }: VideoMemory & { srtp?: SrtpPolicy | undefined } = {},
): AgreedVideo[] {
  const agreed: AgreedVideo[] = [];
  for (const [number, line] of local ? videoLines(lines).entries() : []) {
    const stream = local?.streams[number];
    const remote = answer.videos?.find((each) => each.line === line);
    if (!local || !stream?.offered || !remote) continue;
    const key = remote.keys?.find((each) => told[number]?.[each.key.suite] !== undefined);
    const isBrowser = srtp?.mode === 'webrtc';
    if (isBrowser ? !remote.bundled : (remote.secret || srtp?.mode === 'required') && !key) continue;
    const ours = key && { local: answeredKey(key, told[number]), remote: key.key };
    const known = numbersOf(numbers, number, isBrowser);
    const [chosen, offered] = answeredFormat(offersOf(local, stream, known), remote.formats);
    if (!chosen || !offered) continue;
    agreed.push({
      ...agree(number, { remote, chosen }, within(stream.direction, remote.direction), local.codecs),
      ...(ours && { srtp: ours }),
      ...(offered.payloadType !== chosen.payloadType && { receivePayloadType: offered.payloadType }),
      ...rtxTypes(rtxOf(remote, chosen), offered.rtx),
    });
  }
  return agreed;
}

/** Our limit is only sent for streams that we receive (RFC 3264 5.1). */
const bandwidthOf = ({ maxBitrate }: LocalVideo, direction: Direction): { maxBitrate?: number } =>
  maxBitrate !== undefined && receives(direction) ? { maxBitrate } : {};

/** Characters of an SDP line; labels with others are dropped. */
const labelForm = /^[\x21-\x7e]{1,256}$/;

/**
 * As `sdp-transform` writes a line of ours.
 * @param transport what the line says of the transport that it shares with the audio, if it does.
 */
export function videoMedia(line: MediaLine, video: WrittenVideo, transport: (track: string) => object) {
  const { stream, direction, sdes, bundled, feedback, maxBitrate } = video;
  const formats = bundled ? video.formats.flatMap(withRtx) : video.formats.map(plain);
  return {
    type: 'video',
    port: stream.port,
    protocol: line.protocol,
    // Phones know the older of the two or both. Kbit/s are rounded up, so that the limits agree.
    ...(maxBitrate !== undefined && {
      bandwidth: [
        { type: 'TIAS' as const, limit: maxBitrate },
        { type: 'AS' as const, limit: Math.ceil(maxBitrate / 1000) },
      ],
    }),
    payloads: formats.map(({ payloadType }) => payloadType).join(' '),
    rtp: formats.map(({ name, payloadType }) => ({ payload: payloadType, codec: name, rate: VIDEO_CLOCK })),
    fmtp: formats.flatMap(({ payloadType, parameters }) =>
      parameters === undefined ? [] : [{ payload: payloadType, config: parameters }],
    ),
    rtcpFb: feedback.flatMap(({ payload, feedback: { nack, pli, fir, tmmbr, remb } }) => [
      ...(nack ? [{ payload: payload as number, type: 'nack' }] : []),
      ...(pli ? [{ payload: payload as number, type: 'nack', subtype: 'pli' }] : []),
      ...(fir ? [{ payload: payload as number, type: 'ccm', subtype: 'fir' }] : []),
      ...(tmmbr ? [{ payload: payload as number, type: 'ccm', subtype: 'tmmbr' }] : []),
      ...(remb ? [{ payload: payload as number, type: 'goog-remb' }] : []),
      ...feedbackOf(bundled, payload as number),
    ]),
    direction,
    ...(stream.label !== undefined && labelForm.test(stream.label) && { label: stream.label }),
    ...(sdes.length > 0 && { crypto: sdes.map(writeSdes) }),
    ...(bundled && { ...bundledAttributes(bundled), ...transport(`video-${bundled.mid}`) }),
    ...(bundled && stream.ssrc !== undefined && sourcesOf(stream.ssrc, formats.length > video.formats.length)),
  };
}

const plain = ({ codec, payloadType, parameters }: WrittenFormat) => ({
  name: videoNameOf(codec),
  ...{ payloadType, parameters },
});

/** A format and its retransmissions (RFC 4588 8.6). */
const withRtx = (format: WrittenFormat) => [
  plain(format),
  ...(format.rtx === undefined
    ? []
    : [{ name: 'rtx', payloadType: format.rtx, parameters: `apt=${format.payloadType}` }]),
];

/** Our sources of a line: Firefox takes one that nobody named for the stream itself, also where it is that of retransmissions. */
function sourcesOf(ssrc: number, hasRtx: boolean) {
  const sources = hasRtx ? [ssrc, rtxSourceOf(ssrc)] : [ssrc];
  return {
    ...(hasRtx && { ssrcGroups: [{ semantics: 'FID', ssrcs: sources.join(' ') }] }),
    ssrcs: sources.map((id) => ({ id, attribute: 'cname', value: 'hookswitch' })),
  };
}

/** How a far side's retransmissions of a format are numbered; undefined: they go in the stream itself. They have to say of what size they are. */
const rtxOf = ({ bundled }: VideoStream, { rtx, feedback }: VideoFormat): number | undefined =>
  bundled && feedback.nack && (!bundled.simulcast || bundled.simulcast.repairedExtension !== undefined)
    ? rtx
    : undefined;

const rtxTypes = (payloadType: number | undefined, receivePayloadType: number | undefined): { rtx?: RtxTypes } =>
  payloadType === undefined || receivePayloadType === undefined ? {} : { rtx: { payloadType, receivePayloadType } };

/** Who says what number its packets have in their transport hears when they came. */
const feedbackOf = (bundled: BundledLine | undefined, payload: number) =>
  bundled?.transportExtension === undefined ? [] : [{ payload, type: transportFeedback }];

/** Our preferred codec among those offered, in the way of it that most can read. */
function chooseFormat(codecs: readonly VideoFormatName[], offered: readonly VideoFormat[]): VideoFormat | undefined {
  const codec = codecs.find((wanted) => offered.some((each) => each.codec === wanted));
  const [best] = offered.filter((each) => each.codec === codec).sort((a, b) => videoRank(a) - videoRank(b));
  return best;
}

/** The first one that we did offer, with our offer of it. */
function answeredFormat(offers: readonly OfferedVideo[], answered: readonly VideoFormat[]) {
  for (const chosen of answered) {
    const offered = offerAnswered(offers, chosen);
    if (offered) return [chosen, offered] as const;
  }
  return [] as const;
}

/** Whether a stream is to be secret, and by which line; undefined: we cannot agree on that. */
function usableKeys(
  { secret, keys, bundled }: VideoStream,
  mode: SrtpPolicy['mode'],
  { audios, lines }: Description,
): { line?: SdesLine } | undefined {
  // Its keys are those of the audio, so it has to be in that transport.
  const isBeside = audios.some(({ webrtc, line }) => webrtc && bundled?.group.includes(lines[line]?.mid ?? ''));
  if (mode === 'webrtc') return isBeside ? {} : undefined;
  if (bundled) return undefined;
  const [line] = mode === 'off' ? [] : (keys ?? []);
  if (line) return { line };
  return secret || mode === 'required' ? undefined : {};
}

/** Our direction, limited by the other side's. */
function within(wished: Direction, said: Direction): Direction {
  const allowed = mirrored(said);
  return directionOf(sends(wished) && sends(allowed), receives(wished) && receives(allowed));
}

/** What is agreed on of a line in the transport of the audio. */
const bundledOf = ({ bundled }: VideoStream): { bundled?: BundledLine } => {
  if (!bundled) return {};
  const { group: _, ...line } = bundled;
  return { bundled: line };
};

/** The same of a line of our offer. */
const bundledIn = (line: MediaLine | undefined, rids: readonly string[] | undefined): { bundled?: BundledLine } =>
  line?.mid === undefined ? {} : { bundled: offeredLine(line.mid, rids) };

/** A new line of our offers. */
const newLine = (
  lines: readonly MediaLine[],
  formats: readonly OfferedVideo[],
  srtp: SrtpPolicy | undefined,
): MediaLine => ({
  type: 'video',
  port: 0,
  protocol: profiles[srtp?.mode ?? 'off'],
  formats: formats.map(({ payloadType }) => String(payloadType)),
  ...(srtp?.mode === 'webrtc' && { mid: freeMid(lines) }),
});

const profiles: Readonly<Record<SrtpPolicy['mode'], string>> = {
  ...{ off: 'RTP/AVP', optional: 'RTP/AVP', best_effort: 'RTP/AVP' },
  ...{ required: 'RTP/SAVP', webrtc: 'UDP/TLS/RTP/SAVPF' },
};

/** A name that no line has. */
function freeMid(lines: readonly MediaLine[]): string {
  const taken = new Set(lines.map(({ mid }) => mid));
  let number = lines.length;
  while (taken.has(String(number))) number++;
  return String(number);
}

function agree(
  stream: number,
  { remote, chosen }: { remote: VideoStream; chosen: VideoFormat },
  direction: Direction,
  ours: readonly VideoFormatName[],
): AgreedVideo {
  const { address, maxBitrate, formats } = remote;
  const { codec, payloadType, feedback } = chosen;
  const alternatives = ours.filter((each) => each !== codec && formats.some((format) => format.codec === each));
  const h264 = codec === 'h264' ? h264Terms(chosen.parameters) : undefined;
  return {
    stream,
    remote: remotePlace(remote),
    codec,
    payloadType,
    feedback,
    ...(maxBitrate !== undefined && { maxBitrate }),
    ...(h264 && { h264 }),
    ...(alternatives.length > 0 && { alternatives }),
    ...bundledOf(remote),
    send: sends(direction) && (remote.bundled !== undefined || !isNowhere(address)),
    receive: receives(direction),
  };
}
