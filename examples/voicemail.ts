import { connect } from 'hookswitch/client';

// Takes a message after the beep, up to #, and plays it back: 1 plays it again, 7 deletes it, hanging up keeps it.

const { HOOKSWITCH_URL: url = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

const channelOf = (uri: string) => uri.slice('channel:'.length);
/** By channel: the message that was left, and what it hears. */
const messages = new Map<string, string>();
const playing = new Map<string, string>();
/** Channels whose callers have not hung up. */
const callers = new Set<string>();

/** Plays something to a channel instead of what it hears now. */
async function play(id: string, media: string): Promise<void> {
  const before = playing.get(id);
  // It may be over by itself.
  if (before !== undefined) await ari.playbacks.stop({ playbackId: before }).catch(() => {});
  playing.set(id, (await ari.channels.play({ channelId: id, media })).id);
}

ari.on('StasisStart', async ({ channel }) => {
  callers.add(channel.id);
  await ari.channels.answer({ channelId: channel.id });
  const limits = { maxDurationSeconds: 120, maxSilenceSeconds: 10, terminateOn: '#' as const };
  const message = { name: `message-${channel.id}`, format: 'wav', beep: true, ...limits };
  await ari.channels.record({ channelId: channel.id, ...message });
  console.log(`${channel.caller.number} speaks`);
});

ari.on('RecordingFinished', async ({ recording }) => {
  const id = channelOf(recording.target_uri);
  console.log(`${recording.name} is kept, ${recording.duration} s`);
  if (!callers.has(id)) return;
  messages.set(id, recording.name);
  await play(id, `recording:${recording.name}`);
});

// Without a disk there is no message to leave.
ari.on('RecordingFailed', async ({ recording }) => {
  const id = channelOf(recording.target_uri);
  if (callers.has(id)) await ari.channels.hangup({ channelId: id });
});

ari.on('ChannelDtmfReceived', async ({ channel: { id }, digit }) => {
  const recordingName = messages.get(id);
  if (recordingName === undefined) return;
  if (digit === '1') await play(id, `recording:${recordingName}`);
  if (digit !== '7') return;
  messages.delete(id);
  await play(id, 'sound:goodbye');
  await ari.recordings.deleteStored({ recordingName });
  console.log(`${recordingName} is deleted`);
});

ari.on('PlaybackFinished', async ({ playback }) => {
  const id = channelOf(playback.target_uri);
  if (playing.get(id) === playback.id) playing.delete(id);
  if (playback.media_uri === 'sound:goodbye' && callers.has(id)) await ari.channels.hangup({ channelId: id });
});

ari.on('ChannelHangupRequest', ({ channel }) => callers.delete(channel.id));
ari.on('StasisEnd', ({ channel: { id } }) => {
  callers.delete(id);
  messages.delete(id);
  playing.delete(id);
});
// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
