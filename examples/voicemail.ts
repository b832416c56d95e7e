import { AriClient } from '@ipcom/asterisk-ari';

// Takes a message after the beep, up to #, and plays it back: 1 plays it again, 7 deletes it, hanging up keeps it.

type Call = { channel: { id: string; caller: { number: string } } };
type Digit = Call & { digit: string };
type Recorded = { recording: { name: string; target_uri: string; duration?: number } };
type Played = { playback: { id: string; media_uri: string; target_uri: string } };

const { HOOKSWITCH_URL = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const { hostname: host, port } = new URL(HOOKSWITCH_URL);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

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
  if (before !== undefined) await ari.playbacks.stop(before).catch(() => {});
  playing.set(id, (await ari.Channel(id).play({ media })).id);
}

ari.on('StasisStart', async ({ channel }: Call) => {
  callers.add(channel.id);
  await ari.channels.answerChannel(channel.id);
  const limits = { maxDurationSeconds: 120, maxSilenceSeconds: 10, terminateOn: '#' as const };
  await ari.channels.record(channel.id, { name: `message-${channel.id}`, format: 'wav', beep: true, ...limits });
  console.log(`${channel.caller.number} speaks`);
});

ari.on('RecordingFinished', async ({ recording }: Recorded) => {
  const id = channelOf(recording.target_uri);
  console.log(`${recording.name} is kept, ${recording.duration} s`);
  if (!callers.has(id)) return;
  messages.set(id, recording.name);
  await play(id, `recording:${recording.name}`);
});

ari.on('ChannelDtmfReceived', async ({ channel: { id }, digit }: Digit) => {
  const recordingName = messages.get(id);
  if (recordingName === undefined) return;
  if (digit === '1') await play(id, `recording:${recordingName}`);
  if (digit !== '7') return;
  messages.delete(id);
  await play(id, 'sound:goodbye');
  await ari.recordings.deleteStored({ recordingName });
  console.log(`${recordingName} is deleted`);
});

ari.on('PlaybackFinished', async ({ playback }: Played) => {
  const id = channelOf(playback.target_uri);
  if (playing.get(id) === playback.id) playing.delete(id);
  if (playback.media_uri === 'sound:goodbye' && callers.has(id)) await ari.channels.hangup(id);
});

ari.on('ChannelHangupRequest', ({ channel }: Call) => callers.delete(channel.id));
ari.on('StasisEnd', ({ channel: { id } }: Call) => {
  callers.delete(id);
  messages.delete(id);
  playing.delete(id);
});
// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
