import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

/** Says whether values fit a schema. */
type SchemaCheck<Value> = {
  fits(value: unknown): value is Value;
  /** A text for each place where a value does not fit: its path (JSON Pointer, `/` for the whole) and the reason. */
  problems(value: unknown): string[];
};

/** The check of a schema. It is compiled on first use: that takes up to 1 MB of memory, and most servers need few checks. */
export function checkOf<const Schema extends TSchema>(schema: Schema): SchemaCheck<Static<Schema>> {
  let compiled: Validator | undefined;
  const validator = (): Validator => {
    compiled ??= Compile(schema as TSchema);
    return compiled;
  };
  return {
    fits: (value): value is Static<Schema> => validator().Check(value),
    problems: (value) =>
      validator()
        .Errors(value)
        .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`),
  };
}
