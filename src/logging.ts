import { join } from 'node:path';
import type { Config } from './config/schema.ts';
import type { Clock } from './lib/clock.ts';
import { createLogger, type LogLevels, type RootLogger } from './lib/log.ts';
import { createLogChannels, type LogChannels } from './stores/log-channels.ts';

/** The levels that the configuration asks for. */
export const logLevelsOf = ({ general }: Config): LogLevels => ({
  level: general.log_level,
  parts: Object.fromEntries(Object.entries(general.log_levels).filter(([, level]) => level !== 'same')),
});

/** The logger, and the channels that its lines go to. */
export type Logging = { log: RootLogger; logChannels: LogChannels };

/** Level from which lines are written immediately, with all waiting ones: the process may end next. */
const urgent = 40;

/** @param output destination of lines besides clients' log files; lines that may wait are marked. */
export function createLogging(
  config: Config,
  output: { write(line: string, waits?: boolean): unknown },
  clock: Clock,
): Logging {
  const logChannels = createLogChannels({
    directory: join(config.general.data_directory, 'log'),
    console: { write: (line, level) => void output.write(line, level < urgent) },
    consoleLevels: ['NOTICE', 'WARNING', 'ERROR'],
    clock,
  });
  const log = createLogger({ ...logLevelsOf(config), destination: logChannels.destination });
  return { log, logChannels };
}
