import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { IceAddress, RemoteCandidate, WebrtcTransport } from '../../../src/lib/webrtc.ts';
import { type IceRole, readCheck, writeCheckAnswer, writeCheckRefusal } from '../../../src/media/webrtc/checks.ts';
import { OwnChecks } from '../../../src/media/webrtc/own-checks.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { iceLocal as local, iceRemote as remote } from '../../support/ice-check.ts';

const test = suite('checks of a full agent of ICE');

const fingerprint = { hash: 'sha256', digest: '' } as const;
const best = { address: '192.0.2.1', port: 5000, priority: 30 };
const middle = { address: '2001:db8::1', port: 5002, priority: 20 };
const worst = { address: '198.51.100.1', port: 5004, priority: 10 };
const placeOf = ({ address, port }: RemoteCandidate): IceAddress => ({ address, port });

type Sent = { datagram: Buffer; to: IceAddress; at: number; nominates: boolean; role: IceRole | undefined };

/**
 * @param places addresses that a relay of ours lets through.
 * @param more whether the far side is lite; left out: it is.
 */
function agent(
  checked: readonly RemoteCandidate[] = [worst, best, middle],
  places?: string[],
  known?: IceAddress,
  more: Pick<WebrtcTransport, 'isControlled' | 'isFarLite' | 'reach'> & { consentMs?: number } = { isFarLite: true },
) {
  const { consentMs = 30_000 } = more;
  const clock = new ManualClock();
  const start = clock.monotonic();
  const sent: Sent[] = [];
  const found: [IceAddress, boolean][] = [];
  const transport = { local, remote, fingerprint, checked, ...(places && { places }), ...more };
  const checks = new OwnChecks(
    transport,
    {
      ...{ clock, consentMs },
      send: (datagram, to) => {
        const octets = Buffer.from(datagram);
        const read = readCheck(octets, remote, local);
        assert.ok(
          read?.unknown.every((type) => type >= 0x8000),
          'not a check',
        );
        const { nominates, role } = read!;
        sent.push({ datagram: octets, to, at: clock.monotonic() - start, nominates, role });
      },
      found: (source, isNominated) => found.push([source, isNominated]),
    },
    known,
  );
  /** The far side answers a check. */
  const answer = ({ datagram, to } = sent.at(-1)!, password = remote.password, from = to) =>
    checks.receive(writeCheckAnswer(datagram, { address: '192.0.2.9', port: 4000 }, password)!, from);
  /** It says that both have one role. */
  const conflict = ({ datagram, to } = sent.at(-1)!, password = remote.password) =>
    checks.receive(writeCheckRefusal(datagram, { unknown: [] }, password), to);
  return { clock, checks, sent, found, answer, conflict, transport };
}

/** An agent whose far side is full. */
const beside = (isControlled: boolean, checked?: readonly RemoteCandidate[], known?: IceAddress) =>
  agent(checked, undefined, known, isControlled ? { isControlled } : {});
const elsewhere: IceAddress = { address: '203.0.113.5', port: 6000 };
const [least, greatest] = [Buffer.alloc(8), Buffer.alloc(8, 255)];

test('candidates that our port or our relay cannot send to take no turn', () => {
  const times = ({ clock, sent }: ReturnType<typeof agent>) => {
    clock.advance(200);
    return sent.map(({ to, at }) => [at, to.address, to.via]);
  };
  assert.equal(times(agent(undefined, undefined, undefined, { reach: { port: 4 } })), [
    [0, best.address, undefined],
    [50, worst.address, undefined],
  ]);
  assert.equal(times(agent(undefined, [], undefined, { reach: { port: 6, relay: 4 } })), [
    [0, middle.address, undefined],
    [50, best.address, 'relay'],
    [100, worst.address, 'relay'],
  ]);
  assert.equal(times(agent(undefined, [], undefined, { reach: { port: 4, relay: 6 } })), [
    [0, best.address, undefined],
    [50, worst.address, undefined],
    [100, middle.address, 'relay'],
  ]);
});

