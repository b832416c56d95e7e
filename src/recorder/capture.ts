import type { Chart, ChartEvent, Snapshot, StepSource, Taking } from '../actors/chart-run.ts';
import type { CommittedStep, Step } from '../actors/step.ts';
import type { KeptActor } from '../actors/turn.ts';
import type { ChannelContext } from '../machines/channel.ts';
import { callOf } from '../machines/channel-vocabulary.ts';
import type { ObjectHistory, Role } from './call-record.ts';
import type { MediaEntry, RequestEntry, SipPlace } from './entries.ts';
import { Octets } from './octets.ts';
import { byOther, causeNumber, causeOf } from './rows.ts';
import { WaitingRows } from './waiting-rows.ts';

/** A chart that is recorded: what filing its steps needs. It is the note of its actor, and outlives it while it has rows. */
export class RecordedChart implements KeptActor {
  readonly machine: Chart;
  readonly object: string;
  readonly role: Role;
  /** Counts the charts of a recording. */
  readonly number: number;
  /** The recorder of it. */
  readonly capture: Capture;
  /** When its first row came, in ms since the epoch. */
  readonly since: number;
  /** Of a channel the call that it is in, and its SIP call. */
  linked: ChannelContext['linked'] | undefined;
  sipCall = '';
  /** Its history, once a step of it is filed. */
  note: ObjectHistory | undefined;
  /** The snapshot after the last step that is filed. */
  after: Snapshot | undefined;

  constructor(
    capture: Capture,
    number: number,
    { machine, object, role, since }: Pick<RecordedChart, 'machine' | 'object' | 'role' | 'since'>,
  ) {
    this.capture = capture;
    this.since = since;
    this.number = number;
    this.machine = machine;
    this.object = object;
    this.role = role;
  }
}

/** Kinds of rows. The first ones are steps, by their origin. */
const kinds = [
  'begun',
  'restored',
  'taken',
  'expired',
  'crashed',
  'chart',
  'linked',
  'event',
  'missed',
  'sip',
  'request',
  'answer',
  'media',
] as const;
type Kind = (typeof kinds)[number];
const codeOf = Object.fromEntries(kinds.map((kind, code) => [kind, code])) as Record<Kind, number>;
const firstOther = codeOf.chart;

/** Numbers before the octets of a row: how many octets it takes, and those of {@link RowHead}. */
const headOctets = 7 * 8;

/** Octets of a segment: so many that few segments turn over, so few that one that goes takes little along. */
const mostOctets = 512 * 1024;
const fewestOctets = 64 * 1024;
const fewestSegments = 16;

/** Room that a row of a step needs at most; an event that takes more is kept by reference. */
const stepOctets = 8 * 1024;
const eventOctets = 4 * 1024;

/** One row, as it is read. */
export type Row = {
  kind: Kind;
  order: number;
  at: number;
  /** Of steps the chart's number; of events their own. */
  number: number;
  seq: number;
  cause: number;
  /** Reads what belongs to the row, in the order in which it was written. */
  octets: Octets;
};

/** A piece of a capture. */
export class CaptureSegment {
  readonly octets: Octets;
  readonly #numbers: Float64Array;
  /** Position of the next row to read. */
  #read = 0;
  /** Time of its last row, in ms since the epoch. */
  lastAt = 0;
  /** Calls that begin in it. */
  calls = 0;
  /** Where the row begins that is written; undefined when it is closed. */
  #opened: number | undefined;

  constructor(size: number) {
    this.octets = Octets.of(size);
    const { buffer, byteOffset } = this.octets.bytes;
    this.#numbers = new Float64Array(buffer, byteOffset, Math.floor(size / 8));
  }

  get size(): number {
    return this.octets.bytes.length;
  }

  clear(): void {
    this.octets.clear();
    this.#read = 0;
    this.calls = 0;
  }

  hasRoom(octets: number): boolean {
    return this.octets.at + headOctets + octets <= this.size;
  }

  /** Writes a row up to its octets. @returns where it begins, for {@link close} */
  open(kind: number, order: number, at: number, number: number): number {
    const start = this.octets.at;
    const numbers = this.#numbers;
    const first = start / 8;
    numbers[first + 1] = kind;
    numbers[first + 2] = order;
    numbers[first + 3] = at;
    numbers[first + 4] = number;
    numbers[first + 5] = 0;
    numbers[first + 6] = 0;
    this.octets.at = start + headOctets;
    this.lastAt = at;
    this.#opened = start;
    return start;
  }

