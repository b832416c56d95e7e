import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createKnownPeers } from '../../../src/sip/transport/known-peers.ts';
import { createRateLimiter, defaultRateLimits, type RateLimits } from '../../../src/sip/transport/rate-limiter.ts';
import type { Source } from '../../../src/sip/transport/transport.ts';
import { createRecordingLog } from '../../support/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function setUp(limits: Partial<RateLimits> = {}) {
  const clock = new ManualClock();
  const peers = createKnownPeers();
  const { log, lines } = createRecordingLog();
  const rateLimiter = createRateLimiter({ limits: { sourceRate: 10, sourceBurst: 20, ...limits }, peers, clock, log });
  /** How many of so many messages pass. */
  const pass = (count: number, address = '192.0.2.1', port = 5060) =>
    Array.from({ length: count }, () => rateLimiter.admits(from(address, port))).filter(Boolean).length;
  return { clock, peers, rateLimiter, pass, lines };
}

const from = (address: string, port = 5060): Source => ({ protocol: 'udp', address, port, listener: 1 });

test('a stranger has its burst, then its rate, and hurts no other', () => {
  const { clock, pass } = setUp();
  assert.is(pass(100), 20);
  clock.advance(1_000);
  assert.is(pass(100), 10);
  assert.is(pass(5, '192.0.2.2'), 5);
  assert.is(pass(100, '2001:db8::1') + pass(100, '2001:db8::2'), 20);
});

test('other limits hold from the next message on', () => {
  const { rateLimiter, pass } = setUp();
  assert.is(pass(100), 20);
  rateLimiter.reconfigure({ ...defaultRateLimits, sourceRate: 1, sourceBurst: 3 });
  assert.is(pass(100), 3);
});

test('the known pass freely, from their own port; their neighbours only have the share of one address', () => {
  const { peers, pass } = setUp({ strangerRate: 2 });
  peers.hold(from('192.0.2.1'));
  assert.is(pass(500), 500);
  assert.is(pass(500, '192.0.2.1', 5999), 20);
  peers.trust((address) => address === '192.0.2.5');
  assert.is(pass(500, '192.0.2.5', 1), 500);
});

test('strangers together have a bound, half of it for those that send little', () => {
  const { pass } = setUp({ strangerRate: 100, sourceBurst: 1_000 });
  const loud = Array.from({ length: 10 }, (_, i) => pass(100, `10.0.0.${i}`)).reduce((sum, each) => sum + each, 0);
  assert.is(loud, 100, 'the share of the quiet while they are quiet, then that of the loud');
  const { pass: passes } = setUp({ strangerRate: 100, sourceBurst: 1_000 });
  for (let i = 0; i < 3; i++) passes(1_000, `10.0.0.${i}`);
  assert.is(passes(2, '10.0.1.1'), 2, 'a phone that nobody knew before comes through');
});

test('the ignored are not read at all, unless they are known', () => {
  const { rateLimiter, peers, pass } = setUp();
  rateLimiter.ignore((address) => address === '192.0.2.1');
  assert.equal([pass(5), pass(5, '192.0.2.2')], [0, 5]);
  peers.hold(from('192.0.2.1'));
  assert.equal([pass(5), pass(5, '192.0.2.1', 7)], [5, 0]);
  assert.is(rateLimiter.refused, 10);
});

test('what is not read is told once a minute', () => {
  const { clock, pass, lines } = setUp();
  pass(100);
  clock.advance(60_000);
  pass(100);
  assert.equal(
    lines.map(({ level, fields }) => [level, fields]),
    [
      ['warn', { messages: 1, last: '192.0.2.1' }],
      ['warn', { messages: 80, last: '192.0.2.1' }],
    ],
  );
});

test('only so many addresses are remembered', () => {
  const { pass } = setUp({ sources: 2 });
  pass(20, 'a');
  pass(1, 'b');
  assert.is(pass(1, 'a'), 0);
  pass(1, 'c');
  pass(1, 'd');
  assert.is(pass(1, 'a'), 1, 'forgotten, so begun anew');
});

test.run();
