import { workOut } from '../actors/chart-run.ts';
import type { CommittedStep } from '../actors/step.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { AriEventBody } from '../models/events.ts';
import type { CallRecord, ObjectHistory } from './call-record.ts';
import type { CallStore } from './call-store.ts';
import { type Capture, isStep, type RecordedChart, type Row, readStep } from './capture.ts';
import { EventEntry, MediaEntry, RequestEntry, SipEntry, type Told } from './entries.ts';
import type { EventLog } from './event-log.ts';
import { runOf } from './kept-step.ts';
import { callIdOf, isAboutCall, redactBody, redactHead } from './sip-text.ts';

/** Gets each filed entry; for a step only its call. */
type Tell = (entry: Told | undefined, call: CallRecord | undefined) => void;

type FilerOptions = {
  capture: Capture;
  store: CallStore;
  events: EventLog;
  tell: Tell;
};

/** Requests that steps may still follow from: so many at least, twice as many at most. */
const rememberedRequests = 2_500;

/** Sorts what happens by calls, into a store. */
export class Filer {
  readonly #capture: Capture;
  readonly #store: CallStore;
  readonly #events: EventLog;
  readonly #tell: Tell;
  /** Charts of which a step is filed, and that have not ended since; by their numbers. */
  readonly #charts = new SlotMap<number, RecordedChart>();
  /** How many of them can be in a call. */
  #ofCalls = 0;
  /** Requests by id: those of late, and those before. */
  #requests = new Map<string, RequestEntry>();
  #formerRequests = new Map<string, RequestEntry>();
  /** The request that a step was last found to follow from. */
  #recent: RequestEntry | undefined;

  constructor({ capture, store, events, tell }: FilerOptions) {
    this.#capture = capture;
    this.#store = store;
    this.#events = events;
    this.#tell = tell;
  }

  /** A chart of which steps are filed, until it ends. */
  chart(number: number): RecordedChart | undefined {
    return this.#charts.get(number);
  }

  /** Whether there are charts of calls of which steps are filed, and that have not ended. */
  get hasCharts(): boolean {
    return this.#ofCalls > 0;
  }

  /** Files what was captured. @param running the charts that run and have not begun here, by their numbers */
  row(row: Row, running: ReadonlyMap<number, RecordedChart>): void {
    if (isStep(row)) this.#stepRow(row);
    else if (row.kind === 'chart') {
      const { chart } = this.#capture.chartOf(row);
      this.#begin(running.get(row.number) ?? chart);
    } else if (row.kind === 'event' || row.kind === 'missed') this.#eventRow(row);
    else if (row.kind === 'sip') this.sip(readSip(row));
    else if (row.kind === 'request') this.request(readRequest(row));
    else if (row.kind === 'answer') this.answer(row.octets.read() as string, row.number, row.octets.read() as number);
    else if (row.kind === 'media') this.media(readMedia(row));
  }

  step(step: CommittedStep, chart: RecordedChart): void {
    chart.after = step.after;
    const history = this.#store.addStep(step, chart);
    if (step.after.status !== 'active') this.#end(chart);
    else if (step.before === undefined) this.#begin(chart);
    if (step.request !== undefined && step.request !== history.request) this.#link(history, step.request);
    this.#tell(undefined, history.call);
  }

  #begin(chart: RecordedChart): void {
    if (chart.role !== 'none' && !this.#charts.has(chart.number)) this.#ofCalls++;
    this.#charts.set(chart.number, chart);
  }

  #end(chart: RecordedChart): void {
    if (this.#charts.delete(chart.number) && chart.role !== 'none') this.#ofCalls--;
  }

  event(entry: EventEntry, event: AriEventBody): void {
    const history = this.ofEvent(event);
    this.#events.note(entry.application, this.#store.addEvent(history, entry));
    this.#tell(entry, history?.call);
  }

  sip(entry: SipEntry): void {
    const callId = callIdOf(entry.head);
    const history = this.#store.sipCall(callId);
    if (history || !isAboutCall(entry.head)) this.#put(entry, history);
    else {
      this.#store.wait(callId, entry);
      this.#tell(entry, undefined);
    }
  }

  media(entry: MediaEntry): void {
    this.#put(entry, this.#store.channel(entry.object));
  }

  /**
   * A request has begun. Two generations, of which the older is dropped as a whole, cost less than single deletions.
   */
  request(entry: RequestEntry): void {
    this.#requests.set(entry.id, entry);
    if (this.#requests.size < rememberedRequests) return;
    this.#formerRequests = this.#requests;
    this.#requests = new Map();
  }

  /** A request is answered. */
  answer(id: string, status: number, durationMs: number): void {
    const entry = this.#requestOf(id);
    if (!entry) return;
    entry.status = status;
    entry.durationMs = durationMs;
    if (entry.calls.length === 0) this.#put(entry, this.#ofPath(entry.path));
    else this.#tell(entry, this.#store.find(entry.calls[0] ?? ''));
  }

  /** The history of an event's object. */
  ofEvent(event: AriEventBody): ObjectHistory | undefined {
    const [kind, id] = subjectOf(event);
    if (id === undefined) return undefined;
    return kind === 'channel' ? this.#store.channel(id) : this.#store.object(kind, id);
  }

  #stepRow(row: Row): void {
    const chart = this.#charts.get(row.number);
    // The segment in which it began has gone.
    if (!chart) return;
    const step = readStep(row);
    const { after: before, object, machine } = chart;
    const outcome = workOut(runOf(machine), before, step);
    this.step({ kind: 'step', ...step, object, chart: machine.id, before, ...outcome }, chart);
  }

