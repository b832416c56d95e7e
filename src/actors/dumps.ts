import Type, { type Static, type TProperties } from 'typebox';
import { ApplicationContext } from '../machines/application.ts';
import { BridgeContext } from '../machines/bridge.ts';
import { BridgeVideoContext } from '../machines/bridge-video.ts';
import { ChannelAudioContext } from '../machines/channel-audio.ts';
import { ChannelContext, Position } from '../machines/channel-vocabulary.ts';
import { ConsultationContext } from '../machines/consultation.ts';
import { ContactContext } from '../machines/contact.ts';
import { DialContext } from '../machines/dial.ts';
import { FeatureKeysContext } from '../machines/feature-keys.ts';
import { RecordingContext } from '../machines/live-recording.ts';
import { OutboundConnectionContext } from '../machines/outbound-connection.ts';
import { OwnershipContext } from '../machines/ownership.ts';
import { PlaybackContext } from '../machines/playback.ts';
import { RegistrationContext } from '../machines/registration.ts';
import { TransferContext } from '../machines/transfer.ts';
import { WatcherContext } from '../machines/watcher.ts';
import { count, extended, number, optional, text, textMap } from '../models/plain-schema.ts';
import { checkOf } from '../models/validator.ts';
import { CallLeg } from './call-leg.ts';

/**
 * The snapshot of call control: plain JSON from which another process continues. Later versions of this program read
 * it, so it is checked. A change that breaks earlier dumps needs a new {@link dumpVersion}.
 */
export const dumpVersion = 2;

const list = Type.Array;

const deadlines = Type.Record(
  Type.String(),
  Type.Object({ at: number, event: Type.Object({ type: text }, { additionalProperties: true }) }),
);

/** An actor of one chart. States are checked by the chart itself. */
const actorOf = <C extends string, P extends TProperties>(chart: C, context: { properties: P }) =>
  Type.Object({
    chart: Type.Literal(chart),
    value: Type.Union([text, Type.Record(Type.String(), Type.Union([text, textMap]))]),
    context: extended(context, { deadlines: optional(deadlines) }),
    request: optional(text),
  });

/** A Dial, and the feature keys of its parties once they are connected. */
const DialDump = Type.Object({
  actor: actorOf('dial', DialContext),
  keys: list(actorOf('featureKeys', FeatureKeysContext)),
});

const PlaybackDump = Type.Object({
  actor: actorOf('playback', PlaybackContext),
  target: Type.Object({ kind: Type.Union([Type.Literal('channel'), Type.Literal('bridge')]), id: text }),
  /** Position in the present item, in ms; 0 when left out. */
  heardMs: optional(Type.Number({ minimum: 0 })),
});

/** What a step of the dialplan has been through. */
const StepDump = Type.Object({
  /** Keys that it has read, in order, or that its recording has begun; null: no key came in its time. */
  notes: optional(list(Type.Union([text, Type.Null()]))),
  /** When the time that it waits for is over, in ms since the epoch. */
  due: optional(number),
  /** Keys that it has not read. */
  typedAhead: optional(list(text)),
  playback: optional(PlaybackDump),
  /** Its recording, and how much of that lies in its unfinished file, in ms. */
  recording: optional(
    Type.Object({
      name: text,
      format: text,
      durationMs: Type.Number({ minimum: 0 }),
      talkingMs: Type.Number({ minimum: 0 }),
    }),
  ),
});

const ChannelDump = Type.Object({
  life: actorOf('channel', ChannelContext),
  ownership: actorOf('ownership', OwnershipContext),
  /** Its audio chart, if it has one. */
  audio: optional(actorOf('channelAudio', ChannelAudioContext)),
  /** The channel that came to life together with it. */
  companionId: optional(text),
  /** The subroutines of the dialplan that it is in. */
  subroutines: optional(
    list(Type.Object({ back: Position, outside: Type.Record(Type.String(), Type.Union([text, Type.Null()])) })),
  ),
  /** Its dialplan step, if that has anything to go on with. */
  step: optional(StepDump),
  /** Its leg, which only its technology reads. */
  leg: Type.Object({ version: number }, { additionalProperties: true }),
});

const BridgeDump = Type.Object({
  actor: actorOf('bridge', BridgeContext),
  /** Its video chart, if it has one. */
  video: optional(actorOf('bridgeVideo', BridgeVideoContext)),
  /**
   * Its members: the application that gets the bridge's events because of each, whether its music comes from the
   * bridge, and its video sources in `sfu` mode.
   */
  stays: list(
    Type.Object({ channelId: text, app: optional(text), hasMusic: Type.Boolean(), shown: optional(list(text)) }),
  ),
});

const RecordingDump = Type.Object({
  actor: actorOf('liveRecording', RecordingContext),
  target: Type.Object({ kind: Type.Union([Type.Literal('channel'), Type.Literal('bridge')]), id: text }),
  /** The recording's parameters: see `RecordRequest`. */
  plan: Type.Object({
    name: text,
    format: text,
    ifExists: Type.Enum(['fail', 'overwrite', 'append']),
    beep: Type.Boolean(),
    channels: Type.Union([Type.Literal(1), Type.Literal(2)]),
    maxDurationMs: number,
    maxSilenceMs: number,
    terminateOn: Type.Enum(['none', 'any', '*', '#']),
  }),
  /** Once it has had its turn: how much of it lies in its unfinished file, in ms. */
  begun: optional(Type.Object({ durationMs: Type.Number({ minimum: 0 }), talkingMs: Type.Number({ minimum: 0 }) })),
});

