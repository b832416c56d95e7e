import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { openEventJson, valueJson } from '../models/event-json.ts';
import type { AriEventBody, TraceFields } from '../models/events.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { Bus, Publication } from './bus.ts';
import { EventFilter, type FilterLists } from './event-filter.ts';
import { createInterests, type Interests } from './interests.ts';
import { Subscriptions } from './subscriptions.ts';
import { allBridges, allChannels, allDeviceStates, allEndpoints, type Topic } from './topics.ts';

/** A connection of an application; several applications may share one. */
export type Connection = {
  /**
   * Takes one message, a JSON text. Throwing is logged and costs that message.
   * @param topics those of the event; undefined if the application gets it whatever its connection may hear.
   */
  send(json: string, topics?: readonly Topic[]): void;
  /** The peer, for the log. */
  readonly describe: string;
  /** Octets that the other end has not read yet; left out if unknown. */
  unread?(): number;
  /** Its filter beside its applications' own events; left out: none. */
  readonly narrow?: Narrow | undefined;
};

/** Whether a connection may get an event that does not name its application. */
type Hears = (event: AriEventBody, topics: Publication['topics']) => boolean;

/** Tells what is wrong with a message as a client would get it; undefined when it fits its model. */
export type MessageCheck = (message: unknown) => string | undefined;

/** Replaces a message that does not fit its model. */
const invalidMessage = '{"error":"InvalidMessage","message":"Message validation failed"}';

const allTopics: readonly Topic[] = [allChannels, allBridges, allEndpoints, allDeviceStates];

type Receiver = {
  readonly name: string;
  readonly filter: EventFilter;
  /** The stamp up to the sequence number, ready to be written behind an event's own members. */
  readonly stamp: string;
  connection: Connection | undefined;
  /** Events made for it so far, those it missed included. */
  seq: number;
  /** Events lost since its connection went. */
  missed: number;
  /** The last publication it was given, so that no event comes twice. */
  given: number;
  /** Its filter beside its own events; undefined: none. */
  hears: Hears | undefined;
  /** Whose connection that was decided for, and the number of the last event before. */
  narrowed: { by: string; after: number } | undefined;
  /** The epochs of its numbers, oldest first. */
  epochs: Epoch[];
  /** The last event that its client has handled; undefined if none was acknowledged. */
  acknowledged: number | undefined;
  /** Another node of the cluster has made the events up to this number. */
  foreign: number;
  /** Takes its events while it has no connection: another node numbers them. */
  fallback: Connection | undefined;
};

/** A run of numbers by one process, and the last number before it. */
type Epoch = [name: string, after: number];

/** Earlier epochs of an application that are known, the present one included. */
const mostEpochs = 16;

/** The recorder of events. */
type EventRecorder = {
  readonly on: boolean;
  sent(of: { application: string; number: number; missed: boolean }, event: AriEventBody, json: string): void;
  /** Hears what of {@link Delivery.dump} has changed; the rest changes with each event. */
  readonly changes?: { subscribed(name: string, topic: string, count: number): void; changed(name: string): void };
};

export type DeliveryOptions = {
  bus: Bus;
  clock: Clock;
  log: Logger;
  /** `asterisk_id` of every event. */
  entityId: string;
  /** Given in development mode only: a message that does not fit is replaced by an error message. */
  check?: MessageCheck | undefined;
  /** Records, while it is on, every event made for an application, delivered or not. */
  recorder?: EventRecorder | undefined;
  /** Makes a name that no epoch had before. Left out: all have one name. */
  epoch?: (() => string) | undefined;
  /** The request that an event follows from which is written for one application. */
  request?: (() => string | undefined) | undefined;
  /** Trace context of an event that follows from a request, or concerns a channel. Left out without tracing. */
  traced?: ((causedBy: string | undefined, channel: string | undefined) => TraceFields | undefined) | undefined;
  /** An application has lost its last subscription to a channel, bridge or endpoint. */
  onReleased: (name: string) => void;
};

/**
 * Delivers events to applications. Each interested or addressed application gets a publication once, in order, unless
 * its filter drops it. The event has the time of publishing, the application's name, the system's id, and the
 * application's next event number. JSON is written once for all receivers. Events for an absent connection are
 * dropped, counted, and logged once per absence. Their numbers are used up, so that clients can see the gap.
 */
