import { Compile, type Validator } from 'typebox/compile';
import { type AriEventType, eventSchemas, eventTypes } from './events.ts';

/** The error of an event in the client's form: path and reason; undefined if it fits its model. */
type EventCheck = (message: unknown) => string | undefined;

/** Compiles every event's schema once; for development mode, because each check costs time. */
export function createEventCheck(): EventCheck {
  const validators = new Map<string, Validator>(
    eventTypes.map((type: AriEventType) => [type, Compile(eventSchemas[type])]),
  );
  return (message) => {
    const { type } = message as { type?: unknown };
    const validator = typeof type === 'string' ? validators.get(type) : undefined;
    if (!validator) return `there is no event '${String(type)}'`;
    if (validator.Check(message)) return undefined;
    return validator
      .Errors(message)
      .map(({ instancePath, message: reason }) => `${instancePath || '/'} ${reason}`)
      .join('; ');
  };
}
