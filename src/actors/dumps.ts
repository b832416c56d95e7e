import Type, { type Static, type TProperties } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ApplicationContext } from '../machines/application.ts';
import type { BridgeContext } from '../machines/bridge.ts';
import type { BridgeVideoContext } from '../machines/bridge-video.ts';
import type { ChannelContext } from '../machines/channel.ts';
import type { ChannelAudioContext } from '../machines/channel-audio.ts';
import type { ConsultationContext } from '../machines/consultation.ts';
import type { ContactContext } from '../machines/contact.ts';
import type { DialContext } from '../machines/dial.ts';
import type { FeatureKeysContext } from '../machines/feature-keys.ts';
import type { RecordingContext } from '../machines/live-recording.ts';
import type { OutboundConnectionContext } from '../machines/outbound-connection.ts';
import type { OwnershipContext } from '../machines/ownership.ts';
import type { PlaybackContext } from '../machines/playback.ts';
import type { RegistrationContext } from '../machines/registration.ts';
import type { TransferContext } from '../machines/transfer.ts';
import type { WatcherContext } from '../machines/watcher.ts';
import { dialOutcomes } from '../models/dial.ts';
import { consultationFeatures, features } from '../telephony/features.ts';
import type { CallLeg } from './call-leg.ts';

/**
 * The snapshot of call control: plain JSON, from which another process goes on. What is written here is read by a later version
 * of this program, so it is checked on the way in, and a change of it that an earlier dump does not fit is a new
 * {@link dumpVersion}.
 */
export const dumpVersion = 2;

const text = Type.String();
const number = Type.Number();
const optional = Type.Optional;
const list = Type.Array;
const oneOf = (...words: string[]) => Type.Enum(words);
const textMap = Type.Record(Type.String(), Type.String());

const deadlines = Type.Record(
  Type.String(),
  Type.Object({ at: number, event: Type.Object({ type: text }, { additionalProperties: true }) }),
);

/** An actor of one chart. States are checked by the chart itself. */
const actorOf = <C extends string, P extends TProperties>(chart: C, context: P) =>
  Type.Object({
    chart: Type.Literal(chart),
    value: Type.Union([text, Type.Record(Type.String(), Type.Union([text, textMap]))]),
    context: Type.Object({ ...context, deadlines: optional(deadlines) }),
    request: optional(text),
  });

const position = Type.Object({
  ...{ context: text, extension: text, priority: number },
  isBack: optional(Type.Literal(true)),
});
const onAnswer = Type.Union([
  Type.Object({ type: Type.Literal('application'), app: text, args: list(text) }),
  Type.Object({ type: Type.Literal('dialplan'), position }),
]);
const party = Type.Object({ name: text, number: text, presentation: optional(number) });
const identity = Type.Object({
  name: text,
  number: text,
  ani: optional(text),
  dnid: optional(text),
  presentation: optional(number),
  namePresentation: optional(number),
  redirection: optional(
    Type.Object({
      from: party,
      orig: optional(party),
      to: optional(party),
      reason: optional(text),
      origReason: optional(text),
      count: optional(number),
      followed: optional(Type.Array(text)),
    }),
  ),
});

const channelContext = {
  id: text,
  name: text,
  technology: text,
  endpoint: optional(Type.Tuple([text, text])),
  protocolId: text,
  origin: oneOf('incoming', 'originated', 'created', 'attached'),
  caller: identity,
  connected: identity,
  accountCode: text,
  tenantId: optional(text),
  language: text,
  creationTime: number,
  dialplan: Type.Object({ context: text, exten: text, priority: number, appName: text, appData: text }),
  variables: textMap,
  inheritance: Type.Record(Type.String(), oneOf('once', 'always')),
  reported: list(text),
  dialString: text,
  hasEarlyMedia: optional(Type.Boolean()),
  linked: Type.Object({ id: text, since: number }),
  bridgeId: optional(text),
  interceptsHold: optional(Type.Boolean()),
  transferHandling: optional(oneOf('core', 'client')),
  tones: optional(
    Type.Object({
      times: number,
      to: Type.Object({ in: optional(position), out: optional(position) }),
      heard: Type.Object({ in: number, out: number }),
    }),
  ),
  cause: number,
  techCause: optional(number),
  endedBy: optional(oneOf('farSide', 'application', 'dialplan', 'server', 'timeout', 'fault')),
  dialTimeoutMs: number,
  lastState: text,
} satisfies Members<ChannelContext>;

