import { type TSchema, type TSchemaOptions, Type } from 'typebox';
import { absentFormatNames, formatNames } from '../lib/formats.ts';

/** Properties of a setting beside its type. */
type About = TSchemaOptions & {
  description: string;
  default?: unknown;
  /** The unit of a number, e.g. `s`, `ms`, `bytes`. */
  unit?: string;
  /** A rule on a string beyond its type, checked in `rules.ts`. */
  rule?: Rule;
  /** A list that may also be written as one comma-separated string. */
  commaList?: boolean;
};

/** Names of the rules that strings can have. */
export type Rule =
  | 'address'
  | 'network'
  | 'directory'
  | 'file'
  | 'nameServer'
  | 'stunServer'
  | 'turnServer'
  | 'passwordHash'
  | 'sipUri'
  | 'origin'
  | 'webSocketUrl'
  | 'httpUrl'
  | 'header'
  | 'token';

/** Text. */
export const text = (about: About) => Type.String(about);
/** Yes or no. */
export const flag = (about: About & { default: boolean }) => Type.Boolean(about);
/** A whole number, both bounds included. */
export const whole = (minimum: number, maximum: number, about: About) => Type.Integer({ minimum, maximum, ...about });
/** A number, both bounds included. */
export const number = (minimum: number, maximum: number, about: About) => Type.Number({ minimum, maximum, ...about });
/** One of a few words. */
export const choice = <T extends string[]>(values: readonly [...T], about: About) => Type.Enum(values, about);
/** A list of things of one kind. */
export const list = <T extends TSchema>(items: T, about: About) => Type.Array(items, about);
/** An optional setting without default. */
export const optional = Type.Optional;

/** A group of settings. A group that is left out has all its defaults. */
export function group<T extends Record<string, TSchema>>(properties: T, description: string) {
  return Type.Object(properties, { description, additionalProperties: false });
}

/** Named things of one kind: the name is the key. */
export const named = <T extends TSchema>(value: T, about: About) =>
  Type.Record(Type.String({ minLength: 1 }), value, about);

/** Named things that are checked elsewhere. */
export const opaque = (about: About) => named(Type.Unknown({ opaque: true, description: about.description }), about);

/** Name of a codec. */
export const codec = Type.Enum([...formatNames], { absent: absentFormatNames });
/** A UDP or TCP port. */
export const port = (about: About) => whole(0, 65_535, { unit: 'port', ...about });
