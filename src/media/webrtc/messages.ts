import { type CipherSuite, cipherSuites, srtpProfiles } from './secrets.ts';

/** Types of handshake messages (RFC 5246 7.4, RFC 6347 4.3.2). */
export const handshakeType = {
  helloRequest: 0,
  clientHello: 1,
  serverHello: 2,
  helloVerifyRequest: 3,
  certificate: 11,
  serverKeyExchange: 12,
  certificateRequest: 13,
  serverHelloDone: 14,
  certificateVerify: 15,
  clientKeyExchange: 16,
  finished: 20,
} as const;

const extension = {
  supportedGroups: 10,
  pointFormats: 11,
  signatureAlgorithms: 13,
  useSrtp: 14,
  extendedMasterSecret: 23,
  renegotiation: 0xff01,
} as const;

const dtls12 = 0xfefd;
/** A curve by its name (RFC 8422 5.4). */
const namedCurve = 3;
const p256 = 23;
/** TLS_EMPTY_RENEGOTIATION_INFO_SCSV (RFC 5746 3.3). */
const renegotiationSuite = 0x00ff;

/** ECDSA with SHA-256: our own signature. */
export const ourScheme = 0x0403;
/** Type of a certificate with a key for ECDSA (RFC 8422 5.5). */
const ecdsaCertificate = 64;

/** Signatures that the far side's certificate may have (RFC 5246 7.4.1.4.1), with their hash and the type of its key. */
export const signatureSchemes: readonly { readonly id: number; readonly hash: string; readonly key: 'ec' | 'rsa' }[] = [
  { id: ourScheme, hash: 'sha256', key: 'ec' },
  { id: 0x0503, hash: 'sha384', key: 'ec' },
  { id: 0x0603, hash: 'sha512', key: 'ec' },
  { id: 0x0401, hash: 'sha256', key: 'rsa' },
  { id: 0x0501, hash: 'sha384', key: 'rsa' },
  { id: 0x0601, hash: 'sha512', key: 'rsa' },
];

/** What a ClientHello says, as far as it decides something. */
export type ClientHello = {
  readonly random: Uint8Array;
  readonly cookie: Uint8Array;
  /** Its parameters without the cookie, which the cookie proves too (RFC 6347 4.2.1). */
  readonly parameters: readonly Uint8Array[];
  /** Our choices among its offers; undefined: it offers none that we take. */
  readonly suite: CipherSuite | undefined;
  readonly srtp: (typeof srtpProfiles)[number] | undefined;
  /** It has the extended master secret, P-256, and no compression only. */
  readonly isUsable: boolean;
  /** It knows secure renegotiation, and wants to hear that. */
  readonly saysRenegotiation: boolean;
};

/** Reads octets in order. Beyond the end it throws {@link Truncated}. */
class Reader {
  readonly #octets: Buffer;
  #at = 0;

