import { headerKey } from './header-names.ts';
import { type NameAddr, parseNameAddr, parseNameAddrList } from './name-addr.ts';
import { deltaSeconds, isToken, oneLine, parseDecimal, SPACE, skipSpace, splitList, TAB } from './scan.ts';
import { parseUri, type Uri } from './uri.ts';
import { firstViaEnd, parseVia, type Via } from './via.ts';

/** RFC 3261 20.16: the request's number in its dialog and its method. */
type CSeq = { readonly number: number; readonly method: string };

/** Names as spelled, keys (full lower-case names) and values, all in the order of the wire. */
export type RawHeaders = { readonly names: string[]; readonly keys: string[]; readonly values: string[] };

const noBody: Buffer = Buffer.alloc(0);

/**
 * The common part of requests and responses: headers as text in order, parsed on demand and cached.
 *
 * Messages of `parseMessage` or a builder have well-formed From, To, Call-ID and CSeq; their getters only throw after a
 * removal. Other headers are undefined or an empty list if missing or unreadable. (`parseMessage` refuses requests with
 * an unreadable Contact, Route or Record-Route.)
 */
export abstract class BaseMessage {
  /** The bytes after the headers; text by `bodyText`. */
  body: Buffer;
  /** How many octets it was on the wire; 0 for one that was not parsed. */
  octets = 0;
  readonly #raw: RawHeaders;
  #topVia: Via | undefined;
  #from: NameAddr | undefined;
  #to: NameAddr | undefined;
  #cseq: CSeq | undefined;
  #contacts: readonly NameAddr[] | undefined;

  constructor(raw: RawHeaders, body: Buffer = noBody) {
    this.#raw = raw;
    this.body = body;
  }

  /** The first line, without its line end. */
  abstract readonly startLine: string;

