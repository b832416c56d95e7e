import { Compile, type Validator } from 'typebox/compile';
import { type AriEventType, eventSchemas } from './events.ts';

/** The error of an event in the client's form: path and reason; undefined if it fits its model. */
type EventCheck = (message: unknown) => string | undefined;

/** Compiles each event's schema when the first one comes; for development mode, because each check costs time. */
export function createEventCheck(): EventCheck {
  const validators = new Map<string, Validator>();
  const validatorOf = (type: string): Validator | undefined => {
    if (!Object.hasOwn(eventSchemas, type)) return undefined;
    const validator = validators.get(type) ?? Compile(eventSchemas[type as AriEventType]);
    validators.set(type, validator);
    return validator;
  };
  return (message) => {
    const { type } = message as { type?: unknown };
    const validator = typeof type === 'string' ? validatorOf(type) : undefined;
    if (!validator) return `there is no event '${String(type)}'`;
    if (validator.Check(message)) return undefined;
    return validator
      .Errors(message)
      .map(({ instancePath, message: reason }) => `${instancePath || '/'} ${reason}`)
      .join('; ');
  };
}
