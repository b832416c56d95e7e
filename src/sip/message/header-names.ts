/** Full names by compact form: RFC 3261 7.3.3, 20; RFC 3515, 3841, 3892, 4028, 4474, 6665. */
const compact: Record<string, string> = {
  a: 'Accept-Contact',
  b: 'Referred-By',
  c: 'Content-Type',
  d: 'Request-Disposition',
  e: 'Content-Encoding',
  f: 'From',
  i: 'Call-ID',
  j: 'Reject-Contact',
  k: 'Supported',
  l: 'Content-Length',
  m: 'Contact',
  n: 'Identity-Info',
  o: 'Event',
  r: 'Refer-To',
  s: 'Subject',
  t: 'To',
  u: 'Allow-Events',
  v: 'Via',
  x: 'Session-Expires',
  y: 'Identity',
};

const usual = [
  ...Object.values(compact),
  ...[
    'Accept',
    'Accept-Encoding',
    'Accept-Language',
    'Allow',
    'Authorization',
    'CSeq',
    'Date',
    'Expires',
    'Max-Forwards',
  ],
  ...['Min-Expires', 'Min-SE', 'Organization', 'P-Asserted-Identity', 'Path', 'Privacy', 'Proxy-Authenticate', 'RAck'],
  ...[
    'Proxy-Authorization',
    'Reason',
    'Record-Route',
    'Remote-Party-ID',
    'Replaces',
    'Require',
    'Retry-After',
    'Route',
  ],
  ...['RSeq', 'Server', 'Subscription-State', 'Unsupported', 'User-Agent', 'Warning', 'WWW-Authenticate'],
];

/** A known header: its key, and a bit if a message may have it only once. */
export type KnownHeader = { readonly key: string; readonly onceBit: number };

const onlyOnce = ['From', 'To', 'Call-ID', 'CSeq', 'Max-Forwards', 'Content-Length', 'Content-Type'];

const known: ReadonlyMap<string, KnownHeader> = new Map(
  [...usual.map((name) => [name, name] as const), ...Object.entries(compact)].flatMap(([spelling, name]) => {
    const at = onlyOnce.indexOf(name);
    const header: KnownHeader = { key: name.toLowerCase(), onceBit: at < 0 ? 0 : 1 << at };
    return [spelling, spelling.toLowerCase(), spelling.toUpperCase()].map((form) => [form, header] as const);
  }),
);

/** The header of that name in a usual spelling or its compact form; undefined for others. */
export function knownHeader(name: string): KnownHeader | undefined {
  return known.get(name);
}

/** The header of that name in any spelling; one the stack does not know may repeat. */
export function anyHeader(name: string): KnownHeader {
  const lower = name.toLowerCase();
  return known.get(lower) ?? { key: lower, onceBit: 0 };
}

/** The key under which a header is found: its full name in lower case. */
export function headerKey(name: string): string {
  return (known.get(name) ?? anyHeader(name)).key;
}
