import {
  bridgeTopic,
  channelTopic,
  deviceStateTopic,
  endpointTopic,
  type Topic,
  technologyTopic,
} from '../bus/topics.ts';
import type { Bridge } from '../models/bridge.ts';
import type { Channel } from '../models/channel.ts';
import type { Endpoint } from '../models/endpoint.ts';
import { AriError } from '../models/errors.ts';

/** Finds what an event source names; each answers undefined when there is no such thing. */
export type EventSourceLookup = {
  /** By id or name. */
  channel(idOrName: string): Channel | undefined;
  /** A bridge that applications may control. */
  bridge(id: string): Bridge | undefined;
  /** In any case of letters; the answer is spelled canonically. */
  endpoint(technology: string, resource: string): Endpoint | undefined;
  /** The canonical name of a technology that has or had endpoints. */
  technology(name: string): string | undefined;
};

/** Lookup of event sources: each part of the system adds its own as it is built. */
interface EventSourceDirectory extends EventSourceLookup {
  /** Adds lookups of these kinds. A kind without a lookup is never found. */
  add(lookup: Partial<EventSourceLookup>): void;
}

/** An empty directory. */
export function createEventSourceDirectory(): EventSourceDirectory {
  const added: Partial<EventSourceLookup> = {};
  return {
    add: (lookup) => void Object.assign(added, lookup),
    channel: (idOrName) => added.channel?.(idOrName),
    bridge: (id) => added.bridge?.(id),
    endpoint: (technology, resource) => added.endpoint?.(technology, resource),
    technology: (name) => added.technology?.(name),
  };
}

type Source = { scheme: string; id: string };

function split(eventSource: string): Source {
  const colon = eventSource.indexOf(':');
  if (colon === -1) throw new AriError('eventSourceSchemeInvalid');
  const scheme = eventSource.slice(0, colon);
  const id = eventSource.slice(colon + 1);
  // "All channels" is also written in the plural.
  return {
    scheme: id === '' && /^(channel|bridge|endpoint|deviceState)s$/.test(scheme) ? scheme.slice(0, -1) : scheme,
    id,
  };
}

function endpointOf(id: string, resolve: EventSourceLookup): Topic | undefined {
  const slash = id.indexOf('/');
  if (slash === -1) {
    const technology = resolve.technology(id);
    return technology === undefined ? undefined : technologyTopic(technology);
  }
  const endpoint = resolve.endpoint(id.slice(0, slash), id.slice(slash + 1));
  return endpoint && endpointTopic(endpoint.technology, endpoint.resource);
}

function find({ scheme, id }: Source, resolve: EventSourceLookup): Topic | undefined {
  switch (scheme) {
    case 'channel': {
      if (id === '') return channelTopic('');
      const channel = resolve.channel(id);
      return channel && channelTopic(channel.id);
    }
    case 'bridge': {
      if (id === '') return bridgeTopic('');
      const bridge = resolve.bridge(id);
      return bridge && bridgeTopic(bridge.id);
    }
    case 'endpoint':
      return id === '' ? technologyTopic('') : endpointOf(id, resolve);
    case 'deviceState':
      return deviceStateTopic(id);
    default:
      throw new AriError('eventSourceSchemeInvalid');
  }
}

/**
 * The topic that an event source names: `channel:<id or name>`, `bridge:<id>`, `endpoint:<technology>[/<resource>]`,
 * `deviceState:<name>`; nothing behind the colon means all of the type.
 * @throws AriError eventSourceSchemeInvalid, and `missing` when there is no such thing.
 */
export function topicOf(
  eventSource: string,
  resolve: EventSourceLookup,
  missing: 'eventSourceNotFound' | 'eventSourceNotSubscribed',
): Topic {
  const topic = find(split(eventSource), resolve);
  if (topic === undefined) throw new AriError(missing);
  return topic;
}

/** The objects that a user event can concern. */
type UserEventSubject = { channel?: Channel; bridge?: Bridge; endpoint?: Endpoint };

/**
 * The objects that a user event's sources name, the last of each kind. Device states and "all" cannot be subjects.
 * @throws AriError eventSourceSchemeInvalid, userEventSourceNotFound
 */
export function subjectOf(sources: readonly string[], resolve: EventSourceLookup): UserEventSubject {
  const subject: UserEventSubject = {};
  for (const source of sources) {
    const { scheme, id } = split(source);
    const slash = id.indexOf('/');
    if (scheme === 'channel') subject.channel = found(resolve.channel(id));
    else if (scheme === 'endpoint') subject.endpoint = found(resolve.endpoint(id.slice(0, slash), id.slice(slash + 1)));
    else if (scheme === 'bridge') subject.bridge = found(resolve.bridge(id));
    else throw new AriError('eventSourceSchemeInvalid');
  }
  return subject;
}

function found<T>(thing: T | undefined): T {
  if (thing === undefined) throw new AriError('userEventSourceNotFound');
  return thing;
}
