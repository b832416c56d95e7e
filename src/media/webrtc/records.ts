import { createCipheriv, createDecipheriv } from 'node:crypto';
import { ReplayWindow } from '../srtp/replay-window.ts';
import type { RecordKey } from './secrets.ts';

/** Contents of records (RFC 5246 6.2.1). */
export const contentType = { changeCipherSpec: 20, alert: 21, handshake: 22, applicationData: 23 } as const;

/** A record of DTLS 1.2 (RFC 6347 4.1), opened. */
export type DtlsRecord = { type: number; epoch: number; sequence: number; content: Uint8Array };

const headerOctets = 13;
const explicitOctets = 8;
const tagOctets = 16;
/** The most that a record contains (RFC 5246 6.2.1), and what encryption adds. */
const longestContent = 0x4000 + explicitOctets + tagOctets;
/** Records of one datagram that are read; the others are dropped. */
const maximumRecords = 32;
const dtls12 = 0xfefd;

/** The records of a datagram as they stand. It ends where something is not one (RFC 6347 4.1.2.7). */
export function readRecords(datagram: Uint8Array): DtlsRecord[] {
  const octets = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.length);
  const records: DtlsRecord[] = [];
  for (let at = 0; at + headerOctets <= octets.length && records.length < maximumRecords; ) {
    const length = octets.readUInt16BE(at + 11);
    const end = at + headerOctets + length;
    if (octets[at + 1] !== 0xfe || length > longestContent || end > octets.length) break;
    records.push({
      type: octets[at]!,
      epoch: octets.readUInt16BE(at + 3),
      sequence: octets.readUIntBE(at + 5, 6),
      content: octets.subarray(at + headerOctets, end),
    });
    at = end;
  }
  return records;
}

function header(type: number, epoch: number, sequence: number, length: number): Buffer {
  const octets = Buffer.alloc(headerOctets);
  octets[0] = type;
  octets.writeUInt16BE(dtls12, 1);
  octets.writeUInt16BE(epoch, 3);
  octets.writeUIntBE(sequence, 5, 6);
  octets.writeUInt16BE(length, 11);
  return octets;
}

/** A record in the clear. */
export const writeRecord = (type: number, sequence: number, content: Uint8Array): Buffer =>
  Buffer.concat([header(type, 0, sequence, content.length), content]);

/** What is proved beside the content (RFC 5246 6.2.3.3): number, type, version and length. */
function proved({ type, epoch, sequence }: DtlsRecord, length: number): Buffer {
  const octets = header(type, epoch, sequence, length);
  return Buffer.concat([octets.subarray(3, 11), octets.subarray(0, 3), octets.subarray(11)]);
}

/** An encrypted record (RFC 5288 section 3): the explicit part of its nonce is its number. */
export function sealRecord({ suite, key, salt }: RecordKey, record: DtlsRecord): Buffer {
  const { type, epoch, sequence, content } = record;
  const start = header(type, epoch, sequence, explicitOctets + content.length + tagOctets);
  const explicit = start.subarray(3, 11);
  const cipher = createCipheriv(suite.cipher, key, Buffer.concat([salt, explicit]), { authTagLength: tagOctets });
  cipher.setAAD(proved(record, content.length));
  const secret = cipher.update(content);
  cipher.final();
  return Buffer.concat([start, explicit, secret, cipher.getAuthTag()]);
}

/** Opens records of one epoch. A forged or repeated one changes nothing. */
export class RecordOpener {
  readonly #key: RecordKey;
  readonly #window = new ReplayWindow();

  constructor(key: RecordKey) {
    this.#key = key;
  }

  /** The record with its content; undefined when it proves nothing or came before (RFC 6347 4.1.2.6). */
  open(record: DtlsRecord): DtlsRecord | undefined {
    const { content, sequence } = record;
    const end = content.length - tagOctets;
    if (end < explicitOctets || !this.#window.admits(sequence)) return undefined;
    const { suite, key, salt } = this.#key;
    const nonce = Buffer.concat([salt, content.subarray(0, explicitOctets)]);
    const cipher = createDecipheriv(suite.cipher, key, nonce, { authTagLength: tagOctets });
    cipher.setAAD(proved(record, end - explicitOctets));
    cipher.setAuthTag(content.subarray(end));
    const plain = cipher.update(content.subarray(explicitOctets, end));
    try {
      cipher.final();
    } catch {
      return undefined;
    }
    this.#window.take(sequence);
    return { ...record, content: plain };
  }
}
