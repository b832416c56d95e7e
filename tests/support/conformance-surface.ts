import { readFileSync } from 'node:fs';

/** Facts about the interface: its operations, parameters, models and events, as clients of Asterisk know them. */
export type Surface = {
  /** Modules each resource names. */
  resources: Record<string, string[]>;
  /** Types of all events. */
  events: string[];
  /** By `METHOD /path`; a parameter is `where type [list] [required]`. */
  operations: Record<string, { resource: string; returns: string; params: Record<string, string> }>;
  /** By name; a member whose name ends with `?` may be absent. */
  models: Record<string, Record<string, string>>;
};

export const surface = JSON.parse(
  readFileSync(new URL('../conformance/surface.json', import.meta.url), 'utf8'),
) as Surface;

/** Members that Hookswitch sends beyond Asterisk's; docs/differences.md has them. */
const additions: Readonly<Record<string, string>> = {
  seq: 'int',
  caused_by: 'string',
  failed_media_uris: 'List[string]',
  creation: 'Date',
};
/** Members that Asterisk sends without documenting them, or documents otherwise than it sends them. */
const undocumented: Readonly<Record<string, Record<string, string>>> = {
  Endpoint: { 'max_channels?': 'int' },
  DialplanCEP: { priority: 'long or null' },
};

const stamp: Record<string, string> = {
  type: 'string',
  application: 'string',
  timestamp: 'Date',
  asterisk_id: 'string',
};
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}$/;

type Check = (value: unknown) => boolean;
const isInteger: Check = (value) => Number.isInteger(value);
const isObject: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const simple: Readonly<Record<string, Check>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  int: isInteger,
  long: isInteger,
  'long or null': (value) => value === null || isInteger(value),
  double: (value) => typeof value === 'number',
  Date: (value) => typeof value === 'string' && timestamp.test(value),
  object: isObject,
  containers: isObject,
};

function problemsOf(type: string, value: unknown, path: string): string[] {
  const item = /^List\[(\w+)\]$/.exec(type)?.[1];
  if (item !== undefined) {
    if (!Array.isArray(value)) return [`${path} is no list`];
    return value.flatMap((each, at) => problemsOf(item, each, `${path}[${at}]`));
  }
  const check = simple[type];
  if (check) return check(value) ? [] : [`${path} is no ${type}: ${JSON.stringify(value)}`];
  const model = surface.models[type];
  if (!model) return [`${path}: there is no model ${type}`];
  return memberProblems({ ...model, ...undocumented[type] }, value, path);
}

function memberProblems(model: Record<string, string>, value: unknown, path: string): string[] {
  if (!isObject(value)) return [`${path} is no object`];
  const object = value as Record<string, unknown>;
  const known = new Set<string>();
  const problems: string[] = [];
  for (const [key, type] of Object.entries(model)) {
    const name = key.replace(/\?$/, '');
    known.add(name);
    if (object[name] !== undefined) problems.push(...problemsOf(type, object[name], `${path}.${name}`));
    else if (!key.endsWith('?')) problems.push(`${path}.${name} is missing`);
  }
  for (const [name, member] of Object.entries(object)) {
    if (known.has(name)) continue;
    const type = additions[name];
    problems.push(...(type ? problemsOf(type, member, `${path}.${name}`) : [`${path}.${name} is not known`]));
  }
  return problems;
}

/** Where a value does not fit a type such as `Channel` or `List[string]`, member by member; empty when it fits. */
export const misfits = (type: string, value: unknown): string[] => problemsOf(type, value, type);

/** Where a message does not fit the model of its type, the stamp of delivery included; empty when it fits. */
export function eventMisfits(message: Record<string, unknown>): string[] {
  const type = String(message['type']);
  const model = surface.models[type];
  if (!model) return [`there is no event ${type}`];
  return memberProblems({ ...stamp, ...model }, message, type);
}
