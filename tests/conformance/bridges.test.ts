import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Calls, type Case, callUp, makeCalls, run, runAll, usesTarget } from '../support/conformance-cases.ts';
import { type App, type Client, inShort, type Message } from '../support/conformance-client.ts';
import { eventMisfits, misfits } from '../support/conformance-surface.ts';

const test = suite('bridges, asked from outside');
let client: Client;
let app: App;
/** Hears everything. */
let all: App;
let calls: Calls;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect(client.unique('bridges'));
  all = await client.connect(client.unique('all'), '&subscribeAll=true');
  calls = await makeCalls(client, app);
});

type Bridge = { id: string; channels: string[]; technology: string; video_mode: string; bridgevars?: object };

/** Makes a bridge and gives its id. */
const make = async (query = ''): Promise<string> => {
  const id = client.unique('bridge');
  await client.must(`POST /bridges/${id}${query}`);
  return id;
};
const get = (id: string) => client.must<Bridge>(`GET /bridges/${id}`);
const add = (bridge: string, query: string) => client.must(`POST /bridges/${bridge}/addChannel?${query}`);
/** What an application was told of a bridge, from a certain message on. */
const told = (of: App, bridge: string): Message[] =>
  of.messages.filter((message) => (message['bridge'] as Bridge | undefined)?.id === bridge);
const shortly = (of: App, bridge: string): string[] => told(of, bridge).map(inShort);

const notFound = { status: 404, message: 'Bridge not found' };
const noMember = { status: 400, message: 'Missing parameter channel' };

test('a bridge is made, looked at, listed and destroyed', async () => {
  const id = client.unique('bridge');
  const made = await client.must<Bridge>(`POST /bridges?type=mixing,%20dtmf_events&bridgeId=${id}&name=room`);
  assert.equal(misfits('Bridge', made), []);
  const { creationtime, creation, ...rest } = made as Bridge & { creationtime: string; creation?: string };
  if (client.target.ours) assert.is(creation, creationtime);
  assert.equal(rest, {
    id,
    technology: 'simple_bridge',
    bridge_type: 'mixing',
    bridge_class: 'stasis',
    creator: 'Stasis',
    name: 'room',
    channels: [],
    video_mode: 'talker',
  });
  assert.equal(await client.must(`GET /bridges/${id}`), made);
  assert.ok((await client.must<Bridge[]>('GET /bridges')).some((each) => each.id === id));
  await run(client, { id }, { ask: 'DELETE /bridges/{id}', status: 204 });
  await run(client, { id }, { ask: 'GET /bridges/{id}', ...notFound });
  await all.fence();
  assert.equal(shortly(all, id), ['BridgeCreated []', 'BridgeDestroyed []']);
  assert.equal(
    told(all, id).flatMap((message) => eventMisfits(message)),
    [],
  );
});

test('an id is made up where none is given, in the query or in a JSON body', async () => {
  const { id } = await client.must<Bridge>('POST /bridges', { json: { type: 'holding', name: 'waiting' } });
  assert.match(id, /^[0-9a-f-]{36}$/);
  const { technology } = await get(id);
  assert.is(technology, 'holding_bridge');
  await client.must(`DELETE /bridges/${id}`);
});

const types: readonly [type: string, technology: string, video: string][] = [
  ['', 'simple_bridge', 'talker'],
  ['mixing,proxy_media', 'simple_bridge', 'talker'],
  ['mixing, dtmf_events', 'simple_bridge', 'talker'],
  ['mixing,video_single', 'simple_bridge', 'single'],
  ['video_sfu', 'softmix', 'sfu'],
  ['holding', 'holding_bridge', 'talker'],
];
test('every type of bridge is shown as Asterisk shows it', async () => {
  for (const [type, technology, video] of types) {
    const id = await make(`?type=${encodeURIComponent(type)}`);
    const bridge = await get(id);
    assert.equal([bridge.technology, bridge.video_mode], [technology, video], type);
    await client.must(`DELETE /bridges/${id}`);
  }
});

