import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Bus, createBus } from '../../src/bus/bus.ts';
import { channelTopics } from '../../src/bus/topics.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { Channel, ChannelState } from '../../src/models/channel.ts';
import type { DeviceStateWord } from '../../src/models/device-state.ts';
import { createDeviceStates } from '../../src/stores/device-states.ts';
import { createEndpoints } from '../../src/stores/endpoints.ts';
import { createRecordingLog } from '../support/log.ts';
import { refusal } from '../support/refusal.ts';

type World = { directory: string; errors: () => string[]; log: Logger; bus: Bus };

const keeping = suite<World>('device states');

keeping.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const { log, lines } = createRecordingLog();
  world.errors = () => lines.filter(({ level }) => level === 'error').map(({ message }) => message);
  world.log = log;
  world.bus = createBus({ log });
});
keeping.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

function devices({ directory, log, bus }: World, more: Partial<Parameters<typeof createDeviceStates>[0]> = {}) {
  const endpoints = createEndpoints({ bus });
  endpoints.add('PJSIP', 'alice', 'offline');
  const states = createDeviceStates({ bus, clock: systemClock, log, directory, endpoint: endpoints.status, ...more });
  const changes: string[] = [];
  bus.subscribe(({ event, topics }) => {
    if (event.type !== 'DeviceStateChanged') return;
    assert.equal(topics, [`deviceState:${event.device_state.name}`, 'deviceState:']);
    changes.push(`${event.device_state.name} ${event.device_state.state}`);
  });
  return { endpoints, states, changes };
}

keeping('Local channels are devices only where they are asked to be', async (world) => {
  const asked = devices(world, { localExists: (context, extension) => `${extension}@${context}` === '100@default' });
  const local = (half: number) => `Local/100@default-0000000${half < 3 ? 1 : 2};${half < 3 ? half : half - 2}`;
  const told = (type: 'ChannelCreated' | 'ChannelStateChange' | 'ChannelDestroyed', half: number) => {
    const channel = { id: `c${half}`, name: local(half), state: 'Up' } as Channel;
    world.bus.publish({ event: { type, channel, cause: 16, cause_txt: '' } as never, topics: [] });
  };
  const state = () => asked.states.get('Local/100@default').state;
  assert.is(state(), 'NOT_INUSE');
  assert.is(asked.states.get('Local/200@default').state, 'INVALID');
  for (const half of [1, 2, 3]) told('ChannelCreated', half);
  told('ChannelStateChange', 1);
  assert.is(state(), 'INUSE');
  for (const half of [1, 2]) told('ChannelDestroyed', half);
  assert.equal(asked.changes, ['Local/100@default INUSE']);
  told('ChannelDestroyed', 3);
  assert.equal(asked.changes, ['Local/100@default INUSE', 'Local/100@default NOT_INUSE']);
  await asked.states.close();
  const { states, changes } = devices(world);
  told('ChannelCreated', 1);
  assert.equal([states.get('Local/100@default').state, changes], ['INVALID', []]);
  await states.close();
});

keeping('what a channel makes of its device is saved by itself, and the form of 0.2.0 is read', async (world) => {
  const used: string[] = [];
  const { states } = devices(world, { useChanged: (channelId) => used.push(channelId) });
  states.restore({
    kept: [],
    published: [['PJSIP/alice', 'INUSE']],
    uses: [
      ['PJSIP/alice', [['c1', 'inUse']]],
      ['c2', 'PJSIP/alice', 'onHold'],
    ],
  });
  assert.equal(states.dumpUses(), [
    ['c1', 'PJSIP/alice', 'inUse'],
    ['c2', 'PJSIP/alice', 'onHold'],
  ]);
  const told = (type: 'ChannelHold' | 'ChannelDestroyed', id: string) => {
    const channel = { id, name: `PJSIP/alice-${id}`, state: 'Up' } as Channel;
    const topics = channelTopics(id, ['PJSIP', 'alice']);
    world.bus.publish({ event: { type, channel, cause: 16, cause_txt: '' } as never, topics });
  };
  told('ChannelHold', 'c1');
  assert.equal(states.dumpUses('c1'), [['c1', 'PJSIP/alice', 'onHold']]);
  assert.is(states.get('PJSIP/alice').state, 'ONHOLD');
  told('ChannelDestroyed', 'c1');
  told('ChannelDestroyed', 'c2');
  assert.equal(states.dumpUses('c1'), []);
  assert.is(states.get('PJSIP/alice').state, 'UNAVAILABLE');
  assert.equal(used, ['c1', 'c1', 'c2']);
  await states.close();
});

