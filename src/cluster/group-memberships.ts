import type { Connected, ConnectRequest } from '../actors/application-connections.ts';
import type { GroupCall } from '../actors/consumer-group.ts';
import type { EventGroups, GroupRequest } from '../actors/event-groups.ts';
import type { Narrow } from '../bus/delivery.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import {
  type GroupMembershipEvent,
  type GroupMembershipRun,
  groupMembershipTable,
} from '../machines/group-membership.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import { AriError } from '../models/errors.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { EventsLost } from '../models/websocket-messages.ts';
import { readFrame, writeFrame } from './frame.ts';

/**
 * One node has a group of WebSockets that share an application: its *home*, the node that has the application. The
 * WebSockets of other nodes have a *membership* there. The home chooses the member of each call, and sends it the events.
 */

/** Asks the home for a membership. */
export type MembershipAsked = {
  /** Names the membership in all messages. */
  id: string;
  /** The node of the WebSocket. */
  node: string;
  application: string;
  group: string;
  member?: string | undefined;
  subscribeAll: boolean;
  observes: boolean;
  resume?: number | undefined;
  /** Calls that it had at an earlier home. */
  calls: GroupCall[];
  describe: string;
};

/** The answer: it is taken, the application is at another node, or it may not join. */
type MembershipAnswer = { taken: true } | { elsewhere: true } | { refused: string };

/** Whose WebSocket it is. Its password does not leave the node. */
type MemberUser = NonNullable<Parameters<EventGroups['connect']>[0]>;

export interface GroupMemberships {
  /** As {@link EventGroups.connect}, at the node that has the application. */
  connect: EventGroups['connect'];
  /** Another node asks for a membership here. @param narrow the event filter of its user */
  take(asked: MembershipAsked, user: object, narrow: Narrow | undefined): MembershipAnswer;
  /** Takes a message of another node. */
  hear(data: Uint8Array): void;
  /** A node is lost: its memberships here, and the memberships of this node there. */
  drop(node: string): void;
  /** Tells other nodes which memberships this one has there; called with each heartbeat. */
  beat(): void;
}

type GroupMembershipsOptions = {
  node: string;
  clock: Clock;
  log: Logger;
  tables: TableWatch | undefined;
  groups: Pick<EventGroups, 'connect' | 'lose'>;
  /** How long after a home that did not answer it is looked for again, in ms. */
  retryMs: number;
  newId(): string;
  /** The other node that has an application; undefined if this one has it, or none. */
  homeOf(application: string): string | undefined;
  /** Asks a node for a membership. @throws (rejects) an error if it does not answer */
  ask(node: string, asked: MembershipAsked, user: object): Promise<MembershipAnswer>;
  /** Sends a message to {@link GroupMemberships.hear} of a node. It may be lost. */
  send(node: string, frame: Uint8Array): void;
};

/** What a message is about. Those to a membership are counted. */
type MembershipMessage = {
  from: string;
  /** For a membership: an event, a call that it has or has no more, or the group has moved. */
  to?: string;
  made?: number;
  call?: GroupCall | { call: string };
  moved?: true;
  /** For the home: a membership is left, or these are there. */
  left?: string;
  memberships?: string[];
};

/** Sends a message to a node. */
type Tell = (to: string, message: Omit<MembershipMessage, 'from'>, body?: Uint8Array) => void;

/** A WebSocket of another node. */
type RemoteMembership = { node: string; made: number; connected: { close(): void } | undefined };

/** The WebSockets of other nodes in the groups of this one. */
function createHome(
  { homeOf, groups }: GroupMembershipsOptions,
  tell: Tell,
  callsHere: (calls: readonly GroupCall[]) => GroupCall[],
): Pick<GroupMemberships, 'take' | 'drop'> & { has(id: string): boolean; end(id: string): void } {
  const remote = new SlotMap<string, RemoteMembership>();
  const end = (id: string): void => {
    const membership = remote.get(id);
    remote.delete(id);
    membership?.connected?.close();
  };

  return {
    has: (id) => remote.has(id),
    end,
    drop(lost) {
      for (const [id, { node }] of [...remote]) if (node === lost) end(id);
    },

    take(asked, user, narrow) {
      const { id, node: from, application, group, member, subscribeAll, observes, resume, calls, describe } = asked;
      if (homeOf(application) !== undefined) return { elsewhere: true };
      const membership: RemoteMembership = { node: from, made: 0, connected: undefined };
      const toMember = (message: Omit<MembershipMessage, 'from'>, body?: Uint8Array): void =>
        tell(from, { to: id, made: ++membership.made, ...message }, body);
      const at = {
        calls: callsHere(calls),
        keeps: (call: GroupCall | { call: string }) => toMember({ call }),
        moved() {
          toMember({ moved: true });
          end(id);
        },
      };
      remote.set(id, membership);
      try {
        membership.connected = groups.connect(
          // Without a user, as on a server where nobody logs in.
          (user as MemberUser).name === '' ? undefined : (user as MemberUser),
          { group, member },
          at,
        )({
          ...{ names: [application], subscribeAll, observes, narrow, describe: `${describe} at node ${from}` },
          ...(resume !== undefined && { resume: new Map([[application, resume]]) }),
          send: (json) => toMember({}, Buffer.from(json)),
        });
        return { taken: true };
      } catch (error) {
        end(id);
        if (error instanceof AriError) return { refused: error.message };
        throw error;
      }
    },
  };
}