test('the pairs are checked by priority, each less and less often, and those by a relay last', () => {
  const { clock, sent } = agent([worst, best, middle], ['192.0.2.1']);
  clock.advance(300);
  const direct = [best, middle, worst].map(placeOf);
  assert.equal(
    sent.map(({ to }) => to),
    [...direct, ...direct.map((place) => ({ ...place, via: 'relay' }))],
  );
  assert.equal(
    sent.map(({ at }) => at),
    [0, 50, 100, 150, 200, 250],
  );
  clock.advance(60_000);
  const ofBest = sent.filter(({ to }) => to.port === best.port && !to.via).map(({ at }) => at);
  assert.equal(ofBest.slice(0, 6), [0, 500, 1500, 3500, 7500, 11_500]);
  assert.ok(sent.every(({ nominates }) => !nominates));
});

test('the best pair is nominated at once; another one a moment later, and only if none is better', () => {
  const { clock, sent, found, answer, checks } = agent();
  clock.advance(0);
  assert.is(answer(sent[0]), true);
  clock.advance(0);
  assert.equal(
    sent.map(({ to, nominates }) => [to.port, nominates]),
    [
      [best.port, false],
      [best.port, true],
    ],
  );
  assert.is(checks.state, 'nominating');
  answer();
  assert.equal(found, [
    [placeOf(best), false],
    [placeOf(best), true],
  ]);
  assert.is(checks.state, 'nominated');

  const late = agent();
  late.clock.advance(100);
  late.answer(late.sent[2]);
  late.clock.advance(50);
  late.answer(late.sent[1]);
  late.clock.advance(50);
  assert.equal([late.sent.at(-1)?.to, late.sent.at(-1)?.nominates], [placeOf(middle), true]);
});

test('an answer counts only from where the check went, with the password, and once', () => {
  const { clock, sent, found, answer, checks } = agent();
  clock.advance(0);
  const [first] = sent;
  assert.is(answer(first, 'a+guess+of+22+characters'), true);
  assert.is(answer(first, remote.password, placeOf(worst)), true);
  assert.is(answer(first, remote.password, { ...placeOf(best), via: 'relay' }), true);
  assert.is(checks.receive(first!.datagram, placeOf(worst)), true);
  assert.equal(found, []);
  answer(first);
  assert.is(answer(first), false);
  assert.is(checks.receive(Buffer.alloc(3), placeOf(best)), false);
  assert.is(found.length, 1);
});

test('a pair that does not take its nomination is left for the next one, and then all are checked again', () => {
  const { clock, sent, answer, checks } = agent([best, middle]);
  clock.advance(50);
  answer(sent[1]);
  answer(sent[0]);
  clock.advance(100);
  const nominated = () => sent.filter(({ nominates }) => nominates).map(({ to }) => to.port);
  clock.advance(2_000);
  assert.equal(nominated(), [best.port, best.port, best.port, best.port, middle.port]);
  clock.advance(2_000);
  assert.is(checks.state, 'checking');
  const before = sent.length;
  clock.advance(8_000);
  assert.ok(sent.length > before);
});

test('consent is asked for each five seconds or so, with or without an answer, until it is closed', () => {
  const { clock, sent, found, answer, checks } = agent([best]);
  clock.advance(0);
  answer();
  clock.advance(0);
  answer();
  const [from, said] = [sent.length, found.length];
  for (let at = 0; at < 120; at++) {
    const before = sent.length;
    clock.advance(500);
    if (at < 60 && sent.length > before) answer();
  }
  const asked = sent.slice(from);
  assert.ok(asked.length >= 10 && asked.length <= 15, String(asked.length));
  assert.ok(asked.every(({ to, nominates }) => to.port === best.port && nominates));
  assert.ok(found.length > said);
  checks.close();
  clock.advance(60_000);
  assert.is(sent.length, from + asked.length);
  assert.is(answer(), false);
});

test('a short time for consent is asked for thrice', () => {
  const { clock, sent, answer } = agent([best], undefined, undefined, { isFarLite: true, consentMs: 5_000 });
  clock.advance(0);
  answer();
  clock.advance(0);
  answer();
  const from = sent.length;
  for (let at = 0; at < 20; at++) {
    const before = sent.length;
    clock.advance(500);
    if (sent.length > before) answer();
  }
  assert.ok(sent.length - from >= 4, String(sent.length - from));
});

