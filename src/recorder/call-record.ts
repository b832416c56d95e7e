import type { CommittedStep } from '../actors/step.ts';
import type { ChannelContext } from '../machines/channel.ts';
import type { OwnershipContext } from '../machines/ownership.ts';
import type { Entry } from './entries.ts';
import { EntryList } from './entry-list.ts';
import { joined, type Mask, nothingMasked } from './masks.ts';

/** A channel of a call, as its last steps left it. */
export type ChannelTrace = {
  readonly id: string;
  life: CommittedStep;
  ownership: CommittedStep | undefined;
  /** ms since the epoch; undefined while it is there. */
  ended: number | undefined;
};

/** What is kept of one call: of channels that belong together. */
export class CallRecord {
  readonly id: string;
  /** When its first channel came, in ms since the epoch. */
  began: number;
  /** When its last channel went; undefined while it is live. */
  ended: number | undefined;
  readonly entries = new EntryList();
  readonly channels = new Map<string, ChannelTrace>();
  /** Applications that were in control of one of its channels. */
  readonly applications = new Set<string>();
  /** Other ids that it goes by: of calls that have become part of it. */
  readonly formerIds: string[] = [];
  /** Objects beside channels, and SIP calls, that lead to it. */
  readonly objects = new Set<string>();
  readonly sipCalls = new Set<string>();
  live = 0;
  /** The call that it has become part of. */
  into: CallRecord | undefined;
  /** The request that the last entry with one followed from. */
  lastRequest: string | undefined;
  mask: Mask;
  /** Place in the order of the last thing that changed it. */
  changed = 0;

  constructor(id: string, began: number, mask: Mask = nothingMasked) {
    this.id = id;
    this.began = began;
    this.mask = mask;
  }

  /** Takes in what a step of a channel's life, or of who controls it, says. */
  trace(step: CommittedStep): void {
    const known = this.channels.get(step.object);
    if (step.chart === 'ownership') {
      if (known) known.ownership = step;
      const { app } = step.context as OwnershipContext;
      if (app !== '') this.applications.add(app);
      return;
    }
    if (!known) {
      this.channels.set(step.object, { id: step.object, life: step, ownership: undefined, ended: undefined });
      this.live++;
      this.ended = undefined;
    } else known.life = step;
    if (step.status === 'active') return;
    const trace = this.channels.get(step.object);
    if (trace?.ended !== undefined || !trace) return;
    trace.ended = step.at;
    if (--this.live === 0) this.ended = step.at;
  }

  add(entry: Entry): void {
    this.entries.add(entry);
    this.changed = entry.order;
  }

  /** Makes another call part of this one. */
  absorb(other: CallRecord): void {
    this.entries.merge(other.entries);
    for (const [id, trace] of other.channels) this.channels.set(id, trace);
    for (const app of other.applications) this.applications.add(app);
    for (const each of other.objects) this.objects.add(each);
    for (const each of other.sipCalls) this.sipCalls.add(each);
    this.mask = joined(this.mask, other.mask);
    this.formerIds.push(other.id, ...other.formerIds);
    this.began = Math.min(this.began, other.began);
    this.live += other.live;
    if (this.live > 0) this.ended = undefined;
    this.changed = Math.max(this.changed, other.changed);
    other.into = this;
  }
}

export const channelContextOf = ({ life }: ChannelTrace): ChannelContext => life.context as ChannelContext;
