import { createHmac, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { headerOctets, magicCookie } from '../../lib/stun.ts';

/** Attributes of STUN (RFC 8489 18.3), ICE (RFC 8445 16.1) and TURN (RFC 8656 18). */
export const attribute = {
  username: 0x0006,
  integrity: 0x0008,
  errorCode: 0x0009,
  unknownAttributes: 0x000a,
  channelNumber: 0x000c,
  lifetime: 0x000d,
  peerAddress: 0x0012,
  data: 0x0013,
  realm: 0x0014,
  nonce: 0x0015,
  relayedAddress: 0x0016,
  requestedTransport: 0x0019,
  mappedAddress: 0x0020,
  priority: 0x0024,
  useCandidate: 0x0025,
  fingerprint: 0x8028,
  controlled: 0x8029,
  controlling: 0x802a,
} as const;

const integrityOctets = 24;
const fingerprintOctets = 8;
const fingerprintMask = 0x5354_554e;
/** Attributes of one message that are read; with more it is none. */
const maximumAttributes = 32;

/** An attribute, and where it begins. */
type Attribute = { readonly type: number; readonly at: number; readonly value: Buffer };

/** The octets before an attribute, with the length that the header has when the message ends behind it. */
function upTo(message: Buffer, at: number, octets: number): Buffer {
  const copy = Buffer.from(message.subarray(0, at));
  copy.writeUInt16BE(at + octets - headerOctets, 2);
  return copy;
}

const integrityOf = (message: Buffer, at: number, key: string | Uint8Array): Buffer =>
  createHmac('sha1', key)
    .update(upTo(message, at, integrityOctets))
    .digest();

/** Whether an attribute is MESSAGE-INTEGRITY of all before it (RFC 8489 14.5). @param key the password, or made of it. */
export const hasIntegrity = (message: Buffer, { at, type, value }: Attribute, key: string | Uint8Array): boolean =>
  type === attribute.integrity &&
  value.length === integrityOctets - 4 &&
  timingSafeEqual(value, integrityOf(message, at, key));

/** Whether an attribute is FINGERPRINT of all before it (RFC 8489 14.7). */
export const hasFingerprint = (message: Buffer, { at, type, value }: Attribute): boolean =>
  type === attribute.fingerprint && value.length === 4 && value.readUInt32BE() === fingerprintOf(message, at);

const fingerprintOf = (message: Buffer, at: number): number =>
  (crc32(upTo(message, at, fingerprintOctets)) ^ fingerprintMask) >>> 0;

/** The attributes of a message, in order; undefined when they cannot be read. */
export function attributesOf(message: Buffer): Attribute[] | undefined {
  const attributes: Attribute[] = [];
  for (let at = headerOctets; at < message.length; ) {
    if (at + 4 > message.length || attributes.length === maximumAttributes) return undefined;
    const [type, length] = [message.readUInt16BE(at), message.readUInt16BE(at + 2)];
    const value = message.subarray(at + 4, at + 4 + length);
    if (value.length < length) return undefined;
    attributes.push({ type, at, value });
    at += 4 + length + ((4 - (length % 4)) % 4);
  }
  return attributes;
}

/** A message without proof. @param id 12 octets. */
export function writeMessage(
  type: number,
  id: Uint8Array,
  attributes: readonly (readonly [type: number, value: Uint8Array])[],
): Buffer {
  const length = attributes.reduce((sum, [, { length: octets }]) => sum + 4 + 4 * Math.ceil(octets / 4), 0);
  const message = Buffer.alloc(headerOctets + length);
  message.writeUInt16BE(type);
  message.writeUInt16BE(length, 2);
  message.writeUInt32BE(magicCookie, 4);
  message.set(id, 8);
  let at = headerOctets;
  for (const [name, value] of attributes) {
    message.writeUInt16BE(name, at);
    message.writeUInt16BE(value.length, at + 2);
    message.set(value, at + 4);
    at += 4 + 4 * Math.ceil(value.length / 4);
  }
  return message;
}

/** A message with MESSAGE-INTEGRITY and FINGERPRINT behind it. @param key the password, or made of it. */
export function proved(start: Buffer, key: string | Uint8Array): Buffer {
  const at = start.length;
  const message = Buffer.concat([start, Buffer.alloc(integrityOctets + fingerprintOctets)]);
  message.writeUInt16BE(message.length - headerOctets, 2);
  message.writeUInt16BE(attribute.integrity, at);
  message.writeUInt16BE(integrityOctets - 4, at + 2);
  message.set(integrityOf(message, at, key), at + 4);
  message.writeUInt16BE(attribute.fingerprint, at + integrityOctets);
  message.writeUInt16BE(4, at + integrityOctets + 2);
  message.writeUInt32BE(fingerprintOf(message, at + integrityOctets), at + integrityOctets + 4);
  return message;
}
