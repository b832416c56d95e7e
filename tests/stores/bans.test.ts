import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { formatTimestamp } from '../../src/models/timestamp.ts';
import { type BanDecision, type BanSettings, createBans } from '../../src/stores/bans.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const settings: BanSettings = {
  windowMs: 300_000,
  slowAfter: 3,
  longestDelayMs: 1_000,
  ignoreAfter: 7,
  ignoreForMs: 900_000,
  exempt: ['10.0.0.0/8'],
  sources: 3,
};

function setUp(changed: Partial<BanSettings> = {}) {
  const clock = new ManualClock();
  const { log, lines } = createRecordingLog();
  const bans = createBans({ settings: { ...settings, ...changed }, clock, log });
  const guess = (times: number, source = '192.0.2.1', user = 'alice'): BanDecision[] =>
    Array.from({ length: times }, () => bans.failed(source, user, 'sip'));
  return { clock, bans, guess, lines };
}

const admit = { action: 'admit' };
const ignore = { action: 'ignore' };
const delay = (ms: number) => ({ action: 'delay', ms });

test('wrong passwords are answered, then answered later and later, then not at all', () => {
  const { bans, guess } = setUp();
  assert.equal(guess(8), [admit, admit, delay(250), delay(500), delay(1000), delay(1000), ignore, ignore]);
  assert.equal(bans.check('192.0.2.1'), ignore);
  assert.equal(bans.check('192.0.2.2'), admit);
});

test('another process goes on with what counts, by the time that has passed meanwhile', () => {
  const { clock, bans, guess } = setUp();
  guess(7);
  guess(2, '192.0.2.2');
  guess(1, '10.1.2.3');
  const saved = bans.dump();
  assert.equal(bans.dump('192.0.2.2'), [saved[1]]);
  assert.equal(bans.dump('192.0.2.9'), []);
  clock.advance(200_000);

  const later = (ms: number, ignoreForMs = settings.ignoreForMs) => {
    const { clock: other, ...rest } = setUp({ ignoreForMs });
    // Its own monotonic clock begins anew; the time of day goes on.
    other.advance(clock.now() - other.now() + ms);
    rest.bans.restore(JSON.parse(JSON.stringify(saved)));
    return { ...rest, clock: other };
  };
  const next = later(0);
  assert.equal(next.bans.list(), bans.list());
  assert.equal(next.bans.check('192.0.2.1'), ignore);
  assert.equal(next.guess(1, '192.0.2.2'), [delay(250)]);
  assert.equal(next.guess(9, '10.1.2.3').at(-1), admit);
  next.clock.advance(settings.ignoreForMs - 200_000);
  assert.equal(next.bans.check('192.0.2.1'), admit);

  // What was over meanwhile is not restored, and a clock that was set back makes no ban longer.
  assert.is(later(settings.ignoreForMs).bans.size, 0);
  const setBack = later(-150_000, 60_000);
  assert.equal(setBack.bans.check('192.0.2.1'), ignore);
  setBack.clock.advance(60_000);
  assert.equal(setBack.bans.check('192.0.2.1'), admit);
});

