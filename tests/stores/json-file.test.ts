import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Logger } from '../../src/lib/log.ts';
import { createJsonFile } from '../../src/stores/json-file.ts';
import { createRecordingLog } from '../support/log.ts';

type World = { directory: string; errors: () => string[]; log: Logger };

const keeping = suite<World>('JSON files');

keeping.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const { log, lines } = createRecordingLog();
  world.errors = () => lines.filter(({ level }) => level === 'error').map(({ message }) => message);
  world.log = log;
});
keeping.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

keeping(
  'a file holds the last value saved, and further ones become one while it is written',
  async ({ directory, log, errors }) => {
    const file = createJsonFile<number>({ directory: join(directory, 'new'), name: 'n.json', log, read: Number });
    assert.is(file.load(), undefined);
    let asked = 0;
    for (let n = 1; n <= 100; n++)
      file.save(() => {
        asked++;
        return n;
      });
    await file.flush();
    assert.is(file.load(), 100);
    assert.ok(asked < 100, `written ${asked} times`);
    await file.flush();
    assert.equal(errors(), []);
  },
);

keeping(
  'a file that cannot be read or written is logged, and the next save tries again',
  async ({ directory, log, errors }) => {
    writeFileSync(join(directory, 'n.json'), 'not JSON');
    const file = createJsonFile<number>({ directory, name: 'n.json', log, read: Number });
    assert.is(file.load(), undefined);
    file.save(() => {
      throw new Error('no value');
    });
    await file.flush();
    assert.equal(errors(), [
      'a file of the data directory could not be read',
      'a file of the data directory could not be written',
    ]);
    file.save(() => 7);
    await file.flush();
    assert.is(file.load(), 7);
  },
);

keeping.run();
