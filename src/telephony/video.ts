import type { VideoFeedback } from '../lib/formats.ts';
import type { SrtpKeys } from '../lib/srtp.ts';
import type { RtpStatistics, StreamMeasures } from './rtp-statistics.ts';

/**
 * The port between call control and the forwarding of video. A *video stream* of a session is one `m=video` line of its leg,
 * numbered from 0 in the order of the lines: in stream 0 the far side's own camera comes in, and all of them can show it
 * others. Nothing is decoded: who is shown sends what the viewer's far side can decode, or is not shown to it.
 */

/** Codecs of video by their names here; in SDP they are VP8, VP9, H264 and AV1. */
export type VideoCodec = 'vp8' | 'vp9' | 'h264' | 'av1';

/** What a far side says of its H.264 (RFC 6184 8.1). */
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
  /** The one that the far side sends with, where it was told another than it told us (RFC 3264 5.1). */
  receivePayloadType?: number;
  feedback: VideoFeedback;
  /**
   * Bit/s that the far side takes (`b=TIAS`, `b=AS`): who is shown to it is asked to send no more, and frames of what is more
   * are left out. It may ask for less by RTCP.
   */
  maxBitrate?: number;
  /** Where that is the codec. Left out, everything is taken of it. */
  h264?: H264Terms;
  /** Keys of SRTP; without them video goes in the clear. Never to be logged. */
  srtp?: SrtpKeys;
  /** Our direction: whether we send and take video. */
  send: boolean;
  receive: boolean;
};

/**
 * Why a stream does not show whom it is to show: the far side takes no video now (hold, or it only sends), they have different codecs,
 * one sends H.264 in parts where the other takes whole units alone, less goes through than is sent, nothing is sent, or no key
 * frame has come yet.
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
  /** Bit/s that its camera was asked to send at most, because somebody who is shown it takes no more; left out where it was not. */
  bitrate_asked?: number;
  /** Bit/s that the far side takes, by its description and by RTCP; left out where it has not said. */
  bitrate_taken?: number;
  /** Packets sent again because they were missed, and those that we asked for again. */
  sent_again: number;
  asked_again: number;
  /** Id of the session whose camera is shown in it; left out while none is. */
  shows?: string;
  /** Id of the session whose camera is to be shown in it and is not (yet), and why. */
  awaits?: string;
  unseen?: WhyNotShown;
  /** How often another source began to be shown, and packets dropped: from cameras that are not shown, or beyond the bandwidth of the far side. */
  switches: number;
  left_out: number;
};

/** What was measured of one stream of video. */
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

/** Whom the members of a mix are shown. */
export type VideoMode<Session> =
  /** Nobody. */
  | { mode: 'none' }
  /** All are shown one source; while that sends nothing, the source that `talker` would show. */
  | { mode: 'single'; source: Session }
  /** All are shown who talks, who is shown the one before; two see each other. */
  | { mode: 'talker' }
  /** Each is shown in each of its streams whom {@link VideoMix.show} says. */
  | { mode: 'sfu' };

/** Its names. */
export type VideoModeName = VideoMode<unknown>['mode'];

/** The same in numbers of sessions, as a mix is asked it. */
export type VideoModeCommand = { mode: VideoModeName; source?: number };

/** What a session with RTP can do with video. */
export interface VideoSession {
  /**
   * Opens a pair of ports for a stream; one that is open already keeps its own.
   * @returns our address and port, as told in SDP. @throws Error (rejects) when no port is free or the session is over.
   */
  openVideo(stream: number): Promise<{ address: string; port: number }>;
  /** Sets or changes how a stream that was opened flows; undefined = its line is disabled: its ports are let go. */
  configureVideo(stream: number, flow: VideoFlow | undefined): void;
  /** The far side asked for a key frame of the shown camera by other means than RTCP. */
  askKeyFrame(): void;
  /** Figures of the streams that flow, in their order. */
  videoStatistics(): Promise<VideoStatistics[]>;
}

/** What a mix can do with video. */
export interface VideoMix<Session> {
  /** Says whom its members are shown; `none` to begin with. */
  video(mode: VideoMode<Session>): void;
  /**
   * In the mode `sfu`: whom a member is shown in each of its streams, by their order; undefined = nobody. Holds until it is
   * asked again, or the member leaves. Members that are not there (yet) are not shown (yet).
   */
  show(session: Session, sources: readonly (Session | undefined)[]): void;
}

/** What is needed to go on with a stream of video elsewhere: plain JSON. */
export type VideoStreamDump = {
  stream: number;
  local: { address: string; port: number };
  /** Where its far side was found, when elsewhere than its SDP says. */
  source?: { address: string; port: number };
  flow?: VideoFlow;
  /** The stream it sends, in words of `media/video/stream-memory.ts`. */
  numbers: number[];
};
