import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bridge } from '../../src/models/bridge.ts';
import type { Channel } from '../../src/models/channel.ts';
import type { AriClient } from '../support/ari-client.ts';
import { AudioSocketServer } from '../support/audio-socket-server.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/**
 * What applications written for Asterisk rely on, beyond what the conformance tests ask: requests in the forms that they send,
 * and what they read of answers and events.
 */
const needs = suite('what applications written for Asterisk rely on');
const dialplan = {
  default: {
    '1000': ['Answer', 'Wait(3600)'],
    ring: ['Stasis(desk,ring)'],
    up: ['Answer', 'Stasis(desk,up)', 'Wait(3600)'],
  },
};
let server: TestServer;
let app: AriClient;
let made = 0;

needs.before(async () => {
  server = await startTestServer({
    dialplan,
    endpoints: { alice: { auth: { username: 'alice', password: 'secret' } } },
    general: { channelvars: ['CHANNEL(linkedid)', 'CHANNEL(pjsip,call-id)'] },
  });
  app = await server.app('desk');
});
needs.after(async () => {
  try {
    for (const { id } of await app.ok<Bridge[]>('GET', '/bridges')) await app.ok('DELETE', `/bridges/${id}`);
    for (const { id } of await app.ok<Channel[]>('GET', '/channels')) await app.request('DELETE', `/channels/${id}`);
    await server.settle();
  } finally {
    await server.close();
  }
});

const fresh = (what: string): string => `${what}-${++made}`;
const path = encodeURIComponent;

/** A channel that is Up and in the application. */
async function called(more = ''): Promise<Channel> {
  const id = fresh('call');
  const channel = await app.ok<Channel>(
    'POST',
    `/channels?endpoint=Local/1000@default&app=desk&channelId=${id}${more}`,
  );
  await app.waitFor('StasisStart', (event) => event.channel.id === id);
  return channel;
}

const variable = async (id: string, name: string): Promise<string> =>
  (await app.ok<{ value: string }>('GET', `/channels/${id}/variable?variable=${path(name)}`)).value;

needs(
  'bridges are made as they ask: in the query or the body, with blanks, with ids and names of their own',
  async () => {
    for (const [query, body, type] of [
      ['?type=mixing,proxy_media', undefined, 'mixing'],
      ['?type=mixing,%20dtmf_events', undefined, 'mixing'],
      ['', { type: 'mixing, dtmf_events', name: 'room' }, 'mixing'],
      ['', { type: 'holding', name: 'room' }, 'holding'],
      ['', undefined, 'mixing'],
    ] as const) {
      const bridge = await app.ok<Bridge>('POST', `/bridges${query}`, body);
      assert.equal([bridge.bridge_type, bridge.name], [type, body?.name ?? ''], query);
      assert.ok((await app.ok<Bridge[]>('GET', '/bridges')).some(({ id }) => id === bridge.id));
      await app.ok('DELETE', `/bridges/${bridge.id}`);
    }
    const id = `${fresh('1700000000.1')}_bridge`;
    assert.is((await app.ok<Bridge>('POST', `/bridges?type=mixing&bridgeId=${id}`)).id, id);
    assert.is((await app.ok<Bridge>('POST', `/bridges/${fresh('snoop_b')}?type=mixing`)).bridge_type, 'mixing');
    assert.equal((await app.request<object>('GET', '/bridges/nowhere')).body, { message: 'Bridge not found' });
    const gone = await app.request<object>('DELETE', '/bridges/nowhere');
    assert.is(gone.status, 404);
  },
);

needs('two enter with one request, also before they are answered, and who leaves last is seen to', async () => {
  const [one, other, bridge] = [fresh('ring'), await called(), fresh('bridge')];
  await app.ok('POST', `/channels/create?endpoint=Local/up@default&app=desk&channelId=${one}`);
  await app.waitFor('StasisStart', (event) => event.channel.id === one);
  await app.ok('POST', `/bridges/${bridge}?type=mixing`);
  await app.ok('POST', `/bridges/${bridge}/addChannel?channel=${one},${other.id}`);
  assert.equal((await app.ok<Bridge>('GET', `/bridges/${bridge}`)).channels, [one, other.id]);
  await app.ok('POST', `/channels/${one}/dial`);
  await app.waitFor('ChannelStateChange', ({ channel }) => channel.id === one && channel.state === 'Up');
  await app.ok('DELETE', `/channels/${one}`);
  const first = await app.waitFor('ChannelLeftBridge', (event) => event.channel.id === one);
  assert.equal(first.bridge.channels, [other.id]);
  await app.ok('DELETE', `/channels/${other.id}`);
  const last = await app.waitFor('ChannelLeftBridge', (event) => event.channel.id === other.id);
  assert.equal(last.bridge.channels, []);
  const refused = await app.request('POST', `/bridges/${bridge}/addChannel`, { channel: ['nobody'] });
  assert.is(refused.status, 400);
});

