import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipMessage } from '../../sip/message/message.ts';
import { formatNameAddr, type NameAddr, parseNameAddrList } from '../../sip/message/name-addr.ts';
import { printable, unquote } from '../../sip/message/scan.ts';
import { percentDecode, sipUri, type Uri } from '../../sip/message/uri.ts';
import { isRestricted, type Party, type Redirection, type RedirectReason } from '../../telephony/party.ts';
import { partyOf } from './party.ts';

/** The reasons of Diversion (RFC 5806 6) in Asterisk's words. */
const reasonOfWord: Readonly<Record<string, RedirectReason>> = {
  unknown: 'unknown',
  'user-busy': 'cfb',
  'no-answer': 'cfnr',
  unavailable: 'unavailable',
  unconditional: 'cfu',
  'time-of-day': 'time_of_day',
  'do-not-disturb': 'dnd',
  deflection: 'deflection',
  'follow-me': 'follow_me',
  'out-of-service': 'out_of_order',
  away: 'away',
};
const wordOfReason = new Map(Object.entries(reasonOfWord).map(([word, reason]) => [reason, word]));

/** The causes of a redirection (RFC 4458 4, which RFC 7044 and RFC 8119 use) in Asterisk's words. */
const reasonOfCause: Readonly<Record<number, RedirectReason>> = {
  302: 'cfu',
  404: 'unknown',
  408: 'cfnr',
  480: 'deflection',
  486: 'cfb',
  487: 'deflection',
  503: 'unavailable',
};
const causeOfReason = new Map<RedirectReason, number>([
  ['cfu', 302],
  ['cfnr', 408],
  ['deflection', 480],
  ['cfb', 486],
  ['unavailable', 503],
]);

/** Redirections with these reasons are not counted. */
const mostEntries = 20;
/** As many redirections as one octet counts. */
const mostCounted = 255;

const addressesIn = (message: SipMessage, header: string): NameAddr[] => {
  const found: NameAddr[] = [];
  for (const line of message.headerLines(header)) {
    if (found.length >= mostEntries) break;
    found.push(...(parseNameAddrList(line) ?? []));
  }
  return found.slice(0, mostEntries);
};

const restricted = 0x20;

/** The redirections of an inbound call, by Diversion or else by History-Info; undefined without any. */
export const redirectionOf = (request: SipMessage): Redirection | undefined =>
  byDiversion(addressesIn(request, 'Diversion')) ?? byHistory(addressesIn(request, 'History-Info'));

/** RFC 5806: the newest first. */
function byDiversion(entries: readonly NameAddr[]): Redirection | undefined {
  const [newest] = entries;
  const oldest = entries.at(-1);
  if (!newest || !oldest) return undefined;
  const counted = entries.reduce((sum, { params }) => sum + counterOf(params['counter']), 0);
  const reason = wordedReason(newest);
  return {
    from: diverted(newest),
    ...(entries.length > 1 && { orig: diverted(oldest) }),
    ...(reason && { reason }),
    ...(entries.length > 1 && wordedReason(oldest) && { origReason: wordedReason(oldest)! }),
    count: Math.min(counted, mostCounted),
  };
}

const counterOf = (text: string | undefined): number =>
  text && /^\d{1,3}$/.test(text) ? Math.max(1, Number(text)) : 1;

function diverted(entry: NameAddr): Party {
  const privacy = (entry.params['privacy'] ?? '').toLowerCase();
  const isPrivate = privacy !== '' && privacy !== 'off' && privacy !== 'none';
  return { ...partyOf(entry), ...(isPrivate && { presentation: restricted }) };
}

function wordedReason({ params }: NameAddr): RedirectReason | undefined {
  const word = unquote(params['reason'] ?? '').toLowerCase();
  if (word === '') return undefined;
  return Object.hasOwn(reasonOfWord, word) ? reasonOfWord[word] : 'unknown';
}

/**
 * RFC 7044: each entry is a target of the request, and `mp` names the one that it was redirected from. Without `mp`
 * (RFC 4244) the redirecting targets are those left for a stated reason.
 */
function byHistory(entries: readonly NameAddr[]): Redirection | undefined {
  const left = entries.flatMap((entry) => {
    const index = entry.params['mp'];
    const from = index === undefined ? undefined : entries.find(({ params }) => params['index'] === index);
    return from ? [{ from, to: entry }] : [];
  });
  const redirections =
    left.length > 0
      ? left
      : entries.slice(0, -1).flatMap((from, at) => (headerOf(from, 'reason') ? [{ from, to: entries[at + 1]! }] : []));
  const [oldest] = redirections;
  const newest = redirections.at(-1);
  if (!newest || !oldest) return undefined;
  const [reason, origReason] = [targetReason(newest), targetReason(oldest)];
  return {
    from: targeted(newest.from),
    ...(redirections.length > 1 && { orig: targeted(oldest.from) }),
    to: targeted(newest.to),
    ...(reason && { reason }),
    ...(redirections.length > 1 && origReason && { origReason }),
    count: redirections.length,
  };
}

