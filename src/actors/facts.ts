import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';

/** Ends a subscription: its listener is not called again, not even for the fact that is being published. */
type Unsubscribe = () => void;

type Listener<O, F> = (object: O, fact: F) => void;
type Subscription<O, F> = { readonly listener: Listener<O, F>; isLive: boolean };
type Subscriptions<O, F> = readonly Subscription<O, F>[];

const none: readonly never[] = [];

/**
 * The facts of one kind of object, such as channels. Listeners subscribe to one object, to one type of fact, or to all.
 * They hear facts in the order of commits: first those of the type, then those of all, then those of the object, each in
 * the order of subscription. An exception of a listener is logged; the others still hear the fact.
 */
export class Facts<O extends { readonly id: string }, F extends { readonly type: string }> {
  readonly #log: Pick<Logger, 'error'>;
  #all: Subscriptions<O, F> = none;
  readonly #byType = new Map<string, Subscriptions<O, F>>();
  readonly #byId = new SlotMap<string, Subscriptions<O, F>>();

  constructor(log: Pick<Logger, 'error'>) {
    this.#log = log;
  }

  /** Hears every fact of every object. */
  all(listener: Listener<O, F>): Unsubscribe {
    const own = { listener, isLive: true };
    this.#all = [...this.#all, own];
    return () => {
      own.isLive = false;
      this.#all = this.#all.filter((other) => other !== own);
    };
  }

  /** Hears one type of fact of every object. */
  on<T extends F['type']>(type: T, listener: Listener<O, Extract<F, { type: T }>>): Unsubscribe {
    const own: Subscription<O, F> = { listener: listener as Listener<O, F>, isLive: true };
    return subscribe(this.#byType, type, own);
  }

  /** Hears every fact of one object until it unsubscribes, or until {@link forget}. */
  of(id: string, listener: (fact: F) => void): Unsubscribe {
    return subscribe(this.#byId, id, { listener: (_object, fact) => listener(fact), isLive: true });
  }

  /** Whether somebody listens to this one object. */
  isHeard(id: string): boolean {
    return this.#byId.size > 0 && this.#byId.has(id);
  }

  /** Tells all who listen. @returns whether none of them failed. */
  publish(object: O, fact: F): boolean {
    const ofType = this.#byType.get(fact.type);
    const first = ofType === undefined || this.#tell(ofType, object, fact);
    const second = this.#tell(this.#all, object, fact);
    return this.publishTo(object, fact) && first && second;
  }

  /** Tells those who listen to this one object. @returns whether none of them failed. */
  publishTo(object: O, fact: F): boolean {
    const own = this.#byId.size === 0 ? undefined : this.#byId.get(object.id);
    return own === undefined || this.#tell(own, object, fact);
  }

  /** The object is gone: nobody listens to it any more. */
  forget(id: string): void {
    for (const subscription of this.#byId.get(id) ?? none) subscription.isLive = false;
    this.#byId.delete(id);
  }

  /** Objects that somebody listens to: for tests. */
  get size(): number {
    return this.#byId.size;
  }

  #tell(subscriptions: Subscriptions<O, F>, object: O, fact: F): boolean {
    let areWell = true;
    for (const subscription of subscriptions) {
      if (!subscription.isLive) continue;
      try {
        subscription.listener(object, fact);
      } catch (error) {
        areWell = false;
        this.#log.error({ id: object.id, fact: fact.type, error }, 'a listener of facts failed');
      }
    }
    return areWell;
  }
}

type Table<S> = { get(key: string): readonly S[] | undefined; set(key: string, value: readonly S[]): unknown };

function subscribe<S extends { isLive: boolean }>(
  table: Table<S> & { delete(key: string): boolean },
  key: string,
  own: S,
): Unsubscribe {
  table.set(key, [...(table.get(key) ?? none), own]);
  return () => {
    if (!own.isLive) return;
    own.isLive = false;
    const left = (table.get(key) ?? none).filter((other) => other !== own);
    if (left.length > 0) table.set(key, left);
    else table.delete(key);
  };
}
