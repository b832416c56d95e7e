/** A handshake message of DTLS, whole: its octets have the header that the transcript has (RFC 6347 4.2.6). */
export type HandshakeMessage = { readonly type: number; readonly sequence: number; readonly octets: Buffer };

export const handshakeHeaderOctets = 12;
/** The longest message that is taken, in octets, and how far ahead of the expected one messages are kept. */
const longestMessage = 16_384;
const messagesAhead = 6;

type Gathered = { readonly type: number; readonly body: Buffer; readonly have: Uint8Array; missing: number };

type Fragment = { type: number; length: number; offset: number; piece: Uint8Array };

/** A message with the header of one that is whole. */
export function writeHandshake(type: number, sequence: number, body: Uint8Array): HandshakeMessage {
  const octets = Buffer.alloc(handshakeHeaderOctets + body.length);
  octets[0] = type;
  octets.writeUIntBE(body.length, 1, 3);
  octets.writeUInt16BE(sequence, 4);
  octets.writeUIntBE(body.length, 9, 3);
  octets.set(body, handshakeHeaderOctets);
  return { type, sequence, octets };
}

/** Cuts a message into fragments of at most so many octets, headers not counted (RFC 6347 4.2.3). */
export function fragmentsOf({ octets }: HandshakeMessage, longest: number): Buffer[] {
  const body = octets.subarray(handshakeHeaderOctets);
  const pieces: Buffer[] = [];
  for (let at = 0; at === 0 || at < body.length; at += longest) {
    const piece = body.subarray(at, at + longest);
    const header = Buffer.from(octets.subarray(0, handshakeHeaderOctets));
    header.writeUIntBE(at, 6, 3);
    header.writeUIntBE(piece.length, 9, 3);
    pieces.push(Buffer.concat([header, piece]));
  }
  return pieces;
}

/** Puts messages together from fragments that come in any order, several times, and overlapping. Its memory is bounded. */
export class Fragments {
  #next = 0;
  readonly #gathered = new Map<number, Gathered>();

  /** Drops what was gathered; the message with that number is the next one. */
  expect(sequence: number): void {
    this.#next = sequence;
    this.#gathered.clear();
  }

  /** Whether the message with that number is the next one. */
  expects(sequence: number): boolean {
    return sequence === this.#next;
  }

  /**
   * Takes the fragments in the content of one record.
   * @returns the types of repeated messages; undefined if the content is malformed. Messages that were read so far are
   * kept.
   */
  take(content: Uint8Array): number[] | undefined {
    const octets = Buffer.from(content.buffer, content.byteOffset, content.length);
    const repeated: number[] = [];
    let at = 0;
    while (at < octets.length) {
      if (octets.length - at < handshakeHeaderOctets) return undefined;
      const [type, length, sequence] = [octets[at]!, octets.readUIntBE(at + 1, 3), octets.readUInt16BE(at + 4)];
      const [offset, size] = [octets.readUIntBE(at + 6, 3), octets.readUIntBE(at + 9, 3)];
      at += handshakeHeaderOctets;
      if (length > longestMessage || offset + size > length || at + size > octets.length) return undefined;
      if (sequence < this.#next) repeated.push(type);
      else if (sequence < this.#next + messagesAhead)
        this.#gather(sequence, { type, length, offset, piece: octets.subarray(at, at + size) });
      at += size;
    }
    return repeated;
  }

  /** The next message once all of it is here. */
  next(): HandshakeMessage | undefined {
    const gathered = this.#gathered.get(this.#next);
    if (!gathered || gathered.missing > 0) return undefined;
    this.#gathered.delete(this.#next);
    return writeHandshake(gathered.type, this.#next++, gathered.body);
  }

  #gather(sequence: number, { type, length, offset, piece }: Fragment): void {
    let gathered = this.#gathered.get(sequence);
    if (!gathered) {
      gathered = { type, body: Buffer.alloc(length), have: new Uint8Array(length), missing: length };
      this.#gathered.set(sequence, gathered);
    }
    // A fragment of another message with this number: the first one counts.
    if (gathered.type !== type || gathered.body.length !== length) return;
    for (const [index, octet] of piece.entries()) {
      if (gathered.have[offset + index] === 1) continue;
      gathered.have[offset + index] = 1;
      gathered.body[offset + index] = octet;
      gathered.missing--;
    }
  }
}
