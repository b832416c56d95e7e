import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callIn, callUp, create, usesTarget } from '../support/conformance-cases.ts';
import type { App, Client, Message } from '../support/conformance-client.ts';
import { eventMisfits, surface } from '../support/conformance-surface.ts';

const test = suite('the JSON of events, asked from outside');
let client: Client;
/** Hears everything. */
let all: App;
/** Hears what concerns its channels. */
let app: App;

usesTarget(test, async (own) => {
  client = own;
  all = await client.connect(client.unique('all'), '&subscribeAll=true');
  app = await client.connect(client.unique('events'));
});

/** The event with everything that differs from run to run replaced by its kind; the names given become their keys. */
function normal(event: Message, names: Record<string, string> = {}): unknown {
  let text = JSON.stringify(event, (key, value) => {
    if (key === 'timestamp' || key === 'creationtime') return '<time>';
    if (key === 'asterisk_id') return '<system>';
    if (key === 'seq') return '<number>';
    // Ours has it where the event follows from a request; which request that is tests/recorder says.
    if (key === 'caused_by' && client.target.ours) return undefined;
    return typeof value === 'string' ? value.replace(/^(Local\/.+)-[0-9a-f]{8}(;\d)$/, '$1-<hex>$2') : value;
  });
  for (const [word, name] of Object.entries(names)) text = text.replaceAll(name, `<${word}>`);
  return JSON.parse(text);
}

const stamped = (type: string, receiver: string) => ({
  type,
  application: receiver,
  timestamp: '<time>',
  asterisk_id: '<system>',
  ...(client.target.ours ? { seq: '<number>' } : {}),
});

const channelvars = () => (client.target.ours ? { channelvars: { COLOUR: '' } } : {});
const nobody = { name: '', number: '' };
const place = (app_name: string, app_data: string) => ({
  context: 'conformance',
  exten: 'wait',
  priority: 1,
  app_name,
  app_data,
});
/** A channel as originate makes it, with what is different. */
const channel = (changes: Record<string, unknown> = {}) => ({
  id: '<id>',
  protocol_id: '',
  name: 'Local/wait@conformance-<hex>;1',
  state: 'Up',
  caller: nobody,
  connected: nobody,
  accountcode: '',
  dialplan: place('AppDial2', '(Outgoing Line)'),
  creationtime: '<time>',
  language: 'en',
  ...channelvars(),
  ...changes,
});

test('the events of an originated channel, in full', async () => {
  const id = client.unique('full');
  await callUp(client, app, id);
  await client.must(`POST /channels/${id}/variable?variable=A&value=1`);
  await client.must(`DELETE /channels/${id}?reason=busy`);
  await app.about(id, 'ChannelDestroyed');
  const named = { id, app: app.name };
  const full = async (type: string, matches?: (message: Message) => boolean) =>
    normal(await app.about(id, type, matches), named);
  const down = { state: 'Down' };
  const inside = channel({ dialplan: place('Stasis', '<app>,a,b') });

  assert.equal(await full('Dial'), {
    ...stamped('Dial', '<app>'),
    peer: channel(down),
    dialstatus: '',
    dialstring: 'wait@conformance',
    forward: '',
  });
  assert.equal(await full('Dial', ({ dialstatus }) => dialstatus === 'ANSWER'), {
    ...stamped('Dial', '<app>'),
    peer: channel(),
    dialstatus: 'ANSWER',
    dialstring: 'wait@conformance',
    forward: '',
  });
  assert.equal(await full('ChannelStateChange'), { ...stamped('ChannelStateChange', '<app>'), channel: channel() });
  assert.equal(await full('StasisStart'), {
    ...stamped('StasisStart', '<app>'),
    channel: inside,
    args: ['a', 'b'],
  });
  assert.equal(await full('ChannelVarset', ({ variable }) => variable === 'A'), {
    ...stamped('ChannelVarset', '<app>'),
    variable: 'A',
    value: '1',
    channel: inside,
  });
  assert.equal(await full('ChannelHangupRequest'), {
    ...stamped('ChannelHangupRequest', '<app>'),
    channel: inside,
    cause: client.target.ours ? 17 : 32,
    soft: true,
  });
  assert.equal(await full('StasisEnd'), { ...stamped('StasisEnd', '<app>'), channel: inside });
  // Asterisk shows in the end what was shown before the application: docs/differences.md.
  assert.equal(await full('ChannelDestroyed'), {
    ...stamped('ChannelDestroyed', '<app>'),
    channel: client.target.ours ? inside : channel(),
    cause: 17,
    cause_txt: 'User busy',
  });
});

