import type { Topic } from '../bus/topics.ts';
import type { Subroutine } from '../dialplan/host.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { ChannelContext, ChannelEvent, ChannelSnapshot, channelMachine } from '../machines/channel.ts';
import type { OwnershipEvent, ownershipMachine } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import type { Leg, LegData, Report } from '../telephony/driver.ts';
import type { MediaQueue } from './media-queue.ts';
import type { PlayTarget } from './playbacks.ts';
import type { Actor } from './spawn.ts';

/** What a running channel is, and what call control asks of its neighbours. */

type ChannelActor = Actor<typeof channelMachine>;
type OwnershipActor = Actor<typeof ownershipMachine>;

/** Everything a channel can be told: what its life hears, what its ownership hears, and what both do. */
export type ChannelMessage = ChannelEvent | OwnershipEvent;

/**
 * Gives a channel that is restored its leg, as its technology saved it; it tells its reports through `report` from now
 * on.
 */
export type LegOf = (channel: ChannelContext, report: Report, data: LegData) => Leg;

/** What call control asks of the applications' subscriptions. */
export interface ChannelApplications {
  /** Whether the application is registered and its connection is there: only then may channels enter it. */
  isActive(app: string): boolean;
  /**
   * Makes a connection for a channel that wants to enter an application which is not active: undefined when there is
   * none to be made; else the application's name for this call, undefined when it came to nothing. Never rejects.
   */
  admit?(app: string, channel: { id: string; name: string }): Promise<string | undefined> | undefined;
  /** One reference more, or less, on what an application hears of a topic. */
  addInterest(app: string, topic: Topic): void;
  removeInterest(app: string, topic: Topic): void;
  /** The object is gone: nobody is subscribed to it any more. */
  forget(topic: Topic): void;
}

/** What call control asks of playbacks. */
export interface ChannelPlaybacks {
  /** Plays without events, for the dialplan. */
  playQuietly(target: PlayTarget, uris: readonly string[]): { done: Promise<'done' | 'failed'>; stop(): void };
  /** Ends what plays on a target and drops what is queued. */
  targetGone(kind: 'channel', id: string): void;
  /** What sounds on a target, or waits to. */
  queueOf(target: { kind: 'channel'; id: string }): MediaQueue;
}

/** What call control tells endpoints about their channels. */
export interface ChannelEndpoints {
  channelAdded(technology: string, resource: string, channelId: string): void;
  channelRemoved(technology: string, resource: string, channelId: string): void;
}

/** A running channel: its actor, and what it holds outside the chart. */
export type ChannelEntry = {
  readonly id: string;
  readonly leg: Leg;
  readonly name: string;
  readonly topics: readonly Topic[];
  /** The channel that came to life together with this one (the other half of a Local channel). */
  readonly companionId: string | undefined;
  /** The channel that calls it: how the dialing goes is told to who hears of that one. */
  readonly dialer: ChannelEntry | undefined;
  actor: ChannelActor;
  /** Who controls it. */
  ownership: OwnershipActor;
  /** The dialplan run that is under way. */
  run: Cancellation | undefined;
  /** The subroutines of the dialplan that it is in. */
  readonly subroutines: Subroutine[];
  /** Keys that no step of the dialplan has read yet. */
  readonly typedAhead: string[];
  /** Whether the dialplan has run on it. */
  ranDialplan: boolean;
  /** The context whose extension `h` is run when it ends, where that is none of its own. */
  endsIn: string | undefined;
  /** Who waits for the answer. */
  onUp: ((up: boolean) => void)[];
  /** Who hears the digits that the far side has pressed, at their end, with their length in ms: what the dialplan runs. */
  readonly onDigit: Set<(digit: string, durationMs: number) => void>;
  /** The last projection, good as long as the snapshot is the same. */
  seen: { snapshot: ChannelSnapshot; model: Channel } | undefined;
};
