import { isFromNetwork, isReference, splitArguments, splitTemplate } from '../arguments.ts';
import { type Branches, findOutside, splitBranches, unquoted } from '../branches.ts';
import type { Step } from './application.ts';

/**
 * Arguments within arguments (lists, branches, positions), split before variables are replaced. So a variable's value
 * (a number that a caller dialed) adds no item. A text that is one variable alone may hold several.
 */

type Texts = Pick<Step, 'text' | 'args' | 'expand' | 'expandArguments'>;

/** An argument as configured; undefined where the step is constant, or one variable holds all arguments. */
export function configuredArgument({ text }: Texts, index: number): string | undefined {
  if (!text.includes('$') || isReference(text)) return undefined;
  return splitTemplate(text, ',')[index] ?? '';
}

/** One text without quotes and backslashes, everything replaced; its commas are its own. */
const plain = (text: string, { expand, expandArguments }: Reading): string =>
  isReference(text) ? expand(text) : expandArguments(text).args.join(',');

/**
 * An item of a list. `literal` is how it begins in the configuration, up to the first variable; `isForeign` when the
 * network chose how it begins.
 */
type Item = { value: string; literal: string; isForeign?: boolean };

/** The items of an argument that is a list, trimmed; empty ones are left out. */
export function listOf(step: Texts, index: number, separator = '&'): Item[] {
  const template = configuredArgument(step, index);
  const items =
    template === undefined ? constant(step.args[index] ?? '', separator) : fromTemplate(template, step, separator);
  return items.filter(({ value }) => value !== '');
}

const constant = (text: string, separator: string): Item[] =>
  text.split(separator).map((each) => ({ value: each.trim(), literal: each.trim() }));

const fromTemplate = (template: string, step: Texts, separator: string): Item[] =>
  splitTemplate(unquoted(template.trim()), separator).flatMap((each) =>
    isReference(each)
      ? constant(step.expand(each.trim()), separator)
      : [
          {
            value: plain(each.trim(), step).trim(),
            literal: each.trim().split('$', 1)[0] ?? '',
            isForeign: isFromNetwork(each),
          },
        ],
  );

/** An argument that holds arguments of its own: `"one,two"`. */
export function argumentsIn(step: Texts, index: number): string[] {
  const template = configuredArgument(step, index);
  return template === undefined
    ? splitArguments((step.args[index] ?? '').trim())
    : separate(unquoted(template.trim()), step);
}

/** Readers of text whose variables are already replaced. */
export const asItIs: Pick<Step, 'expand' | 'expandArguments'> = {
  expand: (text) => text,
  expandArguments: (text) => ({ data: text, args: splitArguments(text) }),
};

type Reading = typeof asItIs;

/**
 * `condition?this:that` of a step, the branches as configured; undefined without it. `reading` replaces variables in
 * them.
 */
export function branchesOf(step: Texts & Pick<Step, 'data'>): (Branches & { reading: Reading }) | undefined {
  const isOne = isReference(step.text);
  const branches = splitBranches(isOne ? step.data : step.text);
  return branches && { ...branches, reading: isOne ? asItIs : step };
}

/** The parts of a place (`context,extension,label`), trimmed. */
export function placeOf(text: string, reading: Reading): string[] {
  const whole = unquoted(text.trim());
  if (isReference(whole)) return trimmed(reading.expand(whole).split(','));
  return trimmed(splitTemplate(whole, ',').map((each) => plain(each, reading)));
}

/** Arguments of which each is a list joined by `&`. A variable is one item, unless it is the whole text or argument. */
export function listsOf(text: string, reading: Reading): string[][] {
  const whole = unquoted(text.trim());
  if (isReference(whole)) return listsOf(reading.expand(whole), asItIs);
  return splitTemplate(whole, ',').map((part) =>
    isReference(part)
      ? reading.expand(part.trim()).split('&')
      : splitTemplate(part, '&').map((each) => plain(each.trim(), reading)),
  );
}

/** A place with arguments behind it: `context,extension,label(one,two)`. */
export function callOf(text: string, reading: Reading): { place: string[]; args: string[] } {
  return isReference(text) ? readCall(reading.expand(text.trim()), asItIs) : readCall(text, reading);
}

function readCall(text: string, reading: Reading): { place: string[]; args: string[] } {
  const open = findOutside(text, '(', 0);
  if (open < 0) return { place: placeOf(text, reading), args: [] };
  const end = findOutside(text, ')', open + 1);
  const inside = text.slice(open + 1, end < 0 ? text.lastIndexOf(')') : end);
  return { place: placeOf(text.slice(0, open), reading), args: separate(inside, reading) };
}

/** Arguments behind a place: each variable is one of them, or a part of one. */
const separate = (text: string, reading: Reading): string[] =>
  text === '' ? [] : splitTemplate(text, ',').map((each) => plain(each, reading));

const trimmed = (parts: readonly string[]): string[] => parts.map((each) => each.trim());
