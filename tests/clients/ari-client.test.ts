import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startTestServer, type TestServer } from '../support/server.ts';
import { next, type OldChannel, type OldClient, withOldClient } from './ari-client.ts';

/** What the examples of `ari-client` 2.2.0 do, with the library as it is published. */
const programs = suite('programs with ari-client');
const dialplan = { default: { '1000': ['Answer', 'Wait(3600)'], _6XX: ['Stasis(desk,${EXTEN})', 'Wait(3600)'] } };

let server: TestServer;

programs.before(async () => {
  server = await startTestServer({ dialplan });
});
programs.after(async () => {
  try {
    await server.settle();
  } catch (error) {
    process.stderr.write(`${server.explain()}\n`);
    throw error;
  } finally {
    await server.close();
  }
});

const program = (title: string, body: (client: OldClient) => Promise<void>) =>
  programs(title, () => withOldClient(server, 'desk', body));

/** A call that somebody answered and that is in the application. */
async function answered(client: OldClient, args = ''): Promise<OldChannel> {
  const channel = client.Channel();
  const started = next(channel, 'StasisStart');
  await channel.originate({ endpoint: 'Local/1000@default', app: 'desk', appArgs: args });
  await started;
  return channel;
}

/** A call both halves of which are in the application: what the one sends, the other is told of. */
async function bothHalves(client: OldClient): Promise<[near: OldChannel, far: OldChannel]> {
  const near = client.Channel();
  const far = next<{ channel: { id: string }; args: string[] }>(client, 'StasisStart', ({ args }) => args[0] === '600');
  await near.originate({ endpoint: 'Local/600@default', app: 'desk' });
  const there = client.Channel((await far).channel.id);
  const started = next(near, 'StasisStart');
  await there.answer();
  await started;
  return [near, there];
}

program('dial and bridge: both are in one bridge, and when one goes the other is hung up', async (client) => {
  const caller = await answered(client);
  const dialed = client.Channel();
  const picked = next(dialed, 'StasisStart');
  await dialed.originate({ endpoint: 'Local/1000@default', app: 'desk', appArgs: 'dialed', callerId: '300' });
  await picked;
  const bridge = client.Bridge();
  await bridge.create({ type: 'mixing' });
  await bridge.addChannel({ channel: [caller.id, dialed.id] });
  assert.equal((await client.bridges.get({ bridgeId: bridge.id })).channels, [caller.id, dialed.id]);
  assert.is((await client.channels.get({ channelId: caller.id })).connected.number, '300');
  dialed.once('StasisEnd', () => void caller.hangup());
  const [left, destroyed] = [
    next<{ bridge: { channels: string[] } }>(client, 'ChannelLeftBridge'),
    next(caller, 'ChannelDestroyed'),
  ];
  await dialed.hangup();
  assert.equal((await left).bridge.channels, [caller.id]);
  await destroyed;
  await bridge.destroy();
  assert.equal(await client.bridges.list(), []);
});

program('hold: callers wait in a holding bridge that is found or made, and come back', async (client) => {
  const findOrCreate = async () =>
    (await client.bridges.list()).find(({ bridge_type }) => bridge_type === 'holding') ??
    client.Bridge().create({ type: 'holding' });
  const caller = await answered(client);
  const holding = await findOrCreate();
  assert.is((await findOrCreate()).id, holding.id);
  await holding.addChannel({ channel: caller.id });
  await holding.startMoh();
  await caller.hold();
  await caller.unhold();
  const left = next(client, 'ChannelLeftBridge');
  await holding.removeChannel({ channel: caller.id });
  await left;
  await caller.hangup();
  await holding.destroy();
});

program('infinite wait: music, stopped for an announcement, and on again', async (client) => {
  const bridge = await client.Bridge().create({ type: 'mixing,dtmf_events', name: 'queue' });
  const caller = client.Channel();
  const started = next(caller, 'StasisStart');
  await caller.originate({ endpoint: 'Local/1000@default', app: 'desk' });
  await started;
  await Promise.all([bridge.addChannel({ channel: caller.id }), caller.answer()]);
  await bridge.startMoh();
  for (const _round of [1, 2]) {
    await bridge.stopMoh();
    const announcement = client.Playback();
    const finished = next<{ playback: { state: string; target_uri: string } }>(announcement, 'PlaybackFinished');
    await bridge.play({ media: 'sound:beep' }, announcement);
    const { playback } = await finished;
    assert.equal([playback.state, playback.target_uri], ['done', `bridge:${bridge.id}`]);
    await bridge.startMoh();
  }
  await caller.hangup();
  await bridge.destroy();
});

