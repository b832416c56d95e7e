import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { TableWatch } from '../machines/table-run.ts';
import { AriError } from '../models/errors.ts';
import type { EventGroup } from '../models/event-group.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { GroupMemberDrained } from '../models/websocket-messages.ts';
import type { ConnectRequest } from './application-connections.ts';
import type { Applications } from './applications.ts';
import { ConsumerGroup, type GroupCall, type GroupMember, type Origin } from './consumer-group.ts';
import type { GroupCallDump } from './dumps.ts';

/** Whose connections share a group: a user, and its token if it came with one. */
type GroupUser = { readonly name: string; readonly token?: { readonly name: string } | undefined };

/** What a connection asks for with `group` and `member`. */
export type GroupRequest = { group: string; member: string | undefined };

/** A member of a group that may be at several nodes of a cluster. */
type ClusterMember = {
  /** Calls that it had when another node had the group: they stay its own. */
  calls: readonly GroupCall[];
  /** As {@link GroupMember.keeps}, for a member at another node. */
  keeps?: GroupMember['keeps'];
  /** Another node has the group from now on. `calls` are its own. */
  moved(calls: readonly GroupCall[]): void;
};

/** Groups of connections that share applications. */
export interface EventGroups {
  /** A way to register applications: as a member of a group in place of their only owner. */
  connect(user: GroupUser | undefined, request: GroupRequest, at?: ClusterMember): Connect;
  /** A node of the cluster is lost: see {@link ConsumerGroup.lose}. */
  lose(node: string): void;
  list(): EventGroup[];
  /** Gives a member no more new calls. @throws AriError groupMemberNotFound. */
  drain(application: string, group: string, member: string): void;
  /** Which member has which call: all, or the one of an id. */
  dump(id?: string): GroupCallDump[];
  /** The ids of all calls, for {@link EventGroups.dump}. */
  ids(): string[];
  /** Takes up saved calls: each is awaited by its member. */
  restore(dumps: readonly GroupCallDump[]): void;
  /** Members that have not come back by now are no longer awaited. */
  settle(): void;
}

type EventGroupsDeps = {
  applications: { connect: Connect } & Pick<Applications, 'eventsAfter' | 'subscribe' | 'figures'>;
  /** As {@link ConsumerGroup} needs it. */
  origin?: (() => Origin | undefined) | undefined;
  callOf(channel: string): string | undefined;
  /** Resolves when all events so far can be read again. */
  recorded(): Promise<void>;
  entityId: string;
  clock: Clock;
  log: Logger;
  /** Sees the charts of members; left out: nobody. */
  tables?: TableWatch | undefined;
  /** Hears the id of a call of which {@link EventGroups.dump} gives something else now. */
  changed?: ((id: string) => void) | undefined;
};

/** Registers applications, as their owner does. */
type Connect = (request: ConnectRequest) => { close(): void };

type Place = Pick<GroupCallDump, 'user' | 'token' | 'group' | 'application'>;

const placeOf = (
  user: string | undefined,
  token: string | undefined,
  named: Pick<Place, 'group' | 'application'>,
): Place => ({ ...named, ...(user !== undefined && { user }), ...(token !== undefined && { token }) });

/** Tells places apart, and with a call's key calls of all places. */
const keyOf = ({ user, token, group, application }: Place, ...call: string[]): string =>
  JSON.stringify([user ?? null, token ?? null, group, application, ...call]);

type Shared = {
  readonly place: Place;
  readonly application: string;
  readonly group: string;
  readonly consumers: ConsumerGroup;
  readonly requests: Map<ConnectRequest, { member: GroupMember; at: ClusterMember | undefined }>;
  connected: ReturnType<Connect> | undefined;
  subscribeAll: boolean;
  /** Another node takes the group over: its members go there. */
  moving: boolean;
};

/** Sources of `subscribeAll`. */
const everything = ['channel:', 'bridge:', 'endpoint:', 'deviceState:'];