needs('a channel in Ring enters a bridge and is answered there', async () => {
  const [near, bridge] = [fresh('near'), fresh('bridge')];
  await app.ok(
    'POST',
    `/channels/create?endpoint=Local/ring@default&app=desk&channelId=${near}&otherChannelId=${near}-far`,
  );
  await app.ok('POST', `/channels/${near}/dial`);
  const { channel } = await app.waitFor('StasisStart', (event) => event.channel.id === `${near}-far`);
  assert.is(channel.state, 'Ring');
  await app.ok('POST', `/bridges/${bridge}`);
  await Promise.all([
    app.ok('POST', `/bridges/${bridge}/addChannel`, { channel: [`${near}-far`] }),
    app.ok('POST', `/channels/${near}-far/answer`),
  ]);
  await app.waitFor('ChannelStateChange', (event) => event.channel.id === near && event.channel.state === 'Up');
  assert.equal((await app.ok<Bridge>('GET', `/bridges/${bridge}`)).channels, [`${near}-far`]);
  await app.ok('DELETE', `/channels/${near}`);
});

needs(
  'a channel of external media enters a bridge straight after it was made, and says where its audio goes',
  async () => {
    const [peer, bridge, id] = [server.closing(await RtpPeer.open()), fresh('bridge'), fresh('media')];
    const caller = await called();
    await app.ok('POST', `/bridges/${bridge}?type=mixing`);
    const body = { external_host: `127.0.0.1:${peer.port}`, format: 'ulaw', channelId: id };
    const channel = await app.ok<Channel>('POST', '/channels/externalMedia?app=desk', body);
    await app.ok('POST', `/bridges/${bridge}/addChannel?channel=${caller.id},${id}`);
    assert.match(channel.name, /^UnicastRTP\/127\.0\.0\.1:/);
    assert.match(String(channel.channelvars?.['UNICASTRTP_LOCAL_PORT']), /^\d+$/);
    assert.ok(channel.channelvars?.['UNICASTRTP_LOCAL_ADDRESS']);
    await app.ok('POST', `/bridges/${bridge}/play`, { media: 'sound:beep', playbackId: `${id}-kick` });
    await peer.until(() => peer.packets.length > 0, 'audio of the bridge');
    await app.request('DELETE', `/playbacks/${id}-kick`);
    for (const each of [id, caller.id]) await app.ok('DELETE', `/channels/${each}`);
  },
);

needs('a program that sends as a new source midway, as one that was started again, is heard on', async () => {
  const peers = [server.closing(await RtpPeer.open()), server.closing(await RtpPeer.open())] as const;
  const bridge = fresh('bridge');
  await app.ok('POST', `/bridges/${bridge}?type=mixing`);
  const ids = [fresh('media'), fresh('media')];
  for (const [index, id] of ids.entries()) {
    const body = { external_host: `127.0.0.1:${peers[index]!.port}`, format: 'ulaw', channelId: id };
    const { channelvars } = await app.ok<Channel>('POST', '/channels/externalMedia?app=desk', body);
    await app.ok('POST', `/bridges/${bridge}/addChannel?channel=${id}`);
    peers[index]!.sendTo(Number(channelvars?.['UNICASTRTP_LOCAL_PORT']));
  }
  const [talker, listener] = peers;
  const tones = [400, 700, 1000];
  listener.hum(1000);
  talker.hum(400);
  await listener.hears([400], tones);
  talker.startOver();
  talker.hum(700);
  await listener.hears([700], tones);
  await talker.hears([1000], tones);
  // One stream towards each of them, whoever is heard in it.
  assert.is(new Set(listener.packets.map(({ ssrc }) => ssrc)).size, 1);
  for (const id of ids) await app.ok('DELETE', `/channels/${id}`);
});

