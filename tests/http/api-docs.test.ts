import { createRequire } from 'node:module';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { surface } from '../support/conformance-surface.ts';
import { createFakes, createTestApp } from './fakes.ts';
import { startTestServer } from './sockets.ts';

/** The documents against what Asterisk serves, and read by clients of Asterisk. */

const docs = suite('API documents');
const app = createTestApp(createFakes().owners);
const get = async <T>(path: string, headers = {}): Promise<T> => {
  const response = await app.ask(`GET /ari${path}`, {
    headers: { authorization: `Basic ${btoa('writer:secret')}`, ...headers },
  });
  assert.is(response.status, 200, path);
  return (await response.json()) as T;
};

type Parameter = { name: string; paramType: string; dataType: string; allowMultiple: boolean; required: boolean };
type Operation = {
  httpMethod: string;
  nickname: string;
  responseClass: string;
  parameters: Parameter[];
  errorResponses: { code: number; reason: string }[];
};
type Model = {
  id: string;
  properties: Record<string, { type: string; required: boolean }>;
  subTypes?: string[];
  discriminator?: string;
};
type File = {
  basePath?: string;
  swaggerVersion: string;
  requiresModules: string[];
  apis: { path: string; operations: Operation[] }[];
  models: Record<string, Model>;
};

const names = Object.keys(surface.resources);
const files = async (): Promise<Map<string, File>> =>
  new Map(
    await Promise.all(names.map(async (name): Promise<[string, File]> => [name, await get(`/api-docs/${name}.json`)])),
  );

/** What Asterisk has and this system has not yet, and why. */
const absent: Record<string, RegExp> = {};
const isAbsent = (operation: string) => Object.values(absent).some((pattern) => pattern.test(operation));
const absentModels = ['Dialed', 'RESTHeader'];

docs('every operation of Asterisk is described with its parameters and results', async () => {
  const described = new Map<string, Operation>();
  for (const file of (await files()).values()) {
    for (const { path, operations } of file.apis)
      for (const operation of operations) described.set(`${operation.httpMethod} ${path}`, operation);
  }
  const missing = Object.keys(surface.operations).filter(
    (operation) => !described.has(operation) && !isAbsent(operation),
  );
  assert.equal(missing, []);
  for (const [name, facts] of Object.entries(surface.operations)) {
    const operation = described.get(name);
    if (!operation) continue;
    assert.is(operation.responseClass, facts.returns, name);
    const parameters = operation.parameters.map((parameter) => {
      const { name: of, paramType, dataType, allowMultiple, required } = parameter;
      return [of, `${paramType} ${dataType}${allowMultiple ? ' list' : ''}${required ? ' required' : ''}`];
    });
    const loose = ([of, kind = '']: string[]) => `${of} ${kind.replace(/^path string$/, 'path string required')}`;
    assert.equal(parameters.map(loose).sort(), Object.entries(facts.params).map(loose).sort(), name);
  }
});

docs(
  'every model of Asterisk is described with its fields, their types and whether they are always there',
  async () => {
    const models = new Map([...(await files()).values()].flatMap((file) => Object.entries(file.models)));
    for (const [name, fields] of Object.entries(surface.models)) {
      if (absentModels.includes(name)) continue;
      const model = models.get(name);
      assert.ok(model, name);
      for (const [key, type] of Object.entries(fields)) {
        const field = key.replace('?', '');
        if (name === 'RESTRequest' && field === 'type') continue;
        const found = model?.properties[field];
        assert.equal([field, found?.type, found?.required], [field, type, field === key], name);
      }
    }
  },
);

docs('a model is described once, and every type that is named is described', async () => {
  const seen = new Map<string, string>();
  const all = await files();
  for (const [name, { models }] of all) {
    for (const id of Object.keys(models)) {
      assert.not(seen.has(id), `${id} in ${name} and ${seen.get(id)}`);
      seen.set(id, name);
    }
  }
  const simple = ['string', 'int', 'long', 'double', 'boolean', 'object', 'Date', 'void', 'binary'];
  const named = [...all.values()].flatMap(({ apis, models }) => [
    ...apis.flatMap(({ operations }) => operations.map(({ responseClass }) => responseClass)),
    ...Object.values(models).flatMap(({ properties }) => Object.values(properties).map(({ type }) => type)),
  ]);
  for (const type of named) {
    const plain = type.replace(/^List\[(.*)\]$/, '$1');
    assert.ok(simple.includes(plain) || seen.has(plain), type);
  }
});

