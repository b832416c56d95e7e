import Type, { type Static } from 'typebox';
import { logLevels, logParts } from '../lib/log.ts';
import { model } from './schema.ts';

const level = (description: string) => Type.Enum([...logLevels], { description });

/** Log levels: the general one, and those of parts. */
export const Logging = model('Logging', 'The present log levels.', {
  level: level('The least serious kind of line that is written: trace, debug, info, warn, error, fatal, silent.'),
  parts: Type.Partial(
    Type.Object(Object.fromEntries(logParts.map((part) => [part, level(`Level of the part ${part}.`)]))),
    { description: 'Parts with their own level, by the field `part` of their lines.' },
  ),
});
export type Logging = Static<typeof Logging>;