test('the events of a created channel, in full', async () => {
  const id = client.unique('full');
  await create(client, app, id);
  const named = { id, app: app.name, all: all.name };
  const created = channel({ state: 'Down', dialplan: place('', '') });
  assert.equal(normal(await all.about(id, 'ChannelCreated'), named), {
    ...stamped('ChannelCreated', '<all>'),
    channel: created,
  });
  const inside = channel({ state: 'Down', dialplan: place('Stasis', '<app>') });
  assert.equal(normal(await app.about(id, 'ChannelDialplan'), named), {
    ...stamped('ChannelDialplan', '<app>'),
    channel: inside,
    dialplan_app: 'Stasis',
    dialplan_app_data: '<app>',
  });
  await client.must(`POST /channels/${id}/move?app=nobody-is-this&appArgs=x,y`);
  assert.equal(normal(await app.about(id, 'ApplicationMoveFailed'), named), {
    ...stamped('ApplicationMoveFailed', '<app>'),
    channel: inside,
    destination: 'nobody-is-this',
    args: ['x', 'y'],
  });
  await client.must(`POST /channels/${id}/variable?variable=CALLERID(all)&value=${encodeURIComponent('"Bob" <200>')}`);
  const caller = { name: 'Bob', number: '200' };
  assert.equal(normal(await app.about(id, 'ChannelCallerId'), named), {
    ...stamped('ChannelCallerId', '<app>'),
    channel: { ...inside, caller },
    caller_presentation: 0,
    caller_presentation_txt: 'Presentation Allowed, Not Screened',
  });
  await client.must(`POST /channels/${id}/variable?variable=CONNECTEDLINE(num)&value=300`);
  assert.equal(normal(await app.about(id, 'ChannelConnectedLine'), named), {
    ...stamped('ChannelConnectedLine', '<app>'),
    channel: { ...inside, caller, connected: { name: '', number: '300' } },
  });
  await client.must(`DELETE /channels/${id}`);
});

test('the events of a playback, in full', async () => {
  const id = client.unique('full');
  await callUp(client, app, id);
  const playback = client.unique('playback');
  await client.must(`POST /channels/${id}/play/${playback}?media=sound:beep,sound:nothing`);
  await app.about(id, 'PlaybackFinished');
  const named = { playback, id, app: app.name };
  const full = async (type: string) => normal(await app.about(id, type), named);
  const item = { id: '<playback>', target_uri: 'channel:<id>', language: 'en' };
  assert.equal(await full('PlaybackStarted'), {
    ...stamped('PlaybackStarted', '<app>'),
    playback: { ...item, media_uri: 'sound:beep', next_media_uri: 'sound:nothing', state: 'playing' },
  });
  assert.equal(await full('PlaybackContinuing'), {
    ...stamped('PlaybackContinuing', '<app>'),
    playback: { ...item, media_uri: 'sound:beep', next_media_uri: 'sound:nothing', state: 'continuing' },
  });
  const failed = client.target.ours ? { failed_media_uris: ['sound:nothing'] } : {};
  assert.equal(await full('PlaybackFinished'), {
    ...stamped('PlaybackFinished', '<app>'),
    playback: { ...item, media_uri: 'sound:nothing', state: 'failed', ...failed },
  });
  await client.must(`DELETE /channels/${id}`);
});

test('user events of a client and of the dialplan, in full', async () => {
  const id = client.unique('full');
  await client.must(`POST /channels/${id}?endpoint=Local/event@conformance&app=${app.name}&otherChannelId=${id}-b`);
  const spoken = await all.about(`${id}-b`, 'ChannelUserevent');
  const { channel: about, ...rest } = normal(spoken, { all: all.name }) as Record<string, unknown>;
  assert.equal(rest, {
    ...stamped('ChannelUserevent', '<all>'),
    eventname: 'greeting',
    userevent: { word: 'hello', number: '1', eventname: 'greeting' },
  });
  assert.is((about as { id: string }).id, `${id}-b`);
  const name = client.unique('made');
  await client.must(`POST /events/user/${name}?application=${app.name}`, { json: { variables: { a: 'b' } } });
  const made = await app.wait('ChannelUserevent', ({ eventname }) => eventname === name);
  assert.equal(normal(made, { name, app: app.name }), {
    ...stamped('ChannelUserevent', '<app>'),
    eventname: '<name>',
    userevent: { a: 'b', eventname: '<name>' },
  });
  await client.must(`DELETE /channels/${id}`);
});

