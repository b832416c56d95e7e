/**
 * What can be subscribed to. A topic is written as clients write event sources, `<type>:<id>`, a blank id meaning all of
 * the type; objects of different types never share a topic, whatever their ids.
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

/** Where a channel's events go: itself, all channels, and its endpoint with its technology (never all endpoints). */
export function channelTopics(id: string, endpoint?: readonly [technology: string, resource: string]): Topic[] {
  return [channelTopic(id), ...channelCreatedTopics(endpoint)];
}

/** Where ChannelCreated goes: as {@link channelTopics}, but nobody can have asked for that one channel yet. */
function channelCreatedTopics(endpoint?: readonly [technology: string, resource: string]): Topic[] {
  if (!endpoint) return [allChannels];
  return [allChannels, endpointTopic(...endpoint), technologyTopic(endpoint[0])];
}

/** Where an endpoint's own events go: itself, its technology, all endpoints. */
export function endpointTopics(technology: string, resource: string): Topic[] {
  return [endpointTopic(technology, resource), technologyTopic(technology), allEndpoints];
}

export const deviceStateTopics = (name: string): Topic[] => [deviceStateTopic(name), allDeviceStates];

/** Where a bridge's events go: itself, and all bridges. */
export const bridgeTopics = (id: string): Topic[] => [bridgeTopic(id), allBridges];
