import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { IceAddress, RemoteCandidate } from '../../../src/lib/webrtc.ts';
import { readCheck, writeCheckAnswer } from '../../../src/media/webrtc/checks.ts';
import { ControllingChecks } from '../../../src/media/webrtc/controlling-checks.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { iceLocal as local, iceRemote as remote } from '../../support/ice-check.ts';

const test = suite('checks of a controlling agent');

const fingerprint = { hash: 'sha256', digest: '' } as const;
const best = { address: '192.0.2.1', port: 5000, priority: 30 };
const middle = { address: '2001:db8::1', port: 5002, priority: 20 };
const worst = { address: '198.51.100.1', port: 5004, priority: 10 };
const placeOf = ({ address, port }: RemoteCandidate): IceAddress => ({ address, port });

type Sent = { datagram: Buffer; to: IceAddress; at: number; nominates: boolean };

/** @param places addresses that a relay of ours lets through. */
function agent(checked: readonly RemoteCandidate[] = [worst, best, middle], places?: string[], known?: IceAddress) {
  const clock = new ManualClock();
  const start = clock.monotonic();
  const sent: Sent[] = [];
  const found: [IceAddress, boolean][] = [];
  const transport = { local, remote, fingerprint, checked, ...(places && { places }) };
  const checks = new ControllingChecks(
    transport,
    {
      clock,
      send: (datagram, to) => {
        const octets = Buffer.from(datagram);
        const read = readCheck(octets, remote, local);
        assert.ok(read && !read.isControlled && read.unknown.every((type) => type >= 0x8000), 'not a check');
        sent.push({ datagram: octets, to, at: clock.monotonic() - start, nominates: read.nominates });
      },
      found: (source, isNominated) => found.push([source, isNominated]),
    },
    known,
  );
  /** The far side answers a check. */
  const answer = ({ datagram, to } = sent.at(-1)!, password = remote.password, from = to) =>
    checks.receive(writeCheckAnswer(datagram, { address: '192.0.2.9', port: 4000 }, password)!, from);
  return { clock, checks, sent, found, answer, transport };
}

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

test('other credentials or candidates begin anew, and the same ones change nothing', () => {
  const { clock, sent, answer, checks, transport } = agent([best]);
  clock.advance(0);
  answer();
  clock.advance(0);
  answer();
  checks.use({ ...transport, checked: [{ ...best }] });
  assert.is(checks.state, 'nominated');
  checks.use({ ...transport, checked: [best, middle] });
  assert.is(checks.state, 'checking');
  clock.advance(50);
  assert.equal(
    sent.slice(-2).map(({ to, nominates }) => [to.port, nominates]),
    [
      [best.port, false],
      [middle.port, false],
    ],
  );
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

test.run();