docs('events have a base that lists them, and a discriminator', async () => {
  const { models, requiresModules } = (await files()).get('events') as File;
  const missing = surface.events.filter((event) => !models['Event']?.subTypes?.includes(event));
  assert.equal(missing, []);
  for (const event of models['Event']?.subTypes ?? []) assert.ok(models[event], event);
  assert.equal([models['Message']?.discriminator, models['Message']?.subTypes], ['type', ['MissingParams', 'Event']]);
  assert.equal(requiresModules, surface.resources['events']);
});

docs('modules are named as Asterisk names them', async () => {
  for (const [name, file] of await files())
    assert.equal(new Set(file.requiresModules), new Set(surface.resources[name]), name);
});

docs('the base path leads to the host that was asked', async () => {
  const listing = await get<File>('/api-docs/resources.json', { host: 'pbx.example.org:8088' });
  assert.is(listing.basePath, 'http://pbx.example.org:8088/ari');
  const file = await get<File>('/api-docs/channels.json', { host: 'pbx.example.org:8088' });
  assert.equal([file.basePath, file.swaggerVersion], ['http://pbx.example.org:8088/ari', '1.2']);
  assert.is((await get<File>('/api-docs/channels.json')).basePath, undefined);
});

/** Every `$ref` in a document. */
const references = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => (name === '$ref' ? [child as string] : references(child)));
};
const resolves = (document: unknown, reference: string): boolean =>
  reference
    .replace('#/', '')
    .split('/')
    .reduce((at: unknown, part) => (at as Record<string, unknown> | undefined)?.[part], document) !== undefined;

docs('OpenAPI has every operation under every path, unique ids, and references that resolve', async () => {
  const document = await get<{
    openapi: string;
    paths: Record<string, Record<string, { operationId: string; parameters: { name: string; in: string }[] }>>;
  }>('/openapi.json');
  assert.is(document.openapi, '3.1.0');
  const ids = Object.values(document.paths).flatMap((here) =>
    Object.values(here).map(({ operationId }) => operationId),
  );
  assert.is(new Set(ids).size, ids.length);
  for (const path of ['/system/ping', '/asterisk/ping', '/channels/originate', '/channels'])
    assert.ok(document.paths[path], path);
  for (const [path, here] of Object.entries(document.paths)) {
    for (const { parameters } of Object.values(here)) {
      const variables = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.equal(
        parameters
          .filter((parameter) => parameter.in === 'path')
          .map(({ name }) => name)
          .sort(),
        variables.sort(),
        path,
      );
    }
  }
  for (const reference of references(document)) assert.ok(resolves(document, reference), reference);
});

docs('operations of our own are described apart, and in none of the documents of the ARI', async () => {
  const headers = { authorization: `Basic ${btoa('writer:secret')}`, host: 'pbx.example.org:8088' };
  const response = await app.ask('GET /hookswitch/openapi.json', { headers });
  const document = (await response.json()) as { paths: object; servers: object; info: { title: string } };
  assert.equal(document.servers, [{ url: 'http://pbx.example.org:8088/hookswitch' }]);
  assert.ok(Object.keys(document.paths).includes('/usage'));
  assert.not.ok(Object.keys(document.paths).includes('/channels'));
  for (const reference of references(document)) assert.ok(resolves(document, reference), reference);

  const ari = await get<{ paths: object; tags: { name: string }[] }>('/openapi.json');
  assert.not.ok(Object.keys(ari.paths).some((path) => path.includes('usage')));
  assert.equal(
    ari.tags.map(({ name }) => name),
    (await get<{ apis: { path: string }[] }>('/api-docs/resources.json')).apis.map(({ path }) => path.slice(10, -9)),
  );
  assert.is((await app.ask('GET /ari/api-docs/usage.json')).status, 404);
  assert.is((await app.ask('GET /ari/usage')).status, 404);
});

