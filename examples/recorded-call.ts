import { AriClient } from '@ipcom/asterisk-ari';

// Connects the caller with another phone (HOOKSWITCH_CALLEE), tells both that they are recorded, and records them.

type Channel = { id: string; caller: { number: string } };
type Played = { playback: { target_uri: string; state: string } };
type Recorded = { recording: { name: string; duration?: number } };

const {
  HOOKSWITCH_URL = 'http://127.0.0.1:8088',
  HOOKSWITCH_PASSWORD: password = '',
  HOOKSWITCH_CALLEE: endpoint = 'PJSIP/bob',
  HOOKSWITCH_ANNOUNCEMENT: announcement = 'sound:beep',
} = process.env;
const { hostname: host, port } = new URL(HOOKSWITCH_URL);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

// The call to the other phone has an id made of the caller's, so that each leads to the other.
const app = 'hello';
const suffix = '-callee';
const otherOf = (id: string) => (id.endsWith(suffix) ? id.slice(0, -suffix.length) : id + suffix);
/** Channels that have not ended. */
const live = new Set<string>();
/** Callers who have a bridge. */
const bridged = new Set<string>();

async function dial({ id, caller }: Channel): Promise<void> {
  live.add(id).add(otherOf(id));
  await ari.channels.ringChannel(id);
  const call = { endpoint, channelId: otherOf(id), originator: id, callerId: caller.number };
  await ari.channels.originate({ ...call, app, appArgs: `callee,${id}` });
}

/** Both hear the announcement in a bridge that is named after the caller. */
async function announce(caller: string): Promise<void> {
  await ari.channels.answerChannel(caller);
  await ari.bridges.createBridge({ type: 'mixing', bridgeId: caller });
  bridged.add(caller);
  // The end of a caller who has gone meanwhile was told before.
  if (!live.has(caller)) return leave(caller);
  await ari.bridges.addChannels(caller, { channel: [caller, otherOf(caller)] });
  await ari.bridges.playMedia(caller, { media: announcement });
}

// A snoop hears what one side says and what it hears: together the whole call. Without the announcement nobody is
// recorded, and so nobody talks.
ari.on('PlaybackFinished', async ({ playback }: Played) => {
  const caller = playback.target_uri.slice('bridge:'.length);
  if (playback.state === 'done')
    await ari.channels.snoopChannel(caller, { spy: 'both', app, appArgs: `snoop,${caller}` });
  else if (live.has(caller)) await ari.channels.hangup(caller);
});

ari.on('StasisStart', async ({ channel, args: [role, caller = ''] }: { channel: Channel; args: string[] }) => {
  if (role === 'callee') await announce(caller);
  else if (role === 'snoop') await ari.channels.record(channel.id, { name: `call-${caller}`, format: 'wav' });
  else await dial(channel);
});

ari.on('RecordingStarted', ({ recording }: Recorded) => console.log(`${recording.name} is recorded`));
ari.on('RecordingFinished', ({ recording }: Recorded) =>
  console.log(`${recording.name} is kept, ${recording.duration} s`),
);

// Whichever ends first ends the other. Of a callee who never answered only its end is told.
async function end({ channel: { id } }: { channel: Channel }): Promise<void> {
  live.delete(id);
  if (live.delete(otherOf(id))) await ari.channels.hangup(otherOf(id));
  await leave(id.endsWith(suffix) ? otherOf(id) : id);
}

// The bridge goes with the first of them: what happens while the WebSocket is away is not told.
async function leave(caller: string): Promise<void> {
  if (bridged.delete(caller)) await ari.bridges.destroy(caller);
}
ari.on('StasisEnd', end);
ari.on('ChannelDestroyed', end);
// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
