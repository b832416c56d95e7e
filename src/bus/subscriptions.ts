import { allOf, type Topic, type TopicType } from './topics.ts';

const typeOf = (topic: Topic): TopicType => topic.slice(0, topic.indexOf(':')) as TopicType;

/**
 * Counted subscriptions: a subscriber gets a topic from its first reference to the end of its last. The rules are
 * Asterisk's, without its accidents:
 *
 * - One call, one reference; also for "all of a type" and for device states.
 * - A subscriber to all of a type gains nothing from a single one: the call succeeds and is not counted. Earlier
 *   references stay; the delivery prevents duplicates.
 * - All references to a topic end with its object.
 *
 * A lookup costs the interested subscribers, not all subscriptions: there is an index from topic to subscribers.
 */
export class Subscriptions<S> {
  readonly #counts = new Map<S, Map<Topic, number>>();
  readonly #subscribers = new Map<Topic, Set<S>>();
  readonly #changed: (subscriber: S, topic: Topic, count: number) => void;

  /** @param changed hears each changed number of references, 0 at the end; not of restored ones */
  constructor(changed: (subscriber: S, topic: Topic, count: number) => void = () => {}) {
    this.#changed = changed;
  }

  /** Adds one reference. @returns false when it was not counted because all of the type are subscribed already. */
  subscribe(subscriber: S, topic: Topic): boolean {
    const counts = this.#ownCounts(subscriber);
    const all = allOf(typeOf(topic));
    if (topic !== all && counts.has(all)) return false;
    counts.set(topic, (counts.get(topic) ?? 0) + 1);
    this.#changed(subscriber, topic, counts.get(topic) ?? 0);
    const subscribers = this.#subscribers.get(topic);
    if (subscribers) subscribers.add(subscriber);
    else this.#subscribers.set(topic, new Set([subscriber]));
    return true;
  }

  /** Takes one reference away. @returns false when there was none. */
  unsubscribe(subscriber: S, topic: Topic): boolean {
    const counts = this.#counts.get(subscriber);
    const count = counts?.get(topic);
    if (!counts || count === undefined) return false;
    this.#changed(subscriber, topic, count - 1);
    if (count > 1) {
      counts.set(topic, count - 1);
      return true;
    }
    counts.delete(topic);
    if (counts.size === 0) this.#counts.delete(subscriber);
    this.#unlink(subscriber, topic);
    return true;
  }

  /** The object of a topic has died. @returns who lost a subscription by it. */
  forget(topic: Topic): readonly S[] {
    const subscribers = this.#subscribers.get(topic);
    if (!subscribers) return [];
    this.#subscribers.delete(topic);
    for (const subscriber of subscribers) {
      const counts = this.#counts.get(subscriber);
      counts?.delete(topic);
      if (counts?.size === 0) this.#counts.delete(subscriber);
      this.#changed(subscriber, topic, 0);
    }
    return [...subscribers];
  }

  /** Forgets a subscriber and everything it is subscribed to. */
  remove(subscriber: S): void {
    const counts = this.#counts.get(subscriber);
    if (!counts) return;
    this.#counts.delete(subscriber);
    for (const topic of counts.keys()) {
      this.#unlink(subscriber, topic);
      this.#changed(subscriber, topic, 0);
    }
  }

  /** Its references to a topic; 0 when none. */
  count(subscriber: S, topic: Topic): number {
    return this.#counts.get(subscriber)?.get(topic) ?? 0;
  }

  /** Its topics, each once, in the order of subscribing. */
  topicsOf(subscriber: S): readonly Topic[] {
    const counts = this.#counts.get(subscriber);
    return counts ? [...counts.keys()] : [];
  }

  /** Its topics with their references, in the order of subscribing. */
  countsOf(subscriber: S): [Topic, number][] {
    return [...(this.#counts.get(subscriber) ?? [])];
  }

  /** Gives a subscriber that has none the references that {@link countsOf} told of an earlier one. */
  restore(subscriber: S, counts: readonly (readonly [Topic, number])[]): void {
    if (counts.length > 0) this.#counts.set(subscriber, new Map(counts));
    for (const [topic] of counts) {
      const subscribers = this.#subscribers.get(topic) ?? new Set();
      this.#subscribers.set(topic, subscribers.add(subscriber));
    }
  }

  /** Whether any of its topics passes the test; stops at the first. */
  some(subscriber: S, test: (topic: Topic) => boolean): boolean {
    const counts = this.#counts.get(subscriber);
    if (counts) for (const topic of counts.keys()) if (test(topic)) return true;
    return false;
  }

  /** The subscribers of one topic, in the order of subscribing; undefined when there are none. Do not keep. */
  of(topic: Topic): ReadonlySet<S> | undefined {
    return this.#subscribers.get(topic);
  }

  /** Number of subscribed topics, for metrics and leak checks. */
  get topics(): number {
    return this.#subscribers.size;
  }

  #ownCounts(subscriber: S): Map<Topic, number> {
    const existing = this.#counts.get(subscriber);
    if (existing) return existing;
    const counts = new Map<Topic, number>();
    this.#counts.set(subscriber, counts);
    return counts;
  }

  #unlink(subscriber: S, topic: Topic): void {
    const subscribers = this.#subscribers.get(topic);
    subscribers?.delete(subscriber);
    if (subscribers?.size === 0) this.#subscribers.delete(topic);
  }
}
