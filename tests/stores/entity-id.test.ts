import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { StorageError } from '../../src/stores/durable-file.ts';
import { keepEntityId } from '../../src/stores/entity-id.ts';
import { createRecordingLog } from '../support/log.ts';
import { need } from '../support/need.ts';

type World = { directory: string };

const ids = createIds(systemClock);
const entity = suite<World>('the id of the system');

entity.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
});
entity.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

entity('is made once, looks like an address of nobody, and stays', ({ directory }) => {
  const { log, lines } = createRecordingLog();
  const made = keepEntityId(directory, ids, log);
  assert.match(made, /^[0-9a-f][26ae](:[0-9a-f]{2}){5}$/);
  assert.is(keepEntityId(directory, ids, log), made);
  assert.equal(readdirSync(directory), ['entity-id']);
  assert.equal(lines, []);
});

entity('whose file holds nothing is made anew, and the file set aside and told', ({ directory }) => {
  const { log, lines } = createRecordingLog();
  writeFileSync(join(directory, 'entity-id'), '\0\0\0');
  const made = keepEntityId(directory, ids, log);
  assert.is(keepEntityId(directory, ids, log), made);
  assert.equal(readdirSync(directory), ['entity-id', 'entity-id.bad']);
  assert.equal(
    lines.map(({ level, fields }) => [level, fields['aside'], fields['made']]),
    [['error', 'entity-id.bad', made]],
  );
});

need('mkfifo').test(entity, 'a pipe in place of the file is refused, not waited for', (mkfifo, { directory }) => {
  const pipe = join(directory, 'entity-id');
  execFileSync(mkfifo, [pipe]);
  const { log } = createRecordingLog();
  assert.throws(
    () => keepEntityId(directory, ids, log),
    (error: unknown) =>
      error instanceof StorageError && error.message === `${pipe} is a device or pipe where a file should be`,
  );
});

entity.run();
