import type { Static } from 'typebox';
import type { ChannelState } from '../models/channel.ts';
import type { DialStatus } from '../models/events.ts';
import {
  byName,
  either,
  extended,
  flag,
  list,
  literal,
  marked,
  maybe,
  number,
  object,
  oneOf,
  optional,
  pair,
  text,
  textMap,
  word,
} from '../models/plain-schema.ts';
import { type LegReport, TransferHandling } from '../telephony/driver.ts';
import type { DigitSequence } from '../telephony/media.ts';
import { Party, Redirection } from '../telephony/party.ts';

/** Types of the channel chart: input, context, commands, reports and facts. */

/** A party's identity, with the further values of CALLERID and CONNECTEDLINE. */
const Identity = extended(Party, {
  /** Number to be charged. */
  ani: optional(text),
  /** Number that was dialed. */
  dnid: optional(text),
  /** Presentation and screening of the name, where they are not those of the number (`presentation`). */
  namePresentation: optional(number),
  /** How the call came to be here. */
  redirection: optional(Redirection),
});
export type Identity = Static<typeof Identity>;

/** A place in the dialplan. `isBack`: its step has sent the channel through a subroutine already. */
export const Position = object({ context: text, extension: text, priority: number, isBack: marked });
export type Position = Static<typeof Position>;

/** Action of an outbound channel when it answers. */
export const OnAnswer = either([
  object({ type: literal('application'), app: text, args: list(text) }),
  object({ type: literal('dialplan'), position: Position }),
]);
export type OnAnswer = Static<typeof OnAnswer>;

/** How long a variable goes on being inherited by channels made from this one: `_X` once, `__X` always. */
const Inheritance = oneOf('once', 'always');
export type Inheritance = Static<typeof Inheritance>;

/**
 * The call of a channel: the channel that started it, and when, in ms since the epoch. `own` is the call at this node of the
 * cluster, if it was started at another one.
 */
const LinkedCall = object({ id: text, since: number, own: optional(text) });
export type LinkedCall = Static<typeof LinkedCall>;

/** The call at this node that a channel belongs to. */
export const callOf = ({ id, own }: LinkedCall): string => own ?? id;

const ChannelInput = object({
  id: text,
  name: text,
  technology: text,
  /** `[technology, resource]` of the endpoint it belongs to. */
  endpoint: maybe(pair),
  protocolId: text,
  /** incoming: a call that came in; originated, created: made by a client; attached: there without any call (a spy). */
  origin: oneOf('incoming', 'originated', 'created', 'attached'),
  caller: Identity,
  connected: Identity,
  accountCode: text,
  /** Tenant that it belongs to. */
  tenantId: maybe(text),
  language: text,
  /** ms since the epoch. */
  creationTime: number,
  dialplan: object({ context: text, exten: text, priority: number, appName: text, appData: text }),
  variables: textMap,
  inheritance: byName(Inheritance),
  /** Names of variables shown in every event of the channel (`report_events`). */
  reported: list(text),
  /** The call it belongs to from the start; left out, it begins one. */
  linked: optional(LinkedCall),
  /** The dialed resource, as Dial events show it, without the technology; '' for inbound channels. */
  dialString: text,
  /** Outbound: the far side is heard before it answers. */
  hasEarlyMedia: optional(flag),
});
export type ChannelInput = Static<typeof ChannelInput>;

/**
 * Who ended a channel: the far side, an application by a request, the dialplan, or this server (it stops, or the
 * channel had nothing left to do). Or a timeout, or an internal error.
 */
const EndedBy = oneOf('farSide', 'application', 'dialplan', 'server', 'timeout', 'fault');
export type EndedBy = Static<typeof EndedBy>;

/** The new target of a call that its far side redirected, and the redirections so far. */
export type Forward = { target: string; redirection: Redirection };

/** A watched tone: the channel moves after that many tones, or after one signal. */
const ToneWatch = object({
  times: number,
  /** The positions for a tone from the far side, and for a tone to the far side. */
  to: object({ in: optional(Position), out: optional(Position) }),
  heard: object({ in: number, out: number }),
});
export type ToneWatch = Static<typeof ToneWatch>;

export const ChannelContext = extended(ChannelInput, {
  linked: LinkedCall,
  /** Q.850 cause the channel ends with; 0 until one is known. */
  cause: number,
  techCause: optional(number),
  /** Who ended it, once it is ending. */
  endedBy: optional(EndedBy),
  /** ms until an unanswered dial is given up. */
  dialTimeoutMs: number,
  /** The public state it had when its hang-up began. */
  lastState: word<ChannelState>(),
  /** The bridge it is in. */
  bridgeId: maybe(text),
  /** A hold by the far side is only reported: its peer hears no music (HOLD_INTERCEPT). */
  interceptsHold: maybe(flag),
  /** Who handles the transfers of its far side; left out: the endpoint's setting. */
  transferHandling: maybe(TransferHandling),
  /** The tone that is listened for (TONE_DETECT), and how often it was heard. */
  tones: maybe(ToneWatch),
  /** Its longest time from when that was set, in ms, and when it is over, in ms since the epoch (TIMEOUT(absolute)). */
  timeLimit: maybe(object({ ms: number, at: number })),
  /** Class of the music that it hears, whichever is asked for (CHANNEL(musicclass)). */
  musicClass: maybe(text),
  /** The name of what ended its call: a channel, or a part of the dialplan; the first that is named stays. */
  hangupSource: maybe(text),
  /** Account code of the channel that it is, or was last, connected to. */
  peerAccount: maybe(text),
});
export type ChannelContext = Static<typeof ChannelContext>;

