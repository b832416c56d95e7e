import { allBridges, allChannels, bridgeTopic, channelTopic, type Topic } from '../bus/topics.ts';
import type { TransferContext, TransferFact } from '../machines/transfer.ts';
import type { Bridge } from '../models/bridge.ts';
import type { Channel } from '../models/channel.ts';
import type { AriEventBody } from '../models/events.ts';
import type { TransferResult } from '../models/transfer.ts';

/** A channel and its peer or bridge, as the events of a transfer show them. */
export type PartySnapshot = {
  channel: Channel;
  bridge?: Bridge;
  /** The other one, where there is just one. */
  peer?: Channel;
};

/** How the two calls were made one. */
export type Joining = {
  first: PartySnapshot;
  second?: PartySnapshot;
  destination: { destination_type: 'bridge' | 'application' | 'fail' } & {
    destination_bridge?: string;
    destination_application?: string;
  };
};

const withBridge = ({ bridge, peer }: PartySnapshot) => ({
  ...(peer && { connected_channel: peer }),
  ...(bridge && { bridge }),
});

/** ChannelTransfer: the request, the transferor, and the progress. */
export function askedEvent(
  { request: { extension, replaces } }: TransferContext,
  { state }: Extract<TransferFact, { type: 'ChannelTransfer' }>,
  by: PartySnapshot,
  to: PartySnapshot | undefined,
): AriEventBody {
  const parameter = (parameter_name: string, parameter_value: string) => ({ parameter_name, parameter_value });
  const { protocolId, localTag, remoteTag } = replaces ?? {};
  return {
    type: 'ChannelTransfer',
    refer_to: {
      requested_destination: {
        ...(extension !== '' && { destination: extension }),
        ...(protocolId !== undefined && {
          protocol_id: protocolId,
          additional_protocol_params: [parameter('from', remoteTag ?? ''), parameter('to', localTag ?? '')],
        }),
      },
      ...(to && { destination_channel: to.channel, ...withBridge(to) }),
    },
    referred_by: { source_channel: by.channel, ...withBridge(by) },
    ...(state === undefined ? {} : { state }),
  };
}

/**
 * BridgeBlindTransfer.
 * @param replacing the channel that replaces the transferor
 */
export function blindEvent(
  { extension, context }: TransferContext,
  result: TransferResult,
  { channel, bridge, peer }: PartySnapshot,
  replacing: Channel | undefined,
): AriEventBody {
  return {
    type: 'BridgeBlindTransfer',
    channel,
    exten: extension,
    context,
    result,
    is_external: true,
    ...(bridge && { bridge }),
    ...(peer && { transferee: peer }),
    ...(replacing && { replace_channel: replacing }),
  };
}

/** BridgeAttendedTransfer. */
export function joinedEvent(result: TransferResult, { first, second = first, destination }: Joining): AriEventBody {
  return {
    type: 'BridgeAttendedTransfer',
    transferer_first_leg: first.channel,
    transferer_second_leg: second.channel,
    ...(first.bridge && { transferer_first_leg_bridge: first.bridge }),
    ...(second.bridge && { transferer_second_leg_bridge: second.bridge }),
    ...(first.peer && { transferee: first.peer }),
    ...(second !== first && second.peer && { transfer_target: second.peer }),
    result,
    is_external: true,
    ...destination,
  };
}

/** Topics of a transfer between bridges: its channels, their bridges, the members of these, and all. */
export function partyTopics(parties: readonly PartySnapshot[], toAll: boolean): Topic[] {
  const topics = new Set<Topic>(toAll ? [allChannels, allBridges] : []);
  for (const { channel, bridge } of parties) {
    topics.add(channelTopic(channel.id));
    if (bridge) topics.add(bridgeTopic(bridge.id));
    for (const id of bridge?.channels ?? []) topics.add(channelTopic(id));
  }
  return [...topics];
}
