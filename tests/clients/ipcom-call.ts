import { EventEmitter, once } from 'node:events';
import { AriClient as IpcomClient } from '@ipcom/asterisk-ari';
import * as assert from 'uvu/assert';

/**
 * A call run by the client library `@ipcom/asterisk-ari` as it is published, in a process of its own.
 * Arguments: base URL, user, password. Writes `the call is over` when all went as it must, else ends with an error.
 */

const [url = '', user = '', password = ''] = process.argv.slice(2);
const { hostname: host, port } = new URL(url);
const client = new IpcomClient({ host, port: Number(port), username: user, password });
const heard = new EventEmitter();
await client.connectWebSocket(['desk']);
// It takes listeners only once it is connected.
for (const type of ['StasisStart', 'PlaybackFinished', 'ChannelVarset', 'ChannelDestroyed'] as const)
  client.on(type, (event: object) => void heard.emit(type, event));
const started = once(heard, 'StasisStart');
const made = await client.channels.originate({ endpoint: 'Local/1000@default', app: 'desk', appArgs: 'one,two' });
const [{ args, channel }] = (await started) as [{ args: string[]; channel: { id: string } }];
assert.equal(args, ['one', 'two']);
assert.is(channel.id, made.id);

await client.channels.answerChannel(made.id);
await client.channels.setChannelVariable(made.id, 'COLOUR', 'green');
assert.equal(await client.channels.getChannelVariable(made.id, 'COLOUR'), { value: 'green' });
const finished = once(heard, 'PlaybackFinished');
await client.channels.playWithId(made.id, 'prompt', 'sound:beep');
const [{ playback }] = (await finished) as [{ playback: { id: string; state: string } }];
assert.is(playback.id, 'prompt');
assert.is(playback.state, 'done');
assert.ok((await client.channels.list()).some(({ id }) => id === made.id));

const destroyed = once(heard, 'ChannelDestroyed');
await client.channels.hangup(made.id);
const [{ cause }] = (await destroyed) as [{ cause: number }];
assert.is(cause, 16);

// Two calls in a bridge, and an announcement to both.
const bridge = await client.bridges.createBridge({ type: 'mixing', bridgeId: 'room' });
const callers: string[] = [];
for (const number of [1, 2]) {
  const entered = once(heard, 'StasisStart');
  const { id } = await client.channels.originate({ endpoint: 'Local/1000@default', app: 'desk', appArgs: `${number}` });
  await entered;
  callers.push(id);
}
await client.bridges.addChannels(bridge.id, { channel: callers });
assert.equal((await client.bridges.get(bridge.id)).channels, callers);
const announced = once(heard, 'PlaybackFinished');
await client.bridges.playMedia(bridge.id, { media: 'sound:beep' });
assert.is((await announced)[0].playback.target_uri, `bridge:${bridge.id}`);
for (const id of callers) {
  const gone = once(heard, 'ChannelDestroyed');
  await client.channels.hangup(id);
  await gone;
}
assert.equal((await client.bridges.get(bridge.id)).channels, []);
await client.bridges.destroy(bridge.id);
assert.equal(await client.bridges.list(), []);

process.stdout.write('the call is over\n', () => process.exit(0));