test('requests are refused for the first fault of several', async () => {
  const id = await make();
  const scene = { ...calls, id };
  const onNobody = (line: string): Case => ({ ask: line.replace('{id}', 'nobody'), ...notFound });
  const cases: Case[] = [
    { ask: 'POST /bridges?bridgeId={id}', status: 409, message: `Bridge with id '${id}' already exists` },
    { ask: 'POST /bridges/{id}?type=holding', status: 409, message: `Bridge with id '${id}' already exists` },
    {
      ask: 'POST /bridges?bridgeId=both&type=mixing,holding',
      status: 500,
      message: "Unable to create bridge. Possible duplicate bridge id 'both'",
      reason: 'Internal Error',
    },
    { ask: 'POST /bridges/both?type=mixing,holding', status: 500, message: 'Unable to create bridge' },
    ...['addChannel', 'removeChannel'].flatMap((operation): Case[] => [
      onNobody(`POST /bridges/{id}/${operation}`),
      { ask: `POST /bridges/{id}/${operation}`, ...noMember },
      { ask: `POST /bridges/{id}/${operation}?channel={nobody}`, status: 400, message: 'Channel not found' },
      {
        ask: `POST /bridges/{id}/${operation}?channel={up},{free}`,
        status: 422,
        message: 'Channel not in Stasis application',
      },
    ]),
    { ask: 'POST /bridges/{id}/removeChannel?channel={up}', status: 422, message: 'Channel not in this bridge' },
    onNobody('POST /bridges/{id}/videoSource/{up}'),
    { ask: 'POST /bridges/{id}/videoSource/{nobody}', status: 400, message: 'Channel not found' },
    { ask: 'POST /bridges/{id}/videoSource/{free}', status: 422, message: 'Channel not in Stasis application' },
    { ask: 'POST /bridges/{id}/videoSource/{up}', status: 422, message: 'Channel not in this bridge' },
    onNobody('DELETE /bridges/{id}/videoSource'),
    { ask: 'DELETE /bridges/{id}/videoSource', status: 204 },
    onNobody('POST /bridges/{id}/moh'),
    onNobody('DELETE /bridges/{id}/moh'),
    { ask: 'DELETE /bridges/{id}/moh', status: 409, message: "Bridge isn't playing music" },
    { ask: 'POST /bridges/{id}/moh?mohClass=default', status: 204 },
    { ask: 'POST /bridges/{id}/moh', status: 204 },
    { ask: 'DELETE /bridges/{id}/moh', status: 204 },
    onNobody('POST /bridges/{id}/play?media=sound:beep'),
    {
      ask: 'POST /bridges/{id}/play?media=sound:beep&announcer_format=nonsense',
      status: 422,
      message: 'specified announcer_format is unknown on this system',
    },
    onNobody('POST /bridges/{id}/record?name=x&format=wav'),
    {
      ask: 'POST /bridges/{id}/record?name=x&format=nonsense&terminateOn=x',
      status: 422,
      message: 'specified format is unknown on this system',
    },
    {
      ask: 'POST /bridges/{id}/record?name=x&format=wav&recorder_format=nonsense',
      status: 422,
      message: 'specified recorder_format is unknown on this system',
    },
    {
      ask: 'POST /bridges/{id}/record?name=x&format=wav&terminateOn=x&ifExists=x',
      status: 400,
      message: 'terminateOn invalid',
    },
    { ask: 'POST /bridges/{id}/record?name=x&format=wav&ifExists=x', status: 400, message: 'ifExists invalid' },
    { ask: 'GET /bridges/nobody/variable', status: 400, message: 'Variable name is required' },
    onNobody('GET /bridges/{id}/variable?variable=A'),
    { ask: 'GET /bridges/{id}/variable?variable=A', status: 404, message: 'Provided variable was not found' },
    { ask: 'POST /bridges/nobody/variable', status: 400, message: 'Variable name is required' },
    onNobody('POST /bridges/{id}/variable?variable=A'),
    { ask: 'GET /bridges/nobody/variables', status: 400, message: 'At least one variable name is required' },
    {
      ask: 'GET /bridges/nobody/variables?variables=A',
      status: 404,
      message: 'Provided bridge was not found',
      reason: 'Bridge Not Found',
    },
    { ask: 'GET /bridges/{id}/variables?variables=,A', status: 400, message: 'Variable names are required' },
    { ask: 'POST /bridges/{id}/variables', status: 400, message: "The 'variables' field is required" },
    {
      ask: 'POST /bridges/nobody/variables',
      with: { json: { variables: {} } },
      status: 404,
      message: 'Provided bridge was not found',
    },
    {
      ask: 'POST /bridges/{id}/variables',
      with: { json: { variables: { A: 1 } } },
      status: 400,
      message: "Each value in 'variables' must be a string or an object with 'value' and optional 'report_events'",
    },
    onNobody('DELETE /bridges/{id}'),
  ];
  await runAll(client, scene, cases);
  assert.equal((await get(id)).channels, []);
  await client.must(`DELETE /bridges/${id}`);
});

