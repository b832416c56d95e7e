import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Cause } from '../../src/telephony/causes.ts';
import type { Leg } from '../../src/telephony/driver.ts';
import { inWorld, type Line, readable, type World } from './world.ts';

const log = suite('the log of calls');
const seconds = 1_000;

/** A line as a person reads it, without level and part. */
const written = (line: object): string => {
  const { msg, level: _level, part: _part, ...fields } = line as Line;
  return `${msg}: ${Object.entries(fields)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')}`;
};

const partOf = (part: string, lines: readonly Line[]): Line[] => lines.filter((line) => line['part'] === part);

/** An application that is there and hears nothing. */
const connect = ({ server }: World, name: string) =>
  server.connect({ names: [name], send: () => {}, describe: 'the test' });

log('a call through an application to another phone is told line by line', () =>
  inWorld(async (world) => {
    const { clock, lines, ask, call } = world;
    await clock.run(1 * seconds);
    connect(world, 'desk');
    const out = call('desk');
    await clock.run(1 * seconds);
    const [first] = await ask<{ id: string }[]>('GET', '/ari/channels');
    await ask('POST', `/ari/channels/${first?.id}/answer`);
    await clock.run(2 * seconds);
    const { id } = await ask<{ id: string }>('POST', '/ari/channels?endpoint=PJSIP/bob&app=desk&callerId=100');
    await clock.run(1 * seconds);
    const bridge = await ask<{ id: string }>('POST', '/ari/bridges');
    await ask('POST', `/ari/bridges/${bridge.id}/addChannel?channel=${first?.id},${id}`);
    await clock.run(10 * seconds);
    out.leg.hangup(16);
    await clock.run(1 * seconds);
    await ask('DELETE', `/ari/channels/${id}`);
    await clock.run(1 * seconds);
    assert.equal(readable(partOf('calls', lines)).map(written), [
      'a call comes in: call #1, channel #1, from 100, from_name Alice, to desk, endpoint alice, name PJSIP/alice-x, protocol_id #2, source 10.0.0.2:5060',
      'a call enters an application: call #1, channel #1, application desk',
      'a call is answered: call #1, channel #1, after_s 1, codec ulaw',
      'a call goes out: call #3, channel #3, from 100, to bob, endpoint bob, name PJSIP/bob-x, protocol_id #4',
      'a call is answered: call #3, channel #3, after_s 0, codec ulaw',
      'a call enters an application: call #3, channel #3, application desk',
      'a call joins an older one: call #1, channel #3, was #3',
      'a call has ended: call #1, channel #1, outcome answered, outcome_reason answered, by farSide, cause 16, cause_text Normal Clearing, duration_s 14, talk_s 13, applications desk, rx 650, rx_lost 0, rx_late 0, rx_jitter_ms 0, tx 500, tx_lost 0, tx_jitter_ms 0, rtt_ms 0',
      'a call has ended: call #1, channel #3, outcome answered, outcome_reason answered, by application, cause 16, cause_text Normal Clearing, duration_s 12, talk_s 12, applications desk, rx 600, rx_lost 0, rx_late 0, rx_jitter_ms 0, tx 550, tx_lost 0, tx_jitter_ms 0, rtt_ms 0',
    ]);
  }),
);

log('an application that is called but not connected is named, and who ended the call', () =>
  inWorld(async ({ clock, lines, call }) => {
    call('desk');
    await clock.run(5 * seconds);
    assert.equal(readable(partOf('calls', lines)).map(written), [
      'a call comes in: call #1, channel #1, from 100, from_name Alice, to desk, endpoint alice, name PJSIP/alice-x, protocol_id #2, source 10.0.0.2:5060',
      'a call needs an application that is not connected: call #1, channel #1, application desk',
      'a call has ended: call #1, channel #1, outcome failed, outcome_reason the application desk is not connected, by dialplan, cause 20, cause_text Subscriber absent, reason the application desk is not connected, duration_s 0, talk_s 0',
    ]);
  }),
);

