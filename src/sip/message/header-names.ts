/** Full names by compact form: RFC 3261 7.3.3, 20; RFC 3515, 3892, 3911, 4028, 3841, 6665. */
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
  o: 'Event',
  r: 'Refer-To',
  s: 'Subject',
  t: 'To',
  u: 'Allow-Events',
  v: 'Via',
  x: 'Session-Expires',
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

const keys: ReadonlyMap<string, string> = new Map([
  ...usual.flatMap((name): [string, string][] => [
    [name, name.toLowerCase()],
    [name.toLowerCase(), name.toLowerCase()],
    [name.toUpperCase(), name.toLowerCase()],
  ]),
  ...Object.entries(compact).flatMap(([short, name]): [string, string][] => [
    [short, name.toLowerCase()],
    [short.toUpperCase(), name.toLowerCase()],
  ]),
]);

/** The key of a header the stack knows, in any usual spelling or compact form; undefined for others. */
export function knownHeaderKey(name: string): string | undefined {
  return keys.get(name);
}

/** The key under which a header is found: its full name in lower case. */
export function headerKey(name: string): string {
  const known = keys.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  return keys.get(lower) ?? lower;
}
