import type { ChartEvent, StepSource, Taking } from '../actors/chart-run.ts';
import type { CommittedStep, Step } from '../actors/step.ts';
import { clockCause, requestCause } from '../actors/turn.ts';
import { EventEntry, type Kept, type MediaEntry, type RequestEntry, SipEntry } from './entries.ts';
import { type Journal, mostEach, numberOf, type RowOwner, referenceOf, type Segment } from './journal.ts';
import { type KeptChart, KeptStep } from './kept-step.ts';

/** Kinds of rows: steps by their origin; objects have their own types. */
const kinds = ['begun', 'restored', 'taken', 'expired', 'crashed', 'event', 'missed', 'sip', 'object'] as const;
const codeOf = Object.fromEntries(kinds.map((kind, code) => [kind, code])) as Record<(typeof kinds)[number], number>;
const firstOther = codeOf.event;

/** The end of the headers of a SIP message. */
const headEnd = '\r\n\r\n';

/** Cause of a step with unknown number. */
const noCause = -1;
const byClock = -2;
const byRequest = -3;
export const byOther = -4;

/** Rare data of steps beside their request. */
type Rest = { readonly request: string | undefined; readonly cause: Step['causedBy']; readonly besides: unknown };

/** Writes a step: what came in. */
export function writeStep(
  journal: Journal,
  owner: RowOwner,
  step: Pick<CommittedStep, 'order' | 'at' | 'seq' | 'taking' | 'event' | 'besides' | 'causedBy' | 'request'>,
  history: KeptChart,
): void {
  const { taking, event, besides, causedBy, request } = step;
  const segment = journal.open(owner, step.order, step.at);
  const place = journal.places;
  const cause = causeNumber(causedBy, request);
  segment.describe(place, codeOf[taking], step.seq, cause);
  const isSimple = besides === undefined && cause !== byOther;
  const rest = isSimple ? request : ({ request, cause: causedBy, besides } satisfies Rest);
  segment.refer(place, history, saysMore(event) ? event : event.type, rest);
}

/** Whether an event has more than its type. */
function saysMore(event: ChartEvent): boolean {
  for (const name in event) if (name !== 'type') return true;
  return false;
}

/** A cause as a number; {@link byOther} for one that has none. */
export function causeNumber(cause: Step['causedBy'], request: string | undefined): number {
  if (typeof cause === 'number') return cause;
  if (cause === undefined) return noCause;
  if (cause === clockCause) return byClock;
  return request !== undefined && isCause(cause, request) ? byRequest : byOther;
}

const ofRequest = requestCause('');

/** Whether a cause is that of a request, without building its text. */
const isCause = (cause: string, request: string): boolean =>
  cause.length === ofRequest.length + request.length && cause.startsWith(ofRequest) && cause.endsWith(request);

/** The cause of a number; `other` is one that has none. */
export function causeOf(number: number, request: string | undefined, other: Step['causedBy']): Step['causedBy'] {
  if (number >= 0) return number;
  if (number === byClock) return clockCause;
  if (number === byRequest) return requestCause(request ?? '');
  return other;
}

/** Writes an event, as it was made for an application. */
export function writeEvent(
  journal: Journal,
  owner: RowOwner,
  { order, at, application, number, type, json, missed }: Omit<EventEntry, 'kind'>,
): Segment {
  const segment = journal.open(owner, order, at, json.length * mostEach.utf8);
  const place = journal.places;
  segment.describe(place, missed ? codeOf.missed : codeOf.event, number);
  segment.refer(place, application, type);
  segment.write(place, json, 'utf8');
  return segment;
}

function writeSip(journal: Journal, owner: RowOwner, sip: SipEntry): void {
  const text = sip.body === undefined ? sip.head : sip.head + sip.body;
  const segment = journal.open(owner, sip.order, sip.at, text.length * mostEach.latin1);
  const place = journal.places;
  const { direction, protocol, local, remote } = sip;
  segment.describe(place, codeOf.sip, sip.bodyLength);
  segment.refer(place, { direction, protocol, local, remote });
  segment.write(place, text, 'latin1');
}

/** Writes an entry. */
export function writeRow(journal: Journal, owner: RowOwner, entry: Kept): void {
  if (entry.kind === 'step') writeStep(journal, owner, entry, entry.history);
  else if (entry.kind === 'event') writeEvent(journal, owner, entry);
  else if (entry.kind === 'sip') writeSip(journal, owner, entry);
  else {
    const segment = journal.open(owner, entry.order, entry.at);
    segment.describe(journal.places, codeOf.object, 0);
    segment.refer(journal.places, entry);
  }
}

/** Reads a row. */
export function readRow(segment: Segment, place: number): Kept {
  const code = segment.number(place, numberOf.kind);
  const order = segment.number(place, numberOf.order);
  const at = segment.number(place, numberOf.at);
  const number = segment.number(place, numberOf.number);
  const subject = segment.reference(place, referenceOf.subject);
  if (code < firstOther) {
    const content = segment.reference(place, referenceOf.content) as ChartEvent | string;
    const last = segment.reference(place, referenceOf.rest) as string | Rest | undefined;
    const rest = typeof last === 'object' ? last : undefined;
    const request = typeof last === 'object' ? last.request : last;
    const step = {
      ...{ order, at, seq: number, taking: kinds[code] as Taking, request },
      event: typeof content === 'string' ? { type: content } : content,
      besides: rest?.besides as StepSource['besides'],
      causedBy: causeOf(segment.number(place, numberOf.cause), request, rest?.cause),
    };
    return new KeptStep(step, subject as KeptChart);
  }
  if (code === codeOf.object) return subject as RequestEntry | MediaEntry;
  if (code === codeOf.sip) {
    const text = segment.text(place, 'latin1');
    const end = text.indexOf(headEnd);
    const split = end < 0 ? text.length : end + headEnd.length;
    const body = split === text.length ? undefined : text.slice(split);
    const way = subject as Pick<SipEntry, 'direction' | 'protocol' | 'local' | 'remote'>;
    return inOrder(new SipEntry({ ...way, at, head: text.slice(0, split), body, bodyLength: number }), order);
  }
  const event = {
    ...{ at, number, application: subject as string, missed: code === codeOf.missed },
    type: segment.reference(place, referenceOf.content) as string,
    json: segment.text(place, 'utf8'),
  };
  return inOrder(new EventEntry(event), order);
}

function inOrder<E extends { order: number }>(entry: E, order: number): E {
  entry.order = order;
  return entry;
}

/** The rows of an owner that are still there, newest first. */
export function* rowsOf(journal: Journal, last: number): Generator<[segment: Segment, place: number]> {
  for (let place = last; place > 0; ) {
    const segment = journal.find(place);
    if (!segment) return;
    yield [segment, place];
    place = segment.number(place, numberOf.previous);
  }
}
