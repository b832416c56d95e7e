import type { LiveActor } from '../actors/spawn.ts';
import type { CommittedStep } from '../actors/step.ts';
import type { KeptActor, Turn } from '../actors/turn.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { ChannelContext } from '../machines/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import { type CallRecord, roleOf } from './call-record.ts';
import { CallStore, leastMs, type StoreLimits } from './call-store.ts';
import { Capture, RecordedChart, type Row } from './capture.ts';
import { EventEntry, MediaEntry, RequestEntry, type SipPlace, type Told } from './entries.ts';
import { EventLog } from './event-log.ts';
import { Filer, idOfSubject, sipEntry } from './filer.ts';
import { joined, type Mask, nothingMasked } from './masks.ts';
import { wantedRows } from './retirement.ts';
import { type RtpTraceLimits, RtpTraces } from './rtp-traces.ts';
import { headLength, isAboutCallOctets } from './sip-text.ts';

export type RecorderSettings = StoreLimits & {
  /** Nothing is recorded, and nothing is kept. */
  off?: boolean;
  /** Whether bodies of SIP messages are kept. */
  bodies: boolean;
  /** Mask of new calls. */
  mask: Mask;
  /** Limits of RTP headers; left out: none are kept. */
  rtp?: RtpTraceLimits;
};

/** The number of an event among those of an application, and whether it was missed. */
type Delivered = { application: string; number: number; missed: boolean };

type RecorderOptions = {
  turn: Pick<Turn, 'keep'>;
  /** The running actors: a recording begins with their states. Left out: none. */
  actors?: Iterable<LiveActor>;
  clock: Clock;
  log: Logger;
  settings: RecorderSettings;
};

/** A request of a client, when it begins. */
type BegunRequest = ConstructorParameters<typeof RequestEntry>[0] & {
  /** Whether it only looks: then it is recorded when it is refused. */
  looks: boolean;
};

/** Gets each recorded entry; for a step only its call. */
type RecordListener = (entry: Told | undefined, call: CallRecord | undefined) => void;

/** Rows filed in one turn while other work waits: a few ms. */
const rowsAtOnce = 500;

/** How often calls that ended long ago are looked for, in ms. */
const expiryMs = 5_000;

/** The event of the step with which a chart is recorded that runs already. */
const recordingBegun = { type: 'recording.begun' };

/** Charts that say which call others are in, in the order in which those have to be known. */
const leading: readonly string[] = ['channel', 'bridge'];

const noRtp: RtpTraceLimits = { packets: 0, octets: 0 };

const none: readonly never[] = [];

/**
 * The flight recorder: everything that happens, in one order on one clock, sorted by calls and bounded. It keeps only
 * the input of steps; the charts compute the results on demand. Nothing waits for it or depends on it. While it is off
 * it has no entries. Callers check `on` before they report events, messages and requests.
 *
 * Entries are captured as octets and filed on demand; with a listener they are filed directly.
 */
export class Recorder {
  readonly clock: Clock;
  readonly settings: RecorderSettings;
  /** The heads of RTP packets. */
  readonly rtp: RtpTraces;
  readonly #log: Logger;
  readonly #turn: RecorderOptions['turn'];
  readonly #actors: Iterable<LiveActor>;
  /** The present recording; replaced each time that recording begins. */
  #kept!: { readonly store: CallStore; readonly events: EventLog; readonly capture: Capture; readonly filer: Filer };
  #isFiling = false;
  #on = false;
  #unkeep = (): void => {};
  #listeners: readonly RecordListener[] = [];
  #order = 0;
  /** Calls that went before they were filed, because all together took too much. */
  #unfiledCalls = 0;
  #expiry: unknown;
  #closed = false;
  /** Masks of calls that were live when recording ended, by call id. */
  readonly #hidden = new Map<string, Mask>();

  constructor({ turn, actors = none, clock, log, settings }: RecorderOptions) {
    this.#turn = turn;
    this.#actors = actors;
    this.#log = log;
    this.clock = clock;
    this.settings = settings;
    this.#empty();
    this.rtp = new RtpTraces((!settings.off && settings.rtp) || noRtp);
    if (!settings.off) this.#begin();
  }

  /** The store with everything that happened so far. */
  get store(): CallStore {
    this.#fileAll();
    return this.#kept.store;
  }

