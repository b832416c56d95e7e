import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decode, encode } from '../../src/media/codec/codecs.ts';
import type { Bridge } from '../../src/models/bridge.ts';
import type { Channel } from '../../src/models/channel.ts';
import { AudioSocketServer } from '../support/audio-socket-server.ts';
import { freePort } from '../support/free-port.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer, type TestServer } from '../support/server.ts';

const calls = suite('audio exchanged with servers');

const dialplan = { default: { echo: ['Answer', 'Echo'], ai: ['Dial(${SERVER})'], up: ['Answer', 'Dial(${SERVER})'] } };
const uuid = '40325ec2-5efd-4bd3-805f-53576e581d13';
const frameMs = 20;

const test = (
  title: string,
  body: (server: TestServer, servers: AudioSocketServer) => Promise<void>,
  external_media: object = {},
) =>
  calls(title, async () => {
    const outside = await AudioSocketServer.open();
    try {
      await onServer({ dialplan, external_media }, (server) => body(server, outside));
    } finally {
      outside.close();
    }
  });

/** Linear samples, the little end first. */
const octetsOf = (samples: Int16Array): Buffer => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);

const sine = (hertz: number, rate: number, ms: number): Int16Array =>
  Int16Array.from({ length: (rate * ms) / 1000 }, (_, at) =>
    Math.round(8000 * Math.sin((2 * Math.PI * hertz * at) / rate)),
  );

/** How much of a frequency is in samples: the amplitude of a sine of it. */
function amplitude(samples: Int16Array, hertz: number, rate: number): number {
  let real = 0;
  let imaginary = 0;
  for (let at = 0; at < samples.length; at++) {
    real += samples[at]! * Math.cos((2 * Math.PI * hertz * at) / rate);
    imaginary += samples[at]! * Math.sin((2 * Math.PI * hertz * at) / rate);
  }
  return (2 * Math.hypot(real, imaginary)) / samples.length;
}

const external = (server: AudioSocketServer, more = ''): string =>
  `/channels/externalMedia?app=desk&transport=tcp&encapsulation=audiosocket&external_host=${server.address}&data=${uuid}${more}`;

test('what the making of such a channel leads to says which request it was', async (server, outside) => {
  const app = await server.app('desk');
  const made = await app.request('POST', external(outside, '&format=slin&channelId=ai'));
  const id = made.headers.get('x-request-id');
  await outside.call();
  await app.waitFor('StasisStart');
  assert.equal([...new Set(app.events.map((event) => event['caused_by']))], [id]);
  await app.ok('DELETE', '/channels/ai');
  await app.waitFor('ChannelDestroyed');
});

const audible = (samples: Int16Array): Int16Array => samples.filter((sample) => sample !== 0);

for (const [format, rate] of [
  ['slin', 8000],
  ['slin16', 16_000],
  ['slin24', 24_000],
  ['slin48', 48_000],
] as const)
  test(`${format} that a server sends over AudioSocket comes back from an echo as it was`, async (server, outside) => {
    const app = await server.app('desk');
    const made = await app.ok<Channel>('POST', external(outside, `&format=${format}&channelId=ai`));
    assert.is(made.name, `AudioSocket/${outside.address}-${uuid}`);
    assert.equal(made.channelvars, {
      AUDIOSOCKET_UUID: uuid,
      AUDIOSOCKET_SERVICE: outside.address,
      local_address: '127.0.0.1',
      local_port: made.channelvars?.local_port,
    });
    const call = await outside.call();
    assert.is(Number(made.channelvars?.local_port), call.socket.remotePort);
    await call.until(() => call.frames.length > 0, 'the id');
    assert.equal(call.frames[0], { kind: 0x01, payload: Buffer.from(uuid.replaceAll('-', ''), 'hex') });
    const start = await app.waitFor('StasisStart');
    assert.equal(start.args, [uuid]);
    assert.is(start.channel.state, 'Up');
    await app.ok('POST', '/channels/ai/continue?context=default&extension=echo&priority=1');
    await app.waitFor('StasisEnd');
    const said = sine(440, rate, 200);
    const kind = { 8000: 0x10, 16000: 0x12, 24000: 0x13, 48000: 0x16 }[rate];
    for (let at = 0; at < said.length; at += (rate * frameMs) / 1000)
      call.send(kind, octetsOf(said.slice(at, at + (rate * frameMs) / 1000)));
    await call.until(() => audible(call.samples()).length >= audible(said).length, 'the echo');
    const heard = call.samples();
    const from = heard.findIndex((sample) => sample !== 0) - 1;
    assert.equal(heard.slice(from, from + said.length), said);
    assert.equal([...new Set(call.frames.slice(1).map((frame) => frame.kind))], [kind]);
    call.send(0x00);
    const destroyed = await app.waitFor('ChannelDestroyed');
    assert.is(destroyed.cause, 16);
    await call.until(() => call.isClosed, 'the goodbye');
    assert.is(call.frames.at(-1)?.kind, 0x00);
  });