needs(
  'bridges are found by what they are, and by who is in them; who moves leaves the first before it enters',
  async () => {
    const name = fresh('wazo');
    await app.ok('POST', `/bridges/${name}?type=holding&name=${name}`);
    await app.ok('POST', `/bridges/${name}/moh?mohClass=default`);
    await app.ok('DELETE', `/bridges/${name}/moh`);
    const found = async (is: (bridge: Bridge) => boolean) =>
      (await app.ok<Bridge[]>('GET', '/bridges')).filter(is).map(({ id }) => id);
    assert.equal(await found((bridge) => bridge.name === name && bridge.bridge_type === 'holding'), [name]);
    const [caller, other] = [await called(), fresh('bridge')];
    await app.ok('POST', `/bridges/${other}?type=mixing`);
    const watch = await server.app('watch');
    await watch.ok('POST', `/applications/watch/subscription?eventSource=bridge:${other}`);
    await app.ok('POST', `/bridges/${name}/addChannel?channel=${caller.id}&role=announcer`);
    assert.equal(await found(({ channels }) => channels.includes(caller.id)), [name]);
    await app.ok('POST', `/bridges/${other}/addChannel?channel=${caller.id}&inhibitConnectedLineUpdates=true`);
    await app.waitFor('ChannelEnteredBridge', ({ bridge }) => bridge.id === other);
    const moves = app.events.flatMap((event) =>
      (event.type === 'ChannelEnteredBridge' || event.type === 'ChannelLeftBridge') && event.channel?.id === caller.id
        ? [`${event.type} ${event.bridge.id}`]
        : [],
    );
    assert.equal(moves, [`ChannelEnteredBridge ${name}`, `ChannelLeftBridge ${name}`, `ChannelEnteredBridge ${other}`]);
    assert.is((await app.request('POST', `/bridges/${name}/removeChannel?channel=${caller.id}`)).status, 422);
    await app.ok('DELETE', `/bridges/${other}`);
    await watch.waitFor('BridgeDestroyed');
    assert.equal(
      app.events.filter(({ type }) => type === 'BridgeDestroyed'),
      [],
      'told to who has subscribed to the bridge',
    );
    assert.is((await app.ok<Channel>('GET', `/channels/${caller.id}`)).id, caller.id, 'it stays in the application');
    assert.is((await app.request('DELETE', `/bridges/${other}`)).status, 404);
    await app.ok('DELETE', `/bridges/${name}`);
    await app.ok('DELETE', `/channels/${caller.id}`);
  },
);

needs(
  'bridges play, record and have variables; their end is told in order, and asking once more is no fault',
  async () => {
    const [caller, bridge] = [await called(), fresh('bridge')];
    await app.ok('POST', `/bridges/${bridge}?type=mixing`);
    await app.ok('POST', `/bridges/${bridge}/addChannel?channel=${caller.id}`);
    await app.ok('POST', `/bridges/${bridge}/play/${bridge}-kick?media=sound:silence/1`);
    await app.ok('DELETE', `/playbacks/${bridge}-kick`);
    const { playback } = await app.waitFor('PlaybackFinished', (event) => event.playback.id === `${bridge}-kick`);
    assert.is(playback.target_uri, `bridge:${bridge}`);
    const name = fresh('recorded');
    await app.ok('POST', `/bridges/${bridge}/record?name=${name}&format=wav&maxDurationSeconds=1`);
    const { recording } = await app.waitFor('RecordingFinished', (event) => event.recording.name === name);
    assert.is(recording.target_uri, `bridge:${bridge}`);
    await app.ok('DELETE', `/recordings/stored/${name}`);
    await app.ok('POST', `/bridges/${bridge}/variable?variable=COLOUR&value=green`);
    assert.equal(await app.ok('GET', `/bridges/${bridge}/variable?variable=COLOUR`), { value: 'green' });
    await app.ok('DELETE', `/channels/${caller.id}`);
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === caller.id);
    const story = app.story(caller.id);
    assert.equal(
      ['ChannelLeftBridge', 'StasisEnd', 'ChannelDestroyed'].map((type) => story.indexOf(type)),
      [...['ChannelLeftBridge', 'StasisEnd', 'ChannelDestroyed'].map((type) => story.indexOf(type))].sort(
        (a, b) => a - b,
      ),
    );
    assert.is((await app.request('DELETE', `/channels/${caller.id}`)).status, 404);
    await app.ok('DELETE', `/bridges/${bridge}`);
  },
);