/** Creates the memberships of a node. */
export function createGroupMemberships(options: GroupMembershipsOptions): GroupMemberships {
  const { node, groups, send, log } = options;
  const own = new SlotMap<string, Membership>();
  const tell: Tell = (to, message, body) =>
    send(to, writeFrame({ from: node, ...message } satisfies MembershipMessage, body));

  /** Calls as they are known at this node: its own have no mark of a node. */
  const callsHere = (calls: readonly GroupCall[]): GroupCall[] =>
    calls.map(({ node: theirs, ...call }) => ({ ...call, ...(theirs !== node && { node: theirs }) }));
  const home = createHome(options, tell, callsHere);

  /** A WebSocket of this node in an application. */
  const open = (
    user: MemberUser | undefined,
    asked: GroupRequest,
    request: ConnectRequest,
    application: string,
  ): Membership =>
    new Membership(
      {
        ...options,
        tell,
        callsHere,
        register: (id, membership) => own.set(id, membership),
        forget: (id) => own.delete(id),
      },
      { user, asked, request, application },
    );

  return {
    connect: (user, asked) => (request) => {
      const memberships = [...new Set(request.names)].map((name) => open(user, asked, request, name));
      for (const membership of memberships) membership.begin();
      return {
        close() {
          for (const membership of memberships) membership.tell({ type: 'socket.closed' });
        },
      };
    },

    take: home.take,

    hear(data) {
      const frame = readFrame(data);
      const { from, to, moved, left, memberships } = (frame?.head ?? {}) as Partial<MembershipMessage>;
      if (!frame || typeof from !== 'string') return;
      if (typeof left === 'string') home.end(left);
      // A membership that is unknown here was lost with a connection between the nodes.
      if (Array.isArray(memberships))
        for (const id of memberships) if (!home.has(id)) tell(from, { to: id, moved: true });
      if (typeof to !== 'string') return;
      const membership = own.get(to);
      if (membership) membership.hear({ ...(frame.head as MembershipMessage), body: frame.body });
      else if (moved !== true) tell(from, { left: to });
    },

    drop(lost) {
      home.drop(lost);
      groups.lose(lost);
      for (const membership of [...own.values()])
        if (membership.home === lost) {
          log.info({ node: lost, application: membership.application }, 'the node of a group is lost');
          membership.tell({ type: 'home.lost' });
        }
    },

    beat() {
      const byHome = new Map<string, string[]>();
      for (const [id, { home, isThere }] of own)
        if (isThere && home) byHome.set(home, [...(byHome.get(home) ?? []), id]);
      for (const [home, memberships] of byHome) tell(home, { memberships });
    },
  };
}

type MembershipParts = Omit<GroupMembershipsOptions, 'send'> & {
  tell(to: string, message: Omit<MembershipMessage, 'from'>): void;
  register(id: string, membership: Membership): void;
  forget(id: string): void;
  callsHere(calls: readonly GroupCall[]): GroupCall[];
};

type MembershipOf = { user: MemberUser | undefined; asked: GroupRequest; request: ConnectRequest; application: string };

/** Codes of closed WebSockets (RFC 6455 7.4.1, and the registry of IANA). */
const refused = 1008;
const tryAgain = 1013;

/** A WebSocket of this node that shares an application. */
class Membership {
  readonly #parts: MembershipParts;
  readonly #for: MembershipOf;
  readonly #run: GroupMembershipRun;
  /** Calls that it has, as its home has told, for the next home. */
  readonly #calls = new Map<string, GroupCall>();
  /** At another node. */
  #id: string | undefined;
  #home: string | undefined;
  #heard = 0;
  #here: Pick<Connected, 'close'> | undefined;
  #last: string | undefined;
  #timer: unknown;

  constructor(parts: MembershipParts, membershipOf: MembershipOf) {
    this.#parts = parts;
    this.#for = membershipOf;
    const { application, asked, request } = membershipOf;
    this.#run = new TableRun(
      groupMembershipTable,
      'seeking',
      {
        seekHome: () => this.#seek(),
        seekLater: () => void (this.#timer = parts.clock.setTimeout(() => this.#seek(), parts.retryMs)),
        joinHere: () => this.#joinHere(),
        askHome: () => this.#askHome(),
        tellLost: () => this.#tellLost(),
        leaveHere: () => this.#leaveHere(),
        leaveHome: () => this.#leaveHome(),
        cutSocket: (event) =>
          event.type === 'home.refused'
            ? request.cut?.(refused, event.reason)
            : request.cut?.(tryAgain, 'events of the group were lost: connect again'),
      },
      { watch: parts.tables, id: `${application} ${asked.group} ${request.describe}` },
    );
  }

