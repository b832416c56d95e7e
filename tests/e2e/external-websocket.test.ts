import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket, WebSocketServer } from 'ws';
import type { Channel } from '../../src/models/channel.ts';
import type { NewToken } from '../../src/models/token.ts';
import type { AriClient } from '../support/ari-client.ts';
import { onServer, password, startTestServer, type TestServer, user } from '../support/server.ts';
import { untilHolds } from '../support/waiting.ts';

const calls = suite('audio exchanged over WebSockets with servers, whoever opens them');

/** What a server outside has heard: texts and audio, in order. */
class MediaPeer {
  readonly messages: (string | Buffer)[] = [];
  readonly socket: WebSocket;
  readonly #waiting = new Set<() => void>();

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data, isBinary) => {
      this.messages.push(isBinary ? (data as Buffer) : String(data));
      for (const look of [...this.#waiting]) look();
    });
  }

  get texts(): string[] {
    return this.messages.filter((message) => typeof message === 'string');
  }

  get audio(): Buffer {
    return Buffer.concat(this.messages.filter((message) => typeof message !== 'string'));
  }

  until(holds: () => boolean, what: string): Promise<void> {
    return untilHolds(this.#waiting, holds, () => `${what} did not come; heard: ${this.texts.join(' | ')}`);
  }
}

/** How a server is called, and what it hears: the same, whoever opens the WebSocket. */
type Called = {
  server: TestServer;
  /** The part of a dial string that names the server. */
  name: string;
  /** Asks for a channel. */
  make(app: AriClient, query: string): Promise<Channel>;
  /** The server's end, when it is open. */
  peer(channel: Channel): Promise<MediaPeer>;
};

const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const echo = { default: { echo: ['Answer', 'Echo'] } };

/** Opens a server's WebSocket to a channel that waits for it. */
function connectTo(server: TestServer, id: string | undefined, options: object = { headers: { authorization } }) {
  return new WebSocket(`${server.url.replace(/^http/, 'ws').replace(/ari$/, 'media')}/${id}`, 'media', options);
}

const idOf = ({ channelvars }: Channel): string | undefined => channelvars?.['MEDIA_WEBSOCKET_CONNECTION_ID'];

const line = 'channelId=ai&app=desk&transport=websocket&encapsulation=none';

/** The server outside listens, and is called. */
async function asListener(body: (called: Called) => Promise<void>): Promise<void> {
  const outside = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(outside, 'listening');
  const called: MediaPeer[] = [];
  let shown: string | undefined;
  outside.on('connection', (socket, request) => {
    shown = `${request.headers.authorization} of ${request.headers['x-tenant']}`;
    called.push(new MediaPeer(socket));
  });
  const url = `ws://127.0.0.1:${(outside.address() as AddressInfo).port}/media`;
  const websockets = { ai: { url, headers: ['X-Tenant: 7'], token: 'secret' } };
  try {
    await onServer({ dialplan: echo, external_media: { websockets } }, (server) =>
      body({
        server,
        name: 'ai',
        make: (app, query) => app.ok('POST', `/channels/externalMedia?${line}&external_host=ai&${query}`),
        async peer() {
          if (called.length === 0) await once(outside, 'connection');
          assert.is(shown, 'Bearer secret of 7');
          return called[0]!;
        },
      }),
    );
  } finally {
    for (const { socket } of called) socket.terminate();
    outside.close();
  }
}

/** The server outside calls. */
async function asCaller(body: (called: Called) => Promise<void>, more: object = {}): Promise<void> {
  await onServer({ dialplan: echo, ...more }, (server) =>
    body({
      server,
      name: 'INCOMING',
      make: (app, query) => app.ok('POST', `/channels/externalMedia?${line}&connection_type=server&${query}`),
      async peer(channel) {
        const socket = connectTo(server, idOf(channel));
        server.closing({ close: () => socket.terminate() });
        const peer = new MediaPeer(socket);
        await once(socket, 'open');
        assert.is(socket.protocol, 'media');
        return peer;
      },
    }),
  );
}

const test = (title: string, body: (called: Called) => Promise<void>): void => {
  calls(`${title} (we open the WebSocket)`, () => asListener(body));
  calls(`${title} (the server opens it)`, () => asCaller(body));
};

