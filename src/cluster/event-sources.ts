import type { Topic } from '../bus/topics.ts';
import type { Clock } from '../lib/clock.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { readFrame } from './frame.ts';

/** An event for an application that another node has made. */
export type EventFrame = {
  head: {
    /** The node that made it. */
    from: string;
    application: string;
    /** Counts the events of one link. */
    made: number;
    /** Names the link among those of its node; earlier versions leave it out. */
    link?: number;
    topics: Topic[] | undefined;
    /** Its call (`linkedid`), if a group shares the application. */
    call?: string | undefined;
    /** The node that got the events of that node before. */
    after?: string;
    /** No event: the link has ended. */
    ended?: boolean;
    /** Nodes that have passed it on. */
    hops?: number;
  };
  body: Uint8Array;
};

/** An event as it came; undefined for something else. */
export function frameOf(data: Uint8Array): EventFrame | undefined {
  const frame = readFrame(data);
  const { from, application, made, link, topics, call, after, ended, hops } = frame?.head ?? {};
  if (!frame || typeof from !== 'string' || typeof application !== 'string' || typeof made !== 'number')
    return undefined;
  return {
    head: {
      ...{ from, application, made, topics: Array.isArray(topics) ? (topics as Topic[]) : undefined },
      ...(typeof link === 'number' && { link }),
      ...(typeof call === 'string' && { call }),
      ...(typeof after === 'string' && { after }),
      ...(ended === true && { ended }),
      ...(typeof hops === 'number' && { hops }),
    },
    body: frame.body,
  };
}

/** How many events of each node an application has got. */
export type Received = [node: string, made: number][];

type EventSourcesOptions = {
  clock: Clock;
  /** How long the last events of an earlier link are waited for, in ms. */
  timeoutMs: number;
  /** Octets of events that wait for these. */
  mostOctets: number;
  hit(): void;
  /** Gives an event on. `lost` events of its node are missing before it. */
  deliver(frame: EventFrame, lost: number): void;
};

/** Puts the events of each node in order, also where an application has moved and its events come on two ways. */
interface EventSources {
  accept(frame: EventFrame): void;
  /** An application has come from another node, where it had got so many events. */
  begin(application: string, received: Received): void;
  /** An application is elsewhere. @returns what it has got */
  leave(application: string): Received;
  close(): void;
}

/** The events of one node for one application. */
type Source = {
  /** The present link, if it is named. */
  link: number | undefined;
  /** The last event of the present link, and of the one that is passed on by the node that had the application before. */
  direct: number | undefined;
  passed: number | undefined;
  /** Events of the present link that wait for the end of the earlier one. */
  waiting: EventFrame[] | undefined;
  octets: number;
  timer: unknown;
  /** The earlier link has ended before the present one began. */
  ended: boolean;
  /** Lost events that no event has told of yet. */
  lost: number;
};

export function createEventSources(options: EventSourcesOptions): EventSources {
  const { clock, timeoutMs, mostOctets, hit, deliver } = options;
  const applications = new SlotMap<string, Map<string, Source>>();
  /** Applications whose earlier node passes on what it still gets. */
  const moved = new SlotMap<string, true>();
  let octets = 0;

  const sourceOf = (application: string, node: string): Source => {
    const sources = applications.get(application) ?? new Map<string, Source>();
    applications.set(application, sources);
    const source = sources.get(node) ?? {
      ...{ link: undefined, direct: undefined, passed: undefined, waiting: undefined, timer: undefined },
      ...{ octets: 0, ended: false, lost: 0 },
    };
    sources.set(node, source);
    return source;
  };
  /** Events that are missing before this one. */
  const missing = (before: number | undefined, made: number): number =>
    before === undefined ? 0 : Math.max(0, made - before - 1);
  /** Whether this is the first that is heard of a link, behind an earlier one. */
  const isNewLink = ({ link: present, direct }: Source, { made, link }: EventFrame['head']): boolean =>
    direct !== undefined && (made === 1 || link !== present);
  const missingDirect = (source: Source, head: EventFrame['head']): number =>
    missing(isNewLink(source, head) ? 0 : source.direct, head.made);
  const give = (source: Source, frame: EventFrame): void => {
    const { lost } = source;
    source.lost = 0;
    deliver(frame, lost);
  };
  const giveDirect = (source: Source, frame: EventFrame): void => {
    // A link that begins again was broken: what its node has made meanwhile was for nobody, and is not counted.
    const isBroken = isNewLink(source, frame.head) && frame.head.after === undefined;
    source.lost += missingDirect(source, frame.head) + (isBroken ? 1 : 0);
    source.link = frame.head.link;
    source.direct = frame.head.made;
    give(source, frame);
  };
  const free = (source: Source): EventFrame[] => {
    clock.clearTimeout(source.timer);
    octets -= source.octets;
    source.octets = 0;
    const { waiting = [] } = source;
    source.waiting = undefined;
    return waiting;
  };
  const flush = (source: Source): void => {
    for (const frame of free(source)) giveDirect(source, frame);
  };
  const keep = (source: Source, frame: EventFrame): void => {
    source.waiting ??= [];
    source.waiting.push(frame);
    source.octets += frame.body.length;
    octets += frame.body.length;
    if (octets <= mostOctets) return;
    // What may still come the other way is late then.
    hit();
    flush(source);
  };

  return {
    accept(frame) {
      const { application, from, made, after, ended, hops = 0 } = frame.head;
      const source = sourceOf(application, from);
      if (ended) {
        source.lost += hops > 0 ? missing(source.passed, made) : missingDirect(source, frame.head);
        source.passed = undefined;
        if (source.waiting) flush(source);
        else source.ended = true;
      } else if (hops > 0) {
        source.lost += missing(source.passed, made);
        source.passed = made;
        give(source, frame);
      } else if (source.waiting) keep(source, frame);
      else if (after !== undefined && !source.ended && moved.has(application)) {
        source.timer = clock.setTimeout(() => flush(source), timeoutMs);
        keep(source, frame);
      } else {
        if (after !== undefined) source.ended = false;
        giveDirect(source, frame);
      }
    },
    begin(application, received) {
      moved.set(application, true);
      for (const [node, made] of received) Object.assign(sourceOf(application, node), { passed: made });
    },
    leave(application) {
      const sources = applications.get(application) ?? new Map<string, Source>();
      for (const source of sources.values()) flush(source);
      applications.delete(application);
      moved.delete(application);
      return [...sources].flatMap(([node, { direct }]) => (direct === undefined ? [] : [[node, direct]]));
    },
    close() {
      for (const name of [...applications.keys()])
        for (const source of applications.get(name)?.values() ?? []) free(source);
    },
  };
}