const ApplicationDump = Type.Object({
  actor: actorOf('application', ApplicationContext),
  /** As clients gave it. */
  filter: Type.Object({ allowed: list(Type.Unknown()), disallowed: list(Type.Unknown()) }),
  /** Events made for it so far, and how many of these it missed since its connection went. */
  seq: count,
  missed: count,
  /** Topics with their references, in the order of subscribing. */
  subscriptions: list(Type.Tuple([text, Type.Integer({ minimum: 1 })])),
  /** Registered by a user that only observes. */
  observes: optional(Type.Boolean()),
  /** Whose connection it was narrowed for, and the number of the last event before. */
  narrowed: optional(Type.Object({ by: text, after: count })),
  /** The epochs of its numbers, each with the last number before it. */
  epochs: optional(list(Type.Tuple([text, count]))),
  /** The last event that its client has handled. */
  acknowledged: optional(count),
  /** Another node of the cluster has made its events up to this number. */
  foreign: optional(count),
  /** Events that wait for its connection to be made again, as JSON texts. */
  waiting: optional(list(text)),
});

const OutboundConnectionDump = Type.Object({
  actor: actorOf('outboundConnection', OutboundConnectionContext),
  /** Name of its settings. */
  name: text,
  /** Of a connection for a call: its channel, and whether the call has left the application. */
  channelId: optional(text),
  left: optional(Type.Boolean()),
  /** Events that wait for the application, as JSON texts. */
  waiting: list(text),
});

const AwayPolicyDump = Type.Object({
  application: text,
  state: Type.Enum(['away', 'entertained']),
  /** When its next time is over, in ms since the epoch. */
  dueAt: Type.Number(),
  /** Channels that hear music meanwhile. */
  entertained: list(text),
});

/** Which member of a group of connections has a call. */
const GroupCallDump = Type.Object({
  /** Whose group it is: a user, and its token. */
  user: optional(text),
  token: optional(text),
  group: text,
  application: text,
  call: text,
  member: text,
  draining: optional(Type.Literal(true)),
  /** Number of the event before its first one. */
  after: count,
  channels: list(text),
  /** Its channels that are in the application. */
  inside: list(text),
  bridges: list(text),
  /** The other node of the cluster that has its channels. */
  node: optional(text),
});

/** All of call control as data. */
export const Dump = Type.Object({
  version: Type.Literal(dumpVersion),
  channels: list(ChannelDump),
  /** Left out if nothing follows calls. */
  legs: optional(list(CallLeg)),
  bridges: list(BridgeDump),
  playbacks: list(PlaybackDump),
  /** Live recordings; none when left out. */
  recordings: optional(list(RecordingDump)),
  applications: list(ApplicationDump),
  /** Number of connections that applications have had, to tell new ones from old ones. */
  connections: count,
  contacts: list(actorOf('contact', ContactContext)),
  /** Left out where nothing was registered anywhere. */
  registrations: optional(list(actorOf('registration', RegistrationContext))),
  /** Left out where no phone watched anything. */
  watchers: optional(list(actorOf('watcher', WatcherContext))),
  /** Left out where no transfer was under way. */
  transfers: optional(list(actorOf('transfer', TransferContext))),
  /** Left out where no party talks to the target of its transfer. */
  consultations: optional(list(actorOf('consultation', ConsultationContext))),
  /** Left out without Dials. */
  dials: optional(list(DialDump)),
  outboundConnections: list(OutboundConnectionDump),
  /** Applications that are awaited; none when left out. */
  awayPolicies: optional(list(AwayPolicyDump)),
  /** Calls of groups that share applications; none when left out. */
  groupCalls: optional(list(GroupCallDump)),
  /** Creators of channels and bridges, as far as ownership needs them. */
  creators: optional(
    list(
      Type.Object({
        kind: Type.Enum(['channel', 'bridge']),
        id: text,
        user: text,
        application: optional(text),
      }),
    ),
  ),
  /** Applications whose connection went before their call: name and channel. */
  orphans: list(Type.Tuple([text, text])),
});

export type StepDump = Static<typeof StepDump>;
export type ChannelDump = Static<typeof ChannelDump>;
export type BridgeDump = Static<typeof BridgeDump>;
export type PlaybackDump = Static<typeof PlaybackDump>;
export type RecordingDump = Static<typeof RecordingDump>;
export type ApplicationDump = Static<typeof ApplicationDump>;
export type ContactDump = Static<(typeof Dump)['properties']['contacts']>[number];
export type RegistrationDump = Static<NonNullable<(typeof Dump)['properties']['registrations']>>[number];
export type WatcherDump = Static<NonNullable<(typeof Dump)['properties']['watchers']>>[number];
export type TransferDump = Static<NonNullable<(typeof Dump)['properties']['transfers']>>[number];
export type ConsultationDump = Static<NonNullable<(typeof Dump)['properties']['consultations']>>[number];
export type DialDump = Static<typeof DialDump>;
export type FeatureKeysDump = DialDump['keys'][number];
export type AwayPolicyDump = Static<typeof AwayPolicyDump>;
export type GroupCallDump = Static<typeof GroupCallDump>;
export type OutboundConnectionDump = Static<typeof OutboundConnectionDump>;
/** All of call control. */
export type Dump = Static<typeof Dump>;

const dumpCheck = checkOf(Dump);

/** Reads a dump. @throws Error that names the version, or the wrong value and its path. */
export function readDump(dump: unknown): Dump {
  const version = (dump as { version?: unknown } | null | undefined)?.version;
  if (version !== dumpVersion)
    throw new Error(`a dump of version ${String(version)} cannot be read, only ${dumpVersion}`);
  if (dumpCheck.fits(dump)) return dump;
  throw new Error(`a dump does not fit: ${dumpCheck.problems(dump).slice(0, 5).join('; ')}`);
}
