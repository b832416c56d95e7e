import { write } from 'sdp-transform';
import type { OpusWishes } from '../../lib/formats.ts';
import type { SrtpKeys } from '../../lib/srtp.ts';
import type { WebrtcTransport } from '../../lib/webrtc.ts';
import { warnings } from '../message/warning.ts';
import { type AudioNumbers, type eventTypes, offeredNumbers, withAudioNumbers } from './audio-numbers.ts';
import { type AudioCodec, type CodecName, codecNames, eventRateOf } from './codecs.ts';
import {
  type AudioStream,
  type Description,
  directionOf,
  isHold,
  isNowhere,
  mirrored,
  noDtls,
  type Obstacle,
  receives,
  sends,
} from './description.ts';
import { type Direction, type MediaLine, type RemotePlace, refusedMedia, remotePlace } from './media-line.ts';
import { readOpusWishes, usualOpusWishes, writeOpusWishes } from './opus-parameters.ts';
import { plainBody } from './plain-body.ts';
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
import type { VideoNumbers } from './video-codecs.ts';
import {
  type AgreedVideo,
  acceptVideos,
  answerVideos,
  type LocalVideo,
  offerVideos,
  type SaidVideo,
  type VideoKeys,
  type VideoMemory,
  videoMedia,
} from './video-lines.ts';
import { agreedWebrtc, type ToldWebrtc, toldWebrtc, webrtcAttributes, webrtcSession } from './webrtc.ts';

/** Our capabilities on one call. */
export type LocalMedia = LocalAudio & {
  /** Without it every video stream is refused. */
  video?: LocalVideo | undefined;
};

/** Our audio capabilities on one call. */
export type LocalAudio = {
  address: string;
  port: number;
  /** Codecs in our order of preference; at least one. */
  codecs: readonly AudioCodec[];
  /** Whether digits may travel as RFC 4733 events. */
  telephoneEvents: boolean;
  /** Our Opus requests; left out: the usual ones. */
  opus?: OpusWishes | undefined;
  /** Whether audio is secret; without it never. */
  srtp?: SrtpPolicy | undefined;
};

/** Negotiated audio, for the media plane. */
export type AgreedAudio = {
  remote: RemotePlace;
  codec: AudioCodec;
  /** The numbers that we send with: the other side's. */
  payloadType: number;
  telephoneEvent?: number;
  /** Clock of telephone events in Hz, where it is not 8000. */
  telephoneEventRate?: number;
  /** The numbers that the other side sends with: ours, where they are not the same (RFC 3264 5.1). */
  receivePayloadType?: number;
  receiveTelephoneEvent?: number;
  /** Payload type of comfort noise, where we were offered it and take it. */
  comfortNoise?: number;
  /** The other side's Opus requests, if that is the codec. */
  opus?: OpusWishes;
  ptimeMs: number;
  /** Keys of SRTP, when that is agreed on. */
  srtp?: SrtpKeys;
  /** A browser's transport, when keys come from DTLS. */
  webrtc?: WebrtcTransport;
  /** Whether we send, and whether we expect to receive. */
  send: boolean;
  receive: boolean;
  /** The other side has put us on hold. */
  held: boolean;
};

/**
 * Our side's memory of a session (RFC 3264 5 and 8): plain data, replaced, never changed. The version counts up
 * only when what we say differs from what we said before.
 */
export type SdpSession = {
  readonly sessionId: string;
  readonly version: number;
  /** The last body we wrote; '' before the first. */
  readonly body: string;
  /** Every `m=` line agreed so far, in order; later offers must repeat them all. */
  readonly lines: readonly MediaLine[];
  /** Which of them is the audio. */
  readonly audioLine: number;
  /** Payload types, once the other side has offered some. */
  readonly audioNumbers?: AudioNumbers;
  /** Keys of SRTP that we told. */
  readonly keys?: ToldKeys;
  /** Our side of ICE, with browsers. */
  readonly webrtc?: ToldWebrtc;
  /** Those of each video stream. */
  readonly videoKeys?: VideoKeys;
  /** Payload types of each. */
  readonly videoNumbers?: Readonly<Record<string, VideoNumbers>>;
};

