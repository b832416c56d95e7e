import type { Bus } from '../bus/bus.ts';
import type { Delivery } from '../bus/delivery.ts';
import { allBridges, allChannels, allDeviceStates, allEndpoints, type Topic } from '../bus/topics.ts';
import type { Application } from '../models/application.ts';
import { AriError } from '../models/errors.ts';
import type { AriEventBodyOf } from '../models/events.ts';
import { requireWithin } from '../models/limits.ts';
import type { ApplicationActor } from './application-connections.ts';
import { type EventSourceLookup, subjectOf, topicOf } from './event-sources.ts';
import type { Registry } from './registry.ts';
export type UserEventRequest = {
  application?: string | undefined;
  /** Event sources of the channels and endpoints that it is about. */
  source?: readonly string[] | undefined;
  /** Any value of the client. The members of an object appear in the event. */
  variables?: unknown;
};

type ApplicationSubscriptionsOptions = {
  bus: Bus;
  registry: Registry<ApplicationActor>;
  delivery: Delivery;
  resolve: EventSourceLookup;
  /** Most subscriptions of one application. */
  limit: number;
};

/** Names of Asterisk for subscriptions to all objects of a type. */
const allNames: ReadonlyMap<Topic, string> = new Map([
  [allChannels, '__AST_CHANNEL_ALL_TOPIC'],
  [allBridges, '__AST_BRIDGE_ALL_TOPIC'],
  [allEndpoints, '__AST_ENDPOINT_ALL_TOPIC'],
  [allDeviceStates, '__AST_DEVICE_STATE_ALL_TOPIC'],
]);

const membersOf = (body: unknown): object =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};

/** What clients ask of the subscriptions of an application, as {@link Applications} describes it. */
export function createApplicationSubscriptions({
  bus,
  registry,
  delivery,
  resolve,
  limit,
}: ApplicationSubscriptionsOptions) {
  const model = (name: string): Application => {
    const ids: Record<string, string[]> = { channel: [], bridge: [], endpoint: [], deviceState: [] };
    for (const topic of delivery.topicsOf(name)) {
      const colon = topic.indexOf(':');
      ids[topic.slice(0, colon)]?.push(allNames.get(topic) ?? topic.slice(colon + 1));
    }
    const { allowed, disallowed } = delivery.filterOf(name);
    const sorted = (type: string): string[] => (ids[type] ?? []).sort();
    return {
      name,
      channel_ids: sorted('channel'),
      bridge_ids: sorted('bridge'),
      endpoint_ids: sorted('endpoint'),
      device_names: sorted('deviceState'),
      events_allowed: [...allowed],
      events_disallowed: [...disallowed],
    };
  };

  const each = (
    name: string,
    eventSources: readonly string[] | undefined,
    missing: 'eventSourceNotFound' | 'eventSourceNotSubscribed',
    apply: (topic: Topic) => void,
  ): Application => {
    if (!eventSources || eventSources.length === 0) throw new AriError('eventSourceRequired');
    registry.get(name);
    for (const source of eventSources) apply(topicOf(source, resolve, missing));
    return model(name);
  };

  return {
    model,

    subscribe(name: string, eventSources: readonly string[] | undefined): Application {
      const held = delivery.topicsOf(name);
      if (registry.has(name) && held.length + (eventSources?.length ?? 0) > limit) {
        const wanted = (eventSources ?? []).map((source) => topicOf(source, resolve, 'eventSourceNotFound'));
        const all = new Set([...held, ...wanted]);
        if (all.size > held.length) requireWithin('subscriptions', all.size, limit);
      }
      return each(name, eventSources, 'eventSourceNotFound', (topic) => void delivery.subscribe(name, topic));
    },

    unsubscribe: (name: string, eventSources: readonly string[] | undefined): Application =>
      each(name, eventSources, 'eventSourceNotSubscribed', (topic) => {
        if (!delivery.unsubscribe(name, topic)) throw new AriError('eventSourceNotSubscribed');
      }),

    filter(name: string, body: unknown): Application {
      registry.get(name);
      delivery.setFilter(name, body);
      return model(name);
    },

    userEvent(eventName: string, { application, source = [], variables }: UserEventRequest): void {
      if (!application) throw new AriError('userEventApplicationRequired');
      registry.get(application);
      const event: AriEventBodyOf<'ChannelUserevent'> = {
        type: 'ChannelUserevent',
        eventname: eventName,
        userevent: { ...membersOf(variables), eventname: eventName },
        ...subjectOf(source, resolve),
      };
      bus.publish({ event, topics: [], to: application });
    },
  };
}
