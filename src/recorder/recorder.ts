import type { LiveActor } from '../actors/spawn.ts';
import type { CommittedStep } from '../actors/step.ts';
import type { KeptActor, Turn } from '../actors/turn.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { AriEventBody } from '../models/events.ts';
import type { CallRecord, ObjectHistory } from './call-record.ts';
import { CallStore, type StoreLimits } from './call-store.ts';
import { EventEntry, MediaEntry, RequestEntry, SipEntry, type SipPlace, type Told } from './entries.ts';
import { EventLog } from './event-log.ts';
import { joined, type Mask, nothingMasked } from './masks.ts';
import { type RtpTraceLimits, RtpTraces } from './rtp-traces.ts';
import { callIdOf, headOf, isAboutCall, redactBody, redactHead } from './sip-text.ts';

export type RecorderSettings = StoreLimits & {
  /** Nothing is recorded, and nothing is kept. */
  off?: boolean;
  /** Whether bodies of SIP messages are kept. */
  bodies: boolean;
  /** What is not shown of new calls. */
  mask: Mask;
  /** What is kept of RTP packets; nothing where left out. */
  rtp?: RtpTraceLimits;
};

export type RecorderOptions = {
  turn: Pick<Turn, 'keep'>;
  /** Those that run, at any time: their states are what a recording begins with. Left out, there are none. */
  actors?: Iterable<LiveActor>;
  clock: Clock;
  log: Logger;
  settings: RecorderSettings;
};

/** A request of a client, when it begins. */
export type BegunRequest = ConstructorParameters<typeof RequestEntry>[0] & {
  /** Whether it only looks: then it is recorded when it is refused. */
  looks: boolean;
};

/** Who hears what is recorded: of a step only whose call it belongs to. */
export type RecordListener = (entry: Told | undefined, call: CallRecord | undefined) => void;

/** Requests that steps may still follow from: so many at least, twice as many at most. */
const rememberedRequests = 2_500;

/**
 * So many things wait, at most, to be filed all at once: to do that between any two steps of a call takes the place of the
 * call's own work in the processor's caches, and costs both more than what is done.
 */
const mostUnfiled = 512;

/** How often calls that ended long ago are looked for, in ms. */
const expiryMs = 5_000;

/** The event of the step with which a chart is recorded that runs already. */
const recordingBegun = { type: 'recording.begun' };

/** Charts that say which call others are in, in the order in which those have to be known. */
const leading: readonly string[] = ['channel', 'bridge'];

const noRtp: RtpTraceLimits = { packets: 0, octets: 0 };

const none: readonly never[] = [];

/** What is filed of a request: that it has begun, or its answer. */
const begun = 'begun';
const answered = 'answered';

/**
 * The flight recorder: everything that happens, in one order on one clock, sorted by calls and bounded. Of steps it keeps
 * what came in; the charts say what that led to when somebody asks. Nothing waits for it and nothing depends on it. While it
 * is off it hears of nothing, and has nothing: who tells it of events, messages and requests looks at `on` before.
 */
export class Recorder {
  readonly clock: Clock;
  readonly settings: RecorderSettings;
  /** The heads of RTP packets. */
  readonly rtp: RtpTraces;
  readonly #log: Logger;
  /** Requests by id: those of late, and those before. */
  #requests = new Map<string, RequestEntry>();
  #formerRequests = new Map<string, RequestEntry>();
  readonly #turn: RecorderOptions['turn'];
  readonly #actors: Iterable<LiveActor>;
  /** What is kept; another one each time that it begins. */
  #store: CallStore;
  #events: EventLog;
  /** What happened since somebody asked, and with each what filing it needs: whose step it is, what the event says. */
  #unfiled: unknown[] = [];
  #isFiling = false;
  /** The request that a step was last found to follow from. */
  #recent: RequestEntry | undefined;
  #on = false;
  #unkeep = (): void => {};
  #listeners: readonly RecordListener[] = [];
  #order = 0;
  #expiry: unknown;
  #closed = false;
  /** What was hidden of calls that were live when recording ended, by their ids. */
  readonly #hidden = new Map<string, Mask>();

  constructor({ turn, actors = none, clock, log, settings }: RecorderOptions) {
    this.#turn = turn;
    this.#actors = actors;
    this.#log = log;
    this.clock = clock;
    this.settings = settings;
    this.#store = this.#newStore();
    this.rtp = new RtpTraces((!settings.off && settings.rtp) || noRtp);
    this.#events = new EventLog(this.#store.journal);
    if (!settings.off) this.#begin();
  }

  /** What is kept, of everything that happened so far. */
  get store(): CallStore {
    this.#fileAll();
    return this.#store;
  }

