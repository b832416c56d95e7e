import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import type { Channels } from '../actors/channels.ts';
import { isEnding } from '../machines/channel.ts';

/** Finds channels by id, except those that are ending. */
export const livingIn =
  (channels: Pick<Channels, 'find'>) =>
  (id: string): ChannelEntry | undefined => {
    const channel = channels.find(id);
    return channel && !isEnding(snapshotOf(channel)) ? channel : undefined;
  };