type Offered = { session: SdpSession; body: string };
type Answered =
  | { ok: true; session: SdpSession; body: string; agreed: AgreedAudio; videos?: readonly AgreedVideo[] }
  | ({ ok: false } & Obstacle);
type Accepted = { ok: true; agreed: AgreedAudio; videos?: readonly AgreedVideo[] } | { ok: false; problem: string };

const PTIME_MS = 20;
const MAX_PTIME_MS = 60;

/** A session without SDP so far. @param sessionId a decimal number, unique for this host (RFC 8866 5.2). */
export const newSession = (sessionId: string): SdpSession => ({
  sessionId,
  version: 1,
  body: '',
  lines: [],
  audioLine: 0,
});

/** Writes an offer with all our codecs; lines of an earlier exchange that are not ours stay refused. */
export function writeOffer(session: SdpSession, local: LocalMedia, direction: Direction): Offered {
  const { ofCodec, ofEvents, rates } = numbersOf(local, session);
  const formats = local.codecs.map((codec) => ({ ...nameOf(codec, local), payloadType: ofCodec(codec) }));
  const events = rates.map((rate) => ({ payloadType: ofEvents(rate), rate }));
  const mode = local.srtp?.mode ?? 'off';
  const { lines, audioLine } = withAudio(session, newLine(mode));
  const webrtc = mode === 'webrtc' && local.srtp ? toldWebrtc(session.webrtc, undefined, local.srtp) : undefined;
  const isSecret = mode === 'required' || mode === 'best_effort' || session.keys !== undefined;
  const keys = local.srtp && isSecret ? offerKeys(session.keys ?? {}, local.srtp) : undefined;
  const audio = { formats, direction, events: local.telephoneEvents ? events : [], sdes: offeredLines(keys ?? {}) };
  const videos = offerVideos(lines, local.video, local.srtp, memoryOf(session));
  return say({ ...session, audioLine, ...(keys && { keys }), ...(webrtc && { webrtc }) }, local, audio, videos);
}

/**
 * Answers an offer: our preferred codec among those offered, every other stream refused in its place (RFC 3264 6).
 * @param wished what we would like to do; the answer never exceeds what the offer allows.
 */
export function answerOffer(
  session: SdpSession,
  offer: Description,
  local: LocalMedia,
  wished: Direction = 'sendrecv',
): Answered {
  const mode = local.srtp?.mode ?? 'off';
  const found = usableAudio(offer, mode, local.codecs);
  if (!found) return { ok: false, ...obstacleOf(offer, mode) };
  const { remote, line } = found;
  const codec = local.codecs.find((wanted) => remote.codecs.some((offered) => offered.codec === wanted));
  const chosen = remote.codecs.find((offered) => offered.codec === codec)!;
  const direction = allowedBy(remote, wished);
  const event = local.telephoneEvents ? eventBeside(remote, chosen.codec) : undefined;
  const noise = noiseBeside(remote, chosen.codec);
  const keys = line && local.srtp ? withKeys(session.keys ?? {}, [line.key.suite], local.srtp) : session.keys;
  const ours = line && besideKey(line, keys);
  const { agreed: videos, ...video } = answerVideos(offer, local.video, local.srtp, memoryOf(session));
  const audioNumbers = withAudioNumbers(session.audioNumbers, remote, offer.lines[remote.line]!);
  const ice = iceBeside(remote, session, local);
  // Not a spread: V8 keeps an object slowly that begins as a copy and then grows.
  const spoken = Object.assign({}, session, { audioLine: remote.line, audioNumbers }, keys && { keys }, ice);
  const audio = {
    sdes: line && ours ? [{ tag: line.tag, key: ours }] : [],
    formats: [
      { ...nameOf(chosen.codec, local), payloadType: chosen.payloadType },
      ...(noise === undefined ? [] : [{ payloadType: noise, name: 'CN', rate: 8000 }]),
    ],
    direction,
    events: event ? [event] : [],
  };
  const said = say(spoken, local, audio, video);
  const agreed = {
    ...agree(remote, chosen, event, direction),
    ...(noise !== undefined && { comfortNoise: noise }),
    ...srtpOf(line, ours),
    ...transportOf(ice, remote, local),
  };
  return { ok: true, ...said, agreed, ...(local.video && { videos }) };
}

