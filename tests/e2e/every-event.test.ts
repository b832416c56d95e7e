import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type WebSocket, WebSocketServer } from 'ws';
import type { AriClient } from '../support/ari-client.ts';
import { surface } from '../support/conformance-surface.ts';
import { Phone } from '../support/phone.ts';
import { onServer, type TestServer, user } from '../support/server.ts';

const dialplan = {
  default: {
    desk: ['Stasis(desk,in)'],
    offer: ['StasisBroadcast(600000,,,yes)', 'Wait(3600)'],
    '300': ['Answer', 'Wait(3600)'],
    '1000': ['Answer', 'Wait(3600)'],
  },
};

/** An application that the server connects to: its WebSocket, and the types of the events that it was sent. */
async function openProgram() {
  const program = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(program, 'listening');
  const types = new Set<string>();
  const sockets: WebSocket[] = [];
  let answered = () => {};
  const asked = new Promise<void>((resolve) => {
    answered = resolve;
  });
  program.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('message', (data) => {
      const { type } = JSON.parse(String(data)) as { type: string };
      types.add(type);
      if (type === 'RESTResponse') answered();
    });
    const ids = { transaction_id: 't1', request_id: 'r1' };
    socket.send(JSON.stringify({ type: 'RESTRequest', ...ids, method: 'GET', uri: 'channels' }));
  });
  return {
    types,
    /** Its request was answered. */
    asked,
    url: `ws://127.0.0.1:${(program.address() as AddressInfo).port}`,
    close: () => {
      for (const socket of sockets) socket.terminate();
      program.close();
    },
  };
}

/** Sends requests of SIP as they are, each until it is answered. */
async function say(server: TestServer, requests: readonly { method: string; lines: string[]; body?: string }[]) {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const [address = '', port = ''] = server.sip().split(':');
  for (const [index, { method, lines, body = '' }] of requests.entries()) {
    const message = [
      `${method} sip:guest@${address}:${port} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${socket.address().port};branch=z9hG4bKe${index}${method}`,
      `From: <sip:guest@${address}>;tag=${method}`,
      `To: <sip:guest@${address}>`,
      `Call-ID: every-event-${method}`,
      `CSeq: ${index + 1} ${method}`,
      'Max-Forwards: 70',
      ...lines.map((line) => line.replace('OURS', `127.0.0.1:${socket.address().port}`)),
      `Content-Length: ${body.length}`,
      '',
      body,
    ];
    const answered = once(socket, 'message');
    socket.send(message.join('\r\n'), Number(port), address);
    await answered;
  }
  socket.close();
}

const inApp = (app: AriClient, id: string) => app.waitFor('StasisStart', ({ channel }) => channel.id === id);
const path = encodeURIComponent;

test('every event there is comes when what it tells of happens', async () => {
  const program = await openProgram();
  const applications = { outside: { url: program.url, apps: ['outside'], local_user: user } };
  const endpoints = { guest: { match: ['127.0.0.1'], aor: { max_contacts: 2 } } };
  try {
    await onServer({ dialplan, endpoints, applications }, async (server) => {
      const watch = await server.app('watch', { subscribeAll: true });
      const first = await server.app('desk');
      const desk = await server.app('desk');
      await first.waitFor('ApplicationReplaced');
      await desks(server, desk);
      await watch.waitFor('CallClaimed');
      await transfers(server, desk);
      const guest = { method: 'REGISTER', lines: ['Contact: <sip:guest@OURS>', 'Expires: 60'] };
      await say(server, [
        guest,
        { method: 'MESSAGE', lines: ['Content-Type: text/plain'], body: 'hello' },
        { ...guest, lines: ['Contact: *', 'Expires: 0'] },
      ]);
      await watch.waitFor('TextMessageReceived');
      await watch.waitFor('PeerStatusChange', ({ peer }) => peer.peer_status === 'Unreachable');
      await program.asked;
      const types = new Set(program.types);
      for (const client of [watch, first, desk]) for (const { type } of client.events) types.add(type);
      assert.equal(
        surface.events.filter((type) => !types.has(type)),
        ['ApplicationUnregistered'],
        'not heard',
      );
    });
    assert.ok(program.types.has('ApplicationUnregistered'), 'told when the server goes');
  } finally {
    program.close();
  }
});

