import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { operationPatternProblem, readScope, type ScopeSettings } from '../../src/http/access/scope.ts';
import { visibilityOf } from '../../src/http/access/visibility.ts';
import type { Deps } from '../../src/http/deps.ts';
import type { Named, Operation, Param } from '../../src/http/operation.ts';
import { createRestOverWebSocket } from '../../src/http/rest-over-websocket.ts';
import { apis, operationNames } from '../../src/http/routes/index.ts';
import { holderOf } from '../../src/http/token-operations.ts';
import type { HttpUser } from '../../src/http/user.ts';
import { createLogger } from '../../src/lib/log.ts';
import type { AriEventBody } from '../../src/models/events.ts';
import type { KeptToken } from '../../src/models/token.ts';
import type { Tokens } from '../../src/stores/tokens.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { basic, call, createFakes, createTestApp, samples, type TestApp } from './fakes.ts';
import { startTestServer } from './sockets.ts';

/**
 * Who may do what, tried with every operation through every door. Which operations there are, what they are called and what
 * their parameters name comes from their declarations.
 */

const doors = [
  'REST',
  'REST with a token as password',
  'REST with a token as Bearer',
  'REST over WebSocket',
  'REST over WebSocket with a token',
  'WebSocket that we opened',
  'WebSocket that we opened with a token',
] as const;
type Door = (typeof doors)[number];

/** Things of ours and of others: `mine…` belongs to the application `desk`, `foreign…` to `other`. */
const fakes = createFakes();
const applicationOf = (id: string) => (id.startsWith('mine') ? 'desk' : id.startsWith('foreign') ? 'other' : undefined);
const made: unknown[] = [];
const playback = (id: string) => ({ ...samples.playback, id, target_uri: `channel:${id}` });
const owners: Deps = {
  ...fakes.owners,
  objectOwnership: {
    callOf: () => undefined,
    applicationOf,
    membersOf: (id) => (applicationOf(id) === undefined ? undefined : [id]),
    creatorOf: () => undefined,
    channelsOf: () => 0,
    ranDialplan: (id) => !id.endsWith('Made'),
    by(creator, run) {
      made.push(creator);
      return run();
    },
  },
  playbacks: Object.assign(Object.create(fakes.owners.playbacks as object), {
    get: playback,
    possible: () => samples.possible,
    stop: () => undefined,
    control: () => undefined,
    playOnChannel: () => samples.playback,
  }),
  recordings: {
    ...Object.fromEntries(
      ['cancel', 'stop', 'pause', 'unpause', 'mute', 'unmute'].map((name) => [name, () => undefined]),
    ),
    recordOnChannel: () => samples.recording,
    possible: () => samples.possible,
    get: (name: string) => ({ ...samples.recording, name, target_uri: `channel:${name}` }),
  } as unknown as Deps['recordings'],
  calls: Object.assign(Object.create(fakes.owners.calls as object), {
    ...{ list: () => ({ calls: [], total: 0, evicted: 0 }), get: () => call, stuck: () => [] },
    ...{ mermaid: () => 'm', pcap: () => Buffer.from('p'), bundle: () => ({}) },
    record: (id: string) => ({ applications: new Set([applicationOf(id) ?? 'other']) }),
  }),
};

/** Everybody who asks: users of one server. */
const users: HttpUser[] = [];
const scoped = (scope: ScopeSettings | undefined, more: Partial<HttpUser> = {}): HttpUser => {
  const user = { name: `user${users.length}`, password: 'secret', read_only: false, scope, ...more };
  users.push(user);
  return user;
};
const named = (name: string, scope: ScopeSettings): HttpUser => ({ name, password: 'secret', read_only: false, scope });

/** What a parameter is given that is covered, and that is not. */
const values: Record<Named, [mine: string, foreign: string]> = {
  channel: ['mine', 'foreign'],
  bridge: ['mine', 'foreign'],
  playback: ['mine', 'foreign'],
  recording: ['mine', 'foreign'],
  call: ['mine', 'foreign'],
  application: ['desk', 'other'],
  context: ['in', 'out'],
  endpoint: ['PJSIP/alice', 'PJSIP/eve'],
  server: ['127.0.0.1:9', '127.0.0.1:10'],
  media: ['sound:beep', 'recording:r'],
  variable: ['x', 'GLOBAL(x)'],
  variables: ['x', 'GLOBAL(x)'],
  eventSource: ['channel:mine', 'channel:foreign'],
};
const covered: ScopeSettings = {
  applications: ['desk'],
  contexts: ['in'],
  endpoints: ['PJSIP/alice', 'UnicastRTP/127.0.0.1:9'],
  // All but what else reaches globals and recordings.
  operations: ['*'],
};
const withoutOthers: ScopeSettings = {
  operations: operationNames
    .map(({ resource, nickname }) => `${resource}:${nickname}`)
    .filter((name) => !['asterisk:setGlobalVar', 'asterisk:getGlobalVar', 'recordings:getStoredFile'].includes(name)),
};

