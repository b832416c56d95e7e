import { addressOctets } from './addresses.ts';

/** STUN (RFC 8489), as much as finding out the address that others see takes: the binding method, without credentials. */

export const magicCookie = 0x2112_a442;
export const headerOctets = 20;
const bindingRequest = 0x0001;
const bindingSuccess = 0x0101;
const mappedAddress = 0x0001;
const xorMappedAddress = 0x0020;

/** An address and port as a server sees them. */
type Mapped = { readonly address: string; readonly port: number };

/** A request for our own address. @param id 24 hexadecimal digits, other ones for each request. */
export function writeBindingRequest(id: string): Buffer {
  const request = Buffer.alloc(headerOctets);
  request.writeUInt16BE(bindingRequest);
  request.writeUInt32BE(magicCookie, 4);
  request.write(id, 8, 'hex');
  return request;
}

/** Whether octets are a binding request, of which nothing but the header is read. */
export function isBindingRequest(octets: Uint8Array): boolean {
  return isStun(octets) && octets[0] === 0 && octets[1] === 1;
}

/** Whether octets have the header of a STUN message, with their length. */
export const isStun = (octets: Uint8Array): boolean =>
  octets.length >= headerOctets &&
  octets[0]! < 0x40 &&
  octets[4] === 0x21 &&
  octets[5] === 0x12 &&
  octets[6] === 0xa4 &&
  octets[7] === 0x42 &&
  ((octets[2]! << 8) | octets[3]!) === octets.length - headerOctets;

/** The answer to a binding request: where it came from (RFC 8489 14.2). Undefined for an address that is none. */
export function writeBindingResponse(request: Uint8Array, from: Mapped): Buffer | undefined {
  const value = writeXorAddress(from, request);
  if (!value) return undefined;
  const response = Buffer.alloc(headerOctets + 4 + value.length);
  response.set(request.subarray(0, headerOctets));
  response.writeUInt16BE(bindingSuccess);
  response.writeUInt16BE(4 + value.length, 2);
  response.writeUInt16BE(xorMappedAddress, headerOctets);
  response.writeUInt16BE(value.length, headerOctets + 2);
  response.set(value, headerOctets + 4);
  return response;
}

/**
 * The value of an attribute with an address (RFC 8489 14.2); undefined for an address that is none.
 * @param message the cookie and id of its header are the mask.
 */
export function writeXorAddress({ address, port }: Mapped, message: Uint8Array): Buffer | undefined {
  const octets = addressOctets(address);
  if (!octets) return undefined;
  const value = Buffer.alloc(4 + octets.length);
  value[1] = octets.length === 4 ? 1 : 2;
  value.writeUInt16BE(port ^ (magicCookie >>> 16), 2);
  for (const [index, octet] of octets.entries()) value[4 + index] = octet ^ message[4 + index]!;
  return value;
}

/** Reads such a value; undefined where it is no address that packets can come from. */
export const readXorAddress = (value: Buffer, message: Uint8Array): Mapped | undefined =>
  readAddress(value, message.subarray(4, headerOctets));

/** The address in a server's answer to the request with that id; undefined for another or useless message. */
export function readBindingResponse(octets: Uint8Array, id: string): Mapped | undefined {
  const response = Buffer.from(octets.buffer, octets.byteOffset, octets.length);
  if (!isStun(response) || response.readUInt16BE() !== bindingSuccess) return undefined;
  if (response.toString('hex', 8, headerOctets) !== id) return undefined;
  let plain: Mapped | undefined;
  for (let at = headerOctets; at + 4 <= response.length; ) {
    const type = response.readUInt16BE(at);
    const length = response.readUInt16BE(at + 2);
    const value = response.subarray(at + 4, at + 4 + length);
    if (value.length < length) return plain;
    if (type === xorMappedAddress) return readXorAddress(value, response) ?? plain;
    if (type === mappedAddress) plain ??= readAddress(value, Buffer.alloc(16));
    at += 4 + length + ((4 - (length % 4)) % 4);
  }
  return plain;
}

function readAddress(value: Buffer, mask: Uint8Array): Mapped | undefined {
  const size = value[1] === 1 ? 4 : value[1] === 2 ? 16 : 0;
  if (size === 0 || value.length !== 4 + size) return undefined;
  const port = value.readUInt16BE(2) ^ ((mask[0]! << 8) | mask[1]!);
  const octets = value.subarray(4).map((octet, index) => octet ^ mask[index]!);
  // Invalid: port 0, an unspecified or a multicast address (RFC 1122 3.2.1.3, RFC 4291 2.5.2 and 2.7).
  if (port === 0 || octets.every((octet) => octet === 0) || octets[0]! >= (size === 4 ? 224 : 255)) return undefined;
  if (size === 4) return { address: octets.join('.'), port };
  const words = Array.from({ length: 8 }, (_, index) =>
    ((octets[2 * index]! << 8) | octets[2 * index + 1]!).toString(16),
  );
  return { address: words.join(':'), port };
}
