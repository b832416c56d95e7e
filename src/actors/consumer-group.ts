import { type GroupMemberRun, type GroupMemberState, groupMemberTable } from '../machines/group-member.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import type { GroupCallDump } from './dumps.ts';

/**
 * Several connections share the events of one application. A call sticks to one member: the first event of a call goes
 * to the member with the fewest calls. All later events of that call go there. If the member leaves, each of its calls
 * goes to another one. That member first gets the events of the call so far. Events of no call go to the member that
 * joined first.
 *
 * Calls can be saved. After a restart their members are away until they join by their names again: then they get the
 * events of their calls so far. Nothing of such a call is sent before.
 */

/** A connection that shares an application. */
export type GroupMember = {
  readonly name: string;
  /** Takes one message, a JSON text. */
  send(json: string): void;
  /** Tells the member that it drains and that its last call is over. */
  drained(): void;
  /** Hears which calls it has, for a member at another node. Without `after` the call is not its own any more. */
  keeps?: ((call: GroupCall | { call: string }) => void) | undefined;
};

/** The events of the application after a number, and what tells of those that are lost. */
export type Replay = { readonly events: readonly string[]; readonly lost?: string | undefined };

/** A call of a group, as plain JSON. */
export type GroupCall = Omit<GroupCallDump, 'user' | 'token' | 'group' | 'application'>;

/** Another node, and the call (`linkedid`) of an event that it has made. */
export type Origin = { readonly node: string; readonly call: string | undefined };

type ConsumerGroupOptions = {
  /** Names it for those who see its charts. */
  name: string;
  /** Sees the charts of its members; left out: nobody. */
  tables?: TableWatch | undefined;
  /** Hears that what {@link ConsumerGroup.dump} gives of a call has changed. */
  changed?: ((call: string) => void) | undefined;
  /** The call (`linkedid`) of a channel that exists; undefined for others. */
  callOf(channel: string): string | undefined;
  /** Where the event comes from that is being taken, if another node of a cluster has made it, and its call. */
  origin?: (() => Origin | undefined) | undefined;
  /** Runs something a moment later, so that {@link GroupMember.keeps} is told once of several changes; left out: now. */
  soon?: ((run: () => void) => void) | undefined;
  /** Reads the events after a number, once they can be read. */
  replay(after: number): Promise<Replay>;
  onError(error: unknown): void;
};

/** A member and its calls. */
type Standing = {
  readonly name: string;
  /** Undefined while it is away. */
  member: GroupMember | undefined;
  readonly run: GroupMemberRun;
  /** Calls that have channels in the application. */
  calls: number;
  /** The number of the choice that it was last, for a call that is not counted yet. */
  chosen: number;
};

const drains = ({ run: { state } }: Standing): boolean => state === 'draining' || state === 'drainingAway';

type Call = {
  standing: Standing;
  /** Number of the event before its first one. */
  readonly after: number;
  readonly channels: Set<string>;
  /** Its channels that are in the application. */
  readonly inside: Set<string>;
  readonly bridges: Set<string>;
  /** Events that wait for the replay to a new member. */
  waiting: { seq: number; json: string }[] | undefined;
  /** How often it went to another member. */
  moves: number;
  /** The other node that has its channels. */
  readonly node: string | undefined;
  /** That node was lost: it counts no more, unless an event of it comes. */
  lost: boolean;
};

type Party = { id?: unknown };
type Event = {
  type?: string;
  seq?: number;
  channel?: Party;
  bridge?: { id?: unknown; channels?: unknown };
  playback?: { target_uri?: unknown };
  recording?: { target_uri?: unknown };
  [member: string]: unknown;
};

/** Members of events that hold another channel. */
const otherParties = ['peer', 'caller', 'forwarded', 'replace_channel', 'transferer', 'transferee', 'transfer_target'];

const newCall = (standing: Standing, after: number, node: string | undefined): Call => ({
  ...{ standing, after, node, moves: 0, waiting: undefined, lost: false },
  ...{ channels: new Set<string>(), inside: new Set<string>(), bridges: new Set<string>() },
});

/** Calls that are known before those are looked for that have ended. */
const fewCalls = 64;

const idOf = (party: unknown): string[] => {
  const id = (party as Party | undefined)?.id;
  return typeof id === 'string' ? [id] : [];
};

/** The id behind `channel:` or `bridge:` in the target of a playback or recording. */
function targetOf(event: Event, kind: 'channel' | 'bridge'): string[] {
  const uri = event.playback?.target_uri ?? event.recording?.target_uri;
  return typeof uri === 'string' && uri.startsWith(`${kind}:`) ? [uri.slice(kind.length + 1)] : [];
}

