import type { DialOutcome } from '../models/dial.ts';
import type { Feature } from '../telephony/features.ts';
import type { Position } from './position.ts';

/** What the dialplan does with other channels than the one it runs on. */

/** Ends what was begun. May be called at any time, more than once, also after the channel is gone: then it does nothing. */
export type Stop = () => void;

/** A subroutine of the dialplan that a channel is brought through, with its arguments. */
type Visit = { position: Position; args: readonly string[] };

/** Whom to call, and how the caller waits. */
export type DialRequest = {
  /** `technology/resource` each; all are called at once, the first that answers has the call. */
  targets: readonly string[];
  /** How long to let them ring, in ms; undefined for ever. */
  timeoutMs: number | undefined;
  /** What the caller hears meanwhile: `alert` only when they ring, `ring` from the start, or music of a class. */
  waiting: 'alert' | 'ring' | { music: string };
  /** Longest that both are joined, in ms; left out, for as long as they like. */
  limitMs?: number;
  /** Where each who is called goes in the dialplan before it is called. */
  preparation?: Visit;
  /** Where who answers goes in the dialplan before both are joined. */
  subroutine?: Visit;
  /** Where who answered goes on in the dialplan once the caller has hung up; left out, it is hung up then. */
  afterwards?: Position;
  /** What who answers hears before both are joined, as media URIs. */
  announcement?: readonly string[];
  /** Keys that are pressed for who answers, and for who calls, before both are joined. */
  digits?: { called: string; calling: string };
  /** What either may ask for by keys while both are joined. */
  features?: { called: readonly Feature[]; calling: readonly Feature[] };
  /** Those who are called in vain are told that somebody else has the call, whatever the reason is. */
  toldElsewhere?: true;
  /** Whether a key that the caller presses before somebody answers leads elsewhere: then nobody is called any more. */
  leaves?: (digit: string) => boolean;
  /** The context whose extension `h` is run for who answered when its call ends. */
  endsIn?: string;
};

export type DialResult = {
  status: DialOutcome;
  /** The channel that answered. */
  peer?: { name: string; number: string };
  /** How long both were joined, in ms. */
  answeredMs?: number;
  /** Who answered was let go by its subroutine, which has the caller go on. */
  goesOn?: true;
  /** The key that the caller has left by. */
  left?: string;
};

/** Something that goes on until it ends by itself or is stopped. */
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

/** How it ended, in the words of the variable RECORD_STATUS. */
export type RecordOutcome = 'DTMF' | 'SILENCE' | 'TIMEOUT' | 'HANGUP' | 'ERROR';

/** Which applications a call is offered to, and for how long. */
export type BroadcastRequest = {
  timeoutMs: number;
  /** What the names of those who are asked match. */
  pattern: RegExp;
  /** Whether those who did not get it are told who did. */
  tellsLosers: boolean;
};

/** The application that claimed a call; or that nobody did in time, or nobody could be asked. */
export type BroadcastOutcome = { app: string } | 'TIMEOUT' | 'FAILED';

/** What a channel can be brought into. No method throws. */
export interface DialplanCalls {
  /** Calls others and joins the caller, which is answered then, with the first that answers, until one of them goes. */
  dial(request: DialRequest): Ongoing<DialResult>;
  /** Joins the channel with another, by id or name, that runs the dialplan; undefined when there is no such one. */
  join(channel: string): Ongoing<void> | undefined;
  /** Joins everyone who is in the room of that name, until it leaves. */
  enterRoom(name: string): Ongoing<void>;
  /** Music on hold of a class until it is stopped. */
  music(musicClass: string): Stop;
  /** Offers the channel to several applications. */
  broadcast(request: BroadcastRequest): Ongoing<BroadcastOutcome>;
  /** Records what the channel says. */
  record(recording: DialplanRecording): Ongoing<RecordOutcome>;
}
