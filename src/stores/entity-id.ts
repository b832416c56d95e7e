import { join } from 'node:path';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { readIfThere, StorageError, setAside, writeDurablySync } from './durable-file.ts';

/** Six bytes in the form of a MAC address with the "locally administered" bit, so that no card has it (IEEE 802). */
function makeId(ids: Ids): string {
  const bytes = ids.hex(12).match(/../g) ?? [];
  const [first = '00', ...others] = bytes;
  const local = ((Number.parseInt(first, 16) & 0xfe) | 0x02).toString(16).padStart(2, '0');
  return [local, ...others].join(':');
}

/**
 * The id of this system (`asterisk_id`), in Asterisk's form `xx:xx:xx:xx:xx:xx`: generated once and kept in the data
 * directory. A file without a valid id is renamed, that is logged, and a new id is generated.
 * @throws StorageError when the file cannot be read or written.
 */
export function keepEntityId(directory: string, ids: Ids, log: Logger): string {
  const file = join(directory, 'entity-id');
  const kept = readIfThere(file)?.trim();
  if (kept !== undefined && /^[\x21-\x7e]+$/.test(kept)) return kept;
  const made = makeId(ids);
  if (kept !== undefined)
    log.error({ file, aside: setAside(file), made }, 'cannot read the system id; created a new one');
  try {
    writeDurablySync(file, `${made}\n`);
  } catch (error) {
    throw new StorageError(file, error);
  }
  return made;
}