test('a media thread that dies ends no call: servers are connected again, and all hear each other', async (server, outside) => {
  const app = await server.app('desk');
  const peer = server.closing(await RtpPeer.open());
  const rtp = await app.ok<Channel>(
    'POST',
    `/channels/externalMedia?app=desk&external_host=127.0.0.1:${peer.port}&format=ulaw&channelId=rtp`,
  );
  await app.ok('POST', external(outside, '&format=slin&channelId=ai'));
  for (const id of ['rtp', 'ai']) await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  await app.ok('POST', '/bridges/room?type=mixing');
  await app.ok('POST', '/bridges/room/addChannel?channel=rtp,ai');
  peer.sendTo(Number(rtp.channelvars?.['UNICASTRTP_LOCAL_PORT']));
  for (const round of [0, 1]) {
    const call = await outside.call(round);
    const speaking = peer.speak(Buffer.from(encode('ulaw', sine(440, 8000, 1000))));
    await call.until(() => audible(call.samples()).length >= 8000 * 0.3, 'audio of the phone');
    const heard = peer.packets.length;
    call.send(0x10, octetsOf(sine(1000, 8000, 60)));
    const sinceThen = () => Buffer.concat(peer.packets.slice(heard).map(({ payload }) => payload));
    await peer.until(() => audible(decode('ulaw', sinceThen())).length >= 8000 * 0.04, 'audio of the server');
    await speaking;
    if (round === 0) await server.endMediaThreads();
  }
  const { value } = await app.ok<{ value: string }>('GET', '/channels/ai/variable?variable=local_port');
  assert.is(Number(value), outside.calls[1]?.socket.remotePort, 'it tells where it is connected now');
  assert.equal((await app.ok<Bridge>('GET', '/bridges/room')).channels, ['rtp', 'ai']);
  outside.stopListening();
  await server.endMediaThreads();
  const destroyed = await app.waitFor('ChannelDestroyed');
  assert.equal(
    [destroyed.channel.id, destroyed.cause],
    ['ai', 41],
    'a server that cannot be had again ends its channel',
  );
  await app.ok('DELETE', '/channels/rtp');
  await app.ok('DELETE', '/bridges/room');
});

test(
  'a phone of RTP and a server of AudioSocket hear each other in a bridge',
  async (server, outside) => {
    const app = await server.app('desk');
    const peer = await RtpPeer.open();
    server.closing(peer);
    const rtp = await app.ok<Channel>(
      'POST',
      `/channels/externalMedia?app=desk&external_host=localhost:${peer.port}&format=ulaw&channelId=rtp&data=a,b`,
    );
    assert.match(rtp.name, new RegExp(`^UnicastRTP/localhost:${peer.port}-0x[0-9a-f]{12}$`));
    const { UNICASTRTP_LOCAL_ADDRESS: address, UNICASTRTP_LOCAL_PORT: port } = rtp.channelvars ?? {};
    assert.equal(rtp.channelvars, {
      UNICASTRTP_LOCAL_ADDRESS: '127.0.0.1',
      UNICASTRTP_LOCAL_PORT: port,
      local_address: address,
      local_port: port,
    });
    await app.ok('POST', external(outside, '&format=slin16&channelId=ai'));
    for (const id of ['rtp', 'ai']) await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
    const bridge = await app.ok<{ id: string }>('POST', '/bridges?type=mixing');
    await app.ok('POST', `/bridges/${bridge.id}/addChannel?channel=rtp,ai`);
    const call = await outside.call();
    peer.sendTo(Number(port));
    const said = sine(1000, 16_000, 1000);
    call.send(0x12, octetsOf(said));
    await peer.speak(Buffer.from(encode('ulaw', sine(440, 8000, 1000))));
    await call.until(() => audible(call.samples()).length >= 16_000 * 0.3, 'audio of the phone');
    await peer.until(() => audible(decode('ulaw', peer.words())).length >= 8000 * 0.3, 'audio of the server');
    const toPhone = decode('ulaw', peer.words());
    const toServer = call.samples();
    const begin = (samples: Int16Array) => samples.findIndex((sample) => Math.abs(sample) > 500);
    const phone = toPhone.slice(begin(toPhone) + 400, begin(toPhone) + 2000);
    const level = amplitude(phone, 1000, 8000);
    assert.ok(level > 7000 && level < 9000, `the server is heard at ${level}`);
    assert.ok(amplitude(phone, 440, 8000) < 200, 'a phone hears itself');
    // A phone in a process that has more to do leaves gaps: how loud it is in all is not said.
    const spoken = toServer.slice(begin(toServer), begin(toServer) + 16_000 * 0.3);
    assert.ok(amplitude(spoken, 440, 16_000) > 10 * amplitude(spoken, 1000, 16_000), 'the phone is not heard');
    await app.ok('DELETE', '/channels/rtp');
    await app.ok('DELETE', '/channels/ai');
    await app.ok('DELETE', `/bridges/${bridge.id}`);
  },
  { backlog: 2000 },
);

