import * as assert from 'uvu/assert';
import type { Connected, ConnectRequest } from '../../src/actors/application-connections.ts';
import { type Applications, createApplications } from '../../src/actors/applications.ts';
import { createEventGroups, type EventGroups } from '../../src/actors/event-groups.ts';
import { createRegistrations } from '../../src/actors/registrations.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import { type Bus, createBus } from '../../src/bus/bus.ts';
import { channelTopic } from '../../src/bus/topics.ts';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import { holderOf, nodeKey } from '../../src/cluster/named-link.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { AriError } from '../../src/models/errors.ts';
import type { RegistrationAnswer, RegistrationDetails } from '../../src/telephony/registrations.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { type VirtualLink, VirtualNats } from '../../src/virtual/nats.ts';
import { createRandom, type Random } from '../../src/virtual/random.ts';
import { silentLog as log } from './log.ts';

/** Times in ms. */
const settings = {
  ...{ cluster: 'c', requestTimeoutMs: 2_000, heartbeatMs: 1_000, suspectAfterMs: 3_000, awayAfterMs: 5_000 },
  ...{
    isolatedAfterMs: 0,
    retryMs: 500,
    registerAfterMs: 8_000,
    awaitMs: 60_000,
    movedOctets: 1_000_000,
    requests: 1_000,
    octets: 1_000_000,
  },
  ...{ piece: 100_000, streams: 100, ids: 1_000, nodes: 10, states: 1_000 },
};

const names = ['a', 'b', 'c'];
/** Registrations at providers, and the nodes that have them configured. */
const lines: Readonly<Record<string, readonly string[]>> = { one: names, two: names, three: names, own: ['b'] };
/** Few ids, so that nodes compete for them. */
const chosen = ['lobby', 'hall', 'attic', 'cellar'];

/** The events of applications as a recorder has them. */
function recording() {
  const rows = new Map<string, { number: number; json: string }[]>();
  return {
    on: true,
    sent({ application, number }: { application: string; number: number }, _event: unknown, json: string): void {
      if (json.startsWith('{"type":"ApplicationReplaced"')) return;
      const own = rows.get(application) ?? [];
      rows.set(application, own);
      own.push({ number, json });
    },
    /** Those of the latest numbers, which may have begun again. */
    after(name: string, number: number, made: number) {
      const events: string[] = [];
      let first = made + 1;
      for (const row of (rows.get(name) ?? []).toReversed()) {
        if (row.number <= number || row.number >= first) break;
        first = row.number;
        events.unshift(row.json);
      }
      return { events, lost: first - 1 - number };
    },
  };
}

/** A call in the application that a group shares. Its events are counted. */
type Call = { id: string; made: number };

const lineOf = (id: string): RegistrationDetails => ({
  ...{ id, technology: 'PJSIP', endpoint: id, server: 'sip:p', client: `sip:${id}@p`, expiresMs: 3_600_000 },
  ...{ retryMs: 10_000, longestRetryMs: 60_000, rejectedRetryMs: 0 },
});

/** A provider. It answers late, and keeps all contacts. Another provider with the same requests keeps the last one. */
class Provider {
  /** The processes that are registered, by line. */
  readonly contacts = new Map<string, Set<string>>(Object.keys(lines).map((id) => [id, new Set()]));
  /** The one that a provider keeps which takes one contact alone. */
  readonly last = new Map<string, string>();
  /** The latest request, by line and process: earlier ones that come after it change nothing (CSeq, RFC 3261 10.3). */
  readonly #latest = new Map<string, number>();
  readonly #clock: Clock;
  readonly #random: Random;
  #asked = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  register(id: string, process: string, expiresMs: number): Promise<RegistrationAnswer> {
    const way = () => Math.floor(this.#random() * 30);
    const number = ++this.#asked;
    const dialog = `${id} ${process}`;
    return new Promise((resolve) => {
      this.#clock.setTimeout(() => {
        if (number < (this.#latest.get(dialog) ?? 0))
          return resolve({ type: 'refused', reason: '500 CSeq', permanent: false });
        this.#latest.set(dialog, number);
        const contacts = this.contacts.get(id)!;
        if (expiresMs > 0) {
          contacts.add(process);
          this.last.set(id, process);
        } else {
          contacts.delete(process);
          if (this.last.get(id) === process) this.last.delete(id);
        }
        this.#clock.setTimeout(() => resolve({ type: 'accepted', expiresMs: Math.max(1_000, expiresMs) }), way());
      }, way());
    });
  }
}