test('other credentials begin anew; further candidates are checked only where no pair is taken', () => {
  const { clock, sent, answer, checks, transport } = agent([best]);
  clock.advance(0);
  checks.use({ ...transport, checked: [best, middle] });
  clock.advance(50);
  assert.is(sent.at(-1)?.to.port, middle.port);
  answer(sent[0]);
  clock.advance(0);
  answer();
  const before = sent.length;
  checks.use({ ...transport, checked: [best, middle, worst] });
  clock.advance(1_000);
  assert.equal([checks.state, sent.length], ['nominated', before]);
  // Media goes to none of these any more.
  checks.use({ ...transport, checked: [middle] });
  assert.is(checks.state, 'checking');
  checks.use({ ...transport, remote: { ...remote, ufrag: 'anew' }, checked: [middle] });
  assert.is(checks.state, 'checking');
});

test('a process that goes on with a call asks for consent where media went', () => {
  const { clock, sent, answer, found, checks } = agent([best, middle], undefined, placeOf(middle));
  clock.advance(0);
  assert.equal([sent.length, sent[0]?.to, sent[0]?.nominates], [1, placeOf(middle), true]);
  answer();
  assert.equal([found, checks.state], [[[placeOf(middle), true]], 'nominated']);
});

test('a far side without candidates is not checked', () => {
  const { clock, sent, checks } = agent([]);
  clock.advance(60_000);
  assert.is(sent.length, 0);
  assert.is(checks.receive(Buffer.alloc(20), placeOf(best)), false);
});

test('each of 100 candidates is checked, and eight addresses that only checks tell find room beside them', () => {
  const all = Array.from({ length: 100 }, (_, at) => ({ ...best, port: 1000 + at }));
  const { clock, checks, sent } = beside(true, all);
  for (let at = 0; at < 20; at++) checks.hear({ address: '198.51.100.1', port: 5000 + at }, false);
  clock.advance(30_000);
  const ports = new Set(sent.map(({ to }) => to.port));
  assert.equal([all.filter(({ port }) => ports.has(port)).length, ports.size], [100, 108]);
});

test('a controlled agent nominates nothing, and takes the pair that the far side nominates once it works', () => {
  for (const isEarly of [false, true]) {
    const { clock, checks, sent, found, answer } = beside(true);
    clock.advance(100);
    assert.ok(sent.every(({ role, nominates }) => role === 'controlled' && !nominates));
    if (isEarly) checks.hear(placeOf(middle), true);
    else answer(sent[1]);
    assert.ok(found.every(([, isNominated]) => !isNominated));
    assert.is(checks.state, 'following');
    if (isEarly) answer(sent[1]);
    else checks.hear(placeOf(middle), true);
    assert.equal([found.at(-1), checks.state], [[placeOf(middle), true], 'chosen']);
    const before = sent.length;
    clock.advance(13_000);
    const asked = sent.slice(before).map(({ to, nominates, role }) => [to.port, nominates, role]);
    assert.equal(asked, [
      [middle.port, false, 'controlled'],
      [middle.port, false, 'controlled'],
    ]);
  }
});

test('the far side may nominate another pair later', () => {
  const { clock, checks, found, answer } = beside(true, [best]);
  clock.advance(0);
  answer();
  checks.hear(placeOf(best), true);
  checks.hear(elsewhere, true);
  assert.equal(found.at(-1), [placeOf(best), true]);
  clock.advance(50);
  answer();
  assert.equal(found.at(-1), [elsewhere, true]);
});

test('an address that only a check tells is checked at once, before candidates, in every state', () => {
  const { clock, checks, sent, answer } = beside(false, [best, middle]);
  checks.hear(elsewhere, false);
  clock.advance(0);
  assert.equal(sent[0]?.to, elsewhere);
  clock.advance(50);
  answer();
  clock.advance(100);
  answer();
  assert.is(checks.state, 'nominated');
  const other = { ...elsewhere, port: 6001 };
  checks.hear(other, false);
  clock.advance(50);
  assert.equal([sent.at(-1)?.to, sent.at(-1)?.nominates], [other, false]);
});

test('a candidate that never answers is checked seven times; a check of the far side makes it one more', () => {
  const { clock, checks, sent } = beside(false, [best]);
  clock.advance(600_000);
  assert.equal([sent.length, sent.at(-1)?.at], [7, 15_500]);
  for (let times = 0; times < 3; times++) checks.hear(placeOf(best), false);
  clock.advance(600_000);
  assert.is(sent.length, 8);
});

