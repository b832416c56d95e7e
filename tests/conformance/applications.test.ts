import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Calls,
  type Case,
  callIn,
  callUp,
  check,
  create,
  makeCalls,
  run,
  runAll,
  usesTarget,
} from '../support/conformance-cases.ts';
import { type App, type Client, inShort } from '../support/conformance-client.ts';
import { misfits } from '../support/conformance-surface.ts';

const test = suite('applications, asked from outside');
let client: Client;
let app: App;
let calls: Calls;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect(client.unique('applications'));
  calls = await makeCalls(client, app);
});

const cases = (title: string, list: readonly Case[]) => test(title, () => runAll(client, calls, list));

type Application = {
  name: string;
  channel_ids: string[];
  bridge_ids: string[];
  endpoint_ids: string[];
  device_names: string[];
  events_allowed: unknown[];
  events_disallowed: unknown[];
};
const get = (name: string) => client.must<Application>(`GET /applications/${name}`);
const subscribe = (name: string, source: string) =>
  client.must<Application>(`POST /applications/${name}/subscription?eventSource=${encodeURIComponent(source)}`);
const unsubscribe = (name: string, source: string) =>
  client.ask(`DELETE /applications/${name}/subscription?eventSource=${encodeURIComponent(source)}`);

/* ---- 2.7 Operations ---------------------------------------------------------------------------------------------------- */

const missing = { status: 404, message: 'Application not found' };
const noSource = { status: 400, message: 'Missing parameter eventSource' };
const badScheme = { status: 400, message: 'Invalid event source URI scheme' };
const noSuchSource = { status: 422, message: 'Event source does not exist' };
const notSubscribed = { status: 422, message: 'Event source was not subscribed to' };

test('an application shows every field', async () => {
  const own = await client.connect(client.unique('shown'));
  assert.equal(await get(own.name), {
    name: own.name,
    channel_ids: [],
    bridge_ids: [],
    endpoint_ids: [],
    device_names: [],
    events_allowed: [],
    events_disallowed: [],
  });
  const list = await client.must<Application[]>('GET /applications');
  assert.equal(misfits('List[Application]', list), []);
  assert.equal(
    list.filter(({ name }) => name === own.name),
    [await get(own.name)],
  );
  await own.close();
});

cases('looking at an application and filtering its events need one that is there', [
  { ask: 'GET /applications/{nobody}', ...missing },
  { ask: 'PUT /applications/{nobody}/eventFilter', with: { json: { allowed: 1 } }, ...missing },
]);

for (const method of ['POST', 'DELETE']) {
  const nothing = method === 'POST' ? noSuchSource : notSubscribed;
  const ask = (name: string, source: string) => `${method} /applications/{${name}}/subscription?${source}`;
  cases(`${method} subscription is refused for the first fault of several`, [
    { ask: ask('nobody', ''), ...noSource },
    { ask: ask('app', ''), ...noSource },
    { ask: ask('nobody', 'eventSource=nonsense'), ...missing },
    { ask: ask('app', 'eventSource='), ...badScheme },
    { ask: ask('app', 'eventSource=nonsense'), ...badScheme },
    { ask: ask('app', 'eventSource=Channel:x'), ...badScheme },
    { ask: ask('app', 'eventSource=channel:{nobody},nonsense'), ...nothing },
    { ask: ask('app', 'eventSource=nonsense,channel:{nobody}'), ...badScheme },
    { ask: ask('app', 'eventSource=channel:{nobody}'), ...nothing },
    { ask: ask('app', 'eventSource=bridge:{nobody}'), ...nothing },
    { ask: ask('app', 'eventSource=endpoint:PJSIP/nobody'), ...nothing },
    { ask: ask('app', 'eventSource=endpoint:Nothing'), ...nothing },
  ]);
}

test('what is not subscribed cannot be unsubscribed', async () => {
  const own = await client.connect(client.unique('unsubscribed'));
  const sources = [`channel:${calls.up}`, 'endpoint:PJSIP', 'deviceState:x', 'bridge:', 'channel:'];
  for (const source of sources) check(await unsubscribe(own.name, source), notSubscribed, source);
  await own.close();
});

