import { createHmac } from 'node:crypto';
import { type SrtpKeys, type SrtpSuite, srtpSuites } from '../../lib/srtp.ts';

import type { DtlsRole } from '../../lib/webrtc.ts';

/** A cipher suite of TLS 1.2: AES in Galois/counter mode, with ECDHE and ECDSA (RFC 5289 3.2). */
export type CipherSuite = {
  readonly id: number;
  readonly cipher: 'aes-128-gcm' | 'aes-256-gcm';
  readonly keyOctets: number;
  readonly hash: 'sha256' | 'sha384';
};

/** The cipher suites that we take, the preferred one first. */
export const cipherSuites: readonly CipherSuite[] = [
  { id: 0xc02b, cipher: 'aes-128-gcm', keyOctets: 16, hash: 'sha256' },
  { id: 0xc02c, cipher: 'aes-256-gcm', keyOctets: 32, hash: 'sha384' },
];

/** The suites of SRTP that DTLS can agree on, by number (RFC 5764 4.1.2, RFC 7714 14.2), the preferred one first. */
export const srtpProfiles: readonly { readonly id: number; readonly suite: SrtpSuite }[] = [
  { id: 7, suite: 'AEAD_AES_128_GCM' },
  { id: 8, suite: 'AEAD_AES_256_GCM' },
  { id: 1, suite: 'AES_CM_128_HMAC_SHA1_80' },
];

/** A secret with the hash that makes more of it. */
type Keyed = { readonly hash: CipherSuite['hash']; readonly secret: Uint8Array };

/** The pseudorandom function of TLS 1.2 (RFC 5246 section 5). @returns so many octets. */
function prf({ hash, secret }: Keyed, label: string, seed: Uint8Array, octets: number): Buffer {
  const hmac = (...parts: readonly Uint8Array[]): Buffer => {
    const made = createHmac(hash, secret);
    for (const part of parts) made.update(part);
    return made.digest();
  };
  const labelled = Buffer.concat([Buffer.from(label, 'latin1'), seed]);
  const blocks: Buffer[] = [];
  let [a, length] = [hmac(labelled), 0];
  while (length < octets) {
    const block = hmac(a, labelled);
    blocks.push(block);
    length += block.length;
    a = hmac(a);
  }
  return Buffer.concat(blocks).subarray(0, octets);
}

/** What both sides of a handshake know. Never log it. */
export type Secrets = {
  readonly suite: CipherSuite;
  readonly master: Buffer;
  readonly clientRandom: Uint8Array;
  readonly serverRandom: Uint8Array;
};

/** The master secret, bound to the handshake so far (RFC 7627 section 4). @param transcript the hash of its messages. */
export const masterSecret = ({ hash }: CipherSuite, premaster: Uint8Array, transcript: Uint8Array): Buffer =>
  prf({ hash, secret: premaster }, 'extended master secret', transcript, 48);

/** What Finished says (RFC 5246 7.4.9). */
export const verifyData = ({ suite, master }: Secrets, side: DtlsRole, transcript: Uint8Array): Buffer =>
  prf({ hash: suite.hash, secret: master }, `${side} finished`, transcript, 12);

/** Key and implicit part of the nonce of one direction (RFC 5288 section 3). */
export type RecordKey = { readonly suite: CipherSuite; readonly key: Buffer; readonly salt: Buffer };

const recordSaltOctets = 4;

/** The keys of records (RFC 5246 6.3). */
export function recordKeys({ suite, master, clientRandom, serverRandom }: Secrets): Record<DtlsRole, RecordKey> {
  const { keyOctets } = suite;
  const seed = Buffer.concat([serverRandom, clientRandom]);
  const block = prf({ hash: suite.hash, secret: master }, 'key expansion', seed, 2 * (keyOctets + recordSaltOctets));
  const piece = (from: number, octets: number): Buffer => block.subarray(from, from + octets);
  const salts = 2 * keyOctets;
  return {
    client: { suite, key: piece(0, keyOctets), salt: piece(salts, recordSaltOctets) },
    server: { suite, key: piece(keyOctets, keyOctets), salt: piece(salts + recordSaltOctets, recordSaltOctets) },
  };
}

/** The keys of SRTP that a handshake gives one of its sides (RFC 5764 4.2). */
export function exportSrtpKeys(secrets: Secrets, srtp: SrtpSuite, role: DtlsRole): SrtpKeys {
  const { suite, master, clientRandom, serverRandom } = secrets;
  const { key, salt } = srtpSuites[srtp];
  const seed = Buffer.concat([clientRandom, serverRandom]);
  const block = prf({ hash: suite.hash, secret: master }, 'EXTRACTOR-dtls_srtp', seed, 2 * (key + salt));
  const keyOf = (side: 0 | 1) => {
    const salted = 2 * key + side * salt;
    const octets = [block.subarray(side * key, (side + 1) * key), block.subarray(salted, salted + salt)];
    return { suite: srtp, key: Buffer.concat(octets).toString('base64') };
  };
  const [client, server] = [keyOf(0), keyOf(1)];
  return role === 'server' ? { local: server, remote: client } : { local: client, remote: server };
}
