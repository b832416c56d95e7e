import { type Party, type Redirection, type RedirectReason, redirectReasons } from '../telephony/party.ts';
import { parseCallerId, parsePresentation, presentationName, wholeCallerId } from './caller-id.ts';

/** The parties of a redirection. */
const parties = ['from', 'to', 'orig'] as const;
type Which = (typeof parties)[number];

const nobody: Party = { name: '', number: '' };

/** A redirection with something else of one of its parties. */
export const withParty = (redirection: Redirection | undefined, which: Which, change: Partial<Party>): Redirection => {
  const before: Redirection = redirection ?? { from: nobody };
  return { ...before, [which]: { ...nobody, ...before[which], ...change } };
};

/** `from-num` as its two halves; undefined when it is about no party. */
function partyItem(item: string): [which: Which, what: string] | undefined {
  const which = parties.find((each) => item.startsWith(`${each}-`));
  return which && [which, item.slice(which.length + 1)];
}

/** The items of a party of a redirection, behind `from-`, `to-` or `orig-`. */
const readableItems: ReadonlyMap<string, (party: Party) => string> = new Map(
  Object.entries({
    all: wholeCallerId,
    name: ({ name }: Party) => name,
    num: ({ number }: Party) => number,
    number: ({ number }: Party) => number,
    'name-valid': ({ name }: Party) => (name === '' ? '0' : '1'),
    'num-valid': ({ number }: Party) => (number === '' ? '0' : '1'),
    pres: ({ presentation = 0 }: Party) => presentationName(presentation),
    'name-pres': ({ presentation = 0 }: Party) => presentationName(presentation),
    'num-pres': ({ presentation = 0 }: Party) => presentationName(presentation),
  }),
);

/** REDIRECTING: one item; empty for an unknown item, as in Asterisk, and undefined without one. */
export function readRedirection(redirection: Redirection | undefined, item: string): string | undefined {
  switch (item) {
    case '':
      return undefined;
    case 'reason':
      return redirection?.reason ?? 'unknown';
    case 'orig-reason':
      return redirection?.origReason ?? 'unknown';
    case 'count':
      return String(redirection?.count ?? 0);
  }
  const [which, what = ''] = partyItem(item) ?? [];
  return readableItems.get(what)?.((which && redirection?.[which]) ?? nobody) ?? '';
}

/** Most redirections that make sense to count: the largest number of one octet. */
const mostRedirections = 255;

/** The values of {@link redirectionChange}, in words. */
export const redirectionItems = `the items are reason and orig-reason (${redirectReasons.join(', ')}), count (0 to ${mostRedirections}), and behind from-, to- and orig- all, name, num and pres`;

const isReason = (word: string): word is RedirectReason => redirectReasons.some((each) => each === word);

/** REDIRECTING: what writing an item makes of it; undefined when it cannot be written so. */
export function redirectionChange(
  redirection: Redirection | undefined,
  item: string,
  value: string,
): Redirection | undefined {
  const before: Redirection = redirection ?? { from: nobody };
  const word = value.trim().toLowerCase();
  if (item === 'reason') return isReason(word) ? { ...before, reason: word } : undefined;
  if (item === 'orig-reason') return isReason(word) ? { ...before, origReason: word } : undefined;
  if (item === 'count')
    return /^\d{1,3}$/.test(word) && Number(word) <= mostRedirections ? { ...before, count: Number(word) } : undefined;
  const [which, what = ''] = partyItem(item) ?? [];
  const change = which && partyChange(what, value);
  return which && change && withParty(before, which, change);
}

/** The change of a party by writing an item of it; undefined if it cannot be written so. */
function partyChange(item: string, value: string): Partial<Party> | undefined {
  switch (item) {
    case 'all':
      return parseCallerId(value);
    case 'name':
      return { name: value };
    case 'num':
    case 'number':
      return { number: value };
    case 'pres':
    case 'name-pres':
    case 'num-pres': {
      const presentation = parsePresentation(value);
      return presentation === undefined ? undefined : { presentation };
    }
    default:
      return undefined;
  }
}
