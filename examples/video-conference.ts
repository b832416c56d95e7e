import { type Bridge, connect } from 'hookswitch/client';

// Callers of the same number meet in one room and see the talker. In rooms whose number begins with 8 each sees all others.
// Who presses 1 is seen by all, until somebody presses 0.

const { HOOKSWITCH_URL: url = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

type Room = { name: string; bridge: Promise<Bridge>; guests: Map<string, string> };
const rooms = new Map<string, Room>();
const roomOf = (id: string) => [...rooms.values()].find(({ guests }) => guests.has(id));

/** Opens a bridge and asks for its events: without that, only those that happen while a call is in it are sent. */
async function openBridge(type: string, name: string) {
  const bridge = await ari.bridges.create({ type, name });
  await ari.applications.subscribe({ applicationName: 'hello', eventSource: `bridge:${bridge.id}` });
  return bridge;
}

function open(name: string): Room {
  const type = name.startsWith('8') ? 'video_sfu,sdp_label' : 'mixing';
  const bridge = openBridge(type, name);
  const room = { name, bridge, guests: new Map<string, string>() };
  rooms.set(name, room);
  return room;
}

ari.on('StasisStart', async ({ channel }) => {
  const room = rooms.get(channel.dialplan.exten) ?? open(channel.dialplan.exten);
  room.guests.set(channel.id, channel.caller.number);
  try {
    const { id: bridgeId } = await room.bridge;
    await ari.channels.answer({ channelId: channel.id });
    await ari.bridges.addChannel({ bridgeId, channel: channel.id });
    console.log(`${channel.caller.number} enters room ${room.name}, guests: ${room.guests.size}`);
  } catch (error) {
    // The guest has gone, or the bridge: no guest is left without both.
    console.error(String(error));
    await ari.channels.hangup({ channelId: channel.id });
  }
});

ari.on('ChannelDtmfReceived', async ({ channel, digit }) => {
  const room = roomOf(channel.id);
  if (!room) return;
  const { id } = await room.bridge;
  if (digit === '1') await ari.bridges.setVideoSource({ bridgeId: id, channelId: channel.id });
  if (digit === '0') await ari.bridges.clearVideoSource({ bridgeId: id });
});

ari.on('BridgeVideoSourceChanged', ({ bridge }) => {
  const room = rooms.get(bridge.name);
  console.log(`in room ${bridge.name} is seen: ${room?.guests.get(bridge.video_source_id ?? '') ?? 'nobody'}`);
});

ari.on('StasisEnd', async ({ channel }) => {
  const room = roomOf(channel.id);
  if (!room) return;
  room.guests.delete(channel.id);
  console.log(`${channel.caller.number} leaves room ${room.name}, guests: ${room.guests.size}`);
  if (room.guests.size > 0) return;
  rooms.delete(room.name);
  await ari.bridges.destroy({ bridgeId: (await room.bridge).id });
});

// Somebody else has destroyed the bridge: the room is over. Ours is destroyed when the last guest has gone.
ari.on('BridgeDestroyed', async ({ bridge }) => {
  const room = rooms.get(bridge.name);
  if (!room || (await room.bridge).id !== bridge.id) return;
  rooms.delete(room.name);
  await Promise.all([...room.guests.keys()].map((channelId) => ari.channels.hangup({ channelId })));
});

// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
