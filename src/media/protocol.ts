import type { LoopReader } from '../lib/loop-reader.ts';
import type { EstablishedDtls, LocalCandidate } from '../lib/webrtc.ts';
import type { SupervisedThread } from '../native/inherited.ts';
import type { ExternalRequest } from '../telephony/external.ts';
import type {
  AudioDirection,
  MediaMeasures,
  MediaSource,
  MixCommand,
  PlayReport,
  RecordReport,
  SessionCommand,
  ToneSignal,
} from '../telephony/media.ts';
import type { PlaneLoad, PlaneUsage } from '../telephony/plane-figures.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';
import type { VideoMeasures, VideoStatistics } from '../telephony/video.ts';
import type { MediaConfig } from './config.ts';
import type { PipePlan } from './pipe/pipe-wire.ts';
import type { PacketAddress } from './rtp/source-lock.ts';
import type { SessionMemory } from './session-memory.ts';

/**
 * Messages between the main thread and a media thread: arrays of these, one array per turn of the event loop. The main
 * thread numbers sessions, mixes, items and recordings; commands for ended ones are ignored.
 */
export type MediaCommand =
  /** Commands for a session, from call control. */
  | ((SessionCommand | OverhearCommand | TcpPackets) & { session: number })
  /** Commands for a mix. */
  | { type: 'mix'; mix: number; command: MixCommand }
  /** The next block of memory that sessions share with the main thread: see `session-memory.ts`. */
  | { type: 'memory'; block: SharedArrayBuffer }
  /** Half of a local pair, joined with the other when that is there. */
  | { type: 'openLocal'; session: number; slot: number; peer?: number }
  /** `port` and `source` = goes on with a stream that another thread had: on that port, with that far side. */
  | {
      type: 'openRtp';
      session: number;
      slot: number;
      request: number;
      port?: number;
      source?: MediaSource;
      /** Memory for its packet headers: see `lib/rtp-trace.ts`. */
      trace?: SharedArrayBuffer;
      /** It is a browser's: servers are asked for further candidates. */
      gathers?: boolean;
    }
  /** A stream of video of a session; the rest as above. `memory` is laid out as `video/stream-memory.ts` says. */
  | {
      type: 'openVideo';
      session: number;
      stream: number;
      request: number;
      memory: SharedArrayBuffer;
      /** It shares the port of the audio. */
      bundled: boolean;
      port?: number;
      source?: MediaSource;
      /** Of all streams of the session. */
      trace?: SharedArrayBuffer;
    }
  | {
      type: 'openSnoop';
      session: number;
      slot: number;
      target: number;
      spy: AudioDirection;
      whisper: AudioDirection;
    }
  /** `external` because a number that is answered is the `request` of others. */
  | { type: 'openExternal'; session: number; slot: number; external: ExternalRequest }
  /** A message of a session's WebSocket in the main thread. */
  | { type: 'relay'; session: number; relay: RelayedIn }
  /** Connects a session of this thread with a mix of another; or ends that. */
  | { type: 'openPipe'; session: number; plan: PipePlan }
  | { type: 'closePipe'; session: number; pipe: number }
  /** A session of another thread is to be a member of mixes of this one. */
  | { type: 'openPipeEnd'; session: number; plan: PipePlan }
  /** Video passes between a session and a mix that are joined by a pipe; `at` says which of them is in this thread. */
  | { type: 'openVideoPipe'; session: number; plan: PipePlan; at: 'session' | 'mix'; beside: number }
  | { type: 'openMix'; mix: number; kind: 'mixing' | 'holding' }
  | { type: 'statistics'; session: number; request: number }
  | { type: 'videoStatistics'; session: number; request: number }
  | { type: 'usage'; request: number }
  | { type: 'load'; request: number; reader: LoopReader }
  /** Sessions are measured so often from now on, in ms; 0 = never. */
  | { type: 'measure'; everyMs: number }
  /** Nothing is under way: memory that is not used goes back to the system. */
  | { type: 'compact' }
  /** Checks whether the thread is alive. */
  | { type: 'ping' }
  /** From the answer on the main thread hears nothing; reports go to `room` (`last-words.ts`). */
  | { type: 'linger'; request: number; room: SharedArrayBuffer }
  /** The thread stops where it is: another process goes on. */
  | { type: 'halt' }
  /** A thread that `follows` begins to send and to read. */
  | { type: 'goOn' }
  | { type: 'shutdown'; request: number };

/** Packets of a browser that came by TCP. */
export type TcpPackets = { type: 'tcp'; from: PacketAddress; packets: readonly Uint8Array[] };

/** How a session with a port is opened. */
export type OpenRtp = {
  /** Memory of its RTP numbers; a stream that has begun continues. */
  memory?: SessionMemory;
  /** The port it had before; absent = any. */
  port?: number | undefined;
  /** The far side that was found before. */
  source?: MediaSource | undefined;
  /** Takes the heads of its packets. */
  trace?: SharedArrayBuffer | undefined;
  /** It is a browser's: servers are asked for further candidates. */
  gathers?: boolean | undefined;
};

/** Adds or removes a listener of a session; `taken` requests one more piece. The main thread numbers listeners. */
export type OverhearCommand = { type: 'overhear'; overhearer: number; action: 'begin' | 'taken' | 'end' };