/** The connection that a group looks like to the owner of applications. */
function connectionOf(shared: Shared, first: ConnectRequest, replaced: () => void) {
  const { application, group, consumers, requests } = shared;
  const last = first.resume?.get(application);
  const request: ConnectRequest = {
    names: [application],
    subscribeAll: first.subscribeAll,
    observes: first.observes,
    ...(last !== undefined && { resume: new Map([[application, last]]) }),
    describe: `group ${group} of ${application}`,
    group: keyOf(shared.place),
    send(json) {
      const isReplaced = json.startsWith('{"type":"ApplicationReplaced"');
      if (isReplaced) replaced();
      if (!(isReplaced && shared.moving)) consumers.take(json);
    },
    moves() {
      shared.moving = true;
      return () => {
        const calls = consumers.dump();
        for (const { member, at } of [...requests.values()])
          at?.moved(calls.filter((call) => call.member === member.name));
      };
    },
    unread: () => [...requests.keys()].reduce((octets, each) => octets + (each.unread?.() ?? 0), 0),
    get narrow() {
      const [any] = requests.keys();
      return any?.narrow;
    },
  };
  return request;
}

type GroupParts = Pick<EventGroupsDeps, 'tables' | 'callOf' | 'changed' | 'recorded' | 'log' | 'origin' | 'clock'> & {
  applications: Pick<Applications, 'eventsAfter'>;
};

