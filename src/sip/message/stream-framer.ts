import { MAX_MESSAGE_BYTES } from './parse.ts';
import { CR, LF, parseDecimal } from './scan.ts';

/** Result of the framer: a whole message, a keep-alive to answer with one CRLF, or an unreadable stream. */
export type Frame =
  | { readonly type: 'message'; readonly bytes: Buffer }
  | { readonly type: 'ping' }
  | { readonly type: 'broken'; readonly problem: string; readonly head: Buffer | undefined };

const noBytes: Buffer = Buffer.alloc(0);
const headEndMark = Buffer.from('\r\n\r\n');

/**
 * Splits a byte stream into SIP messages by Content-Length (RFC 3261 18.3) and finds CRLF CRLF keep-alives (RFC 5626
 * 3.5.1; a single CRLF, the answer to ours, is skipped). After `broken` the connection must be closed, and later chunks
 * give nothing. A message in one chunk is not copied.
 */
export class StreamFramer {
  /** Incomplete message: bytes [0, #length) of #buffer. */
  #buffer: Buffer = noBytes;
  #length = 0;
  /** Position of the search for the end of headers, so that slow senders cost no repeated searches. */
  #searched = 0;
  /** The length of the message at the front, once its headers are known; 0 before. */
  #expected = 0;
  #broken = false;

  /** True while part of a message waits for the rest. */
  get isPartial(): boolean {
    return this.#length > 0;
  }

  /** Takes the next bytes of the stream. Never throws. */
  push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    if (this.#broken) return frames;
    const joined = this.#length > 0;
    const bytes = joined ? this.#join(chunk) : chunk;
    const used = this.#cut(bytes, frames, joined);
    if (this.#broken) {
      this.#buffer = noBytes;
      this.#length = 0;
    } else this.#keep(bytes, used, joined);
    return frames;
  }

  /** Cuts whole messages off the front of `bytes`; returns how many bytes are used up. */
  #cut(bytes: Buffer, frames: Frame[], copy: boolean): number {
    let at = 0;
    while (at < bytes.length) {
      if (this.#expected === 0) {
        if (bytes[at] === CR || bytes[at] === LF) {
          const skipped = skipKeepAlive(bytes, at, frames);
          if (skipped === 0) break;
          at += skipped;
          continue;
        }
        if (!this.#readHead(bytes, at, frames)) break;
      }
      if (bytes.length - at < this.#expected) break;
      const message = bytes.subarray(at, at + this.#expected);
      frames.push({ type: 'message', bytes: copy ? Buffer.from(message) : message });
      at += this.#expected;
      this.#expected = 0;
      this.#searched = 0;
    }
    return at;
  }

  /** Finds the end of the headers and the length of the whole message; false when that is not possible (yet). */
  #readHead(bytes: Buffer, at: number, frames: Frame[]): boolean {
    const mark = bytes.indexOf(headEndMark, at + Math.max(0, this.#searched - 3));
    if (mark < 0) {
      this.#searched = bytes.length - at;
      if (this.#searched > MAX_MESSAGE_BYTES) this.#break('the headers are too large', undefined, frames);
      return false;
    }
    const headLength = mark + 4 - at;
    const length = contentLength(bytes.toString('latin1', at, mark + 2));
    if (length < 0) this.#break('Content-Length is missing or malformed', bytes.subarray(at, mark + 4), frames);
    else if (headLength + length > MAX_MESSAGE_BYTES) this.#break('the message is too large', undefined, frames);
    else this.#expected = headLength + length;
    return !this.#broken;
  }

  #break(problem: string, head: Buffer | undefined, frames: Frame[]): void {
    this.#broken = true;
    frames.push({ type: 'broken', problem, head: head && Buffer.from(head) });
  }

  #join(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, length, 2048));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
    return this.#buffer.subarray(0, length);
  }

  #keep(bytes: Buffer, used: number, joined: boolean): void {
    const rest = bytes.length - used;
    if (rest === 0) {
      this.#buffer = noBytes;
      this.#length = 0;
    } else if (!joined) {
      this.#length = 0;
      this.#join(bytes.subarray(used));
    } else if (used > 0) {
      this.#buffer.copyWithin(0, used, bytes.length);
      this.#length = rest;
    }
  }
}

/** Bytes of line ends before a message that can be passed over; 0 when more must come to tell. Adds a ping for each run of CRLF CRLF. */
function skipKeepAlive(bytes: Buffer, at: number, frames: Frame[]): number {
  if (bytes[at] === LF) return 1;
  if (at + 1 >= bytes.length) return 0;
  if (bytes[at + 1] !== LF) return 1;
  if (at + 2 >= bytes.length) return 0;
  if (bytes[at + 2] !== CR) return 2;
  if (at + 3 >= bytes.length) return 0;
  if (bytes[at + 3] !== LF) return 2;
  if (frames.at(-1)?.type !== 'ping') frames.push({ type: 'ping' });
  return 4;
}

/** The value of the one Content-Length (or `l`) header in `head`; -1 when missing, malformed, or contradictory. */
function contentLength(head: string): number {
  let found = -1;
  for (let at = head.indexOf('\n') + 1; at > 0 && at < head.length; at = head.indexOf('\n', at) + 1) {
    const first = head.charCodeAt(at) | 32;
    if (first !== 108 && first !== 99) continue;
    const end = head.indexOf('\n', at);
    const line = head.slice(at, end < 0 ? head.length : end);
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name !== 'content-length' && name !== 'l') continue;
    const length = parseDecimal(line.slice(colon + 1).trim(), MAX_MESSAGE_BYTES);
    if (length < 0 || (found >= 0 && found !== length)) return -1;
    found = length;
  }
  return found;
}