test('an echo comes back, behind MEDIA_START', async ({ server, name, make, peer: called }) => {
  const app = await server.app('desk');
  const made = await make(app, 'format=slin16');
  const peer = await called(made);
  const id = idOf(made);
  assert.match(made.name, new RegExp(`^WebSocket/${name}/0x[0-9a-f]{12}$`));
  assert.is(made.channelvars?.['MEDIA_WEBSOCKET_OPTIMAL_FRAME_SIZE'], '640');
  await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/ai/continue?context=default&extension=echo&priority=1');
  await app.waitFor('StasisEnd');
  const said = Int16Array.from({ length: 3200 }, (_, at) => 100 + at);
  peer.socket.send(Buffer.from(said.buffer));
  await peer.until(() => peer.audio.length >= 6400, 'the echo');
  assert.equal(peer.audio.subarray(0, 6400), Buffer.from(said.buffer));
  assert.is(
    peer.messages[0],
    `MEDIA_START connection_id:${id} channel:${made.name} channel_id:ai format:slin16 optimal_frame_size:640 ptime:20`,
  );
  peer.socket.send('HANGUP');
  const destroyed = await app.waitFor('ChannelDestroyed');
  assert.is(destroyed.cause, 16);
});

test('marks are told with what was heard; a flush leaves out what waits; a queue is full and drains', async ({
  server,
  make,
  peer: called,
}) => {
  const app = await server.app('desk');
  const peer = await called(await make(app, `format=ulaw&transport_data=${encodeURIComponent('f(json)')}`));
  await app.waitFor('StasisStart');
  const told = (event: string) =>
    peer.texts.map((text) => JSON.parse(text) as Record<string, unknown>).filter((each) => each['event'] === event);
  const ask = (command: string, more: object = {}) => peer.socket.send(JSON.stringify({ command, ...more }));
  await peer.until(() => told('MEDIA_START').length === 1, 'MEDIA_START');
  peer.socket.send(Buffer.alloc(160 * 10, 0x10));
  ask('MARK_MEDIA', { correlation_id: 'heard' });
  await peer.until(() => told('MEDIA_MARK_PROCESSED').length === 1, 'the mark');
  assert.equal(told('MEDIA_MARK_PROCESSED'), [
    { event: 'MEDIA_MARK_PROCESSED', channel_id: 'ai', correlation_id: 'heard', heard_ms: 200 },
  ]);
  ask('PAUSE_MEDIA');
  // 20 s, and more: what is more is left out, and counted.
  for (let count = 0; count < 1010; count++) peer.socket.send(Buffer.alloc(160, 0x10));
  ask('MARK_MEDIA', { correlation_id: 'never' });
  ask('GET_STATUS');
  await peer.until(() => told('STATUS').length === 1, 'the status');
  assert.is(told('MEDIA_XOFF').length, 1);
  assert.equal(told('STATUS'), [
    {
      event: 'STATUS',
      channel_id: 'ai',
      queue_length: 1000,
      xon_level: 800,
      xoff_level: 900,
      queue_full: true,
      bulk_media: false,
      media_paused: true,
      heard_ms: 200,
      dropped_ms: 200,
      unsent_frames: 0,
    },
  ]);
  ask('REPORT_QUEUE_DRAINED');
  ask('FLUSH_MEDIA');
  ask('CONTINUE_MEDIA');
  await peer.until(() => told('QUEUE_DRAINED').length === 1, 'the drained queue');
  assert.is(told('MEDIA_XON').length, 1);
  ask('START_MEDIA_BUFFERING');
  peer.socket.send(Buffer.alloc(1000, 0x10));
  ask('STOP_MEDIA_BUFFERING', { correlation_id: 'all' });
  await peer.until(() => told('MEDIA_BUFFERING_COMPLETED').length === 1, 'the end of what was buffered');
  assert.equal(told('MEDIA_BUFFERING_COMPLETED'), [
    { event: 'MEDIA_BUFFERING_COMPLETED', channel_id: 'ai', correlation_id: 'all', heard_ms: 325 },
  ]);
  assert.is(told('MEDIA_MARK_PROCESSED').length, 1);
  for (const nonsense of ['no JSON', '[]', '{"command":1}', '{"command":"DANCE"}', 'x'.repeat(5000)])
    peer.socket.send(nonsense);
  await peer.until(() => told('ERROR').length === 5, 'five errors');
  await app.ok('POST', '/channels/ai/dtmf?dtmf=7');
  await peer.until(() => told('DTMF_END').length === 1, 'the digit');
  await app.ok('DELETE', '/channels/ai');
});