export interface Delivery extends Interests {
  /** Makes an application known: nothing subscribed, nothing filtered, no connection. A known one is left as it is. */
  add(name: string): void;
  /** Forgets an application, its filter and its subscriptions. */
  remove(name: string): void;
  /**
   * From now on its messages go through this connection; with `subscribeAll` it hears everything of every type, as far as
   * the connection may.
   */
  attach(name: string, connection: Connection, subscribeAll: boolean): void;
  /** Its connection's filter has changed. */
  review(name: string): void;
  /**
   * The present epoch of its numbers, the number of its last event, of the last one acknowledged, and of the last one that
   * another node has made.
   */
  placeOf(name: string): { epoch: string; seq: number; acknowledged: number | undefined; foreign: number };
  /** What another node needs to number its events in place of this one. */
  numbersOf(name: string): EventNumbers;
  /** Another node numbers its events from now on. If they are numbered here again, that is another epoch. */
  giveAway(name: string): void;
  /** Numbers its events from now on, in place of another node. */
  adopt(name: string, numbers: EventNumbers): void;
  /** Another node numbers its events, also while it has no connection; undefined ends that. */
  missTo(name: string, connection: Connection | undefined): void;
  /** Whether an event of that epoch and number is one of this application. An earlier server may have made it. */
  has(name: string, epoch: string, seq: number): boolean;
  /** The client has handled all events up to a number. False for a number that no event has had. */
  acknowledge(name: string, seq: number): boolean;
  /** The number of the last event that was made for it when it was not yet narrowed for `by`; 0 when it always was. */
  narrowedAfter(name: string, by: string): number;
  /** Its connection is away; each subscription to all of a type loses one reference. */
  detach(name: string): void;
  /**
   * Sends an event to one application through that connection, without filter. ApplicationReplaced repeats the previous
   * number: it concerns the connection alone.
   */
  send(name: string, connection: Connection, event: AriEventBody): void;
  /** Delivers an event that another server has made for the application, under its own next number. */
  relay(name: string, json: string, relayed: Relayed): void;
  filterOf(name: string): FilterLists;
  /** @throws AriError eventFilterInvalid; then the filter stays as it was. */
  setFilter(name: string, body: unknown): void;
  /** Figures of an application: its events, events missed since its connection was lost, and unread octets. */
  figures(name: string): { events: number; missed: number; unread: number };
  /** All that is known of an application but its connection. */
  dump(name: string): ReceiverDump;
  /** Makes an application known as {@link dump} told of it, without a connection. */
  restore(name: string, dump: ReceiverDump): void;
  /** Stops listening to the bus. */
  close(): void;
}

/** The filter of a connection: its owner (user and token), and its scope. */
export type Narrow = { by: string; hears: Hears };

/** The numbers of an application's events, as a node hands them over to another. */
export type EventNumbers = Pick<ReceiverDump, 'filter' | 'seq' | 'narrowed' | 'epochs' | 'acknowledged'>;

/** How an event has come from another server. */
export type Relayed = {
  /** Events that were lost on the way since the one before. */
  lost: number;
  /** Its topics; undefined if it was meant for this application. */
  topics: readonly Topic[] | undefined;
};

/** State of an application in the delivery, as plain JSON. */
export type ReceiverDump = {
  filter: FilterLists;
  seq: number;
  missed: number;
  subscriptions: [topic: Topic, references: number][];
  /** Whose connection it was narrowed for, since which event. */
  narrowed?: { by: string; after: number } | undefined;
  epochs?: Epoch[];
  acknowledged?: number;
  foreign?: number;
};

/** Fields as they are written behind other members of an object. */
const membersOf = (fields: TraceFields | undefined): string =>
  fields ? `,${JSON.stringify(fields).slice(1, -1)}` : '';

/** The last member of an event, up to its number. */
const numberMember = '"seq":';

/** The channel that an event is about; undefined when it is about none. */
const channelOf = (event: AriEventBody, topics: readonly Topic[]): string | undefined =>
  'channel' in event && event.channel ? event.channel.id : topics.find(isOneChannel)?.slice(allChannels.length);

