import type { VideoFeedback } from '../lib/formats.ts';
import type { SrtpKeys } from '../lib/srtp.ts';
import type { BundledLine, RtxTypes } from '../lib/webrtc.ts';
import type { RtpStatistics, StreamMeasures } from './rtp-statistics.ts';

/**
 * The port between call control and video forwarding. A *video stream* is one `m=video` line of a leg, numbered from 0
 * in order. Stream 0 receives the far side's own camera, and all streams can show others. Nothing is decoded: a source
 * must send what the viewer can decode, else it is not shown.
 */

/** Codecs of video by their names here; in SDP they are VP8, VP9, H264 and AV1. */
export type VideoCodec = 'vp8' | 'vp9' | 'h264' | 'av1';

/** H.264 terms of a far side (RFC 6184 8.1). */
export type H264Terms = {
  /** Its name, such as `constrained baseline`. */
  profile: string;
  /** Ten times the level that it decodes. */
  level: number;
  /** 0: one unit a packet · 1: units in parts and together as well. It is never sent more than it takes: parts are put together for it. */
  packetization: 0 | 1;
  /** Parameter sets of what it sends, in base64: they go in front of its key frames that come without. */
  parameterSets?: readonly string[];
};

/** How one video stream flows, once offer and answer agree. */
export type VideoFlow = {
  remote: { address: string; port: number };
  codec: VideoCodec;
  /** RTP payload type that we send with, 0–127. */
  payloadType: number;
  /** The far side's payload type if it differs from ours (RFC 3264 5.1). */
  receivePayloadType?: number;
  feedback: VideoFeedback;
  /**
   * Bit rate that the far side accepts (`b=TIAS`, `b=AS`): its source is asked to send no more, and frames beyond are
   * dropped. RTCP may request less.
   */
  maxBitrate?: number;
  /** Present if that is the codec. Left out: all is accepted. */
  h264?: H264Terms;
  /** Keys of SRTP; without them video goes in the clear. Never to be logged. */
  srtp?: SrtpKeys;
  /** For streams that were opened so: they have the keys and the far side of the audio. */
  bundled?: BundledLine;
  /** Retransmissions go in a stream of their own, both ways (RFC 4588); left out: in the stream itself. */
  rtx?: RtxTypes;
  /** Our direction: whether we send and take video. */
  send: boolean;
  receive: boolean;
};

/**
 * Why a stream does not show its source. The far side takes no video now (hold, or it only sends); codecs differ; one
 * sends fragments of H.264 and the other takes whole units only. Too little bandwidth, no packets, or no key frame yet.
 */
const whyNotShown = ['inactive', 'codec', 'packetization', 'bandwidth', 'silent', 'key_frame'] as const;
export type WhyNotShown = (typeof whyNotShown)[number];

/** Figures of one video stream of a session. */
export type VideoStatistics = Omit<RtpStatistics, 'forwarded'> & {
  stream: number;
  codec: VideoCodec;
  /** Key frames that began to arrive, and how often we asked for one. */
  key_frames: number;
  key_frames_asked: number;
  /**
   * Bit rate that its camera was asked to send because a viewer accepts no more, in bit/s; left out without a request.
   */
  bitrate_asked?: number;
  /** Bit/s that the far side takes, by its description and by RTCP; left out where it has not said. */
  bitrate_taken?: number;
  /** Bit/s that the far side is sent in it at present. */
  bitrate_sent: number;
  /** Of a camera that comes in several sizes: which of them is shown, from 1 for the smallest, and how many come. */
  size?: number;
  sizes?: number;
  /** Retransmitted packets, and retransmissions that we requested. */
  sent_again: number;
  asked_again: number;
  /** Id of the session whose camera is shown in it; left out while none is. */
  shows?: string;
  /** Id of the session whose camera is to be shown in it and is not (yet), and why. */
  awaits?: string;
  unseen?: WhyNotShown;
  /**
   * Number of source changes, and of dropped packets: from cameras that are not shown, or beyond the far side's
   * bandwidth.
   */
  switches: number;
  left_out: number;
};

/** Measurements of one video stream. */
export type VideoMeasures = StreamMeasures &
  Pick<
    VideoStatistics,
    | 'codec'
    | 'key_frames'
    | 'key_frames_asked'
    | 'sent_again'
    | 'asked_again'
    | 'switches'
    | 'left_out'
    | 'shows'
    | 'awaits'
    | 'unseen'
  > & {
    /** Number of the stream. */
    video: number;
  };

/** Video mode of a mix. */
export type VideoMode<Session> =
  /** No video. */
  | { mode: 'none' }
  /** All are shown one source; while that sends nothing, the source that `talker` would show. */
  | { mode: 'single'; source: Session }
  /** All members see the talker, who sees the previous talker. Two members see each other. */
  | { mode: 'talker' }
  /** Each stream of a member shows the source that {@link VideoMix.show} sets. */
  | { mode: 'sfu' };

/** Its names. */
export type VideoModeName = VideoMode<unknown>['mode'];

/** The same in numbers of sessions, as a mix is asked it. */
export type VideoModeCommand = { mode: VideoModeName; source?: number };

/** What SDP says of an open stream. */
export type OpenedVideo = { readonly address: string; readonly port: number; readonly ssrc?: number };

/** Video of an RTP session. */
export interface VideoSession {
  /**
   * Opens a port pair for a stream; an open one is kept.
   * @param bundled it shares the port of the audio, and ICE and DTLS with it (BUNDLE, RFC 9143).
   * @returns our address and port for SDP, and our SSRC. @throws Error (rejects) if no port is free or the session has ended.
   */
  openVideo(stream: number, bundled?: boolean): Promise<OpenedVideo>;
  /** Sets or changes a stream's flow; undefined: its line is disabled and its ports are released. */
  configureVideo(stream: number, flow: VideoFlow | undefined): void;
  /** The far side asked for a key frame of the shown camera by other means than RTCP. */
  askKeyFrame(): void;
  /** Figures of the streams that flow, in their order. */
  videoStatistics(): Promise<VideoStatistics[]>;
}

/** Video of a mix. */
export interface VideoMix<Session> {
  /** Sets which sources its members see; initially `none`. */
  video(mode: VideoMode<Session>): void;
  /**
   * In the mode `sfu`: sources of a member by stream; undefined: none. Holds until the next call, or until the member
   * leaves. Absent members are not shown.
   */
  show(session: Session, sources: readonly (Session | undefined)[]): void;
}

/** Data to continue a video stream elsewhere: plain JSON. */
export type VideoStreamDump = {
  stream: number;
  local: { address: string; port: number };
  /** It shares the port of the audio. */
  bundled?: boolean;
  /** Located address of its far side, if it differs from SDP. */
  source?: { address: string; port: number };
  flow?: VideoFlow;
  /** The stream it sends, in words of `media/video/stream-memory.ts`. */
  numbers: number[];
};