/** What applications do to two channels that are the two ends of one call, and to bridges. */
async function desks(server: TestServer, app: AriClient): Promise<void> {
  const target = path(`PJSIP/guest/sip:desk@${server.sip()}`);
  await app.ok('POST', `/channels?endpoint=${target}&app=desk&channelId=out`);
  const { channel } = await app.waitFor('StasisStart', ({ args }) => args[0] === 'in');
  const at = `/channels/${channel.id}`;
  await app.ok('POST', `${at}/answer`);
  await inApp(app, 'out');
  const set = (name: string, value = '') =>
    app.ok('POST', `${at}/variable?variable=${path(name)}&value=${path(value)}`);
  await set('TALK_DETECT(set)', '300,256');
  await set('TONE_DETECT(1400,300,r)');
  await set('CALLERID(name)', 'Somebody');
  await set('CONNECTEDLINE(name)', 'Else');
  await app.ok('POST', '/channels/out/play?media=tone:record&playbackId=tone');
  await app.waitFor('ChannelToneDetected');
  await app.ok('DELETE', '/playbacks/tone');
  await app.waitFor('ChannelTalkingFinished');
  await app.ok('POST', '/channels/out/dtmf?dtmf=5');
  await app.waitFor('ChannelDtmfReceived');
  await app.ok('POST', '/channels/out/hold');
  const { musicclass } = await app.waitFor('ChannelHold');
  assert.is(musicclass, 'default');
  await app.ok('DELETE', '/channels/out/hold');
  await app.waitFor('ChannelUnhold');
  await app.ok('POST', '/channels/out/play?media=sound:nothing,sound:beep');
  await app.waitFor('PlaybackFinished', ({ playback }) => playback.media_uri === 'sound:beep');
  for (const name of ['one', 'one.wav/two'])
    await app.ok('POST', `/channels/out/record?name=${path(name)}&format=wav&maxDurationSeconds=1`);
  await app.waitFor('RecordingFailed');
  await app.waitFor('RecordingFinished');
  await app.ok('POST', '/channels/out/move?app=nowhere');
  await app.waitFor('ApplicationMoveFailed');
  await app.ok('POST', '/events/user/Told?application=desk');
  await app.ok('PUT', '/deviceStates/Stasis:desk?deviceState=BUSY');
  await app.ok('DELETE', '/deviceStates/Stasis:desk');
  await app.ok('POST', '/bridges/video?type=mixing,video_single');
  await app.ok('POST', '/bridges/video/addChannel?channel=out');
  await app.ok('POST', '/bridges/video/videoSource/out');
  await app.ok('DELETE', '/bridges/video');
  await app.ok('DELETE', '/channels/out');
  await app.ok('POST', '/channels?endpoint=Local/offer@default&extension=1000&channelId=offered');
  const { channel: caller } = await app.waitFor('CallBroadcast');
  await app.ok('POST', `/events/claim?channelId=${caller.id}&application=desk`);
  await inApp(app, caller.id);
  await app.ok('DELETE', `/channels/${caller.id}`);
}

/** Phones that put others through: into another conference, to an extension, and as the application likes. */
async function transfers(server: TestServer, app: AriClient): Promise<void> {
  const phones: Phone[] = [];
  const calls = async (bridge: string | undefined) => {
    const phone = server.closing(await Phone.open(`47${phones.push(undefined as never)}`, server.sip()));
    phones[phones.length - 1] = phone;
    const heard = app.events.length;
    const calling = phone.call('desk');
    const { channel } = await app.waitFor(
      'StasisStart',
      (event) => event.args[0] === 'in' && app.events.indexOf(event) >= heard,
    );
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    if (bridge) await app.ok('POST', `/bridges/${bridge}/addChannel?channel=${channel.id}`);
    return { phone, id: channel.id };
  };
  const others = async (bridge: string, ...ids: string[]) => {
    for (const id of ids) {
      await app.ok('POST', `/channels?endpoint=Local/1000@default&app=desk&channelId=${id}`);
      await inApp(app, id);
      await app.ok('POST', `/bridges/${bridge}/addChannel?channel=${id}`);
    }
  };
  for (const bridge of ['b1', 'b2', 'b3']) await app.ok('POST', `/bridges/${bridge}`);
  const [one, two] = [await calls('b1'), await calls('b2')];
  await others('b1', 'x', 'y');
  await others('b2', 'z');
  assert.is(await one.phone.refer(`<sip:desk@127.0.0.1?Replaces=${two.phone.replaces()}>`), 202);
  await app.waitFor('BridgeMerged');
  await app.waitFor('BridgeAttendedTransfer');
  const three = await calls('b3');
  await others('b3', 'w');
  assert.is(await three.phone.refer('<sip:300@127.0.0.1>'), 202);
  await app.waitFor('BridgeBlindTransfer');
  const four = await calls(undefined);
  const variable = path('PJSIP_TRANSFER_HANDLING()');
  await app.ok('POST', `/channels/${four.id}/variable?variable=${variable}&value=ari-only`);
  assert.is(await four.phone.refer('<sip:300@127.0.0.1>'), 202);
  await app.waitFor('ChannelTransfer');
  for (const { id } of await app.ok<{ id: string }[]>('GET', '/channels'))
    await app.request('DELETE', `/channels/${id}`);
  for (const bridge of ['b1', 'b2', 'b3']) await app.request('DELETE', `/bridges/${bridge}`);
  await Promise.all(phones.filter(({ inCall }) => inCall).map((phone) => phone.over()));
}

test.run();
