import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '../bus/bus.ts';
import { endpointTopics, type Topic } from '../bus/topics.ts';
import { lazily } from '../lib/lazily.ts';
import { valuesOf } from '../lib/slot-map.ts';
import type { Endpoint, EndpointState } from '../models/endpoint.ts';
import { AriError } from '../models/errors.ts';
import type { Registration } from '../models/registration.ts';

type Entry = {
  technology: string;
  resource: string;
  state: EndpointState;
  /** In the order in which the channels came. */
  channelIds: Set<string>;
  registrations: readonly Registration[];
  topics: readonly Topic[];
};

/**
 * The endpoints known to the system. Names are found in any case of letters and shown as they were added. Every change
 * of an endpoint is published as EndpointStateChange; of its state, as PeerStatusChange besides.
 */
export interface Endpoints {
  /** Makes an endpoint known; one that is known stays as it is. Publishes nothing. */
  add(technology: string, resource: string, state?: EndpointState): Endpoint;
  /** Forgets an endpoint; its technology stays known. */
  remove(technology: string, resource: string): void;
  list(): Iterable<Endpoint>;
  /** @throws AriError invalidTechnology when the technology is unknown or has no endpoint. */
  listByTechnology(technology: string): Iterable<Endpoint>;
  /** @throws AriError endpointNotFound */
  get(technology: string, resource: string): Endpoint;
  find(technology: string, resource: string): Endpoint | undefined;
  /** Its canonical name and state, without the list of its channels, which may be long. */
  status(technology: string, resource: string): EndpointStatus | undefined;
  /** The canonical spelling of a technology that has or had endpoints. */
  technology(name: string): string | undefined;
  /** Says whether calls would reach it; the state that it has already is no change. Unknown endpoints are ignored. */
  setState(technology: string, resource: string, state: EndpointState): void;
  /** Our registrations at its provider, as they are now; published where they have changed. Unknown endpoints are ignored. */
  setRegistrations(technology: string, resource: string, registrations: readonly Registration[]): void;
  /** A channel of the endpoint has come to life; unknown endpoints are ignored, here and below. */
  channelAdded(technology: string, resource: string, channelId: string): void;
  channelRemoved(technology: string, resource: string, channelId: string): void;
  /** The state of each endpoint, or of the one that is named, without its channels. */
  dump(name?: string): EndpointStatus[];
  /** Restores the states of present endpoints; no events are published. */
  restore(known: readonly EndpointStatus[]): void;
}

type EndpointStatus = { technology: string; resource: string; state: EndpointState };

type EndpointsOptions = {
  bus: Bus;
  /** Called for each removed endpoint: its subscriptions end. */
  onRemoved?: (topic: Topic, endpoint: Endpoint) => void;
};

const keyOf = (technology: string, resource: string): string => `${technology.toLowerCase()}/${resource.toLowerCase()}`;

const statusOf = ({ technology, resource, state }: Entry): EndpointStatus => ({ technology, resource, state });

const modelOf = ({ technology, resource, state, channelIds, registrations }: Entry): Endpoint => ({
  technology,
  resource,
  state,
  channel_ids: [...channelIds],
  ...(registrations.length > 0 && { registrations: [...registrations] }),
});

const noChannels = new Set<string>();

function publishChange(bus: Bus, entry: Entry): void {
  const { topics } = entry;
  // Each call of the endpoint publishes twice: the ids of all its calls are listed only if somebody reads them.
  const endpoint = bus.isRead(topics) ? modelOf(entry) : modelOf({ ...entry, channelIds: noChannels });
  bus.publish({ event: { type: 'EndpointStateChange', endpoint }, topics });
}

export function createEndpoints({ bus, onRemoved }: EndpointsOptions): Endpoints {
  const entries = new Map<string, Entry>();
  /** Lower case to canonical. */
  const technologies = new Map<string, string>();

  return {
    add(technology, resource, state = 'unknown') {
      const key = keyOf(technology, resource);
      const existing = entries.get(key);
      if (existing) return modelOf(existing);
      const folded = technology.toLowerCase();
      const canonical = technologies.get(folded) ?? technology;
      technologies.set(folded, canonical);
      const topics = endpointTopics(canonical, resource);
      const entry: Entry = { technology: canonical, resource, state, channelIds: new Set(), registrations: [], topics };
      entries.set(key, entry);
      return modelOf(entry);
    },

    remove(technology, resource) {
      const key = keyOf(technology, resource);
      const entry = entries.get(key);
      if (!entry) return;
      entries.delete(key);
      const [own] = entry.topics;
      if (own) onRemoved?.(own, modelOf(entry));
    },

    list: () => lazily([...entries], ([key, entry]) => (entries.get(key) === entry ? modelOf(entry) : undefined)),

    listByTechnology(technology) {
      const canonical = technologies.get(technology.toLowerCase());
      const found = [...entries.values()].filter((entry) => entry.technology === canonical);
      if (found.length === 0) throw new AriError('invalidTechnology', { technology });
      return found.map(modelOf);
    },

    get(technology, resource) {
      const entry = entries.get(keyOf(technology, resource));
      if (!entry) throw new AriError('endpointNotFound');
      return modelOf(entry);
    },

    find(technology, resource) {
      const entry = entries.get(keyOf(technology, resource));
      return entry && modelOf(entry);
    },

    status(technology, resource) {
      const entry = entries.get(keyOf(technology, resource));
      return entry && statusOf(entry);
    },

    technology: (name) => technologies.get(name.toLowerCase()),

    setState(technology, resource, state) {
      const entry = entries.get(keyOf(technology, resource));
      if (!entry || entry.state === state) return;
      entry.state = state;
      publishChange(bus, entry);
      if (state === 'unknown') return;
      bus.publish({
        event: {
          type: 'PeerStatusChange',
          endpoint: modelOf(entry),
          peer: { peer_status: state === 'online' ? 'Reachable' : 'Unreachable' },
        },
        topics: entry.topics,
      });
    },

    setRegistrations(technology, resource, registrations) {
      const entry = entries.get(keyOf(technology, resource));
      if (!entry || isDeepStrictEqual(entry.registrations, registrations)) return;
      entry.registrations = registrations;
      publishChange(bus, entry);
    },

    channelAdded(technology, resource, channelId) {
      const entry = entries.get(keyOf(technology, resource));
      if (!entry || entry.channelIds.has(channelId)) return;
      entry.channelIds.add(channelId);
      publishChange(bus, entry);
    },

    channelRemoved(technology, resource, channelId) {
      const entry = entries.get(keyOf(technology, resource));
      if (entry?.channelIds.delete(channelId)) publishChange(bus, entry);
    },

    dump: (name) => valuesOf(entries, name?.toLowerCase()).map(statusOf),

    restore(known) {
      for (const { technology, resource, state } of known) {
        const entry = entries.get(keyOf(technology, resource));
        if (entry) entry.state = state;
      }
    },
  };
}
