import Type, { type Static } from 'typebox';
import { Channel } from './channel.ts';
import { checkOf } from './validator.ts';

/** What two nodes of a cluster say to each other about a bridge with members at both. */

const text = Type.String({ maxLength: 1_000 });
const count = Type.Integer({ minimum: 0 });
/** Channels of one request. */
const ids = Type.Array(text, { maxItems: 100_000 });

/** Codecs of the audio between two nodes. */
const linkFormats = ['ulaw', 'alaw', 'g722', 'slin', 'slin16', 'opus'] as const;
export type LinkFormat = (typeof linkFormats)[number];

/** Where a node receives the audio of the other one, and the key that it sends with (SRTP). */
const LinkPlace = Type.Object({
  address: text,
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  key: Type.Optional(text),
});
export type LinkPlace = Static<typeof LinkPlace>;

const LinkEntry = Type.Object({
  role: text,
  muted: Type.Boolean(),
  absorbsDigits: Type.Boolean(),
  inhibitsConnectedLine: Type.Boolean(),
});

const Call = Type.Object({ id: text, since: Type.Number() });
const Named = Type.Object({ name: text, number: text, presentation: Type.Optional(Type.Number()) });

/** What the others of a bridge meet of a member: its call, account and caller. */
const MetMember = Type.Object({ linked: Call, accountCode: text, caller: Named });
export type MetMember = Static<typeof MetMember>;

/** A class of music on hold; null: no longer. */
const HoldMusic = Type.Union([text, Type.Null()]);

/** What a channel learns of the others in its bridge. */
const Meeting = Type.Union([
  Type.Object({ type: Type.Literal('linked.set'), linked: Call }),
  Type.Object({ type: Type.Literal('accountCode.set'), accountCode: text }),
  Type.Object({ type: Type.Literal('connected.set'), party: Named }),
  Type.Object({
    ...{ type: Type.Literal('variable.set'), name: text },
    value: Type.Union([Type.String({ maxLength: 10_000 }), Type.Null()]),
  }),
  // The other of two holds it.
  Type.Object({ type: Type.Literal('music.set'), musicClass: HoldMusic }),
]);
export type Meeting = Static<typeof Meeting>;

/** A channel of the other node that is in the bridge. */
const LinkGuest = Type.Object({
  /** Grows with each channel that enters. */
  stay: count,
  channel: Channel,
  app: Type.Optional(text),
  entry: LinkEntry,
  /** Left out by older versions: it meets no others then. */
  met: Type.Optional(MetMember),
});
export type LinkGuest = Static<typeof LinkGuest>;

const request = <Name extends string, P extends Record<string, object>>(name: Name, members: P) =>
  Type.Object({ do: Type.Literal(name), link: text, ...members });

const LinkRequest = Type.Union([
  // From the node of the bridge.
  request('open', {
    ...{ node: text, bridge: text, format: Type.Enum([...linkFormats]), audio: LinkPlace },
    /** Left out: mixing. */
    type: Type.Optional(Type.Literal('holding')),
  }),
  request('check', { channels: ids }),
  request('enter', {
    ...{ channels: ids, entry: LinkEntry },
    /** Those enter that were members before the link was lost, and are in no other bridge. */
    again: Type.Optional(Type.Literal(true)),
    /** A transfer takes them out of their calls. They enter this application, unless they are in one. */
    instead: Type.Optional(Type.Object({ app: Type.Optional(text) })),
  }),
  request('leave', { stays: Type.Array(count, { maxItems: 100_000 }) }),
  /** What members learn of the others. */
  request('meet', { told: Type.Array(Type.Object({ stay: count, event: Meeting }), { maxItems: 100_000 }) }),
  /** The members that it knows: a digest of their stays, and the last stay. */
  request('sync', { digest: text, last: count }),
  request('close', {}),
  // From the node of the members.
  request('entered', { guest: LinkGuest }),
  request('left', { stay: count, channel: Channel, ended: Type.Boolean() }),
  /** A member holds the others. */
  request('held', { stay: count, musicClass: HoldMusic }),
  request('ended', {}),
]);
export type LinkRequest = Static<typeof LinkRequest>;
export type LinkRequestOf<Name extends LinkRequest['do']> = Extract<LinkRequest, { do: Name }>;

const LinkAnswer = Type.Object({
  /** `unknown`: the node does not have the link. */
  done: Type.Enum(['yes', 'no', 'unknown']),
  audio: Type.Optional(LinkPlace),
  /** The type of its part, if it is not mixing: nodes of older versions have no others. */
  type: Type.Optional(Type.Literal('holding')),
  /** Channels that have entered. */
  guests: Type.Optional(Type.Array(LinkGuest)),
  /** The stays of all members, and the last stay so far. */
  stays: Type.Optional(Type.Array(count)),
  last: Type.Optional(count),
  /** Why not. */
  error: Type.Optional(Type.Object({ code: text, parameters: Type.Record(Type.String(), Type.String()) })),
});
export type LinkAnswer = Static<typeof LinkAnswer>;

export const linkRequestCheck = checkOf(LinkRequest);
export const linkAnswerCheck = checkOf(LinkAnswer);
