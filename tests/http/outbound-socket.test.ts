import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type WebSocket, WebSocketServer } from 'ws';
import type { OutboundTarget } from '../../src/actors/outbound-connection-entry.ts';
import { createOutboundSockets, type OutboundSockets } from '../../src/http/outbound-socket.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import { openTokens } from '../../src/stores/tokens.ts';
import { Authority, tlsKeys } from '../support/certificates.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { createFakes, createTestApp, options } from './fakes.ts';

/** A program that waits for our WebSocket. */
type Program = { server: WebSocketServer; url: string; accepted: Promise<[WebSocket, IncomingMessage]> };

const authority = new Authority();

async function startProgram(): Promise<Program> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[WebSocket, IncomingMessage]>;
  return { server, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/app`, accepted };
}

const to = (url: string, changes: Partial<OutboundTarget> = {}): OutboundTarget => ({
  url,
  protocols: ['ari'],
  username: '',
  password: '',
  localUser: 'writer',
  ...changes,
});

/** Reports of one socket, in order; `next` resolves with the next one. */
function listen() {
  const reports: string[] = [];
  const waiting: ((report: string) => void)[] = [];
  let send: (json: string) => void = () => {};
  const tell = (report: string) => {
    const next = waiting.shift();
    if (next) next(report);
    else reports.push(report);
  };
  return {
    told: {
      opened: (sender: (json: string) => void) => {
        send = sender;
        tell('opened');
      },
      failed: (reason: string) => tell(`failed: ${reason}`),
      closed: () => tell('closed'),
    },
    send: (json: string) => send(json),
    next: () => {
      const report = reports.shift();
      return report === undefined ? new Promise<string>((resolve) => waiting.push(resolve)) : Promise.resolve(report);
    },
  };
}

const nextMessage = async (socket: WebSocket) => JSON.parse(String((await once(socket, 'message'))[0]));

type World = { sockets: OutboundSockets; program: Program; calls: unknown[][] };
const dialing = suite<World>('WebSockets to applications');

dialing.before.each(async (world) => {
  const fakes = createFakes();
  const { app, unread } = createTestApp(fakes.owners);
  world.calls = fakes.calls;
  world.sockets = createOutboundSockets({
    owners: fakes.owners,
    options,
    entityId: '02:00:00:00:00:01',
    page: { version: '1.2.3', files: undefined },
    secret: () => 'secret',
    clock: systemClock,
    log: createLogger({ level: 'silent' }),
    app,
    unread,
    tls: tlsKeys({ believes: [authority] }),
  });
  world.program = await startProgram();
});
dialing.after.each(async ({ sockets, program }) => {
  await sockets.close(100);
  for (const client of program.server.clients) client.terminate();
  await new Promise((resolve) => program.server.close(resolve));
});

dialing('a server that picks none of the sub-protocols is taken all the same', async ({ sockets }) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => false });
  await once(server, 'listening');
  const reports = listen();
  const accepted = once(server, 'connection');
  sockets.open(to(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/app`), ['hello'], reports.told);
  const [socket] = (await accepted) as [WebSocket];
  assert.is(await reports.next(), 'opened');
  const message = nextMessage(socket);
  reports.send('{"type":"One"}');
  assert.equal(await message, { type: 'One' });
  socket.close();
  assert.is(await reports.next(), 'closed');
  await new Promise((resolve) => server.close(resolve));
});

dialing('connects with its sub-protocols and credentials, and carries events', async ({ sockets, program }) => {
  const reports = listen();
  sockets.open(to(program.url, { username: 'pbx', password: 'p:w' }), ['hello'], reports.told);
  const [socket, request] = await program.accepted;
  assert.is(await reports.next(), 'opened');
  assert.equal([request.url, socket.protocol], ['/app', 'ari']);
  assert.is(request.headers.authorization, `Basic ${Buffer.from('pbx:p:w').toString('base64')}`);
  const message = nextMessage(socket);
  reports.send('{"type":"One"}');
  assert.equal(await message, { type: 'One' });
  socket.close();
  assert.is(await reports.next(), 'closed');
});

dialing('tells nothing of itself without a user name', async ({ sockets, program }) => {
  sockets.open(to(program.url, { protocols: [] }), ['hello'], listen().told);
  const [socket, request] = await program.accepted;
  assert.equal([request.headers.authorization, socket.protocol], [undefined, '']);
});

const ask = (socket: WebSocket, request: object) => {
  const answer = nextMessage(socket);
  socket.send(JSON.stringify({ type: 'RESTRequest', request_id: 'r', ...request }));
  return answer;
};

