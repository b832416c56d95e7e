import { ariErrors } from '../../models/errors.ts';
import { ErrorBody } from '../../models/websocket-messages.ts';
import type { Api, Operation, Param, Resource } from '../operation.ts';
import { collectModels, type JsonSchema, plain, withReferences } from './schemas.ts';

const prefix = '#/components/schemas/';

/** The named models as components. */
export function components(schemas: readonly JsonSchema[]): Record<string, object> {
  const models = new Map<string, JsonSchema>();
  for (const schema of schemas) collectModels(schema, models);
  return Object.fromEntries([...models].sort().map(([name, schema]) => [name, withReferences(schema, prefix)]));
}

function schemaOf({ type, default: fallback, allowed, min }: Param): object {
  const types: Record<Param['type'], object> = {
    string: { type: 'string' },
    int: { type: 'integer', format: 'int32' },
    long: { type: 'integer', format: 'int64' },
    boolean: { type: 'boolean' },
    list: { type: 'array', items: { type: 'string', ...(allowed && { enum: allowed }) } },
    object: { type: 'object' },
  };
  return {
    ...types[type],
    ...(type !== 'list' && allowed && { enum: allowed }),
    ...(fallback !== undefined && { default: fallback }),
    ...(min !== undefined && { minimum: min }),
  };
}

const parameter = ([name, param]: readonly [string, Param]): object => ({
  name,
  in: param.in,
  description: param.description,
  required: param.required === true,
  schema: schemaOf(param),
  ...(param.type === 'list' && { style: 'form', explode: false }),
});

function requestBody({ params }: Operation): object | undefined {
  const members = Object.entries(params).filter(([, param]) => param.in === 'body');
  if (members.length === 0) return undefined;
  const whole = members.find(([, param]) => param.whole);
  const properties = members.map(([name, param]) => [name, { description: param.description }]);
  if (whole?.[1].type === 'string') return { content: { 'application/sdp': { schema: { type: 'string' } } } };
  const schema = whole ? { type: 'object' } : { type: 'object', properties: Object.fromEntries(properties) };
  return { content: { 'application/json': { schema } } };
}

const errorContent = { 'application/json': { schema: { $ref: `${prefix}Error` } } };

function responses(operation: Operation): object {
  const answers: Record<string, object> = {};
  const content = operation.returns && {
    content: {
      [operation.content ?? (operation.file ? 'audio/*' : 'application/json')]: {
        schema: withReferences(plain(operation.returns), prefix, false),
      },
    },
  };
  const status = operation.upgrade ? 101 : operation.status;
  answers[status] = { description: operation.summary, ...(operation.upgrade ? {} : content) };
  const messages = new Map<number, string[]>([[401, [ariErrors.authenticationRequired.message]]]);
  for (const code of operation.errors) {
    const { status: refused, message } = ariErrors[code];
    messages.set(refused, [...(messages.get(refused) ?? []), message]);
  }
  for (const [refused, texts] of messages) {
    answers[refused] = { description: texts.join('; '), content: errorContent };
  }
  return answers;
}

/** Operation ids are unique in the whole document: the resource and the nickname. */
const describe = (resource: Resource, operation: Operation, alias: number): object => ({
  tags: [resource.name],
  operationId: `${resource.name}.${operation.nickname}${alias === 0 ? '' : `.${alias + 1}`}`,
  summary: operation.summary,
  ...(operation.notes && { description: operation.notes }),
  parameters: Object.entries(operation.params)
    .filter(([, param]) => param.in !== 'body')
    .map(parameter),
  ...(requestBody(operation) && { requestBody: requestBody(operation) }),
  responses: responses(operation),
});

/** The OpenAPI 3.1 description of an API's operations; given the `Host` that was asked, its addresses lead back there. */
export function createOpenApi({ base, title, description, version, resources }: Api): (host?: string) => object {
  const paths: Record<string, Record<string, object>> = {};
  for (const resource of resources) {
    for (const operation of resource.operations) {
      operation.paths.forEach((path, alias) => {
        const here = (paths[path] ??= {});
        here[operation.method.toLowerCase()] = describe(resource, operation, alias);
      });
    }
  }
  const returned = resources.flatMap(({ operations }) => operations.flatMap(({ returns }) => returns ?? []));
  const document = {
    openapi: '3.1.0',
    info: { title, version, description },
    tags: resources.map((resource) => ({ name: resource.name, description: resource.description })),
    security: [{ basic: [] }, { apiKey: [] }, { token: [] }],
    paths,
    components: {
      schemas: components([plain(ErrorBody), ...returned.map(plain)]),
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic' },
        apiKey: { type: 'apiKey', in: 'query', name: 'api_key', description: 'user:password' },
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'of a log-in (POST /hookswitch/sessions), or of `hookswitch token`',
        },
      },
    },
  };
  return (host) => ({ ...document, servers: [{ url: host === undefined ? base : `http://${host}${base}` }] });
}
