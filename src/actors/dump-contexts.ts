import Type, { type Static, type TEnum, type TOptional, type TProperties, type TSchema } from 'typebox';
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

/** Schemas of the chart contexts in a dump: see `dumps.ts`. */

/** A schema has the members of its context, all of them and no others. */
export type Members<C> = { [K in keyof Required<C>]: unknown };

/** The members of a context. A schema that refuses one of its values is an error of the compiler, which names both types. */
type Taken<C, P> = {
  [K in keyof P]: K extends keyof C ? TakenBy<Extract<P[K], TSchema>, C[K]> : never;
};
type TakenBy<S extends TSchema, V> =
  Exclude<V, undefined> extends Unchanged<Static<S>>
    ? undefined extends V
      ? TOptional
      : unknown
    : { refuses: Exclude<V, undefined>; takes: Static<S> };
type Unchanged<T> = T extends object ? { readonly [K in keyof T]: Unchanged<T[K]> } : T;

/** The schema of a chart's context. It takes every value that the context may have, so that no dump is refused. */
const contextOf =
  <C>() =>
  <P extends { [K in keyof Required<C>]: TSchema }>(members: P & Taken<C, P>): P =>
    members;

export const text = Type.String();
export const number = Type.Number();
export const optional = Type.Optional;
export const list = Type.Array;
const oneOf = <W extends string[]>(...words: W): TEnum<W> => Type.Enum([...words]) as unknown as TEnum<W>;
const textMap = Type.Record(Type.String(), Type.String());

const deadlines = Type.Record(
  Type.String(),
  Type.Object({ at: number, event: Type.Object({ type: text }, { additionalProperties: true }) }),
);

/** An actor of one chart. States are checked by the chart itself. */
export const actorOf = <C extends string, P extends TProperties>(chart: C, context: P) =>
  Type.Object({
    chart: Type.Literal(chart),
    value: Type.Union([text, Type.Record(Type.String(), Type.Union([text, textMap]))]),
    context: Type.Object({ ...context, deadlines: optional(deadlines) }),
    request: optional(text),
  });

export const position = Type.Object({
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

export const channelContext = contextOf<ChannelContext>()({
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
});

const waitsBehind = optional(Type.Object({ kind: oneOf('playback', 'recording'), id: text }));
export const ownershipContext = contextOf<OwnershipContext>()({
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
});

export const bridgeContext = contextOf<BridgeContext>()({
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
      node: optional(text),
    }),
  ),
  home: optional(text),
  orphaned: optional(Type.Boolean()),
  musicClass: optional(text),
});

export const bridgeVideoContext = contextOf<BridgeVideoContext>()({
  id: text,
  mode: oneOf('none', 'talker', 'single', 'sfu'),
  source: optional(text),
  chosen: optional(text),
});

export const channelAudioContext = contextOf<ChannelAudioContext>()({ id: text, musicClass: text });

export const playbackContext = contextOf<PlaybackContext>()({
  id: text,
  media: Type.Array(text, { minItems: 1 }),
  targetUri: text,
  language: text,
  offsetMs: number,
  skipMs: number,
  index: Type.Integer({ minimum: 0 }),
  failed: list(Type.Integer({ minimum: 0 })),
});

const lengths = Type.Object({ durationMs: number, talkingMs: number, silenceMs: number });
export const recordingContext = contextOf<RecordingContext>()({
  name: text,
  format: text,
  targetUri: text,
  measuresSilence: Type.Boolean(),
  lengths: optional(lengths),
  reason: optional(text),
});

export const applicationContext = contextOf<ApplicationContext>()({ name: text, connection: text });

export const contactContext = contextOf<ContactContext>()({
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
});

export const outboundConnectionContext = contextOf<OutboundConnectionContext>()({
  id: text,
  kind: oneOf('persistent', 'call'),
  connectionTimeoutMs: number,
  reconnectIntervalMs: number,
  reconnectAttempts: number,
  attempts: number,
});

export const registrationContext = contextOf<RegistrationContext>()({
  registration: Type.Object({
    id: text,
    technology: text,
    endpoint: text,
    server: text,
    client: text,
    expiresMs: number,
    shortestRefreshMs: optional(number),
    retryMs: number,
    longestRetryMs: number,
    rejectedRetryMs: number,
    longestAnswerMs: optional(number),
  }),
  attempt: number,
  failures: number,
  expiresMs: number,
  raised: Type.Boolean(),
  waitMs: number,
  reason: text,
});

export const watcherContext = contextOf<WatcherContext>()({
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
});
export const transferContext = contextOf<TransferContext>()({
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
});

const visit = optional(Type.Object({ position, args: list(text) }));
const callee = { channelId: text, number: text };
export const dialContext = contextOf<DialContext>()({
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
  failures: list(number),
  peer: optional(Type.Object({ ...callee, name: text })),
  bridge: optional(text),
  joinedAt: optional(number),
  absent: Type.Boolean(),
  end: Type.Object({
    status: Type.Enum([...dialOutcomes]),
    cause: optional(number),
    peer: optional(Type.Object({ name: text, number: text })),
    answeredMs: optional(number),
    goesOn: optional(Type.Literal(true)),
    left: optional(text),
  }),
});

export const consultationContext = contextOf<ConsultationContext>()({
  id: text,
  transferer: text,
  targetUri: text,
  targetId: text,
  bridgeId: text,
  waitingIn: text,
});

const pressedKeys = list(Type.Object({ digit: text, durationMs: number }));
export const featureKeysContext = contextOf<FeatureKeysContext>()({
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
});