dialing('carries requests with the rights of the local user', async ({ sockets, program, calls }) => {
  sockets.open(to(program.url), ['hello', 'other'], listen().told);
  const [socket] = await program.accepted;
  const answered = await ask(socket, { method: 'POST', uri: 'channels/c1/answer' });
  assert.equal([answered.type, answered.status_code, answered.application], ['RESTResponse', 204, 'hello']);
  assert.equal(calls, [['channels.answer', 'c1']]);
});

dialing('a local user who may only look is refused what changes something', async ({ sockets, program, calls }) => {
  sockets.open(to(program.url, { localUser: 'reader' }), ['hello'], listen().told);
  const [socket] = await program.accepted;
  const refused = await ask(socket, { method: 'POST', uri: 'channels/c1/answer' });
  assert.equal([refused.status_code, refused.message_body], [403, '{"message":"Write access denied"}']);
  assert.is((await ask(socket, { method: 'GET', uri: 'channels/c1' })).status_code, 200);
  // Credentials in the request itself change nothing.
  const other = { method: 'POST', uri: 'channels/c1/answer?api_key=writer:secret' };
  assert.is((await ask(socket, other)).status_code, 403);
  assert.equal(calls, [['channels.get', 'c1']]);
});

dialing('a local user who does not exist has no connection', async ({ sockets, program }) => {
  const reports = listen();
  sockets.open(to(program.url, { localUser: 'nobody' }), ['hello'], reports.told);
  assert.is(await reports.next(), 'failed: there is no user nobody');
});

dialing('tells a token as Bearer, in place of a user name', async ({ sockets, program }) => {
  sockets.open(to(program.url, { token: 'abc.def' }), ['hello'], listen().told);
  const [, request] = await program.accepted;
  assert.is(request.headers.authorization, 'Bearer abc.def');
});

/** Sockets whose programs have the rights of tokens. */
function withTokens(fakes = createFakes()) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-outbound-'));
  const clock = new ManualClock();
  const log = createLogger({ level: 'silent' });
  const settings = { most: 10 };
  let made = 0;
  const secret = (length: number) => `${++made}`.padStart(length, 'x');
  const tokens = openTokens({ directory, clock, log, settings, secret });
  const { app, unread } = createTestApp(fakes.owners, {}, clock, undefined, { tokens });
  const current = { ...options, users: [...options.users] };
  const sockets = createOutboundSockets({
    ...{ owners: fakes.owners, options: current, entityId: '02:00:00:00:00:01', tokens, clock, log, app, unread },
    page: { version: '1.2.3', files: undefined },
    secret: () => 'secret',
    tls: tlsKeys({ believes: [authority] }),
  });
  const make = async (name: string, user: string, operations: string[]) =>
    (
      await tokens.make({
        ...{ name, user, scopes: [{ operations, applications: ['hello'] }], read_only: false },
        ...{ made_by: user, expires: clock.now() + 60_000 },
      })
    ).secret;
  const close = async () => {
    await sockets.close(100);
    await tokens.close();
    rmSync(directory, { recursive: true });
  };
  return { sockets, tokens, clock, calls: fakes.calls, current, make, close };
}

dialing('a program has the rights of its token alone, until that is revoked', async ({ program }) => {
  const { sockets, tokens, calls, make, close } = withTokens();
  const localToken = await make('looks', 'writer', ['channels:get']);
  const reports = listen();
  sockets.open(to(program.url, { localToken }), ['hello'], reports.told);
  const [socket] = await program.accepted;
  assert.is(await reports.next(), 'opened');
  const refused = await ask(socket, { method: 'POST', uri: 'channels/c1/answer' });
  assert.equal(
    [refused.status_code, JSON.parse(refused.message_body).message],
    [403, "The scope of user 'writer' does not cover the operation channels:answer"],
  );
  assert.is((await ask(socket, { method: 'GET', uri: 'channels/c1' })).status_code, 200);
  assert.equal(calls, [['channels.get', 'c1']]);
  assert.is(sockets.narrowOf({ localUser: 'writer', localToken })?.by, JSON.stringify(['writer', 'looks']));
  const ended = once(socket, 'close');
  await tokens.revoke('looks');
  const [code, reason] = await ended;
  assert.equal([code, String(reason)], [1008, 'the credentials are no longer valid']);
  assert.is(await reports.next(), 'closed');
  const again = listen();
  sockets.open(to(program.url, { localToken }), ['hello'], again.told);
  assert.is(await again.next(), 'failed: its local_token is not good, or not of writer');
  assert.is(sockets.narrowOf({ localUser: 'writer', localToken })?.by, 'nobody');
  await close();
});

