/** SIP transport protocols. */
export type Protocol = 'udp' | 'tcp' | 'tls' | 'ws' | 'wss';

/** Properties of a protocol. */
type TransportKind = {
  /** Nothing is lost as long as the connection lives, so nothing is sent twice (RFC 3261 17). */
  readonly reliable: boolean;
  /** It runs over TLS. */
  readonly secure: boolean;
  /** Each message comes in a WebSocket message of its own (RFC 7118); only the peer can open such a connection. */
  readonly webSocket: boolean;
  /** The port where none is named (RFC 3261 18, RFC 7118 4). */
  readonly defaultPort: number;
  /** Its name in URIs: `wss` is `ws` there, with `sips` (RFC 7118 5.1). */
  readonly uriTransport: string;
};

/** All that SIP is spoken over. */
const transportKinds: Readonly<Record<Protocol, TransportKind>> = {
  udp: { reliable: false, secure: false, webSocket: false, defaultPort: 5060, uriTransport: 'udp' },
  tcp: { reliable: true, secure: false, webSocket: false, defaultPort: 5060, uriTransport: 'tcp' },
  tls: { reliable: true, secure: true, webSocket: false, defaultPort: 5061, uriTransport: 'tls' },
  ws: { reliable: true, secure: false, webSocket: true, defaultPort: 80, uriTransport: 'ws' },
  wss: { reliable: true, secure: true, webSocket: true, defaultPort: 443, uriTransport: 'ws' },
};

/** The kind of a protocol. */
export const kindOf = (protocol: Protocol): TransportKind => transportKinds[protocol];

/**
 * The protocol of a URI (RFC 3261 19.1.1, RFC 5630 3.1.3): `sips` always means TLS, so `tcp` and none are TLS there,
 * and `udp` is invalid. Undefined for an unknown one.
 */
export function protocolOf(scheme: 'sip' | 'sips', transport: string | undefined): Protocol | undefined {
  const named = transport?.toLowerCase();
  if (scheme === 'sip') {
    if (named === undefined) return 'udp';
    return named in transportKinds ? (named as Protocol) : undefined;
  }
  if (named === undefined || named === 'tcp' || named === 'tls') return 'tls';
  return named === 'ws' || named === 'wss' ? 'wss' : undefined;
}
