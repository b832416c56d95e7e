import { join } from 'node:path';
import type { Config } from './config/schema.ts';
import type { Clock } from './lib/clock.ts';
import { createLogger, type RootLogger } from './lib/log.ts';
import { createLogChannels, type LogChannels } from './stores/log-channels.ts';

/** The logger, and the channels that its lines go to. */
export type Logging = { log: RootLogger; logChannels: LogChannels };

/** @param output where lines go besides the log files that clients ask for. */
export function createLogging(config: Config, output: { write(line: string): unknown }, clock: Clock): Logging {
  const logChannels = createLogChannels({
    directory: join(config.general.data_directory, 'log'),
    console: { write: (line) => void output.write(line) },
    consoleLevels: ['NOTICE', 'WARNING', 'ERROR'],
    clock,
  });
  const log = createLogger({ level: config.general.log_level, destination: logChannels.destination });
  return { log, logChannels };
}
