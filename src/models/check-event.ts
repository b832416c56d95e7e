import { eventSchemas, eventTypes } from './events.ts';
import { checkOf } from './validator.ts';

/** The error of an event in the client's form: path and reason; undefined if it fits its model. */
type EventCheck = (message: unknown) => string | undefined;

/** Checks events: for development mode, because each check costs time. */
export function createEventCheck(): EventCheck {
  const checks = new Map(eventTypes.map((type) => [type as string, checkOf(eventSchemas[type])]));
  return (message) => {
    const { type } = message as { type?: unknown };
    const check = typeof type === 'string' ? checks.get(type) : undefined;
    if (!check) return `there is no event '${String(type)}'`;
    return check.fits(message) ? undefined : check.problems(message).join('; ');
  };
}
