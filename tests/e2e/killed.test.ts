import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket, WebSocketServer } from 'ws';
import { serverDataVersion } from '../../src/build/server-data.ts';
import { openStateStore } from '../../src/stores/state-store.ts';
import { AriClient } from '../support/ari-client.ts';
import { type AudioSocketCall, AudioSocketServer } from '../support/audio-socket-server.ts';
import { CertificateFiles } from '../support/certificates.ts';
import { claimPorts, freePort } from '../support/free-port.ts';
import { membersKeepTheirCalls } from '../support/group-story.ts';
import { Caller, ownCertificates } from '../support/hostile.ts';
import { silentLog } from '../support/log.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { Command } from '../support/program.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { untilAsked, untilHolds } from '../support/waiting.ts';

/** A server process that is killed, and one that goes on from its state file, with real sockets. */
const killed = suite('a server that is killed');
const certificates = new CertificateFiles();
killed.after(() => certificates.close());
const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

type Channel = { id: string; name: string; state: string };
type Placed = Channel & { dialplan: { app_name: string } };

/** A server on ports of its own, which can be killed and started again. */
async function createServer(secure = false) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-killed-'));
  const [http, sip, bob, tls] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const media = await freePort();
  // Not ports of the system's choice: another program may take one before the next process opens it again.
  const audio = await claimPorts(200);
  const file = join(directory, 'hookswitch.yaml');
  const settings = {
    general: { data_directory: join(directory, 'data'), log_level: 'error' },
    http: { port: http, users: [{ name: 'tester', password: 'secret' }] },
    sip: {
      transports: [
        { protocol: 'udp', bind: '127.0.0.1', port: sip },
        ...(secure ? [{ protocol: 'tls', bind: '127.0.0.1', port: tls }] : []),
      ],
      endpoints: {
        anonymous: { match: ['127.0.0.1'], ...(secure && { media_encryption: 'required' }) },
        bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bob}`] } },
      },
    },
    media: { rtp_ports: [audio, audio + 199], warm_up: false },
    dialplan: {
      default: {
        echo: ['Answer', 'Echo'],
        '600': ['Answer', 'Echo'],
        desk: ['Stasis(desk)'],
        bob: ['Dial(PJSIP/bob,60)'],
        ring: ['Ringing', 'Wait(60)'],
        timed: ['Answer', 'Wait(6)', 'Hangup'],
      },
    },
    state_store: { on: true },
    external_media: { websockets: { ai: { url: `ws://127.0.0.1:${media}/media` } } },
    ...(secure && { tls: ownCertificates(certificates) }),
  };
  writeFileSync(file, JSON.stringify(settings));
  const base = `http://127.0.0.1:${http}/ari`;
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOOKSWITCH_'));
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [program, 'serve', '--config', file], {
      ...{ cwd: directory, env: Object.fromEntries(inherited), stdio: ['ignore', 'ignore', 'inherit'] },
    });
    await untilAsked(
      async () => (await fetch(`${base}/asterisk/ping`).catch(() => undefined)) !== undefined,
      () => 'the server does not answer',
    );
  };
  await start();
  const kill = async (): Promise<void> => {
    if (child!.exitCode !== null) return;
    const ended = once(child!, 'exit');
    child!.kill('SIGKILL');
    await ended;
  };
  /** Stops it in order, and at once. */
  const stop = async (): Promise<void> => {
    const ended = once(child!, 'exit');
    child!.kill('SIGTERM');
    await ended;
  };
  return {
    ...{
      base,
      bob,
      media,
      sip: `127.0.0.1:${sip}`,
      tls: `127.0.0.1:${tls}`,
      data: join(directory, 'data'),
      start,
      kill,
      stop,
    },
    client: () => new AriClient(base, 'tester:secret'),
    async close() {
      await kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const test = (title: string, body: (server: Awaited<ReturnType<typeof createServer>>) => Promise<void>): void =>
  killed(title, async () => {
    const server = await createServer();
    try {
      await body(server);
    } finally {
      await server.close();
    }
  });

const channelsOf = (client: AriClient): Promise<Channel[]> => client.ok<Channel[]>('GET', '/channels');

for (const when of ['before the server has stopped', 'to the next server'])
  test(`a call that is hung up while its INVITE is undecided is cancelled when its phone rings ${when}`, async (server) => {
    const phone = createSocket('udp4');
    const heard: string[] = [];
    phone.on('message', (message) => heard.push(String(message)));
    phone.bind(server.bob, '127.0.0.1');
    try {
      await once(phone, 'listening');
      const { id } = await server.client().ok<Channel>('POST', '/channels?endpoint=PJSIP/bob&app=desk');
      const has = (method: string, from = 0) => heard.slice(from).some((message) => message.startsWith(method));
      const until = (method: string, from = 0) =>
        untilAsked(
          async () => has(method, from),
          () => `no ${method} came`,
        );
      await until('INVITE');
      const reply = (request: string, status: string): void => {
        const lines = request.split('\r\n').filter((line) => /^(?:Via|From|To|Call-ID|CSeq):/.test(line));
        const tagged = lines.map((line) => (line.startsWith('To:') ? `${line};tag=bob` : line));
        const text = [`SIP/2.0 ${status}`, ...tagged, 'Content-Length: 0', '', ''].join('\r\n');
        phone.send(text, Number(server.sip.split(':')[1]), '127.0.0.1');
      };
      const lastOf = (method: string) => heard.findLast((message) => message.startsWith(method)) ?? '';
      await server.client().ok('DELETE', `/channels/${id}`);
      const stopped = server.stop();
      if (when === 'to the next server') {
        await stopped;
        const before = heard.length;
        await server.start();
        await until('INVITE', before);
      }
      assert.not(has('CANCEL'));
      reply(lastOf('INVITE'), '180 Ringing');
      await until('CANCEL');
      reply(lastOf('CANCEL'), '200 OK');
      reply(lastOf('INVITE'), '487 Request Terminated');
      await until('ACK');
      await stopped;
    } finally {
      phone.close();
    }
  });

test('audio goes on as the same stream, and the call ends by the phone', async (server) => {
  const phone = await Phone.open('4711', server.sip);
  try {
    await phone.call('echo');
    phone.audio.hum(400);
    await phone.audio.hears([400], [400, 700]);
    await server.kill();
    const before = phone.audio.packets.length;
    await server.start();
    await phone.audio.until(() => phone.audio.packets.length > before + 25, 'audio of the next process');
    assert.is(new Set(phone.audio.packets.map(({ ssrc }) => ssrc)).size, 1);
    await phone.audio.hears([400], [400, 700]);
    const client = server.client();
    assert.equal(
      (await channelsOf(client)).map(({ state }) => state),
      ['Up'],
    );
    phone.hangup();
    await phone.over();
    await untilAsked(
      async () => (await channelsOf(client)).length === 0,
      () => 'the channel stays',
    );
  } finally {
    await phone.close();
  }
});

test('a Wait of the dialplan goes on with the rest of its time', async (server) => {
  const phone = await Phone.open('4712', server.sip);
  try {
    await phone.call('timed');
    const begun = performance.now();
    await untilAsked(
      async () => (await server.client().ok<Placed[]>('GET', '/channels'))[0]?.dialplan.app_name === 'Wait',
      () => 'the call does not wait',
    );
    await server.kill();
    const killed = performance.now();
    await server.start();
    const awayMs = performance.now() - killed;
    await phone.over();
    const lasted = performance.now() - begun;
    // From the start it would have taken the time in which no server ran, and six seconds.
    assert.ok(lasted > 5_000, `${lasted} ms`);
    assert.ok(lasted < Math.max(6_000, awayMs) + Math.min(6_000, awayMs) / 2, `${lasted} ms, ${awayMs} of it away`);
  } finally {
    await phone.close();
  }
});

/** A media server that the server opens WebSockets to, with slin of 8 kHz. */
async function listenForWebSockets(port: number) {
  const listening = new WebSocketServer({ host: '127.0.0.1', port });
  await once(listening, 'listening');
  return {
    /** The next WebSocket, when MEDIA_START has come over it. */
    async next() {
      const [socket] = (await once(listening, 'connection')) as [WebSocket];
      const audio: Buffer[] = [];
      const looks = new Set<() => void>();
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) audio.push(data);
        for (const look of looks) look();
      });
      const [start] = (await once(socket, 'message')) as [Buffer];
      return {
        begun: String(start),
        async hears(peer: RtpPeer): Promise<void> {
          audio.length = 0;
          const isLoud = (frame: Buffer): boolean =>
            frame.some((_octet, at) => at % 2 === 0 && Math.abs(frame.readInt16LE(at)) > 1_000);
          const speaking = peer.speak(Buffer.alloc(4_000, 0x20));
          await untilHolds(
            looks,
            () => audio.some(isLoud),
            () => 'no audio came over the WebSocket',
          );
          await speaking;
        },
      };
    },
    close(): void {
      for (const socket of listening.clients) socket.terminate();
      listening.close();
    },
  };
}