/** Both keys of a stream with SDES; nothing without. */
const srtpOf = (line: SdesLine | undefined, local: SrtpKeys['local'] | undefined): { srtp?: SrtpKeys } =>
  line && local ? { srtp: { local, remote: line.key } } : {};

/** Of a direction that we want, what the other side's allows. */
function allowedBy(theirs: AudioStream, ours: Direction): Direction {
  const allowed = mirrored(theirs.direction);
  return directionOf(sends(ours) && sends(allowed) && !isUnreachable(theirs), receives(ours) && receives(allowed));
}

/** True where nothing can be sent to: so phones held before there were directions (RFC 3264 8.4). */
const isUnreachable = ({ webrtc, address }: AudioStream): boolean => !webrtc && isNowhere(address);

/** Comfort noise is of 8000 Hz (RFC 3389), and only goes with codecs of that rate. */
const noiseBeside = ({ comfortNoise }: AudioStream, codec: keyof typeof codecNames): number | undefined =>
  codecNames[codec].rate === 8000 ? comfortNoise : undefined;

/** The lines of an offer of ours. A line of audio that was refused, or none, becomes ours; later ones keep their profile. */
function withAudio({ lines, audioLine }: SdpSession, ours: MediaLine): Pick<SdpSession, 'lines' | 'audioLine'> {
  const line = lines[audioLine];
  if (line?.type !== 'audio') return { lines: [...lines, ours], audioLine: lines.length };
  return { lines: line.port === 0 ? lines.with(audioLine, ours) : lines, audioLine };
}

/** Answers an offer with every stream refused in its place (RFC 3264 6). Our next offer has audio again. */
export function rejectOffer(session: SdpSession, { lines }: Description, local: LocalAudio): Offered {
  const first = lines.findIndex(({ type }) => type === 'audio');
  const isThere = lines[session.audioLine]?.type === 'audio';
  const audioLine = isThere || first < 0 ? session.audioLine : first;
  const refusedLines = lines.map((line) => ({ ...line, port: 0 }));
  const video = { lines: refusedLines, written: new Map(), keys: session.videoKeys ?? {} };
  return say({ ...session, audioLine }, local, undefined, video);
}

/**
 * Reads the answer to an offer of ours.
 * @param offered the direction we offered.
 * @param session what it was offered in: it knows our keys.
 */