log('a missing prompt is a warning with its call and channel, at most 20 times in ten seconds', () =>
  inWorld(async (world) => {
    const { clock, lines, ask, call } = world;
    connect(world, 'desk');
    call('desk');
    await clock.run(1 * seconds);
    const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
    await ask('POST', `/ari/channels/${channel?.id}/answer`);
    const missing = () => lines.filter(({ msg }) => msg === 'a media item could not be played');
    await ask('POST', `/ari/channels/${channel?.id}/play?media=sound:nothere&playbackId=p1`);
    // Files are looked for in the time of the system.
    while (missing().length === 0) await clock.run(20);
    const [{ time: _time, ...line } = {} as Line] = missing();
    assert.equal(line, {
      ...{ level: 40, call: channel?.id, channel: channel?.id, playback: 'p1', uri: 'sound:nothere' },
      ...{ reason: "no sound file for 'nothere' in language 'en'", msg: 'a media item could not be played' },
    });
    // On a bridge: with the call of who is in it.
    const { id: bridge } = await ask<{ id: string }>('POST', '/ari/bridges');
    await ask('POST', `/ari/bridges/${bridge}/addChannel?channel=${channel?.id}`);
    await ask('POST', `/ari/bridges/${bridge}/play?media=sound:nothere`);
    while (missing().length === 1) await clock.run(20);
    assert.equal([missing()[1]?.['call'], missing()[1]?.['bridge']], [channel?.id, bridge]);
    const list = Array.from({ length: 30 }, () => 'sound:nothere').join(',');
    await ask('POST', `/ari/channels/${channel?.id}/play?media=${list}&playbackId=p2`);
    const isThere = async () => (await world.request('GET', '/ari/playbacks/p2')).status === 200;
    while (await isThere()) await clock.run(1);
    assert.is(missing().length, 20);
  }),
);

log('music that is missing is a warning with the call and the channel, or the bridge', () =>
  inWorld(async (world) => {
    const { clock, lines, ask, call } = world;
    connect(world, 'desk');
    call('desk');
    await clock.run(1 * seconds);
    const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
    await ask('POST', `/ari/channels/${channel?.id}/answer`);
    const missing = () => lines.filter(({ msg }) => msg === 'unknown music class');
    await ask('POST', `/ari/channels/${channel?.id}/moh?mohClass=nothere`);
    // Files are looked for in the time of the system.
    while (missing().length === 0) await clock.run(20);
    const { id: bridge } = await ask<{ id: string }>('POST', '/ari/bridges');
    await ask('POST', `/ari/bridges/${bridge}/addChannel?channel=${channel?.id}`);
    await ask('POST', `/ari/bridges/${bridge}/moh?mohClass=nothere`);
    while (missing().length === 1) await clock.run(20);
    assert.equal(
      missing().map((line) => [line['call'], line['channel'], line['bridge'], line['musicClass']]),
      [
        [channel?.id, channel?.id, undefined, 'nothere'],
        [channel?.id, undefined, bridge, 'nothere'],
      ],
    );
  }),
);

log('both legs of a call that the dialplan connects have its id, so that one word finds all of it', () =>
  inWorld(async ({ clock, lines, call }) => {
    const out = call('201');
    await clock.run(5 * seconds);
    out.leg.hangup(16);
    await clock.run(5 * seconds);
    const [first] = partOf('calls', lines);
    const found = lines.filter((line) => JSON.stringify(line).includes(`"call":"${first?.['call']}"`));
    assert.equal(
      readable(found).map((line) => [(line as Line).msg, (line as Line)['channel'], (line as Line)['by']]),
      [
        ['a call comes in', '#1', undefined],
        ['a call goes out', '#3', undefined],
        ['a call is answered', '#3', undefined],
        ['a call is answered', '#1', undefined],
        ['a call has ended', '#3', 'dialplan'],
        ['a call has ended', '#1', 'farSide'],
      ],
    );
  }),
);

