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
   * Keeps the others of a call together, also those of a Dial, while another node is asked for a party that takes the place
   * of one of them.
   * @returns a function that says whether it has come
   */
  expectInstead(old: ChannelEntry): (came: boolean) => void;
  /**
   * Takes an answered channel out of its call, which may be a Dial, for a bridge of another node. It ends when it leaves that
   * bridge, unless an application controls it.
   * @param part the members at this node of that bridge
   * @param app the application that it enters, unless it is in one
   * @throws AriError memberNotFound
   */
  detach(channelId: string, part: BridgeEntry, app: string | undefined): ChannelEntry;
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

/** The application in control of a channel. */
const applicationOf = ({ ownership }: ChannelEntry): string | undefined => {
  const owner = ownership.getSnapshot();
  return isControlled(owner) ? owner.context.app : undefined;
};

/** The others in a channel's bridge. */
const othersIn =
  (bridges: Pick<Bridges, 'bridgeOf'>) =>
  (channel: ChannelEntry): ChannelEntry[] => {
    const bridge = bridges.bridgeOf(channel.id);
    return [...(bridge?.stays.values() ?? [])].map((stay) => stay.channel).filter((each) => each !== channel);
  };

/** Ends what transfers leave behind. */
function createCare({ channels, bridges }: Pick<SwapsOptions, 'channels' | 'bridges'>) {
  /** Channels that a transfer ends, which tells them how it went before, and those that wait for another party. */
  const departing = new WeakSet<ChannelEntry>();

  const endIfLeft = (channel: ChannelEntry | undefined): void => {
    if (channel && isNobodys(channel) && !departing.has(channel) && !isEnding(snapshotOf(channel)))
      channels.tell(channel, { type: 'hangup', cause: Cause.normalClearing, by: 'server' });
  };

  /** Hangs up channels without owner that leave a bridge of another node. */
  const watchPart = (part: BridgeEntry): void => {
    const unhear = bridges.facts.of(part.id, (fact) => {
      if (fact.type === 'BridgeDestroyed') unhear();
      if (fact.type !== 'ChannelLeftBridge') return;
      const { channelId } = fact;
      // It may be on its way to another bridge.
      void Promise.resolve().then(() => bridges.bridgeOf(channelId) ?? endIfLeft(channels.find(channelId)));
    });
  };

  /** Hangs up channels without owner that are left alone, and ends empty bridges of the dialplan. */
  const watchOver = (bridge: BridgeEntry): void => {
    // Only the node of the bridge knows who is in it.
    if (isPart(bridge)) return void watchPart(bridge);
    const unwatch = hearBridge(bridges, bridge.id, ({ context: { members, class: kind } }) => {
      const [last, ...others] = members;
      if (others.length > 0) return;
      if (last) endIfLeft(channels.find(last.channelId));
      // The node of the last member ends its call.
      if (last && (kind !== 'basic' || last.node === undefined)) return;
      unwatch();
      if (kind === 'basic' && bridges.find(bridge.id)) bridges.destroy(bridge);
    });
  };

  return { departing, endIfLeft, watchPart, watchOver };
}

/** Parties that meet those of other nodes. */
function createElsewhere(
  { channels, bridges, dialSessions }: SwapsOptions,
  { departing, endIfLeft, watchPart, watchOver }: ReturnType<typeof createCare>,
): Pick<Swaps, 'expectInstead' | 'detach'> {
  const living = livingIn(channels);
  const othersWith = othersIn(bridges);
  return {
    expectInstead(old) {
      const others = othersWith(old);
      const bridge = bridges.bridgeOf(old.id);
      dialSessions.depart(old);
      dialSessions.absent(old.id, true);
      for (const each of others) departing.add(each);
      if (bridge) watchOver(bridge);
      return (came) => {
        for (const each of others) departing.delete(each);
        if (came) for (const each of others) if (applicationOf(each) === undefined) stopDialplan(each);
        dialSessions.absent(old.id, false);
        const [last, ...more] = (bridge && bridges.snapshot(bridge).context.members) ?? [];
        if (last && more.length === 0) endIfLeft(channels.find(last.channelId));
      };
    },

    detach(channelId, part, app) {
      const channel = living(channelId);
      if (!channel || lifeOf(snapshotOf(channel)) !== 'up') throw new AriError('memberNotFound');
      const from = bridges.bridgeOf(channelId);
      dialSessions.depart(channel);
      if (applicationOf(channel) === undefined) {
        stopDialplan(channel);
        if (app !== undefined) channels.tell(channel, { type: 'enter', app, args: [] });
      }
      if (from) watchOver(from);
      watchPart(part);
      return channel;
    },
  };
}

/** Makes what knows where channels are. */
export function createSwaps(options: SwapsOptions): Swaps {
  const { channels, bridges, dialSessions, log } = options;
  const care = createCare(options);
  const { departing, watchOver } = care;
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

  return {
    ...createElsewhere(options, care),
    applicationOf,
    othersWith: othersIn(bridges),
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