  constructor(octets: Uint8Array) {
    this.#octets = Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  }

  get left(): number {
    return this.#octets.length - this.#at;
  }

  number(octets: number): number {
    return Buffer.from(this.take(octets)).readUIntBE(0, octets);
  }

  take(octets: number): Buffer {
    if (octets > this.left) throw new Truncated();
    this.#at += octets;
    return this.#octets.subarray(this.#at - octets, this.#at);
  }

  /** Octets behind their length, which has so many octets itself. */
  vector(lengthOctets: number): Buffer {
    return this.take(this.number(lengthOctets));
  }

  numbers(lengthOctets: number): number[] {
    const octets = this.vector(lengthOctets);
    return Array.from({ length: octets.length >> 1 }, (_, index) => octets.readUInt16BE(2 * index));
  }

  end(): void {
    if (this.left > 0) throw new Truncated();
  }
}

class Truncated extends Error {}

/** The result of a reader; undefined when the octets end too early or too late. */
function reading<T>(octets: Uint8Array, read: (from: Reader) => T): T | undefined {
  try {
    const reader = new Reader(octets);
    const result = read(reader);
    reader.end();
    return result;
  } catch (error) {
    if (error instanceof Truncated) return undefined;
    throw error;
  }
}

/** Reads a ClientHello (RFC 6347 4.2.1); undefined when it is malformed. */
export const readClientHello = (body: Uint8Array): ClientHello | undefined =>
  reading(body, (from) => {
    const version = from.take(2);
    const random = from.take(32);
    const session = from.vector(1);
    const cookie = from.vector(1);
    const suites = from.numbers(2);
    const compressions = from.vector(1);
    const extensions = from.left > 0 ? readExtensions(from.vector(2)) : new Map<number, Buffer>();
    const groups = listIn(extensions.get(extension.supportedGroups));
    const profiles = profilesIn(extensions.get(extension.useSrtp));
    return {
      random,
      cookie,
      parameters: [version, random, session, Buffer.from(Uint16Array.from(suites).buffer), compressions],
      suite: cipherSuites.find(({ id }) => suites.includes(id)),
      srtp: srtpProfiles.find(({ id }) => profiles.includes(id)),
      isUsable:
        version.readUInt16BE() <= dtls12 &&
        version[0] === 0xfe &&
        compressions.includes(0) &&
        groups.includes(p256) &&
        extensions.has(extension.extendedMasterSecret),
      saysRenegotiation: extensions.has(extension.renegotiation) || suites.includes(renegotiationSuite),
    };
  });

function readExtensions(octets: Uint8Array): ReadonlyMap<number, Buffer> {
  const extensions = new Map<number, Buffer>();
  const from = new Reader(octets);
  while (from.left > 0) extensions.set(from.number(2), from.vector(2));
  return extensions;
}

const listIn = (octets: Buffer | undefined): number[] => (octets && reading(octets, (from) => from.numbers(2))) ?? [];

const profilesIn = (octets: Buffer | undefined): number[] =>
  (octets &&
    reading(octets, (from) => {
      const profiles = from.numbers(2);
      from.vector(1);
      return profiles;
    })) ??
  [];

/** The first certificate of a Certificate message, in DER (RFC 5246 7.4.2); undefined when there is none. */
export const readCertificate = (body: Uint8Array): Buffer | undefined =>
  reading(body, (from) => {
    const list = new Reader(from.vector(3));
    return list.left > 0 ? list.vector(3) : undefined;
  });

/** The public point of a ClientKeyExchange (RFC 8422 5.7). */
export const readPoint = (body: Uint8Array): Buffer | undefined => reading(body, (from) => from.vector(1));

/** What a side has signed with, and the signature. */
export type Signature = { readonly scheme: number; readonly signature: Buffer };

const signatureIn = (from: Reader): Signature => ({ scheme: from.number(2), signature: from.vector(2) });

/** The signature of a CertificateVerify (RFC 5246 7.4.8). */
export const readSignature = (body: Uint8Array): Signature | undefined => reading(body, signatureIn);

/** The cookie of a HelloVerifyRequest (RFC 6347 4.2.1). */
export const readHelloVerifyRequest = (body: Uint8Array): Buffer | undefined =>
  reading(body, (from) => {
    from.take(2);
    return from.vector(1);
  });

/** What a ServerHello chooses. */
export type ServerHello = {
  readonly random: Uint8Array;
  readonly suite: CipherSuite;
  readonly srtp: (typeof srtpProfiles)[number];
};

/**
 * Reads a ServerHello (RFC 5246 7.4.1.3); undefined when it is malformed, or chooses anything that {@link clientHello} does
 * not offer. The extended master secret is a must (RFC 7627 5.3).
 */
export const readServerHello = (body: Uint8Array): ServerHello | undefined =>
  reading(body, (from) => {
    const version = from.number(2);
    const random = from.take(32);
    from.vector(1);
    const [chosen, compression] = [from.number(2), from.number(1)];
    const extensions = from.left > 0 ? readExtensions(from.vector(2)) : new Map<number, Buffer>();
    const suite = cipherSuites.find(({ id }) => id === chosen);
    const [profile, ...others] = profilesIn(extensions.get(extension.useSrtp));
    const srtp = others.length === 0 ? srtpProfiles.find(({ id }) => id === profile) : undefined;
    const isOffered = version === dtls12 && compression === 0 && [...extensions].every(isAnswer);
    return isOffered && suite && srtp && extensions.has(extension.extendedMasterSecret)
      ? { random, suite, srtp }
      : undefined;
  });

/** Whether an extension of a ServerHello answers one of ours. Nothing is renegotiated: no earlier handshake is named. */
const isAnswer = ([type, content]: readonly [number, Buffer]): boolean =>
  type === extension.renegotiation
    ? content.equals(Buffer.of(0))
    : [extension.extendedMasterSecret, extension.pointFormats, extension.useSrtp].some((known) => known === type);

/** A ServerKeyExchange of ECDHE with P-256 (RFC 8422 5.4): the octets that are signed, and the point in them. */
export const readKeyExchange = (
  body: Uint8Array,
): (Signature & { readonly parameters: Uint8Array; readonly point: Buffer }) | undefined =>
  reading(body, (from) => {
    const [kind, curve, point] = [from.number(1), from.number(2), from.vector(1)];
    const said = { ...signatureIn(from), point, parameters: body.subarray(0, 4 + point.length) };
    return kind === namedCurve && curve === p256 ? said : undefined;
  });

/** The signatures that a CertificateRequest takes of a key for ECDSA (RFC 5246 7.4.4); undefined when it is malformed. */
export const readCertificateRequest = (body: Uint8Array): number[] | undefined =>
  reading(body, (from) => {
    const [types, schemes] = [from.vector(1), from.numbers(2)];
    from.vector(2);
    return types.includes(ecdsaCertificate) ? schemes : [];
  });

const number = (value: number, octets: number): Buffer => {
  const written = Buffer.alloc(octets);
  written.writeUIntBE(value, 0, octets);
  return written;
};

const vector = (lengthOctets: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([number(content.length, lengthOctets), content]);
};

/** RFC 6347 4.2.1. Its version is 1.0, whatever is negotiated later. */
export const helloVerifyRequest = (cookie: Uint8Array): Buffer => Buffer.concat([number(0xfeff, 2), vector(1, cookie)]);

const extensionOf = (type: number, ...content: readonly Uint8Array[]): Buffer =>
  Buffer.concat([number(type, 2), vector(2, ...content)]);

const numbers = (values: readonly { readonly id: number }[]): Buffer[] => values.map(({ id }) => number(id, 2));

/** Offers all that we take as a client (RFC 6347 4.2.1). Its certificate has to have a key for ECDSA: so have the suites. */
export function clientHello(random: Uint8Array, cookie: Uint8Array): Buffer {
  const ours = signatureSchemes.filter(({ key }) => key === 'ec');
  const extensions = [
    extensionOf(extension.supportedGroups, vector(2, number(p256, 2))),
    extensionOf(extension.pointFormats, Buffer.of(1, 0)),
    extensionOf(extension.signatureAlgorithms, vector(2, ...numbers(ours))),
    extensionOf(extension.useSrtp, vector(2, ...numbers(srtpProfiles)), Buffer.of(0)),
    extensionOf(extension.extendedMasterSecret),
    extensionOf(extension.renegotiation, Buffer.of(0)),
  ];
  const start = [number(dtls12, 2), random, Buffer.of(0), vector(1, cookie), vector(2, ...numbers(cipherSuites))];
  return Buffer.concat([...start, Buffer.of(1, 0), vector(2, ...extensions)]);
}

/** RFC 5246 7.4.1.3, without a session to resume. */
export function serverHello(random: Uint8Array, hello: ClientHello, suite: CipherSuite): Buffer {
  const extensions = [
    extensionOf(extension.extendedMasterSecret),
    ...(hello.saysRenegotiation ? [extensionOf(extension.renegotiation, Buffer.of(0))] : []),
    extensionOf(extension.pointFormats, Buffer.of(1, 0)),
    ...(hello.srtp ? [extensionOf(extension.useSrtp, vector(2, number(hello.srtp.id, 2)), Buffer.of(0))] : []),
  ];
  const start = [number(dtls12, 2), random, Buffer.of(0), number(suite.id, 2), Buffer.of(0)];
  return Buffer.concat([...start, vector(2, ...extensions)]);
}

/** A Certificate message with one certificate. */
export const certificateMessage = (der: Uint8Array): Buffer => vector(3, vector(3, der));

/** The parameters of ECDHE with P-256 (RFC 8422 5.4). */
export const ecdhParameters = (point: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(namedCurve), number(p256, 2), vector(1, point)]);

/** A ClientKeyExchange (RFC 8422 5.7). */
export const pointMessage = (point: Uint8Array): Buffer => vector(1, point);

/** A signature by ECDSA with SHA-256, with its scheme. */
export const signed = (signature: Uint8Array): Buffer => Buffer.concat([number(ourScheme, 2), vector(2, signature)]);

/** Asks for a certificate with a key of ECDSA or RSA, of any issuer: its fingerprint proves it. */
export const certificateRequest = (): Buffer =>
  Buffer.concat([vector(1, Buffer.of(ecdsaCertificate, 1)), vector(2, ...numbers(signatureSchemes)), number(0, 2)]);
