/** How arguments of applications and functions are written: `a,"b,c",d\,e,F(x,y)`. */

const opening = '([';
const closing = ')]';

/**
 * Splits an argument text at its commas, except in double quotes, parentheses or square brackets, and behind a
 * backslash. Quotes and backslashes are removed; nothing is trimmed. An empty text has no arguments; a trailing comma
 * adds an empty one. Never throws.
 */
export function splitArguments(text: string): string[] {
  if (text === '') return [];
  if (!/["\\([]/.test(text)) return text.split(',');
  const found: string[] = [];
  let current = '';
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\\' && at + 1 < text.length) current += text[++at];
    else if (char === '"') quoted = !quoted;
    else if (char === ',' && depth === 0 && !quoted) {
      found.push(current);
      current = '';
    } else {
      if (!quoted && opening.includes(char)) depth++;
      else if (!quoted && closing.includes(char) && depth > 0) depth--;
      current += char;
    }
  }
  found.push(current);
  return found;
}

/**
 * Splits text that is not expanded yet at a separator. Separators in `${…}`, `$[…]`, parentheses, brackets and quotes and
 * behind a backslash do not split. Nothing is removed. Never throws.
 */
export function splitTemplate(text: string, separator: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let quoted = false;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\\') at++;
    else if (char === '"') quoted = !quoted;
    else if (!quoted && '([{'.includes(char)) depth++;
    else if (!quoted && ')]}'.includes(char) && depth > 0) depth--;
    else if (char === separator && depth === 0 && !quoted) {
      found.push(text.slice(start, at));
      start = at + 1;
    }
  }
  found.push(text.slice(start));
  return found;
}

/** Whether text is one `${…}` that may hold several arguments: not what the network chose. */
export function isReference(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith('${') && !isFromNetwork(trimmed) && endOfReference(trimmed, 0) === trimmed.length;
}

/** Whether text begins with what a caller or another server chose: the dialed number, names, headers. */
export const isFromNetwork = (text: string): boolean =>
  /^\$\{(?:(?:INVALID_)?EXTEN[}:]|(?:CALLERID|CONNECTEDLINE|REDIRECTING|PJSIP_HEADERS?) *\()/i.test(text.trim());

/** A decimal number of seconds (`1`, `0.5`, `.5`) in ms; undefined when the text is none. Not negative. */
export function parseSeconds(text: string): number | undefined {
  const trimmed = text.trim();
  return /^(\d+(\.\d*)?|\.\d+)$/.test(trimmed) ? Math.round(Number(trimmed) * 1000) : undefined;
}

/** Option letters with their values in parentheses: `m(jazz)g` → m: 'jazz', g: ''. */
export function readOptions(text: string): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    const letter = text.charAt(at++);
    const end = text.charAt(at) === '(' ? closingOf(text, at) : -1;
    options.set(letter, end < 0 ? '' : text.slice(at + 1, end));
    if (end >= 0) at = end + 1;
  }
  return options;
}

/** Replaces variables; separators in their values become signs that separate nothing. */
function sealed(template: string, expand: (text: string) => string): string {
  let text = '';
  let literal = 0;
  for (let at = template.indexOf('$'); at >= 0; at = template.indexOf('$', at + 1)) {
    const end = '{['.includes(template.charAt(at + 1) || ' ') ? endOfReference(template, at) : -1;
    if (end < 0) continue;
    text += template.slice(literal, at) + sealedValue(expand(template.slice(at, end)));
    literal = end;
    at = end - 1;
  }
  return text + template.slice(literal);
}

/**
 * Options of text that is not expanded yet. Variables in parentheses are replaced after the letters are read, so they
 * cannot add options. Variables outside parentheses can. A variable adds no part to an argument either, unless it is
 * the whole argument: split what is returned, then read each part with `unsealed`.
 */
export function readOptionsOf(template: string, expand: (text: string) => string): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  let at = 0;
  while (at < template.length) {
    const reference =
      template.startsWith('${', at) || template.startsWith('$[', at) ? endOfReference(template, at) : -1;
    if (reference > 0) {
      for (const [letter, value] of readOptions(expand(template.slice(at, reference)))) options.set(letter, value);
      at = reference;
      continue;
    }
    const letter = template.charAt(at++);
    const end = template.charAt(at) === '(' ? closingOf(template, at) : -1;
    const inside = template.slice(at + 1, end);
    options.set(letter, end < 0 ? '' : isReference(inside) ? expand(inside) : sealed(inside, expand));
    if (end >= 0) at = end + 1;
  }
  return options;
}

/** End of a `${…}` or `$[…]` that begins here; -1 if it is not closed. */
function endOfReference(text: string, start: number): number {
  let depth = 0;
  for (let at = start + 1; at < text.length; at++) {
    if ('{['.includes(text.charAt(at))) depth++;
    else if ('}]'.includes(text.charAt(at)) && --depth === 0) return at + 1;
  }
  return -1;
}

/** Position of the closing parenthesis; the first one if some are missing; -1 without any. */
function closingOf(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text.charAt(at) === '(') depth++;
    if (text.charAt(at) === ')' && --depth === 0) return at;
  }
  return text.indexOf(')', open);
}

/**
 * Characters with a meaning when a text is split or calculated, and the signs that replace them in values meanwhile.
 */
const meanings = '^&:?"()[]{}\\';
const firstSign = 0xe000;

/** A value as it goes into a text that is split afterwards: nothing in it separates or ends anything. */
export const sealedValue = (value: string): string =>
  value.replace(/[\^&:?"()[\]{}\\]/g, (char) => String.fromCharCode(firstSign + meanings.indexOf(char)));

/** A part of such a text as it is to be used: the values are as they were. */
export const unsealed = (text: string): string =>
  text.replace(/[\ue000-\ue00b]/g, (sign) => meanings.charAt(sign.charCodeAt(0) - firstSign));
