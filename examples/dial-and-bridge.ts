import { type Channel, connect } from 'hookswitch/client';

// Connects the caller with another phone: bob's, or the one that HOOKSWITCH_CALLEE names.

const {
  HOOKSWITCH_URL: url = 'http://127.0.0.1:8088',
  HOOKSWITCH_PASSWORD: password = '',
  HOOKSWITCH_CALLEE: endpoint = 'PJSIP/bob',
} = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

// The call to the other phone has an id made of the caller's, so that each leads to the other.
const suffix = '-callee';
const otherOf = (id: string) => (id.endsWith(suffix) ? id.slice(0, -suffix.length) : id + suffix);
/** Channels that have not ended. */
const live = new Set<string>();
/** Where callers talk, by their channels. */
const bridges = new Map<string, string>();

async function hangUp(id: string): Promise<void> {
  if (live.has(id)) await ari.channels.hangup({ channelId: id });
}

async function dial({ id, caller }: Channel): Promise<void> {
  console.log(`${caller.number} calls ${endpoint}`);
  live.add(id).add(otherOf(id));
  await ari.channels.ring({ channelId: id });
  const call = { endpoint, channelId: otherOf(id), originator: id, callerId: caller.number };
  await ari.channels.originate({ ...call, app: 'hello', appArgs: `callee,${id}` });
}

/** Opens a bridge and asks for its events: without that, only those that happen while a call is in it are sent. */
async function openBridge() {
  const bridge = await ari.bridges.create({ type: 'mixing' });
  await ari.applications.subscribe({ applicationName: 'hello', eventSource: `bridge:${bridge.id}` });
  return bridge;
}

async function join(caller: string): Promise<void> {
  await ari.channels.answer({ channelId: caller });
  const bridge = await openBridge();
  bridges.set(caller, bridge.id);
  // The end of a caller who has gone meanwhile was told before.
  if (!live.has(caller)) return leave(caller);
  await ari.bridges.addChannel({ bridgeId: bridge.id, channel: [caller, otherOf(caller)] });
  console.log('they talk');
}

ari.on('StasisStart', async ({ channel, args: [role, caller = ''] }) => {
  if (role !== 'callee') return dial(channel);
  // The caller has gone, or the bridge: nobody is left without both.
  await join(caller).catch(() => hangUp(caller));
});

// Whichever ends first ends the other. Of a callee who never answered only its end is told.
async function end({ channel: { id } }: { channel: Channel }): Promise<void> {
  live.delete(id);
  if (live.delete(otherOf(id))) await ari.channels.hangup({ channelId: otherOf(id) });
  await leave(id.endsWith(suffix) ? otherOf(id) : id);
}

// The bridge goes with the first of them: what happens while the WebSocket is away is not told.
async function leave(caller: string): Promise<void> {
  const bridge = bridges.get(caller);
  if (bridge === undefined || !bridges.delete(caller)) return;
  await ari.bridges.destroy({ bridgeId: bridge });
  console.log('they have gone');
}
// Somebody else may destroy the bridge, too.
ari.on('BridgeDestroyed', async ({ bridge: { id } }) => {
  const caller = [...bridges.keys()].find((each) => bridges.get(each) === id);
  if (caller !== undefined) await hangUp(caller);
});
ari.on('StasisEnd', end);
ari.on('ChannelDestroyed', end);

// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
