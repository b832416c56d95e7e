import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createOutbox } from '../../src/actors/outbox.ts';
import { ConfigSchema } from '../../src/config/schema.ts';
import { createUnread } from '../../src/http/unread.ts';
import { LimitCounts } from '../../src/lib/limit-counts.ts';
import { AriError } from '../../src/models/errors.ts';
import { countLimit } from '../../src/models/limits.ts';
import { Quota } from '../../src/sip/transaction/quota.ts';
import { createKnownPeers } from '../../src/sip/transport/known-peers.ts';
import { createRateLimiter, type RateLimits } from '../../src/sip/transport/rate-limiter.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { inWorld, type World } from './world.ts';

const limits = suite('bounds that are met');
const seconds = 1_000;

/** What `/metrics` tells of bounds. */
async function met({ request }: World): Promise<Record<string, number>> {
  const text = await (await request('GET', '/metrics')).text();
  return Object.fromEntries(
    [...text.matchAll(/^hookswitch_limits_hit_total\{limit="([^"]+)"\} (\d+)$/gm)].map(([, name = '', count]) => [
      name,
      Number(count),
    ]),
  );
}

type Row = {
  limit: string;
  /** How often it is met. */
  times: number;
  settings: Record<string, unknown>;
  meet(world: World): Promise<void>;
};

/** Asks for something so often that the last ones are refused. */
const asking =
  (times: number, what: (number: number) => [method: string, path: string, body?: object]) =>
  async ({ request }: World): Promise<void> => {
    for (let number = 1; number <= times; number++) await request(...what(number));
  };

/** A channel that an application has. */
const held = (world: World) =>
  world.ask<{ id: string }>('POST', '/ari/channels?endpoint=Local/echo@default&app=desk&channelId=c');

const rows: readonly Row[] = [
  {
    limit: 'http.limits.body',
    times: 1,
    settings: { http: { users: [{ name: 'tester', password: 'secret' }], limits: { body: 1_024 } } },
    meet: asking(1, () => ['PUT', '/ari/asterisk/config/dynamic/res_pjsip/auth/a', { fields: 'x'.repeat(2_000) }]),
  },
  {
    limit: 'limits.mailboxes',
    times: 2,
    settings: { limits: { mailboxes: 1 } },
    meet: asking(3, (n) => ['PUT', `/ari/mailboxes/m${n}?oldMessages=1&newMessages=1`]),
  },
  {
    limit: 'limits.device_states',
    times: 1,
    settings: { limits: { device_states: 1 } },
    meet: asking(2, (n) => ['PUT', `/ari/deviceStates/Stasis:d${n}?deviceState=BUSY`]),
  },
  {
    limit: 'limits.dynamic_objects',
    times: 1,
    settings: { limits: { dynamic_objects: 1 } },
    meet: asking(2, (n) => ['PUT', `/ari/asterisk/config/dynamic/res_pjsip/aor/a${n}`, { fields: [] }]),
  },
  {
    limit: 'limits.global_variables',
    times: 1,
    settings: { limits: { global_variables: 1 } },
    meet: asking(2, (n) => ['POST', `/ari/asterisk/variable?variable=V${n}&value=1`]),
  },
  {
    limit: 'limits.global_variables',
    times: 2,
    settings: {
      limits: { global_variables: 1 },
      dialplan: { default: { desk: ['Set(GLOBAL(A)=1)', 'Set(GLOBAL(B)=1)', 'Set(GLOBAL(C)=1)'] } },
    },
    async meet({ call, clock }) {
      call('desk');
      await clock.run(2 * seconds);
    },
  },
  {
    limit: 'limits.channel_variables',
    times: 2,
    settings: { limits: { channel_variables: 1 } },
    async meet(world) {
      world.server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
      await held(world);
      await world.clock.run(1 * seconds);
      // One of Asterisk's own is there already.
      for (const name of ['A', 'B']) await world.request('POST', `/ari/channels/c/variable?variable=${name}&value=1`);
    },
  },
  {
    limit: 'limits.channel_variables',
    times: 1,
    settings: { limits: { channel_variables: 1 }, dialplan: { default: { desk: ['Set(A=1)', 'Set(B=1)'] } } },
    async meet({ call, clock }) {
      call('desk');
      await clock.run(2 * seconds);
    },
  },
  {
    limit: 'limits.subroutines',
    times: 1,
    settings: { limits: { subroutines: 2 }, dialplan: { default: { desk: ['Gosub(default,desk,1)'] } } },
    async meet({ call, clock }) {
      call('desk');
      await clock.run(2 * seconds);
    },
  },
  {
    limit: 'limits.subscriptions',
    times: 1,
    settings: { limits: { subscriptions: 1 } },
    async meet({ server, request }) {
      server.connect({ names: ['one'], send: () => {}, describe: 'the test' });
      for (const name of ['alice', 'bob'])
        await request('POST', `/ari/applications/one/subscription?eventSource=endpoint:PJSIP/${name}`);
    },
  },
  {
    limit: 'limits.playbacks',
    times: 1,
    settings: { limits: { playbacks: 1 } },
    async meet(world) {
      world.server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
      await held(world);
      await world.clock.run(1 * seconds);
      for (let n = 0; n < 2; n++) await world.request('POST', '/ari/channels/c/play?media=tone:busy');
    },
  },
  {
    limit: 'bridges.most',
    times: 1,
    settings: { bridges: { most: 1 } },
    meet: asking(2, () => ['POST', '/ari/bridges']),
  },
  {
    limit: 'bridges.most',
    times: 1,
    settings: { bridges: { most: 1 }, dialplan: { default: { desk: ['ConfBridge(x)'] } } },
    async meet({ ask, call, clock }) {
      await ask('POST', '/ari/bridges');
      call('desk');
      await clock.run(2 * seconds);
    },
  },
  {
    limit: 'bridges.channels',
    times: 1,
    settings: { bridges: { channels: 2 } },
    async meet({ ask, clock, request, server }) {
      server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
      const bridge = await ask<{ id: string }>('POST', '/ari/bridges');
      for (const id of ['a', 'b', 'c']) {
        await ask('POST', `/ari/channels?endpoint=Local/echo@default&app=desk&channelId=${id}`);
        await clock.run(1 * seconds);
        await request('POST', `/ari/bridges/${bridge.id}/addChannel?channel=${id}`);
      }
    },
  },
  {
    limit: 'recordings.live',
    times: 1,
    settings: { recordings: { live: 1, directory: 'recordings' } },
    async meet(world) {
      world.server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
      await held(world);
      await world.clock.run(1 * seconds);
      for (const name of ['a', 'b']) await world.request('POST', `/ari/channels/c/record?name=${name}&format=wav`);
    },
  },
  {
    limit: 'http.tokens.most',
    times: 1,
    settings: { http: { users: [{ name: 'tester', password: 'secret' }], tokens: { most: 1 } } },
    meet: asking(2, (n) => ['POST', '/hookswitch/tokens', { name: `t${n}` }]),
  },
];

