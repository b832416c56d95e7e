import { existsSync, renameSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { AriError } from '../models/errors.ts';
import type { LogChannel } from '../models/system.ts';
import { type LogFile, openLogFile } from './log-file.ts';

/** Words for levels that clients know, in the order in which Asterisk shows them. */
const levelWords = ['DEBUG', 'TRACE', 'NOTICE', 'WARNING', 'ERROR', 'VERBOSE', 'DTMF'] as const;
type LevelWord = (typeof levelWords)[number];

/** Log levels of each word. Digits are logged at debug level. */
const numbers: Readonly<Record<LevelWord, readonly number[]>> = {
  DEBUG: [20],
  TRACE: [10],
  NOTICE: [30],
  WARNING: [40],
  ERROR: [50, 60],
  VERBOSE: [30],
  DTMF: [],
};

/** Takes log lines; what the logger writes to. Named members as pino asks for them. */
interface LogDestination {
  /** Makes pino tell the level of each line before it is written. */
  readonly [metadata: symbol]: true;
  /** Number of the level of the line that is written next. */
  lastLevel: number;
  write(line: string): void;
}

/**
 * Destinations of log lines: the console, and files that clients create by name. A file gets the lines of its levels,
 * as far as the logger's own level allows. With a failing disk it is shown as disabled and recovers itself. Clients'
 * files are forgotten at a restart; their contents stay.
 */
export interface LogChannels {
  /** To be given to the logger as its destination. */
  readonly destination: LogDestination;
  list(): LogChannel[];
  /**
   * Begins to write a file of that name in the log directory.
   * @param configuration levels, comma-separated, in any case of letters; `*` for all.
   * @throws AriError logLevelsRequired, logLevelsInvalid, logChannelNameInvalid, logChannelExists, logChannelFailed
   */
  add(name: string, configuration: string | undefined): void;
  /** Stops writing to it; the file stays, and gets what was logged before. @throws AriError logChannelNotFound */
  delete(name: string): void;
  /**
   * Puts the file aside as `<name>.0`, `<name>.1` … and begins a new one.
   * @throws AriError logChannelNotFound, logChannelFailed
   */
  rotate(name: string): void;
  /** Opens the paths of files again that another program has renamed or removed. */
  reopen(): void;
  /** Resolves once every line is written. */
  close(): Promise<void>;
}

type LogChannelsOptions = {
  /** Log directory; made when the first file is. */
  directory: string;
  /** Additional destination of lines, with their level. */
  console: { write(line: string, level: number): void };
  /** Levels shown for the console. */
  consoleLevels: readonly LevelWord[];
  clock: Clock;
};

type FileChannel = {
  path: string;
  levels: readonly LevelWord[];
  wanted: ReadonlySet<number>;
  file: LogFile;
};

const consoleName = 'console';

/** Most files open at a time: file descriptors are what calls need, too. */
const mostFiles = 100;
const configurationOf = (levels: readonly LevelWord[]): string => levels.map((word) => `${word} `).join('');

function readLevels(configuration: string | undefined): readonly LevelWord[] {
  const words = (configuration ?? '')
    .split(',')
    // `verbose(3)`: Asterisk's verbosity has no counterpart here.
    .map((word) =>
      word
        .trim()
        .toUpperCase()
        .replace(/^VERBOSE\(\d+\)$/, 'VERBOSE'),
    )
    .filter((word) => word !== '');
  if (words.length === 0) throw new AriError('logLevelsRequired');
  const unknown = words.find((word) => word !== '*' && !(levelWords as readonly string[]).includes(word));
  const known = [...levelWords, '*'].join(', ').toLowerCase();
  if (unknown !== undefined) throw new AriError('logLevelsInvalid', { level: unknown.toLowerCase(), levels: known });
  return levelWords.filter((word) => words.includes('*') || words.includes(word));
}

/** The path of a file in the log directory. @throws AriError logChannelNameInvalid */
function pathWithin(root: string, name: string): string {
  const path = resolve(root, name);
  const inside = relative(root, path);
  if (name === '' || name.includes('\0') || inside === '' || inside.startsWith('..') || join(root, inside) !== path)
    throw new AriError('logChannelNameInvalid', { name });
  return path;
}

/** Files that are no longer written to, until their last lines are. */
function createLeaving() {
  const leaving = new Set<Promise<void>>();
  return {
    leaving,
    leave(file: LogFile): void {
      const left = file.close().finally(() => leaving.delete(left));
      leaving.add(left);
    },
  };
}

export function createLogChannels(options: LogChannelsOptions): LogChannels {
  const { directory, console: terminal, consoleLevels, clock } = options;
  const root = resolve(directory);
  const files = new Map<string, FileChannel>();
  const { leave, leaving } = createLeaving();

  const tellLost = (lost: number): string =>
    `${JSON.stringify({ level: 40, time: clock.now(), lost, msg: 'log lines were lost: the disk did not take them' })}\n`;

  const open = (path: string): LogFile => {
    try {
      return openLogFile({ path, clock, tellLost });
    } catch (error) {
      throw new AriError('logChannelFailed', {}, { cause: error });
    }
  };

  const find = (name: string): FileChannel => {
    const channel = files.get(name);
    if (!channel) throw new AriError('logChannelNotFound');
    return channel;
  };

  const destination: LogDestination = {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line) {
      terminal.write(line, destination.lastLevel);
      for (const { wanted, file } of files.values()) if (wanted.has(destination.lastLevel)) file.write(line);
    },
  };

  return {
    destination,

    list: () => [
      { channel: '', type: 'Console', status: 'Enabled', configuration: configurationOf(consoleLevels) },
      ...[...files.values()].map(({ path, levels, file }) => ({
        channel: path,
        type: 'File',
        status: file.failed ? 'Disabled' : 'Enabled',
        configuration: configurationOf(levels),
      })),
    ],

    add(name, configuration) {
      const levels = readLevels(configuration);
      if (name.toLowerCase() === consoleName || files.has(name)) throw new AriError('logChannelExists');
      const path = pathWithin(root, name);
      if ([...files.values()].some((other) => other.path === path)) throw new AriError('logChannelExists');
      if (files.size >= mostFiles) throw new AriError('logChannelFailed');
      const channel: FileChannel = {
        path,
        levels,
        wanted: new Set(levels.flatMap((word) => numbers[word])),
        file: open(path),
      };
      files.set(name, channel);
    },

    delete(name) {
      leave(find(name).file);
      files.delete(name);
    },

    rotate(name) {
      const channel = find(name);
      let number = 0;
      while (existsSync(`${channel.path}.${number}`)) number++;
      try {
        renameSync(channel.path, `${channel.path}.${number}`);
      } catch (error) {
        throw new AriError('logChannelFailed', {}, { cause: error });
      }
      // The old stream's rest goes to the renamed file: it writes to its open descriptor.
      leave(channel.file);
      channel.file = open(channel.path);
    },

    reopen() {
      for (const channel of files.values()) {
        if (channel.file.isAtItsPath()) continue;
        try {
          const next = open(channel.path);
          leave(channel.file);
          channel.file = next;
        } catch {
          // The file that is open goes on, and the next one is tried.
        }
      }
    },

    async close() {
      const open = [...files.values()].map(({ file }) => file);
      files.clear();
      await Promise.all([...open.map((file) => file.close()), ...leaving]);
    },
  };
}
