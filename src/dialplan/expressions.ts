import { isFromNetwork, sealedValue, splitArguments, unsealed } from './arguments.ts';
import { calculate } from './calculation.ts';

/**
 * Text with `${…}` (variables and functions, substrings, nested) and `$[…]` (calculations). Compiled once at load,
 * expanded at each step. Values are never expanded again.
 */

/** Sources of values. */
export type Scope = {
  /** The value of a variable or, ending with `)`, of a function; '' where there is none. Must not throw. */
  value(name: string): string;
  /** Told what went wrong while expanding. */
  warn(message: string): void;
};

type Part = string | { variable: Template; reference?: Reference } | { calculation: Template };

/** Compiled text. `problem` says what is wrong with it; what could not be read stands for itself. */
export type Template = { text: string; parts: readonly Part[]; problem?: string };

/** Content of `${…}`: a name or function, and the requested substring. */
type Reference = { name: string; offset?: number; length?: number };

/** Longest text that an expansion gives, in characters, as in Asterisk: variables that double cannot eat the memory. */
export const longestText = 8192;
const deepestNesting = 20;

/** Compiles any text. Never throws. */
export function compile(text: string): Template {
  return new Compiler(text).template();
}

/** Whether the text means the same on every call. */
export const isConstant = (template: Template): boolean => template.parts.every((part) => typeof part === 'string');

/** The text with everything replaced, at most {@link longestText} characters. Never throws. */
export function expand(template: Template, scope: Scope): string {
  let text = '';
  for (const part of template.parts) {
    if (typeof part === 'string') text += part;
    else if ('variable' in part) {
      const reference = part.reference ?? parseReference(expandChoice(part.variable, scope));
      text += piece(
        isChoice(part.variable) ? unsealed(scope.value(reference.name)) : scope.value(reference.name),
        reference,
      );
    } else text += calculated(expandQuoted(part.calculation, scope), scope);
    if (text.length > longestText) {
      scope.warn(`text longer than ${longestText} characters is cut`);
      return text.slice(0, longestText);
    }
  }
  return text;
}

/** `IF(condition?this:that)` is split where the dialplan has it, unless one variable holds all of it. */
const isChoice = ({ text, parts }: Template): boolean =>
  text.startsWith('IF(') && text.endsWith(')') && text.includes('?') && parts.length > 1;

const expandChoice = (template: Template, scope: Scope): string =>
  isChoice(template) ? expandEach(template, scope, sealedValue) : expand(template, scope);

/** A calculation. A quoted part is one word, whatever its variables hold. */
const expandQuoted = (template: Template, scope: Scope): string =>
  expandEach(template, scope, (value, before) => (isInQuotes(before) ? sealedValue(value) : value));

const isInQuotes = (before: string): boolean => before.split('"').length % 2 === 0;

/** Everything replaced, each value changed by what the configuration has before it. */
function expandEach(template: Template, scope: Scope, change: (value: string, before: string) => string): string {
  let text = '';
  let configured = '';
  for (const part of template.parts)
    if (typeof part === 'string') {
      configured += part;
      text += part;
    } else text += change(expand({ text: '', parts: [part] }, scope), configured);
  if (text.length > longestText) scope.warn(`text longer than ${longestText} characters is cut`);
  return text.slice(0, longestText);
}

/** Stands for what is replaced while a text is split. */
const placeholder = '\0';

/**
 * The same, and split at the commas that are configured: what a variable holds adds no argument. A text that is one reference and
 * nothing else may hold all of them, unless the network chose its value.
 */
