import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { eventName } from '../models/event-name.ts';

/** When a chart is sent an event that it has planned: the end of a delay (`after`). */
export type Deadline = {
  /** Wall-clock time in ms since the epoch. */
  at: number;
  event: EventObject;
};

/**
 * The deadlines of an actor by id, in planning order. They are stored in its context as `deadlines`, so a snapshot
 * alone says what is due when.
 */
type Deadlines = Readonly<Record<string, Deadline>>;

/** The deadlines in a snapshot. */
export const deadlinesOf = ({ context }: AnyMachineSnapshot): Deadlines =>
  (context as { deadlines?: Deadlines }).deadlines ?? {};

/** The deadlines in a snapshot for people: with the names that charts give to delays. */
export const listedDeadlines = (snapshot: AnyMachineSnapshot): { at: number; event: string }[] =>
  Object.values(deadlinesOf(snapshot)).map(({ at, event }) => ({ at, event: eventName(event.type) }));

/** The same snapshot with other deadlines. */
export function withDeadlines(snapshot: AnyMachineSnapshot, timers: ReadonlyMap<string, Deadline>): AnyMachineSnapshot {
  const deadlines: Record<string, Deadline> = {};
  for (const [id, { at, event }] of timers) deadlines[id] = { at, event };
  const context = snapshot.context as object;
  // A spread that adds a member makes a hidden class each time.
  const changed = 'deadlines' in context ? { ...context, deadlines } : Object.assign({}, context, { deadlines });
  return { ...snapshot, context: changed } as AnyMachineSnapshot;
}
