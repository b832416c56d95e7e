import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { propagation, trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type WebSocket, WebSocketServer } from 'ws';
import { freePort } from '../support/free-port.ts';
import { onServer, user } from '../support/server.ts';

type Message = Record<string, unknown> & { type: string; application: string };

/** One WebSocket that the server has opened to the program. */
class Line {
  readonly socket: WebSocket;
  readonly heard: Message[] = [];
  readonly closed: Promise<[number, string]>;
  readonly #waiting = new Set<() => void>();

  /** Where in a trace the server said to be. */
  readonly traceparent: string | undefined;

  constructor(socket: WebSocket, { headers }: IncomingMessage) {
    this.socket = socket;
    this.traceparent = headers['traceparent'] as string | undefined;
    this.closed = once(socket, 'close').then(([code, reason]) => [code, String(reason)]);
    socket.on('message', (data) => {
      this.heard.push(JSON.parse(String(data)) as Message);
      for (const check of [...this.#waiting]) check();
    });
  }

  /** The first message of a type, heard or still to come. */
  message(type: string): Promise<Message> {
    return this.#first((message) => message.type === type);
  }

  /** Asks over the socket; the status of the answer. */
  async ask(method: string, uri: string, more: object = {}): Promise<unknown> {
    const request_id = `${method} ${uri}`;
    this.socket.send(JSON.stringify({ type: 'RESTRequest', request_id, method, uri, ...more }));
    const answer = await this.#first((message) => message['request_id'] === request_id);
    return answer['status_code'];
  }

  #first(wanted: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve) => {
      const check = () => {
        const found = this.heard.find(wanted);
        if (!found) return;
        this.#waiting.delete(check);
        resolve(found);
      };
      this.#waiting.add(check);
      check();
    });
  }
}

/** A program that the server connects to. */
async function startProgram() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const lines: Line[] = [];
  const waiting: ((line: Line) => void)[] = [];
  server.on('connection', (socket, request) => {
    const line = new Line(socket, request);
    const next = waiting.shift();
    if (next) next(line);
    else lines.push(line);
  });
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/calls`,
    /** The next connection. */
    line: (): Promise<Line> => {
      const line = lines.shift();
      return line ? Promise.resolve(line) : new Promise((resolve) => waiting.push(resolve));
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

const quick = { connection_timeout: 60, reconnect_interval: 0.01, local_user: user };

const outbound = suite('applications that the server connects to');

outbound('a persistent connection has its events while it is there, and later what it missed', async () => {
  const program = await startProgram();
  const applications = { desk: { url: program.url, apps: ['desk'], ...quick } };
  let last: Line | undefined;
  await onServer({ applications }, async (server) => {
    const first = await program.line();
    await first.message('ApplicationRegistered');
    first.socket.terminate();
    const client = server.client();
    await client.ok('POST', '/events/user/missed?application=desk');

    const second = await program.line();
    assert.is((await second.message('ChannelUserevent'))['eventname'], 'missed');
    assert.is(second.heard[0]?.type, 'ApplicationRegistered');
    assert.is(await second.ask('POST', 'channels/c1?endpoint=Local/echo@default&app=desk'), 200);
    await second.message('StasisStart');
    assert.is(await second.ask('DELETE', 'channels/c1'), 204);
    await second.message('StasisEnd');
    last = second;
  });
  await last?.message('ApplicationUnregistered');
  assert.equal(await last?.closed, [1001, 'the server is shutting down']);
  await program.close();
});

const dialplan = {
  default: {
    echo: ['Answer', 'Echo'],
    vip: ['Stasis(vip,gold)', 'Set(AFTER=${STASISSTATUS})', 'Hangup'],
  },
};

outbound('a call has a connection of its own, which closes 3 s after it has left', async () => {
  const program = await startProgram();
  const applications = { vip: { url: program.url, apps: ['vip'], type: 'per_call', ...quick } };
  await onServer({ applications, dialplan }, async (server) => {
    const client = await server.app('watcher', { subscribeAll: true });
    await client.ok('POST', '/channels/caller?endpoint=Local/vip@default&extension=echo&context=default');
    const line = await program.line();
    const start = await line.message('StasisStart');
    const channel = start['channel'] as { id: string; name: string };
    assert.equal([start.application, start['args']], [`vip:${channel.name}`, ['gold']]);
    assert.is(await line.ask('POST', `channels/${encodeURIComponent(channel.id)}/answer`), 204);
    assert.is(await line.ask('POST', `channels/${encodeURIComponent(channel.id)}/continue`), 204);
    await line.message('StasisEnd');
    const after = await client.waitFor('ChannelVarset', ({ variable }) => variable === 'AFTER');
    assert.is(after.value, 'SUCCESS');
    assert.is(line.socket.readyState, line.socket.OPEN);
    server.clock.skip(3_000);
    assert.equal(await line.closed, [1000, 'the call has left']);
    assert.equal(
      (await client.ok<{ name: string }[]>('GET', '/applications')).map(({ name }) => name),
      ['watcher'],
    );
  });
  await program.close();
});

outbound('the connection of a call goes on in its trace, and so may the program', async () => {
  const provider = new NodeTracerProvider();
  provider.register();
  const program = await startProgram();
  const applications = { vip: { url: program.url, apps: ['vip'], type: 'per_call', ...quick } };
  try {
    await onServer({ applications, dialplan }, async (server) => {
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
      const made = await fetch(`${server.url}/channels?endpoint=Local/vip@default&extension=echo&context=default`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('tester:secret')}`, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
      });
      assert.is(made.status, 200);
      const line = await program.line();
      assert.match(line.traceparent ?? '', new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
      const { channel } = await line.message('StasisStart');
      await line.ask('DELETE', `channels/${(channel as { id: string }).id}`);
      server.clock.skip(3_000);
      await line.closed;
    });
  } finally {
    trace.disable();
    propagation.disable();
    await program.close();
    await provider.shutdown();
  }
});