test('digits and hang-up from the far side, in full', async () => {
  const id = client.unique('far');
  const inside = await callIn(client, app, id);
  await client.must(`POST /channels/${inside}/answer`);
  await client.must(`POST /channels/${inside}/dtmf?dtmf=5&duration=80`);
  const digit = await all.about(id, 'ChannelDtmfReceived');
  const { channel: about, duration_ms, ...rest } = normal(digit, { all: all.name }) as Record<string, unknown>;
  assert.equal(rest, { ...stamped('ChannelDtmfReceived', '<all>'), digit: '5' });
  assert.is((about as { id: string }).id, id);
  assert.ok(Number(duration_ms) >= 60 && Number(duration_ms) <= 140, String(duration_ms));
  await client.must(`DELETE /channels/${id}?reason_code=21`);
  const asked = await app.about(inside, 'ChannelHangupRequest');
  assert.equal([asked['cause'], 'soft' in asked], [21, false]);
});

test('what concerns applications and devices, in full', async () => {
  const name = client.unique('taken');
  const first = await client.connect(name);
  const second = await client.connect(name);
  assert.equal(normal(await first.wait('ApplicationReplaced'), { name }), stamped('ApplicationReplaced', '<name>'));
  await first.close();
  await second.close();
  const device = `Stasis:${client.unique('device')}`;
  await client.must(`PUT /deviceStates/${device}?deviceState=ONHOLD`);
  const changed = await all.wait(
    'DeviceStateChanged',
    ({ device_state }) => (device_state as { name: string }).name === device,
  );
  assert.equal(normal(changed, { device, all: all.name }), {
    ...stamped('DeviceStateChanged', '<all>'),
    device_state: { name: '<device>', state: 'ONHOLD' },
  });
  await client.must(`DELETE /deviceStates/${device}`);
  await client.must('POST /asterisk/variable?variable=WEATHER&value=fine');
  const global = await all.wait('ChannelVarset', ({ variable }) => variable === 'WEATHER');
  assert.equal(normal(global, { all: all.name }), {
    ...stamped('ChannelVarset', '<all>'),
    variable: 'WEATHER',
    value: 'fine',
  });
  await client.must('POST /asterisk/variable?variable=WEATHER');
});

/** Subscribes a new application to an event source. */
async function listener(source: string): Promise<App> {
  const own = await client.connect(client.unique('listener'));
  await client.must(`POST /applications/${own.name}/subscription?eventSource=${source}`);
  return own;
}

/** The types of everything that an application has been told; then it is closed. */
async function heard(own: App): Promise<string[]> {
  await own.fence();
  await own.close();
  return own.messages.map(({ type }) => type);
}

