import type { Bookmark, Departure } from '../actors/resumptions.ts';
import type { Clock } from '../lib/clock.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { EventFrame, Received } from './event-sources.ts';

/** Asks for an application that is about to connect to the asking node. */
export type HandOverAsked = {
  name: string;
  /** The asking node. */
  node: string;
  stamp: number;
  subscribeAll: boolean;
  observes: boolean;
  bookmark?: Bookmark | undefined;
  acknowledges?: boolean | undefined;
};

/** An application as its earlier node gives it away. */
export type HandedOver = Departure & {
  received: Received;
  /** That of the new connection. */
  stamp: number;
};

/** An application that is about to connect to this node. */
export type Arrival = {
  readonly name: string;
  readonly stamp: number;
  /** Undefined if the earlier node did not answer. */
  numbers: HandedOver | undefined;
  readonly frames: EventFrame[];
  octets: number;
  timer: unknown;
};

type ArrivalsOptions = {
  clock: Clock;
  /** How long a client may take to connect, in ms. */
  timeoutMs: number;
  /** Octets of events that wait for clients to connect, and of those that were handed over. */
  mostOctets: number;
  hit(): void;
  /** No client has come. */
  abandoned(arrival: Arrival): void;
};

/** Keeps the events of applications that move to this node, until their clients have them. */
interface Arrivals {
  begin(name: string, stamp: number): Arrival;
  find(name: string): Arrival | undefined;
  /** An event for it has come. @returns false if there is no room */
  keep(arrival: Arrival, frame: EventFrame): boolean;
  /** A client is about to connect: it is given up when none has in time. */
  wait(arrival: Arrival): void;
  /** The application is connected. */
  end(name: string): Arrival | undefined;
  /** Keeps the events that an earlier node has handed over. */
  hold(name: string, numbers: HandedOver): void;
  /** The events after a number that were handed over; undefined if they are not kept. */
  handedOver(name: string, number: number): readonly string[] | undefined;
  /** Forgets these. */
  forget(name: string): void;
  close(): void;
}

/** The number of an event. */
const seqOf = (json: string): number => (JSON.parse(json) as { seq: number }).seq;

type Held = { after: number; events: readonly string[]; octets: number };

export function createArrivals(options: ArrivalsOptions): Arrivals {
  const { clock, timeoutMs, mostOctets, hit, abandoned } = options;
  const arriving = new SlotMap<string, Arrival>();
  const held = new SlotMap<string, Held>();
  let octets = 0;

  const take = (more: number): boolean => {
    if (octets + more > mostOctets) {
      hit();
      return false;
    }
    octets += more;
    return true;
  };
  const end = (name: string): Arrival | undefined => {
    const arrival = arriving.get(name);
    if (!arrival) return undefined;
    arriving.delete(name);
    clock.clearTimeout(arrival.timer);
    octets -= arrival.octets;
    return arrival;
  };
  const forget = (name: string): void => {
    octets -= held.get(name)?.octets ?? 0;
    held.delete(name);
  };

  return {
    begin(name, stamp) {
      const arrival: Arrival = { name, stamp, numbers: undefined, frames: [], octets: 0, timer: undefined };
      arriving.set(name, arrival);
      return arrival;
    },
    find: (name) => arriving.get(name),
    keep(arrival, frame) {
      if (!take(frame.body.length)) return false;
      arrival.octets += frame.body.length;
      arrival.frames.push(frame);
      return true;
    },
    wait(arrival) {
      if (arriving.get(arrival.name) !== arrival) return;
      arrival.timer = clock.setTimeout(() => {
        end(arrival.name);
        abandoned(arrival);
      }, timeoutMs);
    },
    end,
    hold(name, { after, events }) {
      forget(name);
      const size = events.reduce((sum, json) => sum + json.length, 0);
      if (size === 0 || take(size)) held.set(name, { after, events, octets: size });
    },
    handedOver(name, number) {
      const known = held.get(name);
      return known && number >= known.after ? known.events.filter((json) => seqOf(json) > number) : undefined;
    },
    forget,
    close() {
      for (const name of [...arriving.keys()]) end(name);
      for (const name of [...held.keys()]) forget(name);
    },
  };
}
