import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callIn, callUp, create, hangupAll, run, runAll, usesTarget } from '../support/conformance-cases.ts';
import { type App, type Client, inShort, type Message } from '../support/conformance-client.ts';
import { untilAsked } from '../support/waiting.ts';

/** What bridges do when several things happen to them: who is told what, in which order, and what is left afterwards. */
const test = suite('rules of bridges, asked from outside');
let client: Client;
let app: App;

usesTarget(test, (own) => {
  client = own;
});
test.before.each(async () => {
  app = await client.connect(client.unique('rules'));
});
test.after.each(async () => {
  await hangupAll(client);
  await app.close();
});

type Bridge = { id: string; channels: string[]; technology: string };

/** Makes a bridge that the application has subscribed to, and gives its id. */
async function make(query = ''): Promise<string> {
  const id = client.unique('bridge');
  await client.must(`POST /bridges/${id}${query}`);
  await client.must(`POST /applications/${app.name}/subscription?eventSource=bridge:${id}`);
  return id;
}

/** So many channels that are Up and in the application. */
async function callers(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => client.unique('caller'));
  for (const id of ids) await callUp(client, app, id);
  return ids;
}

const add = (bridge: string, query: string) => client.must(`POST /bridges/${bridge}/addChannel?${query}`);
const remove = (bridge: string, channel: string) =>
  client.must(`POST /bridges/${bridge}/removeChannel?channel=${channel}`);
const technology = async (bridge: string) => (await client.must<Bridge>(`GET /bridges/${bridge}`)).technology;
const members = async (bridge: string) => (await client.must<Bridge>(`GET /bridges/${bridge}`)).channels;

/** What the application was told since it was asked last, but variables, with short names for ids. */
async function said(names: Record<string, string>): Promise<string[]> {
  await app.fence();
  const messages = app.messages.splice(0).filter(({ type }) => type !== 'ChannelVarset');
  return messages.map((message) => {
    const { channel, bridge } = message as { channel?: { id: string }; bridge?: { id: string } };
    const line = [inShort(message), bridge?.id, channel?.id].filter((word) => word !== undefined).join(' ');
    return Object.entries(names).reduce((text, [name, id]) => text.replaceAll(id, name), line);
  });
}
const clear = async (): Promise<void> => void (await said({}));

const ends = (id: string) => (message: Message) => (message['bridge'] as Bridge | undefined)?.id === id;

test('who enters the bridge it is in leaves and enters; who is named twice enters once', async () => {
  const [b1, [a = '', b = '']] = [await make(), await callers(2)];
  await clear();
  await add(b1, `channel=${a}`);
  await add(b1, `channel=${a}`);
  await client.must(`POST /bridges/${b1}/addChannel`, { json: { channel: [b, b] } });
  assert.equal(await said({ b1, a, b }), [
    'ChannelEnteredBridge [a] b1 a',
    'ChannelLeftBridge [] b1 a',
    'ChannelEnteredBridge [a] b1 a',
    'ChannelEnteredBridge [a,b] b1 b',
  ]);
});

test('nobody is removed, and nobody added, when one of those named cannot be', async () => {
  const [b1, [a = '', b = '']] = [await make(), await callers(2)];
  await add(b1, `channel=${a}`);
  await clear();
  await runAll(client, { b1, a, b, nobody: client.unique('nobody') }, [
    { ask: 'POST /bridges/{b1}/removeChannel?channel={a},{b}', status: 422, message: 'Channel not in this bridge' },
    { ask: 'POST /bridges/{b1}/removeChannel?channel={a},{nobody}', status: 400, message: 'Channel not found' },
    { ask: 'POST /bridges/{b1}/addChannel?channel={b},{nobody}', status: 400, message: 'Channel not found' },
    {
      ask: 'POST /bridges/{b1}/addChannel',
      with: { json: { channel: `${a},${b}` } },
      status: 400,
      message: 'Channel not found',
    },
  ]);
  assert.equal([await said({ b1, a, b }), await members(b1)], [[], [a]]);
});

