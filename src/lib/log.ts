import { type DestinationStream, type LevelWithSilent, pino } from 'pino';

/** What the layers log with: fields first, then a sentence. `child` adds fields to every line. */
export interface Logger {
  trace(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

export type LogOptions = { level: LevelWithSilent; destination?: DestinationStream };

/** A pino logger writing JSON lines to `destination` (standard output by default); errors keep stack and cause. */
export function createLogger({ level, destination }: LogOptions): Logger {
  const options = { level, base: null, serializers: { error: pino.stdSerializers.errWithCause } };
  return destination ? pino(options, destination) : pino(options);
}
