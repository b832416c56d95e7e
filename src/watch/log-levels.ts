import { type LogLevel, type LogLevels, type LogPart, logLevels, logParts, type RootLogger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';

/** Who changes what is logged while the server runs. */
export interface LogLevelControl {
  get(): LogLevels;
  /**
   * Changes the level of all parts, those of single ones, or both; what is left out stays.
   * @param parts an object of levels by part; parts that it does not name have no level of their own any more.
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
      log.info({ levels: log.levels }, 'a client changed the log levels');
      return log.levels;
    },
  };
}
