import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TSchema } from 'typebox';
import { collectModels, type JsonSchema, plain } from '../src/http/api-docs/schemas.ts';
import type { Api, Operation, Param, Resource } from '../src/http/operation.ts';
import { apis, ari, hookswitch } from '../src/http/routes/index.ts';
import { CallDetailRecord, CallQuality } from '../src/models/call-detail-record.ts';
import { ariErrors } from '../src/models/errors.ts';
import { EventStamp, events, eventTypes } from '../src/models/events.ts';
import { RESTRequest, RESTResponse } from '../src/models/websocket-messages.ts';

/**
 * Writes docs/api: a page for each resource, one for events and one for models, from the operations and the models.
 * With --check nothing is written, and a page that is not up to date is an error.
 */

const generated = 'Generated from the operations and models by `npm run api-docs`; do not edit.';
const code = (text: string): string => `\`${text}\``;
/** Text in a table cell. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (...cells: string[]): string => `| ${cells.map(cell).join(' | ')} |`;
const table = (head: string[], rows: string[][]): string[] =>
  rows.length === 0 ? [] : [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells)), ''];

const anchor = (name: string): string => `[${name}](models.md#${name.toLowerCase()})`;

/** Stands in call detail records alone. */
const callQuality = plain(CallQuality);

/** The type in words, models as links. */
function typeOf(schema: JsonSchema): string {
  if (schema.$id !== undefined && schema.properties)
    return schema.$id === callQuality.$id ? code(schema.$id) : anchor(schema.$id);
  if (schema.$id === 'Timestamp') return 'timestamp';
  if (schema.type === 'array') return `list of ${schema.items ? typeOf(schema.items) : 'anything'}`;
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum) return 'string';
  return schema.type ?? 'anything';
}

const describe = ({ description = '', enum: words }: JsonSchema): string =>
  words ? `${description} One of ${words.map((word) => code(word === '' ? "''" : word)).join(', ')}.` : description;

function fields({ properties = {}, required = [] }: JsonSchema): string[] {
  const rows = Object.entries(properties).map(([name, schema]) => [
    code(name),
    typeOf(schema),
    required.includes(name) ? 'always' : 'may be absent',
    describe(schema),
  ]);
  return table(['Field', 'Type', 'Present', 'Meaning'], rows);
}

const paramTypes: Readonly<Record<Param['type'], string>> = {
  string: 'string',
  int: 'integer',
  long: 'integer',
  boolean: 'boolean',
  list: 'comma-separated list',
  object: 'object',
};

function paramNotes({ description, required, default: fallback, allowed, min, aliases, whole }: Param): string {
  const words = (list: readonly string[]) => list.map(code).join(', ');
  return [
    description,
    required ? 'Required.' : '',
    fallback === undefined ? '' : `Default ${code(String(fallback))}.`,
    allowed ? `One of ${words(allowed)}.` : '',
    min === undefined ? '' : `Not below ${min}.`,
    aliases ? `Also as ${words(aliases)}.` : '',
    whole ? 'The body itself.' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

const parameterTable = ({ params }: Operation): string[] =>
  table(
    ['Parameter', 'In', 'Type', 'Meaning'],
    Object.entries(params).map(([name, param]) => [code(name), param.in, paramTypes[param.type], paramNotes(param)]),
  );

const errorTable = ({ errors }: Operation): string[] =>
  table(
    ['Status', 'Message'],
    [...new Set(errors)]
      .map((name) => ariErrors[name])
      .map(({ status, message }) => [String(status), code(message)])
      .sort(([a = ''], [b = '']) => a.localeCompare(b)),
  );

function answerOf({ returns, status, upgrade }: Operation): string {
  if (upgrade) return '101: the connection becomes a WebSocket; see [events](event-types.md).';
  return returns ? `${status}: ${typeOf(plain(returns))}` : `${status}, no body`;
}

/** Paths as the page shows them: of the ARI, whose base all clients know, without it. */
const shownPaths = (api: Api, { paths }: Operation): string[] =>
  paths.map((path) => (api === ari ? path : `${api.base}${path}`));

function operationSection(api: Api, operation: Operation): string[] {
  const [path = '', ...aliases] = shownPaths(api, operation);
  return [
    `## ${operation.method} ${path}`,
    '',
    operation.summary,
    ...(operation.notes ? ['', operation.notes] : []),
    ...(aliases.length > 0
      ? ['', `Also as ${aliases.map((alias) => code(`${operation.method} ${alias}`)).join(', ')}.`]
      : []),
    '',
    `Client libraries call it ${code(operation.nickname)}.`,
    '',
    ...parameterTable(operation),
    `Answer: ${answerOf(operation)}`,
    '',
    ...errorTable(operation),
  ];
}

const title = (name: string): string =>
  `${name[0]?.toUpperCase()}${name.slice(1).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;

function resourcePage(api: Api, resource: Resource): string {
  const list = resource.operations.map((operation) => [
    code(`${operation.method} ${shownPaths(api, operation)[0]}`),
    operation.summary,
  ]);
  return [
    `# ${title(resource.name)}`,
    '',
    generated,
    '',
    resource.description,
    '',
    ...table(['Operation', 'Summary'], list),
    ...resource.operations.flatMap((operation) => operationSection(api, operation)),
  ].join('\n');
}