test('channels of media servers go on: the stream to one is the same, the others are connected to again', async (server) => {
  const uuid = '40325ec2-5efd-4bd3-805f-53576e581d13';
  const peer = await RtpPeer.open();
  const outside = await AudioSocketServer.open();
  const port = Number(outside.address.split(':')[1]);
  const webSockets = await listenForWebSockets(server.media);
  let later: AudioSocketServer | undefined;
  try {
    const app = await server.client().connect('desk');
    const external = '/channels/externalMedia?app=desk';
    const rtp = await app.ok<{ channelvars: Record<string, string> }>(
      'POST',
      `${external}&external_host=127.0.0.1:${peer.port}&format=ulaw&channelId=rtp`,
    );
    const line = `transport=tcp&encapsulation=audiosocket&external_host=${outside.address}&data=${uuid}`;
    await app.ok('POST', `${external}&${line}&format=slin&channelId=ai`);
    const called = webSockets.next();
    await app.ok(
      'POST',
      `${external}&transport=websocket&encapsulation=none&external_host=ai&format=slin&channelId=ws`,
    );
    const first = await called;
    for (const id of ['rtp', 'ai', 'ws']) await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
    await app.ok('POST', '/bridges/room?type=mixing');
    await app.ok('POST', '/bridges/room/addChannel?channel=rtp,ai,ws');
    peer.sendTo(Number(rtp.channelvars['UNICASTRTP_LOCAL_PORT']));
    const heard = async (call: AudioSocketCall): Promise<void> => {
      const speaking = peer.speak(Buffer.alloc(4_000, 0x20));
      await call.until(() => call.samples().some((sample) => Math.abs(sample) > 1_000), 'audio of the peer');
      await speaking;
      const before = peer.packets.length;
      for (let frame = 0; frame < 10; frame++) call.send(0x10, Buffer.alloc(320, 0x20));
      const isLoud = (octet: number): boolean => (octet & 0x7f) < 0x60;
      await peer.until(
        () => peer.packets.slice(before).some(({ payload }) => payload.some(isLoud)),
        'audio of the server',
      );
    };
    await heard(await outside.call());
    await first.hears(peer);
    outside.stopListening();
    const calledAgain = webSockets.next();
    await server.kill();
    await server.start();
    // Its first attempt is refused: the media server takes longer.
    later = await AudioSocketServer.open(port);
    const call = await later.call();
    await call.until(() => call.frames.length > 0, 'the id');
    assert.equal(call.frames[0], { kind: 0x01, payload: Buffer.from(uuid.replaceAll('-', ''), 'hex') });
    await heard(call);
    const second = await calledAgain;
    // The same connection for the media server: its id, its channel, its format.
    assert.is(second.begun, first.begun);
    await second.hears(peer);
    assert.is(new Set(peer.packets.map(({ ssrc }) => ssrc)).size, 1);
    const states = (await channelsOf(app)).map(({ name, state }) => `${name.split('/')[0]} ${state}`).sort();
    assert.equal(states, ['AudioSocket Up', 'UnicastRTP Up', 'WebSocket Up']);
  } finally {
    await peer.close();
    outside.close();
    webSockets.close();
    later?.close();
  }
});