/** A header inside a URI, its escapes taken off. */
function headerOf({ uri }: NameAddr, name: string): string | undefined {
  if (uri.scheme !== 'sip' && uri.scheme !== 'sips') return undefined;
  const found = Object.entries(uri.headers).find(([key]) => key.toLowerCase() === name);
  return found && percentDecode(found[1]);
}

function targeted(entry: NameAddr): Party {
  const isPrivate = /history|id|user/i.test(headerOf(entry, 'privacy') ?? '');
  return { ...partyOf(entry), ...(isPrivate && { presentation: restricted }) };
}

/** The cause that the new target has, or else the response that the old one gave. */
function targetReason({ from, to }: { from: NameAddr; to: NameAddr }): RedirectReason | undefined {
  const cause = to.uri.scheme === 'other' ? undefined : to.uri.params['cause'];
  const told = cause ?? /cause\s*=\s*(\d{3})/i.exec(headerOf(from, 'reason') ?? '')?.[1];
  if (told === undefined) return undefined;
  return reasonOfCause[Number(told)] ?? 'unknown';
}

/** A called party's redirection. */
type Forwarding = {
  /** The call as it came to that party. */
  before: Redirection | undefined;
  by: Party;
  to: Party;
  reason: RedirectReason | undefined;
  /** The new target, as `tech/resource`. */
  target: string;
};

/**
 * How a call came to be where a called party has sent it; undefined when it may not go there: it was redirected so often
 * already, or has been there.
 */
export function redirected(
  { before, by, to, reason = 'cfu', target }: Forwarding,
  most: number,
): Redirection | undefined {
  const { count = before ? 1 : 0, followed = [], orig = before?.from, origReason = before?.reason } = before ?? {};
  const isSame = (other: string) => other.toLowerCase() === target.toLowerCase();
  if (count >= most || followed.some(isSame)) return undefined;
  return {
    from: by,
    ...(orig && { orig }),
    to,
    reason,
    ...(origReason && { origReason }),
    count: Math.min(count + 1, mostCounted),
    followed: [...followed, target],
  };
}

type RedirectionTelling = {
  diversion: boolean;
  historyInfo: boolean;
  /** Private parties are included, marked as private. */
  restricted: boolean;
};

/** The headers of a redirection to `target`, with our host as the peer knows it. */
export function redirectionHeaders(
  redirection: Redirection,
  { host, target, tells }: { host: string; target: Uri; tells: RedirectionTelling },
): HeaderLines {
  const { from, orig, count = 1 } = redirection;
  const told = (party: Party | undefined): party is Party =>
    party !== undefined && printable(party.number) !== '' && (tells.restricted || !isRestricted(party.presentation));
  if (!told(from)) return [];
  const reason = redirection.reason ?? 'unknown';
  const lines: (readonly [string, string])[] = [];
  if (tells.diversion) {
    lines.push(['Diversion', diversion(from, reason, host, count > 1 && !told(orig) ? count : undefined)]);
    if (told(orig))
      lines.push([
        'Diversion',
        diversion(orig, redirection.origReason ?? 'unknown', host, count > 2 ? count - 1 : undefined),
      ]);
  }
  if (tells.historyInfo) lines.push(['History-Info', history(redirection, reason, host, target)]);
  return lines;
}

function diversion(party: Party, reason: RedirectReason, host: string, counter: number | undefined): string {
  const params = {
    reason: wordOfReason.get(reason) ?? 'unknown',
    ...(counter !== undefined && { counter: String(counter) }),
    ...(isRestricted(party.presentation) && { privacy: 'full' }),
  };
  const uri = sipUri({ user: printable(party.number), host });
  return formatNameAddr({ displayName: printable(party.name), uri, params });
}

/** RFC 7044 8: the original target, the reason, and the new target. */
function history({ from }: Redirection, reason: RedirectReason, host: string, target: Uri): string {
  const cause = causeOfReason.get(reason) ?? 302;
  const headers = {
    Reason: `SIP%3Bcause%3D${cause}`,
    ...(isRestricted(from.presentation) && { Privacy: 'history' }),
  };
  const before = sipUri({ user: printable(from.number), host, headers });
  const now =
    target.scheme === 'sip' || target.scheme === 'sips'
      ? { ...target, params: { ...target.params, cause: String(cause) }, headers: {} }
      : target;
  return [
    formatNameAddr({ uri: before, params: { index: '1' } }),
    formatNameAddr({ uri: now, params: { index: '1.1', mp: '1' } }),
  ].join(', ');
}
