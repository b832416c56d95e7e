/**
 * Values as octets, outside the heap. On the heap, the collector of young objects copies kept values twice and leaves
 * them to the old generation. Octets cost it nothing. Texts, numbers, lists and plain objects are written; other values
 * are kept by reference. A value is read back unchanged, `undefined` and `NaN` included.
 */

const tag = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  integer: 4,
  number: 5,
  short: 6,
  long: 7,
  list: 8,
  object: 9,
  reference: 10,
};

/** Texts up to this length are written unit by unit: that costs less than a call of the encoder. */
const shortText = 48;

/** Names of members have numbers; the same for all, as there are few. A name beyond these is written as a text. */
const mostNames = 4_096;
const numbersOfNames = new Map<string, number>();
const names: string[] = [];
const noNumber = 0xffff;

/** Levels of lists and objects in one another; what lies deeper is kept by reference. */
const deepest = 12;

function numberOfName(name: string): number {
  const known = numbersOfNames.get(name);
  if (known !== undefined) return known;
  if (names.length >= mostNames) return noNumber;
  numbersOfNames.set(name, names.length);
  return names.push(name) - 1;
}

/** A piece of memory that values are written to, one behind the other, and read from. */
export class Octets {
  readonly bytes: Buffer;
  /** Position of the next value. */
  at = 0;
  /** Values kept by reference. */
  readonly #references: unknown[];
  /** How far may be written. */
  #end: number;
  /** A value did not fit. */
  #isFull = false;

  private constructor(bytes: Buffer, references: unknown[]) {
    this.bytes = bytes;
    this.#references = references;
    this.#end = bytes.length;
  }

  /** Memory for so many octets. */
  static of(size: number): Octets {
    return new Octets(Buffer.allocUnsafeSlow(size), []);
  }