test('of two controlling agents the one with the greater tie-breaker leads; the other follows', () => {
  for (const isControlled of [false, true]) {
    const ours = isControlled ? 'controlled' : 'controlling';
    const { checks } = beside(isControlled);
    assert.is(checks.admits(isControlled ? 'controlling' : 'controlled', greatest), true);
    assert.is(checks.admits(undefined, greatest), true);
    // The far side is told 487, and changes.
    assert.is(checks.admits(ours, isControlled ? greatest : least), false);
    assert.is(checks.role, ours);
    assert.is(checks.admits(ours, isControlled ? least : greatest), true);
    assert.is.not(checks.role, ours);
  }
  assert.is(agent().checks.admits('controlling', greatest), false);
});

test('an agent that hears 487 changes its role, checks again, and goes on with what it knows', () => {
  const led = beside(false, [best]);
  led.clock.advance(0);
  assert.is(led.conflict(led.sent[0], 'a+guess+of+22+characters'), true);
  assert.is(led.checks.role, 'controlling');
  led.checks.hear(placeOf(best), true);
  led.conflict();
  assert.is(led.checks.state, 'following');
  led.clock.advance(50);
  assert.is(led.sent.at(-1)?.role, 'controlled');
  led.answer();
  assert.equal([led.checks.state, led.found.at(-1)], ['chosen', [placeOf(best), true]]);

  const followed = beside(true, [best, middle]);
  followed.clock.advance(50);
  followed.answer(followed.sent[1]);
  followed.conflict(followed.sent[0]);
  followed.clock.advance(100);
  assert.equal(
    [followed.checks.state, followed.sent.at(-1)?.to.port, followed.sent.at(-1)?.nominates],
    ['nominating', middle.port, true],
  );
});

test('media stays where it goes when the roles change, and a far side that changes them again and again is left', () => {
  const { clock, checks, found, answer } = beside(false, [best]);
  clock.advance(0);
  answer();
  clock.advance(0);
  answer();
  const before = found.length;
  const states: string[] = [];
  for (let times = 0; times < 100; times++) {
    checks.admits('controlling', greatest);
    checks.admits('controlled', least);
    states.push(checks.state);
  }
  assert.equal(new Set(states), new Set(['nominated']));
  assert.is(checks.admits('controlling', greatest), false);
  assert.is(found.length, before);
});

test('checks from 10,000 addresses cause no more than twenty a second, and candidates keep their place', () => {
  const { clock, checks, sent, answer, found } = beside(true, [best]);
  for (let at = 0; at < 10_000; at++) {
    checks.hear({ address: `198.51.${at >> 8}.${at & 255}`, port: 5000 }, at % 2 === 0);
    if (at % 100 === 0) clock.advance(10);
  }
  assert.ok(sent.length <= 21, String(sent.length));
  assert.is(sent.filter(({ to }) => to.port === best.port && to.address === best.address).length > 0, true);
  const before = sent.length;
  clock.advance(60_000);
  assert.ok(sent.length - before <= 40 * 7, String(sent.length - before));
  checks.hear(placeOf(best), true);
  clock.advance(1_000);
  answer(sent.findLast(({ to }) => to.address === best.address));
  assert.equal(found.at(-1), [placeOf(best), true]);
});

test('a pair that is taken and no longer answers is left for another one that does', () => {
  const { clock, checks, sent, answer, found } = beside(false, [best, middle]);
  clock.advance(0);
  answer();
  clock.advance(0);
  answer();
  assert.is(checks.state, 'nominated');
  clock.advance(24_000);
  assert.is(checks.state, 'checking');
  answer(sent.findLast(({ to }) => to.port === middle.port));
  clock.advance(100);
  assert.equal([sent.at(-1)?.to.port, sent.at(-1)?.nominates], [middle.port, true]);
  answer();
  assert.equal(found.at(-1), [placeOf(middle), true]);
});

test('a restart of ICE keeps the role', () => {
  for (const isControlled of [false, true]) {
    const { checks, transport } = beside(isControlled);
    checks.admits(checks.role, isControlled ? least : greatest);
    const { role } = checks;
    checks.use({ ...transport, local: { ...local, ufrag: 'anew' } });
    assert.is(checks.role, role);
  }
});

test('a process that goes on asks for consent also at an address that no candidate told', () => {
  const { clock, sent, answer, checks, found } = beside(true, [], elsewhere);
  clock.advance(0);
  answer();
  assert.equal([sent[0]?.to, found, checks.state], [elsewhere, [[elsewhere, true]], 'chosen']);
});

test.run();
