import type { Connection, Delivery, EventNumbers } from '../bus/delivery.ts';
import type { Clock } from '../lib/clock.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { EventsLost, HeldObjects, ResumeGap, ResumePoint } from '../models/websocket-messages.ts';
import type { Outbox } from './outbox.ts';

/**
 * Where an application goes on: behind the event of a number, with the epoch of that number if the client knows it, or
 * wherever it stands (`new`).
 */
export type Bookmark = number | { readonly epoch: string; readonly seq: number } | 'new';

/** The events that an application resumes with. */
export type Resumption = {
  /** The events after its last one, in order, as they were written. */
  events: readonly string[];
  /** Number of missed events that are no longer kept; undefined if unknown. */
  lost: number | undefined;
};

export type ResumptionOptions = {
  clock: Clock;
  entityId: string;
  delivery: Pick<Delivery, 'placeOf' | 'has' | 'acknowledge' | 'narrowedAfter' | 'numbersOf'>;
  /** The events of an application behind a number, of which `made` were made so far. Left out, none are kept. */
  kept?: ((name: string, number: number, made: number) => Resumption) | undefined;
  /** The events after a number that another node has made and handed over; undefined if it did not. */
  handedOver?: ((name: string, number: number) => readonly string[] | undefined) | undefined;
  /** The objects of an application that its connection may see. Left out, none. */
  held?: ((name: string, connection: Connection) => HeldObjects) | undefined;
};

/** An application whose connection is there again. */
type Return = {
  name: string;
  connection: Connection;
  /** Events that waited for it. */
  outbox: Outbox | undefined;
  bookmark: Bookmark | undefined;
  acknowledges: boolean | undefined;
};

/** What a client that comes back to another node has asked for. */
export type ReturnAsked = { bookmark?: Bookmark | undefined; acknowledges?: boolean | undefined };

/** What a node hands over to the one where an application is connected now. */
export type Departure = EventNumbers & {
  /** Whether the client's place is known. */
  known: boolean;
  /** The number of the event before `events`. */
  after: number;
  /** All events behind that place; none if some are no longer kept. */
  events: readonly string[];
};

/** Sends what applications missed. */
export interface Resumptions {
  /** Sends what was missed behind the bookmark if it is kept, else what waited. */
  comeBack(back: Return): void;
  /** The kept events of an application after a number, and a message about those that are no longer kept. */
  after(name: string, number: number): { events: readonly string[]; lost?: string };
  /** What another node needs to go on with an application. */
  departure(name: string, asked: ReturnAsked): Departure;
}

const nothing: HeldObjects = { channels: [], bridges: [], playbacks: [], recordings: [], complete: true };

/** The number of an event, as it was written last. */
const numberOf = (json: string): number => (JSON.parse(json) as { seq: number }).seq;

/** What another node needs to go on with an application. */
function departureOf(
  delivery: ResumptionOptions['delivery'],
  keptAfter: (name: string, last: number) => Resumption,
  name: string,
  { bookmark, acknowledges }: ReturnAsked,
): Departure {
  const numbers = delivery.numbersOf(name);
  const placeOfBookmark = (): number | undefined => {
    if (typeof bookmark === 'object')
      return delivery.has(name, bookmark.epoch, bookmark.seq) ? bookmark.seq : undefined;
    if (typeof bookmark === 'number') return bookmark;
    return acknowledges && bookmark === undefined ? numbers.acknowledged : undefined;
  };
  const place = placeOfBookmark();
  const { events, lost }: Resumption = place === undefined ? { events: [], lost: undefined } : keptAfter(name, place);
  const isWhole = place !== undefined && lost === 0;
  return {
    ...numbers,
    known: place !== undefined,
    after: isWhole ? place : numbers.seq,
    events: isWhole ? events : [],
  };
}

