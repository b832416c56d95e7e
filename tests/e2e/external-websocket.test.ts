import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Channel } from '../../src/models/channel.ts';
import { patienceMs } from '../support/ari-client.ts';
import { onServer, type TestServer } from '../support/server.ts';

const calls = suite('audio exchanged over WebSockets that are opened to servers');

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

  async until(holds: () => boolean, what: string): Promise<void> {
    const limit = AbortSignal.timeout(patienceMs);
    while (!holds()) {
      if (limit.aborted) throw new Error(`${what} did not come; heard: ${this.texts.join(' | ')}`);
      await new Promise<void>((resolve) => {
        const look = () => {
          this.#waiting.delete(look);
          limit.removeEventListener('abort', look);
          resolve();
        };
        this.#waiting.add(look);
        limit.addEventListener('abort', look);
      });
    }
  }
}

const test = (title: string, body: (server: TestServer, peer: () => Promise<MediaPeer>) => Promise<void>) =>
  calls(title, async () => {
    const outside = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(outside, 'listening');
    const called: MediaPeer[] = [];
    let authorization: string | undefined;
    outside.on('connection', (socket, request) => {
      authorization = request.headers.authorization;
      called.push(new MediaPeer(socket));
    });
    const url = `ws://127.0.0.1:${(outside.address() as AddressInfo).port}/media`;
    const websockets = { ai: { url, headers: ['Authorization: Bearer secret'] } };
    try {
      await onServer(
        { dialplan: { default: { echo: ['Answer', 'Echo'] } }, external_media: { websockets } },
        (server) =>
          body(server, async () => {
            if (called.length === 0) await once(outside, 'connection');
            assert.is(authorization, 'Bearer secret');
            return called[0]!;
          }),
      );
    } finally {
      for (const { socket } of called) socket.terminate();
      outside.close();
    }
  });

const line = (format: string, more = ''): string =>
  `/channels/externalMedia?app=desk&transport=websocket&encapsulation=none&external_host=ai&format=${format}&channelId=ai${more}`;

test('an echo comes back, behind MEDIA_START', async (server, called) => {
  const app = await server.app('desk');
  const made = await app.ok<Channel>('POST', line('slin16'));
  const peer = await called();
  const id = made.channelvars?.['MEDIA_WEBSOCKET_CONNECTION_ID'];
  assert.match(made.name, /^WebSocket\/ai\/0x[0-9a-f]{12}$/);
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

test('marks are told with what was heard; a flush leaves out what waits; a queue is full and drains', async (server, called) => {
  const app = await server.app('desk');
  await app.ok('POST', line('ulaw', `&transport_data=${encodeURIComponent('f(json)')}`));
  const peer = await called();
  await app.waitFor('StasisStart');
  const told = (event: string) =>
    peer.texts.map((text) => JSON.parse(text) as Record<string, unknown>).filter((each) => each['event'] === event);
  const ask = (command: string, more: object = {}) => peer.socket.send(JSON.stringify({ command, ...more }));
  await peer.until(() => told('MEDIA_START').length === 1, 'MEDIA_START');
  peer.socket.send(Buffer.alloc(160 * 10, 0x10));
  ask('MARK_MEDIA', { correlation_id: 'heard' });
  await peer.until(() => told('MEDIA_MARK_PROCESSED').length === 1, 'the mark');
  assert.equal(told('MEDIA_MARK_PROCESSED'), [
    { event: 'MEDIA_MARK_PROCESSED', correlation_id: 'heard', heard_ms: 200 },
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
      queue_length: 1000,
      xon_level: 800,
      xoff_level: 900,
      queue_full: true,
      bulk_media: false,
      media_paused: true,
      heard_ms: 200,
      dropped_ms: 200,
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
    { event: 'MEDIA_BUFFERING_COMPLETED', correlation_id: 'all', heard_ms: 325 },
  ]);
  assert.is(told('MEDIA_MARK_PROCESSED').length, 1);
  for (const nonsense of ['no JSON', '[]', '{"command":1}', '{"command":"DANCE"}', 'x'.repeat(5000)])
    peer.socket.send(nonsense);
  await peer.until(() => told('ERROR').length === 5, 'five errors');
  await app.ok('POST', '/channels/ai/dtmf?dtmf=7');
  await peer.until(() => told('DTMF_END').length === 1, 'the digit');
  await app.ok('DELETE', '/channels/ai');
});

test('with n a channel is Up when the server answers', async (server, called) => {
  const app = await server.app('desk');
  await app.ok('POST', `/channels?endpoint=${encodeURIComponent('WebSocket/ai/c(ulaw)n')}&app=desk&channelId=ai`);
  const peer = await called();
  await peer.until(() => peer.texts.length === 1, 'MEDIA_START');
  peer.socket.send('GET_STATUS');
  await peer.until(() => peer.texts.length === 2, 'the status');
  assert.is((await app.ok<Channel>('GET', '/channels/ai')).state, 'Down');
  peer.socket.send('ANSWER');
  assert.is((await app.waitFor('StasisStart')).channel.state, 'Up');
  peer.socket.close();
  assert.is((await app.waitFor('ChannelDestroyed')).cause, 41);
});

calls.run();
