import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CommittedStep } from '../../src/actors/step.ts';
import { CallStore } from '../../src/recorder/call-store.ts';
import { EventEntry, SipEntry } from '../../src/recorder/entries.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';

const bounds = suite('bounds of the recorder');

const limits = { stepsPerCall: 50, octets: 2_000_000, keepEndedMs: 60_000, others: 100 };
const place = { address: '192.0.2.1', port: 5060 };

/** Fills a store with calls, each of a few steps, messages and events, at a simulated pace of one a ms. */
class Load {
  readonly store = new CallStore(limits, () => nothingMasked);
  #order = 0;
  #now = 0;
  most = 0;

  step(id: string, value: string, status = 'active', chart = 'channel'): void {
    const context = { linked: { id, since: 0 }, protocolId: `sip-${id}` };
    const event = { type: 'any' };
    const committed = new CommittedStep(
      { seq: 1, at: this.#now, object: id, chart, event, from: undefined, facts: [], effects: [], causedBy: undefined },
      { status, value, context },
      undefined,
    );
    committed.order = ++this.#order;
    this.store.addStep(committed);
  }

  call(id: string, entries: number): void {
    this.#now++;
    const sip = new SipEntry({
      ...{ at: this.#now, direction: 'in', protocol: 'udp', head: 'x'.repeat(500), body: undefined, bodyLength: 0 },
      ...{ local: place, remote: place },
    } as ConstructorParameters<typeof SipEntry>[0]);
    sip.order = ++this.#order;
    this.store.wait(`sip:sip-${id}`, sip);
    this.step(id, 'ring');
    const call = this.store.find(id);
    for (let at = 0; at < entries && call; at++) {
      const told = { at: this.#now, application: 'a', number: at, type: 'X', json: '{}'.repeat(200), missed: false };
      const event = new EventEntry(told);
      event.order = ++this.#order;
      this.store.put(call, event);
    }
    this.step(id, 'destroyed', 'done');
    this.most = Math.max(this.most, this.store.octets);
  }

  get now(): number {
    return this.#now;
  }
}

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
  assert.is(store.ofSipCall('sip-c0'), undefined);
  assert.is(store.ofSipCall('sip-c99999'), kept.at(-1));
  assert.is(store.living.get('channel')?.size, 0);
  store.expire(load.now + limits.keepEndedMs);
  assert.equal([store.calls(), store.octets, store.hasEnded], [[], 0, false]);
});

bounds('of a long call the oldest entries go, and it is told how many', () => {
  const load = new Load();
  load.call('long', 500);
  const call = load.store.find('long');
  assert.equal([call?.entries.size, call?.entries.gone], [50, 453]);
});

bounds('calls that do not end are shortened when nothing else can go', () => {
  const load = new Load();
  for (let at = 0; at < 2_000; at++) load.step(`live${at}`, 'ring');
  for (let round = 0; round < 20; round++) for (let at = 0; at < 2_000; at++) load.step(`live${at}`, `up${round}`);
  assert.ok(load.store.octets <= limits.octets + 2_000 * 2_000, `it took ${load.store.octets}`);
  assert.is(load.store.calls().length, 2_000);
  assert.ok(load.store.calls().some(({ entries }) => entries.gone > 0));
});

bounds.run();
