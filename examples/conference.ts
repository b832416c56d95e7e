import { connect } from 'hookswitch/client';

// Callers of the same number meet in one room.

const { HOOKSWITCH_URL: url = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

type Room = { name: string; bridge: Promise<{ id: string }>; guests: number };
const rooms = new Map<string, Room>();
const roomOfGuest = new Map<string, Room>();

/** Opens a bridge and asks for its events: without that, only those that happen while a call is in it are sent. */
async function openBridge(name: string) {
  const bridge = await ari.bridges.create({ type: 'mixing', name });
  await ari.applications.subscribe({ applicationName: 'hello', eventSource: `bridge:${bridge.id}` });
  return bridge;
}

function open(name: string): Room {
  const room = { name, bridge: openBridge(name), guests: 0 };
  rooms.set(name, room);
  return room;
}

ari.on('StasisStart', async ({ channel }) => {
  const room = rooms.get(channel.dialplan.exten) ?? open(channel.dialplan.exten);
  roomOfGuest.set(channel.id, room);
  room.guests++;
  try {
    const { id: bridgeId } = await room.bridge;
    await ari.channels.answer({ channelId: channel.id });
    await ari.bridges.addChannel({ bridgeId, channel: channel.id });
    console.log(`${channel.caller.number} enters room ${room.name}, guests: ${room.guests}`);
    await ari.bridges.play({ bridgeId, media: 'sound:beep' });
  } catch (error) {
    // The guest has gone, or the bridge: no guest is left without both.
    console.error(String(error));
    await ari.channels.hangup({ channelId: channel.id });
  }
});

ari.on('StasisEnd', async ({ channel }) => {
  const room = roomOfGuest.get(channel.id);
  if (!room) return;
  roomOfGuest.delete(channel.id);
  room.guests--;
  console.log(`${channel.caller.number} leaves room ${room.name}, guests: ${room.guests}`);
  if (room.guests > 0) return;
  rooms.delete(room.name);
  await ari.bridges.destroy({ bridgeId: (await room.bridge).id });
});

// Somebody else has destroyed the bridge: the room is over. Ours is destroyed when the last guest has gone.
ari.on('BridgeDestroyed', async ({ bridge }) => {
  const room = rooms.get(bridge.name);
  if (!room || (await room.bridge).id !== bridge.id) return;
  rooms.delete(room.name);
  const guests = [...roomOfGuest].filter(([, { name }]) => name === room.name);
  await Promise.all(guests.map(([channelId]) => ari.channels.hangup({ channelId })));
});

// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