for (const { limit, times, settings, meet } of rows)
  limits(
    `${limit} is counted ${times === 1 ? 'once' : `${times} times`}: ${JSON.stringify(settings).slice(0, 80)}`,
    () =>
      inWorld(
        async (world) => {
          await world.clock.run(1 * seconds);
          assert.equal(await met(world), {});
          await meet(world);
          assert.equal(await met(world), { [limit]: times });
        },
        { watch: settings },
      ),
  );

const from = (address: string) => ({ protocol: 'udp' as const, address, port: 5060, listener: 1 });

function rateLimiter(bounds: Partial<RateLimits>) {
  const counts = new LimitCounts();
  const { log } = createRecordingLog();
  const { admits } = createRateLimiter({
    limits: bounds,
    peers: createKnownPeers(),
    clock: new ManualClock(),
    log,
    hit: counts.hit,
  });
  return { counts, pass: (...addresses: string[]) => addresses.map((address) => admits(from(address))) };
}

limits('what strangers send too much of, by which bound', () => {
  const one = rateLimiter({ sourceRate: 1, sourceBurst: 2 });
  one.pass('192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2');
  assert.equal(one.counts.figures(), { 'sip.limits.source_rate': 2 });
  const all = rateLimiter({ strangerRate: 4 });
  all.pass('192.0.2.1', '192.0.2.2', '192.0.2.3');
  assert.equal(all.counts.figures(), { 'sip.limits.stranger_rate': 1 });
  const known = rateLimiter({ sources: 1 });
  known.pass('192.0.2.1', '192.0.2.2', '192.0.2.1');
  assert.equal(known.counts.figures(), { 'sip.limits.sources': 2 });
});