export function acceptAnswer(
  answer: Description,
  local: LocalMedia,
  offered: Direction = 'sendrecv',
  session: Partial<
    Pick<SdpSession, 'keys' | 'webrtc' | 'audioNumbers' | 'videoKeys' | 'videoNumbers' | 'lines' | 'audioLine'>
  > = {},
): Accepted {
  const remote = answeredAudio(answer, session.audioLine);
  if (!remote) return { ok: false, problem: 'the answer refuses the audio' };
  // We offer each suite once, so it tells the line: Jami gives every answer the tag 1, against RFC 4568 5.1.2.
  const line = remote.keys?.find(({ key }) => session.keys?.[key.suite] !== undefined);
  const missing = missingKeys(remote, line, local);
  if (missing) return { ok: false, problem: missing };
  const ours = line && answeredKey(line, session.keys);
  const chosen = remote.codecs.find((entry) => local.codecs.includes(entry.codec));
  if (!chosen) return { ok: false, problem: 'the answer has no codec of the offer' };
  const direction = allowedBy(remote, offered);
  const event = local.telephoneEvents ? eventBeside(remote, chosen.codec) : undefined;
  const agreed = agree(remote, chosen, event, direction);
  const { ofCodec, ofEvents } = numbersOf(local, session);
  const offeredType = ofCodec(chosen.codec);
  const offeredEvent = event ? ofEvents(event.rate) : undefined;
  return {
    ok: true,
    agreed: {
      ...agreed,
      ...srtpOf(line, ours),
      ...transportOf(session, remote, local),
      ...(offeredType !== chosen.payloadType && { receivePayloadType: offeredType }),
      ...(offeredEvent !== undefined && offeredEvent !== event?.payloadType && { receiveTelephoneEvent: offeredEvent }),
    },
    ...(local.video && {
      videos: acceptVideos(answer, session.lines ?? [], local.video, { ...memoryOf(session), srtp: local.srtp }),
    }),
  };
}

/** The error of an answer: a secure stream must stay secure, and a secure profile needs a key. */
function missingKeys(remote: AudioStream, line: SdesLine | undefined, { srtp }: LocalAudio): string | undefined {
  const isBrowser = srtp?.mode === 'webrtc';
  if (isBrowser !== (remote.webrtc !== undefined)) return 'only one side wants ICE and DTLS-SRTP';
  const mustBeSecret = !isBrowser && (remote.secret || srtp?.mode === 'required');
  return mustBeSecret && !line ? 'the answer has no key for secret audio' : undefined;
}

/** Our side of ICE for an offer of a browser. */
const iceBeside = ({ webrtc }: AudioStream, session: SdpSession, { srtp }: LocalAudio): Pick<SdpSession, 'webrtc'> =>
  webrtc && srtp ? { webrtc: toldWebrtc(session.webrtc, webrtc, srtp) } : {};

/** What is agreed on with a browser. */
const transportOf = (
  { webrtc }: Pick<SdpSession, 'webrtc'>,
  remote: AudioStream,
  { srtp }: LocalAudio,
): Pick<AgreedAudio, 'webrtc'> =>
  webrtc && remote.webrtc ? { webrtc: agreedWebrtc(webrtc, remote.webrtc, srtp) } : {};

/** The audio of an answer: in our line, or the first if a careless peer has moved it. */
function answeredAudio({ audios }: Description, line: number | undefined): AudioStream | undefined {
  const known = audios.filter(({ codecs }) => codecs.length > 0);
  return audios.find((each) => each.line === line) ?? known[0] ?? audios[0];
}

/** Audio that we can use, with the key of our suite if it is to be secure. */
type UsableAudio = { remote: AudioStream; line?: SdesLine };

/**
 * The audio of an offer that we take: the first with a codec of ours (RFC 3264 6). Secret audio comes before plain where we do
 * that at all; of the suites the first offered that we have counts (RFC 4568 5.1.2).
 */
export function usableAudio(
  { audios }: Description,
  mode: SrtpPolicy['mode'],
  codecs: readonly AudioCodec[],
): UsableAudio | undefined {
  return waysOf(audios, mode).find(({ remote }) => remote.codecs.some(({ codec }) => codecs.includes(codec)));
}

/** Every way in which audio can flow, the preferred one first. */
function waysOf(audios: readonly AudioStream[], mode: SrtpPolicy['mode']): UsableAudio[] {
  if (mode === 'webrtc') return audios.filter(({ webrtc }) => webrtc).map((remote) => ({ remote }));
  const withKeys =
    mode === 'off' ? [] : audios.flatMap((remote) => (remote.keys?.[0] ? [{ remote, line: remote.keys[0] }] : []));
  const plain = mode === 'required' ? [] : audios.filter(({ secret }) => !secret).map((remote) => ({ remote }));
  return [
    ...withKeys.filter(({ remote }) => remote.secret),
    ...withKeys.filter(({ remote }) => !remote.secret),
    ...plain,
  ];
}

