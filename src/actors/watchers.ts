import type { Logger } from '../lib/log.ts';
import { isTelling, type WatcherEvent, type WatcherInput, watcherMachine } from '../machines/watcher.ts';
import type { WatcherView } from '../models/watcher.ts';
import type { WatcherAnswer, WatcherDetails, WatcherDriver, WatcherEnd, WatcherHost } from '../telephony/watchers.ts';
import { ActorTable } from './actor-table.ts';
import type { WatcherDump } from './dumps.ts';
import { type Actor, type Beginning, type Runtime, spawn } from './spawn.ts';

type WatcherActor = Actor<typeof watcherMachine>;

type WatchersOptions = { runtime: Runtime; log: Logger };

/** Owns the subscriptions of phones to BLF and to waiting messages. */
export interface Watchers extends WatcherHost {
  /** Makes the technology known that phones subscribe over. */
  attach(driver: WatcherDriver): void;
  /** Every watcher and what it watches, in the order of their first subscription. */
  list(): WatcherView[];
  readonly size: number;
  /** Every watcher, in the order of their first subscription. */
  dump(): WatcherDump[];
  /** Restores watchers. A NOTIFY in progress is sent again. */
  restore(dumps: readonly WatcherDump[]): void;
  /** Ends all watchers with a final NOTIFY. Resolves when each has answered or timed out. */
  close(): Promise<void>;
}

/** The watchers of each topic. */
class TopicIndex {
  readonly #topicsOf = new Map<string, readonly string[]>();
  readonly #byTopic = new Map<string, Set<string>>();

  /** Sets a watcher's topics; left out: none. */
  follow(id: string, topics: readonly string[] = []): void {
    for (const topic of this.#topicsOf.get(id) ?? []) {
      const ids = this.#byTopic.get(topic);
      ids?.delete(id);
      if (ids?.size === 0) this.#byTopic.delete(topic);
    }
    if (topics.length > 0) this.#topicsOf.set(id, topics);
    else this.#topicsOf.delete(id);
    for (const topic of topics) this.#byTopic.set(topic, (this.#byTopic.get(topic) ?? new Set()).add(id));
  }

  /** A copy, because watchers may leave while the list is notified. */
  watchersOf(topic: string): string[] {
    return [...(this.#byTopic.get(topic) ?? [])];
  }
}

/** Makes the owner of all watchers. */
export function createWatchers({ runtime, log }: WatchersOptions): Watchers {
  const actors = new ActorTable<WatcherActor>();
  const index = new TopicIndex();
  let driver: WatcherDriver | undefined;

  const notify = (id: string, attempt: number, end?: WatcherEnd): void => {
    const told: Promise<WatcherAnswer> =
      driver?.tellWatcher(id, end) ?? Promise.resolve({ type: 'lost', reason: 'no driver' });
    told.then(
      (answer) => actors.get(id)?.send({ ...answer, type: `notify.${answer.type}`, attempt } as WatcherEvent),
      (error: unknown) => {
        log.error({ watcher: id, error }, 'cannot notify a subscription');
        actors.get(id)?.send({ type: 'notify.lost', attempt, reason: 'it could not be sent' });
      },
    );
  };

  const machine = watcherMachine.provide({
    actions: {
      notifyWatcher: ({ context }, { attempt }) => notify(context.watcher.id, attempt),
      dismissWatcher: ({ context }, { attempt, end }) => notify(context.watcher.id, attempt, end),
    },
  });

  const begin = (watcher: WatcherDetails, beginning: Beginning<WatcherInput>): void => {
    const { id, endpoint } = watcher;
    spawn(machine, {
      id,
      ...beginning,
      runtime,
      onCreated: (actor) => {
        actors.set(id, actor);
        index.follow(id, watcher.topics);
      },
      onEnded: () => {
        const snapshot = actors.get(id)?.getSnapshot();
        actors.delete(id);
        index.follow(id);
        if (snapshot?.value === 'lost')
          log.info({ endpoint, reason: snapshot.context.reason }, 'the subscription of a phone is lost');
        driver?.watcherEnded(id);
      },
    });
  };

  return {
    attach(technology) {
      driver = technology;
    },

    subscribed(watcher) {
      const actor = actors.get(watcher.id);
      if (!actor) return begin(watcher, { input: { watcher } });
      index.follow(watcher.id, watcher.topics);
      actor.send({ type: 'watcher.renewed', watcher });
    },

    unsubscribed: (id) => actors.get(id)?.send({ type: 'watcher.withdrawn' }),

    moved(id, topics) {
      const actor = actors.get(id);
      if (!actor) return;
      index.follow(id, topics);
      actor.send({ type: 'subject.moved', topics });
    },

    gone: (id, end) => actors.get(id)?.send({ type: 'subject.gone', end }),

    changed(topic) {
      for (const id of index.watchersOf(topic)) actors.get(id)?.send({ type: 'subject.changed' });
    },

    list: () =>
      [...actors.values()].map((actor) => {
        const { value, context } = actor.getSnapshot();
        const { technology, endpoint, topics } = context.watcher;
        return { endpoint: `${technology}/${endpoint}`, topics: [...topics], state: value, told: context.attempt };
      }),
    get size() {
      return actors.size;
    },

    dump: () => [...actors.values()].map((actor) => actor.dump() as WatcherDump),

    restore(dumps) {
      for (const from of dumps) {
        const watcher = from.context.watcher as WatcherDetails;
        begin(watcher, { from });
        const snapshot = actors.get(watcher.id)?.getSnapshot();
        if (!snapshot || !isTelling(snapshot)) continue;
        // The awaited response is lost: the NOTIFY is sent again.
        const { attempt, end } = snapshot.context;
        if (snapshot.value === 'dismissing') notify(watcher.id, attempt, end === '' ? 'timeout' : end);
        else notify(watcher.id, attempt);
      }
    },

    close: () => actors.close(),
  };
}
