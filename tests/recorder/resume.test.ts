import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createAwayPolicies } from '../../src/actors/away-policies.ts';
import type { AwayPolicyDump } from '../../src/actors/dumps.ts';
import { CallStore } from '../../src/recorder/call-store.ts';
import { EventEntry } from '../../src/recorder/entries.ts';
import { EventLog } from '../../src/recorder/event-log.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { createStuck } from '../../src/recorder/stuck.ts';
import { AriClient } from '../support/ari-client.ts';
import { createCallControl } from '../support/call-control.ts';
import { recordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { createTestRecorder } from '../support/recorder.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';

const away = suite('applications that were away');

/** Events that belong to no call, in a store of so many octets. */
function logOf(octets: number) {
  const store = new CallStore({ stepsPerCall: 10, octets, keepEndedMs: 0, others: 0 }, () => nothingMasked);
  const log = new EventLog(store.journal);
  const add = (application: string, number: number): void => {
    const json = `${application}${number}`;
    const entry = new EventEntry({ at: 1, application, number, type: 'StasisStart', json, missed: false });
    log.note(application, store.addEvent(undefined, entry));
  };
  return { log, add, store };
}

away('what is kept of an application comes in order; what is not is counted', () => {
  const { log, add, store } = logOf(20_000);
  for (let number = 1; number <= 100; number++) for (const app of ['a', 'b']) add(app, number);
  const kept = log.last('a', 1_000).map(({ json }) => json);
  assert.ok(kept.length < 100 && kept.length > 4 && store.octets <= 20_000, `${kept.length} are kept`);
  const first = 101 - kept.length;
  assert.equal(
    kept,
    Array.from({ length: kept.length }, (_, at) => `a${first + at}`),
  );
  assert.equal(log.after('a', first - 1, 100), { events: kept, lost: 0 });
  assert.equal(log.after('a', 0, 100), { events: kept, lost: first - 1 });
  assert.equal(log.after('a', 99, 100), { events: ['a100'], lost: 0 });
  assert.equal(log.after('none', 3, 10), { events: [], lost: 7 });
});

away('an application that was gone for good in between is counted anew: its old numbers say nothing', () => {
  const { log, add } = logOf(10_000);
  for (const number of [1, 2, 3, 1, 2]) add('a', number);
  assert.equal(log.after('a', 1, 2), { events: ['a2'], lost: 0 });
  assert.equal(log.after('a', 3, 2), { events: [], lost: undefined });
});

away('an application that comes back gets what it missed, then goes on live', () =>
  onServer({ dialplan: { default: { '1000': ['Answer', 'Wait(3600)'] } } }, async (server) => {
    const first = await server.app('desk');
    await first.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk');
    const { seq } = await first.waitFor('StasisStart');
    const heard = first.events.map((each) => each.seq);
    await first.close();
    const other = server.client();
    await other.ok('POST', '/channels/call-1/variable?variable=COLOUR&value=green');
    const back = server.closing(new AriClient(server.url, `${user}:${password}`));
    await back.connect('desk', { resume: String(seq) });
    await back.ok('POST', '/channels/call-1/variable?variable=COLOUR&value=red');
    await back.waitFor('ChannelVarset', ({ value }) => value === 'red');
    const all = [...heard, ...back.events.map((each) => each.seq)];
    assert.equal(
      [...new Set(all)],
      Array.from({ length: Math.max(...all) }, (_, at) => at + 1),
    );
    assert.equal(
      back.events.flatMap((each) => (each.type === 'ChannelVarset' && each.variable === 'COLOUR' ? [each.value] : [])),
      ['green', 'red'],
    );
    const late = server.closing(new AriClient(server.url, `${user}:${password}`));
    await late.connect('desk,new', { resume: '9999,3' });
    await late.ok('POST', '/channels/call-1/variable?variable=COLOUR&value=blue');
    await late.waitFor('ChannelVarset', ({ value }) => value === 'blue');
    assert.equal(
      (late.events as unknown as Record<string, unknown>[])
        .filter(({ type }) => type === 'EventsLost')
        .map(({ type, application, after, lost }) => [type, application, after, lost]),
      [
        ['EventsLost', 'desk', 9999, undefined],
        ['EventsLost', 'new', 3, undefined],
      ],
    );
    await late.ok('DELETE', '/channels/call-1');
  }),
);

away(
  'who comes back while its old connection is still there is not told that it was replaced, and misses no number',
  () =>
    onServer({ dialplan: { default: { '1000': ['Answer', 'Wait(3600)'] } } }, async (server) => {
      const first = await server.app('desk');
      await first.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk');
      const { seq } = await first.waitFor('StasisStart');
      const set = (value: string) => first.ok('POST', `/channels/call-1/variable?variable=COLOUR&value=${value}`);
      await set('green');
      const { seq: last } = await first.waitFor('ChannelVarset', (event) => event.value === 'green');
      const back = server.closing(new AriClient(server.url, `${user}:${password}`));
      await back.connect('desk', { resume: String(seq) });
      assert.is((await first.waitFor('ApplicationReplaced')).seq, last);
      await set('red');
      await back.waitFor('ChannelVarset', ({ value }) => value === 'red');
      assert.equal(
        back.events.map((event) => event.seq),
        Array.from({ length: last - seq + 1 }, (_, at) => seq + 1 + at),
      );
      assert.not(back.events.some(({ type }) => type === 'ApplicationReplaced'));
      await back.ok('DELETE', '/channels/call-1');
    }),
);

/** A server with a call of `desk`, and clients that connect to it. */
const onDesk = (test: (server: TestServer, connect: (how: object) => Promise<AriClient>) => Promise<void>) =>
  onServer({ dialplan: { default: { '1000': ['Answer', 'Wait(3600)'] } } }, async (server) => {
    const clients: AriClient[] = [];
    const connect = async (how: object): Promise<AriClient> => {
      const client = server.closing(new AriClient(server.url, `${user}:${password}`));
      clients.push(client);
      return client.connect('desk', how);
    };
    await test(server, connect);
    await clients[0]!.ok('DELETE', '/channels/call-1');
  });

const colour = (client: AriClient, value: string) =>
  client.ok('POST', `/channels/call-1/variable?variable=COLOUR&value=${value}`);
const coloured = (client: AriClient, value: string) =>
  client.waitFor('ChannelVarset', (event) => event.variable === 'COLOUR' && event.value === value);

away('a client that asks is told the epoch of its numbers, and goes on by it', () =>
  onDesk(async (server, connect) => {
    const first = await connect({ resume: 'new' });
    const point = await first.message('ResumePoint');
    assert.equal([point['application'], point['seq']], ['desk', 0]);
    await first.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk');
    const { seq } = await first.waitFor('StasisStart');
    await first.close();
    await colour(server.client(), 'green');
    const back = await connect({ resume: `${point['epoch']}:${seq}` });
    await colour(back, 'red');
    await coloured(back, 'red');
    const [told, ...events] = back.events as unknown as Record<string, unknown>[];
    assert.equal([told!['type'], told!['epoch'], told!['seq']], ['ResumePoint', point['epoch'], seq]);
    assert.equal(
      events.map((event) => event['seq']),
      Array.from({ length: events.length }, (_, at) => seq + 1 + at),
    );
    // Old clients see nothing new.
    const old = await connect({ resume: String(seq) });
    await coloured(old, 'red');
    assert.not(old.events.some((event) => String(event.type).startsWith('Resume')));
  }),
);

away('a gap gives what the application holds in place of the events', () =>
  onDesk(async (_server, connect) => {
    const first = await connect({});
    await first.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk');
    await first.waitFor('StasisStart');
    await first.ok('POST', '/bridges/room?type=mixing');
    await first.ok('POST', '/bridges/room/addChannel?channel=call-1');
    await first.ok('POST', '/channels/call-1/play?media=tone:busy&playbackId=tune');
    await first.ok('POST', '/bridges/room/record?name=talk&format=wav');
    for (const resume of ['elsewhere:2', 'new']) {
      const back = await connect({ resume });
      const gap = (await back.message(resume === 'new' ? 'ResumePoint' : 'ResumeGap')) as Record<string, unknown>;
      if (resume !== 'new') {
        const snapshot = gap['snapshot'] as Record<string, { id: string; name: string }[]>;
        const ids = (kind: string) => snapshot[kind]!.map(({ id, name }) => id ?? name);
        assert.equal(
          [ids('channels'), ids('bridges'), ids('playbacks'), ids('recordings'), snapshot['complete']],
          [['call-1', 'call-1;2'], ['room'], ['tune'], ['talk'], true],
        );
        assert.equal([gap['after'], gap['lost']], [2, undefined]);
      }
      await colour(back, resume.slice(0, 3));
      const { seq } = await coloured(back, resume.slice(0, 3));
      const next = back.events.find((event) => event.seq !== undefined && event.seq > (gap['seq'] as number));
      assert.is(next?.seq, (gap['seq'] as number) + 1);
      assert.ok(seq > (gap['seq'] as number));
    }
    await first.ok('DELETE', '/bridges/room');
  }),
);

away('what was sent but not acknowledged comes again', () =>
  onDesk(async (_server, connect) => {
    const first = await connect({ ack: 'true' });
    await first.message('ResumePoint');
    await first.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk');
    const { seq } = await first.waitFor('StasisStart');
    await colour(first, 'green');
    await coloured(first, 'green');
    for (const wrong of [{ seq: 9_999 }, { seq: 'x' }, { seq: 1, application: 'other' }]) {
      first.say({ type: 'EventsAcknowledged', application: 'desk', ...wrong });
      const answer = await first.message('RESTResponse');
      assert.is(answer['status_code'], 400);
      first.events.splice(first.events.indexOf(answer as never), 1);
    }
    first.say({ type: 'EventsAcknowledged', application: 'desk', seq });
    // Its answer tells that the message before it was taken.
    first.say({ type: 'RESTRequest', method: 'GET', uri: 'asterisk/ping', transaction_id: 't', request_id: 'r' });
    await first.message('RESTResponse');
    await first.close();
    const back = await connect({ ack: 'true' });
    await coloured(back, 'green');
    const [point, next] = back.events as unknown as Record<string, unknown>[];
    assert.equal([point!['type'], point!['seq'], next!['seq']], ['ResumePoint', seq, seq + 1]);
  }),
);

away('places that cannot be are refused', () =>
  onServer({}, async (server) => {
    const ask = async (query: string): Promise<[number, string]> => {
      const response = await fetch(`${server.url}/events?app=desk&${query}`, {
        headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
      });
      return [response.status, ((await response.json()) as { message: string }).message];
    };
    for (const wrong of [
      'resume=a:b',
      'resume=newer',
      'resume=:3',
      'resume=1,2',
      'ack=true%26group=g',
      'resume=e:1%26group=g',
    ]) {
      const [status, message] = await ask(wrong.replace('%26', '&'));
      assert.is(status, 400, wrong);
      assert.ok(/^Invalid|resume|ack/.test(message), message);
    }
  }),
);

away('channels of an application that stays away are let go of as it is configured', () => {
  const clock = new ManualClock();
  const did: string[] = [];
  const away = createAwayPolicies({
    clock,
    log: recordingLog(),
    policyOf: (app) => ({ afterMs: 5_000, action: app as 'keep' | 'hangup' | 'continue' }),
    channelsOf: (app) => [`${app}-1`, `${app}-2`],
    lost: () => {},
    hangup: (id) => {
      did.push(`hangup ${id}`);
      if (id.endsWith('1')) throw new Error('it is gone already');
    },
    goOn: (id) => void did.push(`continue ${id}`),
    move: (id, app) => void did.push(`move ${id} ${app}`),
    play: (id, music) => void did.push(`${music ?? 'no music'} ${id}`),
  });
  for (const app of ['keep', 'hangup', 'continue']) away.changed(app, false);
  clock.advance(4_000);
  away.changed('continue', true);
  clock.advance(1_000);
  assert.equal(did, ['hangup hangup-1', 'hangup hangup-2']);
  away.changed('continue', false);
  clock.advance(5_000);
  assert.equal(did.slice(2), ['continue continue-1', 'continue continue-2']);
  away.changed('hangup', false);
  away.close();
  assert.is(clock.pending, 0);
});

away('channels hear music first, and go to another application in the end', () => {
  const clock = new ManualClock();
  const did: string[] = [];
  const away = createAwayPolicies({
    clock,
    log: recordingLog(),
    policyOf: () => ({ afterMs: 5_000, action: 'move', moveTo: 'other', music: { class: 'calm', forMs: 3_000 } }),
    channelsOf: () => ['a'],
    lost: () => {},
    hangup: () => {},
    goOn: () => {},
    move: (id, app) => void did.push(`move ${id} ${app}`),
    play: (id, music) => void did.push(`${music ?? 'no music'} ${id}`),
  });
  away.changed('desk', false);
  clock.advance(5_000);
  assert.equal(did.splice(0), ['calm a']);
  away.changed('desk', true);
  assert.equal(did.splice(0), ['no music a']);
  away.changed('desk', false);
  clock.advance(7_999);
  assert.equal(did.splice(0), ['calm a']);
  clock.advance(1);
  assert.equal(did, ['no music a', 'move a other']);
  assert.is(clock.pending, 0);
});

away('a policy that goes on in another process is due when it was due', () => {
  // Its time passes between any two readings.
  let time = 1_000;
  const clock = Object.assign(new ManualClock(), { now: () => time++ });
  const away = createAwayPolicies({
    clock,
    log: recordingLog(),
    policyOf: () => ({ afterMs: 5_000, action: 'hangup' }),
    returnMs: 100,
    channelsOf: () => [],
    ...{ lost() {}, hangup() {}, goOn() {}, move() {}, play() {} },
  });
  const kept: AwayPolicyDump = { application: 'desk', state: 'away', dueAt: 4_000, entertained: [] };
  away.restore([kept]);
  assert.equal(away.dump(), [kept]);
});

away('an away policy moves a real channel to another application', () =>
  onServer(
    {
      dialplan: { default: { '1000': ['Answer', 'Wait(3600)'] } },
      awayPolicies: {
        desk: { after: 0.1, action: 'move', move_to: 'other', music_class: 'default', music_for: 0.1 },
      },
    },
    async (server) => {
      const [desk, other] = [await server.app('desk'), await server.app('other')];
      await desk.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk');
      await desk.waitFor('StasisStart');
      await desk.close();
      const { channel, application } = await other.waitFor('StasisStart');
      assert.equal([channel.id, application], ['call-1', 'other']);
      await other.ok('DELETE', '/channels/call-1');
    },
  ),
);

away('a mailbox in which much waits is stuck, since it was seen so first, and stands in its call', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock);
  const events = { robot: 99, queue: 0 };
  const stuck = createStuck({
    recorder,
    lagging: () => [],
    mailboxes: () => [
      { owner: 'robot', waiting: events.robot, atMost: 100, waitsFor: `the application, ${events.robot} events` },
      { owner: 'channel:b', waiting: events.queue, atMost: 10, waitsFor: 'what sounds to end', channel: 'b' },
    ],
  });
  assert.equal(stuck.all(), []);
  world.incoming('b');
  events.robot = 100;
  const since = world.clock.now();
  const robot = { kind: 'mailbox', object: 'robot', since, expected_ms: 0, waits_for: 'the application, 100 events' };
  assert.equal(stuck.all(), [robot]);
  world.clock.advance(1_000);
  events.queue = 10;
  const queue = { kind: 'mailbox', object: 'channel:b', since: since + 1_000, expected_ms: 0 };
  assert.equal(stuck.all(), [robot, { ...queue, waits_for: 'what sounds to end', call: 'b' }]);
  events.robot = 0;
  assert.equal(
    stuck.all().map(({ object }) => object),
    ['channel:b'],
  );
  recorder.close();
});

