import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallLeg } from '../../src/actors/call-leg.ts';
import type { CallDetail, CallPage, WaitingFor } from '../../src/models/call.ts';
import type { RtpStatistics } from '../../src/telephony/rtp-statistics.ts';
import { perfectNetwork } from '../../src/virtual/network.ts';
import { createOneWayAudio } from '../../src/watch/one-way-audio.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { inWorld, type World } from './world.ts';

const audio = suite('one-way audio');
const seconds = 1_000;
const ringing = { watch: { dialplan: { default: { desk: ['Stasis(desk)'], wait: ['Wait(300)'] } } } };
const sentence = 'no audio from the far side of an answered call';

const stuckIn = ({ ask }: World) => ask<WaitingFor[]>('GET', '/hookswitch/stuck');
const warned = ({ lines }: World) => lines.filter(({ msg }) => msg === sentence);
const counted = async ({ request }: World): Promise<string | undefined> => {
  const text = await (await request('GET', '/metrics')).text();
  return /^hookswitch_one_way_calls_total (\d+)$/m.exec(text)?.[1];
};
/** From now on no packet arrives anywhere, or all do. */
const lose = ({ network }: World, loss: 0 | 1): void => {
  network.quality = { ...perfectNetwork, loss };
};

audio('an answered call of which no packet comes is logged, stuck and counted, until it is heard', () =>
  inWorld(async (world) => {
    const { clock, ask, call } = world;
    call('echo');
    await clock.run(1);
    lose(world, 1);
    await clock.run(4 * seconds);
    assert.equal([await stuckIn(world), warned(world), await counted(world)], [[], [], '0']);
    await clock.run(2 * seconds);
    const [channel] = await ask<{ id: string; name: string }[]>('GET', '/ari/channels');
    const [line] = warned(world);
    const { time: _time, ...told } = line ?? {};
    const remote = String(line?.['remote']);
    assert.match(remote, /^10\.0\.0\.2:\d+$/);
    assert.equal(told, {
      ...{ level: 40, part: 'calls', call: channel?.id, channel: channel?.id, endpoint: 'alice', remote, silent_s: 5 },
      msg: sentence,
    });
    const waits = await stuckIn(world);
    assert.equal(
      waits.map(({ since: _since, ...each }) => each),
      [
        {
          ...{ kind: 'object', object: channel?.id, chart: 'channel', state: 'up', expected_ms: 5_000 },
          waits_for: `the far side's audio: no packet has come from ${remote}`,
          call: channel?.id,
        },
      ],
    );
    const { calls } = await ask<CallPage>('GET', '/hookswitch/calls?stuck=true');
    assert.equal(
      calls.map(({ stuck }) => stuck),
      [waits],
    );
    // Told once, however long it lasts.
    await clock.run(20 * seconds);
    assert.equal([warned(world).length, (await stuckIn(world)).length, await counted(world)], [1, 1, '1']);
    lose(world, 0);
    await clock.run(6 * seconds);
    assert.equal([await stuckIn(world), await counted(world)], [[], '1']);
    assert.ok(world.lines.some(({ msg }) => msg === 'the far side began to send audio'));
  }),
);

audio('the timeline tells where the RTP of the far side is', () =>
  inWorld(async ({ clock, ask, call }) => {
    const out = call('echo');
    await clock.run(2 * seconds);
    out.leg.hangup(16);
    const { calls } = await ask<CallPage>('GET', '/hookswitch/calls');
    const { timeline } = await ask<CallDetail>('GET', `/hookswitch/calls/${calls[0]?.id}`);
    const [measured] = timeline.flatMap((entry) => (entry.kind === 'media' ? [entry.report] : []));
    assert.match(String(measured?.['remote']), /^10\.0\.0\.2:\d+$/);
  }),
);

audio('a call that was heard once, one that is held and one that is not answered are not told', () =>
  inWorld(
    async (world) => {
      const { clock, call } = world;
      call('echo');
      await clock.run(1 * seconds);
      const held = call('echo');
      await clock.run(1);
      held.leg.hold?.();
      await clock.run(1);
      call('early');
      await clock.run(1);
      lose(world, 1);
      await clock.run(25 * seconds);
      assert.equal([await stuckIn(world), warned(world), await counted(world)], [[], [], '0']);
    },
    { watch: { dialplan: { default: { echo: ['Answer', 'Echo'], early: ['Progress', 'Wait(60)'] } } } },
  ),
);

