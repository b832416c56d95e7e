import { createHmac, timingSafeEqual } from 'node:crypto';
import { isBindingRequest, writeBindingResponse } from '../../lib/stun.ts';
import type { IceCredentials } from '../../lib/webrtc.ts';

/** Attributes of connectivity checks (RFC 8489 section 18.3, RFC 8445 16.1). */
const attribute = {
  username: 0x0006,
  integrity: 0x0008,
  errorCode: 0x0009,
  unknownAttributes: 0x000a,
  priority: 0x0024,
  useCandidate: 0x0025,
  fingerprint: 0x8028,
  controlled: 0x8029,
} as const;

const understood: readonly number[] = [
  attribute.username,
  attribute.integrity,
  attribute.priority,
  attribute.useCandidate,
];
const headerOctets = 20;
const integrityOctets = 24;
const fingerprintOctets = 8;
const fingerprintMask = 0x5354_554e;
const bindingError = 0x0111;
/** Attributes of one message that are read; with more it is none. */
const maximumAttributes = 32;

/** A connectivity check whose sender knows our password. */
type Check = {
  readonly nominates: boolean;
  /** Its sender takes the role that a lite agent always has (RFC 8445 7.3.1.1). */
  readonly isControlled: boolean;
  /** Attributes that a reader has to understand, and we do not. */
  readonly unknown: readonly number[];
};

/** The checksum of ISO 3309, as FINGERPRINT has it (RFC 8489 14.7). */
function crc32(octets: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const octet of octets) {
    crc ^= octet;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return ~crc >>> 0;
}

/** The octets before an attribute, with the length that the header has when the message ends behind it. */
function upTo(message: Buffer, at: number, octets: number): Buffer {
  const copy = Buffer.from(message.subarray(0, at));
  copy.writeUInt16BE(at + octets - headerOctets, 2);
  return copy;
}

const integrityOf = (message: Buffer, at: number, password: string): Buffer =>
  createHmac('sha1', password)
    .update(upTo(message, at, integrityOctets))
    .digest();

const fingerprintOf = (message: Buffer, at: number): number =>
  (crc32(upTo(message, at, fingerprintOctets)) ^ fingerprintMask) >>> 0;

/** An attribute, and where it begins. */
type Attribute = { readonly type: number; readonly at: number; readonly value: Buffer };

/** The attributes of a message, in order; undefined when they cannot be read. */
function attributesOf(message: Buffer): Attribute[] | undefined {
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

/** Reads a check for our credentials; undefined for anything else: its sender gets no answer. */
export function readCheck(octets: Uint8Array, local: IceCredentials, remote: IceCredentials): Check | undefined {
  if (!isBindingRequest(octets)) return undefined;
  const message = Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  const attributes = attributesOf(message) ?? [];
  // The proof comes last but for FINGERPRINT (RFC 8489 14.5, 14.7); ICE has both (RFC 8445 7.1).
  const [integrity, fingerprint] = attributes.slice(-2);
  if (integrity?.type !== attribute.integrity || fingerprint?.type !== attribute.fingerprint) return undefined;
  const isWhole =
    fingerprint.value.length === 4 && fingerprint.value.readUInt32BE() === fingerprintOf(message, fingerprint.at);
  if (!isWhole || integrity.value.length !== integrityOctets - 4) return undefined;
  if (!timingSafeEqual(integrity.value, integrityOf(message, integrity.at, local.password))) return undefined;
  const found = new Map(attributes.slice(0, -2).map(({ type, value }) => [type, value]));
  return checkOf(found, `${local.ufrag}:${remote.ufrag}`);
}

function checkOf(found: ReadonlyMap<number, Buffer>, username: string): Check | undefined {
  if (found.get(attribute.username)?.toString() !== username) return undefined;
  return {
    nominates: found.has(attribute.useCandidate),
    isControlled: found.has(attribute.controlled),
    unknown: [...found.keys()].filter((type) => type < 0x8000 && !understood.includes(type)),
  };
}

/** The answer to a check: its source address (RFC 8445 7.3.1.2); undefined for an address that is none. */
export function writeCheckAnswer(
  request: Uint8Array,
  from: { address: string; port: number },
  password: string,
): Buffer | undefined {
  const answer = writeBindingResponse(request, from);
  return answer && proved(answer, password);
}

/** The refusal of a check: 487 Role Conflict, or 420 with the attributes that are unknown. */
export function writeCheckRefusal(request: Uint8Array, { unknown }: Check, password: string): Buffer {
  const code = unknown.length > 0 ? 420 : 487;
  const list = unknown.slice(0, 2);
  const refusal = Buffer.alloc(headerOctets + 8 + (list.length > 0 ? 8 : 0));
  refusal.set(request.subarray(0, headerOctets));
  refusal.writeUInt16BE(bindingError);
  refusal.writeUInt16BE(attribute.errorCode, headerOctets);
  refusal.writeUInt16BE(4, headerOctets + 2);
  refusal.set([Math.floor(code / 100), code % 100], headerOctets + 6);
  if (list.length > 0) {
    refusal.writeUInt16BE(attribute.unknownAttributes, headerOctets + 8);
    refusal.writeUInt16BE(2 * list.length, headerOctets + 10);
    for (const [index, type] of list.entries()) refusal.writeUInt16BE(type, headerOctets + 12 + 2 * index);
  }
  return proved(refusal, password);
}

/** A message with MESSAGE-INTEGRITY and FINGERPRINT behind it. */
function proved(start: Buffer, password: string): Buffer {
  const at = start.length;
  const message = Buffer.concat([start, Buffer.alloc(integrityOctets + fingerprintOctets)]);
  message.writeUInt16BE(message.length - headerOctets, 2);
  message.writeUInt16BE(attribute.integrity, at);
  message.writeUInt16BE(integrityOctets - 4, at + 2);
  message.set(integrityOf(message, at, password), at + 4);
  message.writeUInt16BE(attribute.fingerprint, at + integrityOctets);
  message.writeUInt16BE(4, at + integrityOctets + 2);
  message.writeUInt32BE(fingerprintOf(message, at + integrityOctets), at + integrityOctets + 4);
  return message;
}
