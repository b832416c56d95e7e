import type { Dialplan } from '../dialplan/dialplan.ts';
import type { Clock } from '../lib/clock.ts';
import { lazily } from '../lib/lazily.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import type { RTPstat } from '../models/rtp-statistics.ts';
import type { ChannelAudio } from './channel-audio.ts';
import { createChannelControl, possibleOn } from './channel-control.ts';
import { type ChannelDialingOptions, createChannelDialing } from './channel-dialing.ts';
import type { ChannelFacts } from './channel-facts.ts';
import { createChannelVariables } from './channel-variables.ts';
import type { Channels } from './channels.ts';
import type { Playbacks } from './playbacks.ts';

type ChannelOperationsOptions = Omit<ChannelDialingOptions, 'priorityOf'> & {
  channels: Channels;
  facts: ChannelFacts;
  audio: ChannelAudio;
  playbacks: Playbacks;
  dialplan: Dialplan;
  clock: Clock;
};

/** The commands of clients for channels, by the names of the interface. */
export type ChannelOperations = ReturnType<typeof createChannelOperations>;

/** Creates the commands of clients for channels: each reads the request, then refuses it or carries it out. */
export function createChannelOperations(options: ChannelOperationsOptions) {
  const { channels, views, dialplan } = options;

  const priorityOf = (context: string, extension: string, label: string): number => {
    const priority = /^\d+$/.test(label) ? Number(label) : dialplan.resolveLabel(context, extension, label);
    if (priority === undefined) throw new AriError('labelNotFound');
    if (priority < 1) throw new AriError('priorityIllegal');
    return priority;
  };

  return {
    list: (): Iterable<Channel> =>
      lazily(channels.all(), (entry) => (channels.find(entry.id) === entry ? views.model(entry) : undefined)),
    get: (id: string): Channel => views.model(channels.get(id)),
    /** The operations that it allows now, and reasons for the others. */
    possible: (id: string): AllowedOperations => possibleOn(channels.get(id)),
    ...createChannelDialing({ ...options, priorityOf }),
    ...createChannelControl({ ...options, priorityOf }),
    ...createChannelVariables(options),

    async rtpStatistics(id: string): Promise<RTPstat> {
      const entry = channels.get(id);
      const statistics = await entry.leg.media.statistics();
      if (!statistics) throw new AriError('channelTypeUnsupported');
      const video = (await entry.leg.video?.statistics()) ?? [];
      const { late: _late, unheard_ms: _unheard, remote: _remote, ...shown } = statistics;
      return { ...shown, channel_uniqueid: entry.id, ...(video.length > 0 && { video }) };
    },
  };
}