/** Asked from above. */
export type ChannelCommand =
  | { type: 'dial'; timeoutMs: number }
  /** The same, once what is under way has been answered. */
  | { type: 'dial.soon'; timeoutMs: number }
  | { type: 'answer' }
  | { type: 'ring' }
  | { type: 'ringStop' }
  | { type: 'progress' }
  | { type: 'busy' }
  | { type: 'dtmf'; sequence: DigitSequence }
  /** `cancels`: the caller gave up all targets. `by`: who hangs up; default: an application. */
  | { type: 'hangup'; cause: number; cancels?: boolean; by?: EndedBy }
  | { type: 'variable.set'; name: string; value: string | undefined; report?: boolean }
  | ({ type: 'variable.preset' } & Pick<ChannelInput, 'variables' | 'inheritance'>)
  | { type: 'caller.set'; caller: Partial<Identity> }
  /** `quietly`: its far side is not told of it. */
  | { type: 'connected.set'; party: Partial<Identity>; quietly?: boolean }
  | { type: 'language.set'; language: string }
  | { type: 'accountCode.set'; accountCode: string }
  /** What it ends with if nothing names another cause. */
  | { type: 'cause.set'; cause: number }
  | { type: 'tenantId.set'; tenantId: string }
  | { type: 'musicClass.set'; musicClass: string }
  | { type: 'peerAccount.set'; peerAccount: string }
  | { type: 'hangupSource.set'; source: string }
  /** Limits its time from now on; undefined: it has no limit. */
  | { type: 'timeLimit.set'; limit: { ms: number; at: number } | undefined }
  | { type: 'holdIntercept.set'; on: boolean }
  /** Sets the watched tones and resets counts; undefined: none. */
  | { type: 'tones.set'; tones: ToneWatch | undefined }
  | { type: 'transferHandling.set'; handling: TransferHandling }
  /** The far side redirected its call: to that channel, or to none if it could not be forwarded. */
  | { type: 'forwarded'; target: string; successor?: string }
  /** It has met an older call and belongs to that from now on. */
  | { type: 'linked.set'; linked: LinkedCall }
  | { type: 'userEvent'; name: string; fields: Readonly<Record<string, string>> };

/** Reports of the dialplan or of the application on the channel. */
export type DialplanReport =
  | { type: 'dialplan.entered'; position: Position; app: string; data: string }
  | { type: 'dialplan.ended'; cause: number }
  | { type: 'application.entered'; app: string; args: readonly string[] };

/** Sent by the bridge that the channel enters or leaves. */
export type BridgeReport = { type: 'bridge.entered'; bridgeId: string } | { type: 'bridge.left' };

/** Told by the owner of effects: one of them threw. */
export type CrashReport = { type: 'effect.failed' };

export type ChannelEvent =
  | ChannelCommand
  | LegReport
  | DialplanReport
  | BridgeReport
  | CrashReport
  /** The leg was told to hang up and has not ended synchronously. */
  | { type: 'leg.lingers' }
  /** Its longest time is over. */
  | { type: 'timeLimit.over' }
  /** Nothing is left to do with the channel. */
  | { type: 'finish'; cause: number; by?: EndedBy };

/** Facts, named as clients' events. */
export type ChannelFact =
  | { type: 'ChannelCreated' }
  | { type: 'ChannelStateChange' }
  | { type: 'ChannelDialplan' }
  | { type: 'ChannelCallerId' }
  | { type: 'ChannelConnectedLine' }
  | { type: 'ChannelVarset'; variable: string; value: string }
  | { type: 'ChannelHangupRequest'; cause: number; soft?: true; techCause?: number }
  | { type: 'ChannelDestroyed'; cause: number; techCause?: number }
  | { type: 'ChannelDtmfReceived'; digit: string; durationMs: number }
  | { type: 'ChannelTalkingStarted' }
  | { type: 'ChannelTalkingFinished'; durationMs: number }
  | { type: 'ChannelToneDetected' }
  | { type: 'ChannelHold'; musicClass: string }
  | { type: 'ChannelUnhold' }
  | { type: 'ChannelUserevent'; name: string; fields: Readonly<Record<string, string>> }
  /** `forwarded` is the channel that calls where the far side forwards the call to. */
  | { type: 'Dial'; dialstatus: DialStatus; dialstring: string; forward: string; forwarded?: string };
