import { AriClient } from '@ipcom/asterisk-ari';

// Connects the caller with another phone: bob's, or the one that HOOKSWITCH_CALLEE names.

type Channel = { id: string; caller: { number: string } };

const {
  HOOKSWITCH_URL = 'http://127.0.0.1:8088',
  HOOKSWITCH_PASSWORD: password = '',
  HOOKSWITCH_CALLEE: endpoint = 'PJSIP/bob',
} = process.env;
const { hostname: host, port } = new URL(HOOKSWITCH_URL);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

// The call to the other phone has an id made of the caller's, so that each leads to the other.
const suffix = '-callee';
const otherOf = (id: string) => (id.endsWith(suffix) ? id.slice(0, -suffix.length) : id + suffix);
/** Channels that have not ended. */
const live = new Set<string>();
/** Where callers talk, by their channels. */
const bridges = new Map<string, string>();

async function dial({ id, caller }: Channel): Promise<void> {
  console.log(`${caller.number} calls ${endpoint}`);
  live.add(id).add(otherOf(id));
  await ari.channels.ringChannel(id);
  const call = { endpoint, channelId: otherOf(id), originator: id, callerId: caller.number };
  await ari.channels.originate({ ...call, app: 'hello', appArgs: `callee,${id}` });
}

async function join(caller: string): Promise<void> {
  await ari.channels.answerChannel(caller);
  const bridge = await ari.bridges.createBridge({ type: 'mixing' });
  bridges.set(caller, bridge.id);
  // The end of a caller who has gone meanwhile was told before.
  if (!live.has(caller)) return leave(caller);
  await ari.bridges.addChannels(bridge.id, { channel: [caller, otherOf(caller)] });
  console.log('they talk');
}

ari.on('StasisStart', async ({ channel, args: [role, caller = ''] }: { channel: Channel; args: string[] }) => {
  await (role === 'callee' ? join(caller) : dial(channel));
});

// Whichever ends first ends the other. Of a callee who never answered only its end is told.
async function end({ channel: { id } }: { channel: Channel }): Promise<void> {
  live.delete(id);
  if (live.delete(otherOf(id))) await ari.channels.hangup(otherOf(id));
  await leave(id.endsWith(suffix) ? otherOf(id) : id);
}

// The bridge goes with the first of them: what happens while the WebSocket is away is not told.
async function leave(caller: string): Promise<void> {
  const bridge = bridges.get(caller);
  if (bridge === undefined || !bridges.delete(caller)) return;
  await ari.bridges.destroy(bridge);
  console.log('they have gone');
}
ari.on('StasisEnd', end);
ari.on('ChannelDestroyed', end);

// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
