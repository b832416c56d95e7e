import type { FormatName, OpusSending, OpusWishes } from '../lib/formats.ts';
import type { LoopReader } from '../lib/loop-reader.ts';
import type { SrtpKeys } from '../lib/srtp.ts';
import type { LocalCandidate, WebrtcTransport } from '../lib/webrtc.ts';
import type { PlaneLoad, PlaneUsage } from './plane-figures.ts';
import type { RtpStatistics, StreamMeasures } from './rtp-statistics.ts';
import type { VideoFlow, VideoMix, VideoModeCommand, VideoSession, VideoStreamDump } from './video.ts';

/**
 * The port between call control and the media plane. Packets stay in the plane: call control sends commands, the plane
 * reports. Calls do not wait; the plane has its own threads.
 */

/** Codecs that can be agreed on with a far side: any format. Linear audio is L16 there (RFC 3551 section 4.5.11). */
export type Codec = FormatName;

/** Audio format, sent with the audio. */
export type AudioFormat = {
  codec: FormatName;
  /** Linear samples per second, in Hz. */
  sampleRate: number;
  /** Units of RTP timestamps per second, in Hz: 8000 for G.722 although it samples at 16,000 (RFC 3551 section 4.5.2). */
  clockRate: number;
};

/** One thing to play: a media URI of behaviour `sound:` `recording:` `number:` `digits:` `characters:` `tone:`. */
export type PlayItem = {
  uri: string;
  /** Language to look sounds up in, e.g. `en`; falls back to the system's default language. */
  language: string;
  /** Start position, in ms from the start of the item. */
  offsetMs: number;
  /** Position before an interruption, in ms: it continues there, also if offsets are ignored. */
  heardMs?: number;
};

/** How a played item ended. Told exactly once per `play`, also after `stop` and when the session closes. */
export type PlayReport =
  | { type: 'media.finished' }
  /** `reason` says why in words for the log: unknown scheme, no such file, session closed. */
  | { type: 'media.failed'; reason: string };

/** An item being played. Methods on an ended item do nothing. */
export interface PlayHandle {
  /** Ends it; `media.finished` follows. */
  stop(): void;
  pause(): void;
  resume(): void;
  restart(): void;
  /** Moves by `ms` (negative = back); past the end it ends, before the start it is at the start. */
  seek(ms: number): void;
}

/** Digits to send (`0-9*#A-D`, `w` 500 ms, `W` 1 s) and their times in ms. */
export type DigitSequence = {
  digits: string;
  beforeMs: number;
  betweenMs: number;
  durationMs: number;
  afterMs: number;
};

/** Call-progress tones a channel can be given locally (per tone zone). */
export type Indication = 'dial' | 'ringing' | 'busy' | 'congestion';

/** Measurements of audio; counts are since its start. */
export type AudioMeasures = {
  /** Left out where audio is in none. */
  codec?: FormatName;
  /** Audio of a server that waits to be heard, and that was left out, in ms. */
  waiting_ms?: number;
  dropped_ms?: number;
  /** Digits that the far side pressed. */
  digits: number;
  /** How loud the far side is just now: mean amplitude in dB below full scale, at least -90; left out where nothing came. */
  level_db?: number;
  /** The same of what we send to it; left out where nothing was sent. */
  level_sent_db?: number;
};

/** Measurements of a leg's RTP audio. */
type RtpMeasures = AudioMeasures &
  StreamMeasures & {
    codec: Codec;
    /** Packets that came when their turn was over. */
    late: number;
    /** See {@link RtpStatistics.remote}. */
    remote?: string;
  };

/** Periodic measurements of a session's audio. */
export type MediaMeasures = AudioMeasures | RtpMeasures;

/** When a far side counts as talking. */
export type TalkDetection = {
  /** Mean amplitude of 16-bit samples from which it does. */
  thresholdLevel: number;
  /** How long it must be quiet before talking is over, in ms. */
  silenceMs: number;
  /** Talking has already been reported, by an earlier session. */
  talking?: boolean;
};

/** Network signals that can be detected, as in the configured country. */
export type ToneSignal = 'busy' | 'dial' | 'information' | 'ringing';

/** A tone of one frequency to look for, and signals of the network. */
export type ToneDetection = {
  /** In Hz; 0 = no tone, only signals. */
  hertz: number;
  /** Time that it must sound before the report, in ms. */
  durationMs: number;
  /** Where: in what the far side says, in what it hears, or both. */
  direction: Exclude<AudioDirection, 'none'>;
  /** How far it must be above all else that sounds, in dB; 2 where left out. */
  thresholdDb?: number;
  /** Signals to report once detected. */
  signals?: readonly ToneSignal[];
};

