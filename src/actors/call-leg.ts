import Type, { type Static } from 'typebox';
import { CallOutcome } from '../models/call-outcome.ts';
import { list, maybe, number, object, oneOf, text } from '../models/plain-schema.ts';

/** Applications of one leg that are remembered. */
export const mostApplications = 8;
/** Recordings of one leg that are remembered. */
export const mostRecordings = 16;
/** Called parties of one call whose outcomes are remembered until its first leg is answered. */
export const mostCalled = 50;

/** A channel as logs and call records see it. Times in ms since the epoch. */
export const CallLeg = object({
  channel: text,
  /** The channel that the call began with: the same for all legs of a call. Changes when the leg meets an older call. */
  call: text,
  name: text,
  technology: text,
  /** Name of the endpoint, where it belongs to one. */
  endpoint: maybe(text),
  direction: oneOf('in', 'out'),
  /** The caller's number and name, empty if unknown. */
  from: object({ number: text, name: text }),
  /** The called extension of an inbound call, or the dialed resource of an outbound call. */
  to: text,
  /** The technology's own id: SIP's Call-ID. */
  protocolId: text,
  accountCode: text,
  /** The dialplan context that it entered. */
  context: text,
  startedAt: number,
  answeredAt: maybe(number),
  /** Its source `address:port`, if known. */
  source: maybe(text),
  /** The audio format that was agreed on, once it is answered. */
  codec: maybe(text),
  /** The format of video that was agreed on, likewise. */
  video: maybe(text),
  /** The applications that it entered, in order, each once; the first {@link mostApplications}. */
  applications: Type.Array(text),
  /** The other members of the last bridge with others that it was in, by name. */
  peers: maybe(Type.Array(text)),
  /** Recordings of it, and of the bridges that it was in meanwhile, by name; the first {@link mostRecordings}. */
  recordings: Type.Array(text),
  /**
   * Of the first leg of a call until it is answered: the later legs, in order, with their outcomes once they ended; the
   * first {@link mostCalled}.
   */
  called: maybe(list(object({ channel: text, outcome: maybe(CallOutcome) }))),
});
export type CallLeg = Static<typeof CallLeg>;
