import { type Bus, readsNames } from '../bus/bus.ts';
import type { ChannelContext } from '../machines/channel.ts';
import { callOf } from '../machines/channel-vocabulary.ts';
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
  /** How many live channels a user has made, here and elsewhere. From now on others are told of changes. */
  channelsOf(user: string): number;
  /** Things whose makers are kept. */
  readonly size: number;
  dump(): CreatorDump[];
  restore(dump: readonly CreatorDump[]): void;
  close(): void;
}

/** Live channels by the user who made them, in a cluster. */
type SharedCounts = {
  /** Tells other nodes how many there are here. */
  tell(user: string, channels: number): void;
  /** How many there are at other nodes. */
  elsewhere(user: string): number;
};

const alone: SharedCounts = { tell() {}, elsewhere: () => 0 };

/** Create it before delivery, which uses it for events. */
export function createObjectOwnership(bus: Pick<Bus, 'subscribe'>, shared: SharedCounts = alone): ObjectOwnership {
  const lookup: Partial<ThingLookup> = {};
  const creators = new Map<string, CreatorDump>();
  /** Live channels by the user who made them. */
  const made = new Map<string, number>();
  /** Users whose channels are limited. */
  const limited = new Set<string>();
  let current: Creator | undefined;
  const keyOf = (kind: CreatorDump['kind'], id: string): string => `${kind}:${id}`;
  const count = ({ kind, user }: CreatorDump, change: 1 | -1): void => {
    if (kind !== 'channel') return;
    const channels = (made.get(user) ?? 0) + change;
    if (channels > 0) made.set(user, channels);
    else made.delete(user);
    if (limited.has(user)) shared.tell(user, channels);
  };
  const keep = (line: CreatorDump): void => {
    creators.set(keyOf(line.kind, line.id), line);
    count(line, 1);
  };
  const note = (kind: CreatorDump['kind'], id: string, { user, application }: Creator): void =>
    keep({ kind, id, user, ...(application === undefined ? {} : { application }) });
  const forget = (kind: CreatorDump['kind'], id: string): void => {
    const line = creators.get(keyOf(kind, id));
    if (line && creators.delete(keyOf(kind, id))) count(line, -1);
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
    callOf(id) {
      const linked = lookup.channel?.(id)?.actor.getSnapshot().context.linked;
      return linked && callOf(linked);
    },
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
          if (event.type === 'BridgeDestroyed') forget('bridge', event.bridge.id);
          else if (event.type === 'ChannelDestroyed') forget('channel', event.channel.id);
        }, readsNames),
      );
    },
    channelsOf(user) {
      const here = made.get(user) ?? 0;
      if (!limited.has(user)) {
        limited.add(user);
        shared.tell(user, here);
      }
      return here + shared.elsewhere(user);
    },
    get size() {
      return creators.size;
    },
    dump: () => [...creators.values()],
    restore(dump) {
      for (const line of dump) keep(line);
    },
    close() {
      for (const end of unsubscribe) end();
    },
  };
}