outbound('each message of a persistent connection says where in a trace it is, in both directions', async () => {
  const provider = new NodeTracerProvider();
  provider.register();
  const program = await startProgram();
  const applications = { desk: { url: program.url, apps: ['desk'], ...quick } };
  try {
    await onServer({ applications, dialplan }, async () => {
      const line = await program.line();
      const mine = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'shop=1' };
      const uri = 'channels/c1?endpoint=Local/echo@default&app=desk';
      assert.is(await line.ask('POST', uri, mine), 200);
      const started = await line.message('StasisStart');
      // What follows from the request is in its trace, and brings what others have added.
      assert.match(String(started['traceparent']), /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/);
      assert.is(started['tracestate'], 'shop=1');
      // What is no place in a trace begins one of its own.
      assert.is(await line.ask('DELETE', 'channels/c1', { traceparent: 'no trace', tracestate: 7 }), 204);
      const gone = await line.message('StasisEnd');
      assert.match(
        `${String(gone['traceparent'])} ${String(gone['tracestate'])}`,
        /^00-[0-9a-f]{32}-[0-9a-f]{16}-01 und/,
      );
      assert.not.match(String(gone['traceparent']), /4bf92f3577b34da6a3ce929d0e0e4736/);
    });
  } finally {
    trace.disable();
    propagation.disable();
    await program.close();
    await provider.shutdown();
  }
});

outbound('a call whose program is not there goes on with STASISSTATUS=FAILED', async () => {
  const url = `ws://127.0.0.1:${await freePort()}/calls`;
  const applications = {
    vip: { url, apps: ['vip'], type: 'per_call', ...quick, reconnect_attempts: 2 },
  };
  await onServer({ applications, dialplan }, async (server) => {
    const client = await server.app('watcher', { subscribeAll: true });
    await client.ok('POST', '/channels/caller?endpoint=Local/vip@default&extension=echo&context=default');
    const after = await client.waitFor('ChannelVarset', ({ variable }) => variable === 'AFTER');
    assert.is(after.value, 'FAILED');
  });
});

outbound.run();