  /** The events among it. */
  get events(): EventLog {
    this.#fileAll();
    return this.#kept.events;
  }

  /** Octets that all of it takes, roughly. */
  get octets(): number {
    return this.#kept.store.octets + this.#kept.capture.octets;
  }

  /** Calls that went before their time because all together took too much. */
  get evicted(): number {
    return this.#kept.store.evicted + this.#unfiledCalls;
  }

  /** Whether anything is recorded now. */
  get on(): boolean {
    return this.#on;
  }

  /** Place in the order of the last thing that was recorded. */
  get order(): number {
    return this.#order;
  }

  /**
   * Applies other settings: bounds immediately, masks and RTP headers for new calls. Turned off, it drops everything
   * recorded. Turned on, it begins with the present state of everything.
   */
  reconfigure(next: Partial<RecorderSettings>): void {
    this.#fileAll();
    Object.assign(this.settings, next);
    const { off = false, rtp = noRtp } = this.settings;
    this.rtp.reconfigure(off ? noRtp : rtp);
    if (off && this.#on) this.#end();
    if (!off && !this.#on && !this.#closed) this.#begin();
    this.store.makeRoom();
  }

  /** Whether so many rows wait for filing that readers should await {@link settled} first. */
  get isBehind(): boolean {
    return !this.#kept.capture.isEmpty;
  }

  /** Resolves when everything that has happened so far is filed. Others have their turn meanwhile. */
  async settled(): Promise<void> {
    for (const last = this.#order; !this.#kept.capture.isEmpty; ) {
      if (this.#fileSome(rowsAtOnce, last)) return;
      await new Promise<void>((resolve) => this.clock.soon(resolve));
    }
  }

  /** Files up to so many captured rows, oldest first. @returns whether nothing waits any more */
  settleSome(rows: number): boolean {
    return this.#fileSome(rows, Number.POSITIVE_INFINITY);
  }

  /** Ended calls, in the order of their ends, as far as they are filed. */
  get endedCalls(): Iterable<CallRecord> {
    return this.#kept.store.endedCalls;
  }

  /** Called every 5 s while anything is recorded, before calls that ended long ago are dropped. */
  onExpiry: () => void = () => {};

  /** Calls back for everything from now on. @returns a function that ends it. */
  listen(listener: RecordListener): () => void {
    this.#fileAll();
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  /** A request is carried out from now on. @returns what to call with the status of its answer */
  requested(request: BegunRequest): (status: number, durationMs: number) => void {
    const order = ++this.#order;
    const { looks, id } = request;
    if (!looks) this.#begun(request, order);
    return (status, durationMs) => {
      if (!this.#on || (looks && status < 400)) return;
      if (looks) this.#begun(request, order);
      if (this.#isDirect) this.#file((filer) => filer.answer(id, status, durationMs));
      else this.#kept.capture.answer({ order: ++this.#order, at: this.clock.now(), id, status, durationMs });
    };
  }

  /** An event was made for an application. */
  sent({ application, number, missed }: Delivered, event: AriEventBody, json: string): void {
    const order = ++this.#order;
    const at = this.clock.now();
    if (this.#isDirect) {
      const entry = new EventEntry({ at, application, number, type: event.type, json, missed });
      entry.order = order;
      this.#file((filer) => filer.event(entry, event));
    } else this.#kept.capture.event({ order, at, application, number, json, missed }, idOfSubject(event));
    this.#expireSoon();
  }

  /** The call that an event was about, while it is kept. */
  callOf({ json }: EventEntry): CallRecord | undefined {
    this.#fileAll();
    return this.#kept.filer.ofEvent(JSON.parse(json) as AriEventBody)?.call;
  }

  /** A SIP message came in or went out. */
  sip(direction: 'in' | 'out', bytes: Buffer, local: SipPlace, peer: SipPlace & { protocol: string }): void {
    const { protocol, ...remote } = peer;
    const order = ++this.#order;
    const at = this.clock.now();
    const length = this.settings.bodies ? bytes.length : headLength(bytes);
    // A message outside calls is filed where it displaces none.
    if (this.#isDirect || !(this.#isFiling || isAboutCallOctets(bytes, length))) {
      const entry = sipEntry(bytes.toString('latin1', 0, length), bytes.length, {
        at,
        direction,
        protocol,
        local,
        remote,
      });
      entry.order = order;
      this.#file((filer) => filer.sip(entry));
    } else this.#kept.capture.sip(bytes, length, { order, at, direction, protocol, local, remote });
    this.#expireSoon();
  }

  /** The media plane told something of a channel. */
  media(channelId: string, report: Readonly<Record<string, string | number>>): void {
    // The last measurement of a thread may arrive after recording has ended.
    if (!this.#on) return;
    const entry = new MediaEntry(this.clock.now(), channelId, report);
    entry.order = ++this.#order;
    if (this.#isDirect) this.#file((filer) => filer.media(entry));
    else this.#kept.capture.media(entry);
    this.#expireSoon();
  }

  /** Stops recording; what is kept stays. */
  close(): void {
    this.#closed = true;
    this.#on = false;
    this.#unkeep();
    this.clock.clearTimeout(this.#expiry);
    this.#listeners = [];
  }

  /** Live calls are recorded from here on: each running chart starts with its present state. */
  #begin(): void {
    this.#on = true;
    const running = [...this.#actors].sort((one, other) => rankOf(one) - rankOf(other));
    for (const actor of running) this.#keep(asItIs(actor, this.clock.now()), actor);
    this.#fileAll();
    this.#hidden.clear();
    this.#unkeep = this.#turn.keep((step, actor) => this.#keep(step, actor));
    if (running.length > 0) this.#log.info({ objects: running.length }, 'recording is on');
  }

  #empty(): void {
    const { settings } = this;
    const store = new CallStore(settings, (call) => joined(settings.mask, this.#hidden.get(call) ?? nothingMasked));
    const events = new EventLog(store.journal);
    const capture = new Capture({
      octets: settings.octets,
      makeRoom: (octets) => this.#makeRoom(octets),
      onFailed: (error) => this.#failed(error),
    });
    const filer = new Filer({ capture, store, events, tell: (entry, call) => this.#tell(entry, call) });
    this.#kept = { store, events, capture, filer };
  }

  #end(): void {
    this.#fileAll();
    this.#on = false;
    this.#unkeep();
    this.clock.clearTimeout(this.#expiry);
    this.#expiry = undefined;
    const { store } = this.#kept;
    // Masks stay, also if recording ends and begins again during the call.
    for (const { id, formerIds, mask, ended } of store.calls())
      if (ended === undefined && mask !== this.settings.mask)
        for (const each of [id, ...formerIds]) this.#hidden.set(each, mask);
    const calls = store.letGo();
    for (const actor of this.#actors) actor.note = undefined;
    this.#empty();
    this.#log.info({ calls }, 'recording is off; recorded calls are deleted');
  }

  #keep(step: CommittedStep, actor: KeptActor): void {
    step.order = ++this.#order;
    const { capture } = this.#kept;
    let chart = actor.note as RecordedChart | undefined;
    const isNew = chart?.capture !== capture;
    if (isNew || chart === undefined) {
      chart = capture.begin(actor.machine, step.object, roleOf(actor.machine.id, step.after), step.at);
      actor.note = chart;
    }
    // A step outside calls is filed where it displaces none.
    if (this.#isDirect || (chart.role === 'none' && !this.#isFiling)) {
      const recorded = chart;
      this.#file((filer) => filer.step(step, recorded));
    } else this.#captureStep(step, chart, isNew);
    this.#expireSoon();
  }

  #captureStep(step: CommittedStep, chart: RecordedChart, isNew: boolean): void {
    const { capture } = this.#kept;
    const { order, at, after } = step;
    if (isNew) capture.chart(chart, order, at, chart.role === 'ofTarget' ? targetOf(after.context) : step.object);
    if (chart.role === 'channel' && chart.linked !== (after.context as ChannelContext).linked)
      capture.linked(chart, order, at, after.context as ChannelContext);
    capture.step(step, chart.number);
  }

  #begun(request: BegunRequest, order: number): void {
    const entry = new RequestEntry(request);
    entry.order = order;
    if (this.#isDirect) this.#file((filer) => filer.request(entry));
    else this.#kept.capture.request(entry);
    this.#expireSoon();
  }

  /** Whether entries are filed directly: there is a listener, and no earlier entry waits. */
  get #isDirect(): boolean {
    return this.#listeners.length > 0 && !this.#isFiling && this.#kept.capture.isEmpty;
  }

  /** Files something; what that leads to is captured, and filed behind it. */
  #file(file: (filer: Filer) => void): void {
    this.#guarded(() => file(this.#kept.filer));
    if (this.#listeners.length > 0) this.#fileAll();
  }

  /** Files all captured rows. A listener may read while it is called; later rows follow in order. */
  #fileAll(): void {
    if (this.#isFiling || this.#kept.capture.isEmpty) return;
    this.#fileSome(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    this.#kept.store.letGoEnded(this.clock.now());
  }

  /** Files captured rows, oldest first, up to a number. @returns whether all are filed up to a place in the order */
  #fileSome(most: number, last: number): boolean {
    const { capture } = this.#kept;
    const running = this.#running();
    for (let count = 0; count < most; count++) {
      const row = capture.take();
      if (!row) return true;
      this.#fileRow(row, running);
      if (row.order >= last) return true;
    }
    return false;
  }

  #fileRow(row: Row, running: ReadonlyMap<number, RecordedChart>): void {
    this.#guarded(() => this.#kept.filer.row(row, running));
  }

  #failed(error: unknown): void {
    this.#log.error({ error }, 'cannot record an entry');
  }

  #guarded(file: () => void): void {
    this.#isFiling = true;
    try {
      file();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isFiling = false;
    }
  }

  /** The charts that run of which nothing is filed yet. */
  #running(): Map<number, RecordedChart> {
    const running = new Map<number, RecordedChart>();
    for (const { note } of this.#actors)
      if (note instanceof RecordedChart && note.note === undefined) running.set(note.number, note);
    return running;
  }

  /** Frees this many octets: filed entries are older than captured ones and go first. */
  #makeRoom(octets: number): void {
    const { store } = this.#kept;
    while (this.octets + octets > this.settings.octets)
      // Rows that are being filed stay until that is done.
      if (!store.journal.retire() && (this.#isFiling || !this.#retire())) return;
  }

  /** The oldest segment of the capture goes; what in it is of live calls is filed before. */
  #retire(): boolean {
    const { capture, filer } = this.#kept;
    const { oldest } = capture;
    if (!oldest) return false;
    const wanted = wantedRows(oldest, capture, filer, this.#actors);
    if (wanted.length === 0) this.#unfiledCalls += oldest.calls;
    else {
      const running = this.#running();
      for (const row of wanted) this.#fileRow(row, running);
    }
    capture.retire();
    return true;
  }

  #tell(entry: Told | undefined, call: CallRecord | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(entry, call);
      } catch (error) {
        this.#log.error({ error }, 'a listener of the recorder failed');
      }
    }
  }

  #expireSoon(): void {
    if (this.#expiry !== undefined || this.#closed || !this.#on) return;
    this.#expiry = this.clock.setTimeout(() => {
      this.#expiry = undefined;
      this.onExpiry();
      const { store, capture } = this.#kept;
      const now = this.clock.now();
      capture.writeWaiting();
      store.expire(now);
      const due = now - Math.max(this.settings.keepEndedMs, leastMs);
      while (capture.oldest && capture.oldest.lastAt <= due && this.#retire());
      if (store.hasEnded || !capture.isEmpty) this.#expireSoon();
    }, expiryMs);
  }
}

const rankOf = ({ chart }: LiveActor): number => (leading.includes(chart) ? leading.indexOf(chart) : leading.length);

/** The state of a chart that was not recorded, as one step outside the process's count (`seq` 0). */
function asItIs(actor: LiveActor, at: number): CommittedStep {
  const snapshot = actor.getSnapshot();
  return {
    ...{ kind: 'step', order: 0, seq: 0, at, object: actor.id, chart: actor.chart },
    ...{ taking: 'restored', event: recordingBegun, besides: snapshot, before: undefined, after: snapshot },
    ...{ facts: none, effects: none, causedBy: undefined, request: undefined },
  };
}

/** The object that something is heard on: `channel:ID`, `bridge:ID`. */
const targetOf = (context: unknown): string => {
  const { targetUri } = context as { targetUri: string };
  return targetUri.slice(targetUri.indexOf(':') + 1);
};