/** Other spellings of what is not covered, and names of what is not there. */
const spellings: Partial<Record<Named, readonly string[]>> = {
  channel: [' foreign', 'foreign ', '\tforeign', 'absent'],
  bridge: [' foreign', 'foreign ', 'absent'],
  playback: [' foreign', 'foreign ', 'absent'],
  recording: [' foreign', 'foreign ', 'absent'],
  call: [' foreign', 'foreign '],
  application: [' other', 'other '],
  variable: [
    ...['GLOBAL (x)', ' GLOBAL(x)', 'global(x)', 'GLOBAL_DELETE(x)', 'LOCAL(GLOBAL(x))', 'NOSUCH(x)'],
    ...['PJSIP_ENDPOINT(eve,auth)', 'PJSIP_AOR (eve,contact)', 'DIALPLAN_EXISTS(out)', 'TONE_DETECT(440,,g(out,s,1))'],
  ],
  variables: [
    ' GLOBAL (x)',
    'global(x)',
    'GLOBAL_DELETE(x)',
    'TRANSFER_CONTEXT',
    '__TRANSFER_CONTEXT',
    ' TRANSFER_CONTEXT',
    'LOCAL(TRANSFER_CONTEXT)',
  ],
  eventSource: ['channel:foreign', 'channel:absent', 'bridge:absent'],
};

type Choice = { foreign?: string | undefined; spelling?: string | undefined };

