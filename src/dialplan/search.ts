/**
 * Regular expressions of the dialplan: callers may supply parts of the expression and of the text, so none may be slow.
 */

/** Longest expression, longest text that is searched, in characters; most repetitions in an expression. */
const longestExpression = 100;
const longestText = 256;
const mostRepetitions = 2;

/**
 * Compiles an expression; undefined if it is invalid or could be slow. A text of 256 characters and at most two
 * repetitions, none of a group, bound the steps of a search.
 */
export function compileSearch(text: string): RegExp | undefined {
  const plain = text.replaceAll(/\\./g, '');
  const repetitions = plain.match(/[*+?{]/g)?.length ?? 0;
  if (text.length > longestExpression || repetitions > mostRepetitions || /\)[*+?{]/.test(plain)) return undefined;
  try {
    return new RegExp(text);
  } catch {
    return undefined;
  }
}

/** Searches the first characters of a text. */
export const search = (expression: RegExp, text: string): RegExpExecArray | null =>
  expression.exec(text.slice(0, longestText));