test('a media server opens its WebSocket again, with the same id', async (server) => {
  const sockets: WebSocket[] = [];
  try {
    const app = await server.client().connect('desk');
    const made = await app.ok<{ channelvars: Record<string, string> }>(
      'POST',
      '/channels/externalMedia?app=desk&channelId=ai&transport=websocket&encapsulation=none&connection_type=server&format=slin',
    );
    const id = made.channelvars['MEDIA_WEBSOCKET_CONNECTION_ID'];
    const call = async (): Promise<string> => {
      const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
      const url = `${server.base.replace('http', 'ws').replace(/\/ari$/, '')}/media/${id}`;
      const socket = new WebSocket(url, 'media', { headers: { authorization } });
      sockets.push(socket);
      const [first] = (await once(socket, 'message')) as [Buffer];
      return String(first);
    };
    assert.match(await call(), new RegExp(`^MEDIA_START connection_id:${id} `));
    await app.waitFor('StasisStart');
    await server.kill();
    await server.start();
    assert.match(await call(), new RegExp(`^MEDIA_START connection_id:${id} `));
    const later = server.client();
    assert.equal(
      (await channelsOf(later)).map(({ state }) => state),
      ['Up'],
    );
    const closed = once(sockets[1]!, 'close');
    assert.is((await later.request('DELETE', '/channels/ai')).status, 204);
    await closed;
  } finally {
    for (const socket of sockets) socket.terminate();
  }
});

