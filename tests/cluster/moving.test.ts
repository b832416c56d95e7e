import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connected } from '../../src/actors/application-connections.ts';
import { type Applications, createApplications } from '../../src/actors/applications.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import { createBus } from '../../src/bus/bus.ts';
import { channelTopic, channelTopics } from '../../src/bus/topics.ts';
import { createPresence, type Presence } from '../../src/cluster/presence.ts';
import type { Channel } from '../../src/models/channel.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { anyDeed } from '../support/deeds.ts';
import { silentLog as log } from '../support/log.ts';

/** Applications that move between nodes: real ones, on a network whose messages keep their order between two nodes. */
const moving = suite('applications that move between nodes');

const names = ['a', 'b', 'c'] as const;
type Name = (typeof names)[number];

const channelOf = (node: string, count: number): Channel =>
  ({ id: node, name: `${node}${count}`, state: 'Up' }) as unknown as Channel;

/** The events of an application as a recorder has them: the newest rows in front. */
function recording() {
  const rows: { number: number; json: string }[] = [];
  return {
    on: true,
    sent: ({ number }: { number: number }, _event: unknown, json: string) => void rows.unshift({ number, json }),
    after(number: number, made: number) {
      const events: string[] = [];
      let first = made + 1;
      for (const row of rows) {
        if (row.number <= number || row.number >= first) break;
        if (row.json.startsWith('{"type":"ApplicationReplaced"')) continue;
        first = row.number;
        events.unshift(row.json);
      }
      return { events, lost: first - 1 - number };
    },
  };
}

type World = ReturnType<typeof createWorld>;

