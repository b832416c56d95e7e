import type { Subscriptions } from './subscriptions.ts';
import type { Topic } from './topics.ts';

/** What applications are subscribed to. Subscriptions are counted by references. */
export interface Interests {
  /** One reference more. False when the application is unknown, or hears all of the type already. */
  subscribe(name: string, topic: Topic): boolean;
  /** One reference less. False when there was none. */
  unsubscribe(name: string, topic: Topic): boolean;
  /** Removes all subscriptions to an object that has ended. */
  forget(topic: Topic): void;
  /** Whether a subscription to a channel, bridge or endpoint is left; device states do not count. */
  isHeld(name: string): boolean;
  isSubscribed(name: string, topic: Topic): boolean;
  topicsOf(name: string): readonly Topic[];
}

const isHolding = (topic: Topic): boolean => !topic.startsWith('deviceState:');

/** What applications are subscribed to. */
export function createInterests<Receiver extends { name: string }>(
  receivers: ReadonlyMap<string, Receiver>,
  subscriptions: Subscriptions<Receiver>,
  onReleased: (name: string) => void,
): Interests {
  const tellReleased = (receiver: Receiver, topic: Topic): void => {
    if (isHolding(topic) && !subscriptions.some(receiver, isHolding)) onReleased(receiver.name);
  };

  return {
    subscribe(name, topic) {
      const receiver = receivers.get(name);
      return receiver ? subscriptions.subscribe(receiver, topic) : false;
    },

    unsubscribe(name, topic) {
      const receiver = receivers.get(name);
      if (!receiver || !subscriptions.unsubscribe(receiver, topic)) return false;
      tellReleased(receiver, topic);
      return true;
    },

    forget(topic) {
      for (const receiver of subscriptions.forget(topic)) tellReleased(receiver, topic);
    },

    isHeld(name) {
      const receiver = receivers.get(name);
      return receiver ? subscriptions.some(receiver, isHolding) : false;
    },

    topicsOf(name) {
      const receiver = receivers.get(name);
      return receiver ? subscriptions.topicsOf(receiver) : [];
    },

    isSubscribed: (name, topic) => receivers.has(name) && subscriptions.count(receivers.get(name)!, topic) > 0,
  };
}
