import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { usesTarget } from '../support/conformance-cases.ts';
import type { Client } from '../support/conformance-client.ts';
import { surface } from '../support/conformance-surface.ts';

const test = suite('completeness of the interface');
let client: Client;
let served: Served;

/** What the API documents of a server describe. */
type Served = {
  /** `METHOD /path` to the parameters by name. */
  operations: Map<string, { returns: string; params: Map<string, string> }>;
  /** Model to its members; a member that may be absent ends with `?`. */
  models: Map<string, Map<string, string>>;
  resources: Map<string, string[]>;
};

type SwaggerParameter = {
  name: string;
  paramType: string;
  dataType: string;
  required?: boolean;
  allowMultiple?: boolean;
};
type SwaggerOperation = { httpMethod: string; responseClass: string; parameters?: SwaggerParameter[] };
type SwaggerModel = { properties?: Record<string, { type: string; required?: boolean }>; subTypes?: string[] };
type SwaggerFile = {
  apis: { path: string; operations: SwaggerOperation[] }[];
  models?: Record<string, SwaggerModel>;
  requiresModules?: string[];
  basePath?: string;
};

usesTarget(test, async (own) => {
  client = own;
  served = await readServed();
});

/** A path variable is there or it is another path: whether it is said to be required means nothing. */
const comparable = (facts: string): string => facts.replace(/^(path \w+) required$/, '$1');

const parameterOf = ({ paramType, dataType, allowMultiple, required }: SwaggerParameter): string =>
  comparable(`${paramType} ${dataType}${allowMultiple ? ' list' : ''}${required ? ' required' : ''}`);

async function readServed(): Promise<Served> {
  const found: Served = { operations: new Map(), models: new Map(), resources: new Map() };
  const { apis } = await client.must<{ apis: { path: string }[] }>('GET /api-docs/resources.json');
  for (const { path } of apis) {
    const file = await client.must<SwaggerFile>(`GET ${path.replace('{format}', 'json')}`);
    const [, resource = ''] = /(\w+)\.[^/]*$/.exec(path) ?? [];
    found.resources.set(resource, file.requiresModules ?? []);
    for (const api of file.apis)
      for (const operation of api.operations)
        found.operations.set(`${operation.httpMethod} ${api.path}`, {
          returns: operation.responseClass,
          params: new Map((operation.parameters ?? []).map((each) => [each.name, parameterOf(each)])),
        });
    for (const [name, { properties = {} }] of Object.entries(file.models ?? {}))
      found.models.set(
        name,
        new Map(Object.entries(properties).map(([key, { type, required }]) => [required ? key : `${key}?`, type])),
      );
  }
  return found;
}

const differences = readFileSync(new URL('../../docs/differences.md', import.meta.url), 'utf8');

/**
 * What Hookswitch does not serve, each with words that docs/differences.md says it with. A rule that no missing thing
 * needs any more fails the test, so that the list shrinks with what is missing.
 */
const absences: readonly { what: RegExp; words: string }[] = [
  { what: /^model (Dialed|RESTHeader)$/, words: '`Dialed`, `RESTHeader`' },
];

const used = new Set<RegExp>();
/** The missing things that no difference accounts for. */
const unexplained = (missing: readonly string[]): string[] =>
  missing.filter((thing) => {
    const rule = absences.find(({ what }) => what.test(thing));
    if (!rule) return true;
    used.add(rule.what);
    return !differences.includes(rule.words);
  });

test('every operation is served, with every parameter as clients know it', () => {
  const missing: string[] = [];
  for (const [line, { returns, params }] of Object.entries(surface.operations)) {
    const operation = served.operations.get(line);
    if (!operation) {
      missing.push(line);
      continue;
    }
    if (operation.returns !== returns) missing.push(`${line} returns ${returns}`);
    for (const [name, facts] of Object.entries(params))
      if (operation.params.get(name) !== comparable(facts))
        missing.push(`${line} ${name}: ${facts} (${operation.params.get(name)})`);
  }
  assert.equal(unexplained(missing), []);
});

test('every model is served, with every member as clients know it', () => {
  const missing: string[] = [];
  for (const [name, members] of Object.entries(surface.models)) {
    const model = served.models.get(name);
    if (!model) {
      missing.push(`model ${name}`);
      continue;
    }
    for (const [key, type] of Object.entries(members))
      if (model.get(key) !== type) missing.push(`model ${name}.${key}: ${type} (${[...model].join(' ')})`);
  }
  assert.equal(unexplained(missing), []);
});

test('every resource is described, with the modules clients expect', () => {
  for (const [name, modules] of Object.entries(surface.resources))
    assert.equal([...(served.resources.get(name) ?? ['none'])].sort(), [...modules].sort(), name);
});

test('every event is a subtype of the base event and a message of the AsyncAPI', async () => {
  const { models } = await client.must<{ models: Record<string, SwaggerModel> }>('GET /api-docs/events.json');
  const subTypes = models['Event']?.subTypes ?? [];
  const missing = surface.events.filter((type) => !subTypes.includes(type));
  assert.equal(unexplained(missing.map((type) => `event ${type}`)), []);
  // What clients do not know must not be told them: the documents list what Asterisk has, and nothing else.
  assert.equal(
    subTypes.filter((type) => !surface.events.includes(type)),
    [],
  );
  if (!client.target.ours) return;
  const { components } = await client.must<{ components: { messages: Record<string, unknown> } }>('GET /asyncapi.json');
  assert.equal(
    subTypes.filter((type) => !components.messages[type]),
    [],
  );
});

test('the documents are of the form that old clients read', async () => {
  const { host } = new URL(client.target.url);
  const list = await client.must<Record<string, unknown>>('GET /api-docs/resources.json');
  assert.is(list['basePath'], `http://${host}/ari`);
  assert.type(list['swaggerVersion'], 'string');
  assert.type(list['apiVersion'], 'string');
  const names = (list['apis'] as { path: string }[]).map(({ path }) => path).sort();
  assert.equal(
    names,
    Object.keys(surface.resources)
      .sort()
      .map((name) => `/api-docs/${name}.{format}`),
  );
  const missing = { status: 404 };
  for (const path of ['nothing.json', '..%2Fresources.json', 'events.xml'])
    assert.is((await client.ask(`GET /api-docs/${path}`)).status, missing.status, path);
  const answer = await client.ask('POST /api-docs/resources.json');
  assert.equal([answer.status, answer.body], [405, { message: 'Unsupported method' }]);
});

test('both paths of an operation are described by one, and served by both', async () => {
  if (!client.target.ours) return;
  for (const [line, other] of [
    ['GET /asterisk/ping', 'GET /system/ping'],
    ['GET /asterisk/logging', 'GET /system/logging'],
    ['GET /asterisk/modules', 'GET /system/modules'],
    ['POST /channels', 'POST /channels/originate'],
  ] as const) {
    assert.ok(served.operations.has(line), line);
    const [one, two] = await Promise.all([client.ask(line), client.ask(other)]);
    assert.is(one.status, two.status, other);
  }
  const { paths } = await client.must<{ paths: Record<string, unknown> }>('GET /openapi.json');
  assert.ok(paths['/channels/{channelId}/play'] ?? paths['/ari/channels/{channelId}/play']);
});

test('every difference that is accounted for is one', () => {
  if (!client.target.ours) return;
  const unused = absences.filter(({ what }) => !used.has(what));
  assert.equal(
    unused.map(({ what }) => String(what)),
    [],
  );
});

test.run();