/** Controls of a playing item. */
type PlayAction = 'stop' | 'pause' | 'resume' | 'restart';

/** Controls of a running recording. */
export type RecordAction = 'stop' | 'discard' | 'pause' | 'resume' | 'mute' | 'unmute';

/**
 * Commands of a session of any kind: the methods of {@link MediaSession} as data. The caller numbers items and
 * recordings.
 */
export type SessionCommand =
  | { type: 'configure'; flow: RtpFlow }
  | { type: 'configureVideo'; stream: number; flow: VideoFlow | undefined }
  | { type: 'askKeyFrame' }
  /** `position`: one number, the position in the item in ms, that is kept up to date. */
  | { type: 'play'; play: number; item: PlayItem; position?: SharedArrayBuffer }
  | { type: 'control'; play: number; action: PlayAction }
  | { type: 'seek'; play: number; ms: number }
  | { type: 'sendDigits'; sequence: DigitSequence }
  | { type: 'hearDigit'; digit: string; durationMs: number }
  | { type: 'indicate'; indication: Indication | undefined }
  | { type: 'music'; musicClass: string | undefined }
  | { type: 'silence'; on: boolean }
  | { type: 'echo'; on: boolean }
  | { type: 'mute'; in: boolean; out: boolean }
  | { type: 'detectTalking'; detection: TalkDetection | undefined }
  | { type: 'detectTone'; detection: ToneDetection | undefined }
  /** `progress`: two numbers, durationMs and talkingMs, that are kept as {@link RecordProgress} says. */
  | { type: 'record'; recording: number; request: RecordRequest; progress?: SharedArrayBuffer }
  | { type: 'controlRecording'; recording: number; action: RecordAction }
  | { type: 'close' };

/** Everything that can be asked of a mix: the methods of {@link Mix} as data. Sessions are numbered. */
export type MixCommand =
  | { type: 'join'; session: number; member: MixMember }
  | { type: 'leave'; session: number }
  | ({ type: 'video' } & VideoModeCommand)
  | { type: 'show'; session: number; sources: (number | undefined)[] }
  | Extract<SessionCommand, { type: 'play' | 'control' | 'seek' | 'music' | 'record' | 'controlRecording' | 'close' }>;

/** Spontaneous reports of the media plane about a session. */
export type MediaReport =
  /** A digit that the far side pressed (RFC 4733), told at its end. */
  | { type: 'media.digit'; digit: string; durationMs: number }
  /** A digit of a bridge for a far side that takes digits by signalling ({@link RtpFlow.digitsBySignalling}). */
  | { type: 'media.digitPassed'; digit: string; durationMs: number }
  /** No RTP for the configured time although some is expected. */
  | { type: 'media.timedOut' }
  /** The far side began to talk, told while {@link AudioWatch.detectTalking} is on. */
  | { type: 'media.talkingStarted' }
  /** It fell silent; `durationMs` is how long it had talked, in ms. */
  | { type: 'media.talkingFinished'; durationMs: number }
  /**
   * The wanted tone has sounded long enough, or a signal was detected; one report per sound. `in`: from the far side,
   * `out`: to it.
   */
  | { type: 'media.toneDetected'; direction: 'in' | 'out'; signal?: ToneSignal }
  /** A viewer needs a key frame of a far side without RTCP feedback; reported within the allowed rate. */
  | { type: 'media.keyFrameNeeded' }
  /** The session was lost by an error of the media plane. The last report. */
  | { type: 'media.lost'; reason: string };

/** Data to continue a session elsewhere: plain JSON. */
export type MediaSessionDump = {
  version: 1;
  id: string;
  /** Its address and port, when it has any. */
  local?: { address: string; port: number };
  /** Located address of the far side, if it differs from SDP. */
  source?: MediaSource;
  /** Lasting commands: they bring a new session to the same state. */
  standing: SessionCommand[];
  /** The stream it sends, once it has begun. */
  stream?: {
    ssrc: number;
    /** Sequence number of the next packet. */
    sequence: number;
    /** First RTP timestamp after the sent audio, and the one at `zeroMs`; both unwrapped. */
    timestamp: number;
    origin: number;
    /** Wall-clock time, in ms, of the `origin`. */
    zeroMs: number;
    /** Timestamps per second, in Hz. */
    clockRate: number;
    packets: number;
    octets: number;
    /** SRTP: what must go on, as no number may be used twice with a key. */
    secret?: { sealed: number; control: number; opened: number; openedControl: number; openedSource: number };
  };
  /** Its streams of video, when it has any. */
  video?: VideoStreamDump[];
  /** The current item and its position, from which a restore continues. */
  item?: { item: PlayItem; positionMs: number; paused: boolean };
};

