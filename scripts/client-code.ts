import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { collectModels, type JsonSchema, plain } from '../src/http/api-docs/schemas.ts';
import type { Api, Operation, Param } from '../src/http/operation.ts';
import { ari, hookswitch } from '../src/http/routes/index.ts';
import { eventSchemas } from '../src/models/events.ts';

/**
 * Writes the types and the table of operations of `hookswitch/client` from the operations and models. With --check
 * nothing is written, and a file that is not up to date is an error.
 */

const file = fileURLToPath(new URL('../packages/client/src/generated.ts', import.meta.url));

/** A doc comment, cut into lines of the house's width. */
function comment(text: string | undefined, indent = ''): string {
  if (!text) return '';
  const one = `${indent}/** ${text} */\n`;
  if (one.length <= 121) return one;
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || `${indent} * ${line} ${word}`.length > 120) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));

/** The type of a schema; named models by their names. */
function typeOf(schema: JsonSchema): string {
  if (schema.$id === 'Timestamp') return 'string';
  if (schema.$id === 'binary') return 'Uint8Array';
  if (schema.$id !== undefined && schema.properties) return schema.$id;
  if (schema.const !== undefined) return typeof schema.const === 'string' ? quoted(schema.const) : String(schema.const);
  if (schema.enum) return schema.enum.map(quoted).join(' | ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'array') return listOf(schema.items ? typeOf(schema.items) : 'unknown');
  if (schema.patternProperties)
    return `{ [name: string]: ${Object.values(schema.patternProperties).map(typeOf).join(' | ')} }`;
  if (schema.properties)
    return `{ ${fieldsOf(schema)
      .map(({ text }) => text)
      .join(' ')} }`;
  const words: Record<string, string> = { integer: 'number', number: 'number', boolean: 'boolean', string: 'string' };
  return words[schema.type ?? ''] ?? (schema.type === 'object' ? '{ [name: string]: unknown }' : 'unknown');
}

const listOf = (item: string): string => (/[|{]/.test(item) ? `(${item})[]` : `${item}[]`);

const fieldsOf = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties).map(([name, schema]) => ({
    about: schema.description,
    text: `${keyOf(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`,
  }));

/** An interface; events leave out what all of them share. */
function interfaceOf(name: string, schema: JsonSchema, without: readonly string[] = [], base = ''): string {
  const own = Object.entries(schema.properties ?? {}).filter(([field]) => !without.includes(field));
  const fields = fieldsOf({ ...schema, properties: Object.fromEntries(own) });
  const body = fields.map(({ about, text }) => `${comment(about, '  ')}  ${text}\n`).join('');
  return `${comment(schema.description)}export interface ${name} ${base}{\n${body}}\n`;
}

const paramTypes: Readonly<Record<Param['type'], string>> = {
  string: 'string',
  int: 'number',
  long: 'number',
  boolean: 'boolean',
  list: 'string | readonly string[]',
  object: 'object',
};

function paramOf([name, { type, required, allowed, description }]: [string, Param]): string {
  const words = allowed && type === 'string' ? allowed.map(quoted).join(' | ') : paramTypes[type];
  return `${comment(description, '      ')}      ${keyOf(name)}${required ? '' : '?'}: ${words};\n`;
}

const answerOf = ({ returns }: Operation): string => (returns ? typeOf(plain(returns)) : 'void');

/** Operations that answer with a WebSocket are no requests. */
const requests = (operations: readonly Operation[]): Operation[] => operations.filter(({ upgrade }) => !upgrade);

const resourcesOf = ({ resources }: Api) => resources.filter(({ operations }) => requests(operations).length > 0);

function declarations(api: Api, name: string): string {
  const groups = resourcesOf(api).map((resource) => {
    const methods = requests(resource.operations).map((operation) => {
      const params = Object.entries(operation.params);
      const isOptional = params.every(([, { required }]) => !required);
      const object =
        params.length === 0
          ? 'params?: Record<string, never>, '
          : `params${isOptional ? '?' : ''}: {\n${params.map(paramOf).join('')}    }, `;
      return `${comment(operation.summary, '    ')}    ${keyOf(operation.nickname)}(${object}options?: RequestOptions): Promise<${answerOf(operation)}>;\n`;
    });
    return `${comment(resource.description, '  ')}  ${resource.name}: {\n${methods.join('')}  };\n`;
  });
  return `${comment(api.description)}export interface ${name} {\n${groups.join('')}}\n`;
}

/** `METHOD path`, then the members of the JSON body, `=` before one that is the body itself, `<` for a file. */
function row(api: Api, { method, paths, params, file }: Operation): string {
  const body = Object.entries(params).filter(([, param]) => param.in === 'body');
  const members = body.map(([name, { whole }]) => ` ${whole ? '=' : ''}${name}`).join('');
  return quoted(`${method} ${api.base}${paths[0]}${members}${file ? ' <' : ''}`);
}

function table(api: Api, name: string): string {
  const groups = resourcesOf(api).map(
    (resource) =>
      `  ${resource.name}: {\n${requests(resource.operations)
        .map((operation) => `    ${keyOf(operation.nickname)}: ${row(api, operation)},\n`)
        .join('')}  },\n`,
  );
  return `export const ${name} = {\n${groups.join('')}} as const;\n`;
}

function code(): string {
  const models = new Map<string, JsonSchema>();
  for (const { operations } of [ari, hookswitch].flatMap(({ resources }) => resources))
    for (const { returns } of operations) if (returns) collectModels(plain(returns), models);
  const eventModels = Object.entries(eventSchemas).map(([name, schema]) => [name, plain(schema)] as const);
  for (const [, { properties = {} }] of eventModels)
    for (const schema of Object.values(properties)) collectModels(schema, models);
  const [, first] = eventModels[0]!;
  const stamp = ['timestamp', 'application', 'asterisk_id', 'seq', 'caused_by', 'traceparent', 'tracestate'];
  const stampOf = {
    ...first,
    description: 'What every event has.',
    properties: Object.fromEntries(stamp.map((name) => [name, first.properties?.[name] ?? {}])),
  };
  // Asterisk numbers no events.
  const stampRequired = { ...stampOf, required: ['timestamp', 'application', 'asterisk_id'] };
  const union = eventModels.map(([name]) => `  ${name}: ${name};\n`).join('');
  return [
    '// Written from the operations and models by `npm run client`; do not edit.\n',
    "import type { RequestOptions } from './requests.ts';\n",
    ...[...models].sort(([a], [b]) => a.localeCompare(b)).map(([name, schema]) => interfaceOf(name, schema)),
    interfaceOf('EventStamp', stampRequired),
    ...eventModels.map(([name, schema]) => interfaceOf(name, schema, stamp, 'extends EventStamp ')),
    `/** Every event by its type. */\nexport interface Events {\n${union}}\n`,
    declarations(ari, 'AriOperations'),
    declarations(hookswitch, 'OwnOperations'),
    table(ari, 'ariOperations'),
    table(hookswitch, 'ownOperations'),
  ].join('\n');
}

const wanted = code();
const present = (() => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
})();
if (process.argv.includes('--check')) {
  if (present !== wanted) console.error('packages/client/src/generated.ts is not up to date: run npm run client');
  process.exitCode = present === wanted ? 0 : 1;
} else if (present !== wanted) writeFileSync(file, wanted);