/** A process that is a node. */
class SimulatedNode {
  readonly name: string;
  /** Names it among the processes of that name. */
  readonly process: string;
  readonly link: VirtualLink;
  readonly cluster: Cluster;
  /** Objects with chosen ids, and the term of the process when each was made. */
  readonly objects = new Map<string, number>();
  readonly calls = new Set<Call>();
  isAlive = true;
  isCut = false;
  isDrained = false;
  /** Events of `shop`. */
  made = 0;
  readonly #bus: Bus;
  readonly #applications: Applications;
  readonly #join: EventGroups['connect'];

  constructor(
    { clock: time, nats, provider }: { clock: ManualClock; nats: VirtualNats; provider: Provider },
    name: string,
    process: string,
  ) {
    this.name = name;
    this.process = process;
    const clock = this.#clockOf(time);
    this.link = nats.link();
    this.#bus = createBus({ log });
    const recorder = recording();
    const late: { cluster?: Cluster } = {};
    let epochs = 0;
    let ids = 0;
    this.#applications = createApplications({
      ...{ bus: this.#bus, clock, log, runtime: createRuntime(clock, log), entityId: name, recorder },
      resolve: {
        ...{ channel: () => undefined, bridge: () => undefined, endpoint: () => undefined },
        technology: () => undefined,
      },
      kept: (application, number, made) => recorder.after(application, number, made),
      epoch: () => `${process}-${++epochs}`,
      isAwaited: (application) => late.cluster?.isAwaited(application) ?? false,
      handedOver: (...asked) => late.cluster?.handedOver(...asked),
    });
    const callOf = (channel: string): string | undefined =>
      [...this.calls].some(({ id }) => id === channel) ? `call of ${channel}` : undefined;
    const recorded = async (): Promise<void> => {};
    this.cluster = createCluster({
      ...{ settings: { ...settings, name }, link: this.link, clock, log, tables: undefined, hit() {}, callOf },
      ...{ applications: this.#applications, recorded, newId: () => `${process}-${++ids}` },
    });
    late.cluster = this.cluster;
    const groups = createEventGroups({
      applications: { ...this.#applications, connect: this.cluster.connect },
      ...{ callOf, origin: this.cluster.origin, recorded, entityId: name, clock, log },
    });
    this.#join = this.cluster.shareGroups(groups);
    this.cluster.serve({
      carryOut: async () => new Response(null, { status: 404 }),
      isHere: (_kind: string, id: string) => this.objects.has(id),
      chosenIds: () => [],
      ...{ figures: () => ({}), isolated() {}, phones: {}, narrowOf: () => undefined },
      readiness: () => (this.isDrained ? 'drained' : 'ready'),
    } as never);
    this.#register(clock, provider);
  }

  #register(clock: Clock, provider: Provider): void {
    const { registrations: holders, states } = this.cluster;
    states.use({
      part: (key) => holders.heard(key.replace(/^registration:/, '')),
      value() {},
      together: () => undefined,
    });
    const registrations = createRegistrations({
      ...{ runtime: createRuntime(clock, log), log, ids: { hex: () => '7fffff' } as never, holders },
      endpoints: { setRegistrations() {} } as never,
    });
    registrations.attach({
      technology: 'PJSIP',
      register: ({ id }, expiresMs) => provider.register(id, this.process, expiresMs),
      ended() {},
    });
    registrations.follow(
      Object.entries(lines)
        .filter(([, at]) => at.includes(this.name))
        .map(([id]) => lineOf(id)),
    );
  }

