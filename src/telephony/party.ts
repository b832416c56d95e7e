import type { Static } from 'typebox';
import { list, number, object, optional, text, word } from '../models/plain-schema.ts';
/** A party's identity as channels show it; empty strings where nothing is known. */
export const Party = object({
  name: text,
  number: text,
  /** Presentation and screening (Q.931 4.5.10): 0x20 restricted, 0x43 unavailable; allowed where left out. */
  presentation: optional(number),
});
export type Party = Static<typeof Party>;

/** The redirection of a call: its earlier targets (RFC 5806, RFC 7044). */
export const Redirection = object({
  /** The last redirecting party. */
  from: Party,
  /** The originally called party. */
  orig: optional(Party),
  /** The last target. */
  to: optional(Party),
  /** Why, the last time and the first, in Asterisk's words. */
  reason: optional(word<RedirectReason>()),
  origReason: optional(word<RedirectReason>()),
  /** How often. */
  count: optional(number),
  /** Targets of forwarded calls, as far as this server knows, in order. */
  followed: optional(list(text)),
});
export type Redirection = Static<typeof Redirection>;

/** Reasons of redirection, in Asterisk's words: busy, no answer, unconditional, and others. */
export const redirectReasons = [
  ...(['unknown', 'cfb', 'cfnr', 'cfu', 'unavailable', 'time_of_day', 'dnd', 'deflection', 'follow_me'] as const),
  ...(['out_of_order', 'away', 'cf_dte', 'send_to_vm'] as const),
] as const;
export type RedirectReason = (typeof redirectReasons)[number];

/** Whether a presentation is private (Q.931 4.5.10: presentation restricted). */
export const isRestricted = (presentation = 0): boolean => (presentation & 0x60) === 0x20;

/** A party as the other side may see it, private if its name or its number is. */
export function shownParty({
  name,
  number,
  presentation = 0,
  namePresentation = presentation,
}: Party & { namePresentation?: number }): Party {
  const shown = isRestricted(namePresentation) ? namePresentation : presentation;
  return { name, number, ...(shown !== 0 && { presentation: shown }) };
}
