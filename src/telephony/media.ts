/**
 * The port between call control and the media plane. No packet crosses it: call control says what should sound,
 * the plane tells what happened. All calls return at once; the plane works in its own thread.
 */

/** Formats the plane can send and receive. */
export type Codec = 'ulaw' | 'alaw';

/** One thing to play: a media URI of behaviour `sound:` `recording:` `number:` `digits:` `characters:` `tone:`. */
export type PlayItem = {
  uri: string;
  /** Language to look sounds up in, e.g. `en`; falls back to the system's default language. */
  language: string;
  /** Where to begin, in ms from the start of the item. */
  offsetMs: number;
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

/** Call-progress tones a channel can be given locally (per tone zone). */
export type Indication = 'ringing' | 'busy' | 'congestion' | 'silence';

/** RTP figures of one session, named as the interface's RTPstat. Jitter and rtt in seconds. */
export type RtpStatistics = {
  txcount: number;
  rxcount: number;
  txoctetcount: number;
  rxoctetcount: number;
  txploss: number;
  rxploss: number;
  local_ssrc: number;
  remote_ssrc: number;
  txjitter: number;
  rxjitter: number;
  rtt?: number;
  maxrtt?: number;
  minrtt?: number;
  normdevrtt?: number;
  stdevrtt?: number;
};

/** What the media plane tells about a session unasked. */
export type MediaReport =
  /** A digit that the far side pressed (RFC 4733), told at its end. */
  | { type: 'media.digit'; digit: string; durationMs: number }
  /** No RTP for the configured time although some is expected. */
  | { type: 'media.timedOut' }
  /** The session is gone by a fault of the media plane: nothing will sound any more. The last report. */
  | { type: 'media.lost'; reason: string };

/** The audio of one leg. */
export interface MediaSession {
  readonly id: string;
  /** Starts an item at once, mixing with nothing: callers queue. One item at a time; a second ends the first. */
  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle;
  /** Sends digits (`0-9*#A-D`, `w` 500 ms, `W` 1 s) after what was sent before; times in ms. */
  sendDigits(sequence: {
    digits: string;
    beforeMs: number;
    betweenMs: number;
    durationMs: number;
    afterMs: number;
  }): void;
  /** Plays a local tone (or keeps sending silence) until changed; `undefined` stops it. Items played win over it. */
  indicate(indication: Indication | undefined): void;
  /** Sends back whatever arrives, digits included, until turned off. */
  echo(on: boolean): void;
  /** `in` = audio from the far side is dropped, `out` = silence is sent to it. */
  mute(directions: { in: boolean; out: boolean }): void;
  /** RTP figures so far; undefined where no RTP is involved. */
  statistics(): Promise<RtpStatistics | undefined>;
  /** Lets go of port, player and timers; items still playing are told `media.failed`. Idempotent. */
  close(): void;
}

/** How RTP flows, once offer and answer agree. */
export type RtpFlow = {
  remote: { address: string; port: number };
  codec: Codec;
  /** RTP payload type of the codec, 0–127. */
  payloadType: number;
  /** Payload type of telephone-event, when negotiated. */
  telephoneEvent?: number;
  /** Packet time in ms that we send with. */
  ptimeMs: number;
  /** Our direction: whether we send and take audio. */
  send: boolean;
  receive: boolean;
};

/** The audio of a leg with RTP. */
export interface RtpSession extends MediaSession {
  /** Our address and port, as told in SDP. RTCP is on port + 1. */
  readonly local: { address: string; port: number };
  /** Sets or changes the flow; nothing is sent before the first call. Symmetric RTP may then relock the remote. */
  configure(flow: RtpFlow): void;
}

export interface MediaPlane {
  /** Opens a port. Rejects with an Error when none is free. `told` hears digits and time-outs. */
  openRtp(id: string, told: (report: MediaReport) => void): Promise<RtpSession>;
  /**
   * Two sessions joined back to back (a Local channel): what one sends, the other receives. Costs nothing until
   * something is played, echoed or sent on either. `told` hears digits sent on the *other* half.
   */
  openPair(
    ids: readonly [string, string],
    told: readonly [(report: MediaReport) => void, (report: MediaReport) => void],
  ): [MediaSession, MediaSession];
  /** Counts of what is open: for tests, metrics and leak checks. */
  usage(): Promise<{ sessions: number; ports: number; players: number; timers: number }>;
  /** Ends every session and the thread. */
  close(): Promise<void>;
}
