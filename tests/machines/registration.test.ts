import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  askedMs,
  isHeld,
  type RegistrationEvent,
  registrationMachine,
  registrationModel,
} from '../../src/machines/registration.ts';
import type { RegistrationDetails } from '../../src/telephony/registrations.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { afterDelay, assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const line: RegistrationDetails = {
  id: 'trunk;sip:p;sip:1@p',
  technology: 'PJSIP',
  endpoint: 'trunk',
  server: 'sip:p',
  client: 'sip:1@p',
  expiresMs: 3_600_000,
  shortestRefreshMs: 5_000,
  retryMs: 10_000,
  longestRetryMs: 60_000,
  rejectedRetryMs: 900_000,
};

const accepted = (attempt: number, expiresMs = 1_000_000, chance = 0): RegistrationEvent => ({
  ...{ type: 'register.accepted', attempt, expiresMs, chance },
});
const unanswered = (attempt: number, chance = 0): RegistrationEvent => ({
  ...{ type: 'register.unanswered', attempt, reason: 'no answer', chance },
});
const refused = (attempt: number, permanent: boolean, retryAfterMs?: number): RegistrationEvent => ({
  ...{ type: 'register.refused', attempt, reason: permanent ? '403 Forbidden' : '503 Busy', permanent, chance: 0 },
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});
const tooBrief = (attempt: number, minimumMs: number): RegistrationEvent => ({
  ...{ type: 'register.tooBrief', attempt, minimumMs },
});
const waited = (state: string) => ({ type: `xstate.after.wait.registration.${state}` }) as unknown as RegistrationEvent;
const begun = waited('idle');

type Action = { type: string; params?: { event?: { type: string }; attempt?: number; expiresMs?: number } };

/** Takes a registration through events; gives where it ended, what it waits for, and what the last event asked for. */
function after(events: readonly RegistrationEvent[], registration = line) {
  let [snapshot, actions] = initialTransition(registrationMachine, { registration, startDelayMs: 40 });
  for (const event of events) [snapshot, actions] = transition(registrationMachine, snapshot, event);
  const asked = (actions as unknown as Action[]).flatMap(({ type, params }) => {
    if (type === 'xstate.emit') return [params?.event?.type];
    return type === 'sendRegister' ? [`register ${params?.attempt} for ${params?.expiresMs}`] : [];
  });
  return { value: snapshot.value, waitMs: snapshot.context.waitMs, asked, snapshot };
}
const in_ = ({ value, waitMs, asked }: ReturnType<typeof after>) => [value, waitMs, asked];

const chart = suite('registration chart');

chart('it waits its turn, registers, and refreshes before the time is over', () => {
  assert.equal(in_(after([])), ['idle', 40, []]);
  assert.equal(in_(after([begun])), ['registering', 40, ['register 1 for 3600000']]);
  assert.equal(in_(after([begun, accepted(1)])), ['registered', 900_000, ['EndpointStateChange']]);
  const refreshing = after([begun, accepted(1), waited('registered')]);
  assert.equal([refreshing.value, refreshing.asked], ['refreshing', ['register 2 for 3600000']]);
  assert.is(askedMs(refreshing.snapshot), 3_600_000);
  assert.is(after([begun, accepted(1), waited('registered'), accepted(2)]).value, 'registered');
});

chart(
  'a short time is refreshed at its half, a middling one 32 s before its end, by chance up to a tenth earlier',
  () => {
    assert.is(after([begun, accepted(1, 12_000)]).waitMs, 6_000);
    assert.is(after([begun, accepted(1, 60_000)]).waitMs, 30_000);
    assert.is(after([begun, accepted(1, 120_000)]).waitMs, 88_000);
    assert.is(after([begun, accepted(1, 120_000, 0.5)]).waitMs, 83_600);
  },
);

chart('a registrar that grants very little is asked no more often than the settings allow', () => {
  const granted = (expiresMs: number, chance = 0) => after([begun, accepted(1, expiresMs, chance)]).waitMs;
  assert.equal(
    [1_000, 9_000, 10_000, 12_000].map((ms) => granted(ms)),
    [5_000, 5_000, 5_000, 6_000],
  );
  assert.is(granted(10_000, 0.9), 5_000);
  assert.is(after([begun, accepted(1, 1_000)], { ...line, shortestRefreshMs: 60_000 }).waitMs, 60_000);
  // Of a state that an earlier version has written.
  const { shortestRefreshMs: _, ...earlier } = line;
  assert.is(after([begun, accepted(1, 0)], earlier).waitMs, 0);
});