  get application(): string {
    return this.#for.application;
  }

  /** The other node that has the group. */
  get home(): string | undefined {
    return this.#home;
  }

  get isThere(): boolean {
    return this.#run.state === 'there';
  }

  begin(): void {
    this.#seek();
  }

  tell(event: GroupMembershipEvent): void {
    this.#run.send(event);
    if (this.#run.state === 'gone') this.#parts.clock.clearTimeout(this.#timer);
  }

  /** Takes a message of its home. */
  hear({ made = 0, call, moved, body }: MembershipMessage & { body: Uint8Array }): void {
    if (moved) return void this.tell({ type: 'home.lost' });
    if (made !== ++this.#heard) return void this.tell({ type: 'events.missed' });
    if (made === 1) this.#calls.clear();
    if (call && 'after' in call) this.#keep(call, this.#home);
    else if (call) this.#calls.delete(call.call);
    else this.#give(Buffer.from(body).toString('utf8'));
  }

  #give(json: string): void {
    this.#last = json;
    this.#for.request.send(json);
    if (json.startsWith('{"type":"ApplicationReplaced"')) this.tell({ type: 'application.replaced' });
  }

  #keep(call: GroupCall, home: string | undefined): void {
    const node = call.node ?? home;
    this.#calls.set(call.call, { ...call, ...(node !== undefined && { node }) });
  }

  #seek(): void {
    this.#leaveHome();
    this.#home = this.#parts.homeOf(this.application);
    this.tell({ type: this.#home === undefined ? 'home.here' : 'home.elsewhere' });
  }

  #joinHere(): void {
    const { user, asked, request } = this.#for;
    const calls = this.#parts.callsHere([...this.#calls.values()]);
    this.#calls.clear();
    const moved = (theirs: readonly GroupCall[]): void => {
      for (const call of theirs) this.#keep(call, this.#parts.node);
      this.tell({ type: 'home.moved' });
    };
    try {
      const connect = this.#parts.groups.connect(user, asked, { calls, moved });
      this.#here = connect({
        ...request,
        names: [this.application],
        send: (json) => this.#give(json),
      });
    } catch (error) {
      if (!(error instanceof AriError)) this.#parts.log.error({ error }, 'a WebSocket could not join its group');
      this.tell({ type: 'home.refused', reason: error instanceof AriError ? error.message : 'registration failed' });
    }
  }

  #askHome(): void {
    const { user, asked, request } = this.#for;
    const { application } = this;
    const { parts, home } = { parts: this.#parts, home: this.#home as string };
    const id = parts.newId();
    this.#id = id;
    this.#heard = 0;
    parts.register(id, this);
    const { password: _password, password_hash: _hash, ...known } = (user ?? { name: '' }) as Record<string, unknown>;
    const last = request.resume?.get(application);
    const membership: MembershipAsked = {
      ...{ id, node: parts.node, application, ...asked, calls: [...this.#calls.values()], describe: request.describe },
      ...{ subscribeAll: request.subscribeAll === true, observes: request.observes === true },
      ...(typeof last === 'number' && { resume: last }),
    };
    const answered = (event: GroupMembershipEvent): void => {
      // It may have left, or sought another home, meanwhile.
      if (this.#id === id) this.tell(event);
    };
    parts.ask(home, membership, known).then(
      (answer) => {
        if ('refused' in answer) return answered({ type: 'home.refused', reason: answer.refused });
        // The home tells which of its calls it still has.
        if ('taken' in answer && this.#id === id && this.#heard === 0) this.#calls.clear();
        answered({ type: 'taken' in answer ? 'home.joined' : 'home.lost' });
      },
      (error: unknown) => {
        parts.log.warn({ node: home, application, error }, 'the node of a group does not answer; it is asked again');
        answered({ type: 'home.lost' });
      },
    );
  }

  #tellLost(): void {
    if (this.#last === undefined) return;
    const { seq = 0, asterisk_id = '' } = JSON.parse(this.#last) as { seq?: number; asterisk_id?: string };
    const { application } = this;
    const told: EventsLost = {
      ...{ type: 'EventsLost', application, asterisk_id, timestamp: formatTimestamp(this.#parts.clock.now()) },
      after: seq,
    };
    this.#for.request.send(JSON.stringify(told));
  }

  #leaveHere(): void {
    this.#here?.close();
    this.#here = undefined;
  }

  #leaveHome(): void {
    const id = this.#id;
    if (id === undefined) return;
    this.#id = undefined;
    this.#parts.forget(id);
    if (this.#home !== undefined) this.#parts.tell(this.#home, { left: id });
  }
}
