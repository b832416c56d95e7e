import { createCipheriv } from 'node:crypto';
import { type SrtpKey, srtpSuites } from '../../lib/srtp.ts';

/** Session keys of one packet kind, audio or RTCP. */
export type SessionKeys = { readonly cipher: Buffer; readonly salt: Buffer; readonly auth: Buffer };

/** Labels of the derivation (RFC 3711 4.3.1, 4.3.2). */
const labels = { rtp: { cipher: 0, auth: 1, salt: 2 }, rtcp: { cipher: 3, auth: 4, salt: 5 } } as const;

const authKeyOctets = 20;
/** The salt of a suite with a shorter one is made up with zeros for the derivation (RFC 7714 11). */
const derivationSaltOctets = 14;

/** The keys of a session, made from the master key (RFC 3711 4.3); they are never renewed. */
export function sessionKeys(master: SrtpKey): Readonly<Record<'rtp' | 'rtcp', SessionKeys>> {
  const { key: keyOctets, salt: saltOctets } = srtpSuites[master.suite];
  const text = Buffer.from(master.key, 'base64');
  const key = text.subarray(0, keyOctets);
  const salt = Buffer.alloc(derivationSaltOctets);
  text.copy(salt, 0, keyOctets, keyOctets + saltOctets);
  const derive = (label: number, octets: number): Buffer => {
    // The label stands seven octets before the end of the salt, and the counter of 16 bits behind it.
    const input = Buffer.alloc(16);
    salt.copy(input);
    input[7]! ^= label;
    return createCipheriv(keyOctets === 32 ? 'aes-256-ctr' : 'aes-128-ctr', key, input).update(Buffer.alloc(octets));
  };
  const made = (kind: 'rtp' | 'rtcp'): SessionKeys => ({
    cipher: derive(labels[kind].cipher, keyOctets),
    auth: derive(labels[kind].auth, authKeyOctets),
    salt: derive(labels[kind].salt, saltOctets),
  });
  return { rtp: made('rtp'), rtcp: made('rtcp') };
}