const needsWebrtc =
  'the endpoint has webrtc: true and takes ICE, rtcp-mux and DTLS-SRTP (setup actpass, active or passive) only';

/** Why {@link usableAudio} finds nothing. */
export function obstacleOf({ audios, obstacle }: Description, mode: SrtpPolicy['mode']): Obstacle {
  if (waysOf(audios, mode).length > 0) return { problem: 'no codec in common', code: warnings.incompatibleFormat };
  if (mode === 'webrtc') return { problem: needsWebrtc, code: warnings.incompatibleProtocol };
  if (audios.some(({ dtls }) => dtls)) return { problem: noDtls, code: warnings.incompatibleProtocol };
  if (audios.some(({ secret, keys }) => secret && !keys) && mode !== 'off')
    return { problem: 'no a=crypto line that is supported', code: warnings.other };
  if (audios.length > 0) return { problem: 'SRTP is wanted on one side only', code: warnings.other };
  return obstacle ?? { problem: 'no audio is offered', code: warnings.noSuchMedia };
}

/** The numbers of an offer of ours in a session, and the clocks of its telephone events. */
function numbersOf({ codecs }: LocalAudio, { audioNumbers }: Partial<SdpSession>) {
  const rates = [...new Set(codecs.map(eventRateOf))].sort((a, b) => a - b);
  return { ...offeredNumbers(codecs, rates, audioNumbers), rates };
}

/** How a codec is written, with what we say about it. */
function nameOf(codec: AudioCodec, { opus = usualOpusWishes }: LocalAudio): CodecName {
  const parameters = codec === 'opus' ? writeOpusWishes(opus) : '';
  return { ...codecNames[codec], ...(parameters !== '' && { parameters }) };
}

type EventFormat = { payloadType: number; rate: keyof typeof eventTypes };

/** The telephone events of a codec: those of its own clock (RFC 4733 2.1), else those of the other. */
function eventBeside(remote: AudioStream, codec: AudioCodec): EventFormat | undefined {
  const narrow = remote.telephoneEvent;
  const wide = remote.wideTelephoneEvent;
  const prefersWide = eventRateOf(codec) === 48_000 ? wide !== undefined : narrow === undefined;
  const payloadType = prefersWide ? wide : narrow;
  return payloadType === undefined ? undefined : { payloadType, rate: prefersWide ? 48_000 : 8000 };
}

function agree(
  remote: AudioStream,
  chosen: AudioStream['codecs'][number],
  event: EventFormat | undefined,
  direction: Direction,
): AgreedAudio {
  return {
    remote: remotePlace(remote),
    codec: chosen.codec,
    payloadType: chosen.payloadType,
    ...(event && { telephoneEvent: event.payloadType }),
    ...(event && event.rate !== 8000 && { telephoneEventRate: event.rate }),
    ...(chosen.codec === 'opus' && { opus: readOpusWishes(chosen.parameters) }),
    ptimeMs: packetTime(remote),
    send: sends(direction),
    receive: receives(direction),
    held: isHold(remote.direction) || isUnreachable(remote),
  };
}

/** The other side's wish in whole 20 ms frames; ptime is a recommendation (RFC 8866 6.4), maxptime a limit. */
function packetTime({ ptimeMs = PTIME_MS, maxPtimeMs = MAX_PTIME_MS }: AudioStream): number {
  const wished = Math.min(ptimeMs, maxPtimeMs, MAX_PTIME_MS);
  return Math.max(PTIME_MS, Math.floor(wished / PTIME_MS) * PTIME_MS);
}

type LocalLine = {
  formats: readonly CodecName[];
  events: readonly EventFormat[];
  direction: Direction;
  sdes: readonly SdesLine[];
};

const memoryOf = ({ videoKeys, videoNumbers }: Partial<SdpSession>): VideoMemory => ({
  keys: videoKeys,
  numbers: videoNumbers,
});