log('a call that is refused is told with its source and the reason', () =>
  inWorld(
    async ({ clock, lines, call }) => {
      call('echo');
      await clock.run(1 * seconds);
      assert.equal(readable(lines.filter(({ level }) => level === 40)).map(written), [
        'a call is refused: technology PJSIP, source 10.0.0.2:5060, from alice, to echo, protocol_id #1, status 488, reason no codec in common',
      ]);
    },
    { alice: { codecs: ['slin48'] } },
  ),
);

log('unknown functions and invalid arguments in requests are logged with their channel', () =>
  inWorld(async (world) => {
    const { clock, lines, ask, request, call } = world;
    connect(world, 'desk');
    call('desk');
    await clock.run(1 * seconds);
    const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
    const count = lines.length;
    const named = (name: string) => `variable?variable=${encodeURIComponent(name)}`;
    const statuses = [
      await request('GET', `/ari/channels/${channel?.id}/${named('NOSUCH(x)')}`),
      await request('POST', `/ari/channels/${channel?.id}/${named('NOSUCH(x)')}&value=1`),
      await request('POST', `/ari/channels/${channel?.id}/${named('CHANNEL(nothing)')}&value=1`),
      await request('GET', `/ari/asterisk/${named('NOSUCH(x)')}`),
      await request('POST', `/ari/asterisk/${named('NOSUCH(x)')}&value=1`),
      await request('POST', '/ari/channels?endpoint=Local/echo@default&app=desk&channelId=c2', {
        variables: { 'NOSUCH(x)': '1' },
      }),
    ].map(({ status }) => status);
    assert.equal(statuses, [500, 204, 400, 200, 400, 200]);
    const told = lines.slice(count).filter(({ level }) => level === 40);
    assert.equal(
      told.map((line) => [line.msg, line['channel']]),
      [
        ['there is no function NOSUCH', channel?.id],
        ['there is no function NOSUCH', channel?.id],
        [
          'CHANNEL(nothing) cannot be written so: the items are language, accountcode, peeraccount, musicclass and tenantid',
          channel?.id,
        ],
        ['there is no function NOSUCH', undefined],
        ['there is no function NOSUCH', undefined],
        ['there is no function NOSUCH', 'c2'],
      ],
    );
  }),
);

log('a channel without a call is logged at debug with its steps; lines of other channels name their call', () =>
  inWorld(
    async (world) => {
      const { clock, lines, ask } = world;
      connect(world, 'desk');
      const { id } = await ask<{ id: string }>('POST', '/ari/channels?endpoint=Local/echo@default&app=desk');
      await clock.run(1 * seconds);
      await ask('DELETE', `/ari/channels/${id}`);
      await clock.run(1 * seconds);
      assert.equal(
        lines.filter(({ part, level }) => part === 'calls' && level > 20),
        [],
      );
      const steps = lines.filter(({ part }) => part === 'dialplan');
      assert.equal(
        steps.map((line) => [line.msg, line['application'], line['call'] === id]),
        [
          ['a step of the dialplan', 'Answer', true],
          ['a step of the dialplan', 'Echo', true],
        ],
      );
      const begun = lines.filter(({ msg }) => msg === 'a call comes in' || msg === 'a call goes out');
      assert.equal(
        begun.map(({ level, call }) => [level, call === id]),
        [
          [20, true],
          [20, true],
        ],
      );
    },
    { general: { log_level: 'debug' } },
  ),
);

