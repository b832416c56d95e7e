/** The parts of `condition?this:that`, trimmed; what is missing is ''. */
export type Branches = { condition: string; yes: string; no: string };

/**
 * Splits `condition?this:that` at the first question mark and the first colon behind it, outside quotes, parentheses
 * and brackets. So text with `${…}` can be split before expansion. Undefined without a question mark. Missing parts are
 * ''. Linear in the text.
 */
export function splitBranches(text: string): Branches | undefined {
  const question = findOutside(text, '?', 0);
  if (question < 0) return undefined;
  const colon = findOutside(text, ':', question + 1);
  return {
    condition: text.slice(0, question).trim(),
    yes: text.slice(question + 1, colon < 0 ? text.length : colon).trim(),
    no: colon < 0 ? '' : text.slice(colon + 1).trim(),
  };
}

/** First position of a character from `start` on, outside quotes, parentheses and brackets; -1 without one. */
export function findOutside(text: string, wanted: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\\') at++;
    else if (char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === wanted && depth === 0) return at;
    else if (char === '(' || char === '[' || char === '{') depth++;
    else if ((char === ')' || char === ']' || char === '}') && depth > 0) depth--;
  }
  return -1;
}

/** A text without the quotes around it. */
export const unquoted = (text: string): string =>
  text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
