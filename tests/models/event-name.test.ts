import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventName } from '../../src/models/event-name.ts';

test('causes of steps are shown without the names that xstate gives them', () => {
  const types = ['xstate.init', 'xstate.after.dialTimeout.channel.dialing', 'leg.answered'];
  assert.equal(types.map(eventName), ['begins', 'after dialTimeout', 'leg.answered']);
});

test.run();
