/**
 * Several connections share the events of one application. A call sticks to one member: the first event of a call chooses the
 * member with the fewest calls, and all later events of that call go there. If the member leaves, each of its calls goes to
 * another one, which first gets the events of the call so far. Events of no call go to the member that joined first.
 */

/** A connection that shares an application. */
export type GroupMember = {
  readonly name: string;
  /** Takes one message, a JSON text. */
  send(json: string): void;
  /** Tells the member that it drains and that its last call is over. */
  drained(): void;
};

/** The events of the application after a number, and what tells of those that are lost. */
export type Replay = { readonly events: readonly string[]; readonly lost?: string | undefined };

type ConsumerGroupOptions = {
  /** The call (`linkedid`) of a channel that exists; undefined for others. */
  callOf(channel: string): string | undefined;
  /** Reads the events after a number, once they can be read. */
  replay(after: number): Promise<Replay>;
  onError(error: unknown): void;
};

type Standing = { readonly member: GroupMember; draining: boolean; calls: number };

type Call = {
  standing: Standing;
  /** Number of the event before its first one. */
  readonly after: number;
  readonly channels: Set<string>;
  /** Its channels that are in the application. */
  readonly inside: Set<string>;
  /** Events that wait for the replay to a new member. */
  waiting: { seq: number; json: string }[] | undefined;
  /** How often it went to another member. */
  moves: number;
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

/** The group of one application. */
export class ConsumerGroup {
  readonly #options: ConsumerGroupOptions;
  readonly #members = new Set<Standing>();
  readonly #calls = new Map<string, Call>();
  /** Keys of {@link #calls}, by channel and by bridge. */
  readonly #keyOfChannel = new Map<string, string>();
  readonly #keyOfBridge = new Map<string, string>();
  #sweepAt = fewCalls;

  constructor(options: ConsumerGroupOptions) {
    this.#options = options;
  }

  /** Its members in the order in which they joined. */
  get members(): readonly { name: string; draining: boolean; calls: number }[] {
    return [...this.#members].map(({ member, draining, calls }) => ({ name: member.name, draining, calls }));
  }

  /** Adds a member. One of the same name is replaced: its calls go to the new one. */
  join(member: GroupMember): void {
    const standing: Standing = { member, draining: false, calls: 0 };
    const before = [...this.#members].find((each) => each.member.name === member.name);
    this.#members.add(standing);
    if (before) this.#remove(before, standing);
  }

  /** Removes a member; its calls go to the others. One that has left before is ignored. */
  leave(member: GroupMember): void {
    const standing = [...this.#members].find((each) => each.member === member);
    if (standing) this.#remove(standing);
  }

  /** Gives the member no more new calls, as long as there is another. @returns false for an unknown name. */
  drain(name: string): boolean {
    const standing = [...this.#members].find(({ member }) => member.name === name);
    if (!standing) return false;
    if (standing.draining) return true;
    standing.draining = true;
    if (standing.calls === 0) standing.member.drained();
    return true;
  }

  /** Sends a message to all members. */
  tellAll(json: string): void {
    for (const { member } of this.#members) member.send(json);
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
      const [first] = this.#members;
      first?.member.send(json);
      return;
    }
    if (call.waiting) call.waiting.push({ seq, json });
    else call.standing.member.send(json);
    this.#note(event, call);
  }

  /** The call of an event, which begins with the first event of a channel. Undefined for an event of no call. */
  #callOf(event: Event, seq: number): Call | undefined {
    const channels = channelsOf(event);
    const bridges = [...idOf(event.bridge), ...targetOf(event, 'bridge')];
    const known = [
      ...channels.map((id) => this.#keyOfChannel.get(id)),
      ...channels.map((id) => this.#options.callOf(id)),
      ...bridges.map((id) => this.#keyOfBridge.get(id)),
    ].find((key) => key !== undefined && this.#calls.has(key));
    const [first] = channels;
    if (known === undefined && first === undefined) return undefined;
    const key = known ?? this.#options.callOf(first as string) ?? (first as string);
    const call = this.#calls.get(key) ?? this.#begin(key, seq);
    if (!call) return undefined;
    for (const id of channels)
      if (!this.#keyOfChannel.has(id)) {
        this.#keyOfChannel.set(id, key);
        call.channels.add(id);
      }
    for (const id of bridges) this.#keyOfBridge.set(id, key);
    return call;
  }

  #begin(key: string, seq: number): Call | undefined {
    const standing = this.#choose();
    if (!standing) return undefined;
    if (this.#calls.size >= this.#sweepAt) this.#sweep();
    const call: Call = {
      standing,
      after: seq - 1,
      channels: new Set(),
      inside: new Set(),
      waiting: undefined,
      moves: 0,
    };
    this.#calls.set(key, call);
    return call;
  }

  /** The member with the fewest calls that does not drain, or else any. */
  #choose(): Standing | undefined {
    const all = [...this.#members];
    const open = all.filter(({ draining }) => !draining);
    const [first, ...others] = open.length > 0 ? open : all;
    return others.reduce((least, each) => (each.calls < (least?.calls ?? 0) ? each : least), first);
  }

  /** Follows what a call and its bridges do. */
  #note(event: Event, call: Call): void {
    const [channel] = idOf(event.channel);
    if (event.type === 'BridgeDestroyed') for (const id of idOf(event.bridge)) this.#keyOfBridge.delete(id);
    if (channel === undefined) return;
    if (event.type === 'StasisStart') {
      if (call.inside.size === 0) call.standing.calls++;
      call.inside.add(channel);
    } else if (event.type === 'StasisEnd' || event.type === 'ChannelDestroyed') this.#goneFrom(call, channel);
    if (event.type !== 'ChannelDestroyed') return;
    this.#forgetChannel(call, channel);
  }

  #goneFrom({ inside, standing }: Call, channel: string): void {
    if (!inside.delete(channel) || inside.size > 0) return;
    standing.calls--;
    if (standing.draining && standing.calls === 0) standing.member.drained();
  }

  #forgetChannel(call: Call, channel: string): void {
    const key = this.#keyOfChannel.get(channel);
    this.#keyOfChannel.delete(channel);
    call.channels.delete(channel);
    if (key === undefined || call.channels.size > 0) return;
    this.#calls.delete(key);
    for (const [bridge, of] of this.#keyOfBridge) if (of === key) this.#keyOfBridge.delete(bridge);
  }

  /** Forgets calls whose channels have ended without an event to this application. */
  #sweep(): void {
    for (const call of [...this.#calls.values()])
      for (const channel of [...call.channels])
        if (this.#options.callOf(channel) === undefined) {
          this.#goneFrom(call, channel);
          this.#forgetChannel(call, channel);
        }
    this.#sweepAt = Math.max(fewCalls, 2 * this.#calls.size);
  }

  #remove(gone: Standing, heir?: Standing): void {
    this.#members.delete(gone);
    const moved = new Map<Call, number>();
    for (const call of this.#calls.values()) {
      if (call.standing !== gone) continue;
      const next = heir ?? this.#choose();
      if (!next) return;
      call.standing = next;
      if (call.inside.size > 0) next.calls++;
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
      for (const standing of new Set([...moved].map((call) => call.standing))) standing.member.send(lost);
    let last = 0;
    for (const json of events) {
      const event = JSON.parse(json) as Event;
      last = event.seq ?? last;
      const key = [
        ...channelsOf(event).map((id) => this.#keyOfChannel.get(id)),
        ...[...idOf(event.bridge), ...targetOf(event, 'bridge')].map((id) => this.#keyOfBridge.get(id)),
      ].find((each) => each !== undefined);
      const call = key === undefined ? undefined : this.#calls.get(key);
      if (call && moved.has(call) && (event.seq ?? 0) > call.after) call.standing.member.send(json);
    }
    for (const call of moved) {
      const { waiting = [] } = call;
      call.waiting = undefined;
      for (const { seq, json } of waiting) if (seq > last) call.standing.member.send(json);
    }
  }
}
