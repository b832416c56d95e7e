/**
 * The elements of a list in a JSON text, as far as they are readable: of a truncated or damaged text, the complete
 * ones. `whole` tells whether the text was a valid list.
 */
export function readJsonList(text: string): { elements: unknown[]; whole: boolean } {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? { elements: value, whole: true } : { elements: [], whole: false };
  } catch {
    return { elements: salvage(text), whole: false };
  }
}

/** The top-level objects of a list, in one pass. */
function salvage(text: string): unknown[] {
  const elements: unknown[] = [];
  if (!text.trimStart().startsWith('[')) return elements;
  let depth = 0;
  let start = 0;
  let quoted = false;
  for (let at = text.indexOf('[') + 1; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{' || character === '[') {
      if (depth++ === 0) start = at;
    } else if ((character === '}' || character === ']') && depth > 0 && --depth === 0) {
      try {
        elements.push(JSON.parse(text.slice(start, at + 1)));
      } catch {
        // Damaged: the next one may be whole.
      }
    }
  }
  return elements;
}