  /**
   * Reads and remembers the headers every message must have, Max-Forwards, Contact, and Content-Length, to which it cuts the
   * body. `parseMessage` calls it once.
   * @returns what is wrong; undefined when nothing is.
   */
  check(): string | undefined {
    if (!this.topVia) return 'Via is missing or malformed';
    if (!(this.#from = parseNameAddr(this.#value('from') ?? ''))) return 'From is missing or malformed';
    if (!(this.#to = parseNameAddr(this.#value('to') ?? ''))) return 'To is missing or malformed';
    if (!this.#value('call-id')) return 'Call-ID is missing';
    if (!(this.#cseq = parseCSeq(this.#value('cseq') ?? ''))) return 'CSeq is missing or malformed';
    if (this.#value('max-forwards') !== undefined && this.maxForwards === undefined) return 'Max-Forwards is malformed';
    if (this.#value('content-length') === undefined) return undefined;
    const length = this.contentLength;
    if (length === undefined) return 'Content-Length is malformed';
    if (length > this.body.length) return 'the body is shorter than Content-Length';
    if (length < this.body.length) this.body = this.body.subarray(0, length);
    return undefined;
  }

  /** The value of the first header of that name (any case, compact or not), lines unfolded; undefined when missing. */
  header(name: string): string | undefined {
    return this.#value(headerKey(name));
  }

  /** The value of each header line of that name, in order, commas untouched. */
  headerLines(name: string): string[] {
    return this.#lines(headerKey(name));
  }

  /** All elements of a comma-separated header over all its lines (Allow, Supported, Require…); unreadable lines are skipped. */
  headerList(name: string): string[] {
    return this.headerLines(name).flatMap((line) => splitList(line) ?? []);
  }

  /** Every header as [name as spelled, value], in order. */
  headers(): [name: string, value: string][] {
    return this.#raw.names.map((name, i) => [name, this.#raw.values[i]!]);
  }

  /** Adds a header line at the end. A line end in `name` or `value` becomes a space. */
  append(name: string, value: string): this {
    this.#raw.names.push(oneLine(name));
    this.#raw.keys.push(headerKey(name));
    this.#raw.values.push(oneLine(value));
    this.#forget();
    return this;
  }

  /** Adds a header line before all others (a Via, a Record-Route). */
  prepend(name: string, value: string): this {
    this.#raw.names.unshift(oneLine(name));
    this.#raw.keys.unshift(headerKey(name));
    this.#raw.values.unshift(oneLine(value));
    this.#forget();
    return this;
  }

  /** Replaces all lines of the header by one, at the first line's position. */
  set(name: string, value: string): this {
    const at = this.#raw.keys.indexOf(headerKey(name));
    if (at < 0) return this.append(name, value);
    this.#removeFrom(headerKey(name), at + 1);
    this.#raw.values[at] = oneLine(value);
    this.#forget();
    return this;
  }

  /** Removes every line of that header. */
  remove(name: string): this {
    this.#removeFrom(headerKey(name), 0);
    this.#forget();
    return this;
  }

  /** The topmost Via; undefined on a request that was built and not sent yet. */
  get topVia(): Via | undefined {
    if (this.#topVia) return this.#topVia;
    const value = this.#value('via');
    return (this.#topVia = value === undefined ? undefined : parseVia(value.slice(0, firstViaEnd(value)).trim()));
  }

  /** How many hops the message names. */
  get viaCount(): number {
    let count = 0;
    for (const line of this.#lines('via'))
      count += firstViaEnd(line) === line.length ? 1 : (splitList(line)?.length ?? 1);
    return count;
  }

  /** Replaces the topmost Via, leaving others on the same line where they are. */
  setTopVia(text: string): void {
    const at = this.#raw.keys.indexOf('via');
    if (at < 0) {
      this.prepend('Via', text);
      return;
    }
    const value = this.#raw.values[at]!;
    this.#raw.values[at] = text + value.slice(firstViaEnd(value));
    this.#topVia = undefined;
  }

  get from(): NameAddr {
    return (this.#from ??= required('From', parseNameAddr(this.#value('from') ?? '')));
  }

  get to(): NameAddr {
    return (this.#to ??= required('To', parseNameAddr(this.#value('to') ?? '')));
  }

  get fromTag(): string | undefined {
    return this.from.params['tag'];
  }

  get toTag(): string | undefined {
    return this.to.params['tag'];
  }

  get callId(): string {
    return required('Call-ID', this.#value('call-id'));
  }

  get cseq(): CSeq {
    return (this.#cseq ??= required('CSeq', parseCSeq(this.#value('cseq') ?? '')));
  }

  /** All contacts; empty also for `Contact: *` (see `hasStarContact`). */
  get contacts(): readonly NameAddr[] {
    return (this.#contacts ??= this.hasStarContact ? [] : this.#addresses('contact'));
  }

  /** The first contact: where later requests of a dialog go. */
  get contact(): NameAddr | undefined {
    return this.contacts[0];
  }

  /** `Contact: *`, which removes all bindings of a REGISTER with `Expires: 0` (RFC 3261 10.2.2). */
  get hasStarContact(): boolean {
    return this.#value('contact') === '*';
  }

  /** Route, top first. */
  get routes(): readonly NameAddr[] {
    return this.#addresses('route');
  }

  /** Record-Route, top first. */
  get recordRoutes(): readonly NameAddr[] {
    return this.#addresses('record-route');
  }

  get maxForwards(): number | undefined {
    return this.#number('max-forwards', 255);
  }

  /** Seconds, at most what `deltaSeconds` believes. */
  get expires(): number | undefined {
    return deltaSeconds(this.#value('expires'));
  }

  get contentLength(): number | undefined {
    return this.#number('content-length', 2 ** 31);
  }

  /** `type/subtype` in lower case, without parameters. */
  get contentType(): string | undefined {
    const value = this.#value('content-type');
    if (value === undefined) return undefined;
    const semicolon = value.indexOf(';');
    return (semicolon < 0 ? value : value.slice(0, semicolon)).trim().toLowerCase();
  }

  /** The body as UTF-8 text. */
  get bodyText(): string {
    return this.body.toString('utf8');
  }

  /** The message as on the wire; Content-Length is always written, and right. */
  toBuffer(): Buffer {
    const { names, keys, values } = this.#raw;
    let head = `${this.startLine}\r\n`;
    for (let i = 0; i < names.length; i++) {
      if (keys[i] !== 'content-length') head += `${names[i]}: ${values[i]}\r\n`;
    }
    head += `Content-Length: ${this.body.length}\r\n\r\n`;
    if (this.body.length === 0) return Buffer.from(head);
    const headLength = Buffer.byteLength(head);
    const bytes = Buffer.allocUnsafe(headLength + this.body.length);
    bytes.write(head, 0, headLength);
    this.body.copy(bytes, headLength);
    return bytes;
  }

  /** Whether every Contact, Route and Record-Route line can be read; `*` stands for itself. */
  get hasReadableAddresses(): boolean {
    const { keys, values } = this.#raw;
    const all: NameAddr[] = [];
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if (key === 'contact') {
        if (values[i] === '*') continue;
        const contacts = parseNameAddrList(values[i]!);
        if (!contacts) return false;
        for (const contact of contacts) all.push(contact);
        this.#contacts = all;
      } else if ((key === 'route' || key === 'record-route') && !parseNameAddrList(values[i]!)) return false;
    }
    return true;
  }

  #value(key: string): string | undefined {
    const at = this.#raw.keys.indexOf(key);
    return at < 0 ? undefined : this.#raw.values[at];
  }

  #lines(key: string): string[] {
    const { keys, values } = this.#raw;
    const lines: string[] = [];
    for (let i = 0; i < keys.length; i++) if (keys[i] === key) lines.push(values[i]!);
    return lines;
  }

  #addresses(key: string): NameAddr[] {
    const addresses: NameAddr[] = [];
    for (const line of this.#lines(key)) for (const address of parseNameAddrList(line) ?? []) addresses.push(address);
    return addresses;
  }

  #number(key: string, max: number): number | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    const number = parseDecimal(value, max);
    return number < 0 ? undefined : number;
  }

  #removeFrom(key: string, start: number): void {
    const { names, keys, values } = this.#raw;
    for (let i = keys.length - 1; i >= start; i--) {
      if (keys[i] !== key) continue;
      names.splice(i, 1);
      keys.splice(i, 1);
      values.splice(i, 1);
    }
  }

  #forget(): void {
    this.#topVia = this.#from = this.#to = this.#cseq = this.#contacts = undefined;
  }
}

/** A request: told from a response by `kind`. */
export class SipRequest extends BaseMessage {
  readonly kind = 'request';
  /** Case matters: `INVITE`, `ACK`, `BYE`, `CANCEL`, `OPTIONS`, `REGISTER`… or one of the sender's invention. */
  readonly method: string;
  /** The Request-URI as on the wire. */
  readonly requestUri: string;
  #uri: Uri | undefined;

  /** @param line its first line; `uri` is the same as `text`, when it has been read already. */
  constructor(line: { method: string; text: string; uri?: Uri | undefined }, raw: RawHeaders, body?: Buffer) {
    super(raw, body);
    this.method = line.method;
    this.requestUri = oneLine(line.text);
    this.#uri = line.uri;
  }

  /** The Request-URI, read. */
  get uri(): Uri {
    return (this.#uri ??= required('Request-URI', parseUri(this.requestUri)));
  }

  get startLine(): string {
    return `${this.method} ${this.requestUri} SIP/2.0`;
  }
}

/** Most characters kept of a reason phrase: it reaches logs and events. */
const MAX_REASON = 128;

/** A response: told from a request by `kind`. */
export class SipResponse extends BaseMessage {
  readonly kind = 'response';
  /** 100 to 699. */
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, raw: RawHeaders, body?: Buffer) {
    super(raw, body);
    this.status = status;
    this.reason = oneLine(reason.slice(0, MAX_REASON));
  }

  get startLine(): string {
    return `SIP/2.0 ${this.status} ${this.reason}`;
  }
}

export type SipMessage = SipRequest | SipResponse;

/** Reads `number method`; undefined when malformed or not below 2^31 (RFC 3261 8.1.1.5). */
function parseCSeq(value: string): CSeq | undefined {
  let at = 0;
  while (at < value.length && value.charCodeAt(at) !== SPACE && value.charCodeAt(at) !== TAB) at++;
  const number = parseDecimal(value, 2 ** 31 - 1, 0, at);
  const methodStart = skipSpace(value, at);
  if (number < 0 || !isToken(value, methodStart)) return undefined;
  return { number, method: value.slice(methodStart) };
}

function required<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new TypeError(`the message has no readable ${name}`);
  return value;
}
