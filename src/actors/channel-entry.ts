import type { Topic } from '../bus/topics.ts';
import type { Subroutine } from '../dialplan/host.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { ChannelContext, ChannelEvent, ChannelSnapshot, channelMachine } from '../machines/channel.ts';
import type { OwnershipEvent, ownershipMachine } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import type { Leg, LegData, Report } from '../telephony/driver.ts';
import type { MediaQueue } from './media-queue.ts';
import type { Playbacks } from './playbacks.ts';
import type { Actor } from './spawn.ts';
import type { StepJournal } from './step-journal.ts';

/** A running channel, and the interfaces that call control needs of its neighbours. */

type ChannelActor = Actor<typeof channelMachine>;
type OwnershipActor = Actor<typeof ownershipMachine>;

/** All messages of a channel: for its channel chart, its ownership chart, or both. */
export type ChannelMessage = ChannelEvent | OwnershipEvent;

/**
 * Gives a channel that is restored its leg, as its technology saved it; it tells its reports through `report` from now
 * on.
 */
export type LegOf = (channel: ChannelContext, report: Report, data: LegData) => Leg;

/** The applications' subscriptions as call control uses them. */
export interface ChannelApplications {
  /** Whether the application is registered and connected: only then may channels enter it. */
  isActive(app: string): boolean;
  /**
   * Opens a connection for a channel that wants to enter an inactive application. Undefined if none is configured.
   * Otherwise resolves with the application's name for this call, or undefined after a failure. Never rejects.
   */
  admit?(app: string, channel: { id: string; name: string }): Promise<string | undefined> | undefined;
  /** Adds or removes one reference of an application to a topic. */
  addInterest(app: string, topic: Topic): void;
  removeInterest(app: string, topic: Topic): void;
  /** Removes all subscriptions to an object that has ended. */
  forget(topic: Topic): void;
}

/** The playbacks as call control uses them. */
export interface ChannelPlaybacks {
  /** Plays without events, for the dialplan. */
  playQuietly: Playbacks['playQuietly'];
  /** Ends what plays on a target and drops what is queued. */
  targetGone(kind: 'channel', id: string): void;
  /** The queue of playbacks and recordings of a target. */
  queueOf(target: { kind: 'channel'; id: string }): MediaQueue;
}

/** Endpoints, as call control reports their channels. */
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
  /** The dialing channel: Dial events also go to its subscribers. */
  readonly dialer: ChannelEntry | undefined;
  actor: ChannelActor;
  /** Its ownership chart. */
  ownership: OwnershipActor;
  /** The dialplan run that is under way. */
  run: Cancellation | undefined;
  /** The subroutines of the dialplan that it is in. */
  readonly subroutines: Subroutine[];
  /** What the step of the dialplan has been through. */
  readonly journal: StepJournal;
  /** Whether the dialplan has run on it. */
  ranDialplan: boolean;
  /** The context whose extension `h` is run when it ends, where that is none of its own. */
  endsIn: string | undefined;
  /** The last model: good as long as the snapshot and the shown variables are the same. */
  seen: { snapshot: ChannelSnapshot; shown: readonly string[]; model: Channel } | undefined;
};

/** The state of a channel now. */
export const snapshotOf = ({ actor }: ChannelEntry): ChannelSnapshot => actor.getSnapshot();

/** Routes a message to its chart. If both charts take it, the chart whose facts must come first goes first. */
export function deliver({ actor, ownership }: ChannelEntry, message: ChannelMessage): void {
  switch (message.type) {
    case 'run':
    case 'enter':
    case 'enter.soon':
    case 'continue':
    case 'move':
    case 'leave':
    case 'turn':
    case 'application.accepted':
    case 'application.refused':
    case 'application.lost':
      ownership.send(message);
      break;
    case 'leg.offered':
    case 'leg.answered':
      actor.send(message);
      ownership.send(message);
      break;
    case 'leg.ended':
    case 'dialplan.ended':
      ownership.send(message);
      actor.send(message);
      break;
    default:
      actor.send(message);
  }
}