/** Sends one SIP request from a phone's socket and gives the first final answer. */
async function sip(target: string, phone: ReturnType<typeof createSocket>, method: string, lines: string[], body = '') {
  const { port } = phone.address();
  const [host = '', serverPort = ''] = target.split(':');
  const uri = method === 'REGISTER' ? `sip:${target}` : `sip:anyone@${target}`;
  const message = [
    `${method} ${uri} SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK${client.unique('b')};rport`,
    `Max-Forwards: 70`,
    `From: <sip:guest@${target}>;tag=${client.unique('t')}`,
    `To: <${method === 'REGISTER' ? `sip:guest@${target}` : uri}>`,
    `Call-ID: ${client.unique('call')}`,
    `CSeq: 1 ${method}`,
    ...lines,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
  const answered = once(phone, 'message') as Promise<[Buffer]>;
  phone.send(message, Number(serverPort), host);
  const [answer] = await answered;
  return answer.toString('utf8').split('\r\n', 1)[0];
}

test('a phone that registers, writes and goes, in full', async () => {
  const { sip: target } = client.target;
  if (target === undefined) return;
  const phone = createSocket('udp4');
  phone.bind(0, '127.0.0.1');
  await once(phone, 'listening');
  try {
    const sources = ['endpoint:PJSIP/guest', 'endpoint:pjsip/GUEST', 'endpoint:PJSIP', 'endpoint:'];
    const listeners = await Promise.all([...sources, 'endpoint:PJSIP/alice'].map(listener));
    const shown = await Promise.all(listeners.map(({ name }) => client.must(`GET /applications/${name}`)));
    assert.equal(
      shown.map(({ endpoint_ids }) => endpoint_ids),
      [['PJSIP/guest'], ['PJSIP/guest'], ['PJSIP'], ['__AST_ENDPOINT_ALL_TOPIC'], ['PJSIP/alice']],
    );
    const contact = `sip:guest@127.0.0.1:${phone.address().port}`;
    assert.is(await sip(target, phone, 'REGISTER', [`Contact: <${contact}>`, 'Expires: 600']), 'SIP/2.0 200 OK');
    const endpoint = { technology: 'PJSIP', resource: 'guest', state: 'online', channel_ids: [] };
    const named = { all: all.name, contact };
    assert.equal(normal(await all.wait('ContactStatusChange'), named), {
      ...stamped('ContactStatusChange', '<all>'),
      endpoint: { ...endpoint, state: 'offline' },
      contact_info: { uri: '<contact>', contact_status: 'NonQualified', aor: 'guest' },
    });
    assert.equal(normal(await all.wait('EndpointStateChange'), named), {
      ...stamped('EndpointStateChange', '<all>'),
      endpoint,
    });
    assert.equal(normal(await all.wait('PeerStatusChange'), named), {
      ...stamped('PeerStatusChange', '<all>'),
      endpoint,
      peer: { peer_status: 'Reachable' },
    });
    const device = ({ device_state }: Message) => (device_state as { name: string }).name === 'PJSIP/guest';
    assert.equal(normal(await all.wait('DeviceStateChanged', device), named), {
      ...stamped('DeviceStateChanged', '<all>'),
      device_state: { name: 'PJSIP/guest', state: 'NOT_INUSE' },
    });
    await sip(target, phone, 'MESSAGE', ['Content-Type: text/plain'], 'hello');
    const text = await all.wait('TextMessageReceived');
    assert.equal(eventMisfits(text), []);
    const { message } = text as Message & { message: { from: string; to: string; body: string; variables: unknown } };
    assert.is(message.body, 'hello');
    assert.type(message.variables, 'object');
    await sip(target, phone, 'REGISTER', [`Contact: <${contact}>`, 'Expires: 0']);
    const removed = await all.wait(
      'ContactStatusChange',
      ({ contact_info }) => (contact_info as { contact_status: string }).contact_status === 'Removed',
    );
    assert.equal(eventMisfits(removed), []);
    const gone = await all.wait(
      'PeerStatusChange',
      ({ peer }) => (peer as { peer_status: string }).peer_status === 'Unreachable',
    );
    assert.equal((gone as Message & { endpoint: unknown }).endpoint, { ...endpoint, state: 'offline' });
    const told = await Promise.all(listeners.map(heard));
    const whole = [
      ...['ContactStatusChange', 'EndpointStateChange', 'PeerStatusChange', 'TextMessageReceived'],
      ...['ContactStatusChange', 'EndpointStateChange', 'PeerStatusChange'],
    ];
    assert.equal(told, [whole, whole, whole, whole, []]);
  } finally {
    phone.close();
  }
});

test('every event that came fits its model, and carries the receiver', async () => {
  for (const own of [all, app]) {
    await own.fence();
    for (const message of own.messages) {
      assert.equal(eventMisfits(message), [], JSON.stringify(message));
      assert.is(message['application'], own.name);
      assert.ok(surface.events.includes(message.type), message.type);
    }
  }
  const seen = new Set([...all.messages, ...app.messages].map(({ type }) => type));
  const expected = [
    'ApplicationMoveFailed',
    'ChannelCallerId',
    'ChannelConnectedLine',
    'ChannelCreated',
    'ChannelDestroyed',
    'ChannelDialplan',
    'ChannelDtmfReceived',
    'ChannelHangupRequest',
    'ChannelStateChange',
    'ChannelUserevent',
    'ChannelVarset',
    'Dial',
    'DeviceStateChanged',
    'PlaybackContinuing',
    'PlaybackFinished',
    'PlaybackStarted',
    'StasisEnd',
    'StasisStart',
  ];
  assert.equal(
    expected.filter((type) => !seen.has(type)),
    [],
  );
});

test.run();
