import { AriClient } from '@ipcom/asterisk-ari';

// Callers of the same number meet in one room.

type Call = { channel: { id: string; caller: { number: string }; dialplan: { exten: string } } };

const { HOOKSWITCH_URL = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const { hostname: host, port } = new URL(HOOKSWITCH_URL);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

type Room = { name: string; bridge: Promise<{ id: string }>; guests: number };
const rooms = new Map<string, Room>();
const roomOfGuest = new Map<string, Room>();

function open(name: string): Room {
  const room = { name, bridge: ari.bridges.createBridge({ type: 'mixing', name }), guests: 0 };
  rooms.set(name, room);
  return room;
}

ari.on('StasisStart', async ({ channel }: Call) => {
  const room = rooms.get(channel.dialplan.exten) ?? open(channel.dialplan.exten);
  roomOfGuest.set(channel.id, room);
  room.guests++;
  const { id } = await room.bridge;
  await ari.channels.answerChannel(channel.id);
  await ari.bridges.addChannels(id, { channel: channel.id });
  console.log(`${channel.caller.number} enters room ${room.name}, guests: ${room.guests}`);
  await ari.bridges.playMedia(id, { media: 'sound:beep' });
});

ari.on('StasisEnd', async ({ channel }: Call) => {
  const room = roomOfGuest.get(channel.id);
  if (!room) return;
  roomOfGuest.delete(channel.id);
  room.guests--;
  console.log(`${channel.caller.number} leaves room ${room.name}, guests: ${room.guests}`);
  if (room.guests > 0) return;
  rooms.delete(room.name);
  await ari.bridges.destroy((await room.bridge).id);
});

// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
