import { type Bus, type Publication, readsNames } from '../bus/bus.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { longestOwnName } from './application-connections.ts';
import type { Applications } from './applications.ts';
import type { OutboundConnectionDump } from './dumps.ts';
import { dropSocket } from './outbound-connection-effects.ts';
import type { Connection, ConnectionStart, OutboundConnectionSettings } from './outbound-connection-entry.ts';

/** A connection for a call; `left` once the call has left the application, or never entered it. */
export type CallConnection = Connection & {
  readonly channelId: string;
  readonly admission: Promise<string | undefined>;
  readonly decide: (instance: string | undefined) => void;
  left: boolean;
};

type OutboundCallsOptions = {
  connections: readonly OutboundConnectionSettings[];
  applications: Pick<Applications, 'retire'>;
  bus: Bus;
  log: Logger;
  make(settings: OutboundConnectionSettings, names: readonly string[]): Connection;
  /** Starts a connection's chart; `onEnded` when it has ended. */
  begin(connection: CallConnection, start: ConnectionStart<CallConnection>): void;
};

/** Connections for one call each: opened when a channel enters, closed when it has left. */
interface OutboundCalls {
  /** The connection of an instance. */
  find(instance: string): CallConnection | undefined;
  /** As `OutboundConnections.admit`. */
  admit(app: string, channel: { id: string; name: string }): Promise<string | undefined> | undefined;
  all(): CallConnection[];
  /** Takes a connection up again. */
  restore(settings: OutboundConnectionSettings, dump: OutboundConnectionDump): void;
  /** Instances whose connection went before their call, with the call's channel. */
  orphans(): [instance: string, channelId: string][];
  restoreOrphans(orphans: readonly [instance: string, channelId: string][]): void;
  /** Forgets the calls whose connection went before them. */
  close(): void;
  readonly size: number;
}

/**
 * Tells connections of the ends of their calls. Events are only looked at while there are calls with a connection of
 * their own.
 * @returns a function to call after each change of `calls` and `orphans`.
 */
function createCallWatch(
  { bus, applications }: Pick<OutboundCallsOptions, 'bus' | 'applications'>,
  calls: SlotMap<string, CallConnection>,
  orphans: Map<string, string>,
): () => void {
  let unsubscribe: (() => void) | undefined;

  const callEnded = (instance: string, channelId: string): void => {
    const connection = calls.get(instance);
    if (connection?.channelId === channelId) {
      connection.left = true;
      connection.actor.send({ type: 'call.ended' });
    } else if (orphans.get(instance) === channelId) {
      orphans.delete(instance);
      applications.retire(instance);
    }
    watchCalls();
  };

  const listen = ({ event, to }: Publication): void => {
    if (event.type === 'StasisEnd' && to !== undefined) callEnded(to, event.channel.id);
    else if (event.type === 'StasisStart' && to !== undefined) {
      const connection = calls.get(to);
      if (connection?.channelId !== event.channel.id) return;
      connection.left = false;
      connection.actor.send({ type: 'call.entered' });
    } else if (event.type === 'ChannelDestroyed') {
      const { id } = event.channel;
      for (const [instance, { channelId }] of [...calls]) if (channelId === id) callEnded(instance, id);
      for (const [instance, channelId] of [...orphans]) if (channelId === id) callEnded(instance, id);
    }
  };

  const watchCalls = (): void => {
    const wanted = calls.size + orphans.size > 0;
    if (wanted) unsubscribe ??= bus.subscribe(listen, readsNames);
    else {
      unsubscribe?.();
      unsubscribe = undefined;
    }
  };

  return watchCalls;
}

/** Makes the owner of connections for calls. */
export function createOutboundCalls(options: OutboundCallsOptions): OutboundCalls {
  const { connections, applications, log, make, begin } = options;
  const perCall = new Map(
    connections.filter(({ kind }) => kind === 'call').flatMap((each) => each.apps.map((app) => [app, each] as const)),
  );
  /** By instance. */
  const calls = new SlotMap<string, CallConnection>();
  /** Instances whose connection went before their call: instance to channel id. */
  const orphans = new Map<string, string>();
  const watchCalls = createCallWatch(options, calls, orphans);

  /** Ends a connection. Another program may take over its name while the call is in the application. */
  const ended = (call: CallConnection, instance: string): void => {
    dropSocket(call, 1000, 'the call has left');
    call.decide(undefined);
    if (call.left) applications.retire(instance);
    else orphans.set(instance, call.channelId);
    watchCalls();
  };

  const connectCall = (
    settings: OutboundConnectionSettings,
    instance: string,
    channelId: string,
    from?: OutboundConnectionDump,
  ): CallConnection => {
    let decide!: CallConnection['decide'];
    const admission = new Promise<string | undefined>((resolve) => {
      decide = resolve;
    });
    const call = Object.assign(make(settings, [instance]), { channelId, admission, decide, left: from?.left ?? true });
    if (from) call.outbox.restore(from.waiting);
    begin(call, { id: instance, into: calls, onEnded: () => ended(call, instance), from: from?.actor });
    watchCalls();
    return call;
  };

  return {
    find: (instance) => calls.get(instance),

    admit(app, { id, name }) {
      const settings = perCall.get(app);
      if (!settings) return undefined;
      const instance = `${app}:${name}`;
      if (instance.length > longestOwnName) {
        log.warn({ application: app, channel: name }, 'a channel name is too long for an application of its own');
        return undefined;
      }
      const existing = calls.get(instance);
      existing?.actor.send({ type: 'call.entered' });
      return (existing ?? connectCall(settings, instance, id)).admission;
    },

    all: () => [...calls.values()],
    restore: (settings, dump) => void connectCall(settings, dump.actor.context.id, dump.channelId ?? '', dump),
    orphans: () => [...orphans],

    restoreOrphans(earlier) {
      for (const [instance, channelId] of earlier) orphans.set(instance, channelId);
      watchCalls();
    },

    close() {
      orphans.clear();
      watchCalls();
    },

    get size() {
      return calls.size;
    },
  };
}