/** @param audio what is said of ours; undefined to refuse it. */
function say(before: SdpSession, local: LocalAudio, audio: LocalLine | undefined, video: SaidVideo): Offered {
  const { lines, keys, numbers, written } = video;
  const session = {
    ...before,
    lines,
    ...(Object.keys(keys).length > 0 && { videoKeys: keys }),
    ...(numbers && { videoNumbers: numbers }),
  };
  const same = writeBody(session, local, audio, written);
  if (session.body === '' || same === session.body) return { session: { ...session, body: same }, body: same };
  const next = { ...session, version: session.version + 1 };
  const body = writeBody(next, local, audio, written);
  return { session: { ...next, body }, body };
}

function writeBody(
  session: SdpSession,
  local: LocalAudio,
  audio: LocalLine | undefined,
  videos: SaidVideo['written'],
): string {
  const [line, ...others] = session.lines;
  if (audio && line && others.length === 0 && session.audioLine === 0 && !session.webrtc)
    return plainBody(session, { line, address: local.address, port: local.port, ptimeMs: PTIME_MS, ...audio });
  const ipVer = local.address.includes(':') ? 6 : 4;
  const { address, port, srtp: { candidates = [], ssrc } = {} } = local;
  const transport = (track: string) =>
    session.webrtc ? webrtcAttributes(session.webrtc, { address, port, candidates, track, ssrc }) : {};
  const media = (line: MediaLine, index: number) => {
    const video = videos.get(index);
    if (video) return videoMedia(line, video, transport);
    return audio && index === session.audioLine
      ? audioMedia(
          line,
          local,
          audio,
          session.webrtc && { ...(line.mid !== undefined && { mid: line.mid }), ...transport('audio') },
        )
      : refusedMedia(line, session.webrtc !== undefined);
  };
  const webrtc = audio && session.webrtc;
  return write({
    version: 0,
    origin: {
      username: '-',
      sessionId: session.sessionId,
      sessionVersion: session.version,
      netType: 'IN',
      ipVer,
      address: local.address,
    },
    name: 'Hookswitch',
    connection: { version: ipVer, ip: local.address },
    timing: { start: 0, stop: 0 },
    ...(webrtc && webrtcSession(webrtc, session.lines, session.audioLine, videos.keys())),
    media: session.lines.map(media),
  });
}

/** A new line of audio of our offers. */
const newLine = (mode: SrtpPolicy['mode']): MediaLine => ({
  ...{ type: 'audio', port: 0, formats: [] },
  protocol: mode === 'webrtc' ? 'UDP/TLS/RTP/SAVPF' : mode === 'required' ? 'RTP/SAVP' : 'RTP/AVP',
  ...(mode === 'webrtc' && { mid: '0' }),
});

function audioMedia(
  line: MediaLine,
  local: LocalAudio,
  { formats, events, direction, sdes }: LocalLine,
  transport: object | undefined,
) {
  const rtp = formats.map(({ payloadType, name, rate, channels }) => ({
    payload: payloadType,
    codec: name,
    rate,
    ...(channels !== undefined && { encoding: channels }),
  }));
  const parameters = formats.flatMap(({ payloadType, parameters }) =>
    parameters === undefined ? [] : [{ payload: payloadType, config: parameters }],
  );
  const digits = events.map(({ payloadType, rate }) => ({ payload: payloadType, codec: 'telephone-event', rate }));
  return {
    type: 'audio',
    port: local.port,
    protocol: line.protocol,
    payloads: [...rtp, ...digits].map(({ payload }) => payload).join(' '),
    rtp: [...rtp, ...digits],
    fmtp: [...parameters, ...digits.map(({ payload }) => ({ payload, config: '0-16' }))],
    ptime: PTIME_MS,
    direction,
    ...(sdes.length > 0 && { crypto: sdes.map(writeSdes) }),
    ...transport,
  };
}
