import type { Topic } from '../bus/topics.ts';
import type { Subroutine } from '../dialplan/host.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { Logger } from '../lib/log.ts';
import {
  type ChannelContext,
  type ChannelEvent,
  type ChannelFact,
  type ChannelSnapshot,
  type channelMachine,
  type Forward,
  isEnding,
  lifeOf,
  type Position,
} from '../machines/channel.ts';
import type { OwnershipEvent, OwnershipFact, ownershipMachine } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import type { Leg, LegData, Report, TransferRequest } from '../telephony/driver.ts';
import { Facts } from './facts.ts';
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

/** What is to be heard of a channel: the facts of its charts, and those of its owner. */
export type ChannelNews =
  | ChannelFact
  | OwnershipFact
  /** A step has changed its snapshot; after the facts of that step. Only those hear it who listen to this channel. */
  | { type: 'channel.changed'; snapshot: ChannelSnapshot }
  /** It was restored from a snapshot. */
  | { type: 'channel.restored' }
  /** The dialplan is to run on it from there. */
  | { type: 'dialplan.due'; position: Position }
  /** Its longest time is over. */
  | { type: 'time.over' }
  /** It is hung up: its dialplan ends. */
  | { type: 'dialplan.over' }
  /** It ends, and its dialplan still runs: another channel can take its place. */
  | { type: 'channel.ending' }
  /** It ends or leaves its application, and is still in its bridge: another channel can take its place. */
  | { type: 'channel.departing' }
  /** The same, afterwards: it leaves its bridge. */
  | { type: 'channel.departed' }
  /** It has ended, and has no events any more. `last`: its last state; `crashed`: it ended by an internal error. */
  | { type: 'channel.gone'; last: ChannelSnapshot; crashed: boolean }
  /** It belongs to another call (`linkedid`). */
  | { type: 'call.joined' }
  | { type: 'bridge.entered'; bridgeId: string }
  /** It was to enter an application that is not connected. */
  | { type: 'application.missing'; app: string }
  /** Its far side holds the call, with music of that class for the peer; undefined: it resumes the call. */
  | { type: 'peer.held'; musicClass: string | undefined }
  | { type: 'video.changed' }
  /** Its far side requests a transfer. */
  | { type: 'transfer.asked'; transfer: TransferRequest }
  /** Its far side sends its call elsewhere. */
  | { type: 'forward.asked'; forward: Forward }
  /** It is an inbound call that is to replace another channel (RFC 3891). */
  | { type: 'replacement.asked'; replaces: string };

/** The facts of all channels: the one way to hear of a channel. */
export type ChannelFacts = Facts<ChannelEntry, ChannelNews>;

/** Makes the bus of channel facts. There is one. */
export const createChannelFacts = (log: Pick<Logger, 'error'>): ChannelFacts => new Facts(log);

/** Resolves with true when a channel is Up, also when it is so already; with false when it ends first. */
export function answered(facts: ChannelFacts, entry: ChannelEntry): Promise<boolean> {
  const snapshot = snapshotOf(entry);
  if (lifeOf(snapshot) === 'up' || isEnding(snapshot)) return Promise.resolve(!isEnding(snapshot));
  return new Promise((resolve) => {
    const unsubscribe = facts.of(entry.id, ({ type }) => {
      const isUp = type === 'ChannelStateChange' && lifeOf(snapshotOf(entry)) === 'up';
      if (!isUp && type !== 'channel.gone') return;
      unsubscribe();
      resolve(isUp);
    });
  });
}

/** Hears every change of a channel, with its state. @returns a function that stops it. */
export const hearChanges = (
  facts: ChannelFacts,
  channelId: string,
  listener: (snapshot: ChannelSnapshot) => void,
): (() => void) =>
  facts.of(channelId, (fact) => {
    if (fact.type === 'channel.changed') listener(fact.snapshot);
  });

/** Hears the digits of a channel's far side: each at its end, with its length in ms. */
export const hearDigits = (
  facts: ChannelFacts,
  channelId: string,
  listener: (digit: string, durationMs: number) => void,
): (() => void) =>
  facts.of(channelId, (fact) => {
    if (fact.type === 'ChannelDtmfReceived') listener(fact.digit, fact.durationMs);
  });