function createWorld(awaitMs = 60_000) {
  const clock = new ManualClock();
  const queues = new Map<string, (() => void)[]>();
  const nodes = new Map<string, { presence: Presence; applications: Applications; publish(): void; made: number }>();
  const dead = new Set<string>();
  let epochs = 0;

  const send = (from: string, to: string, deliver: () => void): void => {
    if (dead.has(from) || dead.has(to)) return;
    const queue = queues.get(from + to) ?? [];
    queues.set(from + to, queue);
    queue.push(deliver);
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  /** Delivers the oldest message between two nodes. */
  const deliver = async (pair: string): Promise<boolean> => {
    const next = queues.get(pair)?.shift();
    next?.();
    await turn();
    return next !== undefined;
  };
  const drain = async (): Promise<void> => {
    for (let some = true; some; ) {
      some = false;
      for (const pair of [...queues.keys()].sort()) while (await deliver(pair)) some = true;
    }
  };
  const request = <T>(from: string, to: string, answer: (presence: Presence) => T): Promise<T | undefined> =>
    new Promise((resolve) => {
      if (dead.has(to)) return resolve(undefined);
      send(from, to, () => {
        const answered = answer(nodes.get(to)!.presence);
        send(to, from, () => resolve(answered));
      });
    });

  for (const node of names) {
    const bus = createBus({ log });
    const recorder = recording();
    const late: { presence?: Presence } = {};
    const applications = createApplications({
      ...{ bus, clock, log, runtime: createRuntime(clock, log), entityId: node, recorder },
      resolve: {
        channel: () => undefined,
        bridge: () => undefined,
        endpoint: () => undefined,
        technology: () => undefined,
      },
      kept: (_name, number, made) => recorder.after(number, made),
      epoch: () => `e${++epochs}`,
      isAwaited: (name) => late.presence?.isAwaited(name) ?? false,
      handedOver: (...asked) => late.presence?.handedOver(...asked),
    });
    const others = names.filter((other) => other !== node);
    const presence = createPresence({
      ...{ node, epoch: 'one', log, clock, applications, awaitMs, timeoutMs: 5_000, mostOctets: 1_000_000, hit() {} },
      callOf: () => undefined,
      tell: (change) => {
        for (const other of others) send(node, other, () => nodes.get(other)!.presence.change(change));
      },
      ask: (other) => request(node, other, (theirs) => JSON.parse(JSON.stringify(theirs.list()))),
      askFor: (other, asked) =>
        request(node, other, (theirs) => {
          const given = theirs.handOver(JSON.parse(JSON.stringify(asked)));
          return given && JSON.parse(JSON.stringify(given));
        }),
      send(to, frame) {
        send(node, to, () => nodes.get(to)!.presence.take(frame));
        return !dead.has(to);
      },
    });
    late.presence = presence;
    const own = {
      ...{ presence, applications, made: 0 },
      publish: () =>
        bus.publish({
          event: { type: 'ChannelStateChange', channel: channelOf(node, ++own.made) },
          topics: channelTopics(node),
        }),
    };
    nodes.set(node, own);
  }
  const of = (node: string) => nodes.get(node)!;
  const meet = async (): Promise<void> => {
    for (const node of names)
      for (const other of names)
        if (other !== node && !dead.has(other) && !dead.has(node))
          of(node).presence.heard(other, 'one', of(other).presence.revision);
    await drain();
  };
  return { clock, of, meet, deliver, drain, queues, dead };
}

/** A client of the application `shop` that resumes wherever it connects. */
class Client {
  readonly got: string[] = [];
  readonly other: string[] = [];
  readonly seqs: number[] = [];
  #place: { epoch: string; seq: number } | 'new' = 'new';
  #connected: Connected | undefined;
  #number = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async connect(node: Name): Promise<void> {
    const { presence } = this.#world.of(node);
    const number = ++this.#number;
    const place = this.#place;
    const resume = new Map([['shop', place]]);
    await presence.bring(['shop'], { resume, subscribeAll: false, observes: false });
    this.#connected = presence.connect({
      ...{ names: ['shop'], resume, describe: 'client' },
      send: (json) => {
        if (number === this.#number) this.#take(JSON.parse(json));
      },
    });
  }

  /** The server sees the connection close; if not, the client reads nothing more of it. */
  leave(closes: boolean): void {
    this.#number++;
    if (closes) this.#connected?.close();
  }

  #take({ type, epoch, seq, channel }: { type: string; epoch: string; seq: number; channel?: Channel }): void {
    if (type === 'ResumePoint' || type === 'ResumeGap') {
      this.#place = { epoch, seq };
      if (type === 'ResumeGap') this.other.push(type);
    } else if (channel) {
      this.got.push(channel.name);
      this.seqs.push(seq);
      if (this.#place !== 'new') this.#place = { epoch: this.#place.epoch, seq };
    } else if (type !== 'ApplicationReplaced') this.other.push(type);
  }
}

/** Connected at `a`, with a channel on each node. */
async function begin(awaitMs?: number) {
  const world = createWorld(awaitMs);
  await world.meet();
  const client = new Client(world);
  await client.connect('a');
  await world.drain();
  for (const node of names) world.of(node).applications.addInterest('shop', channelTopic(node));
  return { ...world, client };
}

