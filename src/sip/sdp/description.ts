import { parse } from 'sdp-transform';
import { type WarningCode, warnings } from '../message/warning.ts';
import { type AudioCodec, codecNamed, codecOfStatic, comfortNoiseType } from './codecs.ts';
import {
  addressProblem,
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
import { readVideos, type VideoStream } from './video-stream.ts';
import { dtlsProfiles, type RemoteWebrtc, readWebrtc } from './webrtc.ts';

/** The audio stream of a description that we can talk to. */
export type AudioStream = {
  /** Its place among the `m=` lines. */
  line: number;
  /** It will not do without SRTP (RTP/SAVP, RFC 3711 12). */
  secret?: true;
  /** It has the fingerprint of a certificate and no keys: DTLS-SRTP (RFC 5764). */
  dtls?: true;
  /** Its ICE and DTLS attributes, for a fragment that has only these. */
  webrtc?: RemoteWebrtc;
  /** Keys of SRTP that we understand (RFC 4568), when there are any. */
  keys?: readonly SdesLine[];
  address: string;
  /** `address` is a host name, and stands for an address of that version of IP. */
  named?: 4 | 6;
  port: number;
  /** Our codecs among the listed ones, in that order, with their payload types and `fmtp` parameters. */
  codecs: readonly { codec: AudioCodec; payloadType: number; parameters?: string }[];
  /** Payload type of telephone-event at 8000 Hz, when listed. */
  telephoneEvent?: number;
  /** The same at 48,000 Hz. */
  wideTelephoneEvent?: number;
  /** Payload type of comfort noise (RFC 3389) at 8000 Hz, when listed. */
  comfortNoise?: number;
  /** ms of audio per packet the other side would like, and the most it takes. */
  ptimeMs?: number;
  maxPtimeMs?: number;
  direction: Direction;
};

/** A session description, as far as calls need it. */
export type Description = {
  lines: readonly MediaLine[];
  /** Its audio lines with a port, RTP, and an address, in order. */
  audios: readonly AudioStream[];
  /** Why the first of the other audio lines with a port is none of these. */
  obstacle?: Obstacle;
  /** Its video streams that we could talk to, in order; left out when there is none. */
  videos?: readonly VideoStream[];
};

/** Why we cannot talk to a stream: in words, and as a code of Warning. */
export type Obstacle = { readonly problem: string; readonly code: WarningCode };

type DescriptionResult = { ok: true; description: Description } | { ok: false; problem: string };

const MAX_LENGTH = 32_768;
const MAX_LINES = 32;
/** A token (RFC 5888 section 4): our answer repeats it. */
const midPattern = /^[\w.+~!#$%&'*^`{|}-]{1,64}$/;
const portPattern = /^(\d{1,5})(?:\/\d+)?$/;

/** Of lines whose port is that of another one: any but 0, which refuses them. */
const bundledPort = 9;

/** An offer is read when it is checked, when its codecs are needed, and when it is answered: usually in a row. */
let latest: { text: string; result: DescriptionResult } | undefined;

/**
 * Reads a session description (RFC 8866). Never throws: the result of unreadable SDP is a `problem` in words. Do not
 * change the result: the same text gives the same object again.
 */
export function parseDescription(text: string): DescriptionResult {
  if (latest?.text !== text) latest = { text, result: readDescription(text) };
  return latest.result;
}

function readDescription(text: string): DescriptionResult {
  if (text.length > MAX_LENGTH) return { ok: false, problem: 'the description is too long' };
  const lines = readMediaLines(text);
  if (typeof lines === 'string') return { ok: false, problem: lines };
  try {
    const session = parse(text);
    if (session.version !== 0) return { ok: false, problem: 'it does not begin with v=0' };
    if (session.media.length !== lines.length) return { ok: false, problem: 'its media lines cannot be read' };
    for (const [index, { mid, bundleOnly }] of session.media.entries()) {
      const line = lines[index]!;
      if (mid !== undefined && midPattern.test(String(mid))) line.mid = String(mid);
      // It has the port of another line (RFC 9143 6).
      if (bundleOnly !== undefined && line.port === 0 && dtlsProfiles.includes(line.protocol)) line.port = bundledPort;
    }
    const { audios, obstacle } = findAudios(lines, session);
    const videos = readVideos(lines, session);
    return {
      ok: true,
      description: {
        lines,
        audios,
        ...(obstacle && { obstacle }),
        ...(videos.length > 0 && { videos }),
      },
    };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** True for a direction that silences the other side: a peer that sends it holds us (RFC 3264 8.4). */
export const isHold = (direction: Direction): boolean => direction === 'sendonly' || direction === 'inactive';

/** The same stream seen from the other end. */
export const mirrored = (direction: Direction): Direction =>
  direction === 'sendonly' ? 'recvonly' : direction === 'recvonly' ? 'sendonly' : direction;

export const sends = (direction: Direction): boolean => direction === 'sendrecv' || direction === 'sendonly';
export const receives = (direction: Direction): boolean => direction === 'sendrecv' || direction === 'recvonly';

/** The direction with these two properties. */
export const directionOf = (send: boolean, receive: boolean): Direction =>
  send ? (receive ? 'sendrecv' : 'sendonly') : receive ? 'recvonly' : 'inactive';

/** 0.0.0.0 (and its IPv6 twin) is how RFC 2543 put a stream on hold; nothing can be sent there. */
export const isNowhere = (address: string): boolean => address === '0.0.0.0' || /^[0:]+$/.test(address);

function readMediaLines(text: string): MediaLine[] | string {
  const lines: MediaLine[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('m=')) continue;
    const [type = '', place = '', protocol = '', ...formats] = line.slice(2).split(' ');
    const port = Number(portPattern.exec(place)?.[1]);
    // Our answer repeats them (RFC 3264 6): nothing unprintable gets into it.
    const isPlain = [type, protocol, ...formats].every((word) => /^[\x21-\x7e]*$/.test(word));
    if (type === '' || protocol === '' || !isPlain || !(port <= 65_535))
      return `the media line "${line.slice(0, 60)}" cannot be read`;
    if (lines.length === MAX_LINES) return 'it has too many media lines';
    lines.push({
      type,
      port,
      protocol,
      formats: formats.filter((format) => format !== ''),
    });
  }
  return lines.length > 0 ? lines : 'it has no media line';
}

function findAudios(
  lines: readonly MediaLine[],
  session: RawSession,
): { audios: readonly AudioStream[]; obstacle: Obstacle | undefined } {
  const audios: AudioStream[] = [];
  let obstacle: Obstacle | undefined;
  for (const [index, line] of lines.entries()) {
    if (line.type !== 'audio' || line.port === 0) continue;
    const media = session.media[index]!;
    const secret = secretProfiles.includes(line.protocol);
    const webrtc = dtlsProfiles.includes(line.protocol) ? readWebrtc(media, session) : undefined;
    if (webrtc) {
      audios.push({
        ...readAudio(index, line, media, { place: atBrowser, session, secret: true }),
        dtls: true,
        webrtc,
      });
      continue;
    }
    const place = placeOf(media, session);
    if (!secret && !plainProfiles.includes(line.protocol)) obstacle ??= otherProfile(line.protocol);
    else if (!place) obstacle ??= { problem: addressProblem(media, session), code: warnings.incompatibleAddress };
    else audios.push(readAudio(index, line, media, { place, session, secret }));
  }
  return { audios, obstacle };
}

function otherProfile(protocol: string): Obstacle {
  const isDtls = /^(?:UDP\/TLS|TCP\/DTLS)\//i.test(protocol);
  const problem = isDtls ? noDtls : `audio over ${protocol.slice(0, 40)} is not supported`;
  return { problem, code: warnings.incompatibleProtocol };
}

/** Error text for streams with DTLS keys (RFC 5764). */
export const noDtls = 'DTLS-SRTP is not supported; offer RTP/AVP, or RTP/SAVP with a=crypto';

function readAudio(
  index: number,
  line: MediaLine,
  media: RawMedia,
  { place, session, secret }: { place: Place; session: RawSession; secret: boolean },
): AudioStream {
  const direction = directionSaid(media, session);
  const maps = rtpmapsOf(media);
  const telephoneEvent = payloadTypes(line).find((type) => isTelephoneEvent(maps.get(type), 8000));
  const wideTelephoneEvent = payloadTypes(line).find((type) => isTelephoneEvent(maps.get(type), 48_000));
  const keys = readSdes((media as { crypto?: unknown }).crypto);
  const isDtls = secret && keys.length === 0 && (media.fingerprint ?? session.fingerprint) !== undefined;
  const comfortNoise = payloadTypes(line).find((type) => isComfortNoise(maps.get(type), type));
  const ptimeMs = milliseconds(media.ptime);
  const maxPtimeMs = milliseconds(media.maxptime);
  return {
    line: index,
    ...(secret && { secret }),
    ...(isDtls && { dtls: true }),
    ...(keys.length > 0 && { keys }),
    ...place,
    port: line.port,
    codecs: payloadTypes(line).flatMap((payloadType) => {
      const codec = codecOf(maps.get(payloadType), payloadType);
      if (!codec) return [];
      const parameters = parametersOf(media, payloadType);
      return [{ codec, payloadType, ...(parameters !== undefined && { parameters }) }];
    }),
    ...(telephoneEvent !== undefined && { telephoneEvent }),
    ...(wideTelephoneEvent !== undefined && { wideTelephoneEvent }),
    ...(comfortNoise !== undefined && { comfortNoise }),
    ...(ptimeMs !== undefined && { ptimeMs }),
    ...(maxPtimeMs !== undefined && { maxPtimeMs }),
    direction,
  };
}

function codecOf(map: RtpMap | undefined, payloadType: number): AudioCodec | undefined {
  if (!map) return codecOfStatic(payloadType);
  const channels = map.encoding === undefined ? 1 : Number(map.encoding);
  return codecNamed(String(map.codec), Number(map.rate ?? 8000), channels);
}

function isTelephoneEvent(map: RtpMap | undefined, rate: number): boolean {
  return String(map?.codec).toLowerCase() === 'telephone-event' && Number(map?.rate ?? 8000) === rate;
}

/** 13 needs no `rtpmap` (RFC 3389 section 4). */
function isComfortNoise(map: RtpMap | undefined, payloadType: number): boolean {
  if (!map) return payloadType === comfortNoiseType;
  return String(map.codec).toUpperCase() === 'CN' && Number(map.rate ?? 8000) === 8000;
}

function milliseconds(value: unknown): number | undefined {
  const number = Number(value);
  return value !== undefined && Number.isFinite(number) && number > 0 && number <= 1000 ? number : undefined;
}
