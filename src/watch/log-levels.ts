import { type LogLevel, type LogLevels, type LogPart, logLevels, logParts, type RootLogger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';

/** Changes log levels at run time. */
export interface LogLevelControl {
  get(): LogLevels;
  /**
   * Changes the general level, levels of parts, or both; others stay.
   * @param parts an object of levels by part; other parts lose their own level.
   * @throws AriError logLevelUnknown, logPartUnknown; then nothing is changed.
   */
  set(request: { level?: string | undefined; parts?: unknown }): LogLevels;
}

const readLevel = (word: unknown): LogLevel => {
  const level = logLevels.find((known) => known === word);
  if (level === undefined) throw new AriError('logLevelUnknown', { level: String(word), levels: logLevels.join(', ') });
  return level;
};

function readParts(parts: unknown): LogLevels['parts'] {
  if (typeof parts !== 'object' || parts === null || Array.isArray(parts)) throw new AriError('logPartsInvalid');
  return Object.fromEntries(
    Object.entries(parts).map(([name, level]) => {
      const part = logParts.find((known) => known === name);
      if (part === undefined) throw new AriError('logPartUnknown', { part: name, parts: logParts.join(', ') });
      return [part, readLevel(level)] satisfies [LogPart, LogLevel];
    }),
  );
}

/** Makes the control of a logger. */
export function createLogLevels(log: RootLogger): LogLevelControl {
  return {
    get: () => log.levels,
    set({ level, parts }) {
      const { levels } = log;
      log.setLevels({
        level: level === undefined ? levels.level : readLevel(level),
        parts: parts === undefined ? levels.parts : readParts(parts),
      });
      log.info({ levels: log.levels }, 'log levels changed by a client');
      return log.levels;
    },
  };
}
