import { type Channel, connect } from 'hookswitch/client';

// Connects the caller with another phone (HOOKSWITCH_CALLEE), tells both that they are recorded, and records them.

const {
  HOOKSWITCH_URL: url = 'http://127.0.0.1:8088',
  HOOKSWITCH_PASSWORD: password = '',
  HOOKSWITCH_CALLEE: endpoint = 'PJSIP/bob',
  HOOKSWITCH_ANNOUNCEMENT: announcement = 'sound:beep',
} = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

// The call to the other phone has an id made of the caller's, so that each leads to the other.
const app = 'hello';
const suffix = '-callee';
const otherOf = (id: string) => (id.endsWith(suffix) ? id.slice(0, -suffix.length) : id + suffix);
/** Channels that have not ended. */
const live = new Set<string>();
/** Callers who have a bridge, and those of them who are recorded. */
const bridged = new Set<string>();
const recorded = new Set<string>();

async function hangUp(id: string): Promise<void> {
  if (live.has(id)) await ari.channels.hangup({ channelId: id });
}

async function dial({ id, caller }: Channel): Promise<void> {
  live.add(id).add(otherOf(id));
  await ari.channels.ring({ channelId: id });
  const call = { endpoint, channelId: otherOf(id), originator: id, callerId: caller.number };
  await ari.channels.originate({ ...call, app, appArgs: `callee,${id}` });
}

/** Opens a bridge and asks for its events: without that, only those that happen while a call is in it are sent. */
async function openBridge(bridgeId: string) {
  const bridge = await ari.bridges.create({ type: 'mixing', bridgeId });
  await ari.applications.subscribe({ applicationName: 'hello', eventSource: `bridge:${bridge.id}` });
  return bridge;
}

/** Both hear the announcement in a bridge that is named after the caller. */
async function announce(caller: string): Promise<void> {
  await ari.channels.answer({ channelId: caller });
  await openBridge(caller);
  bridged.add(caller);
  // The end of a caller who has gone meanwhile was told before.
  if (!live.has(caller)) return leave(caller);
  await ari.bridges.addChannel({ bridgeId: caller, channel: [caller, otherOf(caller)] });
  await ari.bridges.play({ bridgeId: caller, media: announcement });
}

// A snoop hears what one side says and what it hears: together the whole call. Without the announcement nobody is
// recorded, and so nobody talks.
ari.on('PlaybackFinished', async ({ playback }) => {
  const caller = playback.target_uri.slice('bridge:'.length);
  const snoop = { channelId: caller, spy: 'both', app, appArgs: `snoop,${caller}` } as const;
  if (playback.state === 'done') await ari.channels.snoopChannel(snoop).catch(() => hangUp(caller));
  else await hangUp(caller);
});

ari.on('StasisStart', async ({ channel, args: [role, caller = ''] }) => {
  // The caller has gone, or the bridge: nobody is left without both.
  if (role === 'callee') await announce(caller).catch(() => hangUp(caller));
  else if (role === 'snoop')
    await ari.channels.record({ channelId: channel.id, name: `call-${caller}`, format: 'wav' });
  else await dial(channel);
});

const callerOf = (recording: { name: string }) => recording.name.slice('call-'.length);
ari.on('RecordingStarted', ({ recording }) => {
  recorded.add(callerOf(recording));
  console.log(`${recording.name} is recorded`);
});
ari.on('RecordingFailed', ({ recording }) => hangUp(callerOf(recording)));
// The start of a recording may have failed while the WebSocket was away.
ari.on('connected', async () => {
  for (const caller of bridged) if (!recorded.has(caller)) await hangUp(caller);
});
ari.on('RecordingFinished', ({ recording }) => console.log(`${recording.name} is kept, ${recording.duration} s`));

// Whichever ends first ends the other. Of a callee who never answered only its end is told.
async function end({ channel: { id } }: { channel: Channel }): Promise<void> {
  live.delete(id);
  if (live.delete(otherOf(id))) await ari.channels.hangup({ channelId: otherOf(id) });
  await leave(id.endsWith(suffix) ? otherOf(id) : id);
}

// The bridge goes with the first of them: what happens while the WebSocket is away is not told.
async function leave(caller: string): Promise<void> {
  recorded.delete(caller);
  if (bridged.delete(caller)) await ari.bridges.destroy({ bridgeId: caller });
}
// Somebody else may destroy the bridge, too.
ari.on('BridgeDestroyed', async ({ bridge: { id } }) => {
  if (bridged.has(id)) await hangUp(id);
});
ari.on('StasisEnd', end);
ari.on('ChannelDestroyed', end);
// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