chart('with several servers there is time to wait for each of them before the registration runs out', () => {
  const of = (expiresMs: number, failoverMs: number) =>
    after([begun, { type: 'register.accepted', attempt: 1, expiresMs, failoverMs, chance: 0 }]).waitMs;
  // Eight servers of 4 s, four of 20 s, eight of 32 s.
  assert.is(of(120_000, 32_000), 88_000);
  assert.is(of(120_000, 80_000), 40_000);
  assert.is(of(3_600_000, 256_000), 3_240_000);
  assert.is(of(1_000_000, 256_000), 744_000);
  assert.is(of(60_000, 256_000), 15_000, 'three quarters of the time at most');
});

chart('failures are tried again later and later, between the half and the whole of a time that doubles', () => {
  const waits: number[] = [];
  const events: RegistrationEvent[] = [begun];
  for (let attempt = 1; attempt <= 5; attempt++) {
    events.push(unanswered(attempt, attempt === 2 ? 0.999 : 0));
    waits.push(after(events).waitMs);
    events.push(waited('backingOff'));
  }
  assert.equal(waits, [5_000, 19_990, 20_000, 30_000, 30_000]);
  events.push(accepted(6));
  assert.is(after(events).snapshot.context.failures, 0);
});

chart('Retry-After is honoured, for a day at most', () => {
  assert.equal(in_(after([begun, refused(1, false, 120_000)])), ['backingOff', 120_000, ['EndpointStateChange']]);
  assert.is(after([begun, refused(1, false, 1_000)]).waitMs, 5_000);
  assert.is(after([begun, refused(1, false, 10 ** 12)]).waitMs, 86_400_000);
});

chart('an interval too brief is asked for again with the least that is taken, once', () => {
  const again = after([begun, tooBrief(1, 7_200_000)]);
  assert.equal([again.value, again.asked], ['registering', ['register 2 for 7200000']]);
  assert.is(after([begun, tooBrief(1, 7_200_000), tooBrief(2, 7_200_000)]).value, 'rejected');
  assert.is(after([begun, tooBrief(1, 0)]).value, 'rejected');
});

chart('a registrar whose interval grows each time is asked once more, then later', () => {
  const grown = after([begun, tooBrief(1, 7_200_000), tooBrief(2, 7_200_001)]);
  assert.equal([grown.value, grown.snapshot.context.reason], ['backingOff', '423 Interval Too Brief']);
  const later = after([
    begun,
    tooBrief(1, 7_200_000),
    tooBrief(2, 7_200_001),
    waited('backingOff'),
    tooBrief(3, 7_200_002),
  ]);
  assert.equal([later.value, later.snapshot.context.expiresMs], ['registering', 7_200_002]);
});

chart('a refusal for good is tried again seldom, or never', () => {
  const rejected = after([begun, refused(1, true)]);
  assert.equal([rejected.value, rejected.asked], ['rejected', ['EndpointStateChange']]);
  const ends = { type: 'xstate.after.rejectedRetry.registration.rejected' } as unknown as RegistrationEvent;
  assert.is(after([begun, refused(1, true), ends]).value, 'registering');
  assert.is(after([begun, refused(1, true), ends], { ...line, rejectedRetryMs: 0 }).value, 'rejected');
  assert.is(after([begun, refused(1, true), ends], { ...line, rejectedRetryMs: 1 }).value, 'registering');
});

chart('what is registered is taken back in the end, what is not just ends', () => {
  for (const type of ['registration.removed', 'system.closing'] as const) {
    const leaving = after([begun, accepted(1), { type }]);
    assert.equal([leaving.value, leaving.asked], ['unregistering', ['EndpointStateChange', 'register 2 for 0']]);
    assert.is(after([begun, { type }]).value, 'unregistering');
    assert.is(after([begun, accepted(1), { type }, accepted(1)]).value, 'unregistering');
    for (const answer of [accepted(2), refused(2, true), unanswered(2), tooBrief(2, 1)])
      assert.is(after([begun, accepted(1), { type }, answer]).value, 'closed');
    assert.is(after([{ type }]).value, 'closed');
    assert.is(after([begun, unanswered(1), { type }]).value, 'closed');
    assert.is(after([begun, refused(1, true), { type }]).value, 'closed');
  }
});