/** A request for an operation, with everything that it names; `foreign` is the one parameter that is not covered. */
function requestOf(base: string, { method, paths, params }: Operation, { foreign, spelling }: Choice = {}) {
  const wordFor = (name: string, { names, type, allowed }: Param): string => {
    // The technology stands before it.
    if (name === 'resource' && names === 'endpoint') return name === foreign ? 'eve' : 'alice';
    if (name === 'tech') return 'PJSIP';
    if (names && name === foreign && spelling !== undefined) return spelling;
    if (names) return values[names][name === foreign ? 1 : 0];
    if (type === 'int' || type === 'long') return '1';
    if (type === 'boolean') return 'true';
    return allowed?.[0] ?? 'word';
  };
  const wanted = Object.entries(params).filter(([name, { required, names }]) => {
    // With an application no context is entered, and the other way round.
    if (foreign === 'context' && name === 'app') return false;
    return required || (names && names !== 'variables') || name === foreign;
  });
  let path = paths[0] ?? '';
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  for (const [name, param] of wanted) {
    const value = wordFor(name, param);
    if (param.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (param.in === 'query') query.set(name, value);
    else if (!param.whole) body[name] = { [value]: 'out' };
  }
  const asked = query.size > 0 ? `?${query}` : '';
  return { method, path: `${base}${path}${asked}`, body: Object.keys(body).length > 0 ? JSON.stringify(body) : '' };
}

type Answered = { status: number; message: string };

let served: TestApp | undefined;

/** The same for tokens: their users may do everything, and the tokens what the users may otherwise. */
let servedTokens: TestApp | undefined;
const unlimited = ({ name, password }: HttpUser): HttpUser => ({ name, password, read_only: false });
const tokenOf = ({ name, scope, read_only }: HttpUser): KeptToken => ({
  ...{ name: `of ${name}`, user: name, digest: name, scopes: (scope ? [scope] : []) as KeptToken['scopes'], read_only },
  ...{ created: 0, made_by: name, expires: Number.MAX_SAFE_INTEGER },
});
const kept = new Map<string, KeptToken>();
function secretOf(user: HttpUser): string {
  const secret = `hst_${Buffer.from(user.name).toString('hex')}`;
  if (!kept.has(secret)) kept.set(secret, tokenOf(user));
  return secret;
}
const tokens: Tokens = {
  ...{ list: () => [...kept.values()], get: (name) => [...kept.values()].find((token) => token.name === name) },
  ...{ find: (secret) => kept.get(secret), make: () => Promise.reject(new Error('none is made here')) },
  ...{ revoke: async () => {}, onRevoked() {}, share: () => () => {}, size: 0, close: async () => {} },
};

/** Asks through a door, as a user. */
function ask(user: HttpUser, door: Door, request: ReturnType<typeof requestOf>): Promise<Answered> {
  served ??= createTestApp(owners, { users, validate: false }, new ManualClock());
  servedTokens ??= createTestApp(
    owners,
    { users: users.map(unlimited), validate: false },
    new ManualClock(),
    undefined,
    {
      tokens,
    },
  );
  const withToken = door.includes('a token');
  const http = withToken ? servedTokens : served;
  const secret = withToken ? secretOf(user) : user.password;
  const authorization = door.endsWith('Bearer') ? `Bearer ${secret}` : basic(`${user.name}:${secret}`);
  const localUser = withToken ? holderOf(unlimited(user), tokenOf(user)) : user;
  const { method, path, body } = request;
  if (!door.includes('WebSocket')) {
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
    return http.ask(`${method} ${path}`, { headers, ...(body && { body }) }).then(async (response) => {
      const text = await response.text();
      return { status: response.status, message: messageOf(text) };
    });
  }
  return new Promise((resolve) => {
    const rest = createRestOverWebSocket({
      ...{ app: http.app, clock: new ManualClock(), log: createLogger({ level: 'silent' }), entityId: 'e' },
      ...{ application: 'desk', peer: '192.0.2.1', raw: { pause() {}, resume() {} } },
      ...(door.startsWith('REST') ? { authorization } : { authorization: '', localUser }),
      send(json) {
        const { status_code: status, message_body: text = '' } = JSON.parse(json);
        resolve({ status, message: messageOf(text) });
      },
    });
    const uri = path.startsWith('/ari/') ? path.slice('/ari/'.length) : `..${path}`;
    const content = body ? { content_type: 'application/json', message_body: body } : {};
    rest.take(JSON.stringify({ type: 'RESTRequest', transaction_id: 't', request_id: 'r', method, uri, ...content }));
  });
}

function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? '');
  } catch {
    return '';
  }
}

const operations = apis.flatMap(({ base, resources }) =>
  resources.flatMap((resource) => resource.operations.map((operation) => ({ base, operation }))),
);
/** Those that are asked for like others: what opens a WebSocket is tried by itself. */
const ordinary = operations.filter(({ operation }) => !operation.upgrade && owners[operation.owner] !== undefined);
const nameOf = ({ resource, nickname }: Operation) => `${resource}:${nickname}`;

const verbs = suite('operations that a scope covers');

/** For each operation who may do it and nothing else, and who may do everything else. */
const specialists = ordinary.map(({ base, operation }) => {
  const name = nameOf(operation);
  const others = operationNames.map((each) => `${each.resource}:${each.nickname}`).filter((each) => each !== name);
  const [alone, but] = [scoped({ operations: [name] }), scoped({ operations: others })];
  return { name, operation, request: requestOf(base, operation), alone, but };
});
/** A WebSocket carries the methods of Asterisk alone, which has no PATCH. */
const through = (door: Door) =>
  specialists.filter(({ operation }) => operation.method !== 'PATCH' || !door.includes('WebSocket'));
const looker = scoped(undefined, { read_only: true });
const reader = scoped({ operations: ['*:read'] });

for (const door of doors)
  verbs(`each is done when its name alone is covered, and not when all others are: ${door}`, async () => {
    for (const { name, operation, request, alone, but } of through(door)) {
      const own = await ask(alone, door, request);
      assert.is.not(own.status, 403, `${name}: ${own.message}`);
      const denied = await ask(but, door, request);
      const message = `The scope of user '${but.name}' does not cover the operation ${name}`;
      if (operation.everyone) assert.is.not(denied.status, 403, name);
      else assert.equal([name, denied], [name, { status: 403, message }]);
    }
  });

