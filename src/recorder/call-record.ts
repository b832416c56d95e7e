import type { Snapshot } from '../actors/chart-run.ts';
import type { CommittedStep } from '../actors/step.ts';
import type { OwnershipContext } from '../machines/ownership.ts';
import { CallEntries } from './call-entries.ts';
import type { ChannelTrace, ObjectHistory, OwningCall } from './history.ts';
import type { Journal, RowOwner } from './journal.ts';
import { joined, type Mask } from './masks.ts';

/** What is kept of one call: of channels that belong together. */
export class CallRecord implements OwningCall, RowOwner {
  readonly id: string;
  /** When its first channel came, in ms since the epoch. */
  began: number;
  /** When its last channel went; undefined while it is live. */
  ended: number | undefined;
  readonly entries: CallEntries;
  channels: ChannelTrace[] = [];
  /** Applications that were in control of one of its channels. */
  applications: string[] = [];
  /** Other ids that it goes by: of calls that have become part of it. */
  readonly formerIds: string[] = [];
  /** Charts that run for it, and those that ran while something of them is kept. */
  histories: ObjectHistory[] = [];
  /** SIP calls that lead to it. */
  sipCalls: string[] = [];
  live = 0;
  /** The call that it has become part of. */
  into: CallRecord | undefined;
  /** The request that the last entry with one followed from. */
  lastRequest: string | undefined;
  mask: Mask;
  /** Place in the order of the last thing that changed it. */
  changed = 0;
  /** Place of its newest row in the journal. */
  last = 0;
  /** Whether it is no longer kept. */
  gone = false;

  constructor(id: string, began: number, mask: Mask, journal: Journal) {
    this.id = id;
    this.began = began;
    this.mask = mask;
    this.entries = new CallEntries(journal, this);
  }

  /** Takes in what a step of a channel's life, or of who controls it, says. */
  trace(step: CommittedStep, history: ObjectHistory): void {
    const { trace } = history;
    if (step.chart === 'ownership') this.traceOwnership(history, step.after);
    else if (trace) this.#traceLife(step, trace);
    else {
      const { object: id, at, after } = step;
      const { value, context } = after;
      const ended = after.status === 'active' ? undefined : at;
      history.trace = { id, value, context, application: '', ended };
      this.channels = added(this.channels, history.trace);
      if (ended === undefined) this.live++;
      this.ended = this.live > 0 ? undefined : at;
    }
  }

  /** Takes in who controls a channel. */
  traceOwnership(history: ObjectHistory, { value, context }: Snapshot): void {
    const { app } = context as OwnershipContext;
    if (app !== '' && !this.applications.includes(app)) this.applications = added(this.applications, app);
    history.trace ??= this.channels.find(({ id }) => id === history.object);
    if (history.trace) history.trace.application = value === 'application' ? app : '';
  }

  #traceLife(step: CommittedStep, trace: ChannelTrace): void {
    trace.value = step.after.value;
    trace.context = step.after.context;
    if (step.after.status === 'active' || trace.ended !== undefined) return;
    trace.ended = step.at;
    if (--this.live === 0) this.ended = step.at;
  }

  /** Makes another call part of this one. */
  absorb(other: CallRecord): void {
    this.entries.absorb(other.entries);
    this.channels.push(...other.channels);
    for (const app of other.applications) if (!this.applications.includes(app)) this.applications.push(app);
    for (const history of other.histories) {
      history.call = this;
      this.histories.push(history);
    }
    this.sipCalls.push(...other.sipCalls);
    this.mask = joined(this.mask, other.mask);
    this.formerIds.push(other.id, ...other.formerIds);
    this.began = Math.min(this.began, other.began);
    this.live += other.live;
    if (this.live > 0) this.ended = undefined;
    this.changed = Math.max(this.changed, other.changed);
    other.into = this;
  }
}

/** A list with one more: short ones take no more room than they need, where `push` would leave some for sixteen. */
export function added<T>(list: T[], item: T): T[] {
  if (list.length < 8) return [...list, item];
  list.push(item);
  return list;
}

/** The call that a call has become part of, or itself. */
export function current<C extends { readonly into: C | undefined }>(call: C): C {
  let at = call;
  while (at.into) at = at.into;
  return at;
}