test('with n a channel is Up when the server answers', async ({ server, name, peer: called }) => {
  const app = await server.app('desk');
  const endpoint = encodeURIComponent(`WebSocket/${name}/c(ulaw)n`);
  await app.ok('POST', `/channels?endpoint=${endpoint}&app=desk&channelId=ai`);
  const id = 'MEDIA_WEBSOCKET_CONNECTION_ID';
  const { value } = await app.ok<{ value: string }>('GET', `/channels/ai/variable?variable=${id}`);
  const peer = await called({ channelvars: { [id]: value } } as unknown as Channel);
  await peer.until(() => peer.texts.length === 1, 'MEDIA_START');
  peer.socket.send('GET_STATUS');
  await peer.until(() => peer.texts.length === 2, 'the status');
  assert.is((await app.ok<Channel>('GET', '/channels/ai')).state, 'Down');
  peer.socket.send('ANSWER');
  assert.is((await app.waitFor('StasisStart')).channel.state, 'Up');
  peer.socket.close();
  assert.is((await app.waitFor('ChannelDestroyed')).cause, 41);
});

test('in words a mark tells what was heard as well, a status what was left out', async ({
  server,
  make,
  peer: called,
}) => {
  const app = await server.app('desk');
  const peer = await called(await make(app, 'format=ulaw'));
  await app.waitFor('StasisStart');
  peer.socket.send(Buffer.alloc(160 * 5, 0x10));
  peer.socket.send('MARK_MEDIA first');
  await peer.until(() => peer.texts.length === 2, 'the mark');
  for (let count = 0; count < 1003; count++) peer.socket.send(Buffer.alloc(160, 0x10));
  await peer.until(() => peer.texts.length === 3, 'the full queue');
  for (const command of ['PAUSE_MEDIA', 'FLUSH_MEDIA', 'GET_STATUS', 'MARK_MEDIA', 'DANCE']) peer.socket.send(command);
  await peer.until(() => peer.texts.length === 6, 'the answers');
  const [, mark, full, status, unnamed, error] = peer.texts;
  assert.is(mark, 'MEDIA_MARK_PROCESSED first heard_ms:100');
  assert.is(full, 'MEDIA_XOFF');
  const [, heard, dropped] = /heard_ms:(\d+) dropped_ms:(\d+)/.exec(status!)!;
  assert.is(
    status,
    `STATUS channel_id:ai queue_length:0 xon_level:800 xoff_level:900 queue_full:false bulk_media:false media_paused:true heard_ms:${heard} dropped_ms:${dropped} unsent_frames:0`,
  );
  assert.ok(Number(heard) >= 100 && Number(dropped) <= 60, status);
  assert.is(unnamed, `MEDIA_MARK_PROCESSED heard_ms:${heard}`);
  assert.is(error, 'ERROR channel_id:ai error_text:this is no command');
  await app.ok('DELETE', '/channels/ai');
});

/** What a handshake was answered with. */
async function refusal(socket: WebSocket): Promise<number | undefined> {
  socket.on('error', () => {});
  const [, { statusCode }] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode?: number }];
  socket.terminate();
  return statusCode;
}

calls('one WebSocket is let in, of who knows the id and a password', () =>
  asCaller(async ({ server, make, peer: called }) => {
    const app = await server.app('desk');
    const made = await make(app, 'format=ulaw');
    assert.is(made.state, 'Down');
    const { url } = server;
    const address = `${url.replace(/ari$/, 'media')}/${idOf(made)}`;
    assert.is((await fetch(address, { headers: { authorization } })).status, 426);
    assert.match(((await (await fetch(address)).json()) as { message: string }).message, 'external_media.log_in');
    assert.is(await refusal(connectTo(server, idOf(made), {})), 401);
    assert.is(
      await refusal(connectTo(server, idOf(made), { headers: { authorization, origin: 'http://evil.example' } })),
      403,
    );
    assert.is(await refusal(connectTo(server, 'nobody')), 404);
    const peer = await called(made);
    await app.waitFor('StasisStart');
    assert.is(await refusal(connectTo(server, idOf(made))), 409);
    const closed = once(peer.socket, 'close');
    await app.ok('DELETE', '/channels/ai');
    assert.is((await closed)[0], 1000);
    assert.is(await refusal(connectTo(server, idOf(made))), 404);
  }),
);