export function createResumptions(options: ResumptionOptions): Resumptions {
  const { clock, entityId, delivery, kept } = options;
  const stamp = () => ({ asterisk_id: entityId, timestamp: formatTimestamp(clock.now()) });

  /** @param notBefore events up to this number are not for this connection. */
  const keptAfter = (name: string, last: number, notBefore = 0): Resumption => {
    const { seq: made, foreign } = delivery.placeOf(name);
    const from = Math.max(last, notBefore);
    const ownFrom = Math.max(from, foreign);
    const nothingKept: Resumption = { events: [], lost: ownFrom === made ? 0 : undefined };
    const own = kept && ownFrom !== made ? kept(name, ownFrom, made) : nothingKept;
    if (own.lost === undefined) return own;
    // What an earlier node has made is whole, or not there.
    const earlier = from < foreign && own.lost === 0 ? options.handedOver?.(name, from) : [];
    const lost = own.lost + (earlier ? 0 : foreign - from) + (from - last);
    return { events: earlier && earlier.length > 0 ? [...earlier, ...own.events] : own.events, lost };
  };

  const after = (name: string, last: number, notBefore?: number): { events: readonly string[]; lost?: string } => {
    const { events, lost } = keptAfter(name, last, notBefore);
    if (lost === 0) return { events };
    const told: EventsLost = {
      ...{ type: 'EventsLost', application: name, ...stamp(), after: last },
      ...(lost === undefined ? {} : { lost }),
    };
    return { events, lost: JSON.stringify(told) };
  };

  const flush = (outbox: Outbox, { send }: Connection): void => {
    outbox.connected(send);
    outbox.flush();
  };

  const notBefore = (name: string, { narrow }: Connection): number =>
    narrow ? delivery.narrowedAfter(name, narrow.by) : 0;

  /** For clients that know of no epochs. */
  const goOn = (name: string, connection: Connection, last: number): void => {
    const { events, lost } = after(name, last, notBefore(name, connection));
    if (lost !== undefined) connection.send(lost);
    for (const json of events) connection.send(json);
  };

  /** Tells where a client that asked for no place stands, then sends what waited. */
  const begin = ({ name, connection, outbox, acknowledges }: Return): void => {
    const { epoch, seq: made } = delivery.placeOf(name);
    const [first] = outbox?.waiting() ?? [];
    const seq = first === undefined ? made : numberOf(first) - 1;
    const point: ResumePoint = { type: 'ResumePoint', application: name, ...stamp(), epoch, seq };
    // It will come back to this place until it has handled more.
    if (acknowledges) delivery.acknowledge(name, seq);
    connection.send(JSON.stringify(point));
    if (outbox) flush(outbox, connection);
  };

  /** All that was missed, or what the application holds in its place. */
  const goOnByEpoch = ({ name, connection }: Return, place: { epoch: string; seq: number }): void => {
    const { epoch, seq } = delivery.placeOf(name);
    const known = delivery.has(name, place.epoch, place.seq);
    const { events, lost }: Resumption = known
      ? keptAfter(name, place.seq, notBefore(name, connection))
      : { events: [], lost: undefined };
    if (lost === 0) {
      const point: ResumePoint = { type: 'ResumePoint', application: name, ...stamp(), epoch, seq: place.seq };
      connection.send(JSON.stringify(point));
      for (const json of events) connection.send(json);
      return;
    }
    const gap: ResumeGap = {
      ...{ type: 'ResumeGap', application: name, ...stamp(), epoch, seq, after: place.seq },
      // None of the missed events is sent: the snapshot is newer than all of them.
      ...(known ? { lost: seq - place.seq } : {}),
      snapshot: options.held?.(name, connection) ?? nothing,
    };
    connection.send(JSON.stringify(gap));
  };

  const comeBack = (back: Return): void => {
    const { name, connection, outbox, bookmark, acknowledges } = back;
    if (typeof bookmark === 'object') goOnByEpoch(back, bookmark);
    else if (acknowledges || bookmark === 'new') {
      const { epoch, acknowledged } = delivery.placeOf(name);
      const seq = bookmark ?? acknowledged;
      if (seq === undefined || seq === 'new') begin(back);
      else goOnByEpoch(back, { epoch, seq });
    } else if (bookmark !== undefined && (kept || !outbox)) goOn(name, connection, bookmark);
    else if (outbox) flush(outbox, connection);
  };

  return {
    comeBack,
    after: (name, number) => after(name, number),
    departure: (name, asked) => departureOf(delivery, keptAfter, name, asked),
  };
}