/** The groups by user, name and application: users with different scopes share nothing. */
class GroupTable {
  readonly #parts: GroupParts;
  readonly #all = new Map<string, Shared>();
  #unnamed = 0;

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  all(): Shared[] {
    return [...this.#all.values()];
  }

  /** The group of a place; a new one is not kept yet. */
  of(place: Place): Shared {
    return this.#all.get(keyOf(place)) ?? this.#open(place);
  }

  keep(shared: Shared): void {
    this.#all.set(keyOf(shared.place), shared);
  }

  /** Another one may have taken its place. */
  forget(shared: Shared): void {
    const key = keyOf(shared.place);
    if (this.#all.get(key) === shared) this.#all.delete(key);
  }

  /** A name that the server makes: that of a nameless member which is awaited, or a new one. */
  nameIn({ consumers: { members } }: Shared): string {
    const awaited = members.find(({ name, away }) => away && /^member-\d+$/.test(name));
    if (awaited) return awaited.name;
    for (;;) {
      const name = `member-${++this.#unnamed}`;
      if (!members.some((each) => each.name === name)) return name;
    }
  }

  #open(place: Place): Shared {
    const { application, group } = place;
    const { applications, tables, callOf, changed, recorded, log, origin, clock } = this.#parts;
    const consumers = new ConsumerGroup({
      ...{ name: `${application} ${group}`, tables, callOf, origin, soon: (run) => void clock.setTimeout(run, 0) },
      changed: (call) => changed?.(keyOf(place, call)),
      async replay(after) {
        await recorded();
        return applications.eventsAfter(application, after);
      },
      onError: (error) => log.error({ error, application, group }, 'events of a group are not replayed'),
    });
    return {
      ...{ place, application, group, consumers, requests: new Map(), connected: undefined },
      ...{ subscribeAll: false, moving: false },
    };
  }
}

/** Which member has which call, as it is saved. */
function savedIn(table: GroupTable): Pick<EventGroups, 'ids' | 'dump' | 'restore' | 'settle'> {
  return {
    ids: () => table.all().flatMap(({ place, consumers }) => consumers.dump().map(({ call }) => keyOf(place, call))),
    dump(id) {
      const call = id === undefined ? undefined : (JSON.parse(id) as string[]).at(-1);
      const asked = table.all().filter(({ place }) => call === undefined || keyOf(place, call) === id);
      return asked.flatMap(({ place, consumers }) => consumers.dump(call).map((each) => ({ ...place, ...each })));
    },
    restore(dumps) {
      for (const { user, token, group, application, ...call } of dumps) {
        const shared = table.of(placeOf(user, token, { group, application }));
        table.keep(shared);
        shared.consumers.restore(call);
      }
    },
    settle() {
      for (const shared of table.all()) {
        shared.consumers.settle();
        if (shared.requests.size === 0) table.forget(shared);
      }
    },
  };
}

/** What operators see and do. */
function shownOf(table: GroupTable): Pick<EventGroups, 'list' | 'drain'> {
  return {
    list: () =>
      table.all().map(({ application, group, consumers }) => ({
        application,
        group,
        members: consumers.members.map(({ name, draining, away, calls }) => ({
          ...{ name, calls },
          state: away ? ('away' as const) : draining ? ('draining' as const) : ('active' as const),
        })),
      })),
    drain(application, group, member) {
      const found = table.all().filter((each) => each.application === application && each.group === group);
      if (!found.some(({ consumers }) => consumers.drain(member))) throw new AriError('groupMemberNotFound');
    },
  };
}

export function createEventGroups(deps: EventGroupsDeps): EventGroups {
  const { applications, entityId, clock, log } = deps;
  const table = new GroupTable(deps);

  const leave = (shared: Shared, member: GroupMember, request: ConnectRequest): void => {
    // Its calls go with it to the node that has the group now.
    if (!shared.moving) shared.consumers.leave(member);
    shared.requests.delete(request);
    if (shared.requests.size > 0) return;
    if (!shared.consumers.members.some(({ away }) => away)) table.forget(shared);
    shared.connected?.close();
    shared.connected = undefined;
  };

  /** Makes the group the owner of its application, unless it is that already. */
  const own = (shared: Shared, request: ConnectRequest): void => {
    table.keep(shared);
    if (!shared.connected) {
      shared.subscribeAll = request.subscribeAll === true;
      // Once another client has the application, who joins by this name takes it back.
      const connection = connectionOf(shared, request, () => table.forget(shared));
      shared.connected = applications.connect(connection);
    } else if (request.subscribeAll && !shared.subscribeAll) {
      shared.subscribeAll = true;
      applications.subscribe(shared.application, everything);
    }
  };

  const join = (
    place: Place,
    { member, at }: { member: string | undefined; at: ClusterMember | undefined },
    request: ConnectRequest,
  ) => {
    const { application, group } = place;
    const shared = table.of(place);
    const name = member ?? table.nameIn(shared);
    const joined: GroupMember = {
      ...{ name, keeps: at?.keeps },
      send: (json) => request.send(json),
      drained() {
        const message: GroupMemberDrained = {
          ...{ type: 'GroupMemberDrained', application, group, member: name, asterisk_id: entityId },
          timestamp: formatTimestamp(clock.now()),
        };
        request.send(JSON.stringify(message));
      },
    };
    shared.requests.set(request, { member: joined, at });
    // What they were told before has other numbers.
    const after = applications.figures(application).events;
    for (const call of at?.calls ?? []) shared.consumers.restore({ ...call, member: name, after });
    shared.consumers.join(joined);
    try {
      own(shared, request);
    } catch (error) {
      leave(shared, joined, request);
      throw error;
    }
    log.info({ application, group, member: name, connection: request.describe }, 'a member joined a group');
    return () => leave(shared, joined, request);
  };

  return {
    ...shownOf(table),
    ...savedIn(table),
    lose(node) {
      for (const { consumers } of table.all()) consumers.lose(node);
    },
    connect:
      (user, { group, member }, at) =>
      (request) => {
        const left: (() => void)[] = [];
        const close = (): void => {
          for (const leaves of left.splice(0)) leaves();
        };
        try {
          for (const application of new Set(request.names))
            left.push(join(placeOf(user?.name, user?.token?.name, { group, application }), { member, at }, request));
        } catch (error) {
          close();
          throw error;
        }
        return { close };
      },
  };
}
