import type { ConnectRequest } from '../actors/application-connections.ts';
import type { Applications } from '../actors/applications.ts';
import { ConsumerGroup, type GroupMember, type Replay } from '../bus/consumer-group.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import type { EventGroup } from '../models/event-group.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { GroupMemberDrained } from '../models/websocket-messages.ts';
import type { HttpUser } from './user.ts';

/** What a connection asks for with `group` and `member`. */
export type GroupRequest = { group: string; member: string | undefined };

/** Groups of connections that share applications. */
export interface EventGroups {
  /** A way to register applications: as a member of a group in place of their only owner. */
  connect(user: HttpUser | undefined, request: GroupRequest): Connect;
  list(): EventGroup[];
  /** Gives a member no more new calls. @throws AriError groupMemberNotFound. */
  drain(application: string, group: string, member: string): void;
}

type EventGroupsDeps = {
  applications: { connect: Connect } & Pick<Applications, 'eventsAfter' | 'subscribe'>;
  callOf(channel: string): string | undefined;
  /** Resolves when all events so far can be read again. */
  recorded(): Promise<void>;
  entityId: string;
  clock: Clock;
  log: Logger;
};

/** Registers applications, as their owner does. */
type Connect = (request: ConnectRequest) => { close(): void };

type Shared = {
  readonly application: string;
  readonly group: string;
  readonly consumers: ConsumerGroup;
  readonly requests: Set<ConnectRequest>;
  connected: ReturnType<Connect> | undefined;
  subscribeAll: boolean;
};

/** Sources of `subscribeAll`. */
const everything = ['channel:', 'bridge:', 'endpoint:', 'deviceState:'];

/** The connection that a group looks like to the owner of applications. */
function connectionOf(
  { application, group, consumers, requests }: Shared,
  first: ConnectRequest,
  replaced: () => void,
) {
  const last = first.resume?.get(application);
  const request: ConnectRequest = {
    names: [application],
    subscribeAll: first.subscribeAll,
    observes: first.observes,
    ...(last !== undefined && { resume: new Map([[application, last]]) }),
    describe: `group ${group} of ${application}`,
    send(json) {
      if (json.startsWith('{"type":"ApplicationReplaced"')) replaced();
      consumers.take(json);
    },
    unread: () => [...requests].reduce((octets, each) => octets + (each.unread?.() ?? 0), 0),
    get narrow() {
      const [any] = requests;
      return any?.narrow;
    },
  };
  return request;
}

export function createEventGroups(deps: EventGroupsDeps): EventGroups {
  const { applications, callOf, entityId, clock, log } = deps;
  /** By user, group and application: users with different scopes share nothing. */
  const all = new Map<string, Shared>();
  let unnamed = 0;

  const replay = async (application: string, after: number): Promise<Replay> => {
    await deps.recorded();
    return applications.eventsAfter(application, after);
  };

  const open = (application: string, group: string, first: ConnectRequest): Shared => {
    const onError = (error: unknown) => log.error({ error, application, group }, 'events of a group are not replayed');
    const consumers = new ConsumerGroup({ callOf, replay: (after) => replay(application, after), onError });
    const requests = new Set<ConnectRequest>();
    const shared: Shared = { application, group, consumers, requests, connected: undefined, subscribeAll: false };
    shared.subscribeAll = first.subscribeAll === true;
    return shared;
  };

  const join = (key: string, application: string, { group, member }: GroupRequest, request: ConnectRequest) => {
    const shared = all.get(key) ?? open(application, group, request);
    const name = member ?? `member-${++unnamed}`;
    const joined: GroupMember = {
      name,
      send: (json) => request.send(json),
      drained() {
        const message: GroupMemberDrained = {
          ...{ type: 'GroupMemberDrained', application, group, member: name, asterisk_id: entityId },
          timestamp: formatTimestamp(clock.now()),
        };
        request.send(JSON.stringify(message));
      },
    };
    shared.requests.add(request);
    shared.consumers.join(joined);
    const leave = (): void => {
      shared.consumers.leave(joined);
      shared.requests.delete(request);
      if (shared.requests.size > 0) return;
      if (all.get(key) === shared) all.delete(key);
      shared.connected?.close();
    };
    try {
      if (!all.has(key)) {
        all.set(key, shared);
        // Once another client has the application, who joins by this name takes it back.
        const replaced = () => void (all.get(key) === shared && all.delete(key));
        shared.connected = applications.connect(connectionOf(shared, request, replaced));
      } else if (request.subscribeAll && !shared.subscribeAll) {
        shared.subscribeAll = true;
        applications.subscribe(application, everything);
      }
    } catch (error) {
      leave();
      throw error;
    }
    log.info({ application, group, member: name, connection: request.describe }, 'a member joined a group');
    return leave;
  };

  return {
    connect: (user, asked) => (request) => {
      const left: (() => void)[] = [];
      const close = (): void => {
        for (const leave of left.splice(0)) leave();
      };
      try {
        for (const application of new Set(request.names)) {
          const key = JSON.stringify([user?.name, user?.token?.name, asked.group, application]);
          left.push(join(key, application, asked, request));
        }
      } catch (error) {
        close();
        throw error;
      }
      return { close };
    },
    list: () =>
      [...all.values()].map(({ application, group, consumers }) => ({
        application,
        group,
        members: consumers.members.map(({ name, draining, calls }) => ({
          ...{ name, calls },
          state: draining ? ('draining' as const) : ('active' as const),
        })),
      })),
    drain(application, group, member) {
      const found = [...all.values()].filter((each) => each.application === application && each.group === group);
      if (!found.some(({ consumers }) => consumers.drain(member))) throw new AriError('groupMemberNotFound');
    },
  };
}
