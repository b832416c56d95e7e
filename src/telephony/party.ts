/** A party's identity as channels show it; empty strings where nothing is known. */
export type Party = {
  name: string;
  number: string;
  /** Presentation and screening (Q.931 4.5.10): 0x20 restricted, 0x43 unavailable; allowed where left out. */
  presentation?: number;
};

/** The redirection of a call: its earlier targets (RFC 5806, RFC 7044). */
export type Redirection = {
  /** The last redirecting party. */
  from: Party;
  /** The originally called party. */
  orig?: Party;
  /** The last target. */
  to?: Party;
  /** Why, the last time and the first, in Asterisk's words. */
  reason?: RedirectReason;
  origReason?: RedirectReason;
  /** How often. */
  count?: number;
  /** Targets of forwarded calls, as far as this server knows, in order. */
  followed?: readonly string[];
};

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
