import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Channel, channelStates } from '../../src/models/channel.ts';
import { openEventJson } from '../../src/models/event-json.ts';
import type { AriEventBody } from '../../src/models/events.ts';
import { anyCodePoint } from '../support/any-text.ts';

const json = suite('events as JSON');

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCodePoint }),
  fc.constantFrom('', '"', '\\', '\n', '\u007f', '\ud800', 'é'),
);
const party = fc.record({ name: text, number: text });
const channels = fc.record(
  {
    id: text,
    name: text,
    state: fc.constantFrom(...channelStates),
    protocol_id: text,
    caller: party,
    connected: party,
    accountcode: text,
    dialplan: fc.record({
      context: text,
      exten: text,
      priority: fc.option(fc.integer()),
      app_name: text,
      app_data: text,
    }),
    creationtime: fc.constant('2026-01-31T12:00:00.123+0000'),
    language: text,
    caller_rdnis: text,
    channelvars: fc.dictionary(text, text),
    tenantid: text,
  },
  {
    requiredKeys: [
      'id',
      'name',
      'state',
      'protocol_id',
      'caller',
      'connected',
      'accountcode',
      'dialplan',
      'creationtime',
      'language',
    ],
  },
);

json('are the text of JSON.stringify, whatever a channel holds', () => {
  const others = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.constant(undefined), fc.jsonValue());
  fc.assert(
    fc.property(channels, others, others, (channel, one, other) => {
      const event = { type: 'StasisStart', one, channel, other, replace_channel: channel } as unknown as AriEventBody;
      assert.is(`${openEventJson(event)}}`, JSON.stringify(event));
    }),
  );
});

json('hold every member that a channel has', () => {
  const full = fc.sample(channels, 200).find((channel) => Object.keys(channel).length === 13);
  assert.ok(full);
  assert.equal(Object.keys(full).sort(), Object.keys(Channel.properties).sort());
});

json.run();