test('each source is done in turn until one is wrong', async () => {
  const own = await client.connect(client.unique('turns'));
  const wrong = await client.ask(
    `POST /applications/${own.name}/subscription?eventSource=deviceState:a,channel:${calls.nobody},deviceState:b`,
  );
  check(wrong, noSuchSource, 'a source that is not there');
  assert.equal((await get(own.name)).device_names, ['a']);
  check(await unsubscribe(own.name, 'deviceState:a,deviceState:b'), notSubscribed, 'one of two');
  assert.equal((await get(own.name)).device_names, []);
  await own.close();
});

/* ---- 2.7 User events --------------------------------------------------------------------------------------------------- */

cases('a user event is refused for the first fault of several', [
  { ask: 'POST /events/user/hello?source=nonsense', status: 400, message: 'Missing parameter application' },
  {
    ask: 'POST /events/user/hello?application=&source=nonsense',
    status: 400,
    message: 'Missing parameter application',
  },
  { ask: 'POST /events/user/hello?application={nobody}&source=nonsense', ...missing },
  { ask: 'POST /events/user/hello?application={app}&source=nonsense', ...badScheme },
  { ask: 'POST /events/user/hello?application={app}&source=deviceState:x', ...badScheme },
  { ask: 'POST /events/user/hello?application={app}&source=nonsense,channel:{nobody}', ...badScheme },
  {
    ask: 'POST /events/user/hello?application={app}&source=channel:{nobody},nonsense',
    status: 422,
    message: 'Event source was not found',
  },
  {
    ask: 'POST /events/user/hello?application={app}&source=bridge:{nobody}',
    status: 422,
    message: 'Event source was not found',
  },
  {
    ask: 'POST /events/user/hello?application={app}&source=endpoint:PJSIP/nobody',
    status: 422,
    message: 'Event source was not found',
  },
]);

test('a user event carries its variables and the last source of each kind', async () => {
  const name = client.unique('hello');
  const query = `application=${app.name}&source=channel:${calls.down},channel:${calls.up}`;
  await client.must(`POST /events/user/${name}?${query}`, {
    json: { variables: { word: 'hi', number: 1, list: [1, { a: null }] } },
  });
  const event = await app.wait('ChannelUserevent', ({ eventname }) => eventname === name);
  assert.equal(event['userevent'], { word: 'hi', number: 1, list: [1, { a: null }], eventname: name });
  assert.is((event['channel'] as { id: string }).id, calls.up);
  assert.is('bridge' in event || 'endpoint' in event, false);
});

/* ---- 3.2 Upgrade ------------------------------------------------------------------------------------------------------- */

const key = 'dGhlIHNhbXBsZSBub25jZQ==';
const upgrade = (headers: Record<string, string> = {}) => ({
  headers: {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': key,
    ...headers,
  },
});

const missingParams = {
  status: 400,
  body: { type: 'MissingParams', params: ['app'] },
  difference: { why: 'GET /events without app', status: 400 },
};
test('an events WebSocket without app is told what is missing', async () => {
  // Elsewhere a blank is a name, and one that cannot be.
  for (const query of ['', '?app=', '?subscribeAll=true', ...(client.target.ours ? ['?app=%20'] : [])]) {
    for (const options of [upgrade(), { headers: {} }]) {
      const { status, body } = await client.ask(`GET /events${query}`, { ...options, fresh: true });
      assert.is(status, client.target.ours || 'Upgrade' in options.headers ? 400 : 426, query);
      if (!client.target.ours) continue;
      const { asterisk_id, ...rest } = body as Record<string, unknown>;
      assert.type(asterisk_id, 'string');
      assert.equal(rest, missingParams.body, query);
    }
  }
});

test('an events WebSocket is refused for the first fault of several', async () => {
  const long = 'x'.repeat(74);
  const asked: [string, Parameters<Client['ask']>[1], number][] = [
    ['GET /events?app=x', { ...upgrade(), credentials: 'nobody:nothing' }, 401],
    ['GET /events?app=x', { credentials: null }, 401],
    ['POST /events?app=x', upgrade(), 405],
    ['GET /events?app=x', {}, 426],
    ['GET /events?app=x', upgrade({ Upgrade: 'h2c' }), 426],
    ['GET /events?app=x', upgrade({ 'Sec-WebSocket-Version': '12' }), 400],
    ['GET /events?app=x', upgrade({ 'Sec-WebSocket-Key': '' }), 400],
    ['GET /events?app=x', upgrade({ 'Sec-WebSocket-Protocol': 'chat, superchat' }), 400],
    [`GET /events?app=${long}`, upgrade(), client.target.ours ? 400 : 500],
    ['GET /events?app=x,,y', upgrade(), client.target.ours ? 400 : 500],
  ];
  for (const [line, options, status] of asked) {
    // Asterisk answers some of them twice, and writes the second answer into the next.
    const answer = await client.ask(line, { ...options, fresh: true });
    assert.is(answer.status, status, `${line} ${JSON.stringify(options)}: ${answer.text}`);
  }
  check(await client.ask('GET /applications/x'), missing, 'nobody was registered');
});