chart('a lost connection is made again at once', () => {
  const again = after([begun, accepted(1), { type: 'connection.lost' }]);
  assert.equal([again.value, again.asked], ['refreshing', ['register 2 for 3600000']]);
});

chart('late answers change nothing', () => {
  for (const late of [accepted(1), refused(1, true), refused(1, false), unanswered(1), tooBrief(1, 10 ** 9)])
    assert.is(after([begun, unanswered(1), waited('backingOff'), late]).value, 'registering');
});

chart('clients see whether it is registered, and why not', () => {
  const model = (...events: RegistrationEvent[]) => registrationModel(after(events).snapshot);
  const shown = { server: 'sip:p', client: 'sip:1@p' };
  assert.equal(model(begun), { ...shown, status: 'Unregistered' });
  assert.equal(model(begun, accepted(1)), { ...shown, status: 'Registered' });
  assert.equal(model(begun, accepted(1), waited('registered')), { ...shown, status: 'Registered' });
  const failed = { ...shown, status: 'Unregistered', reason: 'no answer' };
  assert.equal(model(begun, unanswered(1)), failed);
  assert.equal(model(begun, unanswered(1), waited('backingOff')), failed);
  assert.equal(model(begun, unanswered(1), { type: 'holding.ended' }), { ...shown, status: 'Standby' });
  assert.equal(model(begun, refused(1, true)), { ...shown, status: 'Rejected', reason: '403 Forbidden' });
  assert.equal(model(begun, unanswered(1), waited('backingOff'), accepted(2)), { ...shown, status: 'Registered' });
});

chart('each wait has its time: for a turn, for an answer, for another try, and for a farewell', () => {
  const times = (...events: RegistrationEvent[]) => delaysIn(registrationMachine, after(events).snapshot);
  assert.equal(times(), { wait: 40 });
  assert.equal(times(begun), { registerTimeout: 70_000 });
  const slow = after([begun], { ...line, longestAnswerMs: 256_000 }).snapshot;
  assert.equal(delaysIn(registrationMachine, slow), { registerTimeout: 266_000 });
  assert.equal(times(begun, accepted(1)), { wait: 900_000 });
  assert.equal(times(begun, accepted(1), waited('registered')), { registerTimeout: 70_000 });
  assert.equal(times(begun, unanswered(1)), { wait: 5_000 });
  assert.equal(times(begun, refused(1, true)), { rejectedRetry: 900_000 });
  assert.equal(times(begun, { type: 'registration.removed' }), { unregisterTimeout: 2_000 });
});

chart('a registrar that says nothing at all is tried again after the whole of the time', () => {
  for (const way of [[begun], [begun, accepted(1), waited('registered')]]) {
    const { value, context } = afterDelay(registrationMachine, after(way).snapshot, 'registerTimeout');
    assert.equal([value, context.waitMs, context.reason], ['backingOff', 10_000, 'no answer']);
  }
  const leaving = after([begun, { type: 'registration.removed' }]).snapshot;
  assert.is(afterDelay(registrationMachine, leaving, 'unregisterTimeout').value, 'closed');
});

chart('answers to earlier requests change nothing', () => {
  const late = [accepted(1), tooBrief(1, 7_200_000), refused(1, true), refused(1, false), unanswered(1)];
  for (const event of late) {
    const again = after([begun, unanswered(1), waited('backingOff'), event]);
    assert.equal([again.value, again.asked], ['registering', []]);
    assert.is(after([begun, accepted(1), { type: 'registration.removed' }, event]).value, 'unregistering');
  }
  assert.is(after([begun, tooBrief(1, 7_200_000), tooBrief(1, 7_300_000)]).value, 'registering');
});

chart('a registration that is changed is asked for anew at once, as if nothing had failed', () => {
  const changed: RegistrationEvent = { type: 'registration.changed', registration: { ...line, expiresMs: 60_000 } };
  for (const way of [[], [begun, unanswered(1)], [begun, refused(1, true)], [begun, accepted(1)]]) {
    const { value, asked, snapshot } = after([...way, changed]);
    assert.is(value, 'registering');
    assert.match(String(asked.at(-1)), / for 60000$/);
    assert.is(snapshot.context.failures, 0);
  }
});

