import { createTally } from '../lib/tally.ts';
import { StorageError } from '../stores/durable-file.ts';
import { openRotatedFile } from '../stores/rotated-file.ts';
import type { Base } from './base.ts';

/**
 * The file of the audit log; undefined where there is none. A disk that takes no lines stops nothing: they are counted.
 * @throws StorageError when it cannot be opened at first.
 */
export function buildAudit({ config: { audit }, clock, log, scope }: Base) {
  if (audit.file === '') return undefined;
  const about = log.child({ part: 'http' });
  const lost = createTally(clock, about, 'lines of the audit log are lost: its disk does not take them');
  const figures = { lines: 0, lost: 0 };
  const open = () =>
    openRotatedFile({
      path: audit.file,
      clock,
      maximumOctets: audit.file_size * 1_000_000,
      keep: audit.files,
      tellLost: (lines) => `${JSON.stringify({ event: 'lost', lines })}\n`,
      onFailed: (error) => about.error({ error, file: audit.file }, 'the audit log cannot be written'),
      onStuck: (error) => about.error({ error, file: audit.file }, 'the file of the audit log cannot be put aside'),
    });
  let file: ReturnType<typeof open>;
  try {
    file = open();
  } catch (error) {
    throw new StorageError(audit.file, error);
  }
  scope.defer(() => file.close());
  return {
    write(line: string) {
      figures.lines++;
      if (file.failed) {
        figures.lost++;
        lost({ file: audit.file });
      }
      file.write(line);
    },
    figures: () => figures,
  };
}