test('channels in any state enter; several are named at once, in the query or in a body', async () => {
  const id = await make();
  await add(id, `channel=${calls.up},${calls.ring}`);
  await client.must(`POST /bridges/${id}/addChannel`, { json: { channel: [calls.down] } });
  const bridge = await get(id);
  assert.equal([bridge.channels, bridge.technology], [[calls.up, calls.ring, calls.down], 'softmix']);
  await client.must(`POST /bridges/${id}/removeChannel?channel=${calls.down}`);
  await client.must(`DELETE /bridges/${id}`);
  await app.fence();
  assert.equal(shortly(app, id), [
    `ChannelEnteredBridge [${calls.up}]`,
    `ChannelEnteredBridge [${calls.up},${calls.ring}]`,
    `ChannelEnteredBridge [${calls.up},${calls.ring},${calls.down}]`,
    `ChannelLeftBridge [${calls.up},${calls.ring}]`,
    `ChannelLeftBridge [${calls.ring}]`,
    'ChannelLeftBridge []',
  ]);
  assert.equal(
    told(app, id).flatMap((message) => eventMisfits(message)),
    [],
  );
  for (const channel of [calls.up, calls.ring, calls.down])
    await run(client, { channel }, { ask: 'POST /channels/{channel}/variable?variable=STILL&value=1', status: 204 });
});

test('entering a second bridge leaves the first', async () => {
  const [one, two] = [await make(), await make()];
  await add(one, `channel=${calls.up}`);
  await add(two, `channel=${calls.up}`);
  assert.equal([(await get(one)).channels, (await get(two)).channels], [[], [calls.up]]);
  await app.fence();
  assert.equal(shortly(app, one), [`ChannelEnteredBridge [${calls.up}]`, 'ChannelLeftBridge []']);
  for (const id of [one, two]) await client.must(`DELETE /bridges/${id}`);
});

test('who hangs up leaves the bridge first, and the application last', async () => {
  const id = await make();
  const caller = client.unique('leaver');
  await callUp(client, app, caller);
  await add(id, `channel=${caller}`);
  await client.must(`DELETE /channels/${caller}`);
  await app.about(caller, 'ChannelDestroyed');
  const about = app.messages.filter(({ channel }) => (channel as { id?: string } | undefined)?.id === caller);
  const types = about.map(({ type }) => type).filter((type) => type !== 'ChannelVarset');
  assert.equal(types.slice(-4), ['ChannelHangupRequest', 'ChannelLeftBridge', 'StasisEnd', 'ChannelDestroyed']);
  await client.must(`DELETE /bridges/${id}`);
});

test('variables are set, read, and shown where that is wanted', async () => {
  const id = client.unique('bridge');
  const variables = { A: 'one', B: { value: 'two', report_events: true } };
  const made = await client.must<Bridge>(`POST /bridges/${id}`, { json: { variables } });
  assert.equal(made.bridgevars, { B: 'two' });
  const line = (rest: string): string => `/bridges/${id}/${rest}`;
  assert.equal(await client.must(`GET ${line('variable?variable=A')}`), { value: 'one' });
  await client.must(`POST ${line('variable?variable=C&value=three&report_events=true')}`);
  await client.must(`POST ${line('variables')}`, { json: { variables: { D: 'four' } } });
  assert.equal(await client.must(`GET ${line('variables?variables=A,%20D')}`), { variables: { A: 'one', D: 'four' } });
  assert.equal((await get(id)).bridgevars, { B: 'two', C: 'three' });
  await client.must(`DELETE /bridges/${id}`);
});

