import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EventFilter } from '../../src/bus/event-filter.ts';
import { AriError } from '../../src/models/errors.ts';

const start = { type: 'StasisStart' };
const end = { type: 'StasisEnd', why: 'kept as given' };
const dial = { type: 'Dial' };

function filtered(...bodies: unknown[]): EventFilter {
  const filter = new EventFilter();
  for (const body of bodies) filter.replace(body);
  return filter;
}
const sent = (filter: EventFilter): string[] =>
  ['StasisStart', 'StasisEnd', 'Dial'].filter((type) => filter.lets(type));

const filtering = suite('event filter');

filtering('lets everything through until something is named', () => {
  assert.equal(sent(filtered()), ['StasisStart', 'StasisEnd', 'Dial']);
  assert.equal(sent(filtered({ allowed: [start] })), ['StasisStart']);
  assert.equal(sent(filtered({ disallowed: [start] })), ['StasisEnd', 'Dial']);
});

filtering('what is disallowed stays out even when it is allowed', () => {
  assert.equal(sent(filtered({ allowed: [start, end], disallowed: [end] })), ['StasisStart']);
});

filtering('types match exactly', () => {
  assert.equal(sent(filtered({ disallowed: [{ type: 'stasisstart' }] })), ['StasisStart', 'StasisEnd', 'Dial']);
});

filtering('a list that is left out stays, an empty one is cleared, an empty body clears both', () => {
  const both = { allowed: [start, end], disallowed: [end] };
  assert.equal(filtered(both, { allowed: [dial] }).lists, { allowed: [dial], disallowed: [end] });
  assert.equal(filtered(both, { disallowed: [] }).lists, { allowed: [start, end], disallowed: [] });
  for (const nothing of [{}, undefined, null, []]) {
    const filter = filtered(both, nothing);
    assert.equal(filter.lists, { allowed: [], disallowed: [] });
    assert.equal(sent(filter), ['StasisStart', 'StasisEnd', 'Dial']);
  }
  assert.equal(filtered([start]).lists, { allowed: [start], disallowed: [start] });
});

filtering('a malformed body is refused and changes nothing', () => {
  const malformed = [
    'StasisStart',
    7,
    ['StasisStart'],
    { allowed: start },
    { allowed: null },
    { allowed: ['StasisStart'] },
    { allowed: [{}] },
    { allowed: [{ type: '' }] },
    { allowed: [{ type: 1 }] },
    { allowed: [[start]] },
    { disallowed: [], allowed: [null] },
  ];
  for (const body of malformed) {
    const filter = filtered({ disallowed: [dial] });
    try {
      filter.replace(body);
      assert.unreachable(`${JSON.stringify(body)} was taken`);
    } catch (error) {
      assert.ok(error instanceof AriError, String(error));
      assert.equal([error.status, error.message], [400, 'Invalid format definition']);
    }
    assert.equal(filter.lists, { allowed: [], disallowed: [dial] });
  }
});

filtering('answers to requests and the fate of the application are never muted', () => {
  const filter = filtered({
    allowed: [start],
    disallowed: [{ type: 'ApplicationReplaced' }, { type: 'RESTResponse' }],
  });
  for (const type of ['RESTResponse', 'ApplicationReplaced', 'ApplicationRegistered', 'ApplicationUnregistered'])
    assert.ok(filter.lets(type), type);
});

filtering.run();
