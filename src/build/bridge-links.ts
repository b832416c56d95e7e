import type { Bridges } from '../actors/bridges.ts';
import type { ChannelViews } from '../actors/channel-views.ts';
import type { Channels } from '../actors/channels.ts';
import { type BridgeLinks, createBridgeLinks } from '../cluster/bridge-links.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { createLinkAudio } from '../drivers/external/link-audio.ts';
import { createLocalAddresses } from '../sip/transport/local-address.ts';
import type { MediaPlane } from '../telephony/media.ts';
import type { Base } from './base.ts';
import { newEpoch } from './cluster.ts';

type Joined = {
  media: Pick<MediaPlane, 'openRtp'>;
  bridges: Bridges;
  views: Pick<ChannelViews, 'model'>;
  channels: Pick<Channels, 'tell'>;
};

/** Joins members of bridges that are at other nodes of the cluster. */
export function buildBridgeLinks(
  { config, clock, ids, log, tables, scope, limitCounts, channelFacts }: Base,
  cluster: Cluster,
  { media, bridges, views, channels }: Joined,
): BridgeLinks {
  const { bridge_format, bridge_encryption, bridge_address, bridge_links, bridge_rejoin, away_after } = config.cluster;
  const { name, claims } = cluster;
  const links = createBridgeLinks({
    ...{ name, clock, tables, bridges, views, channels, channelFacts },
    ...{ log: log.child({ part: 'cluster' }), newId: () => newEpoch(ids) },
    ...{ format: bridge_format, secure: bridge_encryption, awayAfterMs: away_after * 1000 },
    rejoinMs: bridge_rejoin * 1000,
    ...{ most: bridge_links, hit: () => limitCounts.hit('cluster.bridge_links') },
    ask: cluster.askBridge,
    openAudio: createLinkAudio({ media, ids, address: bridge_address, localAddress: createLocalAddresses(clock) }),
    async nodeOf(id) {
      const claimed = cluster.markedNode(id) ?? (await claims.nodeOf('channel', id));
      const node = claimed ?? (id.includes('/') ? await cluster.nodeOfChannel(id) : undefined);
      return node === name ? undefined : node;
    },
    isAt: async (id, node) => (await cluster.nodeOfChannel(id, node)) !== undefined,
  });
  scope.defer(() => links.close());
  return links;
}
