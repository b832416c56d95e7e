import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createContacts } from '../../src/actors/contacts.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import { createBus } from '../../src/bus/bus.ts';
import { createEndpoints } from '../../src/stores/endpoints.ts';
import type { ContactDetails } from '../../src/telephony/contacts.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const { log } = createRecordingLog();

const contact = (id: string, changes: Partial<ContactDetails> = {}): ContactDetails => ({
  id,
  uri: `sip:${id}`,
  aor: 'alice',
  technology: 'PJSIP',
  endpoint: 'alice',
  qualifyFrequencyMs: 60_000,
  qualifyTimeoutMs: 3_000,
  expiresMs: 3_600_000,
  ...changes,
});

/** Lets promises that were settled be heard. */
const heard = () => new Promise((resolve) => setImmediate(resolve));

function world() {
  const clock = new ManualClock();
  const bus = createBus({ log });
  const endpoints = createEndpoints({ bus });
  endpoints.add('PJSIP', 'alice', 'offline');
  const contacts = createContacts({ bus, runtime: createRuntime(clock, log), log, endpoints });
  const requests: { contact: ContactDetails; answer: (usec: number) => void; fail: (error: Error) => void }[] = [];
  const expired: string[] = [];
  const driver = {
    technology: 'PJSIP',
    qualify: (asked: ContactDetails) =>
      new Promise<number>((answer, fail) => void requests.push({ contact: asked, answer, fail })),
    expired: (gone: ContactDetails) => void expired.push(gone.id),
  };
  const events: string[] = [];
  bus.subscribe(({ event }) => {
    if (event.type === 'ContactStatusChange') {
      const { uri, contact_status, roundtrip_usec } = event.contact_info;
      events.push([event.type, uri, contact_status, roundtrip_usec].filter(Boolean).join(' '));
    } else if (event.type === 'EndpointStateChange') events.push(`${event.type} ${event.endpoint.state}`);
    else if (event.type === 'PeerStatusChange') events.push(`${event.type} ${event.peer.peer_status}`);
  });
  return { clock, endpoints, contacts, requests, expired, events, driver };
}

const contacting = suite('contacts');

contacting('a phone that registers and answers is told with its endpoint', async () => {
  const { contacts, driver, requests, events, endpoints } = world();
  contacts.attach(driver);
  contacts.registered(contact('a'));
  assert.equal(events, ['ContactStatusChange sip:a Unknown']);
  requests[0]?.answer(1_499.6);
  await heard();
  assert.equal(events.slice(1), [
    'ContactStatusChange sip:a Reachable 1500',
    'EndpointStateChange online',
    'PeerStatusChange Reachable',
  ]);
  assert.is(endpoints.get('PJSIP', 'alice').state, 'online');
  assert.equal(contacts.of('pjsip', 'ALICE'), [
    { uri: 'sip:a', contact_status: 'Reachable', aor: 'alice', roundtrip_usec: '1500' },
  ]);
  contacts.close();
});

contacting('all are listed with their endpoint and where in their chart they are', async () => {
  const { contacts, driver, requests, clock } = world();
  contacts.attach(driver);
  contacts.registered(contact('a'));
  contacts.registered(contact('b', { qualifyFrequencyMs: 0, expiresMs: 5_000 }));
  requests[0]?.answer(1_000);
  await heard();
  const common = { endpoint: 'PJSIP/alice', aor: 'alice' };
  assert.equal(
    [...contacts.list()],
    [
      {
        ...{ ...common, uri: 'sip:a', contact_status: 'Reachable', roundtrip_usec: '1000', state: 'reachable.resting' },
        deadlines: [
          { event: 'contact.expired', at: clock.now() + 3_600_000 },
          { event: 'after qualifyInterval', at: clock.now() + 60_000 },
        ],
      },
      {
        ...{ ...common, uri: 'sip:b', contact_status: 'NonQualified', state: 'nonQualified' },
        deadlines: [{ event: 'contact.expired', at: clock.now() + 5_000 }],
      },
    ],
  );
  contacts.close();
});

contacting('one that stops answering goes offline, and comes back', async () => {
  const { contacts, driver, requests, events, clock } = world();
  contacts.attach(driver);
  contacts.registered(contact('a'));
  requests[0]?.answer(1_000);
  await heard();
  events.length = 0;
  clock.advance(60_000);
  assert.is(requests.length, 2);
  clock.advance(3_000);
  assert.equal(events, [
    'ContactStatusChange sip:a Unreachable',
    'EndpointStateChange offline',
    'PeerStatusChange Unreachable',
  ]);
  requests[1]?.answer(1_000);
  await heard();
  assert.is(events.length, 3);
  clock.advance(60_000);
  requests[2]?.fail(new Error('no answer'));
  await heard();
  assert.is(events.length, 3);
  clock.advance(60_000);
  requests[3]?.answer(2_000);
  await heard();
  assert.equal(events.slice(3), [
    'ContactStatusChange sip:a Reachable 2000',
    'EndpointStateChange online',
    'PeerStatusChange Reachable',
  ]);
  contacts.close();
  assert.is(clock.pending, 0);
});