program(
  'move: channels go from one bridge to another, the first is left before the second is entered',
  async (client) => {
    const callers = [await answered(client), await answered(client)];
    const [one, other] = [
      await client.Bridge().create({ type: 'mixing' }),
      await client.Bridge().create({ type: 'mixing' }),
    ];
    const moves: string[] = [];
    for (const type of ['ChannelEnteredBridge', 'ChannelLeftBridge'])
      client.on(type, ({ bridge, channel }: { bridge: { id: string }; channel: { id: string } }) => {
        if (channel.id === callers[0]!.id) moves.push(`${type} ${bridge.id === one.id ? 'one' : 'other'}`);
      });
    await one.addChannel({ channel: callers.map(({ id }) => id) });
    const arrived = next<{ bridge: { id: string; channels: string[] } }>(
      client,
      'ChannelEnteredBridge',
      ({ bridge: { id, channels } }) => id === other.id && channels.length === 2,
    );
    await one.removeChannel({ channel: callers[1]!.id });
    await other.addChannel({ channel: callers.map(({ id }) => id) });
    assert.equal(
      (await arrived).bridge.channels,
      callers.map(({ id }) => id),
    );
    assert.equal(moves, ['ChannelEnteredBridge one', 'ChannelLeftBridge one', 'ChannelEnteredBridge other']);
    for (const caller of callers) await caller.hangup();
    for (const bridge of [one, other]) await bridge.destroy();
  },
);

program('playback: pressed keys pause, continue, move, begin again and stop it', async (client) => {
  const [near, far] = await bothHalves(client);
  const playback = client.Playback();
  const states: string[] = [];
  const operations: Record<string, string> = { 5: 'pause', 8: 'unpause', 4: 'reverse', 6: 'forward', 2: 'restart' };
  near.on('ChannelDtmfReceived', ({ digit }: { digit: string }) => {
    const operation = operations[digit];
    const done = operation ? playback.control({ operation }) : playback.stop();
    void done.then(
      () => states.push(operation ?? 'stop'),
      (error: Error) => states.push(error.message),
    );
  });
  const [begun, finished] = [
    next(playback, 'PlaybackStarted'),
    next<{ playback: { state: string } }>(playback, 'PlaybackFinished'),
  ];
  await near.play({ media: 'tone:ring' }, playback);
  await begun;
  const again = next(playback, 'PlaybackStarted');
  await far.sendDTMF({ dtmf: '58' });
  await again;
  await far.sendDTMF({ dtmf: '462#' });
  assert.is((await finished).playback.state, 'done');
  assert.equal(states, ['pause', 'unpause', 'reverse', 'forward', 'restart', 'stop'].slice(0, states.length));
  assert.ok(states.length >= 5, `${states}`);
  await near.hangup();
});

program('device state: a device is in use while calls are, and others are told', async (client) => {
  const deviceName = 'Stasis:desk';
  await client.applications.subscribe({ applicationName: 'desk', eventSource: `deviceState:${deviceName}` });
  const told = (state: string) =>
    next<{ device_state: { state: string } }>(
      client,
      'DeviceStateChanged',
      ({ device_state }) => device_state.state === state,
    );
  const busy = told('BUSY');
  const caller = await answered(client);
  await client.deviceStates.update({ deviceName, deviceState: 'BUSY' });
  await busy;
  assert.is((await client.deviceStates.get({ deviceName })).state, 'BUSY');
  const idle = told('NOT_INUSE');
  caller.once('StasisEnd', () => void client.deviceStates.update({ deviceName, deviceState: 'NOT_INUSE' }));
  await caller.hangup();
  await idle;
  await client.deviceStates.delete({ deviceName });
});

program('mailbox: how many messages there are is kept up to date', async (client) => {
  const mailboxName = '1000@default';
  await client.mailboxes.update({ mailboxName, oldMessages: 0, newMessages: 1 });
  const { old_messages, new_messages } = await client.mailboxes.get({ mailboxName });
  assert.equal([old_messages, new_messages], [0, 1]);
  await client.mailboxes.update({ mailboxName, oldMessages: 1, newMessages: 0 });
  assert.is((await client.mailboxes.get({ mailboxName })).new_messages, 0);
});

programs.run();