  /** Says of the row that is open which step it is, and what caused it. */
  describe(start: number, seq: number, cause: number): void {
    this.#numbers[start / 8 + 5] = seq;
    this.#numbers[start / 8 + 6] = cause;
  }

  close(start: number): void {
    const end = (this.octets.at + 7) & ~7;
    this.#numbers[start / 8] = end - start;
    this.octets.at = end;
    this.#opened = undefined;
  }

  /** Forgets the row that could not be written to its end. */
  discard(): void {
    this.octets.back(this.#opened ?? this.octets.at);
    this.#opened = undefined;
  }

  /** Whether all its rows are read. */
  get isRead(): boolean {
    return this.#read >= this.octets.at;
  }

  /** The place in the order of the row that is read next; it has one. */
  get nextOrder(): number {
    return this.#numbers[this.#read / 8 + 2] as number;
  }

  /** Reads the next row, which stays as it is. Its octets are read before anything is written. */
  next(): Row {
    const row = this.rowAt(this.#read);
    this.#read += this.#numbers[this.#read / 8] as number;
    return row;
  }

  /** Where the rows begin that are not read yet, in order. Nothing is made for one that is passed over. */
  *places(): Generator<number> {
    for (let at = this.#read; at < this.octets.at; at += this.#numbers[at / 8] as number) yield at;
  }

  kindAt(place: number): Kind {
    return kinds[this.#numbers[place / 8 + 1] as number] as Kind;
  }

  /** The number of the row there. */
  numberAt(place: number): number {
    return this.#numbers[place / 8 + 4] as number;
  }

  rowAt(start: number): Row {
    const first = start / 8;
    const number = (column: number) => this.#numbers[first + column] as number;
    const kind = kinds[number(1)] as Kind;
    const octets = this.octets.from(start + headOctets);
    return { kind, order: number(2), at: number(3), number: number(4), seq: number(5), cause: number(6), octets };
  }
}

/** Segments in the order in which they came. */
class Ring {
  readonly segments: CaptureSegment[] = [];
  #spare: CaptureSegment | undefined;
  #octets = 0;

  get octets(): number {
    return this.#octets;
  }

  get newest(): CaptureSegment | undefined {
    return this.segments.at(-1);
  }

  add(size: number): CaptureSegment {
    const segment = this.#spare?.size === size ? this.#spare : new CaptureSegment(size);
    if (segment === this.#spare) this.#spare = undefined;
    this.segments.push(segment);
    this.#octets += size;
    return segment;
  }

  shift(): void {
    const segment = this.segments.shift();
    if (!segment) return;
    segment.clear();
    this.#octets -= segment.size;
    this.#spare ??= segment;
  }

  clear(): void {
    while (this.segments.length > 0) this.shift();
    this.#spare = undefined;
  }
}

type CaptureOptions = {
  /** Octets that may be taken, from which the size of segments follows. */
  octets: number;
  /** Frees memory for this many octets, if necessary by {@link Capture.retire}. */
  makeRoom(octets: number): void;
  /** Gets what writing an entry threw; that entry is lost. */
  onFailed(error: unknown): void;
};

/**
 * Entries that are not filed yet, as octets. To sort each entry by calls at once would cost more than the call's own
 * steps. Most are never read. So entries are appended, and filed on demand or when memory is needed. SIP messages have
 * segments of their own, so that many unknown senders displace no steps. Other entries wait by reference until there
 * are 256, or somebody reads ({@link WaitingRows}).
 */
export class Capture {
  readonly #things = new Ring();
  readonly #messages = new Ring();
  readonly #makeRoom: (octets: number) => void;
  readonly #segmentOctets: number;
  readonly #machines: Chart[] = [];
  #charts = 0;
  readonly #waiting: WaitingRows;

  constructor({ octets, makeRoom, onFailed }: CaptureOptions) {
    this.#waiting = new WaitingRows((error) => {
      this.#things.newest?.discard();
      onFailed(error);
    });
    const part = Math.floor(octets / fewestSegments / 8) * 8;
    this.#segmentOctets = Math.min(mostOctets, Math.max(fewestOctets, part));
    this.#makeRoom = makeRoom;
  }

  get octets(): number {
    return this.#things.octets + this.#messages.octets;
  }

  /** Whether nothing waits to be filed. */
  get isEmpty(): boolean {
    return this.#waiting.isEmpty && !unread(this.#things) && !unread(this.#messages);
  }

  clear(): void {
    this.#waiting.clear();
    this.#things.clear();
    this.#messages.clear();
  }

  /* ---- Writing ------------------------------------------------------------------------------------------------------ */

  /** Writes what waits. */
  writeWaiting(): void {
    this.#waiting.write();
  }

  /** A chart is recorded from now on. */
  begin(machine: Chart, object: string, role: Role, at: number): RecordedChart {
    return new RecordedChart(this, ++this.#charts, { machine, object, role, since: at });
  }

  /** Writes that a chart has begun: its first row. `about` is the object by which it comes into a call. */
  chart(chart: RecordedChart, order: number, at: number, about: string): void {
    this.#waiting.add(this.#writeChart, { order, at, about }, chart);
  }

  readonly #writeChart = (
    { order, at, about }: Placed & { about: string },
    { number, machine, object, role }: RecordedChart,
  ): void => {
    let index = this.#machines.indexOf(machine);
    if (index < 0) index = this.#machines.push(machine) - 1;
    const segment = this.#room(this.#things, stepOctets + 3 * (object.length + about.length));
    const start = segment.open(codeOf.chart, order, at, number);
    segment.describe(start, index, 0);
    segment.octets.text(object);
    segment.octets.text(role);
    segment.octets.text(about);
    segment.close(start);
  };

  /** Writes that a channel is in a call from now on. */
  linked(chart: RecordedChart, order: number, at: number, { linked, protocolId }: ChannelContext): void {
    chart.linked = linked;
    chart.sipCall = protocolId;
    this.#waiting.add(this.#writeLinked, { order, at, id: callOf(linked) }, chart);
  }

  readonly #writeLinked = ({ order, at, id }: Placed & { id: string }, { number, object }: RecordedChart): void => {
    const segment = this.#room(this.#things, 3 * id.length + 8);
    const start = segment.open(codeOf.linked, order, at, number);
    segment.octets.text(id);
    segment.close(start);
    if (id === object) segment.calls++;
  };

  step(step: CommittedStep, number: number): void {
    this.#waiting.add(this.#writeStep, step, number);
  }

  readonly #writeStep = (step: CommittedStep, number: number): void => {
    const { taking, order, at, seq, causedBy, request, event, besides } = step;
    const segment = this.#room(this.#things, stepOctets + 3 * (request?.length ?? 0));
    const { octets } = segment;
    const cause = causeNumber(causedBy, request);
    const start = segment.open(codeOf[taking], order, at, number);
    segment.describe(start, seq, cause);
    octets.write(request);
    if (cause === byOther) octets.write(causedBy);
    // The snapshot of a restored actor is the chart's own object, with all references.
    if (besides === undefined || typeof besides === 'string') octets.write(besides);
    else octets.refer(besides);
    octets.writeWithin(event, eventOctets);
    segment.close(start);
  };

  /** @param about id of what it is about; '' for nothing. */
  event(event: CapturedEvent, about: string): void {
    this.#waiting.add(this.#writeEvent, event, about, event.json.length);
  }

  readonly #writeEvent = (event: CapturedEvent, about: string): void => {
    const { order, at, application, number, json, missed } = event;
    const segment = this.#room(this.#things, 3 * (json.length + application.length + about.length) + 64);
    const start = segment.open(missed ? codeOf.missed : codeOf.event, order, at, number);
    segment.octets.text(about);
    segment.octets.text(application);
    segment.octets.text(json);
    segment.close(start);
  };

