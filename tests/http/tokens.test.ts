import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Deps } from '../../src/http/deps.ts';
import type { HttpOptions } from '../../src/http/env.ts';
import { createLogger } from '../../src/lib/log.ts';
import type { NewToken } from '../../src/models/token.ts';
import { openTokens } from '../../src/stores/tokens.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { basic, createFakes, createTestApp, options } from './fakes.ts';

/** Tokens in place of passwords, over a store on the disk. */

type World = ReturnType<typeof createWorld>;
type Context = { world: World; directory: string };
const tokens = suite<Context>('tokens');

const users: HttpOptions['users'] = [
  ...options.users,
  { name: 'desk', password: 'secret', read_only: false, scope: { operations: ['channels', 'tokens', 'applications'] } },
];

function createWorld(directory: string, clock = new ManualClock()) {
  let made = 0;
  const settings = { most: 3, longest_lifetime: 86_400 };
  const log = createLogger({ level: 'silent' });
  const secret = (length: number) => `${++made}`.padStart(length, 'x');
  const store = openTokens({ directory, clock, log, settings, secret });
  // Every channel is there, in an application that all users may have.
  const objectOwnership: Deps['objectOwnership'] = {
    callOf: () => undefined,
    applicationOf: () => 'desk',
    membersOf: () => undefined,
    creatorOf: () => undefined,
    channelsOf: () => 0,
    ranDialplan: () => true,
    by: (_creator, run) => run(),
  };
  const owners = { ...createFakes().owners, objectOwnership, sessions: undefined, tokens: undefined, bans: undefined };
  const app = createTestApp(owners, { users, tokens: settings }, clock, undefined, { tokens: store });
  const ask = async (request: string, credentials: string, body?: object) => {
    const authorization = credentials.startsWith('Bearer') ? credentials : basic(credentials);
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await app.ask(request, { headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, answer: text === '' ? undefined : JSON.parse(text) };
  };
  const make = async (body: object, credentials = 'writer:secret') => {
    const { status, answer } = await ask('POST /hookswitch/tokens', credentials, body);
    assert.is(status, 200, JSON.stringify(answer));
    return answer as NewToken;
  };
  const refused = async (body: object, credentials = 'writer:secret') => {
    const { status, answer } = await ask('POST /hookswitch/tokens', credentials, body);
    return [status, answer.message];
  };
  const may = async (request: string, credentials: string) => (await ask(request, credentials)).status;
  return { app, store, ask, make, refused, may, clock };
}

tokens.before.each((context) => {
  context.directory = mkdtempSync(join(tmpdir(), 'hookswitch-tokens-'));
  context.world = createWorld(context.directory);
});
tokens.after.each(async ({ world, directory }) => {
  await world.store.close();
  rmSync(directory, { recursive: true });
});

const list = 'GET /ari/channels';

tokens('one works wherever a password does, until it expires', async ({ world: { app, make, may, clock } }) => {
  const { token, ...model } = await make({ name: 'ci', expires_in: 60 });
  assert.equal(model, {
    ...{ name: 'ci', user: 'writer', scopes: [], read_only: false, made_by: 'writer' },
    ...{ created: model.created, expires: model.expires },
  });
  const tried = async () => [
    await may(list, `writer:${token}`),
    await may(list, `Bearer ${token}`),
    (await app.ask(`${list}?api_key=writer:${token}`, { headers: {} })).status,
    await may(list, `reader:${token}`),
  ];
  assert.equal(await tried(), [200, 200, 200, 401]);
  clock.advance(59_999);
  assert.equal(await tried(), [200, 200, 200, 401]);
  clock.advance(1);
  assert.equal(await tried(), [401, 401, 401, 401]);
});

tokens('what it is limited to holds besides what its user is limited to', async ({ world: { make, may, ask } }) => {
  const { token } = await make({ name: 'narrow', operations: ['channels:read', 'endpoints'] }, 'desk:secret');
  assert.equal(
    [
      await may(list, `desk:${token}`),
      await may('DELETE /ari/channels/c1', `desk:${token}`),
      await may('GET /ari/endpoints', `desk:${token}`),
      await may('DELETE /ari/channels/c1', 'desk:secret'),
    ],
    [200, 403, 403, 204],
  );
  const { answer } = await ask('GET /hookswitch/access', `desk:${token}`);
  assert.equal([answer.user, answer.token, answer.scopes.length], ['desk', 'narrow', 2]);
  assert.equal(
    answer.operations.filter((name: string) => !/^(sessions|tokens):/.test(name)),
    ['channels:list', 'channels:get', 'channels:rtpstatistics', 'channels:getChannelVar', 'channels:getChannelVars'],
  );
});

tokens('a token for looking changes nothing', async ({ world: { make, may } }) => {
  const { token } = await make({ name: 'look', read_only: true });
  assert.equal(
    [await may(list, `Bearer ${token}`), await may('DELETE /ari/channels/c1', `Bearer ${token}`)],
    [200, 403],
  );
});

tokens('one that is revoked is good for nothing, nor is a log-in of a page made with it', async ({ world }) => {
  const { make, may, ask } = world;
  const { token } = await make({ name: 'gone' });
  const { answer: session } = await ask('POST /hookswitch/sessions', `writer:${token}`);
  assert.is(await may(list, `Bearer ${session.token}`), 200);
  assert.is((await ask('DELETE /hookswitch/tokens/gone', 'writer:secret')).status, 204);
  assert.equal([await may(list, `Bearer ${token}`), await may(list, `Bearer ${session.token}`)], [401, 401]);
  assert.is((await ask('DELETE /hookswitch/tokens/gone', 'writer:secret')).status, 404);
});

tokens('nobody makes one that may do more or lasts longer than itself', async ({ world }) => {
  const { make, refused, may, ask, clock } = world;
  const { token } = await make({ name: 'one', operations: ['channels:read', 'tokens'], expires_in: 60 }, 'desk:secret');
  const { token: child } = await make({ name: 'two', expires_in: 600 }, `Bearer ${token}`);
  assert.equal(
    [await may(list, `Bearer ${child}`), await may('DELETE /ari/channels/c1', `Bearer ${child}`)],
    [200, 403],
  );
  assert.equal(await refused({ name: 'x', user: 'writer' }, `Bearer ${token}`), [
    403,
    "The scope of user 'desk' does not cover tokens of 'writer'",
  ]);
  clock.advance(60_000);
  assert.is(await may(list, `Bearer ${child}`), 401);
  await make({ name: 'theirs' });
  assert.equal((await ask('GET /hookswitch/tokens', 'desk:secret')).answer, []);
  assert.is((await ask('DELETE /hookswitch/tokens/theirs', 'desk:secret')).status, 404);
});

tokens('what cannot be is refused, and there are no more than there may be', async ({ world: { make, refused } }) => {
  assert.equal(await refused({ name: 'a b' }), [
    400,
    "A token's name has 1 to 64 letters, digits, '.', '-', '_' or '@'",
  ]);
  assert.equal(await refused({ name: 'a', user: 'nobody' }), [400, "There is no user 'nobody'"]);
  assert.equal(await refused({ name: 'a', expires_in: 86_401 }), [400, 'A token is valid for 1 to 86400 seconds']);
  assert.equal(await refused({ name: 'a', operations: ['fly'] }), [
    400,
    'The scope is not valid: there is no such operation: "fly"',
  ]);
  for (const name of ['a', 'b', 'c']) await make({ name });
  assert.equal(await refused({ name: 'a' }), [
    409,
    "The name 'a' belongs to a token or to another user. Choose another name or revoke the token",
  ]);
  assert.equal(await refused({ name: 'd' }), [
    409,
    'The limit of 3 tokens is reached (http.tokens.most). Revoke one first',
  ]);
});

tokens('they outlive a restart, as digests in a file that nobody else reads', async ({ world, directory }) => {
  const { token } = await world.make({ name: 'kept', operations: ['channels'] });
  await world.store.close();
  const path = join(directory, 'tokens.json');
  assert.not(readFileSync(path, 'utf8').includes(token.slice(4)));
  assert.is(statSync(path).mode & 0o777, 0o600);
  const again = createWorld(directory, world.clock);
  assert.equal(
    [await again.may(list, `Bearer ${token}`), await again.may('GET /ari/bridges', `Bearer ${token}`)],
    [200, 403],
  );
  await again.store.close();
});

tokens('a user that is changed or gone takes its tokens along', async ({ world: { app, make, may } }) => {
  const { token } = await make({ name: 'ci' });
  app.reconfigure({ ...options, users: users.filter(({ name }) => name !== 'writer') });
  assert.is(await may(list, `Bearer ${token}`), 401);
});

tokens('a limit that is no list, or of another type, makes no token', async ({ world: { refused } }) => {
  for (const [body, expected] of [
    [{ operations: { '0': 'channels:read' } }, "Parameter 'operations' must be a list of strings"],
    [{ applications: 7 }, "Parameter 'applications' must be a list of strings"],
    [{ contexts: [1] }, "Parameter 'contexts' must be a list of strings"],
    [{ read_only: 'true' }, "Parameter 'read_only' must be true or false"],
    [{ expires_in: '60' }, "Parameter 'expires_in' must be a whole number"],
    [{ user: ['desk'] }, "Parameter 'user' must be a string"],
  ] as const)
    assert.equal(await refused({ name: 'wide', ...body }), [400, expected]);
});

tokens('no token has the name of another user, whose calls it would hear', async ({ world: { make, refused } }) => {
  const [status, message] = await refused({ name: 'reader' }, 'desk:secret');
  assert.is(status, 409);
  assert.match(message, /reader/);
  assert.is((await make({ name: 'desk' }, 'desk:secret')).name, 'desk');
});

tokens('a user who is added under the name of a token makes it invalid, and the log tells', async ({ world }) => {
  const { app, make, may } = world;
  const { token } = await make({ name: 'carol' });
  const own = await make({ name: 'writer' });
  assert.is(await may(list, `Bearer ${token}`), 200);
  app.reconfigure({ ...options, users: [...users, { name: 'carol', password: 'secret', read_only: false }] });
  assert.equal([await may(list, `Bearer ${token}`), await may(list, `Bearer ${own.token}`)], [401, 200]);
  assert.equal(
    app.logged.filter(({ token: named }) => named !== undefined).map(({ token: named, user }) => [named, user]),
    [['carol', 'writer']],
  );
  app.reconfigure({ ...options, users });
  assert.is(await may(list, `Bearer ${token}`), 200);
});

tokens.run();