const waitsBehind = optional(Type.Object({ kind: oneOf('playback', 'recording'), id: text }));
const ownershipContext = {
  id: text,
  start: position,
  onAnswer: optional(onAnswer),
  app: text,
  args: list(text),
  attached: optional(Type.Literal(true)),
  destination: optional(Type.Object({ app: text, args: list(text), inTurn: optional(Type.Literal(true)) })),
  departures: optional(
    list(
      Type.Union([
        Type.Object({ type: Type.Literal('continue'), position, behind: waitsBehind }),
        Type.Object({ type: Type.Literal('move'), app: text, args: list(text), behind: waitsBehind }),
      ]),
    ),
  ),
  due: optional(Type.Literal(true)),
  shown: optional(text),
  resume: optional(position),
  replaces: optional(text),
  refusedBy: optional(text),
} satisfies Members<OwnershipContext>;

const bridgeContext = {
  id: text,
  name: text,
  type: Type.Union([Type.Literal('mixing'), Type.Literal('holding')]),
  flags: list(text),
  features: Type.Object({ mute: Type.Boolean(), suppressDtmf: Type.Boolean() }),
  class: oneOf('stasis', 'basic'),
  creationTime: number,
  variables: textMap,
  reported: list(text),
  members: list(
    Type.Object({
      channelId: text,
      role: text,
      muted: Type.Boolean(),
      absorbsDigits: Type.Boolean(),
      inhibitsConnectedLine: Type.Boolean(),
    }),
  ),
  musicClass: optional(text),
} satisfies Members<BridgeContext>;

const bridgeVideoContext = {
  id: text,
  mode: oneOf('none', 'talker', 'single', 'sfu'),
  source: optional(text),
  chosen: optional(text),
} satisfies Members<BridgeVideoContext>;

const channelAudioContext = { id: text, musicClass: text } satisfies Members<ChannelAudioContext>;

const playbackContext = {
  id: text,
  media: Type.Array(text, { minItems: 1 }),
  targetUri: text,
  language: text,
  offsetMs: number,
  skipMs: number,
  index: Type.Integer({ minimum: 0 }),
  failed: list(Type.Integer({ minimum: 0 })),
} satisfies Members<PlaybackContext>;

const lengths = Type.Object({ durationMs: number, talkingMs: number, silenceMs: number });
const recordingContext = {
  name: text,
  format: text,
  targetUri: text,
  measuresSilence: Type.Boolean(),
  lengths: optional(lengths),
  reason: optional(text),
} satisfies Members<RecordingContext>;

const applicationContext = { name: text, connection: text } satisfies Members<ApplicationContext>;

const contactContext = {
  contact: Type.Object({
    id: text,
    uri: text,
    aor: text,
    technology: text,
    endpoint: text,
    qualifyFrequencyMs: number,
    qualifyTimeoutMs: number,
    expiresMs: optional(number),
  }),
  attempt: number,
  roundtripUsec: Type.Union([number, Type.Null()]),
} satisfies Members<ContactContext>;

const outboundConnectionContext = {
  id: text,
  kind: oneOf('persistent', 'call'),
  connectionTimeoutMs: number,
  reconnectIntervalMs: number,
  reconnectAttempts: number,
  attempts: number,
} satisfies Members<OutboundConnectionContext>;

const registrationContext = {
  registration: Type.Object({
    id: text,
    technology: text,
    endpoint: text,
    server: text,
    client: text,
    expiresMs: number,
    retryMs: number,
    longestRetryMs: number,
    rejectedRetryMs: number,
  }),
  attempt: number,
  failures: number,
  expiresMs: number,
  raised: Type.Boolean(),
  waitMs: number,
  reason: text,
} satisfies Members<RegistrationContext>;

const watcherContext = {
  watcher: Type.Object({
    id: text,
    technology: text,
    endpoint: text,
    topics: list(text),
    expiresMs: number,
    intervalMs: number,
  }),
  attempt: number,
  waitMs: number,
  end: oneOf('', 'timeout', 'noresource', 'rejected', 'probation'),
  reason: text,
} satisfies Members<WatcherContext>;
const transferContext = {
  id: text,
  transferer: text,
  targetUri: text,
  request: Type.Object({
    id: text,
    extension: text,
    context: text,
    target: text,
    referredBy: optional(text),
    replaces: optional(Type.Object({ protocolId: text, localTag: text, remoteTag: text, channelId: optional(text) })),
    handling: oneOf('core', 'client'),
  }),
  handling: oneOf('core', 'client'),
  context: text,
  extension: text,
  targetId: text,
  timeoutMs: number,
  callBack: optional(Type.Object({ channelId: text, target: text })),
  hangupTimeMs: optional(number),
  consults: optional(Type.Object({ bridgeId: text, waitingIn: text })),
  byKeys: optional(Type.Boolean()),
} satisfies Members<TransferContext>;