for (const door of doors)
  verbs(`who may only look may do what changes nothing: ${door}`, async () => {
    for (const { name, operation, request } of through(door)) {
      const answers = [await ask(looker, door, request), await ask(reader, door, request)];
      const message = `The scope of user '${reader.name}' does not cover the operation ${name}`;
      const wanted = operation.changesNothing ? ['', ''] : ['Write access denied', message];
      const told = answers.map((each) => (each.status === 403 ? each.message : ''));
      assert.equal([name, ...told], [name, ...wanted]);
    }
  });

const sockets = suite('WebSockets that a scope covers');

sockets('each is opened by who may open it, for what the scope covers', async () => {
  const everything = operationNames.map(({ resource, nickname }) => `${resource}:${nickname}`);
  const but = (...names: string[]): ScopeSettings => ({
    operations: everything.filter((each) => !names.includes(each)),
  });
  const within = named('within', { applications: ['desk'] });
  const without = named(
    'without',
    but('events:eventWebsocket', 'live:watch', 'listening:listen', 'channels:externalMedia'),
  );
  const awaited = (id: string) => ({ taken: false, channelId: id, attach: () => undefined });
  const { ask: asked } = createTestApp(
    { ...owners, externalMedia: { awaited } as never, bans: undefined },
    { users: [within, without] },
  );
  const statusOf = async (path: string, user: string) =>
    (await asked(`GET ${path}`, { headers: { authorization: basic(`${user}:secret`) } })).status;
  const tried = ['/ari/events?app=desk', '/hookswitch/live', '/hookswitch/live?app=desk', '/hookswitch/live?call=mine'];
  const foreign = ['/ari/events?app=desk,other', '/hookswitch/live?app=other', '/hookswitch/live?call=foreign'];
  const all = (paths: string[], user: string) => Promise.all(paths.map((path) => statusOf(path, user)));
  assert.equal(
    {
      // Let in as far as that goes without a handshake.
      mine: await all([...tried, '/media/mine'], 'within'),
      foreign: await all([...foreign, '/media/foreign'], 'within'),
      without: await all([...tried, '/media/mine', '/hookswitch/channels/mine/listen?ticket=x'], 'without'),
    },
    {
      mine: [426, 426, 426, 426, 426],
      foreign: [403, 404, 404, 403],
      without: [403, 403, 403, 403, 403, 403],
    },
  );
});

const things = suite('things that a scope covers');

/** The parameters of operations that name something. */
const naming = ordinary.flatMap(({ base, operation }) =>
  Object.entries(operation.params).flatMap(([name, { names }]) => (names ? [{ base, operation, name, names }] : [])),
);

const ours = scoped({ ...covered, ...withoutOthers });
const both = scoped({ ...covered, applications: ['desk', 'other'] });

for (const door of doors)
  things(`what is not covered is not there for who reads, and refused to who changes: ${door}`, async () => {
    for (const { base, operation, name, names } of naming) {
      const asked = `${nameOf(operation)} ${name}`;
      const foreign = requestOf(base, operation, { foreign: name });
      const mine = await ask(ours, door, requestOf(base, operation));
      // What is a file is not carried by a WebSocket.
      const done = [200, 201, 202, 204, ...(operation.file && door !== 'REST' ? [406] : [])];
      assert.ok(done.includes(mine.status), `${asked}: ${mine.status} ${mine.message}`);
      const hides = operation.changesNothing && !['variable', 'variables', 'media', 'eventSource'].includes(names);
      const answer = await ask(ours, door, foreign);
      assert.equal([asked, answer.status], [asked, hides ? 404 : 403], answer.message);
      const seen = await ask(both, door, foreign);
      if (hides) assert.is.not(seen.status, 404, asked);
    }
  });

for (const door of doors)
  things(`no other spelling gets at what is not covered: ${door}`, async () => {
    const letIn: string[] = [];
    for (const { base, operation, name, names } of naming)
      for (const spelling of spellings[names] ?? []) {
        // Who only looks is told by the owner that nothing is there by that name.
        if (operation.changesNothing && (operation.params[name]?.in === 'path' || spelling.endsWith('absent')))
          continue;
        const { status } = await ask(ours, door, requestOf(base, operation, { foreign: name, spelling }));
        if (status !== 403 && status !== 404 && status !== 400) letIn.push(`${nameOf(operation)} ${name}=${spelling}`);
      }
    assert.equal(letIn, []);
  });