  /** Time goes on for it until it is killed. */
  #clockOf(clock: ManualClock): Clock {
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimeout: (run, ms) => clock.setTimeout(() => this.isAlive && run(), ms),
      clearTimeout: (id) => clock.clearTimeout(id),
      soon: (run) => clock.soon(() => this.isAlive && run()),
    };
  }

  /** Whether it takes part in the cluster: it has NATS and its name. */
  get isMember(): boolean {
    return this.isAlive && this.cluster.nodes().some(({ self, state }) => self && state === 'member');
  }

  kill(): void {
    this.isAlive = false;
    this.link.crash();
  }

  join(member: string, request: ConnectRequest): { close(): void } {
    return this.#join(undefined, { group: 'workers', member })(request);
  }

  /** Makes an event for `shop`, of a channel that never ends, unless the application is unknown here. */
  publish(): void {
    const channel = { id: `${this.process}-any`, name: `${this.process} ${this.made + 1}` };
    if (this.#publish('shop', 'ChannelStateChange', channel)) this.made++;
  }

  /** Makes an event of a call for `ivr`. */
  tell(type: string, call: Call): void {
    this.#publish('ivr', type, { id: call.id, name: `${call.id} ${++call.made}` });
    if (type === 'ChannelDestroyed') this.#applications.forget(channelTopic(call.id));
  }

  /** @returns whether the application is known here. */
  #publish(application: string, type: string, channel: { id: string; name: string }): boolean {
    const topic = channelTopic(channel.id);
    if (!this.#applications.isSubscribed(application, topic)) this.#applications.addInterest(application, topic);
    this.#bus.publish({ event: { type, channel } as never, topics: [topic] });
    return this.#applications.isSubscribed(application, topic);
  }
}

type Heard = { type: string; epoch?: string; seq?: number; channel?: { id: string; name: string } };

/** Stands for missing events between others. */
const lost = 'lost';

/** A client of the application `shop`, which resumes wherever it connects. */
class ResumingClient {
  /** Events as `<process> <count>`, and where a loss was told. */
  readonly got: string[] = [];
  node: SimulatedNode | undefined;
  #place: { epoch: string; seq: number } | 'new' = 'new';
  #connected: Pick<Connected, 'close'> | undefined;
  #connection = 0;

