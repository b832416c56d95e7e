import { headerOctets, isBindingRequest, writeBindingResponse } from '../../lib/stun.ts';
import type { IceCredentials } from '../../lib/webrtc.ts';
import { attribute, attributesOf, hasFingerprint, hasIntegrity, proved } from './stun-message.ts';

const understood: readonly number[] = [
  attribute.username,
  attribute.integrity,
  attribute.priority,
  attribute.useCandidate,
];
const bindingError = 0x0111;

/** A connectivity check whose sender knows our password. */
type Check = {
  readonly nominates: boolean;
  /** Its sender takes the role that a lite agent always has (RFC 8445 7.3.1.1). */
  readonly isControlled: boolean;
  /** Attributes that a reader has to understand, and we do not. */
  readonly unknown: readonly number[];
};

/** Reads a check for our credentials; undefined for anything else: its sender gets no answer. */
export function readCheck(octets: Uint8Array, local: IceCredentials, remote: IceCredentials): Check | undefined {
  if (!isBindingRequest(octets)) return undefined;
  const message = Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  const attributes = attributesOf(message) ?? [];
  // The proof comes last but for FINGERPRINT (RFC 8489 14.5, 14.7); ICE has both (RFC 8445 7.1).
  const [integrity, fingerprint] = attributes.slice(-2);
  if (!integrity || !fingerprint || !hasFingerprint(message, fingerprint)) return undefined;
  if (!hasIntegrity(message, integrity, local.password)) return undefined;
  const found = new Map(attributes.slice(0, -2).map(({ type, value }) => [type, value]));
  return checkOf(found, `${local.ufrag}:${remote.ufrag}`);
}

/** Our name in a check, before it is proved (RFC 8445 7.2.2); undefined when the octets are none. */
export function ufragIn(octets: Uint8Array): string | undefined {
  if (!isBindingRequest(octets)) return undefined;
  const message = Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  const username = attributesOf(message)?.find(({ type }) => type === attribute.username);
  return username?.value.toString().split(':', 1)[0];
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
