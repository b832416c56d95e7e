import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBus, readsNames } from '../../src/bus/bus.ts';
import { createEndpoints } from '../../src/stores/endpoints.ts';
import { createRecordingLog } from '../support/log.ts';
import { refusal } from '../support/refusal.ts';

const { log } = createRecordingLog();

function world() {
  const bus = createBus({ log });
  const published: unknown[] = [];
  bus.subscribe(({ event, topics }) => void published.push([event, topics]));
  const removed: string[] = [];
  const endpoints = createEndpoints({ bus, onRemoved: (topic) => void removed.push(topic) });
  endpoints.add('PJSIP', 'alice', 'offline');
  endpoints.add('PJSIP', 'bob');
  return { endpoints, published, removed };
}

const alice = { technology: 'PJSIP', resource: 'alice', state: 'offline', channel_ids: [] };
const bob = { technology: 'PJSIP', resource: 'bob', state: 'unknown', channel_ids: [] };
const topics = ['endpoint:PJSIP/alice', 'endpoint:PJSIP', 'endpoint:'];

const knowing = suite('endpoints');

knowing('are listed in the order of adding and found in any case of letters', () => {
  const { endpoints, published } = world();
  assert.equal(endpoints.add('pjsip', 'ALICE', 'online'), alice);
  assert.equal([...endpoints.list()], [alice, bob]);
  assert.equal([...endpoints.listByTechnology('PjSip')], [alice, bob]);
  assert.equal(endpoints.get('pjsip', 'Alice'), alice);
  assert.equal(endpoints.status('pjsip', 'Alice'), { technology: 'PJSIP', resource: 'alice', state: 'offline' });
  assert.is(endpoints.technology('pjsip'), 'PJSIP');
  assert.is(endpoints.technology('IAX2'), undefined);
  assert.is(endpoints.find('PJSIP', 'carol'), undefined);
  assert.is(endpoints.status('PJSIP', 'carol'), undefined);
  assert.equal(published, []);
});

knowing('one that is not there is refused, and so is a technology without any', () => {
  const { endpoints, removed } = world();
  assert.equal(
    refusal(() => endpoints.get('PJSIP', 'carol')),
    [404, 'Endpoint not found'],
  );
  assert.equal(
    refusal(() => endpoints.listByTechnology('IAX2')),
    [404, 'No Endpoints found - invalid tech IAX2'],
  );
  endpoints.remove('pjsip', 'alice');
  endpoints.remove('pjsip', 'alice');
  endpoints.remove('pjsip', 'bob');
  assert.equal(removed, ['endpoint:PJSIP/alice', 'endpoint:PJSIP/bob']);
  assert.equal(
    refusal(() => endpoints.listByTechnology('PJSIP')),
    [404, 'No Endpoints found - invalid tech PJSIP'],
  );
  assert.is(endpoints.technology('pjsip'), 'PJSIP');
});

knowing('a change of state is told as a change of the endpoint and of the peer, no change is not', () => {
  const { endpoints, published } = world();
  endpoints.setState('pjsip', 'Alice', 'online');
  endpoints.setState('pjsip', 'Alice', 'online');
  endpoints.setState('pjsip', 'nobody', 'online');
  const online = { ...alice, state: 'online' };
  assert.equal(published, [
    [{ type: 'EndpointStateChange', endpoint: online }, topics],
    [{ type: 'PeerStatusChange', endpoint: online, peer: { peer_status: 'Reachable' } }, topics],
  ]);
  published.length = 0;
  endpoints.setState('PJSIP', 'alice', 'offline');
  assert.equal(published[1], [
    { type: 'PeerStatusChange', endpoint: alice, peer: { peer_status: 'Unreachable' } },
    topics,
  ]);
  published.length = 0;
  endpoints.setState('PJSIP', 'alice', 'unknown');
  assert.is(published.length, 1);
});

knowing('its channels come and go in order, each told once', () => {
  const { endpoints, published } = world();
  endpoints.channelAdded('PJSIP', 'alice', 'c2');
  endpoints.channelAdded('PJSIP', 'alice', 'c1');
  endpoints.channelAdded('PJSIP', 'alice', 'c1');
  endpoints.channelRemoved('PJSIP', 'alice', 'c2');
  endpoints.channelRemoved('PJSIP', 'alice', 'c2');
  endpoints.channelAdded('PJSIP', 'nobody', 'c1');
  endpoints.channelRemoved('PJSIP', 'nobody', 'c1');
  assert.equal(
    published.map((entry) => (entry as [{ endpoint: { channel_ids: string[] } }])[0].endpoint.channel_ids),
    [['c2'], ['c2', 'c1'], ['c1']],
  );
  assert.equal(endpoints.get('PJSIP', 'alice').channel_ids, ['c1']);
});

knowing('list their channels in events only for those that read them', () => {
  const bus = createBus({ log });
  const endpoints = createEndpoints({ bus });
  endpoints.add('PJSIP', 'alice', 'offline');
  const told: unknown[] = [];
  const asked: string[] = [];
  bus.subscribe(({ event }) => void told.push(event.type === 'EndpointStateChange' && event.endpoint), readsNames);
  endpoints.channelAdded('PJSIP', 'alice', 'one');
  bus.subscribe(
    () => {},
    (about) => asked.push(...about) > 0,
  );
  endpoints.channelAdded('PJSIP', 'alice', 'two');
  assert.equal(told, [alice, { ...alice, channel_ids: ['one', 'two'] }]);
  assert.equal(asked, topics);
});

knowing.run();