  /** @param closes whether the node sees that the earlier connection has closed */
  async connect(node: SimulatedNode, closes: boolean): Promise<void> {
    const connection = ++this.#connection;
    if (closes && this.node?.isAlive) this.#connected?.close();
    this.node = node;
    const resume = new Map([['shop', this.#place]]);
    const how = { resume, subscribeAll: false, observes: false };
    await node.cluster.bring(['shop'], how);
    if (connection !== this.#connection || !node.isAlive) return;
    this.#connected = node.cluster.connect({
      ...{ names: ['shop'], ...how, describe: 'client' },
      send: (json) => {
        if (connection === this.#connection && node.isAlive) this.#take(JSON.parse(json) as Heard);
      },
    });
  }

  #take({ type, epoch = '', seq = 0, channel }: Heard): void {
    if (type === 'ResumePoint' || type === 'ResumeGap') {
      if (type === 'ResumeGap') this.got.push(lost);
      this.#place = { epoch, seq };
    } else if (type === 'ApplicationReplaced') this.node = undefined;
    else if (channel && this.#place !== 'new') {
      if (seq !== this.#place.seq + 1) this.got.push(lost);
      this.got.push(channel.name);
      this.#place = { epoch: this.#place.epoch, seq };
    }
  }
}

/** A member of the group that shares `ivr`. */
class Member {
  readonly name: string;
  /** Events as `<call> <count>`, and where it was told that some are missing or connected again. */
  readonly got: string[] = [];
  node: SimulatedNode | undefined;
  #connection = 0;

  constructor(name: string) {
    this.name = name;
  }

  connect(node: SimulatedNode): void {
    const connection = ++this.#connection;
    this.node = node;
    this.got.push(lost);
    const isNow = (): boolean => connection === this.#connection && node.isAlive;
    node.join(this.name, {
      ...{ names: ['ivr'], describe: this.name },
      send: (json) => {
        const { type, channel } = JSON.parse(json) as Heard;
        if (!isNow()) return;
        if (type === 'EventsLost') this.got.push(lost);
        if (channel) this.got.push(channel.name);
      },
      cut: () => {
        if (isNow()) this.node = undefined;
      },
    });
  }
}

/** What happens beside late messages: faults, and moves of the client while its node is there. */
type Happening = { faults: boolean; moves: boolean };

/** Nodes, their clients and NATS. A seed decides what happens. */
export class SimulatedCluster {
  readonly clock = new ManualClock();
  readonly nats: VirtualNats;
  readonly provider: Provider;
  /** What was done, for people. */
  readonly story: string[] = [];
  readonly #random: Random;
  readonly #nodes: SimulatedNode[] = [];
  readonly #client = new ResumingClient();
  readonly #members = ['one', 'two', 'three'].map((name) => new Member(name));
  readonly #calls: Call[] = [];
  #hadTwoOfAName = false;

  constructor(seed: number) {
    this.#random = createRandom(seed);
    const times = { jitterMs: 40, breaksAfterMs: 4_000, reconnectMs: 500 };
    this.nats = new VirtualNats({ clock: this.clock, seed: seed + 1, ...times });
    this.provider = new Provider(this.clock, createRandom(seed + 2));
  }

  /** Starts three nodes and their clients. */
  async begin(): Promise<void> {
    for (const name of names) this.#start(name);
    await this.clock.run(3_000);
    await this.#connectClients();
    await this.clock.run(2_000);
  }

  /** Something happens. */
  async step({ faults, moves }: Happening): Promise<void> {
    const node = this.#pick(this.#alive);
    const roll = this.#random();
    if (faults && roll < 0.12) await this.#fail();
    else if (node && roll < 0.3) void this.#make(node);
    else if (node && roll < 0.4) this.#unmake(node);
    else if (node && roll < 0.65) node.publish();
    else if (node && roll < 0.9) this.#call(node);
    else if (moves && roll < 0.95) await this.#move();
    else await this.#connectClients();
    if (node && this.#random() < 0.1) await this.#drain(node, faults);
    await this.clock.run(Math.floor(this.#random() * 400));
    this.#requireOneOwner();
    if (!faults) this.#requireOneContact();
  }

  /** All faults are mended, and everything comes to rest. */
  async rest(): Promise<void> {
    for (const node of this.#alive) this.#cut(node, false);
    for (const name of names) if (!this.#alive.some((node) => node.name === name)) this.#start(name);
    await this.clock.run(20_000);
    // Nobody connects to a node that takes no part: it is not ready.
    for (const client of [this.#client, ...this.#members]) if (!client.node?.isMember) client.node = undefined;
    await this.#connectClients();
    await this.clock.run(20_000);
    this.#requireOneOwner();
  }

  async check({ faults, moves }: Happening): Promise<void> {
    assert.equal(this.#parts.map(({ name }) => name).sort(), names, 'one process has each name');
    this.#checkRows();
    this.#checkRegistrations();
    this.#checkOrder(!(faults && moves));
    if (!faults) this.#checkAll();
    await this.#checkEnd();
  }

  /** Ends all nodes. */
  end(): void {
    for (const node of this.#alive) node.kill();
  }

  get #alive(): SimulatedNode[] {
    return this.#nodes.filter(({ isAlive }) => isAlive);
  }

  /** The processes that take part. */
  get #parts(): SimulatedNode[] {
    return this.#alive.filter((node) => node.isMember);
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }

  #start(name: string): void {
    const process = `${name}${this.#nodes.length + 1}`;
    this.story.push(`${process} starts`);
    this.#hadTwoOfAName ||= this.#alive.some((node) => node.name === name);
    this.#nodes.push(new SimulatedNode(this, name, process));
  }

  /** @param atOnce something else may happen at the same time: two nodes may hold a registration for a moment then */
  async #drain(node: SimulatedNode, atOnce: boolean): Promise<void> {
    node.isDrained = !node.isDrained;
    this.story.push(`${node.process} ${node.isDrained ? 'drains' : 'takes calls again'}`);
    for (let ms = 0; ms < 1_500 && !atOnce; ms += 10) {
      await this.clock.run(10);
      this.#requireOneContact();
    }
  }

  #cut(node: SimulatedNode, is: boolean): void {
    if (node.isCut !== is) this.story.push(`${node.process} is ${is ? 'cut off' : 'there again'}`);
    node.isCut = is;
    node.link.cut(is);
  }

  async #connectClients(): Promise<void> {
    if (!this.#client.node?.isAlive) await this.#move();
    for (const member of this.#members) {
      const node = member.node?.isAlive ? undefined : this.#pick(this.#parts);
      if (!node) continue;
      this.story.push(`${member.name} at ${node.process}`);
      member.connect(node);
      await this.clock.run(1_000);
    }
  }

  async #move(): Promise<void> {
    const node = this.#pick(this.#parts);
    if (!node || this.#client.node === node) return;
    this.story.push(`client at ${node.process}`);
    let isThere = false;
    const moving = this.#client.connect(node, this.#random() < 0.5).finally(() => {
      isThere = true;
    });
    while (!isThere) await this.clock.run(100);
    await moving;
  }

  async #fail(): Promise<void> {
    const node = this.#pick(this.#alive);
    const roll = this.#random();
    if (roll < 0.5 && node) return this.#cut(node, !node.isCut);
    if (roll < 0.6 && node) {
      this.story.push(`${node.process} is killed`);
      return node.kill();
    }
    if (roll < 0.8) {
      // Maybe beside a process of that name which is cut off.
      const name = this.#pick(names.filter((each) => !this.#alive.some((one) => one.name === each && !one.isCut)));
      return name === undefined ? undefined : this.#start(name);
    }
    if (roll < 0.88) {
      this.story.push('NATS restarts');
      this.nats.stop(true);
      await this.clock.run(Math.floor(this.#random() * 8_000));
      return this.nats.stop(false);
    }
    await this.clock.run(Math.floor(this.#random() * 8_000));
  }

  /** A client makes an object with an id that it has chosen. */
  async #make(node: SimulatedNode): Promise<void> {
    const id = this.#pick(chosen) as string;
    const term = this.#termOf(node.name);
    try {
      if (!(await node.cluster.claims.claim('bridge', id))) return;
    } catch (error) {
      if (error instanceof AriError) return;
      throw error;
    }
    if (!node.isAlive) return;
    node.objects.set(id, term);
    node.cluster.claims.settle('bridge', id, true);
  }

  #unmake(node: SimulatedNode): void {
    const id = this.#pick([...node.objects.keys()]);
    if (id !== undefined) node.objects.delete(id);
  }

  /** A call begins, goes on or ends. */
  #call(node: SimulatedNode): void {
    const call = this.#random() < 0.4 ? undefined : this.#pick([...node.calls]);
    if (!call) this.#beginCall(node);
    else if (this.#random() < 0.7) node.tell('ChannelVarset', call);
    else {
      node.tell('StasisEnd', call);
      node.tell('ChannelDestroyed', call);
      node.calls.delete(call);
    }
  }

  #beginCall(node: SimulatedNode): Call {
    const call: Call = { id: `${node.name}~${this.#calls.length}`, made: 0 };
    this.#calls.push(call);
    node.calls.add(call);
    node.tell('StasisStart', call);
    return call;
  }

  /** The term of the process that has a name, which grows with each that gets it. */
  #termOf(name: string): number {
    return holderOf(this.nats.table.get(nodeKey(name)))?.term ?? 0;
  }

  /** Whether the process has had its name since it made an object. */
  #isFenced({ name, objects }: SimulatedNode, id: string): boolean {
    return objects.get(id) !== this.#termOf(name);
  }

  #requireOneOwner(): void {
    for (const id of chosen) {
      const owners = this.#parts.filter((node) => node.objects.has(id) && !this.#isFenced(node, id));
      assert.equal(owners.map(({ process }) => process).slice(1), [], `'${id}' has one owner`);
    }
  }

  /** No two nodes are registered at the same time: one gives up its registration before another makes it. */
  #requireOneContact(): void {
    for (const [id, contacts] of this.provider.contacts) assert.ok(contacts.size <= 1, `${id}: ${[...contacts]}`);
  }

  /** Each registration is held by one living node, which its provider knows, though it keeps one contact alone. */
  #checkRegistrations(): void {
    const parts = this.#parts;
    for (const [id, contacts] of this.provider.contacts) {
      const holders = parts.filter(({ name, cluster }) => cluster.registrations.holderOf(id) === name);
      assert.is(holders.length, 1, `${id} is held by ${holders.map(({ process }) => process)}`);
      const [{ name, process }] = holders as [SimulatedNode];
      const living = this.#alive.filter((node) => contacts.has(node.process)).map((node) => node.process);
      assert.equal(living, [process], id);
      // A process without a name cannot say that it has replaced the contact: the next refresh mends it.
      if (!this.#hadTwoOfAName) assert.is(this.provider.last.get(id), process, id);
      assert.ok(lines[id]?.includes(name));
      const ready = parts.filter((node) => lines[id]?.includes(node.name) && !node.isDrained);
      assert.ok(ready.length === 0 || ready.some((node) => node.process === process), `${id} is at a drained node`);
      for (const { cluster } of parts) assert.is(cluster.registrations.holderOf(id), name);
    }
  }

  /** Each row has its object, and each object its row, unless another process has had the name since it was made. */
  #checkRows(): void {
    const there = this.#parts.flatMap(({ name, objects }) => [...objects.keys()].map((id) => `${name} ${id}`));
    const rows = [...this.nats.table]
      .filter(([key]) => key.startsWith('id.'))
      .map(([, row]) => JSON.parse(row) as { node: string; id: string });
    const own = this.#parts.flatMap((node) =>
      [...node.objects.keys()].filter((id) => !this.#isFenced(node, id)).map((id) => `${node.name} ${id}`),
    );
    const written = rows.map(({ node, id }) => `${node} ${id}`);
    assert.equal(written.filter((row) => !there.includes(row)).sort(), [], 'rows without an object');
    assert.equal(own.filter((each) => !written.includes(each)).sort(), [], 'objects without a row');
  }