  /** The same memory, read or written from another place. */
  from(at: number): Octets {
    const other = new Octets(this.bytes, this.#references);
    other.at = at;
    return other;
  }

  clear(): void {
    this.at = 0;
    this.#references.length = 0;
  }

  /** Goes back behind what was written, also from the middle of a value. */
  back(at: number): void {
    this.at = at;
    this.#end = this.bytes.length;
    this.#isFull = false;
  }

  /** Writes a value that takes at most so many octets; a larger one is kept by reference. */
  writeWithin(value: unknown, most: number): void {
    const start = this.at;
    this.#end = Math.min(this.bytes.length, start + most);
    this.write(value);
    this.#end = this.bytes.length;
    if (!this.#isFull) return;
    this.#isFull = false;
    this.at = start;
    this.refer(value);
  }

  /** Keeps something by reference. */
  refer(value: unknown): void {
    if (!this.#hasRoom(5)) return;
    this.bytes[this.at++] = tag.reference;
    this.#word(this.#references.push(value) - 1);
  }

  write(value: unknown, depth = 0): void {
    if (typeof value === 'string') this.text(value);
    else if (typeof value === 'number') this.number(value);
    else if (value === undefined) this.#tag(tag.undefined);
    else if (value === null) this.#tag(tag.null);
    else if (typeof value === 'boolean') this.#tag(value ? tag.true : tag.false);
    else if (typeof value !== 'object' || depth === deepest) this.refer(value);
    else if (Array.isArray(value)) this.#list(value, depth);
    else if (isPlain(value)) this.#object(value as Readonly<Record<string, unknown>>, depth);
    else this.refer(value);
  }

  text(text: string): void {
    const { length } = text;
    if (!this.#hasRoom(5 + 3 * length)) return;
    const { bytes, at } = this;
    if (length <= shortText) {
      let to = at + 2;
      for (let index = 0; index < length; index++) {
        const unit = text.charCodeAt(index);
        if (unit > 0x7f) break;
        bytes[to++] = unit;
      }
      if (to === at + 2 + length) {
        bytes[at] = tag.short;
        bytes[at + 1] = length;
        this.at = to;
        return;
      }
    }
    bytes[at] = tag.long;
    const written = bytes.write(text, at + 5, 'utf8');
    this.at = at + 1;
    this.#word(written);
    this.at += written;
  }

  number(value: number): void {
    if (!this.#hasRoom(9)) return;
    if (value === (value | 0) && !Object.is(value, -0)) {
      this.bytes[this.at++] = tag.integer;
      this.#word(value);
      return;
    }
    this.bytes[this.at] = tag.number;
    this.at = this.bytes.writeDoubleLE(value, this.at + 1);
  }

  /** Octets as they are; read back as latin1. */
  raw(octets: Uint8Array, length: number): void {
    if (!this.#hasRoom(4 + length)) return;
    this.#word(length);
    this.bytes.set(length === octets.length ? octets : octets.subarray(0, length), this.at);
    this.at += length;
  }

  /** Reads what {@link raw} has written. */
  readRaw(): string {
    const length = this.#readWord();
    this.at += length;
    return this.bytes.toString('latin1', this.at - length, this.at);
  }

  /** Reads the value at `at`, and goes on behind it. */
  read(): unknown {
    const { bytes } = this;
    const kind = bytes[this.at++];
    if (kind === tag.short) {
      const length = bytes[this.at] as number;
      this.at += 1 + length;
      return bytes.toString('latin1', this.at - length, this.at);
    }
    if (kind === tag.long) {
      const length = this.#readWord();
      this.at += length;
      return bytes.toString('utf8', this.at - length, this.at);
    }
    if (kind === tag.integer) return this.#readWord();
    if (kind === tag.number) {
      this.at += 8;
      return bytes.readDoubleLE(this.at - 8);
    }
    if (kind === tag.list) return Array.from({ length: this.#readWord() }, () => this.read());
    if (kind === tag.object) return this.#readObject();
    if (kind === tag.reference) return this.#references[this.#readWord()];
    if (kind === tag.undefined) return undefined;
    return kind === tag.null ? null : kind === tag.true;
  }

  #hasRoom(octets: number): boolean {
    if (this.at + octets > this.#end) this.#isFull = true;
    return !this.#isFull;
  }

  #tag(kind: number): void {
    if (this.#hasRoom(1)) this.bytes[this.at++] = kind;
  }

  #word(value: number): void {
    const { bytes, at } = this;
    bytes[at] = value;
    bytes[at + 1] = value >> 8;
    bytes[at + 2] = value >> 16;
    bytes[at + 3] = value >> 24;
    this.at = at + 4;
  }

  #readWord(): number {
    const { bytes, at } = this;
    this.at = at + 4;
    return (
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    );
  }

  #list(list: readonly unknown[], depth: number): void {
    if (!this.#hasRoom(5)) return;
    this.bytes[this.at++] = tag.list;
    this.#word(list.length);
    for (const each of list) this.write(each, depth + 1);
  }

  #object(object: Readonly<Record<string, unknown>>, depth: number): void {
    if (!this.#hasRoom(5)) return;
    const start = this.at + 1;
    this.bytes[this.at] = tag.object;
    this.at += 5;
    let count = 0;
    for (const name in object) {
      if (!this.#hasRoom(2)) return;
      const number = numberOfName(name);
      this.bytes[this.at++] = number;
      this.bytes[this.at++] = number >> 8;
      if (number === noNumber) this.text(name);
      this.write(object[name], depth + 1);
      count++;
    }
    const end = this.at;
    this.at = start;
    this.#word(count);
    this.at = end;
  }

  #readObject(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (let left = this.#readWord(); left > 0; left--) {
      const number = (this.bytes[this.at] as number) | ((this.bytes[this.at + 1] as number) << 8);
      this.at += 2;
      const name = number === noNumber ? (this.read() as string) : (names[number] as string);
      const value = this.read();
      // A member of this name would be taken for the prototype.
      if (name === '__proto__')
        Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
      else object[name] = value;
    }
    return object;
  }
}

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};
