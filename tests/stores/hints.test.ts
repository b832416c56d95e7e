import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBus } from '../../src/bus/bus.ts';
import { deviceStateTopics } from '../../src/bus/topics.ts';
import type { DeviceStateWord } from '../../src/models/device-state.ts';
import type { Mailbox } from '../../src/models/mailbox.ts';
import { createHints, together } from '../../src/stores/hints.ts';
import { createRecordingLog } from '../support/log.ts';

/** Hints over devices whose states are set by hand. */
function world(hints: Record<string, readonly string[]>) {
  const bus = createBus({ log: createRecordingLog().log });
  const states: Record<string, DeviceStateWord> = {};
  const boxes: Mailbox[] = [];
  const listeners: ((mailbox: Mailbox) => void)[] = [];
  const told: string[] = [];
  const store = createHints({
    bus,
    devicesOf: (context, extension) => hints[`${extension}@${context}`],
    deviceState: (name) => states[name] ?? 'INVALID',
    mailboxes: {
      find: (wanted) => boxes.find(({ name }) => name === wanted),
      onChanged: (listener) => void listeners.push(listener),
    },
  });
  store.onChanged((device) => told.push(device));
  return {
    store,
    told,
    set(name: string, state: DeviceStateWord) {
      states[name] = state;
      bus.publish({
        event: { type: 'DeviceStateChanged', device_state: { name, state } },
        topics: deviceStateTopics(name),
      });
    },
    messages(name: string, count: number) {
      const mailbox = { name, old_messages: 1, new_messages: count };
      boxes.splice(0, boxes.length, mailbox);
      for (const listener of listeners) listener(mailbox);
    },
  };
}

const hints = suite('hints');

hints('an extension stands as its devices do, taken together; without a hint there is nothing', () => {
  const { store, set } = world({ '201@office': ['PJSIP/alice', 'Stasis:desk'] });
  assert.is(store.of('office', '202'), undefined);
  assert.equal(store.of('office', '201'), { devices: ['PJSIP/alice', 'Stasis:desk'], state: 'INVALID' });
  set('PJSIP/alice', 'NOT_INUSE');
  assert.is(store.of('office', '201')!.state, 'NOT_INUSE');
  set('Stasis:desk', 'INUSE');
  assert.is(store.of('office', '201')!.state, 'INUSE');
  set('PJSIP/alice', 'RINGING');
  assert.is(store.of('office', '201')!.state, 'RINGINUSE');
});

hints('of several states the busier one wins', () => {
  assert.is(together([]), 'INVALID');
  assert.is(together(['UNAVAILABLE', 'NOT_INUSE']), 'NOT_INUSE');
  assert.is(together(['NOT_INUSE', 'RINGING']), 'RINGING');
  assert.is(together(['RINGING', 'ONHOLD']), 'RINGINUSE');
  assert.is(together(['INUSE', 'BUSY', 'NOT_INUSE']), 'BUSY');
  assert.is(together(['INVALID', 'UNKNOWN']), 'UNKNOWN');
});

hints('a mailbox is a device: in use while messages wait', () => {
  const { store, told, messages } = world({ '201@office': ['MWI:alice@office'] });
  assert.is(store.of('office', '201')!.state, 'NOT_INUSE');
  messages('alice@office', 2);
  assert.is(store.of('office', '201')!.state, 'INUSE');
  messages('alice@office', 0);
  assert.is(store.of('office', '201')!.state, 'NOT_INUSE');
  assert.equal(told, ['MWI:alice@office', 'MWI:alice@office']);
});

hints('every change of a device is told, until it is closed', () => {
  const { store, told, set } = world({});
  set('PJSIP/alice', 'INUSE');
  set('Stasis:desk', 'BUSY');
  store.close();
  set('PJSIP/alice', 'NOT_INUSE');
  assert.equal(told, ['PJSIP/alice', 'Stasis:desk']);
});

hints.run();
