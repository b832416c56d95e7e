import { type BridgeEntry, type Entry, hearBridge, isPart } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import { stopDialplan } from '../actors/channel-effects.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import type { Logger } from '../lib/log.ts';
import type { BridgeMember } from '../machines/bridge.ts';
import { isEnding, lifeOf } from '../machines/channel.ts';
import { isControlled } from '../machines/ownership.ts';
import { AriError } from '../models/errors.ts';
import { Cause } from '../telephony/causes.ts';
import type { DialSessions } from './dial-sessions.ts';
import { plainEntry } from './plain-bridges.ts';

type SwapsOptions = {
  channels: Channels;
  bridges: Bridges;
  dialSessions: DialSessions;
  log: Logger;
};

/** Where channels are (bridge, application, dialplan), and how one channel replaces another there. */
export interface Swaps {
  /** The application in control of a channel. */
  applicationOf(channel: ChannelEntry): string | undefined;
  /** The others in a channel's bridge, in the order in which they came. */
  othersWith(channel: ChannelEntry): ChannelEntry[];
  /** Whether others may be in its bridge, at this node or at other ones of the cluster. */
  hasOthers(channel: ChannelEntry): boolean;
  /**
   * Puts a channel in the place of another: its Dial, and its bridge, its application (unless the newcomer has one) or
   * its position in the dialplan. The newcomer leaves what it was in, the other one leaves its bridge and its Dial. The
   * caller of this function ends the other one.
   * @param leaving a channel that the caller ends, too: being left alone does not hang it up before
   */
  replace(newcomer: ChannelEntry, old: ChannelEntry, leaving?: ChannelEntry): void;
  /**
   * Puts a channel into a bridge in place of an absent one, which will not return.
   * @throws AriError bridgeFull; then nothing has changed.
   */
  replaceAbsent(newcomer: ChannelEntry, absentId: string, bridge: BridgeEntry): void;
}

/** Whether neither an application nor the dialplan controls a channel. */
const isNobodys = ({ ownership, run }: ChannelEntry): boolean => {
  const { value } = ownership.getSnapshot();
  return value === 'nobody' || (value === 'dialplan' && run === undefined);
};

/** Whether the dialplan runs on an answered channel. */
const isInDialplan = (channel: ChannelEntry): boolean =>
  lifeOf(snapshotOf(channel)) === 'up' && channel.ownership.getSnapshot().value === 'dialplan';

/** Makes what knows where channels are. */
export function createSwaps({ channels, bridges, dialSessions, log }: SwapsOptions): Swaps {
  const applicationOf = ({ ownership }: ChannelEntry): string | undefined => {
    const owner = ownership.getSnapshot();
    return isControlled(owner) ? owner.context.app : undefined;
  };

  const memberOf = (bridge: BridgeEntry, { id }: ChannelEntry): BridgeMember | undefined =>
    bridges.snapshot(bridge).context.members.find(({ channelId }) => channelId === id);

  /** The newcomer enters first, so that nobody is alone in between. If the bridge is full, the old one leaves first. */
  const swap = (bridge: BridgeEntry, newcomer: ChannelEntry, old: ChannelEntry): void => {
    const { channelId: _old, ...member } = memberOf(bridge, old) ?? { channelId: '', ...plainEntry };
    const enter = (): void => bridges.enter(bridge, newcomer, member satisfies Entry);
    try {
      enter();
      bridges.leave(old.id);
    } catch (error) {
      if (!(error instanceof AriError)) throw error;
      bridges.leave(old.id);
      enter();
    }
  };

  const enterApplication = (newcomer: ChannelEntry, app: string, old: ChannelEntry): void => {
    if (applicationOf(newcomer) !== undefined) return;
    stopDialplan(newcomer);
    channels.tell(newcomer, { type: 'enter', app, args: [], replaces: old.id });
  };

  /** Sends a channel to the dialplan position of another. */
  const continueInstead = (channel: ChannelEntry, old: ChannelEntry): void => {
    const { context, exten: extension, priority } = snapshotOf(old).context.dialplan;
    bridges.leave(channel.id);
    stopDialplan(channel);
    channels.tell(channel, {
      type: applicationOf(channel) === undefined ? 'run' : 'continue',
      position: { context, extension, priority },
    });
  };

  /** Channels that a transfer ends. It tells them how it went before. */
  const departing = new WeakSet<ChannelEntry>();

  /** Hangs up channels without owner that are left alone, and ends empty bridges of the dialplan. */
  const watchOver = (bridge: BridgeEntry): void => {
    // Only the node of the bridge knows who is in it.
    if (isPart(bridge)) return;
    const unwatch = hearBridge(bridges, bridge.id, ({ context: { members, class: kind } }) => {
      const [last, ...others] = members;
      if (others.length > 0) return;
      const alone = last && channels.find(last.channelId);
      if (alone && isNobodys(alone) && !departing.has(alone) && !isEnding(snapshotOf(alone)))
        channels.tell(alone, { type: 'hangup', cause: Cause.normalClearing, by: 'server' });
      if (last) return;
      unwatch();
      if (kind === 'basic' && bridges.find(bridge.id)) bridges.destroy(bridge);
    });
  };

  return {
    applicationOf,
    othersWith(channel) {
      const bridge = bridges.bridgeOf(channel.id);
      return [...(bridge?.stays.values() ?? [])].map((stay) => stay.channel).filter((each) => each !== channel);
    },
    hasOthers(channel) {
      const bridge = bridges.bridgeOf(channel.id);
      return bridge !== undefined && (bridge.stays.size + bridge.guests.size > 1 || isPart(bridge));
    },

    replace(newcomer, old, leaving) {
      if (leaving) departing.add(leaving);
      const [bridge, from] = [bridges.bridgeOf(old.id), bridges.bridgeOf(newcomer.id)];
      const app = applicationOf(old);
      dialSessions.depart(newcomer);
      if (!bridge && isInDialplan(old)) return continueInstead(newcomer, old);
      dialSessions.replace(old, newcomer);
      if (app !== undefined) enterApplication(newcomer, app, old);
      if (bridge) swap(bridge, newcomer, old);
      else bridges.leave(newcomer.id);
      stopDialplan(newcomer);
      for (const each of new Set([bridge, from])) if (each) watchOver(each);
      log.debug(
        { channel: newcomer.id, replaced: old.id, ...(bridge && { bridge: bridge.id }) },
        'a channel replaced another',
      );
    },

    replaceAbsent(newcomer, absentId, bridge) {
      bridges.enter(bridge, newcomer, plainEntry);
      const old = channels.find(absentId);
      if (old) dialSessions.replace(old, newcomer);
      dialSessions.absent(absentId, false);
      watchOver(bridge);
    },
  };
}

/** Finds channels by id, except those that are ending. */
export const livingIn =
  (channels: Pick<Channels, 'find'>) =>
  (id: string): ChannelEntry | undefined => {
    const channel = channels.find(id);
    return channel && !isEnding(snapshotOf(channel)) ? channel : undefined;
  };