const isOneChannel = (topic: Topic): boolean => topic.startsWith(allChannels) && topic !== allChannels;

const subscriptionsOf = (recorder: EventRecorder | undefined): Subscriptions<Receiver> =>
  new Subscriptions(({ name }, topic, count) => recorder?.changes?.subscribed(name, topic, count));

function setFilter(receiver: Receiver | undefined, body: unknown, recorder: EventRecorder | undefined): void {
  if (!receiver) return;
  receiver.filter.replace(body);
  recorder?.changes?.changed(receiver.name);
}

/** The event, or a message in its place that says that it does not match its model. */
function checked({ check, log }: DeliveryOptions, application: string, json: string): string {
  const problem = check?.(JSON.parse(json));
  if (problem === undefined) return json;
  log.error({ application, problem, message: json }, 'dropped an event that does not match its model');
  return invalidMessage;
}

/** An application without a connection. @param idMember the stamp behind its name. */
const newReceiver = (name: string, idMember: string, epoch: string): Receiver => ({
  name,
  filter: new EventFilter(),
  stamp: `,"application":${JSON.stringify(name)}${idMember}`,
  connection: undefined,
  seq: 0,
  missed: 0,
  given: 0,
  hears: undefined,
  narrowed: undefined,
  epochs: [[epoch, 0]],
  acknowledged: undefined,
  foreign: 0,
  fallback: undefined,
});

/** Earlier epochs, and a new one that begins behind a number. */
const epochsAfter = (epochs: readonly Epoch[], { epochs: [own] }: Receiver, seq: number): Epoch[] => [
  ...epochs.slice(1 - mostEpochs),
  [own![0], seq],
];

/** The numbers of events: their epochs, and what clients have handled. */
function createPlaces(
  receivers: ReadonlyMap<string, Receiver>,
  receiverOf: (name: string) => Receiver,
  recorder: EventRecorder | undefined,
): Pick<Delivery, 'placeOf' | 'has' | 'acknowledge' | 'numbersOf' | 'giveAway' | 'adopt' | 'missTo'> {
  return {
    placeOf(name) {
      const { epochs, seq, acknowledged, foreign } = receivers.get(name) ?? receiverOf(name);
      return { epoch: epochs.at(-1)![0], seq, acknowledged, foreign };
    },

    numbersOf(name) {
      const { filter, seq, narrowed, epochs, acknowledged } = receivers.get(name) ?? receiverOf(name);
      return { filter: filter.lists, seq, narrowed, epochs, ...(acknowledged !== undefined && { acknowledged }) };
    },

    giveAway(name) {
      const receiver = receivers.get(name) ?? receiverOf(name);
      Object.assign(receiver, { acknowledged: undefined, epochs: epochsAfter([], receiverOf(name), receiver.seq) });
      recorder?.changes?.changed(name);
    },

    adopt(name, { filter, seq, narrowed, epochs = [], acknowledged }) {
      const receiver = receivers.get(name);
      if (!receiver) return;
      // Numbers that this node gave while the other one had the application are no place to go on from.
      Object.assign(receiver, { seq, narrowed, acknowledged, foreign: seq });
      receiver.epochs = epochsAfter(epochs, receiverOf(name), seq);
      receiver.filter.replace(filter);
      recorder?.changes?.changed(name);
    },

    missTo(name, connection) {
      const receiver = receivers.get(name);
      if (receiver) receiver.fallback = connection;
    },
    has(name, epoch, seq) {
      const receiver = receivers.get(name);
      const at = receiver?.epochs.findIndex(([known]) => known === epoch) ?? -1;
      // A later process may have lost the last events of that epoch: then it has given their numbers to others.
      return at >= 0 && seq <= (receiver!.epochs[at + 1]?.[1] ?? receiver!.seq);
    },

    acknowledge(name, seq) {
      const receiver = receivers.get(name);
      if (!receiver || seq > receiver.seq) return false;
      if (seq <= (receiver.acknowledged ?? -1)) return true;
      receiver.acknowledged = seq;
      recorder?.changes?.changed(name);
      return true;
    },
  };
}

const numberOf = ({ name, seq }: Receiver, missed: boolean) => ({ application: name, number: seq, missed });

