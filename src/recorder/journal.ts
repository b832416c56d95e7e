/**
 * Columns of a row. Numbers and texts are outside the heap. On it, the collector of young objects would copy them twice
 * and leave them to the old generation. That costs more than the rest of recording.
 */
export const numberOf = {
  order: 0,
  at: 1,
  /** Place of the row before of its owner. */
  previous: 2,
  kind: 3,
  number: 4,
  cause: 5,
  textAt: 6,
  textLength: 7,
  /** Of an event the place of the one before of its application. */
  sibling: 8,
} as const;
export const referenceOf = { subject: 0, content: 1, rest: 2 } as const;
const numbersEach = 9;
const referencesEach = 3;

/** Whose rows they are, chained from the newest one. */
export type RowOwner = {
  /** Place of its newest row; 0 for none. */
  last: number;
};

/** How a text is written. */
type TextForm = 'utf8' | 'latin1';

/** Octets that a text takes for each of its units, at most. */
export const mostEach = { utf8: 3, latin1: 1 } as const;

/** Rows of a segment at most, and octets of text for each. */
const mostRows = 2_048;
const textEach = 256;
/** Approximate heap size of the objects that a row refers to. */
const referredEach = 100;
const withoutText = numbersEach * 8 + referencesEach * 8 + referredEach;

/** Approximate memory of this many rows. */
export const octetsOfRows = (rows: number): number => rows * (withoutText + textEach);

const fewestRows = 8;

/** Segments that a journal is made of at least, so that room is made in small pieces. */
const fewestSegments = 16;

/** A segment of a journal: a number of rows, and memory for their texts. */
export class Segment {
  /** Place of its first row. */
  first = 0;
  size = 0;
  /** Owners of its rows; some may have removed theirs. */
  owners: RowOwner[] = [];
  readonly rows: number;
  /** Its approximate memory. */
  readonly octets: number;
  readonly #numbers: Float64Array;
  readonly #references: unknown[];
  readonly #texts: Buffer;
  #textEnd = 0;

  /** @param textOctets memory for texts. */
  constructor(rows: number, textOctets: number) {
    this.rows = rows;
    this.octets = rows * withoutText + textOctets;
    this.#numbers = new Float64Array(rows * numbersEach);
    this.#references = new Array(rows * referencesEach).fill(undefined);
    this.#texts = Buffer.allocUnsafeSlow(textOctets);
  }

  /** Whether a row with a text of so many octets goes into it. */
  hasRoom(octets: number): boolean {
    return this.size < this.rows && this.#textEnd + octets <= this.#texts.length;
  }

  number(place: number, column: number): number {
    return this.#numbers[(place - this.first) * numbersEach + column] as number;
  }

  reference(place: number, column: number): unknown {
    return this.#references[(place - this.first) * referencesEach + column];
  }

  /** A new row. */
  add(order: number, at: number, previous: number): void {
    const start = this.size++ * numbersEach;
    this.#numbers[start + numberOf.order] = order;
    this.#numbers[start + numberOf.at] = at;
    this.#numbers[start + numberOf.previous] = previous;
  }

  /** Sets the content of a row. */
  describe(place: number, kind: number, number: number, cause = 0): void {
    const start = (place - this.first) * numbersEach;
    this.#numbers[start + numberOf.kind] = kind;
    this.#numbers[start + numberOf.number] = number;
    this.#numbers[start + numberOf.cause] = cause;
  }

  /** Sets the references of a row. */
  refer(place: number, subject: unknown, content?: unknown, rest?: unknown): void {
    const start = (place - this.first) * referencesEach;
    this.#references[start + referenceOf.subject] = subject;
    this.#references[start + referenceOf.content] = content;
    this.#references[start + referenceOf.rest] = rest;
  }

  /** Chains a row, of an event, to the one before of its application. */
  follow(place: number, sibling: number): void {
    this.#numbers[(place - this.first) * numbersEach + numberOf.sibling] = sibling;
  }

