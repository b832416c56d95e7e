import Type, { type Static } from 'typebox';
import { optional, text } from './plain-schema.ts';

const KeptAnswer = Type.Object({
  status: Type.Integer(),
  /** Words of the status line; left out where they are those of the status. */
  reason: optional(text),
  headers: Type.Record(text, text),
  body: text,
});

/** An answer to a request, as it is given again. */
export type KeptAnswer = Static<typeof KeptAnswer>;

/** A request with an Idempotency-Key that has its answer, as it is saved. `at` is in ms since the Unix epoch. */
export const KeptRequest = Type.Object({ user: text, key: text, print: text, at: Type.Number(), answer: KeptAnswer });
export type KeptRequest = Static<typeof KeptRequest>;