test('parameters come in the query, as a form, and as JSON', async () => {
  const [id, [a = '']] = [client.unique('bridge'), await callers(1)];
  await client.must('POST /bridges', { form: `bridgeId=${id}&type=holding&name=room` });
  const { name, bridge_type } = await client.must<{ name: string; bridge_type: string }>(`GET /bridges/${id}`);
  assert.equal([name, bridge_type], ['room', 'holding']);
  await client.must(`POST /bridges/${id}/addChannel`, { form: `channel=${a}&role=holding_participant` });
  assert.equal(await members(id), [a]);
  await client.must(`POST /bridges/${id}/removeChannel`, { json: { channel: a } });
  assert.equal(await members(id), []);
  await client.must(`POST /bridges/${id}/variable`, { form: 'variable=%20A%20&value=1' });
  const asked = `GET /bridges/${id}/variable`;
  assert.equal(await client.must(asked, { json: { variable: 'A' } }), { value: '1' });
  assert.equal(await client.must(asked, { form: 'variable=A' }), { value: '1' });
  await client.must(`POST /bridges/${id}/variable`, { json: { variable: 'A', value: '' } });
  await run(
    client,
    { id },
    {
      ask: 'GET /bridges/{id}/variable?variable=A',
      status: 404,
      message: 'Provided variable was not found',
    },
  );
});

test('the technology follows who is there, announcers and recorders among them', async () => {
  const [b1, [a = '', b = '', c = '']] = [await make(), await callers(3)];
  const seen: Record<string, string> = {};
  const look = async (when: string): Promise<void> => {
    seen[when] = await technology(b1);
  };
  await add(b1, `channel=${a},${b}`);
  await look('two');
  await client.must(`POST /bridges/${b1}/moh`);
  await look('two and music');
  await client.must(`DELETE /bridges/${b1}/moh`);
  await add(b1, `channel=${c}`);
  await look('three');
  await remove(b1, c);
  const { id } = await client.must<{ id: string }>(`POST /bridges/${b1}/play?media=tone:ring`);
  await look('two and a playback');
  await client.must(`DELETE /playbacks/${id}`);
  await app.wait('PlaybackFinished');
  const name = client.unique('recording');
  await client.must(`POST /bridges/${b1}/record?name=${name}&format=wav`);
  await look('two and a recording');
  await client.must(`DELETE /recordings/live/${name}`);
  await app.wait('RecordingFinished');
  if (client.target.ours) await look('two again');
  const [simple, mix] = ['simple_bridge', 'softmix'];
  assert.equal(seen, {
    two: simple,
    'two and music': mix,
    three: mix,
    'two and a playback': mix,
    'two and a recording': mix,
    ...(client.target.ours ? { 'two again': simple } : {}),
  });
});

test('members of a bridge that is destroyed leave one by one, and stay in their application', async () => {
  const [b1, [a = '', b = '']] = [await make(), await callers(2)];
  await add(b1, `channel=${a},${b}`);
  await clear();
  await client.must(`DELETE /bridges/${b1}`);
  await app.wait('BridgeDestroyed', ends(b1));
  assert.equal(await said({ b1, a, b }), [
    'ChannelLeftBridge [b] b1 a',
    'ChannelLeftBridge [] b1 b',
    'BridgeDestroyed [] b1',
  ]);
  for (const id of [a, b]) await client.must(`POST /channels/${id}/answer`);
  await run(client, { b1 }, { ask: 'DELETE /bridges/{b1}', status: 404, message: 'Bridge not found' });
});

test('an empty bridge stays until it is destroyed', async () => {
  const [b1, [a = '']] = [await make(), await callers(1)];
  await add(b1, `channel=${a}`);
  await clear();
  await remove(b1, a);
  assert.equal([await said({ b1, a }), await members(b1)], [['ChannelLeftBridge [] b1 a'], []]);
});

