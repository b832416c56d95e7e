import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assign, setup } from 'xstate';
import { type Actor, createRuntime, spawn } from '../../src/actors/spawn.ts';
import type { CallRecord } from '../../src/recorder/call-record.ts';
import { CallStore } from '../../src/recorder/call-store.ts';
import { EventEntry, SipEntry } from '../../src/recorder/entries.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { recordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const bounds = suite('bounds of the recorder');

const limits = { stepsPerCall: 50, octets: 2_000_000, keepEndedMs: 60_000, others: 100 };
const place = { address: '192.0.2.1', port: 5060 };

/** The part of a channel that the recorder looks at. */
const channelChart = setup({
  types: {
    input: {} as { id: string },
    context: {} as { linked: { id: string; since: number }; protocolId: string; rounds: number },
    events: {} as { type: 'go' } | { type: 'end' },
  },
}).createMachine({
  id: 'channel',
  context: ({ input: { id } }) => ({ linked: { id, since: 0 }, protocolId: `sip-${id}`, rounds: 0 }),
  initial: 'ring',
  states: {
    ring: {
      on: { go: { actions: assign(({ context }) => ({ rounds: context.rounds + 1 })) }, end: 'destroyed' },
    },
    destroyed: { type: 'final' },
  },
});

/** Something that goes on and on, and says who is in it: the part of a bridge that the recorder looks at. */
const roundsOfChart = (id: string) =>
  setup({
    types: {
      context: {} as { members: { channelId: string }[]; rounds: number },
      events: {} as { type: 'go'; member?: string } | { type: 'end' },
    },
  }).createMachine({
    id,
    context: { members: [], rounds: 0 },
    initial: 'there',
    states: {
      there: {
        on: {
          go: {
            actions: assign(({ context, event: { member } }) => ({
              rounds: context.rounds + 1,
              members: member === undefined ? [] : [{ channelId: member }],
            })),
          },
          end: 'gone',
        },
      },
      gone: { type: 'final' },
    },
  });
const bridgeChart = roundsOfChart('bridge');
const contactChart = roundsOfChart('contact');

/** Fills a store with calls, each of a few steps, messages and events, at a simulated pace of one a ms. */
class Load {
  readonly store = new CallStore(limits, () => nothingMasked);
  readonly #clock = new ManualClock();
  readonly #runtime = createRuntime(this.#clock, recordingLog());
  #order = 0;
  most = 0;