function eventsPage(): string {
  const sections = eventTypes.flatMap((type) => {
    const [description, payload]: readonly [string, Record<string, TSchema>] = events[type];
    const properties = Object.fromEntries(Object.entries(payload).map(([name, schema]) => [name, plain(schema)]));
    const optional = (schema: JsonSchema) => '~optional' in schema;
    const required = Object.keys(properties).filter((name) => !optional(properties[name] as JsonSchema));
    return [`## ${type}`, '', description, '', ...fields({ properties, required })];
  });
  return [
    '# Events',
    '',
    generated,
    '',
    'Every event has these fields, beside `type`, its name:',
    '',
    ...fields(plain(EventStamp)),
    ...sections,
    '# Requests over the WebSocket',
    '',
    '## RESTRequest',
    '',
    ...fields(plain(RESTRequest)),
    '## RESTResponse',
    '',
    ...fields(plain(RESTResponse)),
  ].join('\n');
}

function modelsPage(): string {
  const models = new Map<string, JsonSchema>();
  for (const { operations } of apis.flatMap(({ resources }) => resources))
    for (const { returns } of operations) if (returns) collectModels(plain(returns), models);
  for (const type of eventTypes) {
    const payload: Record<string, TSchema> = events[type][1];
    for (const schema of Object.values(payload)) collectModels(plain(schema), models);
  }
  collectModels(plain(RESTRequest), models);
  for (const name of ['RESTRequest', 'Message']) models.delete(name);
  const sections = [...models]
    .sort(([a], [b]) => a.localeCompare(b))
    .flatMap(([name, schema]) => [`## ${name}`, '', schema.description ?? '', '', ...fields(schema)]);
  return ['# Models', '', generated, '', ...sections].join('\n');
}

/** The page and JSON Schema of records, which are written and posted but not requested. */
const detailRecordPage = (): string =>
  [
    ...['# Call detail record', '', generated, ''],
    'One is made for each leg of a call when it has ended: see [call detail records](../call-detail-records.md).',
    'As [JSON Schema](call-detail-record.schema.json).',
    ...['', ...fields(plain(CallDetailRecord))],
    ...[`## ${callQuality.$id}`, '', callQuality.description ?? '', '', ...fields(callQuality)],
  ].join('\n');

/** Named models within it are written out where they stand, their names left out. */
const detailRecordSchema = (): string =>
  JSON.stringify(
    { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'CallDetailRecord', ...CallDetailRecord },
    (key, value: unknown) => (key === '$id' || key.startsWith('~') ? undefined : value),
    2,
  );

