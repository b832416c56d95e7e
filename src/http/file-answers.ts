import { createHash } from 'node:crypto';

/** A file as an answer: whole, or the requested byte range (RFC 9110 sections 13 and 14). */

/** The result of an operation that answers with a file. */
export type FileAnswer = {
  /** Media type. */
  type: string;
  /** Bytes. */
  size: number;
  /** Entity tag, its quotes included. */
  etag: string;
  /** The bytes from `start` to `end`, both included. */
  read(start: number, end: number): ReadableStream<Uint8Array>;
};

/** A generated file for this answer. */
export function fileOf(type: string, content: string | Buffer): FileAnswer {
  const bytes = Buffer.from(content);
  return {
    type,
    size: bytes.length,
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    read: (start, end) => new Blob([bytes.subarray(start, end + 1)]).stream(),
  };
}

/** Which bytes to send; `whole` also where the request's range is of another kind or for another version. */
type Range = { start: number; end: number } | 'whole' | 'unsatisfiable';

/** One range of bytes as it is asked for: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Several are answered by the whole. */
const single = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Reads `Range`, unless `If-Range` names another version of the file (RFC 9110 13.1.5, 14.2). */
export function readRange(headers: Headers, { size, etag }: Pick<FileAnswer, 'size' | 'etag'>): Range {
  const asked = single.exec(headers.get('range') ?? '');
  const version = headers.get('if-range');
  if (!asked || (version !== null && version !== etag)) return 'whole';
  const [, first = '', last = ''] = asked;
  if (first === '') {
    const length = Math.min(Number(last), size);
    if (last === '') return 'whole';
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}

/** Whether the client has this version already (RFC 9110 13.1.2). */
export function isFresh(headers: Headers, etag: string): boolean {
  const known = headers.get('if-none-match');
  if (known === null) return false;
  return known.trim() === '*' || known.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}
