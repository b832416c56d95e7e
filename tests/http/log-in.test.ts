import { scryptSync } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createAuthenticator } from '../../src/http/auth.ts';
import { createLogger } from '../../src/lib/log.ts';
import { type Bans, createBans } from '../../src/stores/bans.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { authorization, basic, options } from './fakes.ts';
import { connect, refusalOf, startTestServer } from './sockets.ts';

/** What becomes of those who give wrong passwords, over real sockets. */

const salt = Buffer.from('0123456789abcdef', 'hex');
const hashOf = (password: string) =>
  `scrypt$1024$8$1$${salt.toString('hex')}$${scryptSync(password, salt, 32, { cost: 1024 }).toString('hex')}`;
const users = [...options.users, { name: 'hashed', password_hash: hashOf('right'), read_only: false }];

type World = { clock: ManualClock; bans: Bans; server: Awaited<ReturnType<typeof startTestServer>>; sockets: Socket[] };
const logIn = suite<World>('wrong log-ins');

logIn.before.each(async (world) => {
  world.clock = new ManualClock();
  const settings = {
    ...{ windowMs: 300_000, slowAfter: 3, longestDelayMs: 4_000, ignoreAfter: 5, ignoreForMs: 900_000 },
    ...{ exempt: [], sources: 100 },
  };
  world.bans = createBans({ settings, clock: world.clock, log: createLogger({ level: 'silent' }) });
  world.server = await startTestServer({ users }, { clock: world.clock, owners: { bans: world.bans } });
  world.sockets = [];
});
logIn.after.each(async ({ server, sockets, bans }) => {
  for (const socket of sockets) socket.destroy();
  bans.close();
  await server.server.close(100);
});

function dial({ server, sockets }: World): Socket {
  const [host, port] = server.base.split(':');
  const tcp = connectTcp(Number(port), host);
  tcp.on('error', () => undefined);
  sockets.push(tcp);
  return tcp;
}
const ask = (tcp: Socket, credentials: string): void => {
  tcp.write(`GET /ari/asterisk/ping HTTP/1.1\r\nHost: x\r\nAuthorization: ${credentials}\r\n\r\n`);
};
const answerTo = async (world: World, credentials: string): Promise<string> => {
  const tcp = dial(world);
  ask(tcp, credentials);
  const [answer] = await Promise.race([once(tcp, 'data'), once(tcp, 'close').then(() => [''])]);
  tcp.destroy();
  return String(answer).slice(9, 12);
};
const immediate = () => new Promise((resolve) => setImmediate(resolve));
/** Waits until so many wrong log-ins count. */
const counted = async ({ bans }: World, attempts: number): Promise<void> => {
  while (bans.list()[0]?.attempts !== attempts) await immediate();
};

logIn('are counted by address and user, however the credentials come', async (world) => {
  assert.is(await answerTo(world, basic('writer:no')), '401');
  const key = await fetch(`http://${world.server.base}/ari/asterisk/ping?api_key=hashed:wrong`);
  assert.is(key.status, 401);
  const [ban] = world.bans.list();
  assert.equal([ban?.address, ban?.attempts, ban?.users, ban?.doors], ['127.0.0.1', 2, ['writer', 'hashed'], ['http']]);
});

logIn('right credentials and none at all do not count', async (world) => {
  assert.is(await answerTo(world, authorization), '200');
  assert.is(await answerTo(world, basic('hashed:right')), '200');
  assert.is((await fetch(`http://${world.server.base}/ari/asterisk/ping`)).status, 401);
  assert.equal(world.bans.list(), []);
});

logIn('many of them are answered late, right ones from the same address at once', async (world) => {
  await answerTo(world, basic('writer:no'));
  await answerTo(world, basic('writer:no'));
  const slow = dial(world);
  ask(slow, basic('writer:no'));
  await counted(world, 3);
  let answered = false;
  slow.once('data', () => {
    answered = true;
  });
  assert.is(await answerTo(world, basic('hashed:right')), '200');
  assert.not(answered);
  const answer = once(slow, 'data');
  world.clock.advance(250);
  assert.match(String((await answer)[0]), /^HTTP\/1\.1 401 /);
});

logIn('a client that leaves before its late answer leaves nothing behind', async (world) => {
  await answerTo(world, basic('writer:no'));
  await answerTo(world, basic('writer:no'));
  const before = world.clock.pending;
  const slow = dial(world);
  ask(slow, basic('writer:no'));
  await counted(world, 3);
  while (world.clock.pending === before) await immediate();
  slow.destroy();
  while (world.clock.pending !== before) await immediate();
});

logIn('too many of them: the address is not answered, but those verified before are', async (world) => {
  assert.is(await answerTo(world, authorization), '200');
  for (let attempts = 1; attempts <= 5; attempts++) {
    const tcp = dial(world);
    ask(tcp, basic('writer:no'));
    await counted(world, attempts);
    world.clock.advance(4_000);
    await Promise.race([once(tcp, 'data'), once(tcp, 'close')]);
  }
  assert.ok(world.bans.list()[0]?.ignored_until);
  assert.is(await answerTo(world, basic('reader:look:only')), '');
  assert.is(await answerTo(world, authorization), '200');
  assert.is(world.bans.list()[0]?.attempts, 5);
  const lifted = await fetch(`http://${world.server.base}/hookswitch/bans/127.0.0.1`, {
    method: 'DELETE',
    headers: { authorization },
  });
  assert.is(lifted.status, 204);
  assert.is(await answerTo(world, basic('reader:look:only')), '200');
  const again = await fetch(`http://${world.server.base}/hookswitch/bans/127.0.0.1`, {
    method: 'DELETE',
    headers: { authorization },
  });
  assert.is(again.status, 404);
});

logIn('an upgrade counts like any request, and an open WebSocket goes on', async (world) => {
  const told = world.server.connected();
  const client = connect(world.server.base, 'app=hello&api_key=writer:secret');
  await told;
  await client.opened;
  assert.is((await refusalOf(world.server.base, 'app=hello&api_key=writer:no')).status, 401);
  assert.is(world.bans.list()[0]?.attempts, 1);
  for (let attempt = 0; attempt < 4; attempt++) world.bans.failed('127.0.0.1', 'x', 'http');
  client.ws.send(JSON.stringify({ type: 'RESTRequest', method: 'GET', uri: 'asterisk/ping' }));
  assert.is((await client.next())['status_code'], 200);
  client.ws.close();
});

logIn('what many requests bring at once is checked once, and then never again', async () => {
  const checked: string[] = [];
  const authenticator = createAuthenticator(users, {
    size: 0,
    check: ({ address, run }) => {
      checked.push(address);
      return run();
    },
  });
  const client = (address: string) => ({ address, gone: () => false });
  const verify = (address: string, password = 'right') =>
    authenticator.verify({ name: 'hashed', password }, `hashed:${password}`, client(address));
  const found = await Promise.all([verify('a'), verify('a'), verify('b'), verify('a', 'wrong')]);
  assert.equal(
    found.map((user) => user?.name),
    ['hashed', 'hashed', 'hashed', undefined],
  );
  // One from each address: what one address sends must not hang on another's turn.
  assert.equal(checked, ['a', 'b', 'a']);
  assert.is(authenticator.recall('hashed:right')?.name, 'hashed');
});

logIn.run();