const conventions = `# API

${generated}

Paths begin with \`/ari\`, except for [operations of our own](#operations-of-our-own). Descriptions for programs are
under \`/ari/api-docs/resources.json\` (Swagger 1.2), \`/ari/openapi.json\` (OpenAPI 3.1) and \`/ari/asyncapi.json\`
(AsyncAPI 3). An operation that a server has turned off answers 404 and is missing in its descriptions.

**Credentials**: HTTP Basic, or \`api_key=user:password\` in the query or a form. A read-only user may GET and OPTIONS.

**Parameters** come in the query, a form or a JSON object. JSON takes precedence over the query, and the query over the
form. A list is separated by commas, or is a JSON list of up to 127 strings. Quotes, parentheses and brackets protect
commas. Integers are parsed as far as possible. \`yes true y t 1 on\` are true. Unknown parameters are ignored. A body
has at most 40,960 bytes by default.

**Refusals** have a JSON body \`{"message": "…"}\`. Any request may get these:

`;

const ownOperations = `## Operations of our own

Operations that ARI lacks are under \`${hookswitch.base}\`. Credentials, parameters and refusals are the same.
\`${hookswitch.base}/openapi.json\` describes them for programs.
`;

/** The file of a resource's page. */
const fileOf = (api: Api, { name }: Resource): string =>
  api === ari ? `${name}.md` : `${api.base.slice(1)}-${name}.md`;

/** Only resources that have operations have a page. */
const described = ({ resources }: Api): Resource[] => resources.filter(({ operations }) => operations.length > 0);

function indexPage(): string {
  const common = [
    'requestBodyInvalid',
    'requestBodyTooLarge',
    'authenticationRequired',
    'writeAccessDenied',
    'foreignOrigin',
    'limitReached',
    'trailingSlash',
    'resourceNotFound',
    'emptyPathSegment',
    'methodInvalid',
    'parameterInvalid',
    'tooManyValues',
    'tooManyLogIns',
    'tooManyPipelined',
    'serviceTimeout',
    'serviceUnavailable',
  ] as const;
  const rows = common.map((name) => [String(ariErrors[name].status), code(ariErrors[name].message)]);
  const listOf = (api: Api) =>
    described(api).map((resource) => `- [${title(resource.name)}](${fileOf(api, resource)}): ${resource.description}`);
  return [
    conventions + table(['Status', 'Message'], rows).join('\n'),
    ...listOf(ari),
    '- [Event types](event-types.md): events that applications get.',
    '- [Models](models.md): the objects in answers and events.',
    '- [Call detail record](call-detail-record.md): what is written and posted of each leg of a call.',
    '',
    ownOperations,
    ...listOf(hookswitch),
    '',
  ].join('\n');
}

/** Every page by its file name. */
export function renderPages(): Map<string, string> {
  const pages = new Map(
    apis.flatMap((api) =>
      described(api).map((resource): [string, string] => [fileOf(api, resource), resourcePage(api, resource)]),
    ),
  );
  pages.set('event-types.md', eventsPage());
  pages.set('models.md', modelsPage());
  pages.set('call-detail-record.md', detailRecordPage());
  pages.set('call-detail-record.schema.json', detailRecordSchema());
  pages.set('README.md', indexPage());
  return new Map([...pages].map(([name, page]) => [name, `${page.trimEnd()}\n`]));
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Names of files that are missing, stale or too many. */
function stale(directory: string, pages: ReadonlyMap<string, string>): string[] {
  const wrong = [...pages].filter(([name, page]) => read(join(directory, name)) !== page).map(([name]) => name);
  return [...wrong, ...readdirSync(directory).filter((name) => !pages.has(name))];
}

function main(): void {
  const directory = fileURLToPath(new URL('../docs/api', import.meta.url));
  mkdirSync(directory, { recursive: true });
  const pages = renderPages();
  const wrong = stale(directory, pages);
  if (process.argv.includes('--check')) {
    for (const name of wrong) console.error(`docs/api/${name} is not up to date: run npm run api-docs`);
    process.exitCode = wrong.length > 0 ? 1 : 0;
    return;
  }
  for (const name of wrong) {
    const page = pages.get(name);
    if (page === undefined) rmSync(join(directory, name));
    else writeFileSync(join(directory, name), page);
  }
}

main();
