import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { leaveAudio } from '../../src/build/leaving.ts';
import { defaults } from '../../src/config/load.ts';
import { silentLog as log } from '../support/log.ts';

const rest = suite('the end of the audio that a process leaves');

/** Leaves audio in a directory. @returns whether the next process is told that it is written, once the calls are. */
async function leave(directory: string): Promise<boolean[]> {
  const config = defaults();
  config.general.data_directory = directory;
  const told: boolean[] = [];
  const supervised = { standStill: (_: number, silent: () => boolean) => told.push(silent()) };
  const media = { linger: async () => {}, halt: () => ({ sessions: [] }) };
  let isWritten = false;
  const written = (): void => {
    isWritten = true;
  };
  await leaveAudio({ config, log, io: { supervised } } as never, media as never, { lingers: true, written });
  assert.ok(isWritten);
  return told;
}

rest('the next process is told of it only where it could be written', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-rest-'));
  try {
    assert.equal(await leave(directory), [true]);
    assert.equal(JSON.parse(readFileSync(join(directory, 'audio.json'), 'utf8')), { sessions: [] });
    rmSync(join(directory, 'audio.json'));
    mkdirSync(join(directory, 'audio.json'));
    assert.equal(await leave(directory), [false]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

rest.run();
