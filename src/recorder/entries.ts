import type { CommittedStep } from '../actors/step.ts';
import { type KeptStep, StepReader } from './kept-step.ts';

const none: readonly never[] = [];

/** A request of a client, and what it was answered. */
export class RequestEntry {
  readonly kind = 'request';
  order = 0;
  readonly at: number;
  readonly id: string;
  readonly method: string;
  /** As it came, without its query. */
  readonly path: string;
  /** Its query, secrets taken out; '' for none. */
  readonly query: string;
  readonly user: string;
  /** Carried over the events WebSocket. */
  readonly overWebSocket: boolean;
  /** Status of the answer; 0 until there is one. */
  status = 0;
  /** ms (fractions included) until the answer. */
  durationMs = 0;
  /** Ids of the calls that it was found to be about. */
  calls: readonly string[] = none;

  constructor(request: Pick<RequestEntry, 'at' | 'id' | 'method' | 'path' | 'query' | 'user' | 'overWebSocket'>) {
    this.at = request.at;
    this.id = request.id;
    this.method = request.method;
    this.path = request.path;
    this.query = request.query;
    this.user = request.user;
    this.overWebSocket = request.overWebSocket;
  }
}

/** An event made for an application: what it was sent, or missed because it had no connection. */
export class EventEntry {
  readonly kind = 'event';
  order = 0;
  readonly at: number;
  readonly application: string;
  /** Its number among the application's events. */
  readonly number: number;
  readonly type: string;
  /** As it was written; for one that was missed, as it would have been. */
  readonly json: string;
  readonly missed: boolean;

  constructor(event: Pick<EventEntry, 'at' | 'application' | 'number' | 'type' | 'json' | 'missed'>) {
    this.at = event.at;
    this.application = event.application;
    this.number = event.number;
    this.type = event.type;
    this.json = event.json;
    this.missed = event.missed;
  }
}

/** A SIP message that came in or went out. */
export class SipEntry {
  readonly kind = 'sip';
  order = 0;
  readonly at: number;
  readonly direction: 'in' | 'out';
  readonly protocol: string;
  /** Octets as latin1: the first line and the headers, without what authenticates anybody. */
  readonly head: string;
  /** Octets of the body as latin1, when bodies are kept. */
  readonly body: string | undefined;
  /** Octets of the body. */
  readonly bodyLength: number;
  readonly local: SipPlace;
  readonly remote: SipPlace;

  constructor(
    sip: Pick<SipEntry, 'at' | 'direction' | 'protocol' | 'head' | 'body' | 'bodyLength' | 'local' | 'remote'>,
  ) {
    this.at = sip.at;
    this.direction = sip.direction;
    this.protocol = sip.protocol;
    this.head = sip.head;
    this.body = sip.body;
    this.bodyLength = sip.bodyLength;
    this.local = sip.local;
    this.remote = sip.remote;
  }
}

/** Source or destination of a SIP message. */
export type SipPlace = { readonly address: string; readonly port: number };

/** A report of the media plane about a channel. */
export class MediaEntry {
  readonly kind = 'media';
  order = 0;
  readonly at: number;
  /** The channel. */
  readonly object: string;
  readonly report: Readonly<Record<string, string | number>>;

  constructor(at: number, object: string, report: Readonly<Record<string, string | number>>) {
    this.at = at;
    this.object = object;
    this.report = report;
  }
}

/** Entries beside steps. */
export type Told = RequestEntry | EventEntry | SipEntry | MediaEntry;

/** One thing as it is kept. All share one clock and one order. */
export type Kept = KeptStep | Told;

/** One thing that was recorded, as it was. */
export type Entry = CommittedStep | Told;

/** Roughly what an entry takes of the heap, in octets. */
export function octetsOf(entry: Kept): number {
  switch (entry.kind) {
    case 'step':
      return 250;
    case 'event':
      return 160 + entry.json.length;
    case 'sip':
      return 240 + entry.head.length + (entry.body?.length ?? 0);
    case 'request':
      return 240 + entry.path.length + entry.query.length;
    case 'media':
      return 500;
  }
}

/** Things as they were, of what is kept of them in order. */
export function readAll(kept: readonly Kept[], reader = new StepReader()): Entry[] {
  return kept.map((entry) => (entry.kind === 'step' ? reader.read(entry) : entry));
}
