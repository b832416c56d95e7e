import { createHash } from 'node:crypto';
import { splitArguments } from './arguments.ts';
import { splitBranches, unquoted } from './branches.ts';
import { isTrue } from './calculation.ts';
import { compileSearch, search } from './search.ts';
import { formatTime } from './times.ts';

/** Values that text functions look up. */
export type Values = {
  /** The value of a variable, '' where there is none. */
  value(name: string): string;
  /** Wall-clock time, in ms since the epoch. */
  now(): number;
};

/** Reads a function from the text in its parentheses; undefined if it is invalid. */
type TextFunction = (text: string, values: Values) => string | undefined;

/** Separators as they may be written: `\n`, `\t`, `\\`, or the first character. Nothing means a dash. */
const separatorOf = (text: string): string =>
  ({ '\\n': '\n', '\\t': '\t', '\\\\': '\\', n: 'n' })[text] ?? (text.charAt(0) || '-');

/** Arguments as they are written, as a separator may be a comma in quotes or a backslash. */
const separators = (text: string): string => (text === '","' ? ',' : text);

/** `CUT(name,separator,fields)`: fields count from 1, `2`, `2-`, `-3`, `1&3-4`. */
const cut: TextFunction = (text, { value }) => {
  const [name = '', separator = '', fields = ''] = splitArguments(text);
  const wanted = fields.trim();
  if (wanted === '' || !/^[\d&-]+$/.test(wanted)) return undefined;
  const mark = separatorOf(separators(separator));
  const parts = value(name.trim()).split(mark);
  const found: string[] = [];
  for (const range of wanted.split('&')) {
    const [first = '', last] = range.split('-');
    const from = Math.max(1, Number(first) || 1);
    const to = last === undefined ? from : Number(last) || parts.length;
    if (first === '' && last === undefined) return undefined;
    found.push(...parts.slice(from - 1, to));
    if (found.length > longestList) return undefined;
  }
  return found.join(mark);
};

/** The most fields of one CUT: a list of ranges can repeat fields. */
const longestList = 8_192;

/** `FIELDQTY(name,separator)`: how many fields there are. */
const fieldQuantity: TextFunction = (text, { value }) => {
  const [name = '', separator = ''] = splitArguments(text);
  const found = value(name.trim());
  return String(found === '' ? 0 : found.split(separatorOf(separators(separator))).length);
};

/** Characters that a FILTER lets through: `0-9`, `a-zA-Z_`, `\x20`. */
function allowedCharacters(text: string): Set<string> {
  const plain = text.replaceAll(/\\x([0-9a-fA-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const allowed = new Set<string>();
  for (let at = 0; at < plain.length; at++) {
    const isRange = plain[at + 1] === '-' && at + 2 < plain.length;
    const [first, last] = [plain.charCodeAt(at), plain.charCodeAt(isRange ? at + 2 : at)];
    for (let code = first; code <= last; code++) allowed.add(String.fromCharCode(code));
    if (isRange) at += 2;
  }
  return allowed;
}

/** `FILTER(allowed,text)`: the characters of a text that are allowed. */
const filter: TextFunction = (text) => {
  const comma = text.indexOf(',');
  if (comma < 1) return undefined;
  const allowed = allowedCharacters(text.slice(0, comma));
  return [...text.slice(comma + 1)].filter((char) => allowed.has(char)).join('');
};

/** `REPLACE(name,characters[,character])`: each of the characters is replaced, or left out. */
const replace: TextFunction = (text, { value }) => {
  const [name = '', characters = '', by = ''] = splitArguments(text);
  if (characters === '') return undefined;
  const wanted = allowedCharacters(characters);
  return [...value(name.trim())].map((char) => (wanted.has(char) ? by.charAt(0) : char)).join('');
};

/** `REGEX("expression" text)`: 1 when the text has something that fits. */
const regex: TextFunction = (text) => {
  const found = /^\s*"((?:[^"\\]|\\.)*)" ?(.*)$/s.exec(text);
  const expression = found ? compileSearch(found[1]!) : undefined;
  return expression && (search(expression, found?.[2] ?? '') ? '1' : '0');
};

/** `STRFTIME([seconds since the epoch][,[time zone][,format]])`. */
const strftime: TextFunction = (text, { now }) => {
  const [seconds = '', zone = '', ...format] = splitArguments(text);
  if (!/^\d{0,12}(\.\d{0,9})?$/.test(seconds.trim())) return undefined;
  const ms = seconds.trim() === '' ? now() : Number(seconds) * 1000;
  return formatTime(ms, zone.trim(), format.join(',') || '%c');
};

const operators: Readonly<Record<string, (a: number, b: number) => number | boolean>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
  '==': (a, b) => a === b,
};

/** A number of up to 15 digits on either side of its point. */
const readNumber = (text: string): number | undefined =>
  /^-?\d{1,15}(\.\d{0,15})?$/.test(text.trim()) ? Number(text) : undefined;

/** `MATH(a op b[,type])`: `int` cuts off the fraction, `float` keeps two digits as Asterisk does, which is usual. */
const math: TextFunction = (text) => {
  const [sum = '', type = 'float'] = splitArguments(text);
  // The operator is looked for behind the first character, which may be the sign of the first number.
  const at =
    sum
      .trim()
      .slice(1)
      .search(/[-+*/%<>=]/) + 1;
  const [, operator = '', right = ''] = /^(<=|>=|==|[-+*/%<>])(.*)$/s.exec(sum.trim().slice(at)) ?? [];
  const [a, b] = [sum.trim().slice(0, at), right].map(readNumber);
  const result = at < 1 || a === undefined || b === undefined ? undefined : operators[operator]?.(a, b);
  if (typeof result === 'boolean') return String(result).toUpperCase();
  if (result === undefined || !Number.isFinite(result)) return undefined;
  return type.trim().toLowerCase().startsWith('i') ? String(Math.trunc(result)) : result.toFixed(6);
};

/** `IF(condition?this:that)`; either may be missing, or stand in quotes. */
const choose: TextFunction = (text) => {
  const branches = splitBranches(text);
  return branches && unquoted(isTrue(branches.condition) ? branches.yes : branches.no);
};

/** Text as it stands in a URI; undefined where there is half a character. */
function encoded(text: string): string | undefined {
  try {
    return encodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Decodes a URI; undefined for an invalid one. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Functions that make texts of texts, by name in capitals. */
export const textFunctions: Readonly<Record<string, TextFunction>> = {
  CUT: cut,
  EXISTS: (text) => (text === '' ? '0' : '1'),
  FIELDQTY: fieldQuantity,
  FILTER: filter,
  IF: choose,
  ISNULL: (text) => (text === '' ? '1' : '0'),
  LEN: (text) => String(text.length),
  MATH: math,
  MD5: (text) => createHash('md5').update(text, 'utf8').digest('hex'),
  QUOTE: (text) => `"${text.replaceAll(/[\\"]/g, '\\$&')}"`,
  REGEX: regex,
  REPLACE: replace,
  STRFTIME: strftime,
  TOLOWER: (text) => text.toLowerCase(),
  TOUPPER: (text) => text.toUpperCase(),
  URIDECODE: decoded,
  URIENCODE: encoded,
};