test('what counts against an address goes on counting, also over an orderly end', async (server) => {
  const bans = async (): Promise<unknown> => {
    const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
    return (await fetch(server.base.replace('/ari', '/hookswitch/bans'), { headers: { authorization } })).json();
  };
  const guess = async (): Promise<void> => {
    const authorization = `Basic ${Buffer.from('tester:guessed').toString('base64')}`;
    assert.is((await fetch(`${server.base}/channels`, { headers: { authorization } })).status, 401);
  };
  await guess();
  await guess();
  const two = /"address":"127.0.0.1","attempts":2,"users":\["tester"\]/;
  assert.match(JSON.stringify(await bans()), two);
  await server.kill();
  await server.start();
  assert.match(JSON.stringify(await bans()), two);
  await server.stop();
  await server.start();
  await guess();
  assert.match(JSON.stringify(await bans()), /"attempts":3/);
});

test('each member of a group gets its own calls again, with their events from the start', (server) =>
  membersKeepTheirCalls(server, async () => {
    await server.kill();
    await server.start();
  }));

/** The state of a server that does not run. */
const openState = (data: string, version: number) =>
  openStateStore({
    ...{ directory: data, log: silentLog, version, compactAbove: 1e9, retryMs: 1_000, longestWriteMs: 1_000 },
    ...{ mostEvents: 1_000, mostEventCharacters: 1e6, keepEventsMs: 3_600_000, wallClock: Date.now, now: () => 0 },
  });

test('a state of another version is set aside, and the server starts without calls', async (server) => {
  const phone = await Phone.open('1', server.sip);
  try {
    await phone.call('echo');
    await server.kill();
    // A later version goes on with it, in a way of its own.
    rmSync(join(server.data, 'state.log'));
    const later = openState(server.data, serverDataVersion + 1);
    later.commit([['calls.channels x', '{"of":"the future"}']]);
    later.close();
    await server.start();
    const app = server.client();
    assert.equal(await channelsOf(app), []);
    assert.match(readFileSync(join(server.data, 'state.log.bad'), 'latin1'), 'the future');
    // It takes calls.
    const other = await Phone.open('2', server.sip);
    try {
      await other.call('echo');
      other.hangup();
    } finally {
      await other.close();
    }
  } finally {
    await phone.close();
  }
});