const [here, elsewhere] = [{ type: 'holding.begun' }, { type: 'holding.ended' }] as const;

chart('a registration that another node holds stands by, and is made at once when this one holds it', () => {
  assert.equal(in_(after([elsewhere])), ['standby', 40, ['EndpointStateChange']]);
  const taken = after([elsewhere, here]);
  assert.equal([taken.value, taken.asked], ['registering', ['register 1 for 3600000']]);
  for (const event of [elsewhere, begun, accepted(1), { type: 'connection.lost' } as const])
    assert.is(after([elsewhere, event]).value, 'standby');
  assert.is(after([elsewhere, { type: 'system.closing' }]).value, 'closed');
  assert.is(after([elsewhere, { type: 'registration.removed' }]).value, 'closed');
});

chart('a registration that is handed over is taken back first', () => {
  for (const way of [[begun], [begun, accepted(1)]]) {
    const leaving = after([...way, elsewhere]);
    assert.equal([leaving.value, leaving.asked], ['handingOver', ['EndpointStateChange', 'register 2 for 0']]);
    assert.is(askedMs(leaving.snapshot), 0);
    assert.ok(isHeld(leaving.snapshot), 'another node still waits');
    for (const answer of [accepted(2), refused(2, true), refused(2, false), unanswered(2), tooBrief(2, 1)]) {
      const done = after([...way, elsewhere, answer]);
      assert.equal([done.value, done.asked, isHeld(done.snapshot)], ['standby', ['EndpointStateChange'], false]);
    }
    assert.is(after([...way, elsewhere, accepted(1)]).value, 'handingOver', 'a late answer');
    assert.is(afterDelay(registrationMachine, leaving.snapshot, 'unregisterTimeout').value, 'standby');
    assert.is(after([...way, elsewhere, elsewhere]).value, 'handingOver');
    const back = after([...way, elsewhere, here]);
    assert.equal([back.value, back.asked], ['registering', ['register 3 for 3600000']]);
    assert.is(after([...way, elsewhere, { type: 'registration.removed' }]).value, 'unregistering');
    assert.is(after([...way, elsewhere, { type: 'system.closing' }]).value, 'unregistering');
  }
  assert.is(after([begun, accepted(1), waited('registered'), elsewhere]).value, 'handingOver');
  for (const failed of [refused(1, true), unanswered(1)]) {
    const failure = after([begun, failed, elsewhere]);
    assert.is(failure.value, 'standby', 'the registrar knows nothing of it');
    assert.is(after([begun, failed, here]).value, 'registering');
  }
  assert.is(after([{ type: 'system.closing' }, elsewhere]).value, 'closed');
  for (const event of [here, elsewhere])
    assert.is(after([begun, { type: 'registration.removed' }, event]).value, 'unregistering');
});

chart('where two nodes held it, the one that keeps it registers again', () => {
  for (const way of [[begun], [begun, accepted(1)], [begun, accepted(1), waited('registered')]]) {
    const { value, asked, snapshot } = after([...way, here]);
    assert.is(value, way.length === 1 ? 'registering' : 'refreshing');
    assert.equal(asked, [`register ${snapshot.context.attempt} for 3600000`]);
    assert.is(snapshot.context.attempt, after(way).snapshot.context.attempt + 1);
  }
  assert.is(after([here]).value, 'idle', 'it registers in its turn');
});

chart('a change of a registration that another node holds is kept for later', () => {
  const changed: RegistrationEvent = { type: 'registration.changed', registration: { ...line, expiresMs: 60_000 } };
  for (const way of [[elsewhere], [begun, accepted(1), elsewhere]]) {
    const before = after(way).value;
    assert.is(after([...way, changed]).value, before);
    assert.match(String(after([...way, changed, here]).asked.at(-1)), / for 60000$/);
  }
});

chart('every state and transition is reached', () => {
  const { inputs, events } = chartSamples.find(({ machine }) => (machine as unknown) === registrationMachine)!;
  const coverage = coverChart(registrationMachine, {
    inputs: inputs as { registration: RegistrationDetails; startDelayMs: number }[],
    events: events as RegistrationEvent[],
    key: ({ context: { attempt, expiresMs, raised } }) => [Math.min(attempt, 4), expiresMs > 3_600_000, raised],
  });
  assertCovered(registrationMachine, coverage);
});

chart.run();
