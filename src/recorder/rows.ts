import type { ChartEvent, StepSource, Taking } from '../actors/chart-run.ts';
import type { CommittedStep, Step } from '../actors/step.ts';
import { EventEntry, type Kept, type MediaEntry, type RequestEntry, SipEntry } from './entries.ts';
import { KeptStep, type ObjectHistory } from './history.ts';
import { type Journal, numberOf, referenceOf, type Segment } from './journal.ts';

/** What a row holds: for steps how they came about; what is kept as an object says itself what it is. */
const kinds = ['begun', 'restored', 'taken', 'expired', 'crashed', 'event', 'missed', 'sip', 'object'] as const;
const codeOf = Object.fromEntries(kinds.map((kind, code) => [kind, code])) as Record<(typeof kinds)[number], number>;
const firstOther = codeOf.event;

/** The end of the headers of a SIP message. */
const headEnd = '\r\n\r\n';

/** Whose rows they are, chained from the newest one. */
export type RowOwner = {
  /** Place of its newest row; 0 for none. */
  last: number;
};

function openRow(journal: Journal, owner: RowOwner, order: number, at: number, units: number, form: 'utf8' | 'latin1') {
  const segment = journal.open(units, form);
  const place = journal.places;
  segment.setNumber(place, numberOf.order, order);
  segment.setNumber(place, numberOf.at, at);
  // To make room for the row may have moved the owner's others.
  segment.setNumber(place, numberOf.previous, owner.last);
  segment.setReference(place, referenceOf.owner, owner);
  owner.last = place;
  return segment;
}

/** Writes a step: what came in. */
export function writeStep(
  journal: Journal,
  owner: RowOwner,
  step: Pick<CommittedStep, 'order' | 'at' | 'seq' | 'taking' | 'event' | 'besides' | 'causedBy' | 'request'>,
  history: ObjectHistory,
): void {
  const segment = openRow(journal, owner, step.order, step.at, 0, 'latin1');
  const place = journal.places;
  segment.setNumber(place, numberOf.kind, codeOf[step.taking]);
  segment.setNumber(place, numberOf.number, step.seq);
  segment.setReference(place, referenceOf.subject, history);
  segment.setReference(place, referenceOf.content, step.event);
  segment.setReference(place, referenceOf.cause, step.causedBy);
  segment.setReference(place, referenceOf.request, step.request);
  segment.setReference(place, referenceOf.besides, step.besides);
}

/** Writes an event, as it was made for an application. */
export function writeEvent(journal: Journal, owner: RowOwner, event: EventEntry): void {
  const segment = openRow(journal, owner, event.order, event.at, event.json.length, 'utf8');
  const place = journal.places;
  segment.setNumber(place, numberOf.kind, event.missed ? codeOf.missed : codeOf.event);
  segment.setNumber(place, numberOf.number, event.number);
  segment.setReference(place, referenceOf.subject, event.application);
  segment.setReference(place, referenceOf.content, event.type);
  segment.write(place, event.json, 'utf8');
}

function writeSip(journal: Journal, owner: RowOwner, sip: SipEntry): void {
  const text = sip.body === undefined ? sip.head : sip.head + sip.body;
  const segment = openRow(journal, owner, sip.order, sip.at, text.length, 'latin1');
  const place = journal.places;
  segment.setNumber(place, numberOf.kind, codeOf.sip);
  segment.setNumber(place, numberOf.number, sip.bodyLength);
  const { direction, protocol, local, remote } = sip;
  segment.setReference(place, referenceOf.subject, { direction, protocol, local, remote });
  segment.write(place, text, 'latin1');
}

/** Writes whatever is kept. */
export function writeRow(journal: Journal, owner: RowOwner, entry: Kept): void {
  if (entry.kind === 'step') writeStep(journal, owner, entry, entry.history);
  else if (entry.kind === 'event') writeEvent(journal, owner, entry);
  else if (entry.kind === 'sip') writeSip(journal, owner, entry);
  else {
    const segment = openRow(journal, owner, entry.order, entry.at, 0, 'latin1');
    segment.setNumber(journal.places, numberOf.kind, codeOf.object);
    segment.setReference(journal.places, referenceOf.subject, entry);
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
    const step = {
      ...{ order, at, seq: number, taking: kinds[code] as Taking },
      event: segment.reference(place, referenceOf.content) as ChartEvent,
      besides: segment.reference(place, referenceOf.besides) as StepSource['besides'],
      causedBy: segment.reference(place, referenceOf.cause) as Step['causedBy'],
      request: segment.reference(place, referenceOf.request) as string | undefined,
    };
    return new KeptStep(step, subject as ObjectHistory);
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