  /** No event comes twice or out of order. @param told whether none may be missing without a word */
  #checkOrder(told: boolean): void {
    const { got } = this.#client;
    for (const { process } of this.#nodes) {
      let before = 0;
      let isTold = true;
      for (const each of got) {
        const [from, count] = each.split(' ');
        if (each === lost) isTold = true;
        if (from !== process) continue;
        assert.ok(Number(count) > before, `${each} behind ${before}: ${got}`);
        assert.ok(!told || isTold || Number(count) === before + 1, `${each} behind ${before} without a word: ${got}`);
        before = Number(count);
        isTold = false;
      }
    }
    for (const member of this.#members)
      for (const { id } of this.#calls) {
        let before = 0;
        for (const each of member.got) {
          // It may get the events of its calls again.
          if (each === lost) before = 0;
          const [call, count] = each.split(' ');
          if (call !== id) continue;
          assert.ok(Number(count) > before, `${member.name}: ${each} behind ${before}: ${member.got}`);
          before = Number(count);
        }
      }
  }

  /** Every event has come, and those of a call to one member. */
  #checkAll(): void {
    const { got } = this.#client;
    for (const { process, made } of this.#nodes)
      assert.is(got.filter((each) => each.startsWith(`${process} `)).length, made, `events of ${process}`);
    for (const { id, made } of this.#calls) {
      const all = this.#members.map((member) => member.got.filter((each) => each.startsWith(`${id} `)));
      const [own = [], ...others] = all.filter((events) => events.length > 0);
      assert.equal(others, [], `${id} has one member`);
      assert.equal(
        own,
        Array.from({ length: made }, (_, at) => `${id} ${at + 1}`),
      );
    }
  }

  /** In the end the events of all nodes come, and those of a call to one member. */
  async #checkEnd(): Promise<void> {
    const from = this.#client.got.length;
    const fromCalls = this.#members.map(({ got }) => got.length);
    const parts = this.#parts;
    for (const node of parts) node.publish();
    const calls = parts.map((node) => this.#beginCall(node));
    // Events wait so long for the last ones on another way, whose node may have been killed.
    await this.clock.run(settings.requestTimeoutMs + 1_000);
    const news = this.#client.got.slice(from).filter((each) => each !== lost);
    assert.equal(news.sort(), parts.map(({ process, made }) => `${process} ${made}`).sort(), 'events in the end');
    for (const { id } of calls) {
      const having = this.#members.filter(({ got }, at) => got.slice(fromCalls[at]).includes(`${id} 1`));
      assert.is(having.length, 1, `${id} has one member: ${having.map(({ name }) => name)}`);
    }
  }
}
