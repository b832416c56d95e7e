import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyActorRef } from 'xstate';
import { createRuntime } from '../../src/actors/spawn.ts';
import type { Step } from '../../src/actors/step.ts';
import { createTableWatch } from '../../src/actors/table-watch.ts';
import { type LocalLegEffect, type LocalLegEvent, localLegTable } from '../../src/machines/local-leg.ts';
import { type OwnRefersEffect, type OwnRefersEvent, ownRefersTable } from '../../src/machines/own-refers.ts';
import { TableRun } from '../../src/machines/table-run.ts';
import type { CallDetail, CallPage } from '../../src/models/call.ts';
import { silentLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

const tables = suite('charts that run as tables');

const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

async function get<T>(server: TestServer, path: string): Promise<T> {
  const response = await fetch(`${server.url.replace(/\/ari$/, '/hookswitch')}${path}`, { headers: { authorization } });
  return (await response.json()) as T;
}

tables('the leg of a SIP call stands in the record of the call, from its answer to its end', () =>
  onServer({ dialplan: { default: { '_X.': ['Answer', 'Echo'] } } }, async (server) => {
    const phone = server.closing(await Phone.open('4711', server.sip()));
    await phone.call('100');
    const [call] = (await get<CallPage>(server, '/calls')).calls;
    const detail = () => get<CallDetail>(server, `/calls/${call?.id}`);
    phone.hangup();
    await untilAsked(
      async () => (await detail()).state !== 'live',
      () => 'it does not end',
    );
    const steps = (await detail()).timeline.flatMap((entry) =>
      entry.kind === 'step' && entry.chart === 'leg' ? [[entry.object === call?.channels[0]?.id, entry.to]] : [],
    );
    assert.equal(steps[0]?.[0], true);
    const states = steps.map(([, to]) => to);
    assert.ok(states.includes('up'), states.join());
    assert.is(states.at(-1), 'ended');
  }),
);

tables('the media queue and the media session stand there, without steps that change no state', () =>
  onServer({ dialplan: { default: { '_X.': ['Answer', 'Playback(hello)', 'Hangup'] } } }, async (server) => {
    const phone = server.closing(await Phone.open('4711', server.sip()));
    await phone.call('100');
    const [call] = (await get<CallPage>(server, '/calls')).calls;
    const detail = () => get<CallDetail>(server, `/calls/${call?.id}`);
    await untilAsked(
      async () => (await detail()).state !== 'live',
      () => 'it does not end',
    );
    const { timeline } = await detail();
    const statesOf = (chart: string) =>
      timeline.flatMap((entry) => (entry.kind === 'step' && entry.chart === chart ? [entry.to] : []));
    assert.equal(statesOf('pendingMediaSession'), ['opening', 'open', 'closed']);
    assert.equal(statesOf('mediaQueue'), ['idle', 'beginning', 'busy', 'idle', 'drained']);
  }),
);

tables('a run is an actor until its final state, and its effects are caused by its step', () => {
  const runtime = createRuntime(new ManualClock(), silentLog);
  const steps: Step[] = [];
  runtime.turn.listen((step) => steps.push(step));
  const nothing = () => {};
  const other = new TableRun<keyof typeof localLegTable, LocalLegEvent, LocalLegEffect>(
    localLegTable,
    'up',
    { tellEnded: nothing, hangUpPeer: nothing } as never,
    { watch: createTableWatch(runtime), id: 'c2' },
  );
  const run = new TableRun<keyof typeof localLegTable, LocalLegEvent, LocalLegEffect>(
    localLegTable,
    'early',
    { tellEnded: nothing, hangUpPeer: () => other.send({ type: 'hangup', cause: 16 }) } as never,
    { watch: createTableWatch(runtime), id: 'c1' },
  );
  assert.equal(
    [...runtime.actors].map(({ id, chart, getSnapshot }) => [id, chart, typeof getSnapshot]),
    [
      ['c2', 'localLeg', 'function'],
      ['c1', 'localLeg', 'function'],
    ],
  );
  run.send({ type: 'hangup', cause: 17 });
  assert.equal([...runtime.actors], []);
  assert.equal(
    steps.map(({ seq, object, event, from, to, causedBy }) => ({ seq, object, event, from, to, causedBy })),
    [
      { seq: 1, object: 'c1', event: { type: 'xstate.init' }, from: undefined, to: 'early', causedBy: undefined },
      { seq: 2, object: 'c1', event: { type: 'hangup', cause: 17 }, from: 'early', to: 'ended', causedBy: undefined },
      { seq: 3, object: 'c2', event: { type: 'xstate.init' }, from: undefined, to: 'up', causedBy: 2 },
      { seq: 4, object: 'c2', event: { type: 'hangup', cause: 16 }, from: 'up', to: 'ended', causedBy: 2 },
    ],
  );
  assert.equal(
    steps[1]?.effects.map(({ type }) => type),
    ['tellEnded', 'hangUpPeer'],
  );
});

tables('what the caller of a Dial hears before the answer stands there', () => {
  const dialplan = { default: { _X: ['Dial(Local/20@default)'], '20': ['Ringing', 'Answer', 'Wait(60)'] } };
  return onServer({ dialplan }, async (server) => {
    const phone = server.closing(await Phone.open('4711', server.sip()));
    await phone.call('1');
    const [call] = (await get<CallPage>(server, '/calls')).calls;
    const { timeline } = await get<CallDetail>(server, `/calls/${call?.id}`);
    const heard = timeline.flatMap((entry) =>
      entry.kind === 'step' && entry.chart === 'earlyAudio' ? [[entry.object === call?.channels[0]?.id, entry.to]] : [],
    );
    assert.equal(heard, [
      [true, 'quiet'],
      [true, 'ringing'],
    ]);
    phone.hangup();
  });
});

tables('a run that is watched lazily is an actor from its first step on, until its final state', () => {
  const runtime = createRuntime(new ManualClock(), silentLog);
  const steps: Step[] = [];
  runtime.turn.listen((step) => steps.push(step));
  const begin = () =>
    new TableRun<keyof typeof ownRefersTable, OwnRefersEvent, OwnRefersEffect>(
      ownRefersTable,
      'none',
      { sendRefer: () => {}, tellSucceeded: () => {} },
      { watch: createTableWatch(runtime), id: 'c1', lazily: true },
    );
  const run = begin();
  run.send({ type: 'notify.progressed' });
  assert.equal([...runtime.actors], []);
  run.send({ type: 'refer', uri: 'sip:b@example.org' });
  assert.equal(
    [...runtime.actors].map(({ id, chart }) => [id, chart]),
    [['c1', 'ownRefers']],
  );
  assert.equal(
    steps.map(({ from, to }) => [from, to]),
    [
      [undefined, 'none'],
      ['none', 'sent'],
    ],
  );
  run.send({ type: 'call.over' });
  assert.equal([...runtime.actors], []);
  assert.is(steps.length, 3);
  begin().send({ type: 'call.over' });
  assert.is(steps.length, 3, 'one that only ends is not told');
});

tables('an inspector sees a run as it sees an actor', () => {
  const seen: unknown[] = [];
  const runtime = createRuntime(new ManualClock(), silentLog, (event) => {
    const { id, sessionId } = event.actorRef as AnyActorRef;
    if (!sessionId.startsWith('table:')) return;
    const value = event.type === '@xstate.snapshot' ? (event.snapshot as { value?: unknown }).value : undefined;
    seen.push([event.type, id, ...('event' in event ? [event.event] : []), ...(value === undefined ? [] : [value])]);
  });
  const run = new TableRun<keyof typeof localLegTable, LocalLegEvent, LocalLegEffect>(
    localLegTable,
    'early',
    { tellEnded: () => seen.push('effect'), hangUpPeer: () => {} } as never,
    { watch: createTableWatch(runtime), id: 'c1' },
  );
  run.send({ type: 'hangup', cause: 17 });
  const hangup = { type: 'hangup', cause: 17 };
  assert.equal(seen, [
    ['@xstate.actor', 'c1'],
    ['@xstate.event', 'c1', hangup],
    ['@xstate.snapshot', 'c1', hangup, 'ended'],
    'effect',
  ]);
});

tables.run();
