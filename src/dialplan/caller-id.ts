/** Caller identities as text: `"Alice" <1001>`, `Alice`, `1001`. */

type Named = { name: string; number: string };

/** `"name" <number>`, or the one that is known. */
export const formatCallerId = (party: Named): string =>
  party.name && party.number ? wholeCallerId(party) : party.name || party.number;

/** `"name" <number>`, also where one is not known: programs take it apart by these marks. */
export const wholeCallerId = ({ name, number }: Named): string => `"${name}" <${number}>`;

/**
 * Reads `"name" <number>`, `name <number>`, `<number>`, a number alone (digits, `*`, `#`, `+` and usual separators) or
 * a name alone. Missing parts are ''. Never throws.
 */
export function parseCallerId(text: string): Named {
  const trimmed = text.trim();
  const open = trimmed.lastIndexOf('<');
  if (open >= 0 && trimmed.endsWith('>'))
    return { name: unquoted(trimmed.slice(0, open)), number: trimmed.slice(open + 1, -1).trim() };
  return /^[\d*#+\-.() ]+$/.test(trimmed) ? { name: '', number: trimmed } : { name: unquoted(trimmed), number: '' };
}

function unquoted(text: string): string {
  const trimmed = text.trim();
  const quoted = trimmed.length >= 2 && trimmed.startsWith('"') && trimmed.endsWith('"');
  return quoted ? trimmed.slice(1, -1).replaceAll(/\\(.)/g, '$1') : trimmed;
}

/** Presentation (bits 6–7) and screening (bits 1–2) of a number, ITU-T Q.931 4.5.10, by Asterisk's words. */
const presentations: Readonly<Record<string, number>> = {
  allowed_not_screened: 0x00,
  allowed_passed_screen: 0x01,
  allowed_failed_screen: 0x02,
  allowed: 0x03,
  prohib_not_screened: 0x20,
  prohib_passed_screen: 0x21,
  prohib_failed_screen: 0x22,
  prohib: 0x23,
  unavailable: 0x43,
};

/** The word for a presentation; `unknown` for a value without one. */
export const presentationName = (presentation: number): string =>
  Object.entries(presentations).find(([, value]) => value === presentation)?.[0] ?? 'unknown';

/** A presentation by word (any case) or number; undefined for others. */
export function parsePresentation(text: string): number | undefined {
  const word = text.trim().toLowerCase();
  if (Object.hasOwn(presentations, word)) return presentations[word];
  const value = /^\d{1,3}$/.test(word) ? Number(word) : undefined;
  return value !== undefined && value <= 0x63 ? value : undefined;
}