/** What a process's audio did between its last dump and its end. Plain JSON. */
export type MediaRest = {
  sessions: (Pick<MediaSessionDump, 'id' | 'stream'> & {
    positionMs?: number;
    video?: Pick<VideoStreamDump, 'stream' | 'numbers'>[];
  })[];
  mixes: { id: string; positionMs: number }[];
  /** Reports of sessions, by their ids: for the plane alone. */
  reports: [id: string, report: { type: string }][];
};

/** The audio of one leg. */
export interface MediaSession extends AudioWatch {
  readonly id: string;
  /** Starts an item without mixing: callers queue. One item at a time; a second ends the first. */
  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle;
  /** Appends digits to those queued. */
  sendDigits(sequence: DigitSequence): void;
  /** The far side pressed a digit, told by its signalling: recordings end by it, and a bridge passes it on. Not reported. */
  hearDigit(digit: string, durationMs: number): void;
  /** Plays a local tone until changed; `undefined` stops it. Items played win over it. */
  indicate(indication: Indication | undefined): void;
  /** Keeps sending silence while there is nothing else to send, until turned off. */
  silence(on: boolean): void;
  /** Sends everything back, digits included, until turned off. */
  echo(on: boolean): void;
  /** `in` = audio from the far side is dropped, `out` = silence is sent to it. */
  mute(directions: { in: boolean; out: boolean }): void;
  /** RTP figures so far; undefined where no RTP is involved. */
  statistics(): Promise<RtpStatistics | undefined>;
  /** Data to continue it elsewhere. */
  dump(): MediaSessionDump;
  /** Releases ports, player and timers; playing items get `media.failed`. Idempotent. */
  close(): void;
}

/** A recording to be made of what a session, a mix or a snoop hears. */
export type RecordRequest = {
  /** Absolute path of the finished file, with its suffix. It is first written under another name beside it. */
  path: string;
  /** Kind of file by its suffix: `wav` `wav16` `ulaw` `alaw` `sln` `sln16` `g722` `ogg`. */
  format: string;
  /** Action if a file exists at `path`: refuse, replace at the end, or append. */
  ifExists: 'fail' | 'overwrite' | 'append';
  /** Whether the recorded party hears a beep first. */
  beep: boolean;
  /** 1 = what the far side says; 2 = both sides, one a track. A mix has one. */
  channels: 1 | 2;
  /** Longest recording in ms; 0 = no limit. */
  maxDurationMs: number;
  /** Silence that ends it, in ms; 0 = none does. */
  maxSilenceMs: number;
  /** Digits of the far side that end it. */
  terminateOn: 'none' | 'any' | '*' | '#';
  /** It was begun elsewhere and is so far: its unfinished file is gone on with. */
  goOn?: RecordProgress;
};

/** How much of a recording lies in its unfinished file, in ms. */
export type RecordProgress = { durationMs: number; talkingMs: number };

/** Reports of a recording: at most one `record.started`, then exactly one of the others. */
export type RecordReport =
  | { type: 'record.started' }
  /** The file is complete and in its place. Times in ms; `talkingMs` and `silenceMs` add up to `durationMs`. */
  | {
      type: 'record.finished';
      reason: 'stopped' | 'duration' | 'silence' | 'digit' | 'sourceGone';
      durationMs: number;
      talkingMs: number;
      silenceMs: number;
    }
  /** It was thrown away: there is no file of it. */
  | { type: 'record.discarded' }
  /** `reason` says why in words: the file is there already, the disk is full, the format is not known. */
  | { type: 'record.failed'; reason: string };

/** A recording under way. Methods on one that ended do nothing, and each may be called twice. */
export interface RecordHandle {
  /** Ends it; `record.finished` follows. */
  stop(): void;
  /** Ends it and throws it away; `record.discarded` follows. */
  discard(): void;
  /** Leaves out what is said until `resume`: the file gets no longer. */
  pause(): void;
  resume(): void;
  /** Writes silence instead of what is said until `unmute`: the file goes on. */
  mute(): void;
  unmute(): void;
  /** How much of it would be kept if the media plane were lost now. */
  progress(): RecordProgress;
}