test('each change is told: what counts, what is lifted, and what is forgotten', () => {
  const changed: string[] = [];
  const clock = new ManualClock();
  const { log } = createRecordingLog();
  const bans = createBans({ settings, clock, log, changed: (source) => changed.push(source) });
  for (const last of [1, 2, 3, 4]) bans.failed(`192.0.2.${last}`, 'alice', 'http');
  assert.equal(changed, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.1']);
  assert.ok(bans.lift('192.0.2.4'));
  assert.not(bans.lift('192.0.2.4'));
  clock.advance(settings.windowMs + 60_000);
  assert.equal(changed.slice(5), ['192.0.2.4', '192.0.2.2', '192.0.2.3']);
});

test('a source is ignored for its time, then counted from nothing', () => {
  const { clock, bans, guess } = setUp();
  guess(7);
  clock.advance(899_999);
  assert.equal(bans.check('192.0.2.1'), ignore);
  clock.advance(1);
  assert.equal(bans.check('192.0.2.1'), admit);
  assert.equal(guess(1), [admit]);
  assert.equal(
    bans.list().map(({ attempts }) => attempts),
    [1],
  );
});

test('wrong passwords long ago do not count', () => {
  const { clock, bans, guess } = setUp();
  guess(3);
  clock.advance(300_000);
  assert.equal(bans.check('192.0.2.1'), admit);
  assert.equal(guess(2), [admit, admit]);
});

test('exempt networks are reported, never slowed nor ignored', () => {
  const { bans, guess } = setUp();
  assert.equal(guess(9, '10.2.3.4'), Array(9).fill(admit));
  assert.equal(bans.check('10.2.3.4'), admit);
  assert.equal(
    bans.list().map(({ address, attempts }) => [address, attempts]),
    [['10.2.3.4', 9]],
  );
});

test('the addresses of one IPv6 network count as one source, IPv4 inside IPv6 as IPv4', () => {
  const { bans } = setUp({ slowAfter: 2 });
  bans.failed('2001:db8:0:1::5', 'alice', 'http');
  assert.equal(bans.failed('2001:db8:0:1:ffff::6', 'alice', 'http'), delay(250));
  bans.failed('::ffff:192.0.2.1', 'alice', 'http');
  assert.equal(bans.failed('192.0.2.1', 'alice', 'http'), delay(250));
  assert.equal(
    bans.list().map(({ address }) => address),
    ['2001:db8:0:1::/64', '192.0.2.1'],
  );
});

test('the list tells who tried what, where and when; lifting forgets it', () => {
  const { clock, bans } = setUp({ ignoreAfter: 3 });
  const start = clock.now();
  bans.failed('192.0.2.1', 'alice', 'sip');
  clock.advance(5_000);
  bans.failed('192.0.2.1', 'root', 'http');
  const first = {
    address: '192.0.2.1',
    attempts: 2,
    users: ['alice', 'root'],
    protocols: ['sip', 'http'],
    doors: ['sip', 'http'],
  };
  const at = (ms: number) => formatTimestamp(start + ms);
  assert.equal(bans.list(), [{ ...first, first: at(0), last: at(5_000) }]);
  bans.failed('192.0.2.1', 'root', 'http');
  assert.equal(bans.list(), [{ ...first, attempts: 3, first: at(0), last: at(5_000), ignored_until: at(905_000) }]);
  assert.equal([bans.lift('192.0.2.1'), bans.lift('192.0.2.1')], [true, false]);
  assert.equal([bans.list(), bans.check('192.0.2.1')], [[], admit]);
  bans.failed('2001:db8::1', 'alice', 'sip');
  assert.equal([bans.lift('2001:db8::2'), bans.size], [true, 0]);
});

test('the table is bounded: whoever was heard of longest ago is forgotten; names are kept short and few', () => {
  const { bans, guess } = setUp();
  for (const source of ['a', 'b', 'c', 'a', 'd']) guess(1, source);
  assert.equal(
    bans.list().map(({ address, attempts }) => [address, attempts]),
    [
      ['c', 1],
      ['a', 2],
      ['d', 1],
    ],
  );
  for (let i = 0; i < 20; i++) guess(1, 'd', `${i}${'x'.repeat(100)}`);
  const [last] = bans.list().slice(-1);
  assert.is(last?.users.length, 8);
  assert.ok(last?.users.every((user) => user.length <= 64));
});

test('the first wrong password is logged at once, all others once a minute per source', () => {
  const { clock, bans, guess, lines } = setUp();
  guess(1);
  const line = (source: string, fields: object) => ({
    level: 'warn',
    message: 'failed log-ins',
    fields: { source, users: ['alice'], protocols: ['sip'], ignored: false, ...fields },
  });
  assert.equal(lines.splice(0), [line('192.0.2.1', { new: 1, attempts: 1 })]);
  guess(6);
  guess(2, '192.0.2.2');
  assert.equal(lines, []);
  clock.advance(60_000);
  assert.equal(lines.splice(0), [
    line('192.0.2.1', { new: 6, attempts: 7, ignored: true }),
    line('192.0.2.2', { new: 2, attempts: 2 }),
  ]);
  clock.advance(60_000);
  assert.equal(lines, []);
  clock.advance(900_000);
  assert.equal([bans.size, clock.pending], [0, 0]);
});

test('many sources are told in one line together', () => {
  const { clock, guess, lines } = setUp({ sources: 100 });
  for (let i = 0; i < 30; i++) guess(2, `192.0.2.${i}`);
  lines.length = 0;
  clock.advance(60_000);
  assert.is(lines.length, 21);
  assert.equal(lines.at(-1)?.fields, { sources: 10, new: 19 });
});

test('closing leaves no timer', () => {
  const { clock, bans, guess } = setUp();
  guess(1);
  bans.close();
  assert.is(clock.pending, 0);
});

test.run();
