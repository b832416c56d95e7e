import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Bus, createBus } from '../../src/bus/bus.ts';
import { channelTopics } from '../../src/bus/topics.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { Channel, ChannelState } from '../../src/models/channel.ts';
import { AriError } from '../../src/models/errors.ts';
import { createDeviceStates } from '../../src/stores/device-states.ts';
import { createEndpoints } from '../../src/stores/endpoints.ts';
import { createJsonFile } from '../../src/stores/json-file.ts';
import { createMailboxes } from '../../src/stores/mailboxes.ts';

const refusal = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error instanceof AriError ? [error.status, error.message] : error;
  }
  return undefined;
};

type World = { directory: string; errors: string[]; log: Logger; bus: Bus };

const keeping = suite<World>('stores kept in the data directory');

keeping.before.each((world) => {
  const silent = () => undefined;
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  world.errors = [];
  world.log = {
    trace: silent,
    debug: silent,
    info: silent,
    warn: silent,
    error: (_fields, message) => void world.errors.push(message),
    child: () => world.log,
  };
  world.bus = createBus({ log: world.log });
});
keeping.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

keeping(
  'a file holds the last value saved, and further ones become one while it is written',
  async ({ directory, log, errors }) => {
    const file = createJsonFile<number>({ directory: join(directory, 'new'), name: 'n.json', log, read: Number });
    assert.is(file.load(), undefined);
    let asked = 0;
    for (let n = 1; n <= 100; n++)
      file.save(() => {
        asked++;
        return n;
      });
    await file.flush();
    assert.is(file.load(), 100);
    assert.ok(asked < 100, `written ${asked} times`);
    await file.flush();
    assert.equal(errors, []);
  },
);

keeping(
  'a file that cannot be read or written is logged, and the next save tries again',
  async ({ directory, log, errors }) => {
    writeFileSync(join(directory, 'n.json'), 'not JSON');
    const file = createJsonFile<number>({ directory, name: 'n.json', log, read: Number });
    assert.is(file.load(), undefined);
    file.save(() => {
      throw new Error('no value');
    });
    await file.flush();
    assert.equal(errors, [
      'a file of the data directory could not be read',
      'a file of the data directory could not be written',
    ]);
    file.save(() => 7);
    await file.flush();
    assert.is(file.load(), 7);
  },
);

keeping('mailboxes come back after a restart', async ({ directory, log }) => {
  const changes: unknown[] = [];
  const mailboxes = createMailboxes({ directory, log, onChanged: (mailbox) => void changes.push(mailbox) });
  assert.equal(mailboxes.list(), []);
  mailboxes.update('1000@default', { oldMessages: 2, newMessages: 1 });
  mailboxes.update('1001', {});
  mailboxes.update('1000@default', { newMessages: 3 });
  mailboxes.update('1002', {});
  mailboxes.delete('1002');
  const first = { name: '1000@default', old_messages: 0, new_messages: 3 };
  const second = { name: '1001', old_messages: 0, new_messages: 0 };
  assert.equal(mailboxes.list(), [first, second]);
  assert.equal(mailboxes.get('1000@default'), first);
  assert.equal(changes.slice(2), [
    first,
    { name: '1002', old_messages: 0, new_messages: 0 },
    { name: '1002', old_messages: 0, new_messages: 0 },
  ]);
  await mailboxes.close();
  assert.equal(createMailboxes({ directory, log }).list(), [first, second]);
});

keeping('a mailbox that is not there is refused in the words of the field', ({ directory, log }) => {
  const mailboxes = createMailboxes({ directory, log });
  assert.equal(
    refusal(() => mailboxes.get('x')),
    [404, 'Mailbox is does not exist'],
  );
  assert.equal(
    refusal(() => mailboxes.delete('x')),
    [404, 'Mailbox does not exist'],
  );
  assert.equal(
    refusal(() => mailboxes.update('x', { newMessages: -1 })),
    [500, 'Error updating mailbox'],
  );
  assert.equal(mailboxes.list(), []);
});

keeping('a file of mailboxes that makes no sense is logged and left out', ({ directory, log, errors }) => {
  for (const text of ['{}', '[1]', '[{"name":"x","old_messages":-1,"new_messages":0}]']) {
    writeFileSync(join(directory, 'mailboxes.json'), text);
    assert.equal(createMailboxes({ directory, log }).list(), []);
  }
  assert.is(errors.length, 3);
});

function devices({ directory, log, bus }: World) {
  const endpoints = createEndpoints({ bus });
  endpoints.add('PJSIP', 'alice', 'offline');
  const states = createDeviceStates({ bus, log, directory, endpoint: endpoints.status });
  const changes: string[] = [];
  bus.subscribe(({ event, topics }) => {
    if (event.type !== 'DeviceStateChanged') return;
    assert.equal(topics, [`deviceState:${event.device_state.name}`, 'deviceState:']);
    changes.push(`${event.device_state.name} ${event.device_state.state}`);
  });
  return { endpoints, states, changes };
}

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
  assert.equal(states.get('PJSIP/nobody'), { name: 'PJSIP/nobody', state: 'UNKNOWN' });
  assert.equal(states.get('nonsense'), { name: 'nonsense', state: 'UNKNOWN' });
  world.bus.publish({ event: { type: 'ChannelCreated', channel: channel('3', 'Up') }, topics: channelTopics('3') });
  assert.is(changes.length, 10);
  await states.close();
});

keeping.run();
