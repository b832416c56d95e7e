import type { Indication, PlayItem, PlayReport, RtpFlow, RtpStatistics } from '../telephony/media.ts';
import type { MediaConfig } from './config.ts';
import type { PlayControl } from './player.ts';
import type { DigitTiming } from './rtp/digit-sender.ts';

/**
 * What passes between the main thread and the media thread: arrays of these, one array per turn of the event loop.
 * Sessions and items are numbered by the main thread; a command for a session that ended is ignored.
 */
export type SessionCommand =
  | { type: 'configure'; session: number; flow: RtpFlow }
  | { type: 'play'; session: number; play: number; item: PlayItem }
  | { type: 'control'; session: number; play: number; action: PlayControl | 'stop' }
  | { type: 'seek'; session: number; play: number; ms: number }
  | { type: 'sendDigits'; session: number; sequence: DigitTiming }
  | { type: 'indicate'; session: number; indication: Indication | undefined }
  | { type: 'echo'; session: number; on: boolean }
  | { type: 'mute'; session: number; in: boolean; out: boolean }
  | { type: 'close'; session: number };

export type MediaCommand =
  | SessionCommand
  /** Half of a local pair: no port, its audio is heard by nobody, its digits are told when they were sent. */
  | { type: 'openLocal'; session: number }
  | { type: 'openRtp'; session: number; request: number }
  | { type: 'statistics'; session: number; request: number }
  | { type: 'usage'; request: number }
  /** Whether the thread lives; it answers at once. */
  | { type: 'ping' }
  | { type: 'shutdown'; request: number };

/** Counts of what is open. */
export type MediaUsage = { sessions: number; ports: number; players: number; timers: number };

/** What the media thread tells unasked. */
export type EngineReport =
  | { type: 'played'; session: number; play: number; report: PlayReport }
  /** A digit that arrived. */
  | { type: 'digit'; session: number; digit: string; durationMs: number }
  /** A digit of a local half that was sent, for its other half. */
  | { type: 'digitSent'; session: number; digit: string; durationMs: number }
  | { type: 'timedOut'; session: number }
  /** A session ended by a fault of the plane. */
  | { type: 'faulted'; session: number; reason: string };

export type MediaMessage =
  | EngineReport
  | { type: 'opened'; request: number; address: string; port: number }
  | { type: 'refused'; request: number; reason: string }
  | { type: 'statistics'; request: number; statistics: RtpStatistics | undefined }
  | { type: 'usage'; request: number; usage: MediaUsage }
  | { type: 'ended'; request: number }
  | { type: 'pong' }
  | { type: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string };

/** What the media thread is started with. */
export type WorkerStart = { config: MediaConfig };
