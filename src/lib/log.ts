import { type DestinationStream, type LevelWithSilent, pino } from 'pino';

/** The logger of all layers: fields first, then a sentence. `child` adds fields to every line. */
export interface Logger {
  trace(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
  /** Whether lines of this kind are written now: for lines whose fields cost something to gather. */
  enabled(level: 'trace' | 'debug' | 'info'): boolean;
}

/** The least serious kind of line that is written. */
export type LogLevel = LevelWithSilent;

/** Every level, the most talkative one first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const satisfies LogLevel[];

/** Parts with their own log level: the field `part` of their lines. */
export const logParts = [
  'calls',
  'charts',
  'sip',
  'media',
  'http',
  'dialplan',
  'bans',
  'outbound',
  'external',
  'records',
] as const;
export type LogPart = (typeof logParts)[number];

/** The level of all lines, and those of parts where they are others. */
export type LogLevels = { level: LogLevel; parts: Readonly<Partial<Record<LogPart, LogLevel>>> };

/** A logger whose levels can be changed while it runs, those of its children with them. */
export interface RootLogger extends Logger {
  /** Changes the level of all parts that have none of their own. */
  setLevel(level: LogLevel): void;
  /** Sets all levels; a part that is left out loses its own. */
  setLevels(levels: LogLevels): void;
  readonly levels: LogLevels;
  /** Calls back now and after each change of levels. */
  onLevels(listener: () => void): void;
  /** From now on every line about a channel or a bridge names its call (`call`), where that is known. */
  nameCalls(callOf: CallOf): void;
}

/** The id of the call of a channel or a bridge. */
type CallOf = (kind: 'channel' | 'bridge', id: string) => string | undefined;

type LogOptions = {
  level: LogLevel;
  /** Levels of parts. */
  parts?: LogLevels['parts'];
  destination?: DestinationStream;
};

const severity = (level: LogLevel): number => pino.levels.values[level] ?? Number.POSITIVE_INFINITY;

/**
 * A pino logger with JSON lines to `destination` (default: standard output); errors keep cause and stack, see `logged`. A child with
 * the field `part` belongs to that part.
 */
export function createLogger({ level, parts = {}, destination }: LogOptions): RootLogger {
  let callOf: CallOf = () => undefined;
  const options = {
    level: 'trace',
    base: null,
    serializers: { error: logged },
    formatters: { log: (fields: object) => withCall(fields, callOf) },
  };
  const listeners: (() => void)[] = [];
  let levels: LogLevels = { level, parts };
  const limits = new Map<string | undefined, Limit>();
  const limitOf: LimitOf = (part) => {
    const known = limits.get(part);
    if (known) return known;
    const limit = { severity: severityOf(levels, part) };
    limits.set(part, limit);
    return limit;
  };
  const setLevels = (changed: LogLevels): void => {
    levels = changed;
    for (const [part, limit] of limits) limit.severity = severityOf(levels, part);
    for (const listener of listeners) listener();
  };
  const root = limited(destination ? pino(options, destination) : pino(options), limitOf(undefined), limitOf);
  return {
    ...root,
    setLevel: (changed) => setLevels({ ...levels, level: changed }),
    setLevels,
    get levels() {
      return levels;
    },
    onLevels: (listener) => void listeners.push(listener),
    nameCalls(lookUp) {
      callOf = lookUp;
    },
  };
}

type LoggedError = { errno?: unknown; syscall?: unknown; stack?: string; cause?: LoggedError };

/** An error as it is logged. What the system refused (a full disk, a closed port) needs no stack: the sentence says where. */
function logged(error: Error): LoggedError {
  const all = pino.stdSerializers.errWithCause(error) as LoggedError;
  withoutStack(all);
  return all;
}

/** Removes the stack of a system error, and of an error that it caused. @returns whether it was one. */
function withoutStack(error: LoggedError | undefined): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const isOfSystem =
    withoutStack(error.cause) || (typeof error.errno === 'number' && typeof error.syscall === 'string');
  if (isOfSystem) delete error.stack;
  return isOfSystem;
}

function withCall(fields: object, callOf: CallOf): Record<string, unknown> {
  const known = fields as Record<string, unknown>;
  if ('call' in known) return known;
  const kind = 'channel' in known ? 'channel' : 'bridge';
  const id = known[kind];
  const call = typeof id === 'string' ? callOf(kind, id) : undefined;
  return call === undefined ? known : { call, ...known };
}

type Limit = { severity: number };
/** The limit of a part; of all others where none is named. One for all children of the same part. */
type LimitOf = (part: string | undefined) => Limit;

const severityOf = ({ level, parts }: LogLevels, part: string | undefined): number =>
  severity((part === undefined ? undefined : parts[part as LogPart]) ?? level);

type PinoLike = Omit<Logger, 'child' | 'enabled'> & { child(fields: object): PinoLike };

/** The level is held in one place for each part: pino gives each child one of its own. */
function limited(log: PinoLike, limit: Limit, limitOf: LimitOf): Logger {
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
    child: (fields) => limited(log.child(fields), 'part' in fields ? limitOf(String(fields.part)) : limit, limitOf),
    enabled: (level) => severity(level) >= limit.severity,
  };
}