things('a browser calls no extension outside its contexts, named or not', async () => {
  const user = named('page', { operations: ['webrtc'], contexts: ['phones'] });
  const { ask: asked } = createTestApp(owners, { users: [user] });
  const headers = { authorization: basic('page:secret'), 'content-type': 'application/sdp' };
  const statusOf = async (query: string) =>
    (await asked(`POST /hookswitch/webrtc?${query}`, { headers, body: 'v=0' })).status;
  assert.equal(
    [
      await statusOf('extension=1&context=phones'),
      await statusOf('extension=1'),
      await statusOf('extension=1&context=trunks'),
    ],
    [201, 403, 403],
  );
});

things('a channel that an application made begins in no context outside the scope', async () => {
  const user = named('maker', { operations: ['channels'], contexts: ['phones'] });
  const { ask: asked } = createTestApp(owners, { users: [user] });
  const headers = { authorization: basic('maker:secret') };
  const statusOf = async (id: string) => (await asked(`POST /ari/channels/${id}/continue`, { headers })).status;
  // Its model says `default`. The one that came from the dialplan goes on there.
  assert.equal([await statusOf('mineMade'), await statusOf('mine')], [403, 204]);
});

things('every operation on a thing says what it names', () => {
  const unnamed = ordinary.flatMap(({ operation }) =>
    Object.entries(operation.params)
      .filter(
        ([name, { names }]) =>
          /^(channelId|bridgeId|playbackId|callId|app|application|applicationName|context|endpoint|external_host|media|variable|variables|eventSource|source|caller|originator)$/.test(
            name,
          ) && !names,
      )
      .map(([name]) => `${nameOf(operation)} ${name}`),
  );
  // What a new thing is to be called; what is sent along with a message or an event; a channel that nobody has yet.
  assert.equal(
    unnamed.sort(),
    [
      'asterisk:getGlobalVar variable',
      'asterisk:setGlobalVar variable',
      'bridges:create bridgeId',
      'bridges:createWithId bridgeId',
      'bridges:play playbackId',
      'bridges:playWithId playbackId',
      'channels:create channelId',
      'channels:externalMedia channelId',
      'channels:originate channelId',
      'channels:originateWithId channelId',
      'channels:play playbackId',
      'channels:playWithId playbackId',
      'endpoints:refer variables',
      'endpoints:referToEndpoint variables',
      'endpoints:sendMessage variables',
      'endpoints:sendMessageToEndpoint variables',
      'events:claimChannel channelId',
      'events:userEvent variables',
      'webrtc:call channelId',
      'calls:list app',
      'calls:list endpoint',
      'calls:mask variables',
    ].sort(),
  );
});

things('lists hold what is covered', async () => {
  const mixed: Deps = {
    ...owners,
    channels: {
      list: () => [
        { ...samples.channel, id: 'mine' },
        { ...samples.channel, id: 'foreign' },
      ],
    } as never,
    bridges: {
      list: () => [
        { ...samples.bridge, id: 'foreign' },
        { ...samples.bridge, id: 'mine' },
      ],
    } as never,
    applications: {
      list: () => ['desk', 'desk:c1', 'other'].map((name) => ({ ...samples.application, name })),
    } as never,
    endpoints: { list: () => [{ ...samples.endpoint, channel_ids: ['mine', 'foreign'] }] } as never,
    calls: {
      record: (id: string) => ({ applications: new Set([applicationOf(id) ?? '']) }),
      stuck: () => [
        { kind: 'object', object: 'a', call: 'mine' },
        { kind: 'object', object: 'b', call: 'foreign' },
        { kind: 'application', object: 'other' },
      ],
    } as never,
  };
  const { ask: asked } = createTestApp(mixed, { users: [named('desk', covered)], validate: false });
  const headers = { authorization: basic('desk:secret') };
  const listed = async (path: string, member: string) =>
    ((await (await asked(`GET ${path}`, { headers })).json()) as Record<string, unknown>[]).map((each) => each[member]);
  assert.equal(
    [
      await listed('/ari/channels', 'id'),
      await listed('/ari/bridges', 'id'),
      await listed('/ari/applications', 'name'),
      await listed('/ari/endpoints', 'channel_ids'),
      await listed('/hookswitch/stuck', 'object'),
    ],
    [['mine'], ['mine'], ['desk', 'desk:c1'], [['mine']], ['a']],
  );
});

