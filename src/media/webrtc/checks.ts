import { headerOctets, isBindingRequest, isStun, writeBindingResponse } from '../../lib/stun.ts';
import type { IceCredentials } from '../../lib/webrtc.ts';
import { attribute, attributesOf, hasFingerprint, hasIntegrity, proved, writeMessage } from './stun-message.ts';

const understood: readonly number[] = [
  attribute.username,
  attribute.integrity,
  attribute.priority,
  attribute.useCandidate,
];
const bindingRequest = 0x0001;
const bindingSuccess = 0x0101;
const bindingError = 0x0111;
/** Of a candidate that the far side would learn by a check: peer-reflexive, of the one component (RFC 8445 7.1.1). */
const checkPriority = 2 ** 24 * 110 + 2 ** 8 * 65_535 + 255;

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

/** A check of a controlling agent (RFC 8445 7.1). @param nominates media shall take this pair. */
export function writeCheck({
  id,
  local,
  remote,
  tiebreaker,
  nominates,
}: {
  id: Uint8Array;
  local: IceCredentials;
  remote: IceCredentials;
  tiebreaker: Uint8Array;
  nominates: boolean;
}): Buffer {
  const priority = Buffer.alloc(4);
  priority.writeUInt32BE(checkPriority);
  const check = writeMessage(bindingRequest, id, [
    [attribute.username, Buffer.from(`${remote.ufrag}:${local.ufrag}`)],
    [attribute.controlling, tiebreaker],
    [attribute.priority, priority],
    ...(nominates ? [[attribute.useCandidate, Buffer.alloc(0)] as const] : []),
  ]);
  return proved(check, remote.password);
}

/** Whether a message says that a check has come, and proves that its sender knows the password (RFC 8445 7.2.5). */
export function isCheckAnswer(octets: Uint8Array, password: string): boolean {
  const message = Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  if (!isStun(message) || message.readUInt16BE() !== bindingSuccess) return false;
  const integrity = attributesOf(message)?.find(({ type }) => type === attribute.integrity);
  return integrity !== undefined && hasIntegrity(message, integrity, password);
}