needs(
  'servers are dialed: AudioSocket by originate, WebSocket by create and dial, which tells the connection',
  async () => {
    const outside = server.closing(await AudioSocketServer.open());
    const [ai, ws] = [fresh('ai'), fresh('ws')];
    const endpoint = path(`AudioSocket/${outside.address}/40325ec2-5efd-4bd3-805f-53576e581d13/c(slin)`);
    await app.ok('POST', `/channels?endpoint=${endpoint}&app=desk&channelId=${ai}`);
    await outside.call();
    await app.waitFor('StasisStart', ({ channel }) => channel.id === ai);
    await app.ok('POST', `/channels/create?endpoint=${path('WebSocket/INCOMING/c(ulaw)')}&app=desk&channelId=${ws}`);
    await app.ok('POST', `/channels/${ws}/dial`);
    const { peer, dialstatus } = await app.waitFor('Dial', (event) => event.peer.id === ws);
    assert.is(dialstatus, '');
    assert.match(String(peer.channelvars?.['MEDIA_WEBSOCKET_CONNECTION_ID']), /^[0-9a-f-]{36}$/);
    for (const id of [ai, ws]) await app.ok('DELETE', `/channels/${id}`);
    const made = await app.ok<Channel>(
      'POST',
      '/channels/externalMedia?app=desk&external_host=localhost:10000&format=slin16&transport=udp&encapsulation=rtp&direction=both',
    );
    assert.is.not(made.id, 'externalMedia', 'it is no channel of that name');
    await app.ok('DELETE', `/channels/${made.id}`);
  },
);

needs('snoops are channels of their own, with the variables that were asked for', async () => {
  const caller = await called();
  const [id, bridge] = [fresh('snoop'), fresh('bridge')];
  await app.ok('POST', `/channels/${caller.id}/snoop/${id}?spy=in&app=desk&appArgs=a,b`);
  const { args, channel } = await app.waitFor('StasisStart', (event) => event.channel.id === id);
  assert.equal([args, channel.name.startsWith(`Snoop/${caller.id}-`)], [['a', 'b'], true]);
  await app.ok('POST', `/bridges/${bridge}`);
  await app.ok('POST', `/bridges/${bridge}/addChannel?channel=${id}`);
  const linked = String(channel.channelvars?.['CHANNEL(linkedid)']);
  assert.is(await variable(id, 'CHANNEL(linkedid)'), linked);
  await app.ok('DELETE', `/channels/${caller.id}`);
  await app.waitFor('StasisEnd', (event) => event.channel.id === id);
});

needs('what talking is, is set and removed; recordings end in silence', async () => {
  const { id } = await called();
  for (const [name, value] of [
    ['TALK_DETECT(set)', '1200,128'],
    ['TALK_DETECT(remove)', ''],
  ] as const)
    await app.ok('POST', `/channels/${id}/variable?variable=${path(name)}&value=${path(value)}`);
  const name = fresh('message');
  await app.ok('POST', `/channels/${id}/record`, {
    name,
    format: 'wav',
    ifExists: 'overwrite',
    maxDurationSeconds: 30,
    maxSilenceSeconds: 1,
    beep: true,
    terminateOn: '#',
  });
  const { recording } = await app.waitFor('RecordingFinished', (event) => event.recording.name === name);
  assert.is(recording.state, 'done');
  assert.ok((await app.ok<{ name: string }[]>('GET', '/recordings/stored')).some((each) => each.name === name));
  await app.ok('POST', `/channels/${id}/play?media=recording:${name}&playbackId=${name}`);
  await app.waitFor('PlaybackFinished', ({ playback }) => playback.id === name && playback.state === 'done');
  await app.ok('DELETE', `/recordings/stored/${name}`);
  await app.ok('DELETE', `/channels/${id}`);
});