log('log levels of parts can be changed at run time, until the configuration is loaded again', () =>
  inWorld(async (world) => {
    const { clock, lines, server, config, ask, request, call } = world;
    assert.equal(await ask('GET', '/hookswitch/logging'), { level: 'info', parts: {} });
    const changed = { level: 'warn', parts: { sip: 'trace', charts: 'trace' } };
    assert.equal(await ask('PUT', '/hookswitch/logging', changed), changed);
    const out = call('echo');
    await clock.run(1 * seconds);
    const traced = new Set(lines.filter(({ level }) => level === 10).map(({ part, msg }) => `${part}: ${msg}`));
    assert.equal(traced, new Set(['sip: a SIP message comes in', 'sip: a SIP message goes out', 'charts: a step']));
    assert.equal(partOf('calls', lines), []);

    server.reload(config);
    assert.equal(await ask('GET', '/hookswitch/logging'), { level: 'info', parts: {} });
    const count = lines.length;
    out.leg.hangup(16);
    await clock.run(1 * seconds);
    assert.equal(
      lines.slice(count).map(({ msg }) => msg),
      ['a call has ended'],
    );

    for (const [wrong, message] of [
      [{ level: 'loud' }, "Unknown log level 'loud'. Levels are trace, debug, info, warn, error, fatal, silent"],
      [
        { parts: { brain: 'info' } },
        "Unknown part 'brain'. Parts are calls, charts, sip, media, http, dialplan, bans, outbound, external, records",
      ],
      [
        { parts: { sip: 'loud' } },
        "Unknown log level 'loud'. Levels are trace, debug, info, warn, error, fatal, silent",
      ],
      [{ parts: ['sip'] }, "'parts' must be an object that maps each part to a level"],
    ] as const) {
      const response = await request('PUT', '/hookswitch/logging', wrong);
      assert.equal([response.status, await response.json()], [400, { message }]);
    }
    assert.equal(await ask('GET', '/hookswitch/logging'), { level: 'info', parts: {} });
  }),
);

log('a step is told by the names of its state, event, facts and effects, never by what these carry', () =>
  inWorld(
    async (world) => {
      const { clock, lines, ask, call } = world;
      connect(world, 'desk');
      call('desk');
      await clock.run(1 * seconds);
      const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
      const count = lines.length;
      await ask('POST', `/ari/channels/${channel?.id}/variable?variable=PIN&value=4711`);
      assert.equal(
        lines.slice(count).map(({ time: _when, step, caused_by, ...line }) => ({
          ...{ ...line, step: typeof step, caused_by: String(caused_by).replace(/\w+-\w+$/, 'id') },
        })),
        [
          {
            ...{ level: 10, part: 'charts', call: channel?.id, channel: channel?.id, chart: 'channel', step: 'number' },
            ...{ event: 'variable.set', from: 'ring', to: 'ring', facts: ['ChannelVarset'], msg: 'a step' },
            caused_by: 'request id',
          },
        ],
      );
    },
    { general: { log_levels: { charts: 'trace' } } },
  ),
);

/** How the legs of a call to a busy phone end, if another process goes on while that phone rings, or after its answer. */
async function outcomesAfterRestart(isWhileItRings: boolean) {
  let outcomes: unknown[] = [];
  const dialplan = { default: { 202: ['Dial(PJSIP/bob,30)', 'Wait(60)'] } };
  const declines: { leg: Leg }[] = [];
  const bob = { called: (call: { leg: Leg }) => void declines.push(call), heard: () => {} };
  await inWorld(
    async (world) => {
      const { clock, ask, lines } = world;
      const decline = () => {
        for (const { leg } of declines) leg.hangup(Cause.userBusy);
      };
      world.call('202');
      await clock.run(1 * seconds);
      if (!isWhileItRings) decline();
      await clock.run(1 * seconds);
      await world.restoreSnapshot();
      await clock.run(1 * seconds);
      if (isWhileItRings) decline();
      await clock.run(1 * seconds);
      for (const { id } of await ask<{ id: string }[]>('GET', '/ari/channels'))
        await ask('DELETE', `/ari/channels/${id}`);
      await clock.run(1 * seconds);
      outcomes = lines
        .filter(({ msg }) => msg === 'a call has ended')
        .map(({ outcome, outcome_reason: reason }) => [outcome, reason]);
    },
    { bob, watch: { dialplan } },
  );
  return outcomes;
}

log('a caller whose called party is busy has that outcome, also behind a restart', async () => {
  const busy = ['refused', 'User busy (cause 17, SIP 486)'];
  assert.equal(await outcomesAfterRestart(false), [busy, busy]);
  assert.equal(await outcomesAfterRestart(true), [busy, busy]);
});

log.run();
