import type { ConnectRequest } from '../actors/application-connections.ts';
import type { Applications } from '../actors/applications.ts';
import { callIn, type Origin } from '../actors/consumer-group.ts';
import type { Bookmark } from '../actors/resumptions.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type Arrival, createArrivals, type HandedOver, type HandOverAsked } from './arrivals.ts';
import { createEventSources, type EventFrame, frameOf } from './event-sources.ts';
import { writeFrame } from './frame.ts';
import {
  type BringAsked,
  type PresenceChange,
  type PresenceList,
  type PresentApplication,
  shown,
} from './presence-messages.ts';

import { hasLater, holderOf, isLater, type Link, newRemoteNode, type RemoteNode } from './remote-applications.ts';

/** Connects applications with the whole cluster: at every other node they are connected, by a link to this one. */
export interface Presence {
  /** As {@link Applications.connect}; other nodes hear of it. Connections that this system makes are the node's own. */
  connect: Applications['connect'];
  /**
   * Brings the numbers and missed events of applications here from the nodes that have them, before a client connects.
   * Events wait until it has. It resolves as well when that fails.
   */
  bring(names: readonly string[], asked: BringAsked): Promise<void>;
  /** Events after a number that another node has handed over; undefined if it has not. */
  handedOver(name: string, number: number): readonly string[] | undefined;
  /** Gives an application to the node where it connects; undefined if it is not this one's. */
  handOver(asked: HandOverAsked): HandedOver | undefined;
  /** Whether an application of this node is kept without a connection. */
  isAwaited(name: string): boolean;
  /** The other node that has an application; undefined if this one has it, or none. */
  homeOf(name: string): string | undefined;
  /** Where the event comes from that is being delivered; undefined for one of this node. */
  readonly origin: Origin | undefined;
  list(): PresenceList;
  /** Takes a change of another node. */
  change(change: PresenceChange): void;
  /** A node has applications as of this revision: asks for what was missed. */
  heard(node: string, epoch: string, revision: number): void;
  /** The applications of a node are away. */
  drop(node: string): void;
  /** Takes an event that another node has made for an application of this one. */
  take(frame: Uint8Array): void;
  /** Asks all nodes for their applications, which may be connected since a moment. */
  refresh(): Promise<void>;
  readonly revision: number;
  figures(): { eventsOut: number; eventsIn: number; eventsLost: number };
  close(): void;
}

type PresenceOptions = {
  node: string;
  epoch: string;
  clock: Clock;
  log: Logger;
  applications: Pick<Applications, 'connect' | 'relay' | 'departure' | 'adopt' | 'missTo' | 'review'>;
  /** How long an application may be away before its events are numbered no more, in ms; 0: not at all. */
  awaitMs: number;
  /** How long something of another node is waited for, in ms. */
  timeoutMs: number;
  /** Octets of events that wait while applications move. */
  mostOctets: number;
  hit(): void;
  /** The call (`linkedid`) of a channel of this node. */
  callOf(channel: string): string | undefined;
  /** Tells the other nodes. */
  tell(change: PresenceChange): void;
  /** Asks a node for all of its applications. */
  ask(node: string): Promise<PresenceList | undefined>;
  /** Asks a node for one application. */
  askFor(node: string, asked: HandOverAsked): Promise<HandedOver | undefined>;
  /** Sends an event to a node. @returns false if it was dropped. */
  send(node: string, frame: Uint8Array): boolean;
};

type Local = PresentApplication & { request: ConnectRequest };

/** Nodes that may pass an event on which an application has left. */
const mostHops = 4;

/** Creates the applications of a node. */
export const createPresence = (options: PresenceOptions): Presence => new ClusterPresence(options);

class ClusterPresence implements Presence {
  readonly #options: PresenceOptions;
  readonly #local = new SlotMap<string, Local>();
  /** Applications of this node whose connection is away: its stamp, and how long they are kept. */
  readonly #awaited = new SlotMap<string, { stamp: number; timer: unknown }>();
  readonly #remote = new Map<string, RemoteNode>();
  readonly #sources;
  readonly #arrivals;
  readonly #counts = { eventsOut: 0, eventsIn: 0, eventsLost: 0 };
  #revision = 0;
  #latest = 0;
  #origin: Origin | undefined;

