import type { DialResult } from '../models/dial.ts';
import type { Feature } from '../telephony/features.ts';
import type { Position } from './position.ts';

/** Operations of the dialplan on other channels. */

/** Ends what was begun. May be called at any time, more than once, also after the channel is gone: then it does nothing. */
export type Stop = () => void;

/** A subroutine of the dialplan that a channel is brought through, with its arguments. */
type Visit = { position: Position; args: readonly string[] };

/** Targets of a Dial, and the caller's wait. */
export type DialRequest = {
  /** `technology/resource` each; all are called together, and the first answer wins. */
  targets: readonly string[];
  /** Ringing time in ms; undefined: no limit. */
  timeoutMs: number | undefined;
  /** What the caller hears: `alert` when a target rings, `ring` from the start, or music of a class. */
  waiting: 'alert' | 'ring' | { music: string };
  /** Longest that both are joined, in ms; left out, for as long as they like. */
  limitMs?: number;
  /** Subroutine of each called channel before dialing. */
  preparation?: Visit;
  /** Subroutine of the answering party before both are connected. */
  subroutine?: Visit;
  /** Position of the answering party after the caller has hung up; left out: it is hung up. */
  afterwards?: Position;
  /** Announcement to the answering party before both are connected, as media URIs. */
  announcement?: readonly string[];
  /** Digits sent to the answering party, and to the caller, before both are connected. */
  digits?: { called: string; calling: string };
  /** Feature keys of both parties. */
  features?: { called: readonly Feature[]; calling: readonly Feature[] };
  /** Other targets learn that the call was answered elsewhere, whatever the reason is. */
  toldElsewhere?: true;
  /** Whether a caller's key before the answer leads elsewhere: then all targets are released. */
  leaves?: (digit: string) => boolean;
  /** The context whose extension `h` runs for the answering party when its call ends. */
  endsIn?: string;
};

/** A process that ends, or is stopped. */
export type Ongoing<T> = {
  /** Settles once, never rejects. After {@link stop} its value does not matter. */
  readonly done: Promise<T>;
  readonly stop: Stop;
};

/** How a recording is made for the dialplan. */
export type DialplanRecording = {
  /** Name in the directory of recordings, without suffix. */
  name: string;
  /** Suffix and format of the file. */
  format: string;
  append: boolean;
  beep: boolean;
  /** ms; 0 = no limit. */
  maxDurationMs: number;
  maxSilenceMs: number;
  terminateOn: 'none' | 'any' | '*' | '#';
};

/** Which channel is listened to, and who hears the listener. */
export type SpyRequest = {
  /** Its id, its name, or the beginning of its name. */
  channel: string;
  /** Hears its party alone, or also what that party hears; `none`: the listener only talks. */
  hears: 'party' | 'both' | 'none';
  /** Who hears the listener. */
  talksTo: 'nobody' | 'party' | 'both';
};

/** How it ended, in the words of the variable RECORD_STATUS. */
export type RecordOutcome = 'DTMF' | 'SILENCE' | 'TIMEOUT' | 'HANGUP' | 'ERROR';

/** Which applications a call is offered to, and for how long. */
export type BroadcastRequest = {
  timeoutMs: number;
  /** Pattern for names of applications. */
  pattern: RegExp;
  /** Whether the other applications are notified. */
  tellsLosers: boolean;
};

/** The application that claimed a call; or no claim in time, or no application to ask. */
export type BroadcastOutcome = { app: string } | 'TIMEOUT' | 'FAILED';

/** Calls of a channel. No method throws. */
export interface DialplanCalls {
  /** Calls others and joins the caller, which is answered then, with the first that answers, until one of them goes. */
  dial(request: DialRequest): Ongoing<DialResult>;
  /** Joins the channel with another, by id or name, that runs the dialplan; undefined when there is no such one. */
  join(channel: string): Ongoing<void> | undefined;
  /** Listens to another channel until it ends; undefined when there is no such one. */
  spy(request: SpyRequest): Ongoing<void> | undefined;
  /** Joins the conference of that name until it leaves. */
  enterConference(name: string): Ongoing<void>;
  /** Music on hold of a class until it is stopped. */
  music(musicClass: string): Stop;
  /** Offers the channel to several applications. */
  broadcast(request: BroadcastRequest): Ongoing<BroadcastOutcome>;
  /** Records what the channel says. */
  record(recording: DialplanRecording): Ongoing<RecordOutcome>;
}