things('what may be done to an object is what the scope covers of it', async () => {
  const possible = {
    ...{ kind: 'channel', id: 'mine', states: { channel: 'up' } },
    operations: ['hangup', 'dtmf', 'moh'].map((operation) => ({ operation, allowed: true })),
  };
  const channels = { possible: () => possible } as never;
  const user = named('desk', {
    applications: ['desk'],
    operations: ['operations', 'channels:hangup', 'channels:sendDTMF'],
  });
  const { ask: asked } = createTestApp({ ...owners, channels }, { users: [user] });
  const headers = { authorization: basic('desk:secret') };
  const answer = (await (await asked('GET /hookswitch/channels/mine/operations', { headers })).json()) as object;
  const message = "The scope of user 'desk' does not cover the operation channels:startMoh";
  assert.equal(answer, {
    ...possible,
    operations: [
      { operation: 'hangup', allowed: true },
      { operation: 'dtmf', allowed: true },
      { operation: 'moh', allowed: false, error: 'scopeDenied', status: 403, message },
    ],
  });
});

things('the documents show what the asker may do', async () => {
  const user = named('desk', { operations: ['channels:get', 'calls:read'] });
  const { ask: asked } = createTestApp(owners, { users: [user] });
  const headers = { authorization: basic('desk:secret') };
  const pathsOf = async (path: string) =>
    Object.keys(((await (await asked(`GET ${path}`, { headers })).json()) as { paths: object }).paths);
  assert.equal(await pathsOf('/ari/openapi.json'), ['/channels/{channelId}']);
  assert.ok((await pathsOf('/hookswitch/openapi.json')).includes('/calls/{callId}'));
  assert.not((await pathsOf('/hookswitch/openapi.json')).includes('/bans'));
});

const scopes = suite('scopes');
const anybody = scoped(undefined);

scopes('a scope with the former name of a resource covers it', () => {
  const bridge = { resource: 'videoVisibility', nickname: 'bridge', changesNothing: true };
  const covers = (pattern: string) => readScope({ operations: [pattern] }).operation(bridge);
  assert.equal(['sights', 'sights:read', 'videoVisibility', 'constructor', 'calls'].map(covers), [
    true,
    true,
    true,
    false,
    false,
  ]);
});

scopes('patterns', () => {
  const { application, context, endpoint } = readScope({
    applications: ['desk', 'ivr-*'],
    contexts: ['in', '*-safe'],
    endpoints: ['PJSIP/alice', 'PJSIP/0049*@provider', 'Local/*@*'],
  });
  const answers = (test: (name: string) => boolean, names: string[]) => names.filter(test);
  assert.equal(answers(application, ['desk', 'Desk', 'desk2', 'ivr-', 'ivr-de', 'desk:PJSIP/a-1', 'x:desk']), [
    'desk',
    'ivr-',
    'ivr-de',
    'desk:PJSIP/a-1',
  ]);
  assert.equal(answers(context, ['in', 'ins', 'very-safe', 'safe']), ['in', 'very-safe']);
  assert.equal(
    answers(endpoint, [
      'PJSIP/alice',
      'pjsip/Alice',
      'PJSIP/alice/sip:eve@192.0.2.1',
      'PJSIP/0049301@provider',
      'PJSIP/00493@x@provider',
      'PJSIP/0900@provider',
      'Local/100@in',
      'Local/100@in/n',
      'Local/100@out',
      'Local/100@in/n/x',
      'Local/100',
    ]),
    ['PJSIP/alice', 'pjsip/Alice', 'PJSIP/0049301@provider', 'Local/100@in', 'Local/100@in/n'],
  );
  assert.equal(answers(readScope({ endpoints: [] }).endpoint, ['PJSIP/alice']), []);
  assert.equal(answers(readScope({ contexts: ['in'] }).endpoint, ['PJSIP/alice', 'Local/1@in', 'Local/1@out']), [
    'PJSIP/alice',
    'Local/1@in',
  ]);
});

scopes('a pattern that no operation fits is told', () => {
  const problems = ['channels', 'channels:read', '*:change', 'channels:get*', 'chanels', 'channels:fly', 'a:b:c'].map(
    (pattern) => operationPatternProblem(pattern, operationNames),
  );
  assert.equal(problems, [
    undefined,
    undefined,
    undefined,
    undefined,
    'there is no such operation: "chanels"',
    'there is no such operation: "channels:fly"',
    'expected `resource` or `resource:word`, found "a:b:c"',
  ]);
});