  #eventRow({ kind, order, at, number, octets }: Row): void {
    // The object is also in the event.
    octets.read();
    const application = octets.read() as string;
    const json = octets.read() as string;
    const event = JSON.parse(json) as AriEventBody;
    const entry = new EventEntry({ at, application, number, type: event.type, json, missed: kind === 'missed' });
    entry.order = order;
    this.event(entry, event);
  }

  #requestOf(id: string): RequestEntry | undefined {
    // Steps of several charts follow from one request.
    if (this.#recent?.id !== id) this.#recent = this.#requests.get(id) ?? this.#formerRequests.get(id);
    return this.#recent;
  }

  /** Puts the request that a step follows from into its call. */
  #link(history: ObjectHistory, id: string): void {
    const { call } = history;
    if (!call) return;
    history.request = id;
    const entry = this.#requestOf(id);
    if (!entry || entry.calls.includes(call.id)) return;
    entry.calls = [...entry.calls, call.id];
    this.#store.put(history, entry);
    this.#tell(entry, call);
  }

  #put(entry: Told, history: ObjectHistory | undefined): void {
    if (history) this.#store.put(history, entry);
    else this.#store.putOther(entry);
    this.#tell(entry, history?.call);
  }

  /**
   * The object in a path: `/ari/channels/{id}/…`, `/hookswitch/calls/{id}/…`, and likewise bridges, playbacks and
   * recordings.
   */
  #ofPath(path: string): ObjectHistory | undefined {
    const [, , resource, id] = path.split('/');
    if (id === undefined) return undefined;
    if (resource === 'calls') return this.#store.find(id)?.newest ?? this.#store.channel(id);
    if (resource === 'channels') return this.#store.channel(id);
    if (resource === 'bridges') return this.#store.object('bridge', id);
    return resource === 'playbacks' ? this.#store.object('playback', id) : undefined;
  }
}

/** Id of an event's object; '' without one. Most events are about a channel: nothing is made for these. */
export const idOfSubject = (event: AriEventBody): string => channelIn(event) ?? subjectOf(event)[1] ?? '';

/** The channel that an event is about. */
function channelIn(event: AriEventBody): string | undefined {
  const { channel } = event as { channel?: { id?: string } };
  if (channel) return channel.id;
  return (event as { peer?: { id?: string } }).peer?.id ?? transfererOf(event)?.id;
}

/** Kind and id of an event's object; undefined without one. */
function subjectOf(
  event: AriEventBody,
): [kind: 'channel' | 'bridge' | 'playback' | 'liveRecording', id: string | undefined] {
  const about = channelIn(event);
  if (about !== undefined) return ['channel', about];
  const { playback, bridge, recording } = event as {
    [name in 'bridge' | 'playback']?: { id?: string };
  } & { recording?: { name: string } };
  if (playback?.id !== undefined) return ['playback', playback.id];
  if (bridge?.id !== undefined) return ['bridge', bridge.id];
  return ['liveRecording', recording?.name];
}

/** The channel whose far side asked for the transfer that an event is about. */
const transfererOf = (event: AriEventBody): { id: string } | undefined => {
  if (event.type === 'ChannelTransfer') return event.referred_by.source_channel;
  return event.type === 'BridgeAttendedTransfer' ? event.transferer_first_leg : undefined;
};

const headEnd = '\r\n\r\n';

function readSip({ order, at, number, seq, octets }: Row): SipEntry {
  const protocol = octets.read() as string;
  const local = { address: octets.read() as string, port: octets.read() as number };
  const remote = { address: octets.read() as string, port: octets.read() as number };
  const entry = sipEntry(octets.readRaw(), number, {
    at,
    direction: seq === 1 ? 'in' : 'out',
    protocol,
    local,
    remote,
  });
  entry.order = order;
  return entry;
}

/**
 * The entry of a SIP message, without its secrets.
 * @param text the captured part: its head, and its body if bodies are kept
 * @param length of the whole message, in octets
 */
export function sipEntry(
  text: string,
  length: number,
  way: Pick<SipEntry, 'at' | 'direction' | 'protocol' | 'local' | 'remote'>,
): SipEntry {
  const end = text.indexOf(headEnd);
  const split = end < 0 ? text.length : end + headEnd.length;
  const body = split < text.length ? redactBody(text.slice(split)) : undefined;
  return new SipEntry({ ...way, head: redactHead(text.slice(0, split)), body, bodyLength: length - split });
}

function readRequest({ order, at, number, octets }: Row): RequestEntry {
  const read = () => octets.read() as string;
  const entry = new RequestEntry({
    ...{ at, id: read(), method: read(), path: read(), query: read(), user: read() },
    overWebSocket: number === 1,
  });
  entry.order = order;
  return entry;
}

function readMedia({ order, at, octets }: Row): MediaEntry {
  const entry = new MediaEntry(at, octets.read() as string, octets.read() as MediaEntry['report']);
  entry.order = order;
  return entry;
}
