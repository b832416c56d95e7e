import * as assert from 'uvu/assert';
import { onServer } from '../support/server.ts';

/** Records into a directory that has no room: run by recordings.test.ts, where a small disk is mounted there. */
const [directory = ''] = process.argv.slice(2);
const dialplan = { default: { talks: ['Answer', 'Wait(3600)'] } };

await onServer({ dialplan, recordings: { directory } }, async (server) => {
  const app = await server.app('desk');
  await app.ok('POST', '/channels?endpoint=Local/talks@default&app=desk&channelId=caller');
  await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/caller/record?name=short&format=ulaw&maxDurationSeconds=1');
  await app.waitFor('RecordingFinished');
  await app.ok('POST', '/channels/caller/record?name=long&format=wav16');
  const failed = await app.waitFor('RecordingFailed');
  assert.equal([failed.recording.name, failed.recording.cause], ['long', 'no space is left on the disk']);
  assert.is((await app.ok<{ state: string }>('GET', '/channels/caller')).state, 'Up', 'the call goes on');
  await app.ok('POST', '/channels/caller/play?media=sound:beep');
  const { playback } = await app.waitFor('PlaybackFinished');
  assert.is(playback.state, 'done');
  assert.equal(await app.ok('GET', '/recordings/stored/short'), { name: 'short', format: 'ulaw' });
  assert.is((await app.request('GET', '/recordings/live/long')).status, 404);
  await app.ok('DELETE', '/recordings/stored/short');
  await app.ok('DELETE', '/channels/caller');
});
process.stdout.write('done\n');