test('of audio that a server sends 10 s ahead all but the latest is left out', async (server, outside) => {
  const app = await server.app('desk');
  await app.ok('POST', external(outside, '&format=slin&channelId=ai'));
  await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/ai/continue?context=default&extension=echo&priority=1');
  await app.waitFor('StasisEnd');
  const call = await outside.call();
  const frame = (value: number) => octetsOf(new Int16Array(160).fill(value));
  for (let count = 0; count < 500; count++) call.send(0x10, frame(1000));
  await call.until(() => audible(call.samples()).length > 0, 'an echo');
  // What is said now is heard after at most what may wait, not 10 s later.
  call.send(0x10, frame(2000));
  call.send(0x10, frame(2000));
  await call.until(() => call.samples().includes(2000), 'what was said last');
  const { media } = await server.running.usage();
  assert.ok(media.externalDroppedMs >= 9000 && media.externalDroppedMs <= 10_000, `${media.externalDroppedMs} ms`);
  const early = call.samples().filter((sample) => sample === 1000).length / 8;
  assert.ok(early <= 640, `${early} ms of what was sent too early were played`);
  await app.ok('DELETE', '/channels/ai');
});

test('digits go both ways, and a hang-up of ours is told to the server', async (server, outside) => {
  const app = await server.app('desk');
  await app.ok('POST', external(outside, '&format=slin&channelId=ai'));
  await app.waitFor('StasisStart');
  const call = await outside.call();
  call.send(0x03, Buffer.from('5'));
  const received = await app.waitFor('ChannelDtmfReceived');
  assert.is(received.digit, '5');
  await app.ok('POST', '/channels/ai/dtmf?dtmf=7');
  await call.until(() => call.frames.some(({ kind }) => kind === 0x03), 'a digit');
  assert.equal(call.frames.find(({ kind }) => kind === 0x03)?.payload, Buffer.from('7'));
  await app.ok('DELETE', '/channels/ai');
  await call.until(() => call.isClosed, 'the goodbye');
  assert.is(call.frames.at(-1)?.kind, 0x00);
});

test('a server that closes in the middle of a frame, or sends an error, ends its channel and no other', async (server, outside) => {
  const app = await server.app('desk');
  for (const id of ['closes', 'fails', 'stays']) {
    await app.ok('POST', external(outside, `&format=slin&channelId=${id}`));
    await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
  }
  const [closes, fails, stays] = [await outside.call(0), await outside.call(1), await outside.call(2)];
  // Kinds that nobody knows, whatever length they tell, are passed over.
  stays.send(0x77, Buffer.alloc(65_535, 1));
  closes.socket.write(Buffer.from([0x10, 0xff, 0xff, 1, 2, 3]));
  closes.socket.destroy();
  fails.send(0xff, Buffer.from([1]));
  for (const id of ['closes', 'fails']) {
    const destroyed = await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
    assert.is(destroyed.cause, 41);
  }
  stays.send(0x03, Buffer.from('1'));
  await app.waitFor('ChannelDtmfReceived', ({ channel }) => channel.id === 'stays');
  await app.ok('DELETE', '/channels/stays');
});

test('there is no channel without a connection', async (server, outside) => {
  const app = await server.app('desk');
  const port = await freePort();
  const refused = await app.request<{ message: string }>(
    'POST',
    `/channels/externalMedia?app=desk&transport=tcp&encapsulation=audiosocket&external_host=127.0.0.1:${port}&data=${uuid}&format=slin`,
  );
  assert.is(refused.status, 400);
  assert.match(refused.body.message, /^Allocation failed: '127\.0\.0\.1:\d+' cannot be reached: /);
  assert.is((await app.request('POST', external(outside, '&format=gsm'))).status, 400);
  assert.equal(await app.ok('GET', '/channels'), []);
});

