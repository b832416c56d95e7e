import { headerOctets, isBindingRequest, isStun, writeBindingResponse } from '../../lib/stun.ts';
import type { IceCredentials } from '../../lib/webrtc.ts';
import { attribute, attributesOf, hasFingerprint, hasIntegrity, proved, writeMessage } from './stun-message.ts';

const understood: readonly number[] = [
  attribute.username,
  attribute.integrity,
  attribute.priority,
  attribute.useCandidate,
];
const roles = ['controlled', 'controlling'] as const;
const bindingRequest = 0x0001;
const bindingSuccess = 0x0101;
const bindingError = 0x0111;
/** Of a candidate that the far side would learn by a check: peer-reflexive, of the one component (RFC 8445 7.1.1). */
const checkPriority = 2 ** 24 * 110 + 2 ** 8 * 65_535 + 255;

/** Which side chooses the pair: the controlling one (RFC 8445 6.1.1). */
export type IceRole = 'controlling' | 'controlled';

/** A connectivity check whose sender knows our password. */
type Check = {
  readonly nominates: boolean;
  /** The role of its sender; undefined: it says none. */
  readonly role: IceRole | undefined;
  /** Of the sender: it decides where both have one role. */
  readonly tiebreaker: Uint8Array;
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
  const role = roles.find((each) => found.has(attribute[each]));
  return {
    nominates: found.has(attribute.useCandidate),
    role,
    tiebreaker: (role && found.get(attribute[role])) ?? Buffer.alloc(0),
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
export function writeCheckRefusal(request: Uint8Array, { unknown }: Pick<Check, 'unknown'>, password: string): Buffer {
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

/** A check of a full agent (RFC 8445 7.1). @param nominates media shall take this pair. */
export function writeCheck({
  id,
  local,
  remote,
  role,
  tiebreaker,
  nominates,
}: {
  id: Uint8Array;
  local: IceCredentials;
  remote: IceCredentials;
  role: IceRole;
  tiebreaker: Uint8Array;
  nominates: boolean;
}): Buffer {
  const priority = Buffer.alloc(4);
  priority.writeUInt32BE(checkPriority);
  const check = writeMessage(bindingRequest, id, [
    [attribute.username, Buffer.from(`${remote.ufrag}:${local.ufrag}`)],
    [attribute[role], tiebreaker],
    [attribute.priority, priority],
    ...(nominates ? [[attribute.useCandidate, Buffer.alloc(0)] as const] : []),
  ]);
  return proved(check, remote.password);
}

/**
 * Reads the answer to a check, whose sender proves to know the password (RFC 8445 7.2.5): it has come, or both sides have one
 * role (487). Undefined for anything else.
 */
export function readCheckAnswer(octets: Uint8Array, password: string): 'granted' | 'conflict' | undefined {
  const message = Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  if (!isStun(message)) return undefined;
  const attributes = attributesOf(message);
  const integrity = attributes?.find(({ type }) => type === attribute.integrity);
  if (!integrity || !hasIntegrity(message, integrity, password)) return undefined;
  if (message.readUInt16BE() === bindingSuccess) return 'granted';
  const error = attributes?.find(({ type, at }) => type === attribute.errorCode && at < integrity.at)?.value;
  const isConflict = error && error.length >= 4 && (error[2]! & 7) * 100 + error[3]! === 487;
  return message.readUInt16BE() === bindingError && isConflict ? 'conflict' : undefined;
}