test('who continues in the dialplan, moves on, or is hung up leaves its bridge before its application', async () => {
  const other = await client.connect(client.unique('other'));
  const [b1, [a = '', b = '']] = [await make(), await callers(2)];
  const inside = await callIn(client, app, client.unique('call'));
  await client.must(`POST /channels/${inside}/answer`);
  await add(b1, `channel=${a},${b},${inside}`);
  await clear();
  await client.must(`POST /channels/${inside}/continue?context=conformance&extension=s`);
  await app.about(inside, 'StasisEnd');
  assert.equal(await said({ b1, a, b, inside }), ['ChannelLeftBridge [a,b] b1 inside', 'StasisEnd inside']);
  await client.must(`POST /channels/${a}/move?app=${other.name}`);
  await other.about(a, 'StasisStart');
  // Who moves takes its place along: members are of any application.
  assert.equal([await said({ b1, a, b }), await members(b1)], [['StasisEnd a'], [a, b]]);
  await client.must(`DELETE /channels/${b}`);
  await app.about(b, 'ChannelDestroyed');
  const request = `ChannelHangupRequest ${client.target.ours ? 16 : 32} soft b`;
  assert.equal(
    (await said({ b1, a, b })).filter((line) => !line.endsWith(' b;2')),
    [request, 'ChannelLeftBridge [a] b1 b', 'StasisEnd b', 'ChannelDestroyed 16 b'],
  );
  await other.close();
});

test('a bridge goes on when who was heard in it moves to another', async () => {
  const [b1, b2, [a = '', b = '']] = [await make(), await make(), await callers(2)];
  await add(b1, `channel=${a},${b}`);
  const playbackId = client.unique('playback');
  await client.must(`POST /bridges/${b1}/play/${playbackId}?media=tone:ring`);
  await app.wait('PlaybackStarted');
  await clear();
  await add(b2, `channel=${a}`);
  await remove(b1, b);
  assert.equal(await said({ b1, b2, a, b }), [
    'ChannelLeftBridge [b] b1 a',
    'ChannelEnteredBridge [a] b2 a',
    'ChannelLeftBridge [] b1 b',
  ]);
  assert.is((await client.must<{ state: string }>(`GET /playbacks/${playbackId}`)).state, 'playing');
  await client.must(`DELETE /playbacks/${playbackId}`);
  await app.wait('PlaybackFinished');
  assert.equal(await said({ b1 }), ['PlaybackFinished tone:ring done']);
});

test('what is played to a bridge waits for what plays there; recordings of it do not', async () => {
  const [b1, [a = '']] = [await make(), await callers(1)];
  await add(b1, `channel=${a}`);
  const [one, two] = [client.unique('playback'), client.unique('playback')];
  const [first, second] = [client.unique('recording'), client.unique('recording')];
  await client.must(`POST /bridges/${b1}/play/${one}?media=tone:ring`);
  const waiting = await client.ask(`POST /bridges/${b1}/play/${two}?media=sound:beep,tone:ring`);
  assert.equal([waiting.status, waiting.headers['location']], [201, `/ari/playbacks/${two}`]);
  assert.is((waiting.body as { state: string }).state, 'queued');
  for (const name of [first, second]) {
    await client.must(`POST /bridges/${b1}/record?name=${name}&format=wav`);
    await app.wait('RecordingStarted', ({ recording }) => (recording as { name: string }).name === name);
  }
  await run(
    client,
    { two },
    {
      ask: 'POST /playbacks/{two}/control?operation=pause',
      status: 409,
      message: 'Can only pause while media is playing',
    },
  );
  await client.must(`DELETE /playbacks/${one}`);
  await app.wait(
    'PlaybackStarted',
    ({ playback }) =>
      (playback as { media_uri: string }).media_uri === 'tone:ring' && (playback as { id: string }).id === two,
  );
  await client.must(`DELETE /bridges/${b1}`);
  await app.wait('BridgeDestroyed', ends(b1));
  if (client.target.ours) {
    const ended = app.messages.slice(app.messages.findIndex(({ type }) => type === 'ChannelLeftBridge')).map(inShort);
    // What plays and records tells its end in any order, but before the bridge does.
    assert.equal([ended[0], ended.at(-1)], ['ChannelLeftBridge []', 'BridgeDestroyed []']);
    assert.equal(ended.slice(1, -1).sort(), [
      'PlaybackFinished tone:ring failed',
      'RecordingFinished done',
      'RecordingFinished done',
    ]);
  }
  for (const name of [first, second])
    await untilAsked(
      async () => (await client.ask(`DELETE /recordings/stored/${name}`)).status === 204,
      () => `${name} is not stored`,
    );
});

