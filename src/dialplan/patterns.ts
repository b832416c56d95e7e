/**
 * Matches dialed extensions with those of the dialplan. A name that begins with `_` is a pattern: `X` any digit, `Z`
 * 1–9, `N` 2–9 (in either case), and `[15-7]` one of a set. `.` matches one or more characters, `!` none or more, other
 * characters match themselves. Wildcards match neither control characters nor characters that separate targets and
 * arguments: only a set or the character itself does. Otherwise callers could dial targets that the dialplan does not contain. Dashes outside a set
 * are ignored, in dialed extensions too.
 */

/** One place of a pattern: characters that fit (sorted), or a rest of at least `rest` characters. */
type Place = { chars: string } | { rest: 0 | 1 };

export type Pattern = { text: string; places: readonly Place[] };

const classes: Readonly<Record<string, string>> = { X: '0123456789', Z: '123456789', N: '23456789' };

export const isPattern = (extension: string): boolean => extension.startsWith('_');

/** The extension as it is looked up: without dashes. */
export const withoutDashes = (extension: string): string =>
  extension.includes('-') ? extension.replaceAll('-', '') : extension;

/** Reads a pattern. A string tells what is wrong with it. Never throws. */
export function parsePattern(text: string): Pattern | string {
  const places: Place[] = [];
  for (let at = 1; at < text.length; at++) {
    const char = text[at]!;
    if (char === '-') continue;
    if (char === '.' || char === '!') {
      if (/[^-]/.test(text.slice(at + 1))) return `nothing may follow "${char}" in the pattern "${text}"`;
      places.push({ rest: char === '.' ? 1 : 0 });
      break;
    }
    if (char === '[') {
      const end = text.indexOf(']', at);
      if (end < 0) return `"[" is not closed in the pattern "${text}"`;
      const chars = charactersOf(text.slice(at + 1, end));
      if (chars === '') return `a set is empty or a range runs backwards in the pattern "${text}"`;
      places.push({ chars });
      at = end;
    } else places.push({ chars: classes[char.toUpperCase()] ?? char });
  }
  return places.length === 0 ? `the pattern "${text}" matches nothing` : { text, places };
}

/** The characters of a set such as `15-7`, sorted, each once; '' for none or a range that runs backwards. */
function charactersOf(set: string): string {
  const chars = new Set<string>();
  for (let at = 0; at < set.length; at++) {
    const first = set.charCodeAt(at);
    if (set[at + 1] !== '-' || at + 2 >= set.length) {
      chars.add(set[at]!);
      continue;
    }
    const last = set.charCodeAt(at + 2);
    if (last < first) return '';
    for (let code = first; code <= last; code++) chars.add(String.fromCharCode(code));
    at += 2;
  }
  return [...chars].sort().join('');
}

/** Separators of Dial targets, technologies, contexts, arguments and parts of options, and control characters. */
const unmatched = /[&/@,()^:\p{Cc}]/u;

/** Whether a dialed extension (without dashes) fits. */
export function matchesPattern({ places }: Pattern, extension: string): boolean {
  let at = 0;
  for (const place of places) {
    if ('rest' in place) return extension.length - at >= place.rest && !unmatched.test(extension.slice(at));
    if (at >= extension.length || !place.chars.includes(extension[at]!)) return false;
    at++;
  }
  return at === extension.length;
}

/** Whether more digits can make a match; `!` matches without waiting. */
export function canGrow({ places }: Pattern, digits: string): boolean {
  for (const [at, place] of places.entries()) {
    if ('rest' in place) return place.rest === 1;
    if (at >= digits.length) return true;
    if (!place.chars.includes(digits[at]!)) return false;
  }
  return false;
}

/**
 * Sorts the more specific pattern first, as Asterisk does. Patterns are compared position by position from the left:
 * the smaller set first, then `.`, then `!`, then the end of the pattern.
 */
export function compareSpecificity(a: Pattern, b: Pattern): number {
  for (let at = 0; at < Math.max(a.places.length, b.places.length); at++) {
    const [left, right] = [a.places[at], b.places[at]];
    const order = breadth(left) - breadth(right) || firstDifference(left, right);
    if (order !== 0) return order;
  }
  return 0;
}

const breadth = (place: Place | undefined): number =>
  place === undefined
    ? Number.POSITIVE_INFINITY
    : 'chars' in place
      ? place.chars.length
      : place.rest === 1
        ? 0x1_0000
        : 0x2_0000;

/** Sets of one size: the one with the lower characters first, so that the order never depends on the file. */
function firstDifference(a: Place | undefined, b: Place | undefined): number {
  if (!a || !b || !('chars' in a) || !('chars' in b) || a.chars === b.chars) return 0;
  return a.chars < b.chars ? -1 : 1;
}

/** Lists of extensions that are remembered as read; there are as many as endpoints have different ones. */
const mostLists = 1_000;

/** Makes the test whether an extension is in a list of extensions and patterns. An invalid pattern matches nothing. */
export function createExtensionLists(): (extension: string, extensions: readonly string[]) => boolean {
  const read = new Map<readonly string[], { plain: ReadonlySet<string>; patterns: readonly Pattern[] }>();
  const parse = (extensions: readonly string[]) => {
    const parsed = extensions.filter(isPattern).map(parsePattern);
    const list = {
      plain: new Set(extensions.filter((each) => !isPattern(each)).map(withoutDashes)),
      patterns: parsed.filter((each) => typeof each !== 'string'),
    };
    if (read.size >= mostLists) read.clear();
    read.set(extensions, list);
    return list;
  };
  return (extension, extensions) => {
    const { plain, patterns } = read.get(extensions) ?? parse(extensions);
    const dialed = withoutDashes(extension);
    return plain.has(dialed) || patterns.some((pattern) => matchesPattern(pattern, dialed));
  };
}