/* ---- 3.1 Life ---------------------------------------------------------------------------------------------------------- */

test('an application is gone when its socket closes and nothing holds it', async () => {
  const name = client.unique('gone');
  const first = await client.connect(name);
  await client.must(`PUT /applications/${name}/eventFilter`, { json: { disallowed: [{ type: 'Dial' }] } });
  await first.close();
  await client.gone(name);
  const second = await client.connect(name);
  assert.equal((await get(name)).events_disallowed, []);
  await second.close();
});

test('an application that is held by a subscription stays, inactive, and hears again once it is back', async () => {
  const name = client.unique('held');
  const first = await client.connect(name);
  await subscribe(name, `channel:${calls.up}`);
  await client.must(`PUT /applications/${name}/eventFilter`, { json: { disallowed: [{ type: 'Dial' }] } });
  await first.close();
  assert.equal((await get(name)).channel_ids, [calls.up]);
  await client.must(`POST /channels/${calls.up}/variable?variable=LOST&value=1`);
  const second = await client.connect(name);
  assert.equal((await get(name)).events_disallowed, [{ type: 'Dial' }]);
  await client.must(`POST /channels/${calls.up}/variable?variable=SEEN&value=1`);
  await second.fence();
  assert.equal(second.messages.map(inShort), ['ChannelVarset SEEN=1']);
  check(await unsubscribe(name, `channel:${calls.up}`), { status: 200 }, 'unsubscribe');
  await second.close();
  await client.gone(name);
});

test('an inactive application is gone with its last subscription', async () => {
  const name = client.unique('last');
  const own = await client.connect(name);
  await subscribe(name, `channel:${calls.up}`);
  await own.close();
  await unsubscribe(name, `channel:${calls.up}`);
  await client.gone(name);
});

test('a second socket takes an application over; the first is told and keeps its others', async () => {
  const [one, two] = [client.unique('one'), client.unique('two')];
  const first = await client.connect([one, two]);
  await subscribe(one, `channel:${calls.up}`);
  const second = await client.connect(one);
  const replaced = await first.wait('ApplicationReplaced');
  assert.is(replaced['application'], one);
  await first.fence(two);
  await client.must(`POST /channels/${calls.up}/variable?variable=TAKEN&value=1`);
  await second.fence();
  assert.equal(second.messages.map(inShort), ['ChannelVarset TAKEN=1']);
  assert.equal(first.messages.map(inShort), ['ApplicationReplaced']);
  await first.close();
  await second.fence();
  await client.gone(two);
  assert.equal((await get(one)).channel_ids, [calls.up]);
  await unsubscribe(one, `channel:${calls.up}`);
  await second.close();
});

test('several applications on one socket hear an event once each', async () => {
  const names = ['left', 'right'].map((word) => client.unique(word));
  const own = await client.connect(names);
  for (const name of names) await subscribe(name, `channel:${calls.up}`);
  await client.must(`POST /channels/${calls.up}/variable?variable=SHARED&value=1`);
  for (const name of names) await own.fence(name);
  assert.equal(own.messages.map(({ application }) => application).sort(), [...names].sort());
  for (const name of names) await unsubscribe(name, `channel:${calls.up}`);
  await own.close();
});

test('subscribeAll subscribes to all of every type, while the socket is open', async () => {
  const name = client.unique('all');
  const own = await client.connect(name, '&subscribeAll=true');
  const { channel_ids, bridge_ids, endpoint_ids, device_names } = await get(name);
  assert.equal(
    [channel_ids, bridge_ids, endpoint_ids, device_names],
    [
      ['__AST_CHANNEL_ALL_TOPIC'],
      ['__AST_BRIDGE_ALL_TOPIC'],
      ['__AST_ENDPOINT_ALL_TOPIC'],
      ['__AST_DEVICE_STATE_ALL_TOPIC'],
    ],
  );
  await own.close();
  await client.gone(name);
});

