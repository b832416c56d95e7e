/** Names of the sounds that say a number, or undefined when this language cannot say it. */
type SayNumber = (number: number) => readonly string[] | undefined;

const largestNumber = 999_999_999;

/** English: 1,234 is one thousand two hundred thirty four. */
function sayEnglish(number: number): readonly string[] | undefined {
  if (Math.abs(number) > largestNumber) return undefined;
  if (number < 0) return ['digits/minus', ...sayPositive(-number)];
  return sayPositive(number);
}

function sayPositive(number: number): string[] {
  if (number < 20) return [`digits/${number}`];
  if (number < 100) return sayParts(number, 10, (tens) => [`digits/${tens * 10}`]);
  if (number < 1000) return sayParts(number, 100, (count) => [...sayPositive(count), 'digits/hundred']);
  if (number < 1_000_000) return sayParts(number, 1000, (count) => [...sayPositive(count), 'digits/thousand']);
  return sayParts(number, 1_000_000, (count) => [...sayPositive(count), 'digits/million']);
}

function sayParts(number: number, unit: number, say: (count: number) => string[]): string[] {
  const rest = number % unit;
  return [...say(Math.floor(number / unit)), ...(rest > 0 ? sayPositive(rest) : [])];
}

/** Rules by language; a language without rules of its own is said in the order of English. */
const numberRules: ReadonlyMap<string, SayNumber> = new Map([['en', sayEnglish]]);

const punctuation: ReadonlyMap<string, string> = new Map([
  ['*', 'digits/star'],
  ['#', 'digits/pound'],
  ['!', 'letters/exclaimation-point'],
  ['@', 'letters/at'],
  ['$', 'letters/dollar'],
  ['-', 'letters/dash'],
  ['.', 'letters/dot'],
  ['=', 'letters/equals'],
  ['+', 'letters/plus'],
  ['/', 'letters/slash'],
  [' ', 'letters/space'],
]);

/**
 * The sounds of a `number:` item: its leading integer, sign included. Undefined when there is none or when it is too
 * large to be said.
 */
export function numberSounds(text: string, language: string): readonly string[] | undefined {
  const found = /^\s*[+-]?\d+/.exec(text);
  if (!found) return undefined;
  const rules = numberRules.get(language.split(/[_-]/, 1)[0]!.toLowerCase()) ?? sayEnglish;
  return rules(Number(found[0]));
}

/** The sounds of a `digits:` item: digits, `*`, `#` and `-`; other characters are skipped. */
export function digitSounds(text: string): readonly string[] {
  const named: Readonly<Record<string, string>> = { '*': 'digits/star', '#': 'digits/pound', '-': 'digits/minus' };
  return [...text].flatMap((character) => (/\d/.test(character) ? [`digits/${character}`] : (named[character] ?? [])));
}

/** The sounds of a `characters:` item, in any case; characters without a sound are skipped. */
export function characterSounds(text: string): readonly string[] {
  return [...text.toLowerCase()].flatMap((character) => {
    if (/[0-9]/.test(character)) return [`digits/${character}`];
    if (/[a-z]/.test(character)) return [`letters/${character}`];
    return punctuation.get(character) ?? [];
  });
}