  constructor() {
    this.#runtime.turn.keep((step, actor) => {
      step.order = ++this.#order;
      this.store.addStep(step, actor);
    });
  }

  channel(id: string): Actor<typeof channelChart> {
    return spawn(channelChart, { id, input: { id }, runtime: this.#runtime, onEnded: () => {} });
  }

  object(chart: typeof bridgeChart, id: string): Actor<typeof bridgeChart> {
    return spawn(chart, { id, input: undefined, runtime: this.#runtime, onEnded: () => {} });
  }

  call(id: string, entries: number): void {
    this.#clock.advance(1);
    const at = this.now;
    const sip = new SipEntry({
      ...{ at, direction: 'in', protocol: 'udp', head: 'x'.repeat(500), body: undefined, bodyLength: 0 },
      ...{ local: place, remote: place },
    } as ConstructorParameters<typeof SipEntry>[0]);
    sip.order = ++this.#order;
    this.store.wait(`sip-${id}`, sip);
    const channel = this.channel(id);
    const kept = this.store.channel(id);
    for (let number = 0; number < entries; number++) {
      const event = new EventEntry({ at, application: 'a', number, type: 'X', json: '{}'.repeat(200), missed: false });
      event.order = ++this.#order;
      this.store.addEvent(kept, event);
    }
    channel.send({ type: 'end' });
    this.most = Math.max(this.most, this.store.octets);
  }

  get now(): number {
    return this.#clock.now();
  }
}

/** What a call's steps tell, as it was when they were taken. */
const roundsOf = (call: CallRecord | undefined): unknown[] =>
  call?.all().flatMap((entry) => (entry.kind === 'step' ? [entry.after.context.rounds] : [])) ?? [];

bounds('100,000 calls leave it at its limit, with the newest of them, and it says how many went', () => {
  const load = new Load();
  for (let at = 0; at < 100_000; at++) load.call(`c${at}`, 4);
  const { store } = load;
  const kept = store.calls();
  assert.ok(load.most <= limits.octets, `it took ${load.most}`);
  assert.ok(store.octets > limits.octets * 0.85, `only ${store.octets} are used`);
  assert.is(kept.length + store.evicted, 100_000);
  assert.equal(
    kept.map(({ id }) => id),
    Array.from({ length: kept.length }, (_, at) => `c${100_000 - kept.length + at}`),
  );
  assert.is(store.ofChannel('c0'), undefined);
  assert.is(store.sipCall('sip-c0'), undefined);
  assert.is(store.sipCall('sip-c99999')?.call, kept.at(-1));
  assert.is(store.living.size, 0);
  store.expire(load.now + limits.keepEndedMs);
  assert.equal([store.calls(), store.hasEnded], [[], false]);
  store.expire(load.now + 600_000);
  assert.is(store.octets, 0);
});

bounds('of calls that went nothing is left that waits until they were kept long enough', () => {
  const load = new Load();
  const { store } = load;
  for (let at = 0; at < 10; at++) load.call(`c${at}`, 4);
  assert.is(store.hasEnded, true);
  const channel = load.channel('long');
  for (let round = 0; store.evicted < 10; round++) {
    assert.ok(round < 100_000, 'nothing went');
    channel.send({ type: 'go' });
  }
  assert.equal(
    store.calls().map(({ id }) => id),
    ['long'],
  );
  assert.is(store.hasEnded, false);
});

bounds('of a long call the oldest entries go, and it is told how many; what is left tells the truth', () => {
  const load = new Load();
  const channel = load.channel('long');
  for (let round = 1; round <= 500; round++) {
    channel.send({ type: 'go' });
    const call = load.store.find('long');
    const { size = 0, dropped: gone = 0 } = call ?? {};
    assert.ok(size <= limits.stepsPerCall && size + gone === round + 1, `${size} are there, ${gone} went`);
    if (round % 7 === 0)
      assert.equal(
        roundsOf(call),
        Array.from({ length: size }, (_, at) => round + 1 - size + at),
      );
  }
});

bounds('calls that do not end are shortened when nothing else can go', () => {
  const load = new Load();
  const channels = Array.from({ length: 2_000 }, (_, at) => load.channel(`live${at}`));
  for (let round = 0; round < 20; round++) for (const channel of channels) channel.send({ type: 'go' });
  assert.ok(load.store.octets <= limits.octets + 2_000 * 2_000, `it took ${load.store.octets}`);
  const calls = load.store.calls();
  assert.is(calls.length, 2_000);
  assert.ok(calls.some(({ dropped }) => dropped > 0));
  for (const call of calls) {
    const { size } = call;
    assert.equal(
      roundsOf(call),
      Array.from({ length: size }, (_, at) => 21 - size + at),
    );
  }
});

bounds('a live call keeps all that it was while thousands of others come and go', () => {
  const load = new Load();
  const channel = load.channel('live');
  for (let round = 1; round < 40; round++) {
    channel.send({ type: 'go' });
    for (let at = 0; at < 500; at++) load.call(`${round}-${at}`, 4);
  }
  const call = load.store.find('live');
  assert.ok(load.store.evicted > 10_000);
  assert.equal(
    roundsOf(call),
    Array.from({ length: 40 }, (_, at) => at),
  );
  assert.is(call?.dropped, 0);
});

bounds('what outlives its call goes on truly, without what went with that, and is of the next call it meets', () => {
  const load = new Load();
  const bridge = load.object(bridgeChart, 'b');
  load.call('first', 1);
  bridge.send({ type: 'go', member: 'first' });
  bridge.send({ type: 'go' });
  assert.is(load.store.object('bridge', 'b')?.call?.id, 'first');
  for (let at = 0; load.store.find('first'); at++) load.call(`c${at}`, 4);
  assert.is(load.store.object('bridge', 'b'), undefined);
  const channel = load.channel('second');
  bridge.send({ type: 'go', member: 'second' });
  channel.send({ type: 'go' });
  bridge.send({ type: 'go', member: 'second' });
  const rounds = load.store
    .find('second')
    ?.all()
    .map((entry) => (entry.kind === 'step' ? [entry.chart, entry.after.context.rounds] : []));
  assert.equal(rounds, [
    ['channel', 0],
    ['bridge', 3],
    ['channel', 1],
    ['bridge', 4],
  ]);
});

bounds('what never is in a call pushes none out, and its last steps tell the truth', () => {
  const load = new Load();
  load.call('kept', 1);
  const contacts = [load.object(contactChart, 'one'), load.object(contactChart, 'other')];
  for (let round = 1; round <= 5_000; round++) for (const contact of contacts) contact.send({ type: 'go' });
  assert.ok(load.store.find('kept'));
  const rounds = load.store
    .all()
    .flatMap((entry) =>
      entry.kind === 'step' && entry.chart === 'contact' ? [[entry.object, entry.after.context.rounds]] : [],
    );
  const count = rounds.length / 2;
  assert.ok(count > 20 && count < 200, `${count} are kept of each`);
  assert.equal(
    rounds.slice(-40),
    Array.from({ length: 20 }, (_, at) => ['one', 'other'].map((id) => [id, 4_981 + at])).flat(),
  );
});

bounds('what has ended is told truly while some of it has gone', () => {
  const load = new Load();
  const ended = load.object(contactChart, 'ended');
  for (let round = 1; round <= 20; round++) ended.send({ type: 'go' });
  ended.send({ type: 'end' });
  const other = load.object(contactChart, 'other');
  const kept = () =>
    load.store
      .all()
      .flatMap((entry) => (entry.kind === 'step' && entry.object === 'ended' ? [entry.after.context.rounds] : []));
  const all = [...Array.from({ length: 21 }, (_, round) => round), 20];
  const seen = new Set<number>();
  for (let left = kept(); left.length > 0; left = kept()) {
    assert.equal(left, all.slice(-left.length));
    seen.add(left.length);
    other.send({ type: 'go' });
  }
  assert.ok(seen.size > 2, `only ${[...seen]} were left at a time`);
});

bounds.run();
