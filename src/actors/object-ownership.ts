import { type Bus, readsNames } from '../bus/bus.ts';
import type { ChannelContext } from '../machines/channel.ts';
import type { OwnershipContext } from '../machines/ownership.ts';

/** The creator of an object that names no application itself. */
type Creator = {
  /** The user of the interface. */
  user: string;
  /** The application whose WebSocket the request came over. */
  application?: string | undefined;
};

/** One line of a dump. */
type CreatorDump = { kind: 'channel' | 'bridge'; id: string; user: string; application?: string };

/** Lookup of objects: each part of the system adds its own as it is built. */
type ThingLookup = {
  /** By id or name. */
  channel(idOrName: string):
    | {
        readonly actor: { getSnapshot(): { context: Pick<ChannelContext, 'linked'> } };
        readonly ownership: { getSnapshot(): { context: OwnershipContext } };
      }
    | undefined;
  bridge(id: string): { readonly stays: ReadonlyMap<string, unknown> } | undefined;
};

/** Which application owns the objects of a call. */
export interface ObjectOwnership {
  /**
   * The application that a channel is in, was in last, is asked into or was made for; empty for none, undefined when there
   * is no such channel. By id or name.
   */
  applicationOf(channel: string): string | undefined;
  /** Whether a channel came from the dialplan, and goes on there after its application; undefined without a channel. */
  ranDialplan(channel: string): boolean | undefined;
  /** The call (`linkedid`) of a channel; undefined if there is no such channel. */
  callOf(channel: string): string | undefined;
  /** The members of a bridge; undefined for an unknown bridge. */
  membersOf(bridge: string): readonly string[] | undefined;
  /** The creator of an object; undefined if unknown or ended. */
  creatorOf(kind: CreatorDump['kind'], id: string): Creator | undefined;
  /** Channels and bridges that are made before `run` returns are kept as made by `creator`, until they are gone. */
  by<T>(creator: Creator, run: () => T): T;
  /** From now on things are looked up there. */
  add(lookup: Partial<ThingLookup>): void;
  /** Starts to forget ended objects. Called once, after all listeners that need the owner of ended objects. */
  forgetWhatIsGone(): void;
  /** Things whose makers are kept. */
  readonly size: number;
  dump(): CreatorDump[];
  restore(dump: readonly CreatorDump[]): void;
  close(): void;
}

/** Create it before delivery, which uses it for events. */
export function createObjectOwnership(bus: Pick<Bus, 'subscribe'>): ObjectOwnership {
  const lookup: Partial<ThingLookup> = {};
  const creators = new Map<string, CreatorDump>();
  let current: Creator | undefined;
  const keyOf = (kind: CreatorDump['kind'], id: string): string => `${kind}:${id}`;
  const note = (kind: CreatorDump['kind'], id: string, { user, application }: Creator): void => {
    creators.set(keyOf(kind, id), { kind, id, user, ...(application === undefined ? {} : { application }) });
  };
  const unsubscribe = [
    bus.subscribe(({ event }) => {
      if (current === undefined) return;
      if (event.type === 'BridgeCreated') note('bridge', event.bridge.id, current);
      else if (event.type === 'ChannelCreated') note('channel', event.channel.id, current);
    }, readsNames),
  ];
  return {
    applicationOf(idOrName) {
      const context = lookup.channel?.(idOrName)?.ownership.getSnapshot().context;
      if (!context) return undefined;
      const { app, onAnswer } = context;
      return app || (onAnswer?.type === 'application' ? onAnswer.app : '');
    },
    ranDialplan(idOrName) {
      const context = lookup.channel?.(idOrName)?.ownership.getSnapshot().context;
      return context && context.resume !== undefined;
    },
    callOf: (id) => lookup.channel?.(id)?.actor.getSnapshot().context.linked.id,
    membersOf(id) {
      const bridge = lookup.bridge?.(id);
      return bridge && [...bridge.stays.keys()];
    },
    creatorOf: (kind, id) => creators.get(keyOf(kind, id)),
    by(creator, run) {
      const before = current;
      current = creator;
      try {
        return run();
      } finally {
        current = before;
      }
    },
    add: (more) => void Object.assign(lookup, more),
    forgetWhatIsGone() {
      unsubscribe.push(
        bus.subscribe(({ event }) => {
          if (creators.size === 0) return;
          if (event.type === 'BridgeDestroyed') creators.delete(keyOf('bridge', event.bridge.id));
          else if (event.type === 'ChannelDestroyed') creators.delete(keyOf('channel', event.channel.id));
        }, readsNames),
      );
    },
    get size() {
      return creators.size;
    },
    dump: () => [...creators.values()],
    restore(dump) {
      for (const line of dump) creators.set(keyOf(line.kind, line.id), line);
    },
    close() {
      for (const end of unsubscribe) end();
    },
  };
}