/** Listening and recording of one far side, besides {@link MediaSession}. */
export interface AudioWatch {
  /** Music on hold of a class until turned off (undefined); an item played wins over it. */
  music(musicClass: string | undefined): void;
  /** Records what the far side says, or both sides. `told` hears what became of it. */
  record(request: RecordRequest, told: (report: RecordReport) => void): RecordHandle;
  /** Starts telling `media.talkingStarted` and `media.talkingFinished`, or stops it (undefined). */
  detectTalking(detection: TalkDetection | undefined): void;
  /** Starts telling `media.toneDetected`, of this tone instead of one before, or stops it (undefined). */
  detectTone(detection: ToneDetection | undefined): void;
}

/** A session's role in a mix. */
export type MixMember = {
  /** In a holding mix participants hear announcers and music, not each other; a mixing one knows no difference. */
  role: 'participant' | 'announcer';
  /** The others do not hear it. */
  muted: boolean;
  /** Its digits go to the others. */
  passDigits: boolean;
};

/** Spontaneous reports of a mix; sessions by id. */
export type MixReport =
  /** A member began to talk, or stopped after `durationMs`. */
  | { type: 'mix.talking'; session: string; talking: boolean; durationMs?: number }
  /** The active speaker has changed; undefined: none. */
  | { type: 'mix.activeSpeaker'; session: string | undefined }
  /** The source of all members has changed, in the modes `single` and `talker`; undefined: none. */
  | { type: 'mix.videoSource'; session: string | undefined }
  /** The mix was lost by an error of the media plane: its members hear nothing. The last report. */
  | { type: 'mix.lost'; reason: string };

/** Sessions that hear each other. Calls do not wait; a closed mix ignores them. */
export interface Mix extends VideoMix<MediaSession> {
  readonly id: string;
  /** Lets a session in; one that is in another mix leaves that first. */
  join(session: MediaSession, member: MixMember): void;
  /** Changes what a session is in it. */
  change(session: MediaSession, member: MixMember): void;
  leave(session: MediaSession): void;
  /** Plays to all members, mixed with their audio. One item at a time: callers queue, a second ends the first. */
  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle;
  /** Where the item is that is played, in ms; undefined without one. */
  readonly positionMs: number | undefined;
  /** Music for everyone until turned off (undefined); an item played wins over it. */
  music(musicClass: string | undefined): void;
  /** Records what all members say together. */
  record(request: RecordRequest, told: (report: RecordReport) => void): RecordHandle;
  /** Ends it: members are in no mix then, what it plays or records ends. Idempotent. */
  close(): void;
}

/** Which way audio goes, seen from the target: `in` = what its far side says, `out` = what its far side hears. */
export type AudioDirection = 'none' | 'in' | 'out' | 'both';

/** How sessions are brought together, besides what {@link MediaPlane} has. */
export interface AudioMeeting {
  /** A mix without members. `holding` = see {@link MixMember.role}. */
  openMix(id: string, kind: 'mixing' | 'holding', told: (report: MixReport) => void): Mix;
  /** A session that hears (`spy`) and is heard in (`whisper`) the directions of a target; it ends with its target. */
  openSnoop(
    id: string,
    target: MediaSession,
    directions: { spy: AudioDirection; whisper: AudioDirection },
    told: (report: MediaReport) => void,
  ): MediaSession;
}

/** Source of a far side's packets, if it differs from SDP. */
export type MediaSource = { address: string; port: number };

