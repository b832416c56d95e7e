/** Records something like speech and says so after each batch, until it is killed: `record-until-killed.ts PATH FORMAT`. */
import { stat } from 'node:fs/promises';
import { openRecording } from '../../../src/media/file/recording-writer.ts';
import { speech } from '../signal.ts';

const [path = '', format = ''] = process.argv.slice(2);
const writer = await openRecording(
  { path, format, channels: 1, ifExists: 'fail', serial: 7, batchMs: 200, maximumBacklogOctets: 1e6 },
  (error) => {
    throw error;
  },
);
const audio = speech(writer.sampleRate, 4);
const size = writer.sampleRate / 50;
for (let index = 0; ; index = (index + 1) % 200) {
  writer.write(audio.subarray(index * size, (index + 1) * size));
  // The disk gets its turn, as between ticks.
  const { size: octets } = await stat(`${path}.part`);
  if (writer.durationMs % 1000 === 0) process.stdout.write(`${writer.durationMs} ${octets}\n`);
}