docs('operations of our own ask for the same credentials, and are missing in the same words', async () => {
  assert.is((await app.ask('GET /hookswitch/usage', { headers: {} })).status, 401);
  assert.is((await app.ask('GET /hookswitch/openapi.json', { headers: {} })).status, 401);
  const missing = await app.ask('GET /hookswitch/usage/');
  assert.equal(
    [missing.status, await missing.json()],
    [404, { message: 'ARI URLs do not end with a slash. Try /hookswitch/usage' }],
  );
  const root = await app.ask('GET /hookswitch');
  assert.equal([root.status, root.headers.get('allow')], [405, 'OPTIONS']);
});

docs('AsyncAPI has every event, and references that resolve', async () => {
  const document = await get<{ asyncapi: string; components: { messages: Record<string, object> } }>('/asyncapi.json');
  assert.is(document.asyncapi, '3.0.0');
  for (const event of surface.events) assert.ok(document.components.messages[event], event);
  for (const reference of references(document)) assert.ok(resolves(document, reference), reference);
});

docs('what is absent is in no document', async () => {
  const { mailboxes: _absent, ...owners } = createFakes().owners;
  const response = await createTestApp(owners).ask('GET /ari/api-docs/mailboxes.json');
  assert.equal(((await response.json()) as File).apis, []);
});

type AriClient = {
  channels: {
    get(options: object): Promise<{ id: string; answer(): Promise<void> }>;
    originate(options: object): Promise<{ id: string }>;
  };
  asterisk: { ping(): Promise<{ ping: string }> };
  applications: { subscribe(options: object): Promise<{ name: string }> };
  bridges: object;
  Channel(): {
    id: string;
    setChannelVar(options: object): Promise<void>;
    play(options: object, playback: object): Promise<{ id: string }>;
  };
  Playback(): { id: string };
  start(apps: string): Promise<void>;
  stop(): void;
  on(event: string, listener: (event: object, channel: { id: string }) => void): void;
};

docs('the client ari-client reads the documents, calls operations and hears events', async () => {
  const { base, fakes, connected, server } = await startTestServer();
  const ari = createRequire(import.meta.url)('ari-client') as {
    connect(url: string, user: string, password: string): Promise<AriClient>;
  };
  const client = await ari.connect(`http://${base}`, 'writer', 'secret');
  assert.is((await client.asterisk.ping()).ping, 'pong');
  const channel = await client.channels.get({ channelId: 'c1' });
  await channel.answer();
  await client.channels.originate({ endpoint: 'PJSIP/bob', app: 'hello', variables: { a: 'b' } });
  await client.applications.subscribe({ applicationName: 'hello', eventSource: ['channel:1', 'channel:2'] });
  const made = client.Channel();
  const playback = client.Playback();
  await made.play({ media: ['sound:a', 'sound:b'] }, playback);
  assert.equal(fakes.calls.slice(1), [
    ['channels.get', 'c1'],
    ['channels.answer', 'c1'],
    ['channels.originate', { endpoint: 'PJSIP/bob', app: 'hello', variables: { a: 'b' } }],
    ['applications.subscribe', 'hello', ['channel:1', 'channel:2']],
    ['playbacks.playOnChannel', made.id, { playbackId: playback.id, media: ['sound:a', 'sound:b'] }],
  ]);
  const told = connected();
  const started = client.start('hello');
  const connection = await told;
  await started;
  const heard = new Promise<[object, { id: string }]>((resolve) =>
    client.on('StasisStart', (event, about) => resolve([event, about])),
  );
  const event = { type: 'StasisStart', args: [], channel: { id: 'c9' } };
  connection.send(JSON.stringify(event));
  const [first, about] = await heard;
  assert.equal([first, about.id], [event, 'c9']);
  client.stop();
  await connection.closed;
  await server.close(100);
});

docs.run();