/** How RTP flows, once offer and answer agree. */
export type RtpFlow = {
  remote: { address: string; port: number };
  /**
   * Packets only go to `remote`, whatever the source of the far side's packets (no symmetric RTP), as in Asterisk's
   * chan_rtp.
   */
  fixedRemote?: boolean;
  codec: Codec;
  /** RTP payload type of the codec, 0–127, that we send with. */
  payloadType: number;
  /** Payload type of telephone-event that we send with, when negotiated. */
  telephoneEvent?: number;
  /** Clock of telephone events, in Hz; 8000 where left out. */
  telephoneEventRate?: number;
  /**
   * The far side's payload types if they differ from ours: each side names the numbers that it receives (RFC 3264 5.1).
   * Left out if equal.
   */
  receivePayloadType?: number;
  receiveTelephoneEvent?: number;
  /** Payload type that the far side sends comfort noise with (RFC 3389), when it is not the usual 13. */
  comfortNoise?: number;
  /** How Opus is sent, where that is the codec: what the far side asks for. */
  opus?: OpusWishes;
  /** How it is sent at most, where that is not as for everybody. */
  opusSending?: OpusSending;
  /** Digits are looked for in the audio itself: the far side sends no events. */
  inbandDigits?: boolean;
  /** Digits of a bridge are reported instead of sent: the far side takes them by signalling (SIP INFO). */
  digitsBySignalling?: boolean;
  /** Packet time in ms that we send with. */
  ptimeMs: number;
  /** Keys of SRTP; without them audio goes in the clear. Never to be logged. */
  srtp?: SrtpKeys;
  /** How a browser is found and proves itself: DTLS gives the keys then. `remote` says nothing. */
  webrtc?: WebrtcTransport;
  /** Our direction: whether we send and take audio. */
  send: boolean;
  receive: boolean;
};

/** The audio of a leg with RTP. */
export interface RtpSession extends MediaSession, VideoSession {
  /** Our address and port, as told in SDP, those of a browser's port that servers told or lend, and the source of our audio. RTCP is on port + 1. */
  readonly local: { address: string; port: number; candidates?: readonly LocalCandidate[]; ssrc?: number };
  /** Sets or changes the flow; nothing is sent before the first call. Symmetric RTP may then relock the remote. */
  configure(flow: RtpFlow): void;
}

/** A silent listener of a session. */
export type Overhearer = {
  /**
   * Audio of both sides: 100 ms of linear samples of 16 bits at 8 kHz, little endian. After ten pieces without `taken`
   * further ones are dropped.
   */
  heard(audio: Uint8Array<ArrayBuffer>, taken: () => void): void;
  /** The session has ended. The last call. */
  ended(): void;
};

export interface MediaPlane extends AudioMeeting {
  /**
   * Opens a port. Rejects with an Error when none is free. `told` hears digits and time-outs.
   * @param near id of a session that it will probably meet: they cost less in one thread.
   * @param gathers it is a browser's: STUN and TURN servers are asked for further candidates, in bounded time.
   */
  openRtp(id: string, told: (report: MediaReport) => void, near?: string, gathers?: boolean): Promise<RtpSession>;
  /**
   * Opens a dumped session: on the same port, its stream continues, without items. Rejects with an Error if the port
   * cannot be opened or the dump is unreadable.
   */
  reopenRtp(dump: MediaSessionDump, told: (report: MediaReport) => void): Promise<RtpSession>;
  /**
   * Two sessions joined back to back (a Local channel): what one sends, the other receives. Costs nothing until
   * something is played, echoed or sent on either. `told` hears digits sent on the *other* half.
   */
  openPair(
    ids: readonly [string, string],
    told: readonly [(report: MediaReport) => void, (report: MediaReport) => void],
  ): [MediaSession, MediaSession];
  /**
   * Adds a listener to a session. @returns a function that removes it; undefined if the session has no audio. A plane
   * without this method has no listening.
   */
  overhear?(id: string, overhearer: Overhearer): (() => void) | undefined;
  /** Counts of what is open: for tests, metrics and leak checks. */
  usage(): Promise<PlaneUsage>;
  /** Delays of each thread, in order, since this reader last asked; left out if unknown. */
  load?(reader?: LoopReader): Promise<PlaneLoad[]>;
  /** Measures sessions so often from now on, in ms; 0 = never. A plane that has no such method goes on as it was. */
  measure?(everyMs: number): void;
  /** Returns memory that is not used to the system; its threads stop for tens of ms. For times without calls. */
  compact?(): void;
  /**
   * Goes on without telling anything until {@link halt}: the caller's thread stands still meanwhile. Left out: it cannot.
   * Resolves when all reports of before are told.
   */
  linger?(): Promise<void>;
  /** Stops all audio directly. @returns what the plane of another process needs to go on. */
  halt?(): MediaRest;
  /** Resolves when all sessions are open that the process before still has the audio of. */
  prepared?(): Promise<void>;
  /** The process before has no audio any more: from now on this plane sends and takes it. */
  goOn?(rest?: Partial<MediaRest>): void;
  /** How many sessions each of its threads has, in their order; left out where it has none. */
  spread?(): number[];
  /** Ends every session and the thread. */
  close(): Promise<void>;
}
