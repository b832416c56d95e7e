import { type Bus, type Publication, readsNames } from '../bus/bus.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { type ConnectionCallRun, connectionCallTable } from '../machines/connection-call.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import { longestOwnName } from './application-connections.ts';
import type { Applications } from './applications.ts';
import type { OutboundConnectionDump } from './dumps.ts';
import { dropSocket } from './outbound-connection-effects.ts';
import type { Connection, ConnectionStart, OutboundConnectionSettings } from './outbound-connection-entry.ts';

/** A connection for a call, and the chart of that call. */
export type CallConnection = Connection & {
  readonly channelId: string;
  readonly admission: Promise<string | undefined>;
  readonly decide: (instance: string | undefined) => void;
  readonly run: ConnectionCallRun;
};

/** A call whose connection is closed. */
type Orphan = Pick<CallConnection, 'channelId' | 'run'>;

type OutboundCallsOptions = {
  connections: readonly OutboundConnectionSettings[];
  applications: Pick<Applications, 'retire'>;
  bus: Bus;
  log: Logger;
  tables: TableWatch | undefined;
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
  bus: Bus,
  calls: SlotMap<string, CallConnection>,
  orphans: ReadonlyMap<string, Orphan>,
): () => void {
  let unsubscribe: (() => void) | undefined;

  const callEnded = (instance: string, channelId: string): void => {
    const call = [calls.get(instance), orphans.get(instance)].find((each) => each?.channelId === channelId);
    call?.run.send({ type: 'call.left' });
    watchCalls();
  };

  const listen = ({ event, to }: Publication): void => {
    if (event.type === 'StasisEnd' && to !== undefined) callEnded(to, event.channel.id);
    else if (event.type === 'StasisStart' && to !== undefined) {
      const connection = calls.get(to);
      if (connection?.channelId === event.channel.id) connection.run.send({ type: 'call.entered' });
    } else if (event.type === 'ChannelDestroyed') {
      const { id } = event.channel;
      for (const [instance, { channelId }] of [...calls, ...orphans]) if (channelId === id) callEnded(instance, id);
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
  const { connections, applications, log, make, begin, tables } = options;
  const perCall = new Map(
    connections.filter(({ kind }) => kind === 'call').flatMap((each) => each.apps.map((app) => [app, each] as const)),
  );
  /** By instance. */
  const calls = new SlotMap<string, CallConnection>();
  /** Calls whose connection went before them, by instance. */
  const orphans = new Map<string, Orphan>();
  const watchCalls = createCallWatch(options.bus, calls, orphans);

  const runCall = (instance: string, channelId: string, from: ConnectionCallRun['state']): ConnectionCallRun => {
    const effects = {
      keepConnection: () => calls.get(instance)?.actor.send({ type: 'call.entered' }),
      endConnection: () => calls.get(instance)?.actor.send({ type: 'call.ended' }),
      keepInstance: () => void orphans.set(instance, { channelId, run }),
      retireInstance() {
        if (orphans.get(instance)?.run === run) orphans.delete(instance);
        applications.retire(instance);
      },
    };
    const watched = { watch: tables, id: channelId, lazily: true } as const;
    const run: ConnectionCallRun = new TableRun(connectionCallTable, from, effects, watched);
    return run;
  };

  /** A connection has ended. Another program may take over its name while the call is in the application. */
  const ended = (call: CallConnection): void => {
    dropSocket(call, 1000, 'the call has left');
    call.decide(undefined);
    call.run.send({ type: 'connection.ended' });
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
    const run = runCall(instance, channelId, from?.left === false ? 'inside' : 'outside');
    const call = Object.assign(make(settings, [instance]), { channelId, admission, decide, run });
    if (from) call.outbox.restore(from.waiting);
    begin(call, { id: instance, into: calls, onEnded: () => ended(call), from: from?.actor });
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
    orphans: () => [...orphans].map(([instance, { channelId }]) => [instance, channelId]),

    restoreOrphans(earlier) {
      for (const [instance, channelId] of earlier)
        orphans.set(instance, { channelId, run: runCall(instance, channelId, 'orphaned') });
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
