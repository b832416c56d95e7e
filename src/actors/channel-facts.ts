import type { Logger } from '../lib/log.ts';
import {
  type ChannelFact,
  type ChannelSnapshot,
  type Forward,
  isEnding,
  lifeOf,
  type Position,
} from '../machines/channel.ts';
import type { OwnershipFact } from '../machines/ownership.ts';
import type { TransferRequest } from '../telephony/driver.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import { Facts } from './facts.ts';

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
