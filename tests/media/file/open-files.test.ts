import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { OpenFiles } from '../../../src/media/file/open-files.ts';
import {
  defaultRecordingLimits,
  openRecording,
  type RecordingError,
} from '../../../src/media/file/recording-writer.ts';

test('recordings of a dropped engine are closed, also those opened afterwards; written audio stays', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'hookswitch-files-'));
  const files = new OpenFiles();
  const failures: (string | undefined)[] = [];
  const record = (name: string, failed: (error: RecordingError) => void) => {
    const path = join(directory, name);
    const how = { format: 'wav', channels: 1, ifExists: 'fail', serial: 1, files } as const;
    return openRecording({ ...defaultRecordingLimits, ...how, path }, failed);
  };
  const write = (writer: Awaited<ReturnType<typeof record>>) => {
    for (let n = 0; n < 60; n++) writer.write(new Int16Array(160));
  };
  try {
    const whole = await record('whole.wav', (error) => failures.push(error.message));
    write(whole);
    await whole.finish();
    const over = await record('over.wav', (error) => failures.push(error.message));
    await files.closeAll();
    await over.finish().then(
      () => assert.unreachable('it was written'),
      () => undefined,
    );
    assert.is((await readFile(join(directory, 'over.wav.part'))).toString('latin1', 0, 4), 'RIFF');
    await record('late.wav', (error) => failures.push(error.message)).then(
      () => assert.unreachable('it was opened'),
      () => undefined,
    );
    assert.equal(failures, []);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

test.run();
