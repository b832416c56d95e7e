import { AriError } from '../models/errors.ts';
import type { Named, Param, Params } from './operation.ts';

/** Most items that a list may have. */
const maxItems = 127;

/** Sources of parameters, besides the path. Later ones win: form, query, JSON body. */
export type Sources = {
  query: ReadonlyMap<string, string> | undefined;
  form: ReadonlyMap<string, string> | undefined;
  /** The parsed JSON body; undefined when there was none. */
  json: unknown;
};

/** Reads an operation's parameters; the path's variables are put in first. @throws AriError 400 */
export type ParamReader = (path: Record<string, string>, sources: Sources) => Record<string, unknown>;

function decode(encoded: string): string {
  if (!encoded.includes('%') && !encoded.includes('+')) return encoded;
  const spaced = encoded.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return Buffer.from(decodeBytes(spaced), 'latin1').toString('utf8');
  }
}

/** Percent sequences to bytes (as latin1 characters); what is no sequence stays as it is. */
function decodeBytes(encoded: string): string {
  return Buffer.from(encoded, 'utf8')
    .toString('latin1')
    .replaceAll(/%([0-9a-fA-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Reads `a=1&b=2`; of a name that comes twice the last counts. A `+` is a space; a broken `%` stays as it is. */
export function parsePairs(encoded: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const pair of encoded.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    if (equals < 0) pairs.set(decode(pair), '');
    else pairs.set(decode(pair.slice(0, equals)), decode(pair.slice(equals + 1)));
  }
  return pairs;
}

/** The query of a URL, undefined when there is none. */
export function queryOf(url: string): Map<string, string> | undefined {
  const start = url.indexOf('?');
  if (start < 0 || start === url.length - 1) return undefined;
  const end = url.indexOf('#', start);
  return parsePairs(end < 0 ? url.slice(start + 1) : url.slice(start + 1, end));
}

/**
 * Splits a comma-separated list as Asterisk does. Quotes protect commas and are removed. Commas in parentheses or
 * brackets do not split. A backslash protects the next character. Items are not trimmed; `''` is one empty item.
 */
export function splitList(list: string): string[] {
  const items: string[] = [];
  let item = '';
  let quoted = false;
  let depth = 0;
  for (let at = 0; at < list.length; at++) {
    const char = list[at] as string;
    if (char === '\\' && at + 1 < list.length) item += list[++at];
    else if (char === '"') quoted = !quoted;
    else if (char === ',' && !quoted && depth === 0) {
      items.push(item);
      item = '';
    } else {
      if (!quoted && (char === '(' || char === '[')) depth++;
      else if (!quoted && depth > 0 && (char === ')' || char === ']')) depth--;
      item += char;
    }
  }
  items.push(item);
  return items;
}

const bounds = { int: 2 ** 31 - 1, long: Number.MAX_SAFE_INTEGER } as const;

const clamp = (value: number, most: number): number => Math.max(-most - 1, Math.min(most, value));

/** The number that text begins with, 0 when it begins with none (as C's `atoi`), kept within the type's bounds. */
export function readInteger(text: string, type: 'int' | 'long'): number {
  const digits = /^\s*([+-]?\d+)/.exec(text)?.[1];
  return digits === undefined ? 0 : clamp(Number(digits), bounds[type]);
}

const trueWords = new Set(['yes', 'true', 'y', 't', '1', 'on']);

/** `yes true y t 1 on` in any case are true, everything else is false. */
export const readBoolean = (text: string): boolean => trueWords.has(text.toLowerCase());

function limited(name: string, items: string[]): string[] {
  if (items.length <= maxItems) return items;
  throw new AriError('tooManyValues', { name: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) });
}

function fromText(name: string, param: Param, text: string): unknown {
  switch (param.type) {
    case 'string':
      return text;
    case 'int':
    case 'long':
      return readInteger(text, param.type);
    case 'boolean':
      return readBoolean(text);
    case 'list':
      return limited(name, splitList(text));
    case 'object':
      return undefined;
  }
}

function listFromJson(name: string, value: unknown): string[] | undefined {
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) return undefined;
  if (!value.every((item) => typeof item === 'string')) {
    throw new AriError('parameterInvalid', { name, expected: 'a list of strings' });
  }
  return limited(name, value);
}

function fromJson(name: string, param: Param, value: unknown): unknown {
  switch (param.type) {
    case 'string':
      return typeof value === 'string' ? value : undefined;
    case 'int':
    case 'long':
      return Number.isInteger(value) ? clamp(value as number, bounds[param.type]) : 0;
    case 'boolean':
      return value === true;
    case 'list':
      return listFromJson(name, value);
    case 'object':
      return value;
  }
}

const kinds: Partial<Record<Param['type'], { isKind(value: unknown): boolean; expected: string }>> = {
  string: { isKind: (value) => typeof value === 'string', expected: 'a string' },
  int: { isKind: Number.isInteger, expected: 'a whole number' },
  boolean: { isKind: (value) => typeof value === 'boolean', expected: 'true or false' },
  list: { isKind: (value) => typeof value === 'string' || Array.isArray(value), expected: 'a list of strings' },
};

/** @throws AriError parameterInvalid for a JSON value of another type; null stands for a parameter that is left out. */
function requireType(name: string, { type }: Param, value: unknown): void {
  const kind = kinds[type];
  if (kind && value !== null && !kind.isKind(value))
    throw new AriError('parameterInvalid', { name, expected: kind.expected });
}

function find(names: readonly string[], pairs: ReadonlyMap<string, string> | undefined): string | undefined {
  if (pairs === undefined) return undefined;
  for (const name of names) {
    const text = pairs.get(name);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Names of objects are trimmed here and nowhere else, so scope checks and operations use the same name. */
const trimmed: ReadonlySet<Named> = new Set<Named>([
  ...(['channel', 'bridge', 'playback', 'recording', 'call', 'application', 'variable', 'variables'] as const),
]);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const asItIs = (value: unknown): unknown => value;

function withoutSpaces(value: unknown): unknown {
  if (typeof value === 'string') return value.trim();
  if (Array.isArray(value)) return value.map(withoutSpaces);
  if (!isObject(value)) return value;
  // Of an object the names of its members: those of variables. Most have no spaces around them.
  const entries = Object.entries(value);
  if (entries.every(([name]) => name === name.trim())) return value;
  return Object.fromEntries(entries.map(([name, member]) => [name.trim(), member]));
}

/** One parameter, made ready: its value from the sources, undefined when none has it. */
type Reader = { name: string; read(sources: Sources, members: object | undefined): unknown };

function readerOf(name: string, param: Param): Reader {
  const names = [name, ...(param.aliases ?? [])];
  const text = (sources: Sources) => find(names, sources.query) ?? find(names, sources.form);
  const tidy = param.names !== undefined && trimmed.has(param.names) ? withoutSpaces : asItIs;
  const read = (sources: Sources, members: object | undefined): unknown => {
    if (param.whole) return param.type === 'string' && typeof sources.json !== 'string' ? undefined : sources.json;
    const member = members && names.find((candidate) => Object.hasOwn(members, candidate));
    if (members && member !== undefined) {
      const given = (members as Record<string, unknown>)[member];
      if (param.strict) requireType(name, param, given);
      return tidy(fromJson(name, param, given));
    }
    const given = text(sources);
    return given === undefined ? undefined : tidy(fromText(name, param, given));
  };
  const { min } = param;
  if (min === undefined) return { name, read };
  return {
    name,
    read: (sources, members) => {
      const value = read(sources, members);
      if (typeof value !== 'number' || value >= min) return value;
      throw new AriError('parameterInvalid', { name, expected: `a whole number from ${min}` });
    },
  };
}

/**
 * Makes the reader of an operation's parameters once, so that a request without any costs nothing.
 * @param fixed words that are no ids of new things, by the path under which these would be found.
 */
export function createParamReader(
  params: Params,
  fixed: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): ParamReader {
  const read = readerOfAll(params);
  const ids = Object.entries(params).flatMap(([name, { newIn = '' }]) => {
    const words = fixed.get(newIn);
    return words ? [{ name, words, path: newIn }] : [];
  });
  if (ids.length === 0) return read;
  return (before, sources) => {
    const values = read(before, sources);
    for (const { name, words, path } of ids) {
      const id = values[name];
      if (typeof id === 'string' && words.has(id))
        throw new AriError('parameterInvalid', { name, expected: `another id: ${path}/${id} is an operation` });
    }
    return values;
  };
}

function readerOfAll(params: Params): ParamReader {
  const readers = Object.entries(params)
    .filter(([, param]) => param.in !== 'path')
    .map(([name, param]) => readerOf(name, param));
  return (values: Record<string, unknown>, sources) => {
    if (readers.length === 0 || (!sources.query && !sources.form && sources.json === undefined)) return values;
    const members = isObject(sources.json) ? sources.json : undefined;
    for (const { name, read } of readers) {
      const value = read(sources, members);
      if (value !== undefined) values[name] = value;
    }
    return values;
  };
}
