import { Compile } from 'typebox/compile';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AriEvent, eventSchemas, eventTypes } from '../../src/models/events.ts';
import { channel } from '../http/fakes.ts';

const events = suite('events');
const stamp = { timestamp: '2026-01-31T12:00:00.123+0000', application: 'hello', asterisk_id: 'x', seq: 1 };

events('every event has a schema under its own name, with type and stamp required', () => {
  for (const type of eventTypes) {
    const schema = eventSchemas[type] as {
      $id?: string;
      required?: string[];
      properties?: Record<string, { const?: string }>;
    };
    assert.is(schema.$id, type);
    assert.is(schema.properties?.['type']?.const, type);
    for (const name of ['type', ...Object.keys(stamp)]) assert.ok(schema.required?.includes(name), `${type} ${name}`);
  }
});

events('an event as its type has it fits its schema', () => {
  const event: AriEvent = { type: 'ChannelDestroyed', channel, cause: 16, cause_txt: 'Normal Clearing', ...stamp };
  const dial: AriEvent = { type: 'Dial', peer: channel, dialstatus: '', dialstring: '', forward: '', ...stamp };
  assert.ok(Compile(eventSchemas.ChannelDestroyed).Check(event));
  assert.ok(Compile(eventSchemas.Dial).Check(dial));
});

events('a missing part, a wrong word and another type do not fit', () => {
  const check = Compile(eventSchemas.Dial);
  const dial = { type: 'Dial', peer: channel, dialstatus: 'ANSWER', ...stamp };
  assert.ok(check.Check(dial));
  assert.not(check.Check({ ...dial, type: 'ChannelCreated' }));
  assert.not(check.Check({ ...dial, dialstatus: 'MAYBE' }));
  assert.not(check.Check({ ...dial, peer: { ...channel, state: 'Rsrved' } }));
  assert.not(check.Check({ ...dial, timestamp: '2026-01-31T12:00:00Z' }));
  const { seq: _seq, ...unnumbered } = dial;
  assert.not(check.Check(unnumbered));
});

events.run();
