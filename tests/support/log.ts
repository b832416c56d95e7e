import type { Logger, RootLogger } from '../../src/lib/log.ts';

const silent = (): void => {};

/** A logger that keeps nothing. */
export const silentLog: Logger = {
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  child: () => silentLog,
  enabled: () => false,
};

/** A line as it was logged. */
export type LoggedLine = {
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
};

/** A logger that keeps every line, those of its children too; what `child` adds is left out. */
export function recordingLog(): RootLogger & { lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at = (level: LoggedLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: fields as Record<string, unknown> });
  const log: RootLogger & { lines: LoggedLine[] } = {
    lines,
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
    enabled: () => true,
    levels: { level: 'trace', parts: {} },
    setLevel: silent,
    setLevels: silent,
    onLevels: silent,
    nameCalls: silent,
  };
  return log;
}

/** The same, with its lines beside it. */
export function createRecordingLog(): { log: Logger; lines: LoggedLine[] } {
  const log = recordingLog();
  return { log, lines: log.lines };
}
