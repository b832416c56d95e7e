import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { type SupervisionEvent, type SupervisionInput, supervisionMachine } from '../../src/machines/supervision.ts';
import { assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const bounds = {
  ...{ startTimeoutMs: 60_000, steadyMs: 10_000, pauseMs: 200, mostPauseMs: 1_000, mostCrashes: 6 },
  ...{ leaveTimeoutMs: 5_000, standby: false },
};
const input: SupervisionInput = { id: 'server', ...bounds };
const ended = (how: 'done' | 'refused' | 'crashed', code = 70) => ({ type: 'server.ended', how, code }) as const;
const crash = ended('crashed');
const begins = { type: 'server.prepared' } as const;
const takesCalls = { type: 'server.ready' } as const;
/** A start, from any point on. */
const ready = [begins, takesCalls] as const;
const stop = { type: 'stop', signal: 'SIGTERM' } as const;
const upgrade = { type: 'upgrade' } as const;
const prepared = { type: 'successor.prepared' } as const;
const delay = (name: string, state: string) => ({ type: `xstate.after.${name}.supervision.${state}` });
const pause = delay('pause', 'backingOff');
const steady = delay('steadyTime', 'running');
const reload = { type: 'reload' } as const;
const left = { type: 'server.left' } as const;
const restored = { type: 'successor.restored' } as const;
const silent = { type: 'server.silent' } as const;
const gone = { type: 'successor.ended' } as const;

type AnyEvent = SupervisionEvent | { type: string } | readonly { type: string }[];

/** Takes a supervisor through events; gives where it ended and what the last event asked for. */
function take(given: SupervisionInput, events: AnyEvent[]) {
  let [snapshot, actions] = initialTransition(supervisionMachine, given);
  for (const event of events.flat())
    [snapshot, actions] = transition(supervisionMachine, snapshot, event as SupervisionEvent);
  const asked = actions
    .map(({ type, params }) => [type, ...Object.values((params ?? {}) as object)].join(' '))
    .filter((text) => !text.startsWith('xstate.'));
  return { value: snapshot.value, asked, snapshot };
}

const after = (...events: AnyEvent[]) => take(input, events);
/** The same with `standby`. */
const withStandby = (...events: AnyEvent[]) => take({ ...input, standby: true }, events);
const pick = ({ value, asked }: ReturnType<typeof after>) => ({ value, asked });
const chart = suite('supervision chart');

chart('starts a server directly, and again without a pause when it crashes for the first time', () => {
  assert.equal(pick(after()), { value: 'starting', asked: ['startServer'] });
  assert.equal(pick(after(begins)), { value: 'beginning', asked: ['beginServer'] });
  assert.is(after(ready).value, 'running');
  assert.equal(pick(after(ready, crash)), { value: 'starting', asked: ['startServer'] });
});

chart('starts another server when the first crash comes before the server is ready', () => {
  assert.equal(pick(after(crash)), { value: 'starting', asked: ['startServer'] });
  assert.equal(pick(after(ready, upgrade, prepared, ended('done', 0), crash)), {
    value: 'starting',
    asked: ['startServer'],
  });
});

chart('pauses behind further crashes at once, longer each time, and gives up at last', () => {
  const crashes = (count: number) =>
    after(ready, crash, ...Array.from({ length: count - 1 }, (_, at) => (at === 0 ? [crash] : [pause, crash])).flat());
  const pauses = [2, 3, 4, 5].map((count) => delaysIn(supervisionMachine, crashes(count).snapshot));
  assert.equal(pauses, [{ pause: 200 }, { pause: 400 }, { pause: 800 }, { pause: 1_000 }]);
  assert.equal(pick(crashes(6)), { value: 'gaveUp', asked: ['tellGivenUp'] });
});

chart('forgets crashes when a server runs steadily', () => {
  assert.is(after(ready, crash, ready, crash).value, 'backingOff');
  assert.is(after(ready, crash, ready, steady, crash).value, 'starting');
});

chart('ends with a server that is refused its configuration, but goes on once one has run', () => {
  const refused = after(ended('refused', 1));
  assert.equal([refused.value, refused.snapshot.context.code], ['ended', 1]);
  assert.is(after(ready, crash, ended('refused', 1)).value, 'backingOff');
});

chart('ends when the server has ended by itself, or by a signal', () => {
  assert.equal([after(ready, ended('done', 0)).value, after(ready, stop, ended('done', 0)).value], ['ended', 'ended']);
  assert.equal(pick(after(ready, stop)), { value: 'stopping', asked: ['passSignal SIGTERM'] });
  const again = after(ready, stop, { type: 'stop', signal: 'SIGINT' });
  assert.equal(pick(again), { value: 'stopping', asked: ['passSignal SIGINT'] });
  const idle = after(ready, crash, crash, stop);
  assert.equal([idle.value, idle.snapshot.context.code], ['ended', 0]);
});

chart('a stop is obeyed while the server starts, and its end by the signal is no crash', () => {
  assert.is(after().snapshot.context.code, 0);
  assert.equal(pick(after(stop)), { value: 'stopping', asked: ['passSignal SIGTERM'] });
  const killed = after(ready, crash, stop, crash);
  assert.equal([killed.value, killed.snapshot.context.code], ['ended', 0]);
  assert.equal(pick(after(ready, crash, crash, pause)), { value: 'starting', asked: ['startServer'] });
});

chart('ends with a server that ends by itself during an upgrade', () => {
  const left = after(ready, upgrade, ended('done', 3));
  assert.equal(pick(left), { value: 'ended', asked: ['dropSuccessor'] });
  assert.is(left.snapshot.context.code, 3);
});

chart('gives up after crashes only, not when a configuration cannot be used', () => {
  const crashes = [ready, crash, ...Array.from({ length: 4 }, () => [crash, pause]).flat()];
  assert.equal([after(...crashes).value, after(...crashes, crash).value], ['starting', 'gaveUp']);
  assert.is(after(...crashes, ended('refused', 1)).value, 'backingOff');
});

chart('prepares the next server beside the present one, which leaves when that is ready', () => {
  assert.equal(pick(after(ready, upgrade)), { value: 'upgrading', asked: ['prepareSuccessor upgrade'] });
  assert.equal(pick(after(ready, upgrade, prepared)), { value: 'handingOver', asked: ['askToLeave'] });
  const next = after(ready, upgrade, prepared, ended('done', 0));
  assert.equal(pick(next), { value: 'beginning', asked: ['promoteSuccessor', 'beginServer'] });
  assert.equal(pick(after(ready, upgrade, prepared, delay('leaveTimeout', 'handingOver'))), {
    value: 'handingOver',
    asked: ['killServer'],
  });
});

chart('the audio of a server that has left ends when the next one has restored the calls', () => {
  const over = [ready, upgrade, prepared, left];
  assert.equal(pick(after(...over)), { value: 'takingOver', asked: ['beginSuccessor'] });
  assert.equal(pick(after(...over, restored)), { value: 'silencing', asked: ['silenceServer'] });
  const begun = (...asked: string[]) => ({ value: 'beginning', asked: ['promoteSuccessor', ...asked] });
  assert.equal(pick(after(...over, restored, silent)), begun('goOnWithAudio true'));
  assert.equal(pick(after(...over, restored, crash)), begun('goOnWithAudio false'));
  // It goes on later, when it has restored the calls.
  assert.equal(pick(after(...over, ended('done', 0))), begun());
  const late = after(...over, crash, { type: 'server.restored' });
  assert.equal(pick(late), { value: 'beginning', asked: ['goOnWithAudio false'] });
  assert.equal(after(...over, reload, restored, silent, ready).asked, ['passReload']);
  assert.equal(after(...over, restored, reload, silent, ready).asked, ['passReload']);
});

chart('a server that has left is killed when the next one fails, and a third one starts', () => {
  const over = [ready, upgrade, prepared, left];
  for (const [state, ...before] of [['takingOver'], ['silencing', restored]] as const) {
    const then = (event: AnyEvent) => pick(after(...over, ...before, event));
    assert.equal(then(gone), { value: 'leavingToNone', asked: ['killServer'] });
    assert.equal(then(delay('leaveTimeout', state)), { value: state, asked: ['killServer'] });
    assert.equal(then(stop), { value: 'stopping', asked: ['dropSuccessor', 'killServer'] });
    assert.equal(then(upgrade), { value: state, asked: ['refuseUpgrade an upgrade is under way'] });
  }
  const alone = [ready, upgrade, prepared, gone];
  assert.equal(pick(after(...alone)), { value: 'leavingToNone', asked: [] });
  for (const event of [left, delay('leaveTimeout', 'leavingToNone')])
    assert.equal(pick(after(...alone, event)), { value: 'leavingToNone', asked: ['killServer'] });
  assert.equal(pick(after(...alone, crash)), { value: 'starting', asked: ['startServer'] });
  assert.equal(pick(after(...alone, stop)), { value: 'stopping', asked: ['passSignal SIGTERM'] });
  assert.equal(after(...alone, upgrade).asked, ['refuseUpgrade an upgrade is under way']);
  assert.equal(after(...alone, reload).asked, []);
  assert.equal(after(...alone, reload, crash, ready).asked, ['passReload']);
});

chart('the present server goes on when the next one does not start', () => {
  assert.equal(pick(after(ready, upgrade, { type: 'successor.ended' })), {
    value: 'running',
    asked: ['refuseUpgrade the new version did not start; see its log'],
  });
  assert.equal(pick(after(ready, upgrade, delay('startTimeout', 'upgrading'))), {
    value: 'running',
    asked: ['dropSuccessor', 'refuseUpgrade the new version did not start in time'],
  });
});

chart('a server that crashes during an upgrade is started again, and a stop ends both', () => {
  assert.equal(pick(after(ready, upgrade, crash)), { value: 'starting', asked: ['dropSuccessor', 'startServer'] });
  for (const before of [
    [ready, upgrade],
    [ready, upgrade, prepared],
  ])
    assert.equal(pick(after(...before, stop)), { value: 'stopping', asked: ['dropSuccessor', 'passSignal SIGTERM'] });
});

chart('one upgrade at a time, and none while the server starts or stops', () => {
  const refusal = (...events: AnyEvent[]) => after(...events, upgrade).asked;
  assert.equal(refusal(), ['refuseUpgrade the server is starting']);
  assert.equal(refusal(ready, upgrade), ['refuseUpgrade an upgrade is under way']);
  assert.equal(refusal(ready, upgrade, prepared), ['refuseUpgrade an upgrade is under way']);
  assert.equal(refusal(ready, stop), ['refuseUpgrade the server is stopping']);
});

chart('a start that takes too long is killed, which is a crash', () => {
  assert.equal(pick(after(delay('startTimeout', 'starting'))), { value: 'starting', asked: ['killServer'] });
  const restoring = after(begins, delay('startTimeout', 'beginning'));
  assert.equal(pick(restoring), { value: 'beginning', asked: ['killServer'] });
  assert.equal(pick(after(begins, crash)), { value: 'starting', asked: ['startServer'] });
});

chart('prepares the next server as soon as the present one runs steadily, and a crash lets it begin', () => {
  assert.is(after(ready, steady).value, 'running');
  assert.equal(pick(withStandby(ready, steady)), { value: 'preparingStandby', asked: ['prepareSuccessor standby'] });
  assert.equal(pick(withStandby(ready, steady, prepared)), { value: 'standingBy', asked: [] });
  assert.equal(pick(withStandby(ready, steady, crash)), { value: 'starting', asked: ['startServer'] });
  const next = withStandby(ready, steady, prepared, crash);
  assert.equal(pick(next), { value: 'beginning', asked: ['promoteSuccessor', 'beginServer'] });
  assert.is(next.snapshot.context.crashes, 1);
});

chart('drops what stands by when it is out of date or not needed', () => {
  for (const before of [[], [prepared]]) {
    const then = (event: AnyEvent) => pick(withStandby(ready, steady, ...before, event));
    assert.equal(then(upgrade), { value: 'upgrading', asked: ['dropSuccessor', 'prepareSuccessor upgrade'] });
    const again = ['passReload', 'dropSuccessor', 'prepareSuccessor standby'];
    assert.equal(then(reload), { value: 'preparingStandby', asked: again });
    assert.equal(then(stop), { value: 'stopping', asked: ['dropSuccessor', 'passSignal SIGTERM'] });
    assert.equal(then(ended('done', 0)), { value: 'ended', asked: ['dropSuccessor'] });
  }
  for (const before of [[], [prepared]]) {
    const last = take({ ...input, standby: true, mostCrashes: 1 }, [ready, steady, ...before, crash]);
    assert.equal(pick(last), { value: 'gaveUp', asked: ['tellGivenUp', 'dropSuccessor'] });
  }
});

chart('tells when nothing stands by, and tries again after the longest pause or a reload', () => {
  const tooLate = delay('startTimeout', 'preparingStandby');
  assert.equal(withStandby(ready, steady, tooLate).asked, ['dropSuccessor', 'tellNoStandby']);
  for (const before of [[gone], [tooLate], [prepared, gone]]) {
    const then = (...events: AnyEvent[]) => withStandby(ready, steady, ...before, ...events);
    assert.is(then().value, 'withoutStandby');
    assert.ok(then().asked.includes('tellNoStandby'));
    assert.equal(delaysIn(supervisionMachine, then().snapshot), { mostPause: 1_000 });
    assert.equal(pick(then(delay('mostPause', 'withoutStandby'))), {
      value: 'preparingStandby',
      asked: ['prepareSuccessor standby'],
    });
    assert.equal(pick(then(reload)), { value: 'preparingStandby', asked: ['passReload', 'prepareSuccessor standby'] });
    assert.equal(pick(then(crash)), { value: 'starting', asked: ['startServer'] });
    assert.equal(pick(then(stop)), { value: 'stopping', asked: ['passSignal SIGTERM'] });
    assert.equal(pick(then(upgrade)), { value: 'upgrading', asked: ['prepareSuccessor upgrade'] });
    assert.is(then(ended('done', 3)).snapshot.context.code, 3);
  }
});

chart('passes on a reload, once the server listens for it', () => {
  assert.equal(pick(after(reload)), { value: 'starting', asked: [] });
  assert.equal(pick(after(reload, ready)), { value: 'running', asked: ['passReload'] });
  assert.equal(after(reload, ready, crash, ready).asked, []);
  assert.equal(after(ready, reload).asked, ['passReload']);
  assert.equal(after(ready, upgrade, reload).asked, ['passReload']);
  assert.equal(after(ready, upgrade, prepared, reload).asked, []);
  const replaced = [prepared, ended('done', 0), ready];
  assert.equal(after(ready, upgrade, reload, ...replaced).asked, ['passReload']);
  assert.equal(after(ready, upgrade, prepared, reload, ended('done', 0), ready).asked, ['passReload']);
});

chart('each wait takes the time of its setting', () => {
  const delays = (...events: AnyEvent[]) => delaysIn(supervisionMachine, after(...events).snapshot);
  assert.equal(delays(), { startTimeout: 60_000 });
  assert.equal(delays(begins), { startTimeout: 60_000 });
  assert.equal(delays(ready), { steadyTime: 10_000 });
  assert.equal(delays(ready, upgrade), { startTimeout: 60_000 });
  assert.equal(delays(ready, upgrade, prepared), { leaveTimeout: 5_000 });
  assert.equal(delays(ready, upgrade, prepared, left), { leaveTimeout: 5_000 });
  assert.equal(delays(ready, upgrade, prepared, left, restored), { leaveTimeout: 5_000 });
  assert.equal(delays(ready, upgrade, prepared, gone), { leaveTimeout: 5_000 });
});

chart('takes the bounds that a server tells', () => {
  const told = after({ type: 'server.bounds', bounds: { ...bounds, pauseMs: 700 } });
  assert.is(told.snapshot.context.pauseMs, 700);
});

chart('every state is reached and every transition taken', () => {
  const coverage = coverChart(supervisionMachine, {
    inputs: [
      ...[false, true].map((standby) => ({ ...input, mostCrashes: 3, standby })),
      { ...input, mostCrashes: 1, standby: true },
    ],
    events: [
      ...[
        begins,
        takesCalls,
        { type: 'server.restored' } as const,
        upgrade,
        prepared,
        stop,
        crash,
        ended('done', 0),
        ended('refused', 1),
      ],
      ...[gone, reload, left, restored, silent],
      { type: 'server.bounds', bounds: { ...bounds, mostCrashes: 3 } },
    ],
    key: ({ context: { crashes, mostCrashes, hasRun, standby, reloadsLater } }) => [
      ...[Math.min(crashes, 3), mostCrashes, hasRun, standby, reloadsLater],
    ],
  });
  assertCovered(supervisionMachine, coverage);
});

chart.run();
