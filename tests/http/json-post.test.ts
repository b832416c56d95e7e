import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createJsonPost, type JsonPost, type JsonPostOptions } from '../../src/http/json-post.ts';
import { Authority } from '../support/certificates.ts';
import { ManualClock } from '../support/manual-clock.ts';

type World = { open: { close(): unknown }[]; clock: ManualClock };
const posting = suite<World>('posting JSON');

posting.before.each((world) => {
  world.open = [];
  world.clock = new ManualClock();
});
posting.after.each(({ open }) => {
  for (const each of open.toReversed()) each.close();
});

async function serve({ open }: World, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(
    {
      close: () =>
        'closeAllConnections' in server
          ? (server as never as { closeAllConnections(): void }).closeAllConnections()
          : 0,
    },
    server,
  );
  return (server.address() as AddressInfo).port;
}

function poster({ open, clock }: World, url: string, changes: Partial<JsonPostOptions> = {}): JsonPost {
  const tls = { client: { minVersion: 'TLSv1.2' as const } };
  const made = createJsonPost({ url, headers: { 'X-Key': 'secret' }, timeoutMs: 5_000, clock, tls, ...changes });
  open.push(made);
  return made;
}

const failure = (posted: Promise<number>): Promise<string> =>
  posted.then(
    (status) => `answered ${status}`,
    (error: Error) => error.message,
  );

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

posting('tells the status of each answer, over one connection', async (world) => {
  const heard: unknown[] = [];
  const ports = new Set<number | undefined>();
  const answer: RequestListener = async (request, response) => {
    ports.add(request.socket.remotePort);
    heard.push([request.method, request.url, request.headers['content-type'], request.headers['x-key']]);
    heard.push(await bodyOf(request));
    response.writeHead(heard.length === 2 ? 200 : 503).end('whatever it says');
  };
  const port = await serve(world, createServer(answer));
  const { post } = poster(world, `http://127.0.0.1:${port}/calls?a=b`);
  assert.equal([await post('{"records":["ä"]}'), await post('{}')], [200, 503]);
  const head = ['POST', '/calls?a=b', 'application/json', 'secret'];
  assert.equal(heard, [head, '{"records":["ä"]}', head, '{}']);
  assert.is(ports.size, 1);
  assert.is(world.clock.pending, 0);
});

posting('who does not answer in time, cuts it off, or is not there has a reason', async (world) => {
  let arrived = (): void => {};
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const silent = await serve(
    world,
    createServer(() => arrived()),
  );
  const waiting = failure(poster(world, `http://127.0.0.1:${silent}/`).post('{}'));
  await asked;
  world.clock.advance(5_000);
  assert.is(await waiting, 'it did not answer within 5 s');

  const cutting = await serve(
    world,
    createServer((request) => request.socket.destroy()),
  );
  assert.is(await failure(poster(world, `http://127.0.0.1:${cutting}/`).post('{}')), 'socket hang up');

  const server = createServer();
  const gone = await serve(world, server);
  await new Promise((resolve) => server.close(resolve));
  world.open.length -= 1;
  assert.match(await failure(poster(world, `http://127.0.0.1:${gone}/`).post('{}')), /ECONNREFUSED/);
});

posting('an answer without an end is cut off', async (world) => {
  let cut = (): void => {};
  const ended = new Promise<void>((resolve) => {
    cut = resolve;
  });
  const endless = (_request: IncomingMessage, response: ServerResponse) => {
    response.on('close', () => cut());
    response.writeHead(200).write('and');
  };
  const port = await serve(world, createServer(endless));
  assert.is(await poster(world, `http://127.0.0.1:${port}/`).post('{}'), 200);
  world.clock.advance(5_000);
  await ended;
});

posting('is given up when it is told to', async (world) => {
  const made: { poster?: JsonPost } = {};
  const port = await serve(
    world,
    createServer(() => made.poster?.abort()),
  );
  made.poster = poster(world, `http://127.0.0.1:${port}/`);
  assert.is(await failure(made.poster.post('{}')), 'the server stops');
});

posting('over https only who is who the URL says is told anything', async (world) => {
  const authority = new Authority();
  const { certificate: cert, key } = authority.sign('127.0.0.1');
  let heard = 0;
  const listener: RequestListener = (request, response) => {
    heard++;
    request.resume();
    response.writeHead(204).end();
  };
  const port = await serve(world, createSecureServer({ cert, key }, listener));
  const url = `https://127.0.0.1:${port}/`;
  assert.match(await failure(poster(world, url).post('{}')), /certificate/);
  assert.is(heard, 0);
  const client = { minVersion: 'TLSv1.2' as const, ca: [authority.own.certificate] };
  assert.is(await poster(world, url, { tls: { client } }).post('{}'), 204);
});

posting.run();
