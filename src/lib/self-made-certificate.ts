import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto';
import { addressOctets } from './addresses.ts';

/** A certificate and its key, both PEM. */
export type CertifiedKey = { readonly certificate: string; readonly key: string };

type CertificateWish = {
  /** Host names and addresses that it is for; the first one is its common name as well. */
  readonly names: readonly string[];
  /** ms since the Unix epoch. */
  readonly from: number;
  readonly until: number;
  /** 16 hexadecimal digits, another one for each certificate. */
  readonly serial: string;
  /** The issuer; default: self-signed. */
  readonly issuer?: (CertifiedKey & { readonly name: string }) | undefined;
  /** It may sign others. */
  readonly authority?: boolean;
};

/** One element of DER (X.690 8.1, 10.1): tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.of(tag, length), content]);
  const octets = Buffer.from(length.toString(16).padStart(length > 255 ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | octets.length), octets, content]);
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const octets = (content: Uint8Array) => der(0x04, content);
const bits = (content: Uint8Array) => der(0x03, Buffer.of(0), content);
const integer = (content: Uint8Array) => der(0x02, content);
const yes = der(0x01, Buffer.of(0xff));

/** An object identifier in dotted form (X.690 8.19). */
function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const base128 = (value: number): number[] => {
    const septets = [value & 127];
    for (let left = value >>> 7; left > 0; left >>>= 7) septets.unshift((left & 127) | 128);
    return septets;
  };
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** RFC 5280 4.1.2.5: two digits of the year until 2049, four from then on. */
function time(at: number): Buffer {
  const text = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

const commonName = (name: string) =>
  sequence(der(0x31, sequence(identifier('2.5.4.3'), der(0x0c, Buffer.from(name.slice(0, 64))))));

const ecdsaWithSha256 = sequence(identifier('1.2.840.10045.4.3.2'));

function extension(id: string, value: Uint8Array, critical = false): Buffer {
  return sequence(identifier(id), ...(critical ? [yes] : []), octets(value));
}

/** An address or a name (RFC 5280 4.2.1.6). */
function alternativeName(name: string): Buffer {
  const address = addressOctets(name);
  return address ? der(0x87, address) : der(0x82, Buffer.from(name));
}

const pem = (label: string, content: Buffer): string =>
  `-----BEGIN ${label}-----\n${content.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;

/** SHA-256 of a certificate, as SDP writes it (RFC 8122 section 5). @throws Error if it cannot be read. */
export const fingerprintOf = ({ certificate }: CertifiedKey): string => new X509Certificate(certificate).fingerprint256;

/** Makes a key (P-256) and a certificate for it (RFC 5280), for a first try and for tests: only explicitly trusted. */
export function createCertificate(wish: CertificateWish): CertifiedKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [name = 'localhost'] = wish.names;
  const signer: KeyObject = wish.issuer ? createPrivateKey(wish.issuer.key) : privateKey;
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const extensions = [
    extension('2.5.29.19', sequence(...(wish.authority ? [yes] : [])), true),
    extension('2.5.29.17', sequence(...wish.names.map(alternativeName))),
    ...(wish.authority
      ? []
      : [extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'), identifier('1.3.6.1.5.5.7.3.2')))]),
  ];
  const signed = sequence(
    der(0xa0, integer(Buffer.of(2))),
    // The leading octet keeps the number positive and free of needless zeros (X.690 8.3).
    integer(Buffer.concat([Buffer.of(1), Buffer.from(wish.serial, 'hex')])),
    ecdsaWithSha256,
    commonName(wish.issuer?.name ?? name),
    sequence(time(wish.from), time(wish.until)),
    commonName(name),
    spki,
    der(0xa3, sequence(...extensions)),
  );
  const certificate = sequence(signed, ecdsaWithSha256, bits(sign('sha256', signed, signer)));
  return {
    certificate: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