const visit = optional(Type.Object({ position, args: list(text) }));
const callee = { channelId: text, number: text };
const dialContext = {
  id: text,
  caller: text,
  targetUri: text,
  targets: list(text),
  timeoutMs: optional(number),
  waiting: Type.Union([Type.Enum(['alert', 'ring']), Type.Object({ music: text })]),
  limitMs: optional(number),
  preparation: visit,
  subroutine: visit,
  afterwards: optional(position),
  announcement: optional(list(text)),
  digits: optional(Type.Object({ called: text, calling: text })),
  features: optional(Type.Object({ called: list(Type.Enum([...features])), calling: list(Type.Enum([...features])) })),
  toldElsewhere: optional(Type.Literal(true)),
  endsIn: optional(text),
  callees: list(Type.Object(callee)),
  failures: list(Type.Enum([...dialOutcomes])),
  peer: optional(Type.Object({ ...callee, name: text })),
  bridge: optional(text),
  joinedAt: optional(number),
  absent: Type.Boolean(),
  end: Type.Object({
    status: Type.Enum([...dialOutcomes]),
    peer: optional(Type.Object({ name: text, number: text })),
    answeredMs: optional(number),
    goesOn: optional(Type.Literal(true)),
    left: optional(text),
  }),
} satisfies Members<DialContext>;

const consultationContext = {
  id: text,
  transferer: text,
  targetUri: text,
  targetId: text,
  bridgeId: text,
  waitingIn: text,
} satisfies Members<ConsultationContext>;

const pressedKeys = list(Type.Object({ digit: text, durationMs: number }));
const featureKeysContext = {
  id: text,
  codes: list(Type.Object({ feature: Type.Enum([...features]), code: text })),
  consultationCodes: list(Type.Object({ feature: Type.Enum([...consultationFeatures]), code: text })),
  digitTimeoutMs: number,
  numberTimeoutMs: number,
  attempts: number,
  consults: Type.Boolean(),
  pressed: pressedKeys,
  number: text,
  failed: number,
} satisfies Members<FeatureKeysContext>;

/** A Dial, and the keys of those who may ask for something by them while both are together. */
const DialDump = Type.Object({
  actor: actorOf('dial', dialContext),
  keys: list(actorOf('featureKeys', featureKeysContext)),
});

/** A schema has the members of its context, all of them and no others. */
type Members<C> = { [K in keyof Required<C>]: unknown };

const ChannelDump = Type.Object({
  life: actorOf('channel', channelContext),
  ownership: actorOf('ownership', ownershipContext),
  /** What was done to its sound, where something was. */
  audio: optional(actorOf('channelAudio', channelAudioContext)),
  /** The channel that came to life together with it. */
  companionId: optional(text),
  /** The subroutines of the dialplan that it is in. */
  subroutines: optional(
    list(Type.Object({ back: position, outside: Type.Record(Type.String(), Type.Union([text, Type.Null()])) })),
  ),
  /** Its leg, which only its technology reads. */
  leg: Type.Object({ version: number }, { additionalProperties: true }),
});

/** What those who run the server are told of a leg when it ends. */
const LegDump = Type.Object({
  channel: text,
  call: text,
  name: text,
  technology: text,
  endpoint: optional(text),
  direction: Type.Enum(['in', 'out']),
  from: Type.Object({ number: text, name: text }),
  to: text,
  protocolId: text,
  accountCode: text,
  context: text,
  startedAt: number,
  answeredAt: optional(number),
  source: optional(text),
  codec: optional(text),
  video: optional(text),
  applications: list(text),
  recordings: list(text),
} satisfies Members<CallLeg>);