test('subscribeAll is honoured by an application that is there already', async () => {
  if (!client.target.ours) return;
  const name = client.unique('later');
  const first = await client.connect(name);
  const second = await client.connect(name, '&subscribeAll=true');
  assert.equal((await get(name)).channel_ids, ['__AST_CHANNEL_ALL_TOPIC']);
  await first.close();
  await second.close();
});

test('a channel cannot enter an application that is not connected', async () => {
  const name = client.unique('away');
  const id = client.unique('lonely');
  const watcher = await client.connect(client.unique('watcher'), '&subscribeAll=true');
  await client.must(
    `POST /channels/${id}?endpoint=Local/a*${name}@conformance&extension=s&context=conformance&otherChannelId=${id}-in`,
  );
  const status = await watcher.about(`${id}-in`, 'ChannelVarset', ({ variable }) => variable === 'AFTER');
  assert.is(status['value'], 'FAILED');
  await client.must(`DELETE /channels/${id}`);
  await watcher.about(id, 'ChannelDestroyed');
  await watcher.close();
});

test('an originated channel whose application is not connected ends when it is answered', async () => {
  const id = client.unique('unwanted');
  const watcher = await client.connect(client.unique('watcher'), '&subscribeAll=true');
  await client.must(`POST /channels/${id}?endpoint=Local/wait@conformance&app=${client.unique('away')}`);
  await watcher.about(id, 'ChannelDestroyed');
  await watcher.fence();
  const about = watcher.messages.filter((message) => (message['channel'] as { id?: string } | undefined)?.id === id);
  assert.is(
    about.some(({ type }) => type === 'StasisStart'),
    false,
  );
  const status = about.find(({ variable, value }) => variable === 'STASISSTATUS' && value === 'FAILED');
  assert.ok(status);
  await watcher.close();
});

test('channels of an application whose socket is away stay, and can be commanded', async () => {
  const name = client.unique('stays');
  const first = await client.connect(name);
  const id = client.unique('kept');
  await callUp(client, first, id);
  await first.close();
  await run(client, { id }, { ask: 'POST /channels/{id}/answer', status: 204 });
  assert.equal((await get(name)).channel_ids, [id, `${id};2`]);
  const second = await client.connect(name);
  await client.must(`DELETE /channels/${id}`);
  await second.about(id, 'ChannelDestroyed');
  await second.close();
});

/* ---- 3.3 Subscriptions ------------------------------------------------------------------------------------------------- */

/** Sets a variable on a channel and gives what the application heard of it. */
async function heard(own: App, channelId = calls.up): Promise<string[]> {
  own.messages.length = 0;
  await client.must(`POST /channels/${channelId}/variable?variable=HEARD&value=1`);
  await own.fence();
  return own.messages.map(inShort);
}
const varset = ['ChannelVarset HEARD=1'];

test('subscriptions to a channel are counted', async () => {
  const own = await client.connect(client.unique('counted'));
  assert.equal(await heard(own), []);
  await subscribe(own.name, `channel:${calls.up}`);
  assert.equal((await subscribe(own.name, `channel:${calls.up}`)).channel_ids, [calls.up]);
  assert.equal(await heard(own), varset);
  await unsubscribe(own.name, `channel:${calls.up}`);
  assert.equal(await heard(own), varset);
  await unsubscribe(own.name, `channel:${calls.up}`);
  assert.equal(await heard(own), []);
  check(await unsubscribe(own.name, `channel:${calls.up}`), notSubscribed, 'once too often');
  await own.close();
});

test('a channel is subscribed to by its name, too', async () => {
  const own = await client.connect(client.unique('named'));
  const { name } = await client.must<{ name: string }>(`GET /channels/${calls.up}`);
  assert.equal((await subscribe(own.name, `channel:${name}`)).channel_ids, [calls.up]);
  assert.equal(await heard(own), varset);
  await own.close();
});

test('who hears all channels gains nothing from one of them', async () => {
  const own = await client.connect(client.unique('all'));
  await subscribe(own.name, 'channel:');
  assert.equal((await subscribe(own.name, `channel:${calls.up}`)).channel_ids, ['__AST_CHANNEL_ALL_TOPIC']);
  check(await unsubscribe(own.name, `channel:${calls.up}`), notSubscribed, 'one of all');
  assert.equal(await heard(own), varset);
  check(await unsubscribe(own.name, 'channel:'), { status: client.target.ours ? 200 : 501 }, 'all');
  assert.equal(await heard(own), client.target.ours ? [] : varset);
  await own.close();
});

