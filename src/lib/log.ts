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

/** The least serious kind of line that is written. */
export type LogLevel = LevelWithSilent;

/** A logger whose level can be changed while it runs, that of its children with it. */
export interface RootLogger extends Logger {
  setLevel(level: LogLevel): void;
}

export type LogOptions = { level: LogLevel; destination?: DestinationStream };

const severity = (level: LogLevel): number => pino.levels.values[level] ?? Number.POSITIVE_INFINITY;

/** A pino logger writing JSON lines to `destination` (standard output by default); errors keep stack and cause. */
export function createLogger({ level, destination }: LogOptions): RootLogger {
  const options = { level: 'trace', base: null, serializers: { error: pino.stdSerializers.errWithCause } };
  const limit: Limit = { severity: severity(level) };
  return Object.assign(limited(destination ? pino(options, destination) : pino(options), limit), {
    setLevel(changed: LogLevel) {
      limit.severity = severity(changed);
    },
  });
}

type Limit = { severity: number };

/** The level is held in one place: pino gives each child one of its own. */
function limited(log: Logger, limit: Limit): Logger {
  const at = (name: 'trace' | 'debug' | 'info' | 'warn' | 'error') => {
    const own = severity(name);
    return (fields: object, message: string) => {
      if (own >= limit.severity) log[name](fields, message);
    };
  };
  return {
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => limited(log.child(fields), limit),
  };
}
