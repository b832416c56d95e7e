import { AriClient } from '@ipcom/asterisk-ari';

// Callers of the same number meet in one room and see the talker. In rooms whose number begins with 8 each sees all others.
// Who presses 1 is seen by all, until somebody presses 0.

type Channel = { id: string; caller: { number: string }; dialplan: { exten: string } };
type Call = { channel: Channel };
type Bridge = { id: string; name: string; video_source_id?: string };

const { HOOKSWITCH_URL = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const { hostname: host, port } = new URL(HOOKSWITCH_URL);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

type Room = { name: string; bridge: Promise<Bridge>; guests: Map<string, string> };
const rooms = new Map<string, Room>();
const roomOf = (id: string) => [...rooms.values()].find(({ guests }) => guests.has(id));

function open(name: string): Room {
  const type = name.startsWith('8') ? 'video_sfu,sdp_label' : 'mixing';
  const bridge = ari.bridges.createBridge({ type, name }) as Promise<Bridge>;
  const room = { name, bridge, guests: new Map<string, string>() };
  rooms.set(name, room);
  return room;
}

ari.on('StasisStart', async ({ channel }: Call) => {
  const room = rooms.get(channel.dialplan.exten) ?? open(channel.dialplan.exten);
  room.guests.set(channel.id, channel.caller.number);
  const { id } = await room.bridge;
  await ari.channels.answerChannel(channel.id);
  await ari.bridges.addChannels(id, { channel: channel.id });
  console.log(`${channel.caller.number} enters room ${room.name}, guests: ${room.guests.size}`);
});

ari.on('ChannelDtmfReceived', async ({ channel, digit }: Call & { digit: string }) => {
  const room = roomOf(channel.id);
  if (!room) return;
  const { id } = await room.bridge;
  if (digit === '1') await ari.bridges.setVideoSource(id, channel.id);
  if (digit === '0') await ari.bridges.clearVideoSource(id);
});

ari.on('BridgeVideoSourceChanged', ({ bridge }: { bridge: Bridge }) => {
  const room = rooms.get(bridge.name);
  console.log(`in room ${bridge.name} is seen: ${room?.guests.get(bridge.video_source_id ?? '') ?? 'nobody'}`);
});

ari.on('StasisEnd', async ({ channel }: Call) => {
  const room = roomOf(channel.id);
  if (!room) return;
  room.guests.delete(channel.id);
  console.log(`${channel.caller.number} leaves room ${room.name}, guests: ${room.guests.size}`);
  if (room.guests.size > 0) return;
  rooms.delete(room.name);
  await ari.bridges.destroy((await room.bridge).id);
});

// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
