import Type, { type TObject, type TProperties } from 'typebox';

/**
 * A model of the public vocabulary: an object schema with a name (`$id`) and a description. The name is what the
 * API documents refer to it by; a schema without a name is written out where it is used.
 */
export function model<P extends TProperties>(name: string, description: string, properties: P): TObject<P> {
  return Type.Object(properties, { $id: name, description });
}

/** A string described for the API documents. */
export const text = (description: string) => Type.String({ description });

/** A whole number described for the API documents. */
export const int = (description: string) => Type.Integer({ description });

/** A number described for the API documents. */
export const double = (description: string) => Type.Number({ description });

/** A list of strings described for the API documents. */
export const texts = (description: string) => Type.Array(Type.String(), { description });

/** Names with string values, e.g. variables. */
export const stringMap = (description: string) => Type.Record(Type.String(), Type.String(), { description });

/** An object with members of any kind. */
export const anyObject = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });

/** Yes or no. */
export const flag = (description: string) => Type.Boolean({ description });