const eventsOf = (got: readonly string[], node: string): string[] => got.filter((name) => name.startsWith(node));
const all = (node: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${node}${at + 1}`);

moving('what is missed while an application is away is sent where it comes back', async () => {
  const { client, of, drain } = await begin();
  for (const node of names) of(node).publish();
  await drain();
  client.leave(true);
  await drain();
  for (const node of names) for (let n = 0; n < 3; n++) of(node).publish();
  await drain();
  const connecting = client.connect('c');
  await drain();
  await connecting;
  await drain();
  for (const node of names) of(node).publish();
  await drain();
  for (const node of names) assert.equal(eventsOf(client.got, node), all(node, 5));
  assert.equal(client.seqs, all('', 15).map(Number));
  assert.equal(client.other, []);
});

moving('events that come while a client connects wait for it', async () => {
  const { client, of, drain, deliver } = await begin();
  client.leave(false);
  const connecting = client.connect('c');
  for (const node of names) of(node).publish();
  await deliver('ca');
  for (const node of names) of(node).publish();
  await drain();
  await connecting;
  await drain();
  for (const node of names) assert.equal(eventsOf(client.got, node), all(node, 2));
  assert.equal(client.other, []);
});

moving('events of one node keep their order where they come on two ways', async () => {
  const { client, of, drain, deliver } = await begin();
  client.leave(false);
  of('b').publish();
  const connecting = client.connect('c');
  await deliver('ca');
  await deliver('ac');
  await connecting;
  await deliver('cb');
  of('b').publish();
  while (await deliver('bc'));
  await drain();
  assert.equal(client.got, ['b1', 'b2']);
});

moving('an application that was away for too long gets one gap', async () => {
  const { client, of, drain, clock } = await begin(60_000);
  client.leave(true);
  for (const node of names) of(node).applications.forget(channelTopic(node));
  await drain();
  clock.advance(60_000);
  await drain();
  assert.equal([...of('a').applications.list()], []);
  of('b').applications.addInterest('shop', channelTopic('b'));
  const connecting = client.connect('b');
  await drain();
  await connecting;
  assert.equal(client.other, ['ResumeGap']);
});

moving('a client that does not come leaves its application where it was brought', async () => {
  const { of, drain, clock, client } = await begin();
  client.leave(true);
  await drain();
  const bringing = of('c').presence.bring(['shop'], { subscribeAll: false, observes: false });
  await drain();
  await bringing;
  of('b').publish();
  await drain();
  clock.advance(5_000);
  await drain();
  of('b').publish();
  await drain();
  assert.equal(
    names.map((node) => of(node).presence.isAwaited('shop')),
    [false, false, true],
  );
  const connecting = client.connect('b');
  await drain();
  await connecting;
  await drain();
  assert.equal(eventsOf(client.got, 'b'), all('b', 2));
});

moving('a node that has died with the numbers leaves one gap', async () => {
  const { client, of, drain, dead } = await begin();
  of('b').publish();
  await drain();
  dead.add('a');
  client.leave(false);
  await client.connect('b');
  await drain();
  assert.equal(client.other, ['ResumeGap']);
  of('c').publish();
  await drain();
  assert.equal(client.got, ['b1', 'c1']);
});

moving('a node that has given an application away, and gets it back without its numbers, begins an epoch', async () => {
  const { client, of, drain, dead } = await begin();
  of('b').publish();
  await drain();
  client.leave(false);
  const connecting = client.connect('c');
  await drain();
  await connecting;
  of('b').publish();
  await drain();
  dead.add('c');
  client.leave(false);
  await client.connect('a');
  dead.delete('c');
  client.leave(false);
  await client.connect('c');
  await drain();
  assert.equal(client.other, ['ResumeGap', 'ResumeGap']);
  assert.equal(client.got, ['b1', 'b2']);
});

moving('nothing is lost, doubled or out of order, however an application moves', async () => {
  const step = anyDeed({
    deliver: [6, { pair: fc.constantFrom('ab', 'ac', 'ba', 'bc', 'ca', 'cb') }],
    publish: [4, { node: fc.constantFrom(...names) }],
    move: [1, { to: fc.constantFrom(...names), closes: fc.boolean() }],
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const world = await begin();
      const { client, of, deliver, drain } = world;
      let connecting: Promise<void> | undefined;
      for (const each of steps) {
        if (each.kind === 'deliver') await deliver(each.pair);
        else if (each.kind === 'publish') of(each.node).publish();
        else if (!connecting) {
          client.leave(each.closes);
          connecting = client.connect(each.to).then(() => {
            connecting = undefined;
          });
          await Promise.resolve();
        }
      }
      await drain();
      await connecting;
      await drain();
      assert.equal(client.other, []);
      for (const node of names) assert.equal(eventsOf(client.got, node), all(node, of(node).made));
    }),
    { numRuns: 300 },
  );
});

moving.run();