test('all channels beside one of them: each event comes once', async () => {
  if (!client.target.ours) return;
  const own = await client.connect(client.unique('once'));
  await subscribe(own.name, `channel:${calls.up}`);
  await subscribe(own.name, 'channels:');
  assert.equal(await heard(own), varset);
  await unsubscribe(own.name, 'channel:');
  assert.equal(await heard(own), varset);
  await own.close();
});

test('a subscription ends with its channel, whatever its count', async () => {
  const own = await client.connect(client.unique('ended'));
  const id = client.unique('mortal');
  await create(client, app, id);
  for (let count = 0; count < 3; count++) await subscribe(own.name, `channel:${id}`);
  await client.must(`DELETE /channels/${id}`);
  await own.about(id, 'ChannelDestroyed');
  assert.equal((await get(own.name)).channel_ids, []);
  await own.close();
});

test('subscriptions to device states are counted, and end by one of all', async () => {
  const own = await client.connect(client.unique('devices'));
  const device = `Stasis:${client.unique('device')}`;
  const set = async (state: string) => {
    own.messages.length = 0;
    await client.must(`PUT /deviceStates/${device}?deviceState=${state}`);
    await own.fence();
    return own.messages.map(({ device_state }) => device_state);
  };
  assert.equal((await subscribe(own.name, `deviceState:${device}`)).device_names, [device]);
  await subscribe(own.name, `deviceState:${device}`);
  assert.equal(await set('BUSY'), [{ name: device, state: 'BUSY' }]);
  await unsubscribe(own.name, `deviceState:${device}`);
  assert.equal(await set('INUSE'), client.target.ours ? [{ name: device, state: 'INUSE' }] : []);
  if (client.target.ours) await unsubscribe(own.name, `deviceState:${device}`);
  assert.equal(await set('BUSY'), []);
  await subscribe(own.name, 'deviceState:');
  assert.equal(await set('INUSE'), [{ name: device, state: 'INUSE' }]);
  await client.must(`DELETE /deviceStates/${device}`);
  await own.close();
});

test('an application is subscribed to a channel from its coming to its going', async () => {
  const own = await client.connect(client.unique('implicit'));
  const id = client.unique('visitor');
  const inside = await callIn(client, own, id);
  assert.equal((await get(own.name)).channel_ids, [inside]);
  await client.must(`POST /channels/${inside}/continue?context=conformance&extension=s`);
  await own.about(inside, 'StasisEnd');
  assert.equal((await get(own.name)).channel_ids, []);
  await client.must(`DELETE /channels/${id}`);
  await own.close();
});

test('a subscription that a client made outlives the channel’s stay', async () => {
  const own = await client.connect(client.unique('explicit'));
  const id = client.unique('visitor');
  const inside = await callIn(client, own, id);
  await subscribe(own.name, `channel:${inside}`);
  await client.must(`POST /channels/${inside}/continue?context=conformance&extension=s`);
  await own.about(inside, 'StasisEnd');
  assert.equal((await get(own.name)).channel_ids, [inside]);
  await client.must(`DELETE /channels/${id}`);
  await own.about(inside, 'ChannelDestroyed');
  await own.close();
});

test('originate subscribes to both halves of a Local channel, create to the channel and its originator', async () => {
  const own = await client.connect(client.unique('made'));
  const id = client.unique('first');
  await client.must(`POST /channels/${id}?endpoint=Local/silent@conformance&app=${own.name}`);
  assert.equal((await get(own.name)).channel_ids, [id, `${id};2`]);
  await client.must(`DELETE /channels/${id}`);
  await own.about(id, 'ChannelDestroyed');
  const made = client.unique('second');
  const query = `channelId=${made}&endpoint=Local/silent@conformance&app=${own.name}&originator=${calls.up}`;
  await client.must(`POST /channels/create?${query}`);
  assert.equal((await get(own.name)).channel_ids, [made, calls.up].sort());
  await client.must(`DELETE /channels/${made}`);
  await own.about(made, 'ChannelDestroyed');
  await own.close();
});

/* ---- 3.4 Event filter -------------------------------------------------------------------------------------------------- */

const filter = (name: string, json?: unknown) =>
  client.ask(`PUT /applications/${name}/eventFilter`, json === undefined ? {} : { json });