needs('functions tell of the call, of phones and of the dialplan', async () => {
  const { id } = await called();
  for (const [name, value] of [
    ['CHANNEL(audioreadformat)', 'slin'],
    ['CHANNEL(audionativeformat)', '(slin)'],
    ['CHANNEL(videonativeformat)', '(nothing)'],
    ['CHANNEL(channeltype)', 'Local'],
    ['CHANNEL(linkedid)', id],
    ['CHANNEL(pjsip,call-id)', ''],
    ['DIALPLAN_EXISTS(default,1000,1)', '1'],
    ['DIALPLAN_EXISTS(default,nobody,1)', '0'],
    ['PJSIP_DIAL_CONTACTS(alice)', ''],
    ['PJSIP_ENDPOINT(alice,context)', 'default'],
  ] as const)
    assert.is(await variable(id, name), value, name);
  const refused = await app.request('GET', `/channels/${id}/variable?variable=${path('SHELL(echo danger)')}`);
  assert.is(refused.status, 500);
  await app.ok('POST', `/asterisk/variable?variable=${path('GLOBAL(COLOUR)')}&value=green`);
  assert.is((await app.ok<{ value: string }>('GET', '/asterisk/variable?variable=COLOUR')).value, 'green');
  await app.ok('POST', `/asterisk/variable?variable=${path('GLOBAL_DELETE(COLOUR)')}`);
  assert.is((await app.ok<{ value: string }>('GET', '/asterisk/variable?variable=COLOUR')).value, '');
  await app.ok('DELETE', `/channels/${id}`);
});

needs('who is originated by another belongs to its call; Local channels take options', async () => {
  const caller = await called();
  const other = fresh('other');
  await app.ok(
    'POST',
    `/channels?endpoint=${path('Local/1000@default/n')}&app=desk&channelId=${other}&originator=${caller.id}`,
  );
  await app.waitFor('StasisStart', (event) => event.channel.id === other);
  assert.is(await variable(other, 'CHANNEL(linkedid)'), caller.id);
  for (const id of [other, caller.id]) await app.ok('DELETE', `/channels/${id}`);
});

needs('endpoints, devices and modules are looked up as they do', async () => {
  assert.is((await app.request('GET', '/endpoints/SIP/nobody')).status, 404);
  assert.is((await app.ok<{ state: string }>('GET', '/deviceStates/PJSIP%2Fnobody')).state, 'INVALID');
  assert.ok((await app.ok<object[]>('GET', '/asterisk/modules')).length > 0);
  const { apiVersion } = await app.ok<{ apiVersion: string }>('GET', '/api-docs/resources.json');
  assert.ok(Number.parseInt(apiVersion, 10) >= 6, apiVersion);
});

needs('objects of dynamic configuration are made with the attributes that they send', async () => {
  const fieldsOf = (values: Record<string, string>) => ({
    fields: Object.entries(values).map(([attribute, value]) => ({ attribute, value })),
  });
  const put = (type: string, values: Record<string, string>) =>
    app.request('PUT', `/asterisk/config/dynamic/res_pjsip/${type}/nodered`, fieldsOf(values));
  const answers = [
    await put('auth', { auth_type: 'userpass', username: 'nodered', password: 'secret' }),
    await put('aor', { support_path: 'yes', remove_existing: 'yes', max_contacts: '1' }),
    await put('endpoint', {
      from_user: 'nodered',
      disallow: 'all',
      allow: 'ulaw,alaw,g729',
      direct_media: 'yes',
      force_rport: 'yes',
      rewrite_contact: 'yes',
      rtp_symmetric: 'yes',
      context: 'default',
      auth: 'nodered',
      aors: 'nodered',
      set_var: 'PICKUPMARK=77',
      timers_sess_expires: '1800',
      max_audio_streams: '1',
      t38_udptl: 'no',
    }),
  ];
  assert.equal(
    answers.map(({ status, body }) => [status, body]).filter(([status]) => status !== 200),
    [],
  );
  const mark = `/asterisk/variable?variable=${path('PJSIP_ENDPOINT(nodered,PICKUPMARK)')}`;
  assert.is((await app.ok<{ value: string }>('GET', mark)).value, '77');
  for (const type of ['endpoint', 'aor', 'auth'])
    await app.ok('DELETE', `/asterisk/config/dynamic/res_pjsip/${type}/nodered`);
});

needs.run();
