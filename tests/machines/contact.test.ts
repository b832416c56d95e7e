import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type ContactEvent,
  type ContactSnapshot,
  contactMachine,
  contactModel,
  contactStatus,
} from '../../src/machines/contact.ts';
import type { ContactDetails } from '../../src/telephony/contacts.ts';
import { afterDelay, assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const details: ContactDetails = {
  id: 'alice;1',
  uri: 'sip:alice@10.0.0.9',
  aor: 'alice',
  technology: 'PJSIP',
  endpoint: 'alice',
  qualifyFrequencyMs: 60_000,
  qualifyTimeoutMs: 3_000,
  expiresMs: 3_600_000,
};
const unqualified: ContactDetails = { ...details, qualifyFrequencyMs: 0 };
const { expiresMs: _, ...permanent } = details;

const registered = (contact: ContactDetails): ContactEvent => ({ type: 'contact.registered', contact });
const answered = (attempt: number): ContactEvent => ({ type: 'qualify.answered', attempt, roundtripUsec: 1_234 });
const unanswered = (attempt: number): ContactEvent => ({ type: 'qualify.unanswered', attempt });
const intervalEnds = (state: string) =>
  ({ type: `xstate.after.qualifyInterval.contact.${state}.resting` }) as unknown as ContactEvent;

type Action = { type: string; params?: { event?: { type: string }; delay?: number; id?: string; sendId?: string } };

/** Takes a contact through events; gives where it ended and what the last one asked for. */
function after(events: readonly ContactEvent[], contact: ContactDetails = details) {
  let [snapshot, actions] = initialTransition(contactMachine, { contact });
  for (const event of events) [snapshot, actions] = transition(contactMachine, snapshot, event);
  const asked = (actions as unknown as Action[])
    .map(({ type, params }) => (type === 'xstate.emit' ? params?.event?.type : type))
    .filter((type) => type !== 'xstate.cancel' && type !== 'xstate.raise');
  const delays = (actions as unknown as Action[])
    .filter(({ type }) => type === 'xstate.raise')
    .map(({ params }) => [params?.event?.type.split('.').slice(0, 3).join('.'), params?.delay]);
  return { snapshot, asked, delays, value: snapshot.value };
}
const status = (snapshot: ContactSnapshot): string => contactStatus(snapshot);

const chart = suite('contact chart');

chart('a contact that is qualified is unknown until its first answer', () => {
  const created = after([]);
  assert.is(created.value, 'unknown');
  assert.equal(created.asked, ['ContactStatusChange', 'qualifyContact']);
  assert.equal(created.delays, [
    ['contact.expired', 3_600_000],
    ['xstate.after.qualifyTimeout', 3_000],
  ]);
  const reachable = after([answered(1)]);
  assert.equal(reachable.value, { reachable: 'resting' });
  assert.equal(reachable.asked, ['ContactStatusChange']);
  assert.equal(reachable.delays, [['xstate.after.qualifyInterval', 60_000]]);
  assert.equal(contactModel(reachable.snapshot), {
    uri: 'sip:alice@10.0.0.9',
    contact_status: 'Reachable',
    aor: 'alice',
    roundtrip_usec: '1234',
  });
});

chart('a contact whose qualify frequency is 0 is never asked', () => {
  assert.is(after([], { ...details, qualifyFrequencyMs: 1 }).value, 'unknown');
  const created = after([], unqualified);
  assert.is(created.value, 'nonQualified');
  assert.equal(created.asked, ['ContactStatusChange']);
  assert.equal(contactModel(created.snapshot), {
    uri: 'sip:alice@10.0.0.9',
    contact_status: 'NonQualified',
    aor: 'alice',
  });
});

chart('a configured contact never expires', () => {
  assert.equal(after([], permanent).delays, [['xstate.after.qualifyTimeout', 3_000]]);
  // As long as timers can run: 2³¹ − 1 ms.
  assert.is(after([], { ...details, expiresMs: 10 ** 12 }).delays[0]?.[1], 0x7fff_ffff);
});

chart('it is asked again after the interval, and only a change of status is told', () => {
  const asking = after([answered(1), intervalEnds('reachable')]);
  assert.equal(asking.value, { reachable: 'qualifying' });
  assert.equal(asking.asked, ['qualifyContact']);
  assert.equal(after([answered(1), intervalEnds('reachable'), answered(2)]).asked, []);
  const lost = after([answered(1), intervalEnds('reachable'), unanswered(2)]);
  assert.equal(lost.value, { unreachable: 'resting' });
  assert.equal(lost.asked, ['ContactStatusChange']);
  assert.is(contactModel(lost.snapshot).roundtrip_usec, undefined);
  const still = after([unanswered(1), intervalEnds('unreachable'), unanswered(2)]);
  assert.equal([still.value, still.asked], [{ unreachable: 'resting' }, []]);
  assert.equal(after([unanswered(1), intervalEnds('unreachable'), answered(2)]).value, { reachable: 'resting' });
});

chart('late answers are ignored', () => {
  assert.equal(after([unanswered(1), answered(1)]).value, { unreachable: 'resting' });
  assert.equal(after([unanswered(1), intervalEnds('unreachable'), answered(1)]).value, { unreachable: 'qualifying' });
  assert.is(after([answered(0)]).value, 'unknown');
  assert.is(after([registered(unqualified), answered(1)]).value, 'nonQualified');
});

chart('a renewal lets the registration run out anew and keeps the status', () => {
  const renewed = after([answered(1), registered({ ...details, expiresMs: 60_000 })]);
  assert.equal(renewed.value, { reachable: 'resting' });
  assert.equal(renewed.delays, [['contact.expired', 60_000]]);
  assert.equal(renewed.asked, []);
  assert.equal(after([answered(1), registered(permanent)]).delays, []);
});

chart('a renewal of a contact that did not answer asks it at once', () => {
  const renewed = after([unanswered(1), registered(details)]);
  assert.equal([renewed.value, renewed.asked], [{ unreachable: 'qualifying' }, ['qualifyContact']]);
});

chart('a renewal may begin or end qualification', () => {
  assert.is(after([registered(details)], unqualified).value, 'unknown');
  for (const events of [[], [answered(1)], [unanswered(1)]])
    assert.is(after([...events, registered(unqualified)]).value, 'nonQualified');
});

chart('an expired contact is removed and the technology told, a removed one is not told', () => {
  const expired = after([{ type: 'contact.expired' }]);
  assert.equal([expired.value, expired.asked], ['removed', ['expireContact', 'ContactStatusChange']]);
  assert.is(status(expired.snapshot), 'Removed');
  const removed = after([answered(1), { type: 'contact.removed' }]);
  assert.equal([removed.value, removed.asked], ['removed', ['ContactStatusChange']]);
  const closed = after([{ type: 'system.closing' }]);
  assert.equal([closed.value, closed.asked], ['closed', []]);
});

const [unknown, reachable] = [[], [answered(1)]] as const;
const asking = [
  { name: 'unknown', way: unknown, attempt: 1 },
  { name: 'reachable', way: [...reachable, intervalEnds('reachable')], attempt: 2 },
  { name: 'unreachable', way: [unanswered(1), intervalEnds('unreachable')], attempt: 2 },
];

chart('one that says nothing in its time is not reachable, whatever it was', () => {
  for (const { name, way } of asking) {
    const { snapshot } = after(way);
    assert.is(delaysIn(contactMachine, snapshot).qualifyTimeout, 3_000, name);
    const { value, context } = afterDelay(contactMachine, snapshot, 'qualifyTimeout');
    assert.equal([value, context.attempt], [{ unreachable: 'resting' }, way.length === 0 ? 1 : 2]);
  }
  assert.equal(delaysIn(contactMachine, after(reachable).snapshot), { qualifyInterval: 60_000 });
});

chart('answers to the request under way count, late ones change nothing', () => {
  for (const { way, attempt } of asking) {
    const before = after(way).snapshot.value;
    assert.equal(after([...way, answered(attempt)]).snapshot.value, { reachable: 'resting' });
    assert.equal(after([...way, unanswered(attempt)]).snapshot.value, { unreachable: 'resting' });
    for (const late of [answered(attempt - 1), unanswered(attempt - 1)])
      assert.equal(after([...way, late]).snapshot.value, before);
  }
});

chart('every state is reached and every transition taken', () => {
  const coverage = coverChart(contactMachine, {
    inputs: [{ contact: details }, { contact: unqualified }],
    events: ({ context: { attempt } }): ContactEvent[] => [
      registered(details),
      registered(unqualified),
      { type: 'contact.removed' },
      { type: 'contact.expired' },
      { type: 'system.closing' },
      answered(attempt),
      unanswered(attempt),
      answered(attempt - 1),
    ],
  });
  assertCovered(contactMachine, coverage);
});

chart.run();
