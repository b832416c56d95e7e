import type { SipMessage } from '../../sip/message/message.ts';
import { type NameAddr, parseNameAddrList } from '../../sip/message/name-addr.ts';
import type { Uri } from '../../sip/message/uri.ts';
import type { Party } from '../../telephony/party.ts';

/** The user part of a URI, or the number of a tel URI; '' when there is none. */
export function userOf(uri: Uri): string {
  if (uri.scheme === 'tel') return uri.number;
  if (uri.scheme === 'other') return '';
  // Parameters of a telephone number inside the user part (RFC 3261 19.1.6) do not belong to the number.
  return (uri.user ?? '').split(';')[0]!;
}

/** The extension that a request to a URI enters, or a transfer to it: `s` without a user part. */
export const extensionOf = (uri: Uri): string => userOf(uri) || 's';

/** A party from an address; without name and number if it is anonymous (RFC 3323 4.1.1.3). */
export function partyOf({ displayName = '', uri }: NameAddr): Party {
  const number = userOf(uri);
  const anonymous = number.toLowerCase() === 'anonymous';
  return anonymous ? { name: '', number: '' } : { name: displayName, number };
}

/** Presentation restricted, not screened (Q.931 4.5.10). */
const restricted = 0x20;

/** Whether the sender requests privacy (RFC 3323 4.2, RFC 3325 9.3). */
const asksPrivacy = (message: SipMessage): boolean =>
  message
    .headerLines('Privacy')
    .some((line) => line.split(/[;,]/).some((word) => privacies.has(word.trim().toLowerCase())));
const privacies = new Set(['id', 'user', 'header']);

/** The party, marked as private if the message requests that. */
export const withPrivacy = (party: Party, message: SipMessage): Party =>
  asksPrivacy(message) ? { ...party, presentation: restricted } : party;

/** The peer's identity in a header between trusted parties (RFC 3325 9.1, or the older Remote-Party-ID). */
export function assertedParty(message: SipMessage): Party | undefined {
  for (const header of ['P-Asserted-Identity', 'Remote-Party-ID'] as const)
    for (const line of message.headerLines(header)) {
      const address = parseNameAddrList(line)?.[0];
      if (!address) continue;
      const privacy = (address.params['privacy'] ?? 'off').toLowerCase();
      const isPrivate = header === 'Remote-Party-ID' && privacy !== 'off' && privacy !== '';
      return isPrivate ? { ...partyOf(address), presentation: restricted } : withPrivacy(partyOf(address), message);
    }
  return undefined;
}
