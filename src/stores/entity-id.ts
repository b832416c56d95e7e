import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ids } from '../lib/ids.ts';

/** Six bytes in the form of a MAC address with the "locally administered" bit set, so that it is nobody's card (IEEE 802). */
function makeId(ids: Ids): string {
  const bytes = ids.hex(12).match(/../g) ?? [];
  const [first = '00', ...others] = bytes;
  const local = ((Number.parseInt(first, 16) & 0xfe) | 0x02).toString(16).padStart(2, '0');
  return [local, ...others].join(':');
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/**
 * The id of this system (`asterisk_id`), in the field's form `xx:xx:xx:xx:xx:xx`: made once, kept in the data directory,
 * the same after every restart. @throws Error when the directory cannot be read or written.
 */
export function keepEntityId(directory: string, ids: Ids): string {
  const file = join(directory, 'entity-id');
  try {
    const kept = readFileSync(file, 'utf8').trim();
    if (kept !== '') return kept;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const made = makeId(ids);
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, `${made}\n`);
  return made;
}
