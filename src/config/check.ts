/**
 * Checks a value against a typebox schema, fills in defaults and reports errors in plain words. typebox's own errors
 * use JSON Schema keywords. Users need the key, the value found there, and the allowed values.
 */
import { shownText } from '../lib/shown-url.ts';

/** A position in the configuration: keys and list positions from the top. */
export type Path = readonly (string | number)[];

/** Something wrong. `atKey`: the key itself is at fault, not its value. */
export type Problem = { path: Path; message: string; atKey?: boolean };

/** The parts of JSON Schema that the configuration uses. */
export type Node = {
  type?: string;
  description?: string;
  default?: unknown;
  unit?: string;
  rule?: string;
  commaList?: boolean;
  /** Anything fits here: it is checked elsewhere. */
  opaque?: boolean;
  enum?: readonly unknown[];
  /** Values that others know and that are not supported here: no slip of the pen. */
  absent?: readonly string[];
  anyOf?: readonly Node[];
  properties?: Readonly<Record<string, Node>>;
  patternProperties?: Readonly<Record<string, Node>>;
  items?: Node | readonly Node[];
  required?: readonly string[];
  minimum?: number;
  maximum?: number;
  minItems?: number;
  minLength?: number;
  pattern?: string;
};

/**
 * The value with defaults filled in, made of new objects. Problems are added to `problems`; where there is one the
 * value is kept as it was, so that everything wrong is found in one go.
 */
export function check(schema: object, value: unknown, problems: Problem[], path: Path = []): unknown {
  const node = schema as Node;
  // A key with nothing behind it (`endpoints:`) means the same as no key.
  const given = value ?? node.default;
  if (node.opaque) return given;
  if (node.anyOf) return checkUnion(node.anyOf, given, problems, path);
  if (node.enum) return checkChoice(node as Node & Required<Pick<Node, 'enum'>>, given, problems, path);
  switch (node.type) {
    case 'object':
      return checkObject(node, given ?? {}, problems, path);
    case 'array':
      return checkList(node, given, problems, path);
    case 'string':
      return checkText(node, given, problems, path);
    case 'boolean':
      if (typeof given !== 'boolean') wrong(problems, path, 'expected true or false', given);
      return given;
    default:
      return checkNumber(node, given, problems, path);
  }
}

function checkObject(node: Node, value: unknown, problems: Problem[], path: Path): unknown {
  if (typeof value !== 'object' || Array.isArray(value)) {
    wrong(problems, path, 'expected a mapping of keys and values', value);
    return value;
  }
  const given = value as Record<string, unknown>;
  const each = node.patternProperties && Object.values(node.patternProperties)[0];
  if (each)
    return Object.fromEntries(
      Object.entries(given).map(([key, child]) => [key, check(each, child, problems, [...path, key])]),
    );
  return checkProperties(node, given, problems, path);
}

/** The properties that are set, or have a default. */
function checkProperties(node: Node, given: Record<string, unknown>, problems: Problem[], path: Path): unknown {
  const properties = node.properties ?? {};
  for (const key of Object.keys(given))
    if (!Object.hasOwn(properties, key)) problems.push(unknownKey(key, Object.keys(properties), path));
  const filled: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(properties)) {
    const present = given[key] !== undefined && given[key] !== null;
    if (present || child.default !== undefined || child.properties) {
      if (present || node.required?.includes(key)) filled[key] = check(child, given[key], problems, [...path, key]);
    } else if (node.required?.includes(key)) problems.push({ path, message: `\`${key}\` is missing` });
  }
  return filled;
}

function checkList(node: Node, value: unknown, problems: Problem[], path: Path): unknown {
  const given = node.commaList && typeof value === 'string' ? splitCommas(value) : value;
  if (!Array.isArray(given)) {
    wrong(problems, path, 'expected a list', value);
    return value;
  }
  const tuple = Array.isArray(node.items) ? (node.items as readonly Node[]) : undefined;
  if (tuple && given.length !== tuple.length) wrong(problems, path, `expected ${tuple.length} values`, value);
  if (given.length < (node.minItems ?? 0) && !tuple)
    problems.push({ path, message: 'the list is empty; expected at least one entry' });
  return given.map((item, index) => {
    const child = tuple ? tuple[index] : (node.items as Node);
    return child ? check(child, item, problems, [...path, index]) : item;
  });
}