/** Writes events for applications. */
function createWriter(options: DeliveryOptions) {
  const { clock, log, check, recorder, traced } = options;

  /** An event as JSON with its time but without its last brace, ready for what is the receiver's own. */
  const open = (event: AriEventBody, causedBy: string | undefined, topics: readonly Topic[]): string => {
    const cause = causedBy === undefined ? '' : `,"caused_by":${valueJson(causedBy)}`;
    const trace = traced ? membersOf(traced(causedBy, channelOf(event, topics))) : '';
    return `${openEventJson(event)}${cause}${trace},"timestamp":"${formatTimestamp(clock.now())}"`;
  };

  const write = (
    receiver: Receiver,
    connection: Connection,
    { event, opened, topics }: { event: AriEventBody; opened: string; topics: readonly Topic[] | undefined },
  ): void => {
    // The application that lost its name gets no numbered event about it, so a resuming one is not told either.
    if (event.type !== 'ApplicationReplaced') receiver.seq++;
    const json = `${opened}${receiver.seq}}`;
    if (recorder?.on) recorder.sent(numberOf(receiver, false), event, json);
    try {
      connection.send(check ? checked(options, receiver.name, json) : json, topics);
    } catch (error) {
      log.error({ application: receiver.name, connection: connection.describe, error }, 'an event could not be sent');
    }
  };

  const miss = (receiver: Receiver, event: AriEventBody, opened: string): void => {
    receiver.seq++;
    receiver.missed++;
    if (recorder?.on) recorder.sent(numberOf(receiver, true), event, `${opened}${receiver.seq}}`);
    if (receiver.missed > 1) return;
    log.warn(
      { application: receiver.name, event: event.type },
      'events for an application are lost while it is not connected',
    );
  };

  return { open, write, miss };
}

/** The connections of applications, and their filters. */
function createAttachments(
  receivers: ReadonlyMap<string, Receiver>,
  subscriptions: Subscriptions<Receiver>,
  log: Logger,
): Pick<Delivery, 'attach' | 'detach' | 'review' | 'narrowedAfter'> {
  const narrow = (receiver: Receiver, to: Narrow | undefined): void => {
    receiver.hears = to?.hears;
    if (receiver.narrowed?.by !== to?.by) receiver.narrowed = to && { by: to.by, after: receiver.seq };
  };

  return {
    attach(name, connection, subscribeAll) {
      const receiver = receivers.get(name);
      if (!receiver) return;
      narrow(receiver, connection.narrow);
      if (receiver.missed > 0)
        log.warn({ application: name, missed: receiver.missed }, 'an application reconnected and lost events');
      receiver.connection = connection;
      receiver.fallback = undefined;
      receiver.missed = 0;
      if (!subscribeAll) return;
      for (const topic of allTopics)
        if (subscriptions.count(receiver, topic) === 0) subscriptions.subscribe(receiver, topic);
    },

    review(name) {
      const receiver = receivers.get(name);
      if (receiver?.connection) narrow(receiver, receiver.connection.narrow);
    },

    narrowedAfter(name, by) {
      const receiver = receivers.get(name);
      return receiver?.narrowed?.by === by ? receiver.narrowed.after : (receiver?.seq ?? 0);
    },

    detach(name) {
      const receiver = receivers.get(name);
      if (!receiver) return;
      receiver.connection = undefined;
      for (const topic of allTopics) subscriptions.unsubscribe(receiver, topic);
    },
  };
}

/** The state of applications as plain JSON, and back. */
function createDumps(
  receivers: Map<string, Receiver>,
  subscriptions: Subscriptions<Receiver>,
  receiverOf: (name: string) => Receiver,
): Pick<Delivery, 'dump' | 'restore'> {
  return {
    dump(name) {
      const receiver = receivers.get(name) ?? receiverOf(name);
      const { filter, seq, missed, narrowed, epochs, acknowledged, foreign } = receiver;
      const subscribed = subscriptions.countsOf(receiver);
      return {
        ...{ filter: filter.lists, seq, missed, subscriptions: subscribed, epochs: [...epochs] },
        ...(narrowed && { narrowed }),
        ...(acknowledged !== undefined && { acknowledged }),
        ...(foreign > 0 && { foreign }),
      };
    },

    restore(name, { filter, seq, missed, subscriptions: counts, narrowed, epochs = [], acknowledged, foreign = 0 }) {
      const receiver = Object.assign(receiverOf(name), { seq, missed, narrowed, acknowledged, foreign });
      receiver.epochs = epochsAfter(epochs, receiver, seq);
      // Until it is connected again it only gets events of its named subscriptions.
      if (narrowed)
        receiver.hears = (_event, topics) =>
          topics.some((topic) => !allTopics.includes(topic) && subscriptions.count(receiver, topic) > 0);
      receiver.filter.replace(filter);
      receivers.set(name, receiver);
      subscriptions.restore(receiver, counts);
    },
  };
}

