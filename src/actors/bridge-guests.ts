import { bridgeTopic, type Topic } from '../bus/topics.ts';
import { type BridgeEntry, bridgeSnapshot, type Entry, type Guest } from './bridge-entry.ts';

type BridgeGuestsOptions = {
  applications: { addInterest(app: string, topic: Topic): void; removeInterest(app: string, topic: Topic): void };
  /** A member leaves. */
  letGo(bridge: BridgeEntry, channelId: string): void;
  /** The members at this node meet, after one has come or gone. */
  changed(bridge: BridgeEntry): void;
};

/** Whether members of a bridge are at other nodes of the cluster. */
export const spansNodes = (bridge: BridgeEntry): boolean =>
  bridge.guests.size > 0 || bridgeSnapshot(bridge).context.home !== undefined;

/** The stays of channels of other nodes in bridges of this one. Their audio comes by links. */
export const createBridgeGuests = ({ applications, letGo, changed }: BridgeGuestsOptions) => ({
  /** As `Bridges.welcome`. */
  welcome(bridge: BridgeEntry, guest: Guest, entry: Entry): void {
    const { channelId, node, app } = guest;
    if (bridge.guests.has(channelId)) letGo(bridge, channelId);
    bridge.guests.set(channelId, guest);
    if (app !== undefined) applications.addInterest(app, bridgeTopic(bridge.id));
    bridge.actor.send({ type: 'enter', member: { channelId, ...entry, node } });
  },

  /** Effect: the member has left. */
  part(bridge: BridgeEntry, { channelId, app, hasEnded }: Guest): void {
    bridge.guests.delete(channelId);
    if (app !== undefined && !hasEnded) applications.removeInterest(app, bridgeTopic(bridge.id));
    changed(bridge);
  },
});