export function expandArguments(template: Template, scope: Scope): { data: string; args: string[] } {
  const parts = template.parts.filter((part) => typeof part !== 'string' || part.trim() !== '');
  if (parts.length <= 1 && typeof parts[0] !== 'string' && !isFromNetwork(template.text)) {
    const data = expand(template, scope);
    return { data, args: splitArguments(data) };
  }
  const values: string[] = [];
  let masked = '';
  for (const part of template.parts)
    if (typeof part === 'string') masked += part.replaceAll(placeholder, '');
    else {
      values.push(expand({ text: '', parts: [part] }, scope));
      masked += placeholder;
    }
  const data = filled(masked, values.values());
  if (data.length > longestText) scope.warn(`text longer than ${longestText} characters is cut`);
  const left = values.values();
  const args = splitArguments(masked).map((each) => filled(each, left).slice(0, longestText));
  return { data: data.slice(0, longestText), args };
}

const filled = (masked: string, values: Iterator<string>): string =>
  masked.replaceAll(placeholder, () => values.next().value ?? '');

function calculated(text: string, scope: Scope): string {
  const result = calculate(text);
  if (result === undefined) scope.warn(`"${text}" cannot be calculated`);
  return result ?? '';
}

/** Reads `NAME`, `NAME:offset`, `NAME:offset:length` and the same with `FUNCTION(…)`. A function ends at the last `)`. */
function parseReference(text: string): Reference {
  const close = text.indexOf('(') > 0 ? text.lastIndexOf(')') : -1;
  const end = text.indexOf(':', close + 1);
  if (end < 0) return { name: text };
  const [, offset, length] = /^:(-?\d*)(?::(-?\d*))?$/.exec(text.slice(end)) ?? [];
  const reference: Reference = { name: text.slice(0, end) };
  if (offset) reference.offset = Number(offset);
  if (length) reference.length = Number(length);
  return reference;
}

/** A negative offset counts from the end; a negative length leaves that many characters off the end. */
function piece(value: string, { offset = 0, length }: Reference): string {
  const start = offset < 0 ? Math.max(0, value.length + offset) : offset;
  const end = length === undefined ? value.length : length < 0 ? value.length + length : start + length;
  return end > start ? value.slice(start, end) : '';
}

class Compiler {
  readonly #text: string;
  #at = 0;
  #problem: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  template(): Template {
    const template = this.#until('', 0);
    return this.#problem === undefined ? template : { ...template, problem: this.#problem };
  }

  /** Reads up to `end` (not taken), or to the end of the text. */
  #until(end: '' | '}' | ']', depth: number): Template {
    const parts: Part[] = [];
    const start = this.#at;
    let literal = start;
    let brackets = 0;
    const flush = (to: number): void => {
      if (to > literal) parts.push(this.#text.slice(literal, to));
    };
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (char === end && brackets === 0) break;
      // Inside `$[…]` plain square brackets belong to the calculation's words (IPv6 addresses, sets).
      if (end === ']' && char === '[') brackets++;
      if (end === ']' && char === ']') brackets--;
      const next = char === '$' ? this.#text[this.#at + 1] : undefined;
      if (next !== '{' && next !== '[') {
        this.#at++;
        continue;
      }
      flush(this.#at);
      literal = this.#at;
      const part = this.#part(next, depth);
      if (part === undefined) break;
      parts.push(part);
      literal = this.#at;
    }
    flush(this.#at);
    return { text: this.#text.slice(start, this.#at), parts };
  }

  /** Reads one `${…}` or `$[…]`. Text that is never closed, or nested too deep, stays as it is. */
  #part(open: '{' | '[', depth: number): Part | undefined {
    const close = open === '{' ? '}' : ']';
    if (depth >= deepestNesting) return this.#giveUp(`more than ${deepestNesting} levels of "$\{" or "$["`);
    this.#at += 2;
    const inner = this.#until(close, depth + 1);
    if (this.#at >= this.#text.length) return this.#giveUp(`"$${open}" is not closed by "${close}"`);
    this.#at++;
    if (open === '[') return { calculation: inner };
    return isConstant(inner) ? { variable: inner, reference: parseReference(inner.text) } : { variable: inner };
  }

  #giveUp(problem: string): undefined {
    this.#problem ??= problem;
    this.#at = this.#text.length;
    return undefined;
  }
}