  /** @param length of what is kept of the message, in octets */
  sip(bytes: Buffer, length: number, { order, at, direction, protocol, local, remote }: SipWay): void {
    const segment = this.#room(this.#messages, length + 1_024);
    const { octets } = segment;
    const start = segment.open(codeOf.sip, order, at, bytes.length);
    segment.describe(start, direction === 'in' ? 1 : 0, 0);
    octets.text(protocol);
    octets.text(local.address);
    octets.number(local.port);
    octets.text(remote.address);
    octets.number(remote.port);
    octets.raw(bytes, length);
    segment.close(start);
  }

  request(entry: RequestEntry): void {
    this.#waiting.add(this.#writeRequest, entry, undefined);
  }

  readonly #writeRequest = (entry: RequestEntry): void => {
    const { order, at, id, method, path, query, user, overWebSocket } = entry;
    const segment = this.#room(this.#things, 3 * (id.length + path.length + query.length + user.length) + 128);
    const { octets } = segment;
    const start = segment.open(codeOf.request, order, at, overWebSocket ? 1 : 0);
    octets.text(id);
    octets.text(method);
    octets.text(path);
    octets.text(query);
    octets.text(user);
    segment.close(start);
  };

  answer(answer: CapturedAnswer): void {
    this.#waiting.add(this.#writeAnswer, answer, undefined);
  }

  readonly #writeAnswer = ({ order, at, id, status, durationMs }: CapturedAnswer): void => {
    const segment = this.#room(this.#things, 3 * id.length + 32);
    const start = segment.open(codeOf.answer, order, at, status);
    segment.octets.text(id);
    segment.octets.number(durationMs);
    segment.close(start);
  };

  media(entry: MediaEntry): void {
    this.#waiting.add(this.#writeMedia, entry, undefined);
  }

  readonly #writeMedia = ({ order, at, object, report }: MediaEntry): void => {
    const segment = this.#room(this.#things, stepOctets + 3 * object.length);
    const { octets } = segment;
    const start = segment.open(codeOf.media, order, at, 0);
    octets.text(object);
    octets.writeWithin(report, eventOctets);
    segment.close(start);
  };

  #room(ring: Ring, octets: number): CaptureSegment {
    const { newest } = ring;
    if (newest?.hasRoom(octets)) return newest;
    const size = Math.max(this.#segmentOctets, (octets + headOctets + 7) & ~7);
    this.#makeRoom(size);
    return ring.add(size);
  }

  /* ---- Reading ------------------------------------------------------------------------------------------------------ */

  /** Takes the oldest row. Undefined when there is none. */
  take(): Row | undefined {
    this.writeWaiting();
    const things = unread(this.#things);
    const messages = unread(this.#messages);
    const oldest = !things || (messages && messages.nextOrder < things.nextOrder) ? messages : things;
    return oldest?.next();
  }

  /** The segment that goes first when room is needed; undefined when there is none. */
  get oldest(): CaptureSegment | undefined {
    const [things] = this.#things.segments;
    const [messages] = this.#messages.segments;
    if (!things || !messages) return things ?? messages;
    // Each kind has half of the memory if both need more.
    return this.#things.octets >= this.#messages.octets ? things : messages;
  }

  /** Lets the oldest segment go. */
  retire(): void {
    const { oldest } = this;
    (oldest === this.#things.segments[0] ? this.#things : this.#messages).shift();
  }

  /** The chart that a row says begins. */
  chartOf({ number, at, seq, octets }: Row): { chart: RecordedChart; about: string } {
    const object = octets.read() as string;
    const role = octets.read() as Role;
    const about = octets.read() as string;
    const machine = this.#machines[seq] as Chart;
    return { chart: new RecordedChart(this, number, { machine, object, role, since: at }), about };
  }
}

/** The segment of the next row to read; read segments are dropped. */
function unread(ring: Ring): CaptureSegment | undefined {
  while (ring.segments[0]?.isRead) ring.shift();
  return ring.segments[0];
}

/** The direction of a SIP message, and its addresses. */
type SipWay = Placed & { direction: 'in' | 'out'; protocol: string; local: SipPlace; remote: SipPlace };

/** Place in the order, and the time in ms since the epoch. */
type Placed = { order: number; at: number };
type CapturedEvent = Placed & { application: string; number: number; json: string; missed: boolean };
type CapturedAnswer = Placed & { id: string; status: number; durationMs: number };

/** Whether a row is a step. */
export const isStep = ({ kind }: Pick<Row, 'kind'>): boolean => codeOf[kind] < firstOther;

/** The content of a step's row, without its chart. */
export function readStep({ kind, order, at, seq, cause, octets }: Row): StepRow {
  const request = octets.read() as string | undefined;
  const other = cause === byOther ? (octets.read() as string) : undefined;
  const besides = octets.read() as StepSource['besides'];
  const event = octets.read() as ChartEvent;
  const causedBy = causeOf(cause, request, other);
  return { order, at, seq, taking: kind as Taking, request, besides, event, causedBy };
}

type StepRow = StepSource & {
  order: number;
  seq: number;
  request: string | undefined;
  causedBy: Step['causedBy'];
};