export function createDelivery(options: DeliveryOptions): Delivery {
  const { bus, log, entityId, recorder, request } = options;
  const receivers = new Map<string, Receiver>();
  const subscriptions = subscriptionsOf(recorder);
  const idMember = `,"asterisk_id":${JSON.stringify(entityId)},${numberMember}`;
  let publications = 0;

  const { open, write, miss } = createWriter(options);

  const unsubscribeBus = bus.subscribe(
    ({ event, topics, to, causedBy }) => {
      const publication = ++publications;
      let opened: string | undefined;
      const give = (receiver: Receiver, meant: boolean): void => {
        if (receiver.given === publication) return;
        receiver.given = publication;
        if (!receiver.filter.lets(event.type)) return;
        if (receiver.hears && !meant && !receiver.hears(event, topics)) return;
        const connection = receiver.connection ?? receiver.fallback;
        if (!connection && !recorder?.on) {
          miss(receiver, event, '');
          return;
        }
        opened ??= open(event, causedBy, topics);
        const stamped = opened + receiver.stamp;
        if (connection) write(receiver, connection, { event, opened: stamped, topics: meant ? undefined : topics });
        else miss(receiver, event, stamped);
      };
      const addressee = to === undefined ? undefined : receivers.get(to);
      if (addressee) give(addressee, true);
      for (const topic of topics) {
        const interested = subscriptions.of(topic);
        if (interested) for (const receiver of interested) give(receiver, false);
      }
    },
    (topics) => topics.some((topic) => subscriptions.of(topic) !== undefined),
  );

  const receiverOf = (name: string): Receiver => newReceiver(name, idMember, options.epoch?.() ?? 'one');

  return {
    ...createPlaces(receivers, receiverOf, recorder),
    ...createInterests(receivers, subscriptions, options.onReleased),
    ...createAttachments(receivers, subscriptions, log),
    ...createDumps(receivers, subscriptions, receiverOf),

    add(name) {
      if (!receivers.has(name)) receivers.set(name, receiverOf(name));
    },

    remove(name) {
      const receiver = receivers.get(name);
      if (!receiver) return;
      receivers.delete(name);
      subscriptions.remove(receiver);
      if (receiver.missed > 0)
        log.warn({ application: name, missed: receiver.missed }, 'an application ended and lost events');
    },

    send(name, connection, event) {
      const receiver = receivers.get(name);
      const opened = receiver && open(event, request?.(), []) + receiver.stamp;
      if (opened) write(receiver, connection, { event, opened, topics: undefined });
    },

    relay(name, json, { lost, topics }) {
      const receiver = receivers.get(name);
      const event = receiver && (JSON.parse(json) as AriEventBody);
      if (!receiver || !event || event.type === 'ApplicationReplaced') return;
      receiver.seq += lost;
      if (!receiver.filter.lets(event.type)) return;
      if (receiver.hears && topics && !receiver.hears(event, topics)) return;
      const opened = json.slice(0, json.lastIndexOf(numberMember) + numberMember.length);
      if (receiver.connection) write(receiver, receiver.connection, { event, opened, topics });
      else miss(receiver, event, opened);
    },

    filterOf: (name) => receivers.get(name)?.filter.lists ?? { allowed: [], disallowed: [] },
    setFilter: (name, body) => setFilter(receivers.get(name), body, recorder),
    figures(name) {
      const receiver = receivers.get(name);
      const { seq: events = 0, missed = 0, connection } = receiver ?? {};
      return { events, missed, unread: connection?.unread?.() ?? 0 };
    },

    close: unsubscribeBus,
  };
}