test('an event is sent when it is not disallowed and either nothing or just this is allowed', async () => {
  const own = await client.connect(client.unique('filtered'));
  await subscribe(own.name, `channel:${calls.up}`);
  const fence = { type: 'ChannelUserevent' };
  const [varsets, dials] = [{ type: 'ChannelVarset' }, { type: 'Dial' }];
  const rows: [unknown, string[]][] = [
    [{ allowed: [fence] }, []],
    [{ allowed: [fence, varsets] }, varset],
    [{ disallowed: [varsets] }, []],
    [{ disallowed: [dials] }, varset],
    [{ allowed: [fence], disallowed: [] }, []],
    [{ allowed: [], disallowed: [varsets] }, []],
    [{ disallowed: [{ type: 'channelvarset' }] }, varset],
    [{}, varset],
    [{ disallowed: [varsets] }, []],
    [undefined, varset],
  ];
  for (const [body, expected] of rows) {
    check(await filter(own.name, body), { status: 200 }, JSON.stringify(body));
    assert.equal(await heard(own), expected, JSON.stringify(body));
  }
  await own.close();
});

test('a filter is given back as it came, a list that is left out stays', async () => {
  const own = await client.connect(client.unique('kept'));
  const lists = async (body?: unknown) => {
    const { events_allowed, events_disallowed } = (await filter(own.name, body)).body as Application;
    return [events_allowed, events_disallowed];
  };
  const extra = [{ type: 'Dial', note: { a: [1] } }, { type: 'Anything' }];
  assert.equal(await lists({ allowed: extra }), [extra, []]);
  assert.equal(await lists({ disallowed: [{ type: 'X' }] }), [extra, [{ type: 'X' }]]);
  assert.equal(await lists({ allowed: [] }), [[], [{ type: 'X' }]]);
  assert.equal(await lists([{ type: 'Y' }]), [[{ type: 'Y' }], [{ type: 'Y' }]]);
  assert.equal(await lists({}), [[], []]);
  await own.close();
});

test('a filter that is malformed is refused and changes nothing', async () => {
  const own = await client.connect(client.unique('malformed'));
  await filter(own.name, { allowed: [{ type: 'ChannelUserevent' }] });
  const wrong = [
    { allowed: 'Dial' },
    { allowed: {} },
    { allowed: [1] },
    { allowed: ['Dial'] },
    { allowed: [{}] },
    { allowed: [{ type: '' }] },
    { allowed: [{ type: 1 }] },
    { disallowed: [null] },
    [1],
    { disallowed: [{ type: 'Dial' }], allowed: 1 },
  ];
  for (const body of wrong) {
    const answer = await filter(own.name, body);
    check(answer, { status: 400, message: 'Invalid format definition' }, JSON.stringify(body));
  }
  const { events_allowed, events_disallowed } = await get(own.name);
  if (client.target.ours) assert.equal([events_allowed, events_disallowed], [[{ type: 'ChannelUserevent' }], []]);
  await own.close();
});

test('a filter mutes StasisStart, but nothing that concerns the connection', async () => {
  const own = await client.connect(client.unique('muted'));
  const muted = ['StasisStart', 'RESTResponse', 'ApplicationReplaced'].map((type) => ({ type }));
  await filter(own.name, { disallowed: muted });
  const id = client.unique('quiet');
  await client.must(`POST /channels/create?channelId=${id}&endpoint=Local/wait@conformance&app=${own.name}`);
  await own.about(id, 'ChannelDialplan');
  await own.fence();
  assert.is(
    own.messages.some(({ type }) => type === 'StasisStart'),
    false,
  );
  await client.must(`DELETE /channels/${id}`);
  await own.about(id, 'ChannelDestroyed');
  if (client.target.ours) {
    assert.is((await own.rest({ method: 'GET', uri: 'asterisk/ping' }))['status_code'], 200);
    const other = await client.connect(own.name);
    await own.wait('ApplicationReplaced');
    await other.close();
  }
  await own.close();
});

test('delivered events are numbered without a gap', async () => {
  if (!client.target.ours) return;
  const own = await client.connect(client.unique('numbered'));
  await subscribe(own.name, `channel:${calls.up}`);
  for (let count = 0; count < 3; count++)
    await client.must(`POST /channels/${calls.up}/variable?variable=N&value=${count}`);
  await own.fence();
  const [first = 0, ...rest] = own.messages.map(({ seq }) => seq as number);
  assert.equal(rest, [first + 1, first + 2]);
  await own.close();
});

test.run();
