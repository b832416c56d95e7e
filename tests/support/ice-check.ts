import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Credentials of both sides, for tests. */
export const iceLocal = { ufrag: 'ours', password: 'our-password-is-secret-22'.replaceAll('-', '+') };
export const iceRemote = { ufrag: 'theirs', password: 'their+password+is+secret' };

/** An attribute of STUN, padded. */
export const attributeOf = (type: number, value: Uint8Array): Buffer => {
  const padded = Buffer.alloc(4 + Math.ceil(value.length / 4) * 4);
  padded.writeUInt16BE(type);
  padded.writeUInt16BE(value.length, 2);
  padded.set(value, 4);
  return padded;
};

/** The header of a STUN message. */
export const header = (type: number, length: number): Buffer => {
  const octets = Buffer.alloc(20, 5);
  octets.writeUInt16BE(type);
  octets.writeUInt16BE(length, 2);
  octets.writeUInt32BE(0x2112a442, 4);
  return octets;
};

type Check = {
  username?: string;
  password?: string;
  nominates?: boolean;
  role?: number;
  tiebreaker?: Uint8Array;
  more?: Buffer[];
  type?: number;
};

/** A check as a browser sends it. */
export function check({
  username = 'ours:theirs',
  password = iceLocal.password,
  nominates,
  role = 0x802a,
  tiebreaker = Buffer.alloc(8, 1),
  more = [],
  type = 1,
}: Check = {}) {
  const attributes = Buffer.concat([
    attributeOf(0x0006, Buffer.from(username)),
    attributeOf(role, tiebreaker),
    attributeOf(0x0024, Buffer.alloc(4, 1)),
    ...(nominates ? [attributeOf(0x0025, Buffer.alloc(0))] : []),
    ...more,
  ]);
  const start = Buffer.concat([header(type, attributes.length + 24), attributes]);
  const proved = Buffer.concat([start, attributeOf(0x0008, createHmac('sha1', password).update(start).digest())]);
  proved.writeUInt16BE(proved.length - 20 + 8, 2);
  const print = Buffer.alloc(4);
  print.writeUInt32BE((crc32(proved) ^ 0x5354554e) >>> 0);
  return Buffer.concat([proved, attributeOf(0x8028, print)]);
}