  /** The events among it. */
  get events(): EventLog {
    this.#fileAll();
    return this.#events;
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
   * Takes up other settings: bounds hold for what comes, masks and heads of RTP for calls that begin. Turned off, it lets go
   * of all that was recorded; turned on, it begins with everything as it is then.
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

  /** Hears of everything from now on. @returns a function that ends that. */
  listen(listener: RecordListener): () => void {
    this.#fileAll();
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  /** A request is carried out from now on. @returns what to call with the status of its answer */
  requested(request: BegunRequest): (status: number, durationMs: number) => void {
    const { looks } = request;
    const entry = new RequestEntry(request);
    entry.order = ++this.#order;
    if (!looks) this.#take(entry, begun);
    return (status, durationMs) => {
      entry.status = status;
      entry.durationMs = durationMs;
      if (!this.#on) return;
      if (looks && status < 400) return;
      this.#take(entry, answered);
    };
  }

  /** An event was made for an application. */
  sent(application: string, number: number, event: AriEventBody, json: string, missed: boolean): void {
    const entry = new EventEntry({ at: this.clock.now(), application, number, type: event.type, json, missed });
    entry.order = ++this.#order;
    this.#take(entry, event);
  }

  /** The call that an event was about, while it is kept. */
  callOf({ json }: EventEntry): CallRecord | undefined {
    return this.#ofEvent(JSON.parse(json) as AriEventBody)?.call;
  }

  /** A SIP message came in or went out. */
  sip(direction: 'in' | 'out', bytes: Buffer, protocol: string, local: SipPlace, remote: SipPlace): void {
    const raw = headOf(bytes);
    const head = redactHead(raw);
    const bodyLength = bytes.length - raw.length;
    const body = this.settings.bodies && bodyLength > 0 ? redactBody(bytes.toString('latin1', raw.length)) : undefined;
    const entry = new SipEntry({
      ...{ at: this.clock.now(), direction, protocol, head, bodyLength, local, remote },
      body,
    });
    entry.order = ++this.#order;
    this.#take(entry, undefined);
  }

  /** The media plane told something of a channel. */
  media(channelId: string, report: Readonly<Record<string, string | number>>): void {
    // What a thread measured last may come when nothing is recorded any more.
    if (!this.#on) return;
    const entry = new MediaEntry(this.clock.now(), channelId, report);
    entry.order = ++this.#order;
    this.#take(entry, undefined);
  }

  /** Stops recording; what is kept stays. */
  close(): void {
    this.#fileAll();
    this.#closed = true;
    this.#on = false;
    this.#unkeep();
    this.clock.clearTimeout(this.#expiry);
    this.#listeners = [];
  }

  /** Calls that are under way are known from here on: of each chart that runs, the state it is in comes first. */
  #begin(): void {
    this.#on = true;
    const running = [...this.#actors].sort((one, other) => rankOf(one) - rankOf(other));
    for (const actor of running) this.#keep(asItIs(actor, this.clock.now()), actor);
    this.#fileAll();
    this.#hidden.clear();
    this.#unkeep = this.#turn.keep((step, actor) => this.#keep(step, actor));
    if (running.length > 0)
      this.#log.info({ objects: running.length }, 'recording begins; calls are known from here on');
  }

  #newStore(): CallStore {
    return new CallStore(this.settings, (call) => joined(this.settings.mask, this.#hidden.get(call) ?? nothingMasked));
  }

  #end(): void {
    this.#fileAll();
    this.#on = false;
    this.#unkeep();
    this.clock.clearTimeout(this.#expiry);
    this.#expiry = undefined;
    // What is hidden stays hidden, also when recording begins again while the call goes on.
    for (const { id, formerIds, mask, ended } of this.#store.calls())
      if (ended === undefined && mask !== this.settings.mask)
        for (const each of [id, ...formerIds]) this.#hidden.set(each, mask);
    const calls = this.#store.letGo();
    for (const actor of this.#actors) actor.note = undefined;
    this.#requests.clear();
    this.#formerRequests.clear();
    this.#recent = undefined;
    this.#store = this.#newStore();
    this.#events = new EventLog(this.#store.journal);
    this.#log.info({ calls }, 'nothing is recorded any more; the calls that were kept are gone');
  }

  #keep(step: CommittedStep, actor: KeptActor): void {
    step.order = ++this.#order;
    this.#take(step, actor);
  }

  /** Something happened. Who listens hears of it at once; else it waits to be filed with others. */
  #take(what: CommittedStep | Told, by: unknown): void {
    this.#unfiled.push(what, by);
    if (this.#listeners.length > 0 || this.#unfiled.length >= 2 * mostUnfiled) this.#fileAll();
    if (this.#expiry === undefined) this.#expireSoon();
  }

  #fileAll(): void {
    // Who is told of something may ask at once; what comes behind that is still to be filed, in its turn.
    if (this.#isFiling || this.#unfiled.length === 0) return;
    this.#isFiling = true;
    while (this.#unfiled.length > 0) {
      const unfiled = this.#unfiled;
      this.#unfiled = [];
      for (let at = 0; at < unfiled.length; at += 2) {
        try {
          this.#file(unfiled[at] as CommittedStep | Told, unfiled[at + 1]);
        } catch (error) {
          this.#log.error({ error }, 'something could not be recorded');
        }
      }
    }
    this.#isFiling = false;
  }

  #file(what: CommittedStep | Told, by: unknown): void {
    if (what.kind === 'step') this.#fileStep(what, by as KeptActor);
    else if (what.kind === 'event') this.#fileEvent(what, by as AriEventBody);
    else if (what.kind === 'media') this.#put(what, this.#store.channel(what.object));
    else if (what.kind === 'sip') this.#fileSip(what);
    else if (by === begun) this.#remember(what);
    else this.#fileAnswered(what);
  }

  #fileStep(step: CommittedStep, actor: KeptActor): void {
    const history = this.#store.addStep(step, actor);
    if (step.request !== undefined && step.request !== history.request) this.#link(history, step.request);
    this.#tell(undefined, history.call);
  }

  #fileEvent(entry: EventEntry, event: AriEventBody): void {
    const history = this.#ofEvent(event);
    this.#events.note(entry.application, this.#store.addEvent(history, entry));
    this.#tell(entry, history?.call);
  }

  #fileAnswered(entry: RequestEntry): void {
    if (entry.calls.length === 0) this.#put(entry, this.#ofPath(entry.path));
    else this.#tell(entry, this.#store.find(entry.calls[0] ?? ''));
  }

  #fileSip(entry: SipEntry): void {
    const callId = callIdOf(entry.head);
    const history = this.#store.sipCall(callId);
    if (history || !isAboutCall(entry.head)) this.#put(entry, history);
    else {
      this.#store.wait(callId, entry);
      this.#tell(entry, undefined);
    }
  }

  /** Puts the request that a step follows from into its call. */
  #link(history: ObjectHistory, id: string): void {
    const { call } = history;
    if (!call) return;
    history.request = id;
    // Steps of several charts follow from one request.
    const entry = this.#recent?.id === id ? this.#recent : (this.#requests.get(id) ?? this.#formerRequests.get(id));
    this.#recent = entry;
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

  #tell(entry: Told | undefined, call: CallRecord | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(entry, call);
      } catch (error) {
        this.#log.error({ error }, 'a listener of what is recorded failed');
      }
    }
  }

