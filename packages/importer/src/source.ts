/**
 * Files in the form that Asterisk reads: sections in brackets, `key = value` lines, comments behind `;`, templates and
 * `#include`. Everything is bounded, and nothing outside the directory is read.
 */

/** A position: `pjsip.conf:12`. */
export type Place = string;

export type Entry = { key: string; value: string; place: Place };

/** A section with what its templates say in front of its own entries. */
export type Section = { name: string; place: Place; entries: readonly Entry[] };

/** File access: the text of a file in the directory, or the files that match a pattern. */
export type Files = {
  /** @returns the text, or why there is none: `missing`, or a sentence. */
  read(name: string): { text: string } | { missing: true } | { refused: string };
  /** Files whose name fits a pattern with `*` and `?` in its last part, sorted; or why they are not looked for. */
  matching(pattern: string): readonly string[] | { refused: string };
};

/** Reports something that is not read, and where. `isFile`: a whole file, or the rest of one. */
type Complain = (place: Place, message: string, isFile: boolean) => void;

/** Bounds on what is read of one file with all that it includes. */
const limits = { depth: 10, files: 200, lines: 200_000, lineLength: 8_192, entries: 500_000 };

type Raw = { name: string; place: Place; isTemplate: boolean; parents: string[]; own: (Entry & { adds: boolean })[] };

/** The sections of a file, templates left out; undefined when there is no such file. */
export function readSections(files: Files, name: string, complain: Complain): Section[] | undefined {
  const reader = new Reader(files, complain);
  if (!reader.file(name, 0, 'optional')) return undefined;
  return reader.sections();
}

class Reader {
  readonly #files: Files;
  readonly #complain: Complain;
  readonly #sections: Raw[] = [];
  /** The last section, and the last template, of each name. */
  readonly #byName = new Map<string, Raw>();
  readonly #templates = new Map<string, Raw>();
  #current: Raw | undefined;
  #opened = 0;
  #lines = 0;
  #entries = 0;
  #inComment = false;
  #isFull = false;

  constructor(files: Files, complain: Complain) {
    this.#files = files;
    this.#complain = complain;
  }

  /** Reads a file; `optional`: nothing is said when it is missing. */
  file(name: string, depth: number, missing: 'optional' | Place): boolean {
    const place = missing === 'optional' ? name : missing;
    if (depth > limits.depth) return this.#refuse(place, `more than ${limits.depth} files include one another`);
    if (++this.#opened > limits.files) return this.#refuse(place, `more than ${limits.files} files are included`);
    const found = this.#files.read(name);
    if ('missing' in found) return missing === 'optional' ? false : this.#refuse(place, `${name} does not exist`);
    if ('refused' in found) return this.#refuse(place, `${name} ${found.refused}`);
    for (const [index, line] of found.text.split('\n').entries()) {
      if (++this.#lines > limits.lines && !this.#isFull) {
        this.#isFull = true;
        this.#refuse(`${name}:${index + 1}`, `more than ${limits.lines} lines: the rest is dropped`);
      }
      if (this.#isFull) break;
      this.#line(line, `${name}:${index + 1}`, depth);
    }
    return true;
  }

  /** Reports a file that is not read. */
  #refuse(place: Place, message: string): false {
    this.#complain(place, message, true);
    return false;
  }

  /** Reports a line that is not read. */
  #skip(place: Place, message: string): void {
    this.#complain(place, message, false);
  }