dialing('a program loses its socket when its token expires, or its user becomes another', async ({ program }) => {
  const { sockets, clock, current, make, close } = withTokens();
  const localToken = await make('a while', 'writer', ['*']);
  sockets.open(to(program.url, { localToken }), ['hello'], listen().told);
  const [socket] = await program.accepted;
  assert.is((await ask(socket, { method: 'GET', uri: 'channels/c1' })).status_code, 200);
  const ended = once(socket, 'close');
  clock.advance(60_000);
  assert.is((await ended)[0], 1008);

  const plain = once(program.server, 'connection') as Promise<[WebSocket, IncomingMessage]>;
  sockets.open(to(program.url), ['hello'], listen().told);
  const [other] = await plain;
  assert.is((await ask(other, { method: 'GET', uri: 'channels/c1' })).status_code, 200);
  sockets.review();
  assert.is((await ask(other, { method: 'GET', uri: 'channels/c1' })).status_code, 200);
  const over = once(other, 'close');
  current.users = current.users.map((user) => (user.name === 'writer' ? { ...user, read_only: true } : user));
  sockets.review();
  assert.is((await over)[0], 1008);
  await close();
});

dialing('a token of somebody else, and one that does not cover the application, open nothing', async ({ program }) => {
  const { sockets, make, close } = withTokens();
  const readers = await make('of the reader', 'reader', ['*']);
  const writers = await make('of the writer', 'writer', ['*']);
  const failed = async (localToken: string, names: string[]) => {
    const reports = listen();
    sockets.open(to(program.url, { localToken }), names, reports.told);
    return reports.next();
  };
  assert.is(await failed(readers, ['hello']), 'failed: its local_token is not good, or not of writer');
  assert.is(await failed('hst_nothing', ['hello']), 'failed: its local_token is not good, or not of writer');
  assert.is(await failed(writers, ['other']), 'failed: the scope of writer does not cover other');
  await close();
});

dialing(
  'nobody there, a refusal, and a URL that cannot be are failures, told after the return',
  async ({ sockets }) => {
    const closed = await startProgram();
    await new Promise((resolve) => closed.server.close(resolve));
    const nobody = listen();
    sockets.open(to(closed.url), ['hello'], nobody.told);
    assert.match(await nobody.next(), /^failed: .*ECONNREFUSED/);

    const refusing = createServer((_request, response) => void response.writeHead(401).end()).listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const refused = listen();
    sockets.open(to(`ws://127.0.0.1:${(refusing.address() as AddressInfo).port}/`), ['hello'], refused.told);
    assert.is(await refused.next(), 'failed: Unexpected server response: 401');
    refusing.closeAllConnections();
    refusing.close();

    const impossible = listen();
    sockets.open(to('ws://127.0.0.1:1/', { protocols: ['a b'] }), ['hello'], impossible.told);
    assert.match(await impossible.next(), /^failed: .*subprotocol/);
  },
);

dialing('over wss a program is believed only with a certificate of a known authority', async ({ sockets }) => {
  const outcomes = [];
  for (const signer of [authority, new Authority('nobody knows it')]) {
    const { certificate: cert, key } = signer.sign('127.0.0.1');
    const secure = createHttpsServer({ cert, key }).listen(0, '127.0.0.1');
    const accepting = new WebSocketServer({ server: secure });
    accepting.on('connection', (socket) => socket.close());
    await once(secure, 'listening');
    const reports = listen();
    sockets.open(to(`wss://127.0.0.1:${(secure.address() as AddressInfo).port}/`), ['hello'], reports.told);
    outcomes.push(await reports.next());
    secure.closeAllConnections();
    secure.close();
  }
  assert.equal(outcomes, ['opened', 'failed: unable to verify the first certificate']);
});

dialing('an attempt that is given up ends, whatever the other side does', async ({ sockets }) => {
  const silent = createServer(() => undefined);
  silent.on('upgrade', () => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const reports = listen();
  const socket = sockets.open(to(`ws://127.0.0.1:${(silent.address() as AddressInfo).port}/`), ['hello'], reports.told);
  await once(silent, 'upgrade');
  socket.close(1000, 'too late');
  assert.match(await reports.next(), /^failed: /);
  silent.closeAllConnections();
  silent.close();
});

dialing('closing says why, and cuts a program that does not take part in it', async ({ sockets, program }) => {
  const reports = listen();
  sockets.open(to(program.url), ['hello'], reports.told);
  const [socket] = await program.accepted;
  await reports.next();
  const farewell = once(socket, 'close');
  await sockets.close(1_000);
  assert.is(await reports.next(), 'closed');
  const [code, reason] = await farewell;
  assert.equal([code, String(reason)], [1001, 'the server is shutting down']);

  const deaf = await startProgram();
  sockets.open(to(deaf.url), ['hello'], reports.told);
  const [stuck] = await deaf.accepted;
  await reports.next();
  stuck.pause();
  await sockets.close(10);
  assert.is(await reports.next(), 'closed');
  stuck.terminate();
  await new Promise((resolve) => deaf.server.close(resolve));
});

dialing.run();
