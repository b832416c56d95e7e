import { type BridgeEntry, type Entry, hearBridge } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import { stopDialplan } from '../actors/channel-dialplan.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import type { Logger } from '../lib/log.ts';
import type { BridgeMember } from '../machines/bridge.ts';
import { isEnding } from '../machines/channel.ts';
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
  /**
   * Puts a channel in the place of another: its bridge, its application (unless the newcomer has one) and its Dial. The
   * other one leaves the bridge and the call. The caller of this function ends it.
   */
  replace(newcomer: ChannelEntry, old: ChannelEntry): void;
  /**
   * Puts a channel into a bridge in place of an absent one, which will not return.
   * @throws AriError bridgeFull; then nothing has changed.
   */
  replaceAbsent(newcomer: ChannelEntry, absentId: string, bridge: BridgeEntry): void;
  /** Sends a channel to the dialplan position of another. */
  continueInstead(channel: ChannelEntry, old: ChannelEntry): void;
  /** Takes a channel out of its dialplan and puts it into another's bridge in its place. */
  moveInstead(channel: ChannelEntry, old: ChannelEntry): void;
}

/** Whether neither an application nor the dialplan controls a channel. */
const isNobodys = ({ ownership, run }: ChannelEntry): boolean => {
  const { value } = ownership.getSnapshot();
  return value === 'nobody' || (value === 'dialplan' && run === undefined);
};

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

  /** Hangs up channels without owner that are left alone, and ends empty bridges of the dialplan. */
  const watchOver = (bridge: BridgeEntry): void => {
    const unwatch = hearBridge(bridges, bridge.id, ({ context: { members, class: kind } }) => {
      const [last, ...others] = members;
      if (others.length > 0) return;
      const alone = last && channels.find(last.channelId);
      if (alone && isNobodys(alone) && !isEnding(snapshotOf(alone)))
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

    replace(newcomer, old) {
      const bridge = bridges.bridgeOf(old.id);
      const app = applicationOf(old);
      dialSessions.replace(old, newcomer);
      if (app !== undefined) enterApplication(newcomer, app, old);
      if (!bridge) return;
      swap(bridge, newcomer, old);
      watchOver(bridge);
      log.debug(
        { channel: newcomer.id, replaced: old.id, bridge: bridge.id },
        'a channel has taken the place of another',
      );
    },

    replaceAbsent(newcomer, absentId, bridge) {
      bridges.enter(bridge, newcomer, plainEntry);
      const old = channels.find(absentId);
      if (old) dialSessions.replace(old, newcomer);
      dialSessions.absent(absentId, false);
      watchOver(bridge);
    },

    continueInstead(channel, old) {
      const { context, exten: extension, priority } = snapshotOf(old).context.dialplan;
      dialSessions.depart(channel);
      bridges.leave(channel.id);
      stopDialplan(channel);
      channels.tell(channel, {
        type: applicationOf(channel) === undefined ? 'run' : 'continue',
        position: { context, extension, priority },
      });
    },

    moveInstead(channel, old) {
      const bridge = bridges.bridgeOf(old.id);
      const from = bridges.bridgeOf(channel.id);
      const app = applicationOf(old);
      dialSessions.depart(channel);
      dialSessions.replace(old, channel);
      if (app !== undefined) enterApplication(channel, app, old);
      if (bridge) swap(bridge, channel, old);
      else bridges.leave(channel.id);
      stopDialplan(channel);
      if (bridge) watchOver(bridge);
      if (from) watchOver(from);
    },
  };
}
