import { type Channel, connect } from 'hookswitch/client';

// Callers wait with music until somebody takes them. Who calls 700 takes calls: one caller after the other, the one who
// has waited longest first, and music between them.

const { HOOKSWITCH_URL: url = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const ari = await connect({ url, username: 'hookswitch', password, app: 'hello' });

/** Opens a bridge and asks for its events: without that, only those that happen while a call is in it are sent. */
async function openBridge(params: { type: string; name?: string; bridgeId?: string }) {
  const bridge = await ari.bridges.create(params);
  await ari.applications.subscribe({ applicationName: 'hello', eventSource: `bridge:${bridge.id}` });
  return bridge;
}

// In a holding bridge nobody hears the others, but everybody hears what is played to it.
const open = () => openBridge({ type: 'holding', name: 'queue' });
let waitingRoom = open();
const isAgent = ({ dialplan }: Channel) => dialplan.exten === '700';
const callers: Channel[] = [];
const agents: Channel[] = [];
/** Who talks with whom, both ways, and where. */
const talks = new Map<string, { other: Channel; bridge: string }>();

async function enter(channel: Channel): Promise<void> {
  const room = waitingRoom;
  await ari.bridges.addChannel({ bridgeId: (await room).id, channel: channel.id, role: 'participant' });
  await ari.channels.startMoh({ channelId: channel.id });
  // Somebody else has destroyed the room meanwhile.
  if (room !== waitingRoom) await enter(channel);
}

async function wait(channel: Channel): Promise<void> {
  await enter(channel);
  (isAgent(channel) ? agents : callers).push(channel);
  console.log(`callers waiting: ${callers.length}, agents: ${agents.length}`);
  if (callers.length > 0 && agents.length > 0) await pair(callers.shift()!, agents.shift()!);
}

async function pair(caller: Channel, agent: Channel): Promise<void> {
  const bridge = `talk-${caller.id}`;
  talks.set(caller.id, { other: agent, bridge }).set(agent.id, { other: caller, bridge });
  await openBridge({ type: 'mixing', bridgeId: bridge });
  for (const { id } of [caller, agent]) await ari.channels.stopMoh({ channelId: id });
  // Who enters a bridge leaves the one before.
  await ari.bridges.addChannel({ bridgeId: bridge, channel: [caller.id, agent.id] });
  console.log(`${agent.caller.number} talks with ${caller.caller.number}`);
}

ari.on('StasisStart', async ({ channel }) => {
  try {
    await ari.channels.answer({ channelId: channel.id });
    await wait(channel);
  } catch (error) {
    // The caller has gone, or a bridge: nobody is left without both.
    console.error(String(error));
    await ari.channels.hangup({ channelId: channel.id });
  }
});

ari.on('StasisEnd', async ({ channel }) => {
  for (const queue of [callers, agents]) {
    const place = queue.findIndex(({ id }) => id === channel.id);
    if (place >= 0) queue.splice(place, 1);
  }
  const talk = talks.get(channel.id);
  if (!talk) return;
  talks.delete(channel.id);
  talks.delete(talk.other.id);
  // Somebody else may have destroyed it before.
  await ari.bridges.destroy({ bridgeId: talk.bridge }).catch(() => {});
  await release(talk.other);
});

// The agent waits for the next one; a caller has nobody to talk with any more.
async function release(channel: Channel): Promise<void> {
  if (isAgent(channel)) await wait(channel);
  else await ari.channels.hangup({ channelId: channel.id });
}

// Somebody else has destroyed a bridge.
ari.on('BridgeDestroyed', async ({ bridge: { id } }) => {
  const pair = [...talks.values()].filter(({ bridge }) => bridge === id).map(({ other }) => other);
  for (const channel of pair) talks.delete(channel.id);
  await Promise.all(pair.map(release));
  if (id !== (await waitingRoom).id) return;
  waitingRoom = open();
  for (const channel of [...callers, ...agents]) await enter(channel);
});

async function announce(): Promise<void> {
  const { id: bridgeId } = await waitingRoom;
  if (callers.length > 0) await ari.bridges.play({ bridgeId, media: 'sound:please-wait' });
}
setInterval(() => announce().catch(console.error), Number(process.env['ANNOUNCE_SECONDS'] ?? 30) * 1000);
// A caller may hang up at any time, also between two commands.
ari.on('error', (error) => console.error(String(error)));

console.log('waiting for calls');
