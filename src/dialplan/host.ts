import type { Channel } from '../models/channel.ts';
import type { SipAbilities, TransferHandling } from '../telephony/driver.ts';
import type { Indication, TalkDetection, ToneDetection } from '../telephony/media.ts';
import type { Redirection } from '../telephony/party.ts';
import type { DialplanCalls, Stop } from './calls.ts';
import type { Position } from './position.ts';

/**
 * The channel as the dialplan needs it. The owner of channels implements it; the dialplan knows no actor, leg or media
 * plane. No method throws in any state of the channel.
 */

/** An identity as the functions CALLERID and CONNECTEDLINE read and write it; absent fields are not known. */
export type Identity = {
  name: string;
  number: string;
  /** The number to be charged (automatic number identification). */
  ani?: string;
  /** The number that was dialed. */
  dnid?: string;
  /** Presentation and screening in one octet (ITU-T Q.931 4.5.10): 0 allowed, 0x20 restricted, 0x43 unavailable. */
  presentation?: number;
  /** Those of the name, where they are others. */
  namePresentation?: number;
  /** How the call came to be here. */
  redirection?: Redirection;
};

/** Media being played for the dialplan. */
export type DialplanPlayback = {
  /** Settles once, never rejects: `done` also after `stop`; `failed` when any file of the list could not be played. */
  readonly done: Promise<'done' | 'failed'>;
  readonly stop: Stop;
};

/** A subroutine that a channel is in. */
export type Subroutine = {
  /** Position after Return. */
  back: Position;
  /** Its outer arguments and local variables, to restore; null if they were not set. */
  outside: Record<string, string | null>;
};

/** The step about to run: where it stands, the application, its arguments with all variables replaced. */
export type EnteredStep = { position: Position; application: string; data: string };

/** A place where an endpoint can be reached. */
export type PhonePlace = {
  id: string;
  uri: string;
  aor: string;
  /** `technology/resource`. */
  endpoint: string;
  status: string;
  /** The last round trip, in µs. */
  roundtrip?: string;
};

/** Phones and lines as the dialplan's functions know them. Names are found in any case of letters. */
export interface PhoneLookup {
  /**
   * Resources that reach an endpoint at all of its places, with `user` as the user part when given; none when it has no
   * such address of record. Undefined when there is no such endpoint.
   */
  contacts(endpoint: string, aor?: string, user?: string): readonly string[] | undefined;
  /** An attribute by its name in dynamic configuration; undefined when there is no such one, or no such object. */
  attribute(kind: 'endpoint' | 'aor', name: string, attribute: string): string | undefined;
  /** Contacts of endpoints, registered or configured. */
  places(): readonly PhonePlace[];
  /** A part of a URI, perhaps with a name before it, by Asterisk's word for it; undefined when there is no such part. */
  uriPart(uri: string, part: string): string | undefined;
}

/** The system as the dialplan's functions need it. No method throws. */
export interface DialplanSystem {
  /** A variable of the whole system. */
  globalVariable(name: string): string | undefined;
  /** False if the limit of variables is reached. */
  setGlobalVariable(name: string, value: string | undefined): boolean;

  /** A device's state in one word such as `INUSE`; UNKNOWN for an unknown device. */
  deviceState(name: string): string;
  /** Sets a device state of applications (`Stasis:<name>`); false for an invalid one. */
  setDeviceState(name: string, state: string): boolean;

  /** Whether there is such a place in the dialplan; a priority may be a label. */
  placeExists(context: string, extension?: string, priority?: string): boolean;
  /** The priority of a label; undefined where there is none. */
  priorityOf(context: string, extension: string, label: string): number | undefined;
  /** The names of all channels. */
  channelNames(): Iterable<string>;
  /** Undefined where there are no phones. */
  phones(): PhoneLookup | undefined;
}

/** What the step of a channel has been through. It outlives the process, so the step goes on in another one. */
export interface DialplanJournal {
  /** Keys that the far side has pressed ahead: the next step that reads keys takes them first. */
  readonly typedAhead: string[];
  /** The keys in it have changed. */
  changed(): void;
  /** What the step noted next in the process before; null: no key came in its time. Undefined: it noted no more. */
  recall(): string | null | undefined;
  /** The step has read a key, or none in its time. */
  note(key: string | undefined): void;
  /** A time of so many ms begins: how much of it is left, in ms. It was running in the process before if that is less. */
  timeLeft(ms: number): number;
  /** It is over, or no longer waited for. */
  timeOver(): void;
}