/** Changes the saved streams of a server that does not run: their next index is another one. */
function moveStreams(data: string, index: number): { ssrc: number }[] {
  const moved: { ssrc: number }[] = [];
  const move = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const stream = value as { ssrc?: number; sequence?: number; secret?: { sealed: number } };
    if (stream.secret && stream.ssrc !== undefined) {
      stream.sequence = index & 0xffff;
      stream.secret.sealed = index;
      moved.push({ ssrc: stream.ssrc });
    } else for (const inner of Object.values(value)) move(inner);
  };
  const store = openState(data, serverDataVersion);
  for (const [key, json] of store.left) {
    const value = JSON.parse(json) as unknown;
    const before = moved.length;
    move(value);
    if (moved.length > before) store.commit([[key, JSON.stringify(value)]]);
  }
  store.close();
  return moved;
}

for (const [what, ourIndex, theirFirst, skipped, ender] of [
  ['had begun again before', 0x1_0000 + 40_000, 0xffff - 20, 100, 'phone'],
  ['begins again meanwhile', 2 * 0x1_0000 - 100, 0xffff - 200, 300, 'server'],
] as const)
  killed(`the rollover counter of SRTP goes on in both directions where it ${what}`, async () => {
    const server = await createServer(true);
    const at = { sip: () => server.tls };
    const phone = await Caller.call(at).catch(async (error: unknown) => {
      await server.close();
      throw error;
    });
    try {
      phone.sequence = theirFirst;
      await phone.hearsItself();
      while (phone.sequence < theirFirst + 60) phone.send(phone.packet());
      await untilAsked(
        async () => {
          await phone.hearsItself();
          return readFileSync(join(server.data, 'state.log'), 'latin1').includes('"sealed"');
        },
        () => 'the stream is not saved',
      );
      await server.kill();
      const [stream] = moveStreams(server.data, ourIndex);
      assert.ok(stream, 'a stream is saved');
      phone.hasHeard({ audio: ourIndex, control: 0, source: stream.ssrc + 1 });
      // It went on to speak.
      phone.sequence += skipped;
      await server.start();
      await phone.hearsItself();
      assert.ok(phone.sequence > 0xffff);
      assert.ok(phone.numbers.audio > ourIndex && phone.numbers.audio < ourIndex + 5_000, `${phone.numbers.audio}`);
      // Its connection is lost: a BYE of the server waits for its next one.
      const client = server.client();
      const [channel] = await channelsOf(client);
      if (ender === 'server') await client.ok('DELETE', `/channels/${channel!.id}`);
      await phone.reconnect(at);
      if (ender === 'server') await phone.isHungUp();
      else await phone.hangup(at);
      await untilAsked(
        async () => (await channelsOf(client)).length === 0,
        () => 'the channel stays',
      );
    } finally {
      phone.close();
      await server.close();
    }
  });

test('an application resumes without a gap and controls its call', async (server) => {
  const phone = await Phone.open('4711', server.sip);
  const first = await server.client().connect('desk');
  const later = server.client();
  try {
    const calling = phone.call('desk');
    const { channel } = await first.waitFor('StasisStart');
    await first.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    await first.ok('POST', `/channels/${channel.id}/variable?variable=SEEN&value=1`);
    const seen = (await first.waitFor('ChannelVarset', ({ variable }) => variable === 'SEEN')) as unknown as {
      seq: number;
    };
    await first.ok('POST', `/channels/${channel.id}/variable?variable=MISSED&value=1`);
    await server.kill();
    await server.start();
    await later.connect('desk', { resume: String(seen.seq) });
    await later.ok('POST', `/channels/${channel.id}/variable?variable=LATER&value=1`);
    await later.waitFor('ChannelVarset', ({ variable }) => variable === 'LATER');
    assert.equal(
      later.events.map((event) => (event.type === 'ChannelVarset' ? event.variable : event.type)),
      ['MISSED', 'LATER'],
    );
    await later.ok('DELETE', `/channels/${channel.id}`);
    await phone.over();
    await later.waitFor('StasisEnd');
  } finally {
    await Promise.all([first.close(), later.close(), phone.close()]);
  }
});