const leg = (changes: Partial<CallLeg> = {}) =>
  ({ channel: 'a', technology: 'PJSIP', startedAt: 0, answeredAt: 0, ...changes }) as CallLeg;
const unheard = (clock: ManualClock) => ({ rxcount: 0, unheard_ms: clock.now() }) as RtpStatistics;

/** A watcher whose channels have these figures. */
function watcher(figures: (clock: ManualClock) => RtpStatistics | undefined, afterMs = 5_000) {
  const clock = new ManualClock(0);
  const { log, lines } = createRecordingLog();
  const settings = { afterMs };
  const watched = createOneWayAudio({
    ...{ clock, log },
    afterMs: () => settings.afterMs,
    figuresOf: async () => figures(clock),
  });
  return { ...watched, clock, lines, settings, legs: () => watched.legs().map(({ channel }) => channel) };
}

audio('servers outside, halves of Local channels and what has no RTP may be silent', async () => {
  for (const technology of ['UnicastRTP', 'Local', 'Snoop', 'AudioSocket']) {
    const { calls, clock, legs, lines } = watcher((now) => (technology === 'AudioSocket' ? undefined : unheard(now)));
    calls.answered?.(leg({ technology }), undefined as never);
    await clock.run(20 * seconds);
    assert.equal([technology, legs(), lines], [technology, [], []]);
  }
});

audio('what is silent before the answer, or because it is held, does not count; afterwards it does', async () => {
  let since: number | undefined;
  const { calls, clock, legs } = watcher((now) => ({
    ...({ rxcount: 0 } as RtpStatistics),
    ...(since !== undefined && { unheard_ms: now.now() - since }),
  }));
  await clock.run(60 * seconds);
  since = 0;
  calls.answered?.(leg({ answeredAt: clock.now() }), undefined as never);
  await clock.run(4 * seconds);
  assert.equal(legs(), []);
  since = undefined;
  await clock.run(20 * seconds);
  assert.equal(legs(), []);
  since = clock.now();
  await clock.run(11 * seconds);
  assert.equal(legs(), ['a']);
  since = undefined;
  await clock.run(6 * seconds);
  assert.equal(legs(), []);
});

audio('with 0 nobody looks; a leg that has ended is forgotten, also while it is looked at', async () => {
  const off = watcher(unheard, 0);
  off.calls.answered?.(leg(), undefined as never);
  assert.is(off.clock.pending, 0);

  let answer: (figures: RtpStatistics) => void = () => {};
  const clock = new ManualClock(0);
  const { log, lines } = createRecordingLog();
  const watched = createOneWayAudio({
    ...{ clock, log, afterMs: () => 5_000 },
    figuresOf: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  watched.calls.resumed?.(leg());
  await clock.run(5 * seconds);
  watched.calls.ended?.(leg(), undefined as never);
  answer(unheard(clock));
  await clock.run(1 * seconds);
  assert.equal([watched.legs(), lines, clock.pending], [[], [], 0]);
});

audio('a call that rings in an application that does not answer is stuck after stuck.ringing', () =>
  inWorld(async (world) => {
    const { clock, ask, call, server } = world;
    server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
    call('desk');
    await clock.run(9.9 * seconds);
    assert.equal(await stuckIn(world), []);
    await clock.run(0.2 * seconds);
    const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
    const [waiting, ...more] = await stuckIn(world);
    const { since: _since, ...rest } = waiting ?? {};
    assert.equal(more, []);
    assert.equal(rest, {
      ...{ kind: 'object', object: channel?.id, chart: 'channel', state: 'ring', expected_ms: 10_000 },
      ...{ waits_for: 'the application desk to answer', call: channel?.id },
    });
    await ask('POST', `/ari/channels/${channel?.id}/answer`);
    await clock.run(1);
    assert.equal(await stuckIn(world), []);
  }),
);

audio('a call that rings while its application calls somebody for it is not stuck before two minutes', () =>
  inWorld(async (world) => {
    const { clock, ask, call, server } = world;
    server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
    call('desk');
    await clock.run(1 * seconds);
    const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
    await ask('POST', `/ari/channels?endpoint=Local/wait@default&app=desk&originator=${channel?.id}&timeout=200`);
    await clock.run(50 * seconds);
    assert.equal(await stuckIn(world), []);
    await clock.run(70 * seconds);
    assert.ok((await stuckIn(world)).some(({ object }) => object === channel?.id));
  }, ringing),
);

audio.run();