  #line(raw: string, place: Place, depth: number): void {
    if (raw.length > limits.lineLength) {
      this.#skip(place, `longer than ${limits.lineLength} characters; dropped`);
      return;
    }
    const line = this.#withoutComments(raw).trim();
    if (line === '') return;
    if (line.startsWith('#')) this.#directive(line, place, depth);
    else if (line.startsWith('[')) this.#header(line, place);
    else this.#entry(line, place);
  }

  /** Cuts off what stands behind `;` and between `;--` and `--;`; `\;` is a semicolon. */
  #withoutComments(line: string): string {
    let text = '';
    for (let at = 0; at < line.length; at++) {
      if (this.#inComment) {
        const end = line.indexOf('--;', at);
        if (end < 0) return text;
        this.#inComment = false;
        at = end + 2;
      } else if (line.startsWith('\\;', at)) {
        text += ';';
        at++;
      } else if (line.startsWith(';--', at) && line[at + 3] !== '-') this.#inComment = true;
      else if (line[at] === ';') return text;
      else text += line[at];
    }
    return text;
  }

  #directive(line: string, place: Place, depth: number): void {
    const [word = '', ...rest] = line.split(/\s+/);
    const name = rest.join(' ').replace(/^["<]|[">]$/g, '');
    if (word === '#exec') this.#skip(place, `#exec ${name} is not run; put its output into a file`);
    else if (word !== '#include' && word !== '#tryinclude') this.#skip(place, `${word} is not a directive`);
    else {
      const names = /[*?]/.test(name) ? this.#files.matching(name) : [name];
      if ('refused' in names) this.#refuse(place, `${name} ${names.refused}`);
      else for (const each of names) this.file(each, depth + 1, word === '#tryinclude' ? 'optional' : place);
    }
  }

  #header(line: string, place: Place): void {
    const end = line.indexOf(']');
    if (end < 0) {
      this.#skip(place, '"]" is missing');
      this.#current = undefined;
      return;
    }
    const name = line.slice(1, end).trim();
    const [, options = ''] = /^\s*\(([^)]*)\)/.exec(line.slice(end + 1)) ?? [];
    const words = options.split(',').flatMap((word) => word.trim() || []);
    const before = this.#byName.get(name);
    if (words.some((word) => word.startsWith('+')) && before) {
      this.#current = before;
      return;
    }
    this.#current = {
      name,
      place,
      isTemplate: words.includes('!'),
      parents: words.filter((word) => word !== '!' && !word.startsWith('+')),
      own: [],
    };
    // A reference to a template means the last one before it.
    this.#current.own = this.#inherited(this.#current);
    if (this.#current.isTemplate) this.#templates.set(name, this.#current);
    this.#byName.set(name, this.#current);
    this.#sections.push(this.#current);
  }

  #inherited({ parents, place }: Raw): Raw['own'] {
    return parents.flatMap((parent) => {
      const found = this.#templates.get(parent) ?? this.#byName.get(parent);
      if (!found) this.#skip(place, `there is no template "${parent}"`);
      return found ? this.#counted(found.own) : [];
    });
  }

  /** Templates of templates could unfold into more than memory holds. */
  #counted<T>(entries: T[]): T[] {
    this.#entries += entries.length;
    return this.#entries > limits.entries ? [] : [...entries];
  }

  #entry(line: string, place: Place): void {
    const equals = line.indexOf('=');
    if (equals < 1 || !this.#current) {
      this.#skip(place, this.#current ? 'is not key=value and is dropped' : 'is in no section and is dropped');
      return;
    }
    const adds = line[equals - 1] === '+';
    const key = line.slice(0, adds ? equals - 1 : equals).trim();
    const value = line.slice(line[equals + 1] === '>' ? equals + 2 : equals + 1).trim();
    this.#current.own.push(...this.#counted([{ key, value, place, adds }]));
  }

  sections(): Section[] {
    return this.#sections.flatMap(({ name, place, isTemplate, own }) =>
      isTemplate ? [] : [{ name, place, entries: combined(own) }],
    );
  }
}

/** `key += value` lengthens what was inherited. */
function combined(own: Raw['own']): Entry[] {
  const entries: Entry[] = [];
  const byKey = new Map<string, Entry>();
  for (const { adds, ...entry } of own) {
    const before = adds ? byKey.get(entry.key) : undefined;
    if (before) before.value = `${before.value},${entry.value}`;
    else {
      entries.push(entry);
      byKey.set(entry.key, entry);
    }
  }
  return entries;
}

/** The entries of a section by key, in any case; the last one counts where one does. */
export class Values {
  readonly name: string;
  readonly place: Place;
  readonly entries: readonly Entry[];
  readonly #used = new Set<string>();
  /** Entries by key in small letters, made when one is first asked for: many objects may share this one. */
  #byKey: Map<string, Entry[]> | undefined;
  readonly #lists = new Map<string, readonly string[]>();

  constructor({ name, place, entries }: Section) {
    this.name = name;
    this.place = place;
    this.entries = entries;
  }

  /** The entry of that name; the last one when there are several. */
  entry(key: string): Entry | undefined {
    return this.#all(key).at(-1);
  }

  /** Its value; '' when there is none. */
  text(key: string): string {
    return this.entry(key)?.value ?? '';
  }

  /** All values of that name, each split at its commas. */
  list(key: string): readonly string[] {
    const name = key.toLowerCase();
    const known = this.#lists.get(name);
    if (known) return known;
    const made = this.#all(key).flatMap(({ value }) => value.split(',').flatMap((item) => item.trim() || []));
    this.#lists.set(name, made);
    return made;
  }

  #all(key: string): readonly Entry[] {
    const name = key.toLowerCase();
    this.#used.add(name);
    this.#byKey ??= this.#index();
    return this.#byKey.get(name) ?? [];
  }

  #index(): Map<string, Entry[]> {
    const byKey = new Map<string, Entry[]>();
    for (const entry of this.entries) {
      const name = entry.key.toLowerCase();
      const there = byKey.get(name);
      if (there) there.push(entry);
      else byKey.set(name, [entry]);
    }
    return byKey;
  }

  /** Whether it says yes; undefined when it says nothing. */
  flag(key: string): boolean | undefined {
    const value = this.text(key).toLowerCase();
    if (value === '') return undefined;
    return /^(yes|true|y|t|1|on)$/.test(value);
  }

  /** A number within bounds; undefined when there is none, or another. */
  number(key: string, least: number, most: number): number | undefined {
    const value = this.text(key);
    const number = /^\d{1,9}(\.\d{1,6})?$/.test(value) ? Number(value) : Number.NaN;
    return number >= least && number <= most ? number : undefined;
  }

  /** Entries that were never read, by key. */
  unused(): Entry[] {
    const seen = new Set<string>();
    return this.entries.filter(({ key }) => {
      const name = key.toLowerCase();
      const isNew = !this.#used.has(name) && !seen.has(name);
      seen.add(name);
      return isNew;
    });
  }
}