away('a channel whose application is away is stuck, and so its call, until the application is there again', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock);
  const stuck = createStuck({ recorder, lagging: () => [] });
  const connection = world.connect('desk');
  world.operations.originate({ channelId: 'a', endpoint: 'Fake/phone', app: 'desk', timeout: -1 });
  world.report('a', { type: 'leg.answered' });
  connection.close();
  const since = world.clock.now();
  world.clock.advance(29_999);
  assert.equal(stuck.all(), []);
  world.clock.advance(1);
  const waits = { since, expected_ms: 30_000 };
  const call = recorder.store.find('a')!;
  const channel = {
    ...{ kind: 'object', object: 'a', chart: 'ownership', state: 'application', ...waits },
    ...{ waits_for: 'the WebSocket of desk to connect again', call: 'a' },
  };
  assert.equal(stuck.all(), [
    {
      ...{ kind: 'application', object: 'desk', chart: 'application', state: 'inactive', ...waits },
      waits_for: 'its WebSocket to connect again',
    },
    channel,
  ]);
  assert.equal(stuck.of(call), [channel]);
  world.connect('desk');
  assert.equal([stuck.all(), stuck.of(call)], [[], []]);
  recorder.close();
});

away(
  'channels that are not kept wait from the first moment that their application is away; others after that time',
  () => {
    const world = createCallControl();
    const recorder = createTestRecorder(world.runtime, world.clock);
    const policies = {
      hung: { afterMs: 5_000, action: 'hangup' },
      cont: { afterMs: 2_500, action: 'continue' },
      kept: { afterMs: 60_000, action: 'keep' },
    } as const;
    const policyOf = (name: string) => policies[name as keyof typeof policies];
    const stuck = createStuck({ recorder, lagging: () => [], awayPolicyOf: policyOf });
    for (const app of Object.keys(policies)) {
      const connection = world.connect(app);
      world.operations.originate({ channelId: `in-${app}`, endpoint: 'Fake/phone', app, timeout: -1 });
      world.report(`in-${app}`, { type: 'leg.answered' });
      connection.close();
    }
    const told = () =>
      stuck.all().map(({ object, expected_ms: expected, waits_for: what }) => [object, expected, what]);
    const atOnce = [
      ['hung', 0, 'its WebSocket to connect again'],
      ['cont', 0, 'its WebSocket to connect again'],
      ['in-hung', 0, 'the WebSocket of hung to connect again; after 5 s it is hung up'],
      ['in-cont', 0, 'the WebSocket of cont to connect again; after 2.5 s it continues in the dialplan'],
    ];
    assert.equal(told().sort(), atOnce.sort());
    world.clock.advance(60_000);
    assert.equal(
      told()
        .filter(([object]) => String(object).includes('kept'))
        .sort(),
      [
        ['in-kept', 60_000, 'the WebSocket of kept to connect again'],
        ['kept', 60_000, 'its WebSocket to connect again'],
      ],
    );
    recorder.close();
  },
);

away('what stays longer than expected is stuck, and says what it waits for', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock);
  const stuck = createStuck({ recorder, lagging: () => [{ client: 'slow', octets: 70_000 }] });
  const connection = world.connect('desk');
  world.operations.originate({ channelId: 'a', endpoint: 'Fake/phone', app: 'desk', timeout: -1 });
  world.incoming('b');
  connection.close();
  world.clock.advance(59_000);
  const objects = () => stuck.all().map(({ kind, object, chart, state, call }) => [kind, object, chart, state, call]);
  const application = ['application', 'desk', 'application', 'inactive', undefined];
  assert.equal(objects(), [application, ['socket', 'slow', undefined, undefined, undefined]]);
  world.clock.advance(1_000);
  assert.equal(objects(), [
    application,
    ['object', 'a', 'channel', 'dialing', 'a'],
    ['socket', 'slow', undefined, undefined, undefined],
  ]);
  const call = recorder.store.find('a');
  assert.equal(call && stuck.of(call).map(({ waits_for: what }) => what), ['a response from the far side']);
  assert.is(recorder.settings.mask, nothingMasked);
  recorder.close();
});

away.run();
