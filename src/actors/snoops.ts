import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import type { AudioDirection } from '../telephony/media.ts';
import type { SnoopDriver } from '../telephony/snoop.ts';
import type { ChannelEntry, ChannelFacts } from './channel-entry.ts';
import { longestChannelId, readAppArgs } from './channel-requests.ts';
import type { ChannelViews } from './channel-views.ts';
import type { Channels } from './channels.ts';

/** Parameters of `snoop`, by their names in the interface. */
type SnoopChannelRequest = {
  spy?: string | undefined;
  whisper?: string | undefined;
  app?: string | undefined;
  appArgs?: string | undefined;
  snoopId?: string | undefined;
};

type SnoopsOptions = {
  channels: Channels;
  facts: ChannelFacts;
  views: Pick<ChannelViews, 'model'>;
  driver: SnoopDriver;
};

/** Makes channels that listen to others. */
export type Snoops = ReturnType<typeof createSnoops>;

const directions = ['none', 'in', 'out', 'both'] as const;

function readDirection(
  word: string | undefined,
  invalid: 'spyDirectionInvalid' | 'whisperDirectionInvalid',
): AudioDirection {
  const direction = directions.find((each) => each === (word || 'none'));
  if (!direction) throw new AriError(invalid);
  return direction;
}

/** Which sides of a channel are heard, and which hear what is said. */
type SnoopSides = { readonly spy: AudioDirection; readonly whisper: AudioDirection };

/** Makes what makes snoop channels. */
export function createSnoops({ channels, facts, views, driver }: SnoopsOptions) {
  facts.on('channel.gone', ({ id }) => driver.targetGone(id));

  const open = (target: ChannelEntry, { spy, whisper }: SnoopSides, channelId: string): ChannelEntry =>
    channels.attach({
      id: channelId,
      name: driver.name(target.id),
      technology: driver.technology,
      open: (report) => driver.open({ channelId, targetId: target.id, target: target.leg.media, spy, whisper }, report),
    });

  return {
    /** Makes a channel without an owner that listens to another. @throws AriError serviceUnavailable. */
    open: (target: ChannelEntry, sides: SnoopSides): ChannelEntry => open(target, sides, channels.freshId()),

    /** The channel that a snoop's channel listens to; undefined when it is none. */
    targetOf: (channelId: string): string | undefined => driver.targetOf(channelId),

    /**
     * Creates a channel that listens to another (by id or name) or whispers to it, and puts it into an application.
     * @throws AriError spyDirectionInvalid, whisperDirectionInvalid, snoopDirectionRequired, applicationRequired,
     * snoopChannelNotFound, uniqueIdTooLong, channelIdExists.
     */
    snoop(id: string, request: SnoopChannelRequest): Channel {
      const spy = readDirection(request.spy, 'spyDirectionInvalid');
      const whisper = readDirection(request.whisper, 'whisperDirectionInvalid');
      if (spy === 'none' && whisper === 'none') throw new AriError('snoopDirectionRequired');
      const { app } = request;
      if (!app) throw new AriError('applicationRequired');
      const target = channels.findByIdOrName(id);
      if (!target) throw new AriError('snoopChannelNotFound');
      const channelId = request.snoopId || channels.freshId();
      if (channelId.length > longestChannelId) throw new AriError('uniqueIdTooLong');
      if (channels.find(channelId)) throw new AriError('channelIdExists');

      const entry = open(target, { spy, whisper }, channelId);
      const made = views.model(entry);
      const data = request.appArgs ? `${app},${request.appArgs}` : app;
      channels.tell(entry, { type: 'enter.soon', app, args: readAppArgs(request.appArgs), data });
      return made;
    },
  };
}
