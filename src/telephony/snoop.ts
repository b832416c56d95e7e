import type { Leg, LegData, Report } from './driver.ts';
import type { AudioDirection, MediaSession } from './media.ts';

/** Audio to hear and to whisper, from the snooped channel's view. */
export type SnoopRequest = {
  /** Id of the snoop's own channel. */
  channelId: string;
  /** The channel that is snooped on. */
  targetId: string;
  target: MediaSession;
  /** Which side of it is heard. */
  spy: AudioDirection;
  /** Which side of it hears what the snoop's channel is played. */
  whisper: AudioDirection;
};

/** Makes legs that listen to another channel. They cannot be dialed: only call control knows the channel. */
export interface SnoopDriver {
  readonly technology: string;
  /** The name of a snoop's channel, e.g. `Snoop/1700000000.7-0a1b2c3d`; another one each time. */
  name(targetId: string): string;
  open(request: SnoopRequest, report: Report): Leg;
  /**
   * Continues a leg that another process saved. @param target finds the audio of the snooped channel.
   * @throws DriverError if the data is unreadable or that channel has ended.
   */
  resume(data: LegData, channelId: string, target: (id: string) => MediaSession | undefined, report: Report): Leg;
  /** The channel has ended: its snoops hang up. */
  targetGone(targetId: string): void;
  /** The channel that a snoop's channel listens to; undefined when it is none. */
  targetOf(channelId: string): string | undefined;
  /** How many legs there are. */
  readonly size: number;
}