/** The channels that an event is about, the most important first. */
function channelsOf(event: Event): string[] {
  const members = event.bridge?.channels;
  return [
    ...idOf(event.channel),
    ...otherParties.flatMap((name) => idOf(event[name])),
    ...targetOf(event, 'channel'),
    ...(Array.isArray(members) ? members.filter((id) => typeof id === 'string') : []),
  ];
}

/** The call of an event, by the first of its channels that has one. */
export function callIn(json: string, callOf: (channel: string) => string | undefined): string | undefined {
  for (const channel of channelsOf(JSON.parse(json) as Event)) {
    const call = callOf(channel);
    if (call !== undefined) return call;
  }
  return undefined;
}

/** The group of one application. */
export class ConsumerGroup {
  readonly #options: ConsumerGroupOptions;
  readonly #members = new Set<Standing>();
  readonly #calls = new Map<string, Call>();
  /** Keys of {@link #calls}, by channel and by bridge. */
  readonly #keyOfChannel = new Map<string, string>();
  readonly #keyOfBridge = new Map<string, string>();
  /** Members at other nodes that have heard of a call, and calls that have changed since. */
  readonly #told = new Map<string, GroupMember>();
  readonly #untold = new Set<string>();
  #sweepAt = fewCalls;
  #choices = 0;

  constructor(options: ConsumerGroupOptions) {
    this.#options = options;
  }

