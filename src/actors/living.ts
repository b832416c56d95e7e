import { isEnding } from '../machines/channel.ts';
import type { ChannelEntry } from './channel-entry.ts';
import type { Channels } from './channels.ts';

/** Finds channels by their ids: those that are not ending. */
export const livingIn =
  (channels: Pick<Channels, 'find' | 'snapshot'>) =>
  (id: string): ChannelEntry | undefined => {
    const channel = channels.find(id);
    return channel && !isEnding(channels.snapshot(channel)) ? channel : undefined;
  };