  /** Two generations, of which the older one goes as a whole, cost less than to delete one for each that comes. */
  #remember(entry: RequestEntry): void {
    this.#requests.set(entry.id, entry);
    if (this.#requests.size < rememberedRequests) return;
    this.#formerRequests = this.#requests;
    this.#requests = new Map();
  }

  /** What a path names: `/ari/channels/{id}/…`, `/hookswitch/calls/{id}/…`, and the same of bridges, playbacks and recordings. */
  #ofPath(path: string): ObjectHistory | undefined {
    const [, , resource, id] = path.split('/');
    if (id === undefined) return undefined;
    if (resource === 'calls') return this.#store.find(id)?.newest ?? this.#store.channel(id);
    if (resource === 'channels') return this.#store.channel(id);
    if (resource === 'bridges') return this.#store.object('bridge', id);
    return resource === 'playbacks' ? this.#store.object('playback', id) : undefined;
  }

  #ofEvent(event: AriEventBody): ObjectHistory | undefined {
    const { channel, peer, playback, bridge, recording } = event as {
      [name in 'channel' | 'peer' | 'bridge' | 'playback']?: { id?: string };
    } & { recording?: { name: string } };
    const about = channel ?? peer ?? transfererOf(event);
    if (about?.id !== undefined) return this.#store.channel(about.id);
    if (playback?.id !== undefined) return this.#store.object('playback', playback.id);
    if (bridge?.id !== undefined) return this.#store.object('bridge', bridge.id);
    return recording && this.#store.object('liveRecording', recording.name);
  }

  #expireSoon(): void {
    if (this.#closed) return;
    this.#expiry = this.clock.setTimeout(() => {
      this.#expiry = undefined;
      const { store } = this;
      store.expire(this.clock.now());
      if (store.hasEnded) this.#expireSoon();
    }, expiryMs);
  }
}

const rankOf = ({ chart }: LiveActor): number => (leading.includes(chart) ? leading.indexOf(chart) : leading.length);

/** What nobody recorded of a chart, in one step: it counts as none of the process (`seq` 0). */
function asItIs(actor: LiveActor, at: number): CommittedStep {
  const snapshot = actor.getSnapshot();
  return {
    ...{ kind: 'step', order: 0, seq: 0, at, object: actor.id, chart: actor.chart },
    ...{ taking: 'restored', event: recordingBegun, besides: snapshot, before: undefined, after: snapshot },
    ...{ facts: none, effects: none, causedBy: undefined, request: undefined },
  };
}

/** The channel whose far side asked for the transfer that an event is about. */
const transfererOf = (event: AriEventBody): { id: string } | undefined => {
  if (event.type === 'ChannelTransfer') return event.referred_by.source_channel;
  return event.type === 'BridgeAttendedTransfer' ? event.transferer_first_leg : undefined;
};
