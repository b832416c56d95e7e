import type { Config } from '../config/schema.ts';
import type { AuditFile } from '../http/env.ts';
import type { Logger } from '../lib/log.ts';
import { createTally } from '../lib/tally.ts';
import type { AuditCounts } from '../models/server-info.ts';
import { StorageError } from '../stores/durable-file.ts';
import { openRotatedFile, type RotatedFile, type RotationBounds } from '../stores/rotated-file.ts';
import type { Base } from './base.ts';
import type { Reloadable } from './reload.ts';

type Settings = Config['audit'];

/** The present file of the audit log. */
export type AuditLog = AuditFile & {
  /** Counts of its lines since the start; undefined without a file. */
  figures(): AuditCounts | undefined;
  /** Opens the file again if another program has renamed it. */
  reopen(): void;
  readonly reloads: Reloadable[];
};

const boundsOf = ({ file_size, files }: Settings): RotationBounds => ({
  maximumOctets: file_size * 1_000_000,
  keep: files,
});

/**
 * The file of the audit log, which follows the configuration. A disk that takes no lines stops nothing: they are counted.
 * @throws StorageError when it cannot be opened at first; one that cannot be later is refused, and the old one stays.
 */
export function buildAudit({
  config,
  clock,
  log,
  scope,
}: Pick<Base, 'config' | 'clock' | 'scope'> & { log: Logger }): AuditLog {
  const about = log.child({ part: 'http' });
  const lost = createTally(clock, about, 'lines of the audit log are lost: its disk does not take them');
  const figures = { lines: 0, lost: 0 };
  let current: { path: string; file: RotatedFile } | undefined;
  let closed: Promise<unknown> = Promise.resolve();

  const open = (settings: Settings): typeof current => {
    const path = settings.file;
    if (path === '') return undefined;
    const file = openRotatedFile({
      ...{ path, clock, ...boundsOf(settings) },
      tellLost: (lines) => `${JSON.stringify({ event: 'lost', lines })}\n`,
      onFailed: (error) => about.error({ error, file: path }, 'the audit log cannot be written'),
      onStuck: (error) => about.error({ error, file: path }, 'the file of the audit log cannot be put aside'),
    });
    return { path, file };
  };
  const openOrThrow = (settings: Settings): typeof current => {
    try {
      return open(settings);
    } catch (error) {
      throw new StorageError(settings.file, error);
    }
  };
  /** @throws StorageError when another file cannot be opened. */
  const follow = (settings: Settings): void => {
    // The same file goes on, so that its lines stay in their order.
    if (settings.file === current?.path) {
      current.file.limit(boundsOf(settings));
      return;
    }
    const next = openOrThrow(settings);
    closed = Promise.all([closed, current?.file.close()]);
    current = next;
  };

  current = openOrThrow(config.audit);
  scope.defer(async () => {
    await Promise.all([closed, current?.file.close()]);
  });
  return {
    get on() {
      return current !== undefined;
    },
    write(line) {
      if (!current) return;
      figures.lines++;
      if (current.file.failed) {
        figures.lost++;
        lost({ file: current.path });
      }
      current.file.write(line);
    },
    figures: () => current && figures,
    reopen: () => current?.file.reopen(),
    reloads: [{ settings: ['audit'], apply: (next) => follow(next.audit) }],
  };
}