test('a server is sent RTP by a dial string, and its channel tells from which port', async (server) => {
  const app = await server.app('desk');
  const peer = await RtpPeer.open();
  server.closing(peer);
  const endpoint = `UnicastRTP/127.0.0.1:${peer.port}/c(ulaw)`;
  await app.ok('POST', `/channels?endpoint=${encodeURIComponent(endpoint)}&app=desk&channelId=rtp`);
  const start = await app.waitFor('StasisStart');
  assert.match(start.channel.name, new RegExp(`^UnicastRTP/127\\.0\\.0\\.1:${peer.port}-0x[0-9a-f]{12}$`));
  assert.is(start.channel.state, 'Up');
  const told = app.events.filter((event) => event.type === 'ChannelVarset').map(({ variable }) => variable);
  const named = ['UNICASTRTP_LOCAL_ADDRESS', 'UNICASTRTP_LOCAL_PORT', 'local_address', 'local_port'];
  assert.equal(
    named.filter((name) => told.includes(name)),
    named,
  );
  const { UNICASTRTP_LOCAL_ADDRESS: address, UNICASTRTP_LOCAL_PORT: port } = start.channel.channelvars ?? {};
  assert.is(address, '127.0.0.1');
  await app.ok('POST', '/channels/rtp/continue?context=default&extension=echo&priority=1');
  await app.waitFor('StasisEnd');
  peer.sendTo(Number(port));
  await peer.speak(Buffer.from(encode('ulaw', sine(440, 8000, 200))));
  await peer.until(() => audible(decode('ulaw', peer.words())).length >= 8000 * 0.15, 'the echo');
  await app.ok('DELETE', '/channels/rtp');
  for (const nonsense of ['UnicastRTP/nowhere', 'UnicastRTP/127.0.0.1:9/c(gsm)', 'UnicastRTP/'])
    assert.is(
      (await app.request('POST', `/channels?endpoint=${encodeURIComponent(nonsense)}&app=desk`)).status,
      400,
      nonsense,
    );
});

test('AudioSocket can be dialed, with its format in brackets', async (server, outside) => {
  const app = await server.app('desk');
  const endpoint = `AudioSocket/${outside.address}/${uuid}/c(slin16)`;
  await app.ok('POST', `/channels?endpoint=${encodeURIComponent(endpoint)}&app=desk&channelId=ai`);
  const start = await app.waitFor('StasisStart');
  assert.is(start.channel.state, 'Up');
  assert.is(start.channel.channelvars?.AUDIOSOCKET_UUID, uuid);
  await app.ok('DELETE', '/channels/ai');
});

test('AudioSocket can be dialed by the dialplan; a server that hangs up ends the call', async (server, outside) => {
  const app = await server.app('desk', { subscribeAll: true });
  await app.ok('POST', '/channels?endpoint=Local/ai@default&app=desk&channelId=caller', {
    variables: { _SERVER: `AudioSocket/${outside.address}/${uuid}/c(slin)` },
  });
  const dialed = await app.waitFor('Dial', ({ peer, dialstatus }) => {
    return peer.name.startsWith('AudioSocket/') && dialstatus === 'ANSWER';
  });
  const call = await outside.call();
  call.send(0x00);
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === dialed.peer.id);
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'caller');
});

test('a caller that is answered already is with a server that it dials', async (server, outside) => {
  const app = await server.app('desk', { subscribeAll: true });
  await app.ok('POST', '/channels?endpoint=Local/up@default&app=desk&channelId=caller', {
    variables: { _SERVER: `AudioSocket/${outside.address}/${uuid}/c(slin)` },
  });
  const call = await outside.call();
  await app.waitFor('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
  assert.equal(
    (await app.ok<{ channels: string[] }[]>('GET', '/bridges')).map(({ channels }) => channels.length),
    [2],
  );
  call.send(0x00);
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'caller');
});

test('audio goes on to external_host while the server there sends from another socket', async (server) => {
  const app = await server.app('desk');
  const [ears, mouth] = [server.closing(await RtpPeer.open()), server.closing(await RtpPeer.open())];
  const rtp = await app.ok<Channel>(
    'POST',
    `/channels/externalMedia?app=desk&external_host=127.0.0.1:${ears.port}&format=ulaw&channelId=rtp`,
  );
  await app.waitFor('StasisStart');
  mouth.sendTo(Number(rtp.channelvars?.['UNICASTRTP_LOCAL_PORT']));
  await app.ok('POST', '/channels/rtp/continue?context=default&extension=echo&priority=1');
  await app.waitFor('StasisEnd');
  mouth.hum(440);
  await ears.hears([440], [440, 1000]);
  const heard = ears.packets.length;
  await ears.until(() => ears.packets.length >= heard + 50, 'a second more of the echo');
  mouth.hush();
  assert.is(mouth.packets.length, 0, 'nothing goes where the server only sends from');
  await app.ok('DELETE', '/channels/rtp');
});

calls.run();