calls('a token opens one, in every form, as far as its scope and time go; revoked it closes it', async () => {
  const scope = { operations: ['channels:externalMedia'], applications: ['desk'] };
  const users = [
    { name: user, password },
    { name: 'ai', password: 'its own', scope },
    { name: 'looker', password: 'only looks', read_only: true },
    { name: 'elsewhere', password: 'its own', scope: { ...scope, applications: ['other'] } },
    { name: 'reader', password: 'its own', scope: { operations: ['channels:read'] } },
  ];
  await onServer({ dialplan: echo, users }, async (server) => {
    const app = await server.app('desk');
    const tokens = server.url.replace(/ari$/, 'hookswitch/tokens');
    const token = async (name: string, query = '') => {
      const made = await fetch(`${tokens}?name=${name}&user=ai${query}`, {
        ...{ method: 'POST', headers: { authorization } },
      });
      return ((await made.json()) as NewToken).token;
    };
    const basic = (name: string, secret: string) => ({
      headers: { authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}` },
    });
    const make = async (id: string) => {
      const made = await app.ok<Channel>(
        'POST',
        `/channels/externalMedia?${line.replace('=ai', `=${id}`)}&connection_type=server&format=ulaw`,
      );
      return idOf(made) ?? '';
    };
    const first = await make('first');
    for (const [name, secret] of [
      ['looker', 'only looks'],
      ['elsewhere', 'its own'],
      ['reader', 'its own'],
    ] as const)
      assert.is(await refusal(connectTo(server, first, basic(name, secret))), 403, name);
    assert.is(await refusal(connectTo(server, first, basic('ai', 'hst_unknown'))), 401);
    assert.is(
      await refusal(connectTo(server, first, basic('ai', await token('narrow', '&operations=channels:read')))),
      403,
    );
    const secret = await token('media');
    const [second, third] = [await make('second'), await make('third')];
    const opened = [
      connectTo(server, first, { headers: { authorization: `Bearer ${secret}` } }),
      connectTo(server, second, basic('ai', secret)),
      connectTo(server, `${third}?api_key=ai:${secret}`, {}),
    ];
    await Promise.all(opened.map((socket) => once(socket, 'open')));
    const closed = Promise.all(opened.map((socket) => once(socket, 'close')));
    assert.is((await fetch(`${tokens}/media`, { method: 'DELETE', headers: { authorization } })).status, 204);
    assert.equal(
      (await closed).map(([code]) => code),
      [1008, 1008, 1008],
    );
    for (const id of ['first', 'second', 'third'])
      assert.is((await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id)).cause, 41);
  });
});

for (const settings of [{ external_media: { log_in: false } }, { general: { compatibility: 'asterisk' } }])
  calls(`where no password is asked for the id is enough (${Object.keys(settings)})`, () =>
    asCaller(async ({ server, make }) => {
      const app = await server.app('desk');
      const made = await make(app, 'format=ulaw');
      assert.is(await refusal(connectTo(server, 'nobody', {})), 404);
      const socket = connectTo(server, idOf(made), {});
      await once(socket, 'open');
      await app.waitFor('StasisStart');
      socket.terminate();
      assert.is((await app.waitFor('ChannelDestroyed')).cause, 41);
    }, settings),
  );

calls('a password that is asked for is needed, also where Asterisk has none', () =>
  asCaller(
    async ({ server, make }) => {
      const made = await make(await server.app('desk'), 'format=ulaw');
      assert.is(await refusal(connectTo(server, idOf(made), {})), 401);
    },
    { external_media: { log_in: true }, general: { compatibility: 'asterisk' } },
  ),
);

calls('a channel that no server comes to ends', () =>
  asCaller(
    async ({ server, make }) => {
      const app = await server.app('desk');
      await make(app, 'format=ulaw');
      assert.is((await app.waitFor('ChannelDestroyed')).cause, 19);
      assert.equal(
        app.events.filter(({ type }) => type === 'StasisStart'),
        [],
      );
    },
    { external_media: { arrival_timeout: 0.1 } },
  ),
);

calls('when the system stops, servers are told goodbye', async () => {
  const server = await startTestServer();
  const app = await server.app('desk');
  const made = await app.ok<Channel>('POST', `/channels/externalMedia?${line}&connection_type=server&format=ulaw`);
  const socket = connectTo(server, idOf(made));
  await app.waitFor('StasisStart');
  const closed = once(socket, 'close');
  await server.close();
  assert.is((await closed)[0], 1001);
});
calls.run();