const splitCommas = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

function checkText(node: Node, value: unknown, problems: Problem[], path: Path): unknown {
  // YAML reads 1000 and 2.10 as numbers where a name or password is meant; what was written may be lost (2.10).
  if (typeof value === 'number' || typeof value === 'boolean')
    wrong(problems, path, 'expected text: put it in quotes', value);
  else if (typeof value !== 'string') wrong(problems, path, 'expected text', value);
  else if (value.length < (node.minLength ?? 0)) problems.push({ path, message: 'the text must not be empty' });
  else if (node.pattern && !new RegExp(node.pattern).test(value))
    wrong(problems, path, node.description ?? 'this text is not allowed', value);
  return value;
}

function checkNumber(node: Node, value: unknown, problems: Problem[], path: Path): unknown {
  const whole = node.type === 'integer';
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = node;
  const unit = node.unit && node.unit !== 'port' ? ` (${node.unit})` : '';
  const wanted = `expected a ${whole ? 'whole ' : ''}number from ${minimum} to ${maximum}${unit}`;
  const fits = typeof value === 'number' && (!whole || Number.isInteger(value)) && value >= minimum && value <= maximum;
  if (!fits) wrong(problems, path, wanted, value);
  return value;
}

function checkChoice(
  { enum: allowed, absent = [] }: Node & Required<Pick<Node, 'enum'>>,
  value: unknown,
  problems: Problem[],
  path: Path,
): unknown {
  if (typeof value === 'string' && absent.includes(value.toLowerCase()))
    problems.push({ path, message: `${value} is not supported; expected one of ${allowed.join(', ')}` });
  else if (!allowed.includes(value)) {
    const near = typeof value === 'string' ? nearest(value, allowed.map(String)) : undefined;
    const hint = near ? `; did you mean \`${near}\`?` : '';
    problems.push({ path, message: `expected one of ${allowed.join(', ')}, found ${describe(value)}${hint}` });
  }
  return value;
}

/** Chooses the alternative of the value's type, so that the errors are relevant. */
function checkUnion(alternatives: readonly Node[], value: unknown, problems: Problem[], path: Path): unknown {
  const kind = Array.isArray(value) ? 'array' : typeof value;
  const meant = alternatives.find((node) => node.type === kind);
  if (meant) return check(meant, value, problems, path);
  return check(alternatives[0] as Node, value, problems, path);
}

function wrong(problems: Problem[], path: Path, wanted: string, found: unknown): void {
  problems.push({ path, message: `${wanted}, found ${describe(found)}` });
}

/** A value as messages show it: shortened, and without passwords of addresses. */
export function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  const json = JSON.stringify(value, (_name, each) => (typeof each === 'string' ? shownText(each) : each));
  return json.length > 60 ? `${json.slice(0, 57)}...` : json;
}

function unknownKey(key: string, known: readonly string[], path: Path): Problem {
  const near = nearest(key, known);
  const hint = near ? `did you mean \`${near}\`?` : `known here: ${known.join(', ')}`;
  return { path: [...path, key], message: `unknown key; ${hint}`, atKey: true };
}

/** The candidate that a typing slip could have turned into `word`; undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[-_ ]/g, '');
  const scored = candidates.map((name) => ({ name, slips: distance(plain(word), plain(name)) }));
  const best = scored.sort((a, b) => a.slips - b.slips)[0];
  return best && best.slips <= Math.max(1, Math.floor(word.length / 3)) ? best.name : undefined;
}

/** Letters to insert, remove, change, or exchange with their neighbour (optimal string alignment). */
function distance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let i = 0; i < from.length; i++) {
    const row = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const change = rows[i]![j]! + (from[i] === to[j] ? 0 : 1);
      const exchanged = i > 0 && j > 0 && from[i] === to[j - 1] && from[i - 1] === to[j];
      const exchange = exchanged ? rows[i - 1]![j - 1]! + 1 : change;
      row.push(Math.min(row[j]! + 1, rows[i]![j + 1]! + 1, change, exchange));
    }
    rows.push(row);
  }
  return rows[from.length]![to.length]!;
}