  /** Writes the text of a row, into memory reserved for it. */
  write(place: number, text: string, form: TextForm): void {
    const at = this.#textEnd;
    const length = this.#texts.write(text, at, form);
    const start = (place - this.first) * numbersEach;
    this.#numbers[start + numberOf.textAt] = at;
    this.#numbers[start + numberOf.textLength] = length;
    this.#textEnd = at + length;
  }

  text(place: number, form: TextForm): string {
    const at = this.number(place, numberOf.textAt);
    return this.#texts.toString(form, at, at + this.number(place, numberOf.textLength));
  }

  /** Makes it empty, for another use. */
  clear(): void {
    this.#references.fill(undefined, 0, this.size * referencesEach);
    this.owners = [];
    this.size = 0;
    this.#textEnd = 0;
  }
}

/**
 * Rows in order of arrival; the oldest are dropped, many in one go. A row's place counts from 1. Rows of one owner can
 * be chained by the place of the `previous` one.
 */
export class Journal {
  readonly #segments: Segment[] = [];
  readonly #rows: number;
  readonly #mayGrow: (octets: number) => boolean;
  readonly #retired: (segment: Segment) => void;
  #newest: Segment | undefined;
  #spare: Segment | undefined;
  #places = 0;
  #octets = 0;

  /**
   * @param octets memory limit, which decides the segment size.
   * @param mayGrow whether this many more octets may be used; if not, the oldest segment is dropped.
   * @param retired called for each segment before it is dropped.
   */
  constructor(octets: number, mayGrow: (octets: number) => boolean, retired: (segment: Segment) => void) {
    const rows = Math.floor(octets / fewestSegments / (withoutText + textEach));
    this.#rows = Math.min(mostRows, Math.max(fewestRows, rows));
    this.#mayGrow = mayGrow;
    this.#retired = retired;
  }

  /** Octets that it takes, roughly. */
  get octets(): number {
    return this.#octets;
  }

  /** Place of the newest row. */
  get places(): number {
    return this.#places;
  }

  /** The oldest piece. */
  get oldest(): Segment | undefined {
    return this.#segments[0];
  }

  /** All who have rows in it, and some who had. */
  owners(): Set<RowOwner> {
    return new Set(this.#segments.flatMap(({ owners }) => owners));
  }

  /** Appends a row with memory for so many octets of text. @returns its segment; its place is `places` */
  open(owner: RowOwner, order: number, at: number, octets = 0): Segment {
    let segment = this.#newest;
    if (!segment?.hasRoom(octets)) segment = this.#turn(octets);
    // The owner's newest row is read now: freeing memory may have moved its other rows.
    segment.add(order, at, owner.last);
    if (owner.last < segment.first) segment.owners.push(owner);
    owner.last = ++this.#places;
    return segment;
  }

  /** The segment of a row; undefined if it was dropped. */
  find(place: number): Segment | undefined {
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#segments[middle] as Segment).first <= place) low = middle + 1;
      else high = middle;
    }
    const segment = this.#segments[low - 1];
    return segment && place < segment.first + segment.size ? segment : undefined;
  }

  /** Lets the oldest piece go. */
  retire(): Segment | undefined {
    const [segment] = this.#segments;
    if (!segment) return undefined;
    this.#retired(segment);
    this.#segments.shift();
    this.#octets -= segment.octets;
    if (segment === this.#newest) this.#newest = undefined;
    return segment;
  }

  /** Begins a new piece; one that has gone is used again where it suffices. */
  #turn(textOctets: number): Segment {
    const texts = Math.max(textOctets, this.#rows * textEach);
    const needed = this.#rows * withoutText + texts;
    while (this.#segments.length > 1 && !this.#mayGrow(needed)) {
      const spare = this.retire();
      spare?.clear();
      if (spare?.octets === needed) this.#spare = spare;
    }
    const reused = this.#spare?.octets === needed ? this.#spare : undefined;
    if (reused) this.#spare = undefined;
    const segment = reused ?? new Segment(this.#rows, texts);
    segment.first = this.#places + 1;
    this.#segments.push(segment);
    this.#octets += segment.octets;
    this.#newest = segment;
    return segment;
  }
}