scopes('no operation is called as a verb is', () => {
  assert.equal(
    operationNames.filter(({ nickname }) => ['read', 'change'].includes(nickname)),
    [],
  );
});

scopes('events are heard of what is covered', () => {
  const visibility = visibilityOf(named('desk', { ...covered, operations: ['channels', 'deviceStates:read'] }), owners);
  const { channel, bridge } = samples;
  const about = (id: string) => ({ ...channel, id });
  const heard = (event: object, topics: string[]) => visibility?.hears(event as AriEventBody, topics as never);
  assert.equal(
    [
      heard({ type: 'ChannelStateChange', channel: about('mine') }, ['channel:mine', 'channel:']),
      heard({ type: 'ChannelStateChange', channel: about('foreign') }, [
        'channel:foreign',
        'channel:',
        'endpoint:PJSIP',
      ]),
      heard({ type: 'ChannelCreated', channel: about('mine') }, ['channel:']),
      heard({ type: 'ChannelCreated', channel: about('foreign') }, ['channel:']),
      heard({ type: 'Dial', caller: about('mine'), peer: about('foreign') }, ['channel:mine', 'channel:']),
      heard({ type: 'Dial', caller: about('foreign'), peer: about('mine') }, ['channel:foreign', 'channel:']),
      heard({ type: 'BridgeDestroyed', bridge: { ...bridge, id: 'foreign' } }, ['bridge:foreign', 'bridge:']),
      heard({ type: 'ChannelVarset', variable: 'x', value: '1' }, ['channel:']),
      heard({ type: 'DeviceStateChanged' }, ['deviceState:x', 'deviceState:']),
      heard({ type: 'PeerStatusChange' }, ['endpoint:PJSIP/alice', 'endpoint:PJSIP', 'endpoint:']),
    ],
    [true, false, true, false, true, false, false, false, true, false],
  );
});

scopes('who makes a bridge is kept, with the application whose WebSocket it came over', async () => {
  made.length = 0;
  const create = ordinary.find(({ operation }) => nameOf(operation) === 'bridges:create');
  if (!create) throw new Error('there is no such operation');
  for (const door of doors) await ask(anybody, door, requestOf(create.base, create.operation));
  const over = (door: Door) => (door.includes('WebSocket') ? 'desk' : undefined);
  assert.equal(
    made,
    doors.map((door) => ({ user: anybody.name, application: over(door) })),
  );
});

const sources = suite<{ server: Awaited<ReturnType<typeof startTestServer>> }>('addresses of users');
const user = (name: string, addresses: Partial<HttpUser>): HttpUser => ({
  ...{ name, password: 'secret', read_only: false },
  ...addresses,
});

sources.before(async (world) => {
  const changes = {
    users: [
      user('inside', { allowed_addresses: ['127.0.0.0/8', '::1'] }),
      user('outside', { allowed_addresses: ['192.0.2.0/24', '2001:db8::/32'] }),
      user('denied', { denied_addresses: ['127.0.0.1'] }),
      user('both', { allowed_addresses: ['127.0.0.0/8'], denied_addresses: ['127.0.0.1'] }),
      user('nowhere', { allowed_addresses: [] }),
    ],
  };
  world.server = await startTestServer(changes);
});
sources.after(async ({ server }) => {
  await server.server.close(100);
});

sources('who comes from where it may not is told so, whatever its password; others come in', async ({ server }) => {
  const answer = async (credentials: string) => {
    const headers = { authorization: basic(credentials) };
    const response = await fetch(`http://${server.base}/ari/asterisk/ping`, { headers });
    return [credentials, response.status, messageOf(await response.text())];
  };
  const refusal = (name: string) =>
    `User '${name}' is not allowed to log in from this address (allowed_addresses, denied_addresses)`;
  const asked = ['inside:secret', 'outside:secret', 'outside:wrong', 'denied:secret', 'both:secret', 'nowhere:secret'];
  assert.equal(await Promise.all(asked.map(answer)), [
    ['inside:secret', 200, ''],
    ['outside:secret', 403, refusal('outside')],
    ['outside:wrong', 403, refusal('outside')],
    ['denied:secret', 403, refusal('denied')],
    ['both:secret', 403, refusal('both')],
    ['nowhere:secret', 403, refusal('nowhere')],
  ]);
});

sources.run();
verbs.run();
sockets.run();
things.run();
scopes.run();