  /** Its members in the order in which they joined. */
  get members(): readonly { name: string; draining: boolean; away: boolean; calls: number }[] {
    return [...this.#members].map((standing) => ({
      ...{ name: standing.name, draining: drains(standing), away: !standing.member, calls: standing.calls },
    }));
  }

  /** Adds a member. One of the same name is replaced: its calls go to the new one. */
  join(member: GroupMember): void {
    const before = this.#find(member.name);
    const standing = before ?? this.#stand(member.name, 'active');
    standing.member = member;
    if (!before) return;
    standing.run.send({ type: 'member.joined' });
    if (standing.calls === 0) standing.run.send({ type: 'calls.over' });
  }

  /** Removes a member; its calls go to the others. One that has left before is ignored. */
  leave(member: GroupMember): void {
    const all = [...this.#members];
    const standing = all.find((each) => each.member === member);
    if (!standing) return;
    standing.member = undefined;
    const awaits = !all.some((each) => each.member) && all.length > 1;
    standing.run.send({ type: awaits ? 'member.lost' : 'member.left' });
  }

  /** Gives the member no more new calls, as long as there is another. @returns false for an unknown name. */
  drain(name: string): boolean {
    const standing = this.#find(name);
    if (!standing) return false;
    if (standing.run.send({ type: 'drain.requested' })) {
      if (standing.calls === 0) standing.run.send({ type: 'calls.over' });
      for (const [key, call] of this.#calls) if (call.standing === standing) this.#changed(key);
    }
    return true;
  }

  /** Members that have not come back since a restart are no longer awaited: their calls go to the others. */
  settle(): void {
    for (const { run } of [...this.#members]) run.send({ type: 'time.over' });
  }

  /** All calls, or the one of a key. */
  dump(key?: string): GroupCall[] {
    const calls = key === undefined ? [...this.#calls.keys()] : [key];
    return calls.flatMap((id) => this.#dumped(id, this.#calls.get(id)));
  }

  #dumped(key: string, call: Call | undefined): GroupCall[] {
    if (!call) return [];
    const { standing, after, channels, inside, bridges, node } = call;
    return [
      {
        ...{ call: key, member: standing.name, after, ...(node !== undefined && { node }) },
        ...{ channels: [...channels], inside: [...inside], bridges: [...bridges] },
        ...(drains(standing) && { draining: true as const }),
      },
    ];
  }

  /** Takes up a saved call. Its member is away, unless it has joined. */
  restore({ call: key, member, draining, after, channels, inside, bridges, node }: GroupCall): void {
    if (this.#calls.has(key)) return;
    const standing = this.#find(member) ?? this.#stand(member, draining ? 'drainingAway' : 'away');
    if (inside.length > 0) standing.calls++;
    const call = newCall(standing, after, node);
    this.#calls.set(key, call);
    for (const id of channels) this.#keep(this.#keyOfChannel, call.channels, id, key);
    for (const id of bridges) this.#keep(this.#keyOfBridge, call.bridges, id, key);
    for (const id of inside) call.inside.add(id);
  }

  #find(name: string): Standing | undefined {
    return [...this.#members].find((each) => each.name === name);
  }

  #stand(name: string, state: GroupMemberState): Standing {
    const { tables: watch, name: group } = this.#options;
    const run: GroupMemberRun = new TableRun(
      groupMemberTable,
      state,
      {
        replayCalls: () => this.#move(standing, standing),
        moveCalls: () => {
          this.#members.delete(standing);
          this.#move(standing);
        },
        tellDrained: () => standing.member?.drained(),
      },
      { watch, id: `${group} ${name}` },
    );
    const standing: Standing = { name, member: undefined, run, calls: 0, chosen: 0 };
    this.#members.add(standing);
    return standing;
  }

  /** Sends a message to all members. */
  tellAll(json: string): void {
    for (const { member } of this.#members) member?.send(json);
  }

  /** Takes an event of the application. A message without a number goes to all members. */
  take(json: string): void {
    const event = JSON.parse(json) as Event;
    const { seq } = event;
    if (seq === undefined || event.type === 'ApplicationReplaced') {
      this.tellAll(json);
      return;
    }
    const call = this.#callOf(event, seq);
    if (!call) {
      [...this.#members].find(({ member }) => member)?.member?.send(json);
      return;
    }
    // A member that is away gets it when it joins, with all others of the call.
    if (call.waiting && call.standing.member) call.waiting.push({ seq, json });
    else call.standing.member?.send(json);
    this.#note(event, call);
  }

  /** The call of an event, which begins with the first event of a channel. Undefined for an event of no call. */
  #callOf(event: Event, seq: number): Call | undefined {
    const channels = channelsOf(event);
    const bridges = [...idOf(event.bridge), ...targetOf(event, 'bridge')];
    const callOf = (id: string): string | undefined => this.#options.callOf(id) ?? this.#options.origin?.()?.call;
    const known = [
      ...channels.map((id) => this.#keyOfChannel.get(id)),
      ...channels.map(callOf),
      ...bridges.map((id) => this.#keyOfBridge.get(id)),
    ].find((key) => key !== undefined && this.#calls.has(key));
    const [first] = channels;
    if (known === undefined && first === undefined) return undefined;
    const key = known ?? callOf(first as string) ?? (first as string);
    const call = this.#calls.get(key) ?? this.#begin(key, seq);
    if (!call) return undefined;
    if (call.lost) this.#count(call, false);
    for (const id of channels) if (!this.#keyOfChannel.has(id)) this.#keep(this.#keyOfChannel, call.channels, id, key);
    for (const id of bridges) if (!this.#keyOfBridge.has(id)) this.#keep(this.#keyOfBridge, call.bridges, id, key);
    return call;
  }

  /** Keeps which call a channel or bridge belongs to. */
  #keep(keys: Map<string, string>, own: Set<string>, id: string, key: string): void {
    keys.set(id, key);
    own.add(id);
    this.#changed(key);
  }

  #begin(key: string, seq: number): Call | undefined {
    const standing = this.#choose();
    if (!standing) return undefined;
    if (this.#calls.size >= this.#sweepAt) this.#sweep();
    const call = newCall(standing, seq - 1, this.#options.origin?.()?.node);
    this.#calls.set(key, call);
    return call;
  }

  /** The member with the fewest calls that does not drain, or else any; of several the one that was chosen least recently. */
  #choose(): Standing | undefined {
    const all = [...this.#members].filter(({ member }) => member);
    const open = all.filter((each) => !drains(each));
    const [first, ...others] = open.length > 0 ? open : all;
    if (!first) return undefined;
    const isBefore = (one: Standing, other: Standing): boolean =>
      one.calls < other.calls || (one.calls === other.calls && one.chosen < other.chosen);
    const least = others.reduce((best, each) => (isBefore(each, best) ? each : best), first);
    least.chosen = ++this.#choices;
    return least;
  }

  /** Follows what a call and its bridges do. */
  #note(event: Event, call: Call): void {
    const [channel] = idOf(event.channel);
    if (event.type === 'BridgeDestroyed') for (const id of idOf(event.bridge)) this.#forgetBridge(id, call);
    if (channel === undefined) return;
    if (event.type === 'StasisStart') {
      if (call.inside.size === 0) call.standing.calls++;
      call.inside.add(channel);
      this.#changedOf(channel);
    } else if (event.type === 'StasisEnd' || event.type === 'ChannelDestroyed') this.#goneFrom(call, channel);
    if (event.type !== 'ChannelDestroyed') return;
    this.#forgetChannel(call, channel);
  }

  /** The saved part of a channel's call has changed. */
  #changedOf(channel: string): void {
    const key = this.#keyOfChannel.get(channel);
    if (key !== undefined) this.#changed(key);
  }

  #forgetBridge(id: string, call: Call): void {
    const key = this.#keyOfBridge.get(id);
    this.#keyOfBridge.delete(id);
    if (call.bridges.delete(id) && key !== undefined) this.#changed(key);
  }

  #goneFrom({ inside, standing, lost }: Call, channel: string): void {
    if (!inside.delete(channel)) return;
    this.#changedOf(channel);
    if (inside.size > 0 || lost) return;
    this.#less(standing);
  }

  #less(standing: Standing): void {
    standing.calls--;
    if (standing.calls === 0) standing.run.send({ type: 'calls.over' });
  }

  /** Counts a call of another node as lost, or as there. */
  #count(call: Call, lost: boolean): void {
    if (call.lost === lost) return;
    call.lost = lost;
    if (call.inside.size === 0) return;
    if (lost) this.#less(call.standing);
    else call.standing.calls++;
  }

  /** A node is lost, and maybe its calls. Members are chosen without them, until an event of them comes. */
  lose(node: string): void {
    for (const call of this.#calls.values()) if (call.node === node) this.#count(call, true);
  }

  /** What is saved of a call has changed, or who has it. */
  #changed(key: string): void {
    this.#options.changed?.(key);
    if (this.#told.size === 0 && !this.#isElsewhere()) return;
    const isFirst = this.#untold.size === 0;
    this.#untold.add(key);
    const tell = (): void => this.#tellNodes();
    if (isFirst) this.#options.soon ? this.#options.soon(tell) : tell();
  }

  /** Whether a member is at another node. Asked several times for each event. */
  #isElsewhere(): boolean {
    for (const { member } of this.#members) if (member?.keeps) return true;
    return false;
  }

  #tellNodes(): void {
    for (const key of this.#untold) {
      const call = this.#calls.get(key);
      const member = call?.standing.member;
      const before = this.#told.get(key);
      if (before !== member) before?.keeps?.({ call: key });
      if (member?.keeps) this.#told.set(key, member);
      else this.#told.delete(key);
      for (const dumped of this.#dumped(key, call)) member?.keeps?.(dumped);
    }
    this.#untold.clear();
  }

  #forgetChannel(call: Call, channel: string): void {
    const key = this.#keyOfChannel.get(channel);
    this.#keyOfChannel.delete(channel);
    call.channels.delete(channel);
    if (key === undefined) return;
    if (call.channels.size === 0) {
      this.#calls.delete(key);
      for (const bridge of call.bridges) this.#keyOfBridge.delete(bridge);
    }
    this.#changed(key);
  }

  /**
   * Forgets calls whose channels have ended without an event to this application. Of calls at other nodes these are
   * unknown: they are forgotten when none of their channels is in the application.
   */
  #sweep(): void {
    for (const call of [...this.#calls.values()])
      for (const channel of [...call.channels])
        if (
          call.node === undefined ? this.#options.callOf(channel) === undefined : call.lost || call.inside.size === 0
        ) {
          this.#goneFrom(call, channel);
          this.#forgetChannel(call, channel);
        }
    this.#sweepAt = Math.max(fewCalls, 2 * this.#calls.size);
  }

  /** Gives the calls of a member to another one, or to its new connection. Asks for their events so far. */
  #move(from: Standing, heir?: Standing): void {
    const moved = new Map<Call, number>();
    for (const [key, call] of this.#calls) {
      if (call.standing !== from) continue;
      const next = heir ?? this.#choose();
      if (!next) return;
      if (next !== from) {
        call.standing = next;
        if (call.inside.size > 0 && !call.lost) next.calls++;
      }
      this.#changed(key);
      // What waits for a replay already waits for this one.
      call.waiting ??= [];
      call.moves++;
      moved.set(call, call.moves);
    }
    if (moved.size === 0) return;
    const after = Math.min(...[...moved.keys()].map((call) => call.after));
    this.#options.replay(after).then(
      (replay) => this.#deliver(moved, replay),
      (error) => {
        this.#options.onError(error);
        this.#deliver(moved, { events: [] });
      },
    );
  }

  /** Sends the events of calls so far to their new members, then those that came meanwhile. */
  #deliver(asked: ReadonlyMap<Call, number>, { events, lost }: Replay): void {
    // A call that has moved again waits for a later replay.
    const moved = new Set([...asked].flatMap(([call, moves]) => (call.moves === moves ? [call] : [])));
    if (lost !== undefined)
      for (const standing of new Set([...moved].map((call) => call.standing))) standing.member?.send(lost);
    let last = 0;
    for (const json of events) {
      const event = JSON.parse(json) as Event;
      last = event.seq ?? last;
      const key = [
        ...channelsOf(event).map((id) => this.#keyOfChannel.get(id)),
        ...[...idOf(event.bridge), ...targetOf(event, 'bridge')].map((id) => this.#keyOfBridge.get(id)),
      ].find((each) => each !== undefined);
      const call = key === undefined ? undefined : this.#calls.get(key);
      if (call && moved.has(call) && (event.seq ?? 0) > call.after) call.standing.member?.send(json);
    }
    for (const call of moved) {
      const { waiting = [] } = call;
      call.waiting = undefined;
      for (const { seq, json } of waiting) if (seq > last) call.standing.member?.send(json);
    }
  }
}
