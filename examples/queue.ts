import { AriClient } from '@ipcom/asterisk-ari';

// Callers wait with music until somebody takes them. Who calls 700 takes calls: one caller after the other, the one who
// has waited longest first, and music between them.

type Channel = { id: string; caller: { number: string }; dialplan: { exten: string } };
type Call = { channel: Channel };

const { HOOKSWITCH_URL = 'http://127.0.0.1:8088', HOOKSWITCH_PASSWORD: password = '' } = process.env;
const { hostname: host, port } = new URL(HOOKSWITCH_URL);
const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password });
await ari.connectWebSocket(['hello']);

// In a holding bridge nobody hears the others, but everybody hears what is played to it.
const waitingRoom = await ari.bridges.createBridge({ type: 'holding', name: 'queue' });
const isAgent = ({ dialplan }: Channel) => dialplan.exten === '700';
const callers: Channel[] = [];
const agents: Channel[] = [];
/** Who talks with whom, both ways, and where. */
const talks = new Map<string, { other: Channel; bridge: string }>();

async function wait(channel: Channel): Promise<void> {
  await ari.bridges.addChannels(waitingRoom.id, { channel: channel.id, role: 'participant' });
  await ari.channels.startMusicOnHold(channel.id);
  (isAgent(channel) ? agents : callers).push(channel);
  console.log(`callers waiting: ${callers.length}, agents: ${agents.length}`);
  if (callers.length > 0 && agents.length > 0) await connect(callers.shift()!, agents.shift()!);
}

async function connect(caller: Channel, agent: Channel): Promise<void> {
  const bridge = `talk-${caller.id}`;
  talks.set(caller.id, { other: agent, bridge }).set(agent.id, { other: caller, bridge });
  await ari.bridges.createBridge({ type: 'mixing', bridgeId: bridge });
  for (const { id } of [caller, agent]) await ari.channels.stopMusicOnHold(id);
  // Who enters a bridge leaves the one before.
  await ari.bridges.addChannels(bridge, { channel: [caller.id, agent.id] });
  console.log(`${agent.caller.number} talks with ${caller.caller.number}`);
}

ari.on('StasisStart', async ({ channel }: Call) => {
  await ari.channels.answerChannel(channel.id);
  await wait(channel);
});

ari.on('StasisEnd', async ({ channel }: Call) => {
  for (const queue of [callers, agents]) {
    const place = queue.findIndex(({ id }) => id === channel.id);
    if (place >= 0) queue.splice(place, 1);
  }
  const talk = talks.get(channel.id);
  if (!talk) return;
  talks.delete(channel.id);
  talks.delete(talk.other.id);
  await ari.bridges.destroy(talk.bridge);
  // The agent waits for the next one; a caller has nobody to talk with any more.
  if (isAgent(talk.other)) await wait(talk.other);
  else await ari.channels.hangup(talk.other.id);
});

const announce = () => callers.length > 0 && ari.bridges.playMedia(waitingRoom.id, { media: 'sound:please-wait' });
setInterval(announce, Number(process.env['ANNOUNCE_SECONDS'] ?? 30) * 1000);
// A caller may hang up at any time, also between two commands.
process.on('unhandledRejection', (error) => console.error(String(error)));

console.log('waiting for calls');
