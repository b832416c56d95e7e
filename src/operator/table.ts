import { plain } from '../lib/plain-text.ts';

/** How text is shown to people. */
export type Style = {
  /** Whether colours are understood. */
  colours: boolean;
  /** Characters per line; undefined without a terminal. */
  columns?: number | undefined;
};

/** Meaning of a text's style. */
export type Tone = 'good' | 'bad' | 'lit' | 'quiet' | 'strong';

/** A piece of text with what it means. */
export type Cell = { readonly text: string; readonly tone?: Tone | undefined };

/** Select Graphic Rendition of a terminal (ECMA-48 8.3.117). */
const codes: Readonly<Record<Tone, number>> = { good: 32, bad: 31, lit: 33, quiet: 2, strong: 1 };

/** Two spaces between columns. */
const gap = '  ';

/** Text in its colour, where colours are understood. Control characters of it are taken out. */
function toned({ text, tone }: Cell, { colours }: Style): string {
  const shown = plain(text);
  return colours && tone !== undefined && shown !== '' ? `\u001b[${codes[tone]}m${shown}\u001b[0m` : shown;
}

/** Cells side by side in a line; what is longer than a line is cut, and `…` says so. */
export function lineOf(cells: readonly Cell[], widths: readonly number[], style: Style): string {
  const parts: string[] = [];
  let left = style.columns ?? Number.POSITIVE_INFINITY;
  for (const [index, cell] of cells.entries()) {
    const isLast = index === cells.length - 1;
    const width = isLast ? [...plain(cell.text)].length : (widths[index] ?? 0);
    const between = index === 0 ? '' : gap;
    left -= between.length;
    if (left <= 0) break;
    const letters = [...plain(cell.text)];
    const cut = letters.length > left ? [...letters.slice(0, Math.max(0, left - 1)), '…'] : letters;
    const padding = isLast ? '' : ' '.repeat(Math.max(0, Math.min(width, left) - cut.length));
    parts.push(`${between}${toned({ ...cell, text: cut.join('') }, style)}${padding}`);
    left -= Math.min(width, left);
  }
  return `${parts.join('').trimEnd()}\n`;
}

/** Rows under their heads, each column as wide as its longest text; '' of none. */
export function tableOf(heads: readonly string[], rows: readonly (readonly Cell[])[], style: Style): string {
  if (rows.length === 0) return '';
  const all = [heads.map((text): Cell => ({ text, tone: 'quiet' })), ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => [...plain(row[column]?.text ?? '')].length)));
  return all.map((row) => lineOf(row, widths, style)).join('');
}