  constructor(options: PresenceOptions) {
    this.#options = options;
    const { clock, timeoutMs, mostOctets, hit } = options;
    const bounds = { clock, timeoutMs, mostOctets, hit };
    this.#sources = createEventSources({ ...bounds, deliver: (frame, lost) => this.#deliver(frame, lost) });
    this.#arrivals = createArrivals({ ...bounds, abandoned: (arrival) => this.#abandon(arrival) });
  }

  get revision(): number {
    return this.#revision;
  }

  get origin(): Origin | undefined {
    return this.#origin;
  }

  readonly connect: Presence['connect'] = (request) => {
    // Each node opens outbound connections of its own.
    if (request.announce) return this.#options.applications.connect(request);
    const names = [...new Set(request.names)];
    const { subscribeAll = false, observes = false, group } = request;
    const arrived = names.flatMap((name) => this.#arrivals.end(name) ?? []);
    const resume = new Map(request.resume);
    for (const arrival of arrived) this.#adopt(arrival, resume);
    const connected = this.#options.applications.connect({ ...request, ...(request.resume && { resume }) });
    const stampOf = (name: string): number =>
      arrived.find((arrival) => arrival.name === name)?.numbers?.stamp ?? this.#stamp();
    const mine = names.map((name): Local => ({ name, subscribeAll, observes, group, stamp: stampOf(name), request }));
    for (const each of mine) {
      this.#endAwaiting(each.name);
      this.#local.set(each.name, each);
      this.#leaveAll(each.name, Number.POSITIVE_INFINITY);
    }
    this.#changed({ added: mine });
    for (const { frames } of arrived) for (const frame of frames) this.#accept(frame);
    return {
      ...connected,
      close: () => {
        const gone = mine.filter((each) => this.#local.get(each.name) === each).map(({ name }) => name);
        for (const name of gone) {
          this.#await(name, this.#local.get(name)?.stamp ?? 0);
          this.#local.delete(name);
        }
        connected.close();
        if (gone.length > 0) this.#changed({ removed: gone });
      },
    };
  };

  async bring(names: readonly string[], asked: BringAsked): Promise<void> {
    await Promise.all(names.map((name) => this.#bring(name, asked)));
  }

  handedOver(name: string, number: number): readonly string[] | undefined {
    return this.#arrivals.handedOver(name, number);
  }

  handOver({ name, node, stamp: asTold, subscribeAll, observes, ...asked }: HandOverAsked): HandedOver | undefined {
    const own = this.#local.get(name);
    if (!this.#remote.has(node) || (!own && !this.#awaited.has(name))) return undefined;
    // The other node may not have heard of the latest connection here. Its own is later.
    const stamp = Math.max(asTold, (own?.stamp ?? 0) + 1);
    const received = this.#sources.leave(name);
    const departure = this.#options.applications.departure(name, asked);
    this.#local.delete(name);
    this.#endAwaiting(name);
    // The others hear it from the other node. Until then they send their events here, and these are passed on.
    this.#addRemote(node, { name, stamp, subscribeAll, observes });
    return { ...departure, received, stamp };
  }

  isAwaited(name: string): boolean {
    return this.#awaited.has(name);
  }

  homeOf(name: string): string | undefined {
    if (this.#local.has(name) || this.#awaited.has(name) || this.#arrivals.find(name)) return undefined;
    return holderOf(this.#remote, name);
  }

  list(): PresenceList {
    const { epoch } = this.#options;
    const applications = [...this.#local.values()].map(shown);
    return { epoch, revision: this.#revision, applications, ...this.#awaitedOf([...this.#awaited.keys()]) };
  }

  change({ node: holder, epoch, revision, added, removed, awaited, stamps }: PresenceChange): void {
    const known = this.#remote.get(holder);
    if (known?.asking) known.missed = revision;
    if (!known || known.asking || known.epoch !== epoch || known.revision + 1 !== revision)
      return void this.#fetch(holder);
    known.revision = revision;
    for (const name of removed) this.#removeRemote(holder, name, awaited.includes(name));
    for (const name of awaited) this.#awaitAt(holder, name, stamps?.[name]);
    for (const each of added) this.#addRemote(holder, each);
  }

  heard(holder: string, epoch: string, revision: number): void {
    const known = this.#remote.get(holder);
    if (known?.epoch !== epoch || known.revision !== revision) void this.#fetch(holder);
  }

  drop(holder: string): void {
    const known = this.#remote.get(holder);
    if (!known) return;
    for (const name of [...known.applications.keys(), ...known.awaited.keys()]) this.#removeRemote(holder, name, false);
    this.#remote.delete(holder);
  }

  take(data: Uint8Array): void {
    const frame = frameOf(data);
    if (frame) this.#take(frame);
  }

  async refresh(): Promise<void> {
    await Promise.all([...this.#remote.keys()].map((holder) => this.#fetchAnew(holder)));
  }

  figures(): { eventsOut: number; eventsIn: number; eventsLost: number } {
    return { ...this.#counts };
  }

  close(): void {
    for (const name of [...this.#awaited.keys()]) this.#endAwaiting(name);
    this.#sources.close();
    this.#arrivals.close();
  }

  #take(frame: EventFrame): void {
    const { application, hops = 0 } = frame.head;
    const arrival = this.#arrivals.find(application);
    if (arrival) {
      if (!this.#arrivals.keep(arrival, frame)) this.#counts.eventsLost++;
      return;
    }
    if (this.#local.has(application) || this.#awaited.has(application)) return void this.#accept(frame);
    // It has moved on: once more, to where it is now.
    const holder = hops < mostHops ? holderOf(this.#remote, application) : undefined;
    const passed = writeFrame({ ...frame.head, hops: hops + 1 }, frame.body);
    if (holder === undefined || !this.#options.send(holder, passed)) this.#counts.eventsLost++;
  }

  #accept(frame: EventFrame): void {
    this.#sources.accept(frame);
  }

  #deliver({ head: { application, topics, from: node, call }, body }: EventFrame, lost: number): void {
    this.#counts.eventsIn++;
    this.#counts.eventsLost += lost;
    const before = this.#origin;
    this.#origin = node === this.#options.node ? undefined : { node, call };
    this.#options.applications.relay(application, Buffer.from(body).toString('utf8'), { lost, topics });
    this.#origin = before;
  }

  #stamp(): number {
    this.#latest = Math.max(this.#options.clock.now(), this.#latest + 1);
    return this.#latest;
  }

  #changed({ added = [], removed = [] }: { added?: PresentApplication[]; removed?: string[] }): void {
    const { node, epoch, tell } = this.#options;
    this.#revision++;
    const awaited = this.#awaitedOf(removed.filter((name) => this.#awaited.has(name)));
    tell({ node, epoch, revision: this.#revision, added: added.map(shown), removed, ...awaited });
  }

  #awaitedOf(awaited: string[]): Pick<PresenceList, 'awaited' | 'stamps'> {
    return { awaited, stamps: Object.fromEntries(awaited.map((name) => [name, this.#awaited.get(name)?.stamp ?? 0])) };
  }

  /** Goes on to number the events of an application whose connection is away. */
  #await(name: string, stamp: number): void {
    const { clock, awaitMs, applications } = this.#options;
    if (awaitMs === 0) return;
    const over = (): void => {
      this.#awaited.delete(name);
      this.#arrivals.forget(name);
      this.#sources.leave(name);
      applications.review(name);
      this.#changed({ removed: [name] });
    };
    this.#awaited.set(name, { stamp, timer: clock.setTimeout(over, awaitMs) });
  }

  #endAwaiting(name: string): void {
    this.#options.clock.clearTimeout(this.#awaited.get(name)?.timer);
    this.#awaited.delete(name);
  }

  async #bring(name: string, { resume, acknowledges, ...connection }: BringAsked): Promise<void> {
    const { node, askFor, log } = this.#options;
    const holder = holderOf(this.#remote, name);
    if (holder === undefined || this.#arrivals.find(name)) return;
    const arrival = this.#arrivals.begin(name, this.#stamp());
    const bookmark = resume?.get(name);
    try {
      const { stamp } = arrival;
      const asked: HandOverAsked = { name, node, stamp, bookmark, acknowledges, ...connection };
      arrival.numbers = await askFor(holder, asked);
      this.#latest = Math.max(this.#latest, arrival.numbers?.stamp ?? 0);
    } catch (error) {
      log.warn({ node: holder, application: name, error }, 'an application is connected without its missed events');
    }
    this.#arrivals.wait(arrival);
  }

  /** The numbers of an application are this node's from now on. */
  #adopt({ name, numbers }: Arrival, resume: Map<string, Bookmark>): void {
    if (!numbers) return;
    const epoch = this.#options.applications.adopt(name, numbers);
    this.#sources.begin(name, numbers.received);
    this.#arrivals.hold(name, numbers);
    const bookmark = resume.get(name);
    if (typeof bookmark === 'object' && numbers.known) resume.set(name, { epoch, seq: bookmark.seq });
  }

  /** No client has come for an application that was brought here. */
  #abandon(arrival: Arrival): void {
    const { name, numbers, frames } = arrival;
    if (numbers) {
      this.#adopt(arrival, new Map());
      this.#await(name, numbers.stamp);
      this.#leaveAll(name, Number.POSITIVE_INFINITY);
      this.#changed({ removed: [name] });
    }
    for (const frame of frames) this.#take(frame);
  }

  /** Sends the events of an application to the node that has it; `after` had it before. */
  #linkTo(holder: string, name: string, after: string | undefined): Link {
    const { node, send, callOf } = this.#options;
    const link: Link = {
      ...{ number: this.#stamp(), made: 0, isShared: false, stamp: 0 },
      send: (json, topics) => {
        const made = ++link.made;
        const head = {
          ...{ from: node, application: name, made, link: link.number, topics },
          call: link.isShared ? callIn(json, callOf) : undefined,
          ...(made === 1 && after !== undefined && { after }),
        };
        const arrival = this.#arrivals.find(name);
        // It is about to be connected here.
        if (arrival) this.#take({ head: { ...head, topics: topics && [...topics] }, body: Buffer.from(json) });
        else if (send(holder, writeFrame(head, Buffer.from(json)))) this.#counts.eventsOut++;
        else this.#counts.eventsLost++;
      },
    };
    return link;
  }

  /** A link behind that to the node that has the application now. */
  #linkAfter(holder: string, name: string): Link {
    const previous = holderOf(this.#remote, name);
    return this.#linkTo(holder, name, previous === holder ? undefined : previous);
  }

  /** The last event on a link was the last one: its application is elsewhere. */
  #endLink(holder: string, name: string, link: Link): void {
    const { node, send } = this.#options;
    send(holder, writeFrame({ from: node, application: name, made: link.made + 1, link: link.number, ended: true }));
  }

  #removeRemote(holder: string, name: string, isAwaited: boolean): void {
    const known = this.#remote.get(holder);
    const present = known?.applications.get(name);
    if (known?.awaited.has(name) && !isAwaited) {
      known.awaited.delete(name);
      this.#options.applications.missTo(name, undefined);
    }
    if (!known || !present) return;
    known.applications.delete(name);
    present.connected.close();
    if (isAwaited) this.#missTo(holder, name, present.link);
    for (const [other, node] of this.#remote)
      if (node.passedOver.delete(name)) {
        // Without an answer the next heartbeat asks again.
        node.revision = -1;
        void this.#fetch(other);
      }
  }

  #missTo(holder: string, name: string, link: Link): void {
    this.#remote.get(holder)?.awaited.set(name, link);
    this.#options.applications.missTo(name, { send: link.send, describe: `node ${holder}, not connected` });
  }

  /** A node numbers the events of an application that is connected nowhere. */
  #awaitAt(holder: string, name: string, stamp = Number.POSITIVE_INFINITY): void {
    const known = this.#remote.get(holder);
    if (!known || known.awaited.has(name) || this.#local.has(name)) return;
    if (hasLater(this.#remote, name, { stamp, holder })) return void known.passedOver.add(name);
    const present = known.applications.get(name);
    if (present) return void this.#removeRemote(holder, name, true);
    const link = this.#linkAfter(holder, name);
    link.stamp = stamp;
    this.#leaveAll(name, Number.POSITIVE_INFINITY);
    this.#missTo(holder, name, link);
  }

  /** Ends the links of an application to nodes that had it before a moment. */
  #leaveAll(name: string, before: number, except?: string): void {
    const left: RemoteNode[] = [];
    for (const [holder, known] of this.#remote) {
      if (holder === except) continue;
      const present = known.applications.get(name);
      const link = present && present.stamp < before ? present.link : known.awaited.get(name);
      if (!link) continue;
      this.#removeRemote(holder, name, false);
      this.#endLink(holder, name, link);
      left.push(known);
    }
    // It may go on there, if that node does not hear of the later connection.
    for (const { passedOver } of left) passedOver.add(name);
  }

  #addRemote(holder: string, present: PresentApplication): void {
    const { node, log, applications } = this.#options;
    const known = this.#remote.get(holder);
    if (!known) return;
    const { name, stamp, subscribeAll, observes, group } = present;
    this.#latest = Math.max(this.#latest, stamp);
    const own = this.#local.get(name);
    // The other node sees it the same way, and gives it up.
    if (own && isLater({ stamp: own.stamp, holder: node }, { stamp, holder })) return;
    if (hasLater(this.#remote, name, { stamp, holder })) return void known.passedOver.add(name);
    const before = known.applications.get(name);
    if (before && before.subscribeAll === subscribeAll && before.observes === observes) {
      before.stamp = stamp;
      Object.assign(before.link, { isShared: group !== undefined, stamp });
      return;
    }
    const link = known.awaited.get(name) ?? before?.link ?? this.#linkAfter(holder, name);
    Object.assign(link, { isShared: group !== undefined, stamp });
    // The group of this node goes there, in place of being replaced.
    const arrive = own && group !== undefined && own.group === group ? own.request.moves?.() : undefined;
    try {
      const connected = applications.connect({
        ...{ names: [name], subscribeAll, observes, own: true, describe: `node ${holder}`, send: link.send },
      });
      before?.connected.close();
      known.awaited.delete(name);
      known.applications.set(name, { ...present, connected, link });
    } catch (error) {
      log.warn({ node: holder, application: name, error }, 'an application of another node was not registered');
      return;
    }
    this.#leaveAll(name, stamp, holder);
    if (this.#local.delete(name)) this.#changed({ removed: [name] });
    this.#endAwaiting(name);
    arrive?.();
  }

  #replaceAll(holder: string, list: PresenceList): void {
    const known = this.#remote.get(holder);
    if (!known) return;
    known.passedOver.clear();
    const present = new Set(list.applications.map(({ name }) => name));
    const awaited = new Set(list.awaited);
    for (const name of [...known.applications.keys(), ...known.awaited.keys()])
      if (!present.has(name)) this.#removeRemote(holder, name, awaited.has(name));
    for (const name of list.awaited) this.#awaitAt(holder, name, list.stamps?.[name]);
    for (const each of list.applications) this.#addRemote(holder, each);
    known.epoch = list.epoch;
    known.revision = list.revision;
  }

  async #ask(holder: string, known: RemoteNode): Promise<void> {
    known.missed = -1;
    let list: PresenceList | undefined;
    try {
      list = await this.#options.ask(holder);
      if (list) this.#replaceAll(holder, list);
    } catch (error) {
      this.#options.log.error({ node: holder, error }, 'the applications of a node cannot be read');
    } finally {
      known.asking = undefined;
    }
    if (list && known.missed > list.revision) void this.#fetch(holder);
  }

  #fetch(holder: string): Promise<void> {
    const known = this.#remote.get(holder) ?? newRemoteNode();
    this.#remote.set(holder, known);
    known.asking ??= this.#ask(holder, known);
    return known.asking;
  }

  /** What is asked already may be answered without the latest change. */
  async #fetchAnew(holder: string): Promise<void> {
    await this.#remote.get(holder)?.asking;
    await this.#fetch(holder);
  }
}