export interface DialplanChannel {
  readonly id: string;
  /** The id of the call that it belongs to: of the channel that call began with. */
  readonly linkedId: string;
  /** Canonical technology, e.g. `PJSIP`. */
  readonly technology: string;
  /** The endpoint the channel belongs to, when it belongs to one. */
  readonly endpoint?: readonly [technology: string, resource: string] | undefined;
  /** Where the call came from, `address:port`; undefined for outbound calls. */
  readonly source?: string | undefined;
  /** The audio formats of the call in its technology, the one in use first; of a call being set up those it may have. */
  readonly formats: readonly string[];
  /** The same of its video; empty where it has none. */
  readonly videoFormats: readonly string[];
  /** The system that it is part of. */
  readonly system: DialplanSystem;
  /** The channel as clients see it now. */
  channel(): Channel;
  /** The Q.850 cause known so far; 0 when none. */
  hangupCause(): number;
  /** The cause that the channel ends with if nothing names another, as after a Dial that failed (Q.850). */
  setHangupCause(cause: number): void;

  /** A plain channel variable, by exact name; undefined when not set. */
  variable(name: string): string | undefined;
  /** The names of its plain variables, the oldest first. */
  variableNames(): readonly string[];
  /**
   * Sets (`undefined`: removes) a plain variable; false at the limit of variables. Leading `_` / `__` are passed on as
   * written: the owner handles inheritance.
   */
  setVariable(name: string, value: string | undefined): boolean;
  /** Stores an application's result in a fixed variable such as `DIALSTATUS`; these do not count against the limit. */
  note(name: string, value: string): void;
  /** Its present subroutines, the innermost last. Gosub and Return change the list. */
  readonly subroutines: Subroutine[];
  /** What its present step has been through. */
  readonly journal: DialplanJournal;

  caller(): Identity;
  setCaller(change: Partial<Identity>): void;
  connectedLine(): Identity;
  /** `quietly`: the far side is not told. */
  setConnectedLine(change: Partial<Identity>, quietly: boolean): void;
  setLanguage(language: string): void;
  setAccountCode(accountCode: string): void;
  setTenantId(tenantId: string): void;
  /** Class of the music that it hears, whichever is asked for; '' when none is set. */
  readonly musicClass: string;
  setMusicClass(musicClass: string): void;
  /**
   * The name of what ended the call: this channel where its far side hung up, the party that a Dial reached,
   * `dialplan/builtin` for Hangup; '' otherwise.
   */
  readonly hangupSource: string;
  /** Account code of the channel that it is, or was last, connected to; '' when there is none. */
  readonly peerAccount: string;
  setPeerAccount(peerAccount: string): void;
  /** ms until its longest time is over; undefined without a limit. */
  timeLeft(): number | undefined;
  /** Ends it after that many ms, or sends it to the extension `T`; undefined: it has no limit. */
  limitTime(ms: number | undefined): void;

  /** Told before each application runs, in order. */
  entering(step: EnteredStep): void;

  isUp(): boolean;
  /** Asks for the answer; `isUp()` may already be true when it returns. On a channel that is Up nothing happens. */
  answer(): void;
  /** Resolves when the channel is Up; never if it ends first. */
  answered(): Promise<void>;
  /** Alerting towards the caller. */
  ring(): void;
  /** Opens the early audio path. */
  progress(): void;
  /** Plays a tone locally until stopped. */
  indicate(tone: Indication): Stop;
  /** Plays media URIs one after another, in the channel's language. On a channel not yet Up the owner opens early media first. */
  play(uris: readonly string[]): DialplanPlayback;
  /** Sends back what arrives until stopped. */
  echo(): Stop;
  /** Hears each digit that the far side has pressed, at its end, until stopped. */
  onDigit(listener: (digit: string) => void): Stop;
  /** The calls that the channel can be part of. */
  callControl(): DialplanCalls;
  /** Tells when the far side talks and when it stops, from now on; undefined: no longer. */
  detectTalking(detection: TalkDetection | undefined): void;
  /**
   * Starts tone detection, or stops it (undefined). After that many `times`, or one signal, the channel jumps: to one
   * position for its far side's tones, to another for tones to it.
   */
  detectTone(
    detection: ToneDetection | undefined,
    then?: { times: number; to: { in?: Position; out?: Position } },
  ): void;
  /** How often the tone was heard; undefined while none is listened for. */
  tonesHeard(): { in: number; out: number } | undefined;
  /** Whether a hold of the far side is only reported, without music. */
  interceptHold(on: boolean): void;
  /** Sets who handles the far side's transfers. */
  handleTransfers(handling: TransferHandling): void;
  /** Makes the ChannelUserevent `name` with these fields. */
  userEvent(name: string, fields: Readonly<Record<string, string>>): void;

  /** A header of the request that made the call, by case-insensitive name; `index` from 1. */
  header(name: string, index?: number): string | undefined;
  /** Headers for the request that will place the call; false for one that is not for applications, or too late. */
  addHeader(name: string, value: string): boolean;
  /** Replaces the value of the first header of that name among those added; false when there is none. */
  updateHeader(name: string, value: string): boolean;
  removeHeader(name: string): void;
  /** SIP abilities; undefined for other technologies. */
  sip(): SipAbilities | undefined;
}