limits('transactions beyond the quota, by bound', () => {
  const hits = (take: (quota: Quota) => void, bounds: object): Readonly<Record<string, number>> => {
    const counts = new LimitCounts();
    const quota = new Quota(
      { transactions: 10, octets: 1_000, sourceTransactions: 5, sourceOctets: 500, ...bounds },
      counts.hit,
    );
    take(quota);
    return counts.figures();
  };
  const twice = (stranger?: string) => (quota: Quota) => {
    for (let n = 0; n < 2; n++) quota.take(stranger, 400);
  };
  assert.equal(hits(twice(), { transactions: 1 }), { 'sip.limits.transactions': 1 });
  assert.equal(hits(twice(), { octets: 500 }), { 'sip.limits.transaction_bytes': 1 });
  assert.equal(hits(twice('a'), { sourceTransactions: 1, octets: 2_000 }), { 'sip.limits.source_transactions': 1 });
  assert.equal(hits(twice('a'), { octets: 2_000 }), { 'sip.limits.source_transaction_bytes': 1 });
  // All strangers together have half of the whole.
  assert.equal(hits(twice('a'), { octets: 1_000, sourceOctets: 900 }), { 'sip.limits.transaction_bytes': 1 });
});

limits('who does not read, by which bound', () => {
  const hits = (bounds: { socket: number; total: number; address: number }): Readonly<Record<string, number>> => {
    const counts = new LimitCounts();
    const unread = createUnread(bounds, counts.hit);
    for (const address of ['a', 'a', 'b']) unread.watch({ address, unread: () => 60, cut: () => {} }).wrote();
    return counts.figures();
  };
  assert.equal(hits({ socket: 50, total: 1_000, address: 1_000 }), { 'http.limits.websocket_queue': 3 });
  assert.equal(hits({ socket: 100, total: 150, address: 150 }), { 'http.limits.unread_total': 1 });
  assert.equal(hits({ socket: 100, total: 1_000, address: 100 }), { 'http.limits.address_share': 1 });
});

limits('events that cannot wait any more', () => {
  const counts = new LimitCounts();
  const outbox = createOutbox({ limit: 10, log: createRecordingLog().log, hit: counts.hit });
  for (let n = 0; n < 4; n++) outbox.take('12345');
  assert.equal(counts.figures(), { 'http.limits.websocket_queue': 2 });
});

limits('refusals that tell of a bound, wherever they are met', () => {
  const counts = new LimitCounts();
  for (const limit of ['applications', 'playbacks'])
    countLimit(new AriError('limitReached', { limit, most: '1' }), counts.hit);
  countLimit(new AriError('tooManyListeners', { most: '1' }), counts.hit);
  countLimit(new AriError('tooManyPipelined'), counts.hit);
  countLimit(new AriError('serviceTimeout', { service: 'sendMessage' }), counts.hit);
  countLimit(new AriError('tooManyLogIns'), counts.hit);
  countLimit(new AriError('channelNotFound'), counts.hit);
  assert.equal(counts.figures(), {
    ...{ 'limits.applications': 1, 'limits.playbacks': 1, 'listening.most': 1 },
    ...{ 'http.limits.answer_timeout': 1, 'http.limits.pipelined': 1, 'http.limits.password_queue': 1 },
  });
});

limits('each setting that is named is one', () => {
  type Properties = { properties?: Record<string, Properties>; patternProperties?: Record<string, Properties> };
  const named = [
    ...rows.map(({ limit }) => limit),
    ...['source_rate', 'stranger_rate', 'sources', 'transactions', 'transaction_bytes', 'source_transactions'].map(
      (name) => `sip.limits.${name}`,
    ),
    ...['source_transaction_bytes', 'connections', 'source_connections', 'source_handshakes', 'handshake'].map(
      (name) => `sip.limits.${name}`,
    ),
    ...['connection_queue', 'connection_queues', 'first_message', 'partial_message', 'waiting', 'call_wait'].map(
      (name) => `sip.limits.${name}`,
    ),
    ...['sip.subscriptions.most', 'sip.subscriptions.per_endpoint', 'sip.transfers.per_call', 'media.rtp_ports'],
    ...['sip.most_branches', 'sip.waiting_provisional'],
    ...['sip.endpoints.*.max_video_streams', 'sip.video.renegotiate_interval'],
    ...['websocket_queue', 'unread_total', 'address_share', 'connections', 'pipelined', 'password_queue', 'body'].map(
      (name) => `http.limits.${name}`,
    ),
    ...['answer_timeout', 'response_timeout', 'websocket_message'].map((name) => `http.limits.${name}`),
    ...[
      'streams',
      'lowest_bitrate',
      'largest_unit',
      'resend_packets',
      'resend_time',
      'control_packets',
      'thread_backlog',
    ].map((name) => `media.video.${name}`),
    ...['listening.most', 'recorder.memory', 'cdr.webhook.spool'],
  ];
  for (const name of named) {
    let at: Properties | undefined = ConfigSchema as Properties;
    for (const key of name.split('.'))
      at = key === '*' ? Object.values(at?.patternProperties ?? {})[0] : at?.properties?.[key];
    assert.ok(at, name);
  }
});

limits.run();
