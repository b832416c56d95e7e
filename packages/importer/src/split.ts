/** Splits at commas outside of parentheses and braces, keeping everything as it is written. */
export function splitOutside(text: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const char of text) {
    if ('({['.includes(char)) depth++;
    if (')}]'.includes(char)) depth = Math.max(0, depth - 1);
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts;
}