keeping('a device that clients set is told on change and comes back after a restart', async (world) => {
  const { states, changes } = devices(world);
  states.update('Stasis:queue', 'INUSE');
  states.update('stasis:queue', 'inuse');
  states.update('Stasis:other', 'BUSY');
  states.delete('Stasis:other');
  states.delete('Stasis:other');
  assert.equal(changes, ['Stasis:queue INUSE', 'Stasis:other BUSY', 'Stasis:other UNKNOWN']);
  assert.equal(states.list(), [{ name: 'Stasis:queue', state: 'INUSE' }]);
  assert.equal(states.get('stasis:queue'), { name: 'Stasis:queue', state: 'INUSE' });
  assert.equal(states.get('Stasis:other'), { name: 'Stasis:other', state: 'UNKNOWN' });
  await states.close();
  assert.equal(JSON.parse(readFileSync(join(world.directory, 'device-states.json'), 'utf8')), [
    { name: 'Stasis:queue', state: 'INUSE' },
  ]);
  const again = devices(world).states;
  assert.equal(again.list(), [{ name: 'Stasis:queue', state: 'INUSE' }]);
  await again.close();
});

keeping('only devices of clients can be set, by name, to a state that is known', async (world) => {
  const { states, changes } = devices(world);
  for (const call of [() => states.update('PJSIP/alice', 'BUSY'), () => states.delete('PJSIP/alice')])
    assert.equal(refusal(call), [409, 'Uncontrolled device specified']);
  for (const call of [() => states.update('Stasis:', 'BUSY'), () => states.delete('stasis:')])
    assert.equal(refusal(call), [404, 'Device name is missing']);
  for (const state of [undefined, '', 'UNKNOWN', 'SLEEPING'])
    assert.equal(
      refusal(() => states.update('Stasis:x', state)),
      [500, 'Unknown device'],
    );
  assert.equal(states.list(), []);
  assert.equal(changes, []);
  await states.close();
});

const channel = (id: string, state: ChannelState): Channel => ({
  id,
  protocol_id: '',
  name: `PJSIP/alice-${id}`,
  state,
  caller: { name: '', number: '' },
  connected: { name: '', number: '' },
  accountcode: '',
  dialplan: { context: 'default', exten: 's', priority: 1, app_name: '', app_data: '' },
  creationtime: '2026-01-01T00:00:00.000+0000',
  language: 'en',
});