/** Messages from a WebSocket in the main thread to its session; `taken` counts octets that the system accepted. */
export type RelayedIn =
  /** `again`: it was open before, for a session that is gone. */
  | { type: 'opened'; local: { address: string; port: number }; again?: true }
  | { type: 'message'; message: Uint8Array | string }
  | { type: 'taken'; octets: number }
  | { type: 'closed'; reason: string };

/** Messages from a session to its WebSocket; `taken` counts octets that were processed. */
export type RelayedOut = { type: 'message'; message: Uint8Array | string } | { type: 'taken'; octets: number };

/** Reports of a video stream: shown and awaited sources are numbers of the mix's thread. */
export type Showing<Told extends { shows?: string; awaits?: string }> = Omit<Told, 'shows' | 'awaits'> & {
  shown?: number;
  awaited?: number;
};

/** Counts of what is open. */
export type MediaUsage = PlaneUsage;

/** Spontaneous reports of a media thread. */
export type EngineReport =
  | { type: 'played'; session: number; play: number; report: PlayReport }
  | { type: 'recorded'; session: number; recording: number; report: RecordReport }
  /** A digit that arrived. */
  | { type: 'digit'; session: number; digit: string; durationMs: number }
  /** See `media.digitPassed`. */
  | { type: 'digitPassed'; session: number; digit: string; durationMs: number }
  /** A digit of a local half that was sent, for its other half. */
  | { type: 'digitSent'; session: number; digit: string; durationMs: number }
  | { type: 'talkingStarted'; session: number }
  | { type: 'talkingFinished'; session: number; durationMs: number }
  | { type: 'toneDetected'; session: number; direction: 'in' | 'out'; signal?: ToneSignal }
  | { type: 'timedOut'; session: number }
  /** See `media.keyFrameNeeded`. */
  | { type: 'keyFrameNeeded'; session: number }
  /** Audio for a listener. */
  | { type: 'overheard'; session: number; overhearer: number; audio: Uint8Array<ArrayBuffer> }
  /** Told now and then of each session with RTP: see {@link MediaConfig.measureMs}. */
  | { type: 'measured'; session: number; measures: MediaMeasures }
  /** The same of a stream of its video. */
  | { type: 'videoMeasured'; session: number; measures: Showing<VideoMeasures> }
  /** See {@link ExternalReport}. */
  | { type: 'connected'; session: number; local: { address: string; port: number } }
  | { type: 'flowing'; session: number }
  | { type: 'hangupAsked'; session: number }
  | { type: 'answerAsked'; session: number }
  | { type: 'relayed'; session: number; relay: RelayedOut }
  /** Packets for a browser by TCP. */
  | { type: 'tcpSent'; session: number; to: PacketAddress; packets: readonly Uint8Array[] }
  /** The far side was found elsewhere than its SDP says. */
  | { type: 'located'; session: number; source: MediaSource }
  /** DTLS has agreed on keys, or the browser has moved since. */
  | { type: 'secured'; session: number; established: EstablishedDtls }
  | { type: 'videoLocated'; session: number; stream: number; source: MediaSource }
  /** A session ended by a fault of the plane, or because its target did. */
  | { type: 'faulted'; session: number; reason: string }
  | { type: 'mixPlayed'; mix: number; play: number; report: PlayReport }
  | { type: 'mixRecorded'; mix: number; recording: number; report: RecordReport }
  | { type: 'mixTalking'; mix: number; session: number; talking: boolean; durationMs: number }
  | { type: 'activeSpeaker'; mix: number; session: number | undefined }
  | { type: 'videoSource'; mix: number; session: number | undefined }
  | { type: 'mixFaulted'; mix: number; reason: string };

export type MediaMessage =
  | EngineReport
  /** Reached limits by setting, since the last report. */
  | { type: 'limits'; counts: Readonly<Record<string, number>> }
  | { type: 'opened'; request: number; address: string; port: number; candidates?: readonly LocalCandidate[] }
  | { type: 'refused'; request: number; reason: string }
  | { type: 'statistics'; request: number; statistics: RtpStatistics | undefined }
  | { type: 'videoStatistics'; request: number; statistics: Showing<VideoStatistics>[] }
  | { type: 'usage'; request: number; usage: MediaUsage }
  | { type: 'load'; request: number; load: PlaneLoad }
  | { type: 'ended'; request: number }
  | { type: 'linger'; request: number }
  | { type: 'pong' }
  | { type: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string };

/** The subject of a log line: a session or a mix, by number. */
export type LoggedAbout = { session?: number; mix?: number };

/** Initial data of a media thread. */
export type WorkerStart = {
  config: MediaConfig;
  /** Which of `config.threads` it is. */
  thread: number;
  /** Wake-up memory of the thread: see `pipe/wake-up.ts`. */
  wakeUp: SharedArrayBuffer;
  /** Counter of reports that the main thread has processed: see `report-window.ts`. */
  heard: SharedArrayBuffer;
  /** List of its open descriptors: see `rtp/descriptors.ts`. */
  descriptors: SharedArrayBuffer;
  /** Another process has the audio until `goOn`. */
  follows?: boolean;
  /** Left out without a supervisor. */
  supervised?: SupervisedThread | undefined;
};