contacting('an endpoint is online as long as one of its contacts is available', async () => {
  const { contacts, driver, requests, events } = world();
  contacts.attach(driver);
  contacts.registered(contact('a', { qualifyFrequencyMs: 0 }));
  contacts.registered(contact('b'));
  requests[0]?.fail(new Error('no answer'));
  await heard();
  contacts.removed('b');
  contacts.removed('b');
  assert.equal(events, [
    'ContactStatusChange sip:a NonQualified',
    'EndpointStateChange online',
    'PeerStatusChange Reachable',
    'ContactStatusChange sip:b Unknown',
    'ContactStatusChange sip:b Unreachable',
    'ContactStatusChange sip:b Removed',
  ]);
  contacts.removed('a');
  assert.equal(events.slice(6), [
    'ContactStatusChange sip:a Removed',
    'EndpointStateChange offline',
    'PeerStatusChange Unreachable',
  ]);
  assert.is(contacts.size, 0);
});

contacting('a registration runs out unless it is renewed', () => {
  const { contacts, driver, expired, clock, events } = world();
  contacts.attach(driver);
  contacts.registered(contact('a', { qualifyFrequencyMs: 0 }));
  clock.advance(3_599_999);
  contacts.registered(contact('a', { qualifyFrequencyMs: 0, expiresMs: 60_000 }));
  clock.advance(59_999);
  assert.equal(expired, []);
  clock.advance(1);
  assert.equal(expired, ['a']);
  assert.is(events[3], 'ContactStatusChange sip:a Removed');
  assert.is(contacts.size, 0);
  assert.is(clock.pending, 0);
});

contacting('a contact of a technology without a driver is unreachable', () => {
  const { contacts, events } = world();
  contacts.registered(contact('a'));
  assert.equal(events, ['ContactStatusChange sip:a Unknown', 'ContactStatusChange sip:a Unreachable']);
  contacts.close();
  assert.is(contacts.size, 0);
});

contacting('an endpoint nobody configured becomes known by its contact', () => {
  const { contacts, endpoints } = world();
  contacts.registered(contact('z', { endpoint: 'zoe', qualifyFrequencyMs: 0 }));
  assert.equal(endpoints.get('pjsip', 'zoe'), {
    technology: 'PJSIP',
    resource: 'zoe',
    state: 'online',
    channel_ids: [],
  });
  contacts.close();
});

contacting('a driver that throws ends that contact alone and its endpoint goes offline', () => {
  const { contacts, events } = world();
  contacts.attach({
    technology: 'PJSIP',
    qualify: () => {
      throw new Error('broken');
    },
    expired: () => undefined,
  });
  contacts.registered(contact('a', { qualifyFrequencyMs: 0 }));
  contacts.registered(contact('b'));
  assert.is(contacts.size, 1);
  contacts.removed('a');
  assert.is(events.at(-1), 'PeerStatusChange Unreachable');
});

contacting(
  'an endpoint is lost when its last contact expires or does not answer, not when it unregisters',
  async () => {
    const { contacts, driver, clock, requests, endpoints } = world();
    contacts.attach(driver);
    const brief = { qualifyFrequencyMs: 0, expiresMs: 60_000 };
    contacts.registered(contact('a', brief));
    contacts.registered(contact('b', { ...brief, expiresMs: 90_000 }));
    await clock.run(60_000);
    assert.equal(contacts.lost(), [], 'it is reached by another contact');
    await clock.run(30_000);
    const since = clock.now();
    assert.equal(contacts.lost(), [{ endpoint: 'PJSIP/alice', since, how: 'expired' }]);
    contacts.registered(contact('a', brief));
    assert.equal(contacts.lost(), [], 'it is back');
    contacts.removed('a');
    assert.equal(contacts.lost(), [], 'it unregistered');
    contacts.registered(contact('a'));
    requests.at(-1)?.fail(new Error('no answer'));
    await heard();
    assert.is(contacts.lost()[0]?.how, 'silent');
    endpoints.remove('PJSIP', 'alice');
    assert.equal(contacts.lost(), [], 'an endpoint that is deleted is forgotten');
  },
);

contacting.run();