keeping('the state of an endpoint follows its channels and whether it can be reached', async (world) => {
  const { endpoints, states, changes } = devices(world);
  const topics = channelTopics('c', ['PJSIP', 'alice']);
  const tell = (
    type: 'ChannelCreated' | 'ChannelStateChange' | 'ChannelHold' | 'ChannelUnhold',
    id: string,
    state: ChannelState,
  ) => world.bus.publish({ event: { type, channel: channel(id, state) }, topics });
  const end = (id: string) =>
    world.bus.publish({
      event: { type: 'ChannelDestroyed', channel: channel(id, 'Up'), cause: 16, cause_txt: 'Normal Clearing' },
      topics,
    });
  const state = () => states.get('pjsip/ALICE').state;
  assert.is(state(), 'UNAVAILABLE');
  endpoints.setState('PJSIP', 'alice', 'online');
  tell('ChannelCreated', '1', 'Down');
  assert.is(state(), 'NOT_INUSE');
  tell('ChannelStateChange', '1', 'Ringing');
  tell('ChannelStateChange', '1', 'Up');
  tell('ChannelCreated', '2', 'Ringing');
  tell('ChannelStateChange', '2', 'Busy');
  tell('ChannelHold', '1', 'Up');
  tell('ChannelUnhold', '1', 'Up');
  end('1');
  end('2');
  end('2');
  endpoints.setState('PJSIP', 'alice', 'offline');
  assert.equal(changes, [
    'PJSIP/alice NOT_INUSE',
    'PJSIP/alice RINGING',
    'PJSIP/alice INUSE',
    'PJSIP/alice RINGINUSE',
    'PJSIP/alice INUSE',
    'PJSIP/alice ONHOLD',
    'PJSIP/alice INUSE',
    'PJSIP/alice BUSY',
    'PJSIP/alice NOT_INUSE',
    'PJSIP/alice UNAVAILABLE',
  ]);
  assert.equal(states.get('PJSIP/nobody'), { name: 'PJSIP/nobody', state: 'INVALID' });
  assert.equal(states.get('nonsense'), { name: 'nonsense', state: 'INVALID' });
  world.bus.publish({ event: { type: 'ChannelCreated', channel: channel('3', 'Up') }, topics: channelTopics('3') });
  assert.is(changes.length, 10);
  await states.close();
});

keeping('an endpoint is what all nodes make of it, and each change is published where it happens', async (world) => {
  const elsewhere = new Map<string, DeviceStateWord>();
  const told: string[] = [];
  const { endpoints, states, changes } = devices(world, {
    shared: {
      elsewhere: (device) => [elsewhere.get(device) ?? []].flat(),
      tell: (device, state, together) => void told.push(`${device} ${state} of ${together}`),
      set: (device, state) => void told.push(`${device} ${state}`),
    },
  });
  const heard: string[] = [];
  states.onHeard((device) => void heard.push(`${device} ${states.get(device).state}`));
  states.share('PJSIP/alice');
  elsewhere.set('PJSIP/alice', 'RINGING');
  states.heard('PJSIP/alice', false);
  assert.is(states.get('pjsip/ALICE').state, 'RINGING');
  assert.equal(changes, [], 'the other node publishes it');
  endpoints.setState('PJSIP', 'alice', 'online');
  assert.equal(changes, [], 'they are together what they were');
  elsewhere.delete('PJSIP/alice');
  states.heard('PJSIP/alice', true);
  assert.equal(changes, ['PJSIP/alice NOT_INUSE']);
  elsewhere.set('PJSIP/alice', 'INUSE');
  endpoints.setState('PJSIP', 'alice', 'offline');
  assert.equal(changes, ['PJSIP/alice NOT_INUSE', 'PJSIP/alice INUSE']);
  assert.equal(heard, ['PJSIP/alice RINGING', 'PJSIP/alice NOT_INUSE']);
  assert.equal(told, [
    'PJSIP/alice undefined of UNAVAILABLE',
    'PJSIP/alice NOT_INUSE of RINGING',
    'PJSIP/alice undefined of INUSE',
  ]);
  await states.close();
});

keeping('a state that was set at another node is taken without an event, and not told again', async (world) => {
  const told: string[] = [];
  const { states, changes } = devices(world, {
    limit: 1,
    shared: {
      elsewhere: () => [],
      tell() {},
      set: (device, state) => void told.push(`${device} ${state}`),
    },
  });
  const heard: string[] = [];
  states.onHeard((device) => void heard.push(device));
  await states.update('Stasis:day', 'BUSY');
  states.adopt('Stasis:day', 'INUSE');
  states.adopt('Stasis:more', 'INUSE');
  assert.equal(states.list(), [{ name: 'Stasis:day', state: 'INUSE' }]);
  states.adopt('Stasis:day', undefined);
  assert.equal(states.list(), []);
  assert.equal([changes, told, heard.length], [['Stasis:day BUSY'], ['Stasis:day BUSY'], 3]);
  await states.close();
});

keeping.run();