test('events that were sent and not acknowledged come again after a kill, all by their epoch', async (server) => {
  const phone = await Phone.open('4711', server.sip);
  const first = await server.client().connect('desk', { ack: 'true' });
  const [later, third] = [server.client(), server.client()];
  const set = (client: AriClient, id: string, name: string) =>
    client.ok('POST', `/channels/${id}/variable?variable=${name}&value=1`);
  const names = (client: AriClient) =>
    client.events.flatMap((event) => (event.type === 'ChannelVarset' ? [event.variable] : []));
  try {
    const { epoch } = await first.message('ResumePoint');
    const calling = phone.call('desk');
    const { channel } = await first.waitFor('StasisStart');
    await first.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    await set(first, channel.id, 'HANDLED');
    const { seq } = await first.waitFor('ChannelVarset', ({ variable }) => variable === 'HANDLED');
    first.say({ type: 'EventsAcknowledged', application: 'desk', seq });
    first.say({ type: 'RESTRequest', method: 'GET', uri: 'asterisk/ping', transaction_id: 't', request_id: 'r' });
    await first.message('RESTResponse');
    await set(first, channel.id, 'SENT');
    await first.waitFor('ChannelVarset', ({ variable }) => variable === 'SENT');
    await server.kill();
    await server.start();
    await later.connect('desk', { ack: 'true' });
    await set(later, channel.id, 'LATER');
    await later.waitFor('ChannelVarset', ({ variable }) => variable === 'LATER');
    const point = await later.message('ResumePoint');
    assert.is(point['seq'], seq);
    assert.is.not(point['epoch'], epoch);
    assert.equal(names(later), ['SENT', 'LATER']);
    await server.kill();
    await server.start();
    // The epoch of the process before the last one is known, and its numbers go on.
    await third.connect('desk', { resume: `${epoch}:${seq}` });
    await third.waitFor('ChannelVarset', ({ variable }) => variable === 'LATER');
    assert.equal(names(third), ['SENT', 'LATER']);
    await third.ok('DELETE', `/channels/${channel.id}`);
    await phone.over();
  } finally {
    await Promise.all([first.close(), later.close(), third.close(), phone.close()]);
  }
});

test('a Dial that rings goes on, and its answer joins the calls', async (server) => {
  const caller = await Phone.open('4711', server.sip);
  const callee = await Phone.open('bob', server.sip, server.bob);
  callee.answers = false;
  try {
    const calling = caller.call('bob');
    await callee.until(() => callee.rings, 'the call');
    await server.kill();
    await server.start();
    callee.take();
    await calling;
    // The INVITE may be repeated, but nobody is called twice.
    assert.is(new Set(callee.invites.flatMap((invite) => invite.all('Call-ID'))).size, 1);
    caller.audio.hum(400);
    callee.audio.hum(700);
    await caller.audio.hears([700], [400, 700]);
    await callee.audio.hears([400], [400, 700]);
    caller.hangup();
    await callee.over();
    const client = server.client();
    await untilAsked(
      async () => (await channelsOf(client)).length === 0,
      () => 'channels stay',
    );
  } finally {
    await Promise.all([caller.close(), callee.close()]);
  }
});

need('sipp').test(killed, '50 calls of SIPp go on, and each ends by its BYE', async (path) => {
  const server = await createServer();
  const calls = 50;
  const args = [
    '-s',
    'echo',
    '-i',
    '127.0.0.1',
    '-r',
    '50',
    '-m',
    `${calls}`,
    '-l',
    `${calls}`,
    '-d',
    '6000',
    '-nostdin',
  ];
  const run = new Command(path, ['-sn', 'uac', server.sip, ...args]);
  try {
    const client = server.client();
    await untilAsked(
      async () => (await channelsOf(client)).filter(({ state }) => state === 'Up').length === calls,
      () => 'not all calls are up',
    );
    await server.kill();
    await server.start();
    // A BYE that found no call would make it fail.
    assert.is(await run.end(), 0, run.explain());
    await untilAsked(
      async () => (await channelsOf(client)).length === 0,
      () => 'channels stay',
    );
  } finally {
    await run.close();
    await server.close();
  }
});

killed.run();