test('roles hold for one stay: a second announcer is sent out, and enters without its role', async () => {
  const [b1, [a = '', b = '']] = [await make('?type=holding'), await callers(2)];
  await clear();
  await add(b1, `channel=${a}&role=announcer`);
  await add(b1, `channel=${b}&role=announcer`);
  await app.wait('ChannelLeftBridge');
  await add(b1, `channel=${b}`);
  await add(b1, `channel=${a}&role=whatever`);
  await add(b1, `channel=${b}&roles=announcer`);
  const [entered, left] = ['ChannelEnteredBridge', 'ChannelLeftBridge'];
  assert.equal(await said({ b1, a, b }), [
    `${entered} [a] b1 a`,
    `${entered} [a,b] b1 b`,
    `${left} [a] b1 b`,
    `${entered} [a,b] b1 b`,
    `${left} [b] b1 a`,
    `${entered} [b,a] b1 a`,
    `${left} [a] b1 b`,
    `${entered} [a,b] b1 b`,
  ]);
  assert.equal((await members(b1)).sort(), [a, b].sort());
});

test('music of a bridge is changed, and turned off once', async () => {
  const b1 = await make();
  await runAll(client, { b1 }, [
    { ask: 'POST /bridges/{b1}/moh', with: { json: { mohClass: 'default' } }, status: 204 },
    { ask: 'POST /bridges/{b1}/moh', with: { form: 'mohClass=other' }, status: 204 },
    { ask: 'DELETE /bridges/{b1}/moh', status: 204 },
    { ask: 'DELETE /bridges/{b1}/moh', status: 409, message: "Bridge isn't playing music" },
  ]);
});

test('an unanswered channel is in the bridge while it is dialed, and stays in its application afterwards', async () => {
  const [b1, [a = '']] = [await make(), await callers(1)];
  const called = client.unique('called');
  await create(client, app, called, 'ringing');
  await add(b1, `channel=${called},${a}`);
  await client.must(`POST /channels/${called}/dial`);
  await app.about(called, 'ChannelStateChange');
  await clear();
  await client.must(`DELETE /bridges/${b1}`);
  await app.wait('BridgeDestroyed', ends(b1));
  assert.equal(await said({ b1, a, called }), [
    'ChannelLeftBridge [a] b1 called',
    'ChannelLeftBridge [] b1 a',
    'BridgeDestroyed [] b1',
  ]);
  await run(
    client,
    { called },
    {
      ask: 'POST /channels/{called}/play?media=sound:beep',
      status: 412,
      message: 'Channel in invalid state',
    },
  );
  await client.must(`DELETE /channels/${called}?reason=answered_elsewhere`);
  assert.is((await app.about(called, 'ChannelDestroyed'))['cause'], 26);
});

test('what waits on a channel goes on when it has left its bridge', async () => {
  const [b1, [a = '']] = [await make(), await callers(1)];
  await add(b1, `channel=${a}`);
  const [one, two] = [client.unique('playback'), client.unique('playback')];
  await client.must(`POST /channels/${a}/play/${one}?media=tone:ring`);
  await client.must(`POST /channels/${a}/play/${two}?media=sound:beep`);
  await app.wait('PlaybackStarted');
  await clear();
  await remove(b1, a);
  await client.must(`DELETE /playbacks/${one}`);
  await app.wait('PlaybackFinished', ({ playback }) => (playback as { id: string }).id === two);
  assert.equal(await said({ b1, a }), [
    'ChannelLeftBridge [] b1 a',
    'PlaybackFinished tone:ring done',
    'PlaybackStarted sound:beep playing',
    'PlaybackFinished sound:beep done',
  ]);
});

test.run();
