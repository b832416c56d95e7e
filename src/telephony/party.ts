/** A party's identity as channels show it; empty strings where nothing is known. */
export type Party = {
  name: string;
  number: string;
  /** Presentation and screening (Q.931 4.5.10): 0x20 restricted, 0x43 unavailable; allowed where left out. */
  presentation?: number;
};

/** How a call came to be where it is now: whom it was meant for before (RFC 5806, RFC 7044). */
export type Redirection = {
  /** Who redirected it last. */
  from: Party;
  /** Who was called first of all. */
  orig?: Party;
  /** Where it was sent to. */
  to?: Party;
  /** Why, the last time and the first, in Asterisk's words. */
  reason?: RedirectReason;
  origReason?: RedirectReason;
  /** How often. */
  count?: number;
  /** Where calls went on for that, of all that this server was told of, in order. */
  followed?: readonly string[];
};

/** Why calls are redirected, in Asterisk's words: forwarded when busy, when nobody answers, always, and others. */
export const redirectReasons = [
  ...(['unknown', 'cfb', 'cfnr', 'cfu', 'unavailable', 'time_of_day', 'dnd', 'deflection', 'follow_me'] as const),
  ...(['out_of_order', 'away', 'cf_dte', 'send_to_vm'] as const),
] as const;
export type RedirectReason = (typeof redirectReasons)[number];

/** Whether a presentation says that a party does not want to be known (Q.931 4.5.10: presentation restricted). */
export const isRestricted = (presentation = 0): boolean => (presentation & 0x60) === 0x20;

/** A party without what is nobody's business on the other side, restricted where either its name or its number is. */
export function shownParty({
  name,
  number,
  presentation = 0,
  namePresentation = presentation,
}: Party & { namePresentation?: number }): Party {
  const shown = isRestricted(namePresentation) ? namePresentation : presentation;
  return { name, number, ...(shown !== 0 && { presentation: shown }) };
}