test('a source that is asked for shows one to all where each has seen all others', async () => {
  const bridge = await client.must<Bridge>('POST /bridges?type=video_sfu,sdp_label');
  assert.is(bridge.video_mode, 'sfu');
  await add(bridge.id, `channel=${calls.up}`);
  await client.must(`POST /bridges/${bridge.id}/videoSource/${calls.up}`);
  assert.is((await get(bridge.id)).video_mode, 'single');
  await client.must(`DELETE /bridges/${bridge.id}`);
});

test('a video source is set, changed, cleared and lost with who leaves', async () => {
  const id = await make();
  await app.fence();
  await client.must(`POST /applications/${app.name}/subscription?eventSource=bridge:${id}`);
  await add(id, `channel=${calls.up},${calls.ring}`);
  await client.must(`POST /bridges/${id}/videoSource/${calls.up}`);
  const set = await client.must<Bridge & { video_source_id: string }>(`GET /bridges/${id}`);
  assert.equal([set.video_mode, set.video_source_id], ['single', calls.up]);
  await client.must(`POST /bridges/${id}/videoSource/${calls.up}`);
  await client.must(`POST /bridges/${id}/videoSource/${calls.ring}`);
  await client.must(`DELETE /bridges/${id}/videoSource`);
  await client.must(`DELETE /bridges/${id}/videoSource`);
  assert.is((await get(id)).video_mode, 'talker');
  await client.must(`POST /bridges/${id}/videoSource/${calls.up}`);
  await client.must(`POST /bridges/${id}/removeChannel?channel=${calls.up}`);
  const left = await client.must<Bridge & { video_source_id?: string }>(`GET /bridges/${id}`);
  assert.equal([left.video_mode, left.video_source_id], ['single', undefined]);
  await client.must(`DELETE /bridges/${id}`);
  await app.wait('BridgeDestroyed', (message) => (message['bridge'] as Bridge).id === id);
  const changes = told(app, id).filter(({ type }) => type === 'BridgeVideoSourceChanged');
  assert.equal(
    changes.map((message) => message['old_video_source_id']),
    [undefined, calls.up, calls.ring, undefined, calls.up],
  );
});

test('media are played to a bridge as to a channel', async () => {
  const id = await make();
  await client.must(`POST /applications/${app.name}/subscription?eventSource=bridge:${id}`);
  const playbackId = client.unique('playback');
  const answer = await client.ask(`POST /bridges/${id}/play/${playbackId}?media=tone:ring`);
  assert.equal([answer.status, answer.headers['location']], [201, `/ari/playbacks/${playbackId}`]);
  assert.equal(misfits('Playback', answer.body), []);
  assert.is((answer.body as { target_uri: string }).target_uri, `bridge:${id}`);
  await client.must(`DELETE /playbacks/${playbackId}`);
  await app.wait('PlaybackFinished', (message) => (message['playback'] as { id: string }).id === playbackId);
  await client.must(`DELETE /bridges/${id}`);
});

test('a bridge is recorded, and its recording ends with it', async () => {
  const id = await make();
  await client.must(`POST /applications/${app.name}/subscription?eventSource=bridge:${id}`);
  const name = client.unique('recording');
  const answer = await client.ask(`POST /bridges/${id}/record?name=${name}&format=wav`);
  assert.equal([answer.status, answer.headers['location']], [201, `/ari/recordings/live/${name}`]);
  assert.equal(misfits('LiveRecording', answer.body), []);
  const recording = (message: Message) => (message['recording'] as { name: string } | undefined)?.name === name;
  await app.wait('RecordingStarted', recording);
  await client.must(`DELETE /bridges/${id}`);
  const finished = await app.wait('RecordingFinished', recording);
  assert.equal(eventMisfits(finished), []);
  assert.is(inShort(finished), 'RecordingFinished done');
  await client.must(`DELETE /recordings/stored/${name}`);
});

test.run();
