import { ariErrors } from '../../models/errors.ts';
import { EventStamp, eventSchemas, eventTypes } from '../../models/events.ts';
import { model } from '../../models/schema.ts';
import { TextMessage } from '../../models/text-message.ts';
import {
  Message,
  MissingParams,
  RESTQueryStringParameter,
  RESTRequest,
  RESTResponse,
} from '../../models/websocket-messages.ts';
import type { Api, Operation, Param, Resource } from '../operation.ts';
import { collectModels, type JsonSchema, plain, swaggerType } from './schemas.ts';

const swaggerVersion = '1.2';

const Event = model('Event', 'Members of all events.', {
  application: EventStamp.properties.application,
  timestamp: EventStamp.properties.timestamp,
  seq: EventStamp.properties.seq,
});

/** In which order resources claim the models they return; a model is described once, by the first that has it. */
const claimOrder = [
  'playbacks',
  'sounds',
  'mailboxes',
  'deviceStates',
  'endpoints',
  'applications',
  'asterisk',
  'channels',
  'bridges',
  'recordings',
  'events',
];

const paramTypes: Readonly<Record<Param['type'], string>> = {
  string: 'string',
  int: 'int',
  long: 'long',
  boolean: 'boolean',
  list: 'string',
  object: 'containers',
};

function allowableValues({ allowed, min }: Param): object {
  if (allowed) return { allowableValues: { valueType: 'LIST', values: allowed } };
  return min === undefined ? {} : { allowableValues: { valueType: 'RANGE', min } };
}

const parameter = ([name, param]: readonly [string, Param]): object => ({
  name,
  description: param.description,
  paramType: param.in,
  required: param.required === true,
  allowMultiple: param.type === 'list',
  dataType: param.whole ? 'object' : paramTypes[param.type],
  ...(param.default !== undefined && { defaultValue: param.default }),
  ...allowableValues(param),
});

function errorResponses(operation: Operation): object[] {
  const byStatus = new Map<number, string[]>();
  for (const code of operation.errors) {
    const { status, message } = ariErrors[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), message]);
  }
  return [...byStatus].sort(([a], [b]) => a - b).map(([code, reasons]) => ({ code, reason: reasons.join('; ') }));
}

const describe = (operation: Operation): object => ({
  httpMethod: operation.method,
  summary: operation.summary,
  ...(operation.notes && { notes: operation.notes }),
  ...(operation.upgrade && { upgrade: 'websocket', websocketProtocol: 'ari' }),
  nickname: operation.nickname,
  responseClass: operation.returns ? swaggerType(plain(operation.returns)) : 'void',
  parameters: Object.entries(operation.params)
    .filter(([, param]) => !param.own)
    .map(parameter),
  errorResponses: errorResponses(operation),
});

function apis({ operations }: Resource): object[] {
  const byPath = new Map<string, Operation[]>();
  for (const operation of operations) {
    const path = operation.paths[0] ?? '';
    byPath.set(path, [...(byPath.get(path) ?? []), operation]);
  }
  return [...byPath].map(([path, here]) => ({
    path,
    description: here.map(({ summary }) => summary).join(' '),
    operations: here.map(describe),
  }));
}

function property(schema: JsonSchema, required: boolean): object {
  return {
    type: swaggerType(schema),
    description: schema.description ?? '',
    required,
    ...(schema.enum && { allowableValues: { valueType: 'LIST', values: schema.enum } }),
  };
}

/** A model; what its base already has is left out. */
function describeModel(schema: JsonSchema, inherited: readonly string[] = []): object {
  const properties = Object.entries(schema.properties ?? {})
    .filter(([name]) => !inherited.includes(name))
    .map(([name, child]) => [name, property(child, schema.required?.includes(name) === true)]);
  return { id: schema.$id, description: schema.description ?? '', properties: Object.fromEntries(properties) };
}

const events = eventTypes.map((type) => plain(eventSchemas[type]));

/** Messages and events: a base that lists its subtypes, and `type` as discriminator. */
function eventModels(): Record<string, object> {
  const ofEvent = ['type', 'asterisk_id', ...Object.keys(Event.properties)];
  const all = [...events, plain(RESTResponse)].map((event) => [event.$id, describeModel(event, ofEvent)]);
  const subTypes = [...eventTypes, 'RESTResponse'];
  return {
    Message: { ...describeModel(plain(Message)), discriminator: 'type', subTypes: ['MissingParams', 'Event'] },
    MissingParams: describeModel(plain(MissingParams), ['type', 'asterisk_id']),
    Event: { ...describeModel(plain(Event)), discriminator: 'type', subTypes },
    ...Object.fromEntries(all),
    RESTQueryStringParameter: describeModel(plain(RESTQueryStringParameter)),
    RESTRequest: describeModel(plain(RESTRequest)),
  };
}

function modelsOf(resource: Resource): Map<string, JsonSchema> {
  const models = new Map<string, JsonSchema>();
  if (resource.name === 'endpoints') collectModels(plain(TextMessage), models);
  if (resource.name === 'events') {
    for (const { properties } of events) collectModels({ properties: properties ?? {} }, models);
    return models;
  }
  for (const { returns } of resource.operations) if (returns) collectModels(plain(returns), models);
  return models;
}

/** The models of every resource by its name, each model with one resource only. */
function claim(resources: readonly Resource[]): Map<string, JsonSchema[]> {
  const claimed = new Set<string>();
  const byResource = new Map<string, JsonSchema[]>();
  for (const name of claimOrder) {
    const resource = resources.find((candidate) => candidate.name === name);
    if (!resource) continue;
    const own = [...modelsOf(resource).values()].filter(({ $id }) => !claimed.has($id ?? ''));
    for (const { $id } of own) claimed.add($id ?? '');
    byResource.set(name, own);
  }
  return byResource;
}

const baseOf = (base: string, host: string | undefined) =>
  host === undefined ? {} : { basePath: `http://${host}${base}` };

/** The Swagger 1.2 description: `resources.json` and a file for each resource; undefined for any other name. */
export function createSwagger({ base, version, resources }: Api): (file: string, host?: string) => object | undefined {
  const models = claim(resources);
  const listing = resources.map(({ name, description }) => ({ path: `/api-docs/${name}.{format}`, description }));
  const files = new Map<string, object>([['resources.json', { apis: listing }]]);
  for (const resource of resources) {
    const own = (models.get(resource.name) ?? []).map((schema) => [schema.$id, describeModel(schema)]);
    files.set(`${resource.name}.json`, {
      resourcePath: `/api-docs/${resource.name}.{format}`,
      requiresModules: resource.requiresModules ?? [],
      apis: apis(resource),
      models: { ...Object.fromEntries(own), ...(resource.name === 'events' && eventModels()) },
    });
  }
  return (file, host) => {
    const found = files.get(file);
    return found && { apiVersion: version, swaggerVersion, ...baseOf(base, host), ...found };
  };
}
