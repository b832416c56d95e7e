/**
 * A topic that can be subscribed to. It is written as in clients' event sources, `<type>:<id>`; a blank id means all of
 * the type. Objects of different types never share a topic.
 */
export type Topic = `channel:${string}` | `bridge:${string}` | `endpoint:${string}` | `deviceState:${string}`;

export type TopicType = 'channel' | 'bridge' | 'endpoint' | 'deviceState';

export const allChannels: Topic = 'channel:';
export const allBridges: Topic = 'bridge:';
export const allEndpoints: Topic = 'endpoint:';
export const allDeviceStates: Topic = 'deviceState:';

/** The topic of all objects of a type. */
export const allOf = (type: TopicType): Topic => `${type}:`;

export const channelTopic = (id: string): Topic => `channel:${id}`;
export const bridgeTopic = (id: string): Topic => `bridge:${id}`;
export const deviceStateTopic = (name: string): Topic => `deviceState:${name}`;
/** One endpoint. Both parts in their canonical spelling. */
export const endpointTopic = (technology: string, resource: string): Topic => `endpoint:${technology}/${resource}`;
/** Every endpoint of a technology. */
export const technologyTopic = (technology: string): Topic => `endpoint:${technology}`;

/** Topics of a channel's events: itself, all channels, its endpoint and its technology (never all endpoints). */
export function channelTopics(id: string, endpoint?: readonly [technology: string, resource: string]): Topic[] {
  return [channelTopic(id), ...channelCreatedTopics(endpoint)];
}

/** Topics of ChannelCreated: as {@link channelTopics} without the channel, because no subscription can precede it. */
function channelCreatedTopics(endpoint?: readonly [technology: string, resource: string]): Topic[] {
  if (!endpoint) return [allChannels];
  return [allChannels, endpointTopic(...endpoint), technologyTopic(endpoint[0])];
}

/** Topics of an endpoint's own events: itself, its technology, all endpoints. */
export function endpointTopics(technology: string, resource: string): Topic[] {
  return [endpointTopic(technology, resource), technologyTopic(technology), allEndpoints];
}

export const deviceStateTopics = (name: string): Topic[] => [deviceStateTopic(name), allDeviceStates];

/** Topics of a bridge's events: itself, and all bridges. */
export const bridgeTopics = (id: string): Topic[] => [bridgeTopic(id), allBridges];
