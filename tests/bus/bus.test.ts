import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBus, type Publication } from '../../src/bus/bus.ts';
import { allChannels, channelTopics, deviceStateTopics, endpointTopics } from '../../src/bus/topics.ts';
import { createRecordingLog } from '../support/log.ts';

function world() {
  const { log, lines } = createRecordingLog();
  return { bus: createBus({ log }), lines };
}

/** A publication that can be told from others by its name. */
const say = (name: string): Publication => ({
  event: { type: 'DeviceStateChanged', device_state: { name, state: 'INUSE' } },
  topics: deviceStateTopics(name),
});
const nameOf = ({ event }: Publication): string => ('device_state' in event ? event.device_state.name : '');

const carrying = suite('bus');

carrying('every listener gets what is published, in order, before publish returns', () => {
  const { bus } = world();
  const first: string[] = [];
  const second: string[] = [];
  bus.subscribe((publication) => void first.push(nameOf(publication)));
  bus.subscribe((publication) => void second.push(nameOf(publication)));
  bus.publish(say('a'));
  bus.publish(say('b'));
  assert.equal(first, ['a', 'b']);
  assert.equal(second, ['a', 'b']);
});

carrying('what is published while one is dispatched waits until all listeners have had that one', () => {
  const { bus } = world();
  const heard: string[] = [];
  bus.subscribe((publication) => {
    heard.push(`1 ${nameOf(publication)}`);
    if (nameOf(publication) === 'a') {
      bus.publish(say('a1'));
      bus.publish(say('a2'));
    }
    if (nameOf(publication) === 'a1') bus.publish(say('a11'));
  });
  bus.subscribe((publication) => void heard.push(`2 ${nameOf(publication)}`));
  bus.publish(say('a'));
  assert.equal(heard, ['1 a', '2 a', '1 a1', '2 a1', '1 a2', '2 a2', '1 a11', '2 a11']);
});

carrying('a listener that throws is logged, and neither it nor another misses anything', () => {
  const { bus, lines } = world();
  const heard: string[] = [];
  const failure = new Error('not today');
  bus.subscribe((publication) => {
    heard.push(`1 ${nameOf(publication)}`);
    throw failure;
  });
  bus.subscribe((publication) => void heard.push(`2 ${nameOf(publication)}`));
  bus.publish(say('a'));
  bus.publish(say('b'));
  assert.equal(heard, ['1 a', '2 a', '1 b', '2 b']);
  assert.equal(lines[0], {
    level: 'error',
    message: 'a listener of the bus failed',
    fields: { event: 'DeviceStateChanged', error: failure },
  });
  assert.is(lines.length, 2);
});

carrying('a listener that comes during a dispatch begins with the next, one that goes hears nothing more', () => {
  const { bus } = world();
  const heard: string[] = [];
  const late = (publication: Publication): void => void heard.push(`late ${nameOf(publication)}`);
  let leave = (): void => undefined;
  bus.subscribe((publication) => {
    if (nameOf(publication) !== 'a') return;
    bus.subscribe(late);
    leave();
  });
  leave = bus.subscribe((publication) => void heard.push(`leaver ${nameOf(publication)}`));
  bus.publish(say('a'));
  bus.publish(say('b'));
  leave();
  assert.equal(heard, ['late b']);
});

carrying('the same function may listen twice and each is removed alone', () => {
  const { bus } = world();
  let heard = 0;
  const listener = (): void => void heard++;
  const leave = bus.subscribe(listener);
  bus.subscribe(listener);
  bus.publish(say('a'));
  leave();
  bus.publish(say('b'));
  assert.is(heard, 3);
});

carrying('a channel speaks to itself, all channels, its endpoint and its technology, but not to all endpoints', () => {
  assert.equal(channelTopics('c1', ['PJSIP', 'alice']), [
    'channel:c1',
    allChannels,
    'endpoint:PJSIP/alice',
    'endpoint:PJSIP',
  ]);
  assert.equal(channelTopics('c1'), ['channel:c1', 'channel:']);
  assert.equal(endpointTopics('PJSIP', 'alice'), ['endpoint:PJSIP/alice', 'endpoint:PJSIP', 'endpoint:']);
});

carrying.run();
