import type { Connection } from '../bus/delivery.ts';
import { bridgeTopics, channelTopic, type Topic } from '../bus/topics.ts';
import { hasApplication } from '../machines/ownership.ts';
import type { Bridge } from '../models/bridge.ts';
import type { Channel } from '../models/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import type { HeldObjects } from '../models/websocket-messages.ts';
import type { Bridges } from './bridges.ts';
import type { ChannelEntry } from './channel-entry.ts';
import type { ChannelViews } from './channel-views.ts';
import type { Channels } from './channels.ts';
import type { Playbacks } from './playbacks.ts';
import type { Recordings } from './recordings.ts';

type HeldObjectsOptions = {
  channels: Pick<Channels, 'all'>;
  views: Pick<ChannelViews, 'model'>;
  bridges: Pick<Bridges, 'list'>;
  playbacks: Pick<Playbacks, 'dump' | 'get'>;
  recordings: Pick<Recordings, 'dump' | 'get'>;
  /** Whether an application has a subscription to one object. */
  isSubscribed(application: string, topic: Topic): boolean;
  /** Most objects that are listed. */
  most: number;
  /** The bound was met. */
  hit(): void;
};

/**
 * Lists what an application has: its channels, its subscriptions, and what belongs to these. Of the objects of others
 * only those that its connection hears of.
 */
export function createHeldObjects(options: HeldObjectsOptions) {
  const { channels, views, bridges, playbacks, recordings, isSubscribed } = options;

  return (application: string, { narrow }: Connection): HeldObjects => {
    const hears = (event: AriEventBody, topics: Topic[]): boolean => narrow?.hears(event, topics) ?? true;
    const isOwn = ({ ownership }: ChannelEntry): boolean => {
      const owner = ownership.getSnapshot();
      return hasApplication(owner) && owner.context.app === application;
    };
    const shownChannels = channels.all().flatMap((entry): Channel[] => {
      const topic = channelTopic(entry.id);
      if (isOwn(entry)) return [views.model(entry)];
      if (!isSubscribed(application, topic)) return [];
      const channel = views.model(entry);
      return hears({ type: 'ChannelStateChange', channel }, [topic]) ? [channel] : [];
    });
    const targets = new Set<string>(shownChannels.map(({ id }) => channelTopic(id)));
    const isHeld = (bridge: Bridge): boolean =>
      isSubscribed(application, `bridge:${bridge.id}`) || bridge.channels.some((id) => targets.has(channelTopic(id)));
    const shownBridges = bridges
      .list()
      .filter((bridge) => isHeld(bridge) && hears({ type: 'BridgeCreated', bridge }, bridgeTopics(bridge.id)));
    for (const { id } of shownBridges) targets.add(`bridge:${id}`);
    const isOnThese = ({ target }: { target: { kind: string; id: string } }) =>
      targets.has(`${target.kind}:${target.id}`);
    const shown = {
      channels: shownChannels,
      bridges: shownBridges,
      playbacks: playbacks.dump().filter(isOnThese),
      recordings: recordings.dump().filter(isOnThese),
    };
    const sizes = Object.values(shown).map((list) => list.length);
    const most = sizes.map((_size, at) =>
      Math.max(0, options.most - sizes.slice(0, at).reduce((sum, size) => sum + size, 0)),
    );
    const complete = sizes.every((size, at) => size <= most[at]!);
    if (!complete) options.hit();
    return {
      channels: shown.channels.slice(0, most[0]),
      bridges: shown.bridges.slice(0, most[1]),
      playbacks: shown.playbacks.slice(0, most[2]).map(({ actor }) => playbacks.get(actor.context.id)),
      recordings: shown.recordings.slice(0, most[3]).map(({ plan }) => recordings.get(plan.name)),
      complete,
    };
  };
}