const BridgeDump = Type.Object({
  actor: actorOf('bridge', bridgeContext),
  /** Whom it shows, where anybody had video or a source was asked for. */
  video: optional(actorOf('bridgeVideo', bridgeVideoContext)),
  /**
   * Who is in it: the application that hears of the bridge because of it, whether its music comes from being here, and whom it
   * is shown in its streams of video where each is shown others.
   */
  stays: list(
    Type.Object({ channelId: text, app: optional(text), hasMusic: Type.Boolean(), shown: optional(list(text)) }),
  ),
});

const PlaybackDump = Type.Object({
  actor: actorOf('playback', playbackContext),
  target: Type.Object({ kind: Type.Union([Type.Literal('channel'), Type.Literal('bridge')]), id: text }),
  /** How much of the item under way was heard, in ms; 0 when left out. */
  heardMs: optional(Type.Number({ minimum: 0 })),
});

const RecordingDump = Type.Object({
  actor: actorOf('liveRecording', recordingContext),
  target: Type.Object({ kind: Type.Union([Type.Literal('channel'), Type.Literal('bridge')]), id: text }),
  /** How it is recorded: see `RecordRequest`. */
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
  actor: actorOf('application', applicationContext),
  /** As clients gave it. */
  filter: Type.Object({ allowed: list(Type.Unknown()), disallowed: list(Type.Unknown()) }),
  /** Events made for it so far, and how many of these it missed since its connection went. */
  seq: Type.Integer({ minimum: 0 }),
  missed: Type.Integer({ minimum: 0 }),
  /** Topics with their references, in the order of subscribing. */
  subscriptions: list(Type.Tuple([text, Type.Integer({ minimum: 1 })])),
  /** Registered by a user that only observes. */
  observes: optional(Type.Boolean()),
  /** Whose connection it was narrowed for, and the number of the last event before. */
  narrowed: optional(Type.Object({ by: text, after: Type.Integer({ minimum: 0 }) })),
  /** Events that wait for its connection to be made again, as JSON texts. */
  waiting: optional(list(text)),
});

const OutboundConnectionDump = Type.Object({
  actor: actorOf('outboundConnection', outboundConnectionContext),
  /** Name of its settings. */
  name: text,
  /** Of a connection for a call: its channel, and whether the call has left the application. */
  channelId: optional(text),
  left: optional(Type.Boolean()),
  /** Events that wait for the application, as JSON texts. */
  waiting: list(text),
});

/** What all of call control looks like as data. */
export const Dump = Type.Object({
  version: Type.Literal(dumpVersion),
  channels: list(ChannelDump),
  /** Left out where nobody hears of calls. */
  legs: optional(list(LegDump)),
  bridges: list(BridgeDump),
  playbacks: list(PlaybackDump),
  /** Live recordings; none when left out. */
  recordings: optional(list(RecordingDump)),
  applications: list(ApplicationDump),
  /** How many connections applications have had, so that a new one is not taken for an old one. */
  connections: Type.Integer({ minimum: 0 }),
  contacts: list(actorOf('contact', contactContext)),
  /** Left out where nothing was registered anywhere. */
  registrations: optional(list(actorOf('registration', registrationContext))),
  /** Left out where no phone watched anything. */
  watchers: optional(list(actorOf('watcher', watcherContext))),
  /** Left out where no transfer was under way. */
  transfers: optional(list(actorOf('transfer', transferContext))),
  /** Left out where no party talks to the target of its transfer. */
  consultations: optional(list(actorOf('consultation', consultationContext))),
  /** Left out where the dialplan calls nobody and has joined nobody. */
  dials: optional(list(DialDump)),
  outboundConnections: list(OutboundConnectionDump),
  /** Who made channels and bridges; left out where nobody did that it matters for. */
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

export type ChannelDump = Static<typeof ChannelDump>;
export type LegDump = Static<typeof LegDump>;
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
export type OutboundConnectionDump = Static<typeof OutboundConnectionDump>;
/** All of call control. */
export type Dump = Static<typeof Dump>;

const validator = Compile(Dump);

/** Reads a dump. @throws Error that names the version, or what does not fit and where. */
export function readDump(dump: unknown): Dump {
  const version = (dump as { version?: unknown } | null | undefined)?.version;
  if (version !== dumpVersion)
    throw new Error(`a dump of version ${String(version)} cannot be read, only ${dumpVersion}`);
  if (validator.Check(dump)) return dump;
  const problems = validator.Errors(dump).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  throw new Error(`a dump does not fit: ${problems.slice(0, 5).join('; ')}`);
}
