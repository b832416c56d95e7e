import type { OpusSending } from '../lib/formats.ts';
import type { CertifiedKey } from '../lib/self-made-certificate.ts';
import type { Codec } from '../telephony/media.ts';
import { defaultOpusOptions } from './codec/opus.ts';
import { defaultRecordingLimits, type RecordingLimits } from './file/recording-writer.ts';
import type { SocketKind } from './rtp/system-sockets.ts';
import type { GatheringTerms } from './webrtc/gathering.ts';

/** Settings of video. */
export type VideoConfig = {
  /** Streams that one session may have. */
  streams: number;
  /** Most key frames that a source is asked for in a second, by all viewers together. */
  keyFramesPerSecond: number;
  /**
   * Shortest interval between bit-rate requests to a source, in ms, and the lowest rate that is requested, in bit/s.
   * Viewers that accept less lose frames.
   */
  bitrateIntervalMs: number;
  lowestBitrate: number;
  /** Octets of the longest packet for phones that only take whole H.264 units. */
  largestUnit: number;
  /** Packets of each stream kept for retransmission, and their age limit in ms; as many are requested again. */
  resendPackets: number;
  resendMs: number;
  /** A source that sends nothing for this long counts as lost, in ms. */
  sourceTimeoutMs: number;
  /** Time a member must be the active speaker before all see it, and the shortest time it is shown, in ms. */
  talkerAfterMs: number;
  talkerHoldMs: number;
  /** RTCP packets of one stream that are read in a tick; more are dropped. */
  controlsPerTick: number;
  /** Octets that may wait between two threads for one session's video, in each direction. */
  pipeBytes: number;
};

/** Defaults. */
export const defaultVideoConfig: VideoConfig = {
  streams: 32,
  keyFramesPerSecond: 2,
  bitrateIntervalMs: 500,
  lowestBitrate: 100_000,
  largestUnit: 60_000,
  resendPackets: 256,
  resendMs: 1000,
  sourceTimeoutMs: 3000,
  talkerAfterMs: 500,
  talkerHoldMs: 2000,
  controlsPerTick: 8,
  pipeBytes: 1_048_576,
};

/** How many messages of a media thread may wait for the main thread. */
export type ReportLimits = {
  /** Those of one session. */
  perSession: number;
  /** Those of all. */
  inAll: number;
};

/** Settings of the media plane. */
export type MediaConfig = {
  /** Address that RTP and RTCP ports are bound to. */
  address: string;
  /** Address put into SDP when it differs from `address` (behind a NAT, or when bound to 0.0.0.0). */
  announcedAddress?: string;
  /** Ports to take, both ends included; 0 and 0 let the operating system choose (tests). */
  ports: { first: number; last: number };
  /** Time that a port stays bound without listening after its session, in ms: late packets never reach a new call. */
  portDrainMs: number;
  /** Packets that may be in transit, in each direction, between a media thread and the holder of its Node sockets. */
  relayedPackets: number;
  /** File descriptors from this number on are not taken for calls; any may be when left out. */
  reservedFrom?: number;
  /** Codecs there are, in order of preference. */
  codecs: readonly Codec[];
  /** How Opus is sent. */
  opus: OpusSending;
  /** Directories searched for `sound:` names, in this order. */
  soundsDirectories: readonly string[];
  /** Language tried last, before names without a language. */
  defaultLanguage: string;
  /** Directories whose sub-directories are classes of music on hold, searched in this order. */
  musicDirectories: readonly string[];
  /** Directory of `recording:` names. */
  recordingsDirectory: string;
  /** Time without expected RTP after which the session reports `media.timedOut`, in ms; 0: never. */
  rtpTimeoutMs: number;
  /** How long after a change of the SDP a far side behind a NAT is looked for, in ms; 0 = only the signalled source is heard. */
  natSearchMs: number;
  /** Threads that sessions are spread over, at most. */
  threads: number;
  /** Those of them that run from the beginning; each of the others is started when it gets its first session. */
  threadsAtStart: number;
  /** How they send and hear. */
  sockets: SocketKind;
  /** A new thread runs warm-up calls, so that its code is compiled when many calls begin: see `warm-up.ts`. */
  warmsUp: boolean;
  /** Octets that may wait between two threads for one session. */
  pipeBytes: number;
  /** A media thread that answers nothing for this long is ended, in ms; twelve times as long while it starts. */
  threadTimeoutMs: number;
  /** Interval between measurements of sessions with RTP, in ms; 0: never. */
  measureMs: number;
  /** Country code of the call-progress tones, e.g. `us`. */
  toneZone: string;
  /** Send silence on a configured flow when there is nothing else to send. */
  keepalive: boolean;
  /**
   * The certificate that browsers see. How long a DTLS handshake may take, and how long calls last without connectivity
   * checks, in ms. Without it no browser can call.
   */
  webrtc?: {
    readonly certificate: CertifiedKey;
    readonly handshakeMs: number;
    readonly consentMs: number;
    /** Servers that tell or lend addresses; left out: none. */
    readonly gathering?: GatheringTerms | undefined;
    /** The UDP port that all browsers share, of one thread alone; 0 or left out: each call has its own. */
    readonly udpPort?: number;
    /** What may wait for it in the kernel, in octets. */
    readonly udpBufferBytes?: number;
  };
  /** How files of recordings are written. */
  recording: RecordingLimits;
  /** Messages of a thread that may wait for the main thread. */
  reports: ReportLimits;
  /** Digits that the other members of a bridge pressed and that may wait to be sent to one member; more are left out. */
  passedDigits: number;
  /** Bounds of connections to servers. */
  external: {
    /** Audio of a server that may wait until it is played, in ms. */
    backlogMs: number;
    /** Octets that a server may leave unread; audio beyond that is left out. */
    unsentBytes: number;
    /** A server that leaves so much unread for this long is given up, in ms. */
    stallMs: number;
    /** Largest message that is taken of a WebSocket, in octets. */
    messageBytes: number;
    /** Text messages over WebSockets also report what was heard and dropped; Asterisk's do not. */
    countsInText: boolean;
  };
  video: VideoConfig;
  /** Bound of the cache of sound files, in bytes of payload. */
  cacheBytes: number;
};

/** Defaults. Directories are relative to the working directory. */
export const defaultMediaConfig: MediaConfig = {
  address: '127.0.0.1',
  ports: { first: 10_000, last: 20_000 },
  portDrainMs: 500,
  relayedPackets: 4_096,
  codecs: ['ulaw', 'alaw'],
  opus: defaultOpusOptions,
  soundsDirectories: ['sounds'],
  defaultLanguage: 'en',
  musicDirectories: ['sounds/music'],
  recordingsDirectory: 'recordings',
  rtpTimeoutMs: 0,
  natSearchMs: 30_000,
  threads: 1,
  threadsAtStart: 1,
  sockets: 'auto',
  warmsUp: false,
  pipeBytes: 16_384,
  threadTimeoutMs: 5000,
  measureMs: 0,
  toneZone: 'us',
  keepalive: false,
  external: { backlogMs: 300, unsentBytes: 65_536, stallMs: 5000, messageBytes: 1_048_576, countsInText: true },
  recording: defaultRecordingLimits,
  passedDigits: 20,
  reports: { perSession: 16, inAll: 2048 },
  video: defaultVideoConfig,
  cacheBytes: 64 * 1024 * 1024,
};
