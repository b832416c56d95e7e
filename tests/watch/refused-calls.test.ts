import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefusedOffer } from '../../src/telephony/driver.ts';
import { createRefusedCalls } from '../../src/watch/refused-calls.ts';
import { ManualClock } from '../support/manual-clock.ts';

const refused = suite('refused calls');

const offer = (changes: Partial<RefusedOffer> = {}): RefusedOffer => ({
  ...{ technology: 'PJSIP', endpoint: 'alice', from: '100', to: '200', context: 'default', source: '10.0.0.2:5060' },
  ...{ protocolId: 'x', status: 488, cause: 58, reason: 'its audio has no address' },
  ...changes,
});

refused('a flood from one address is one entry, however its ports, numbers and ids change', () => {
  const clock = new ManualClock(0);
  const calls = createRefusedCalls({ clock, most: () => 3, perMinute: 60 });
  let heard = 0;
  calls.listen(() => heard++);
  for (let index = 0; index < 10_000; index++) {
    clock.advance(0.1);
    calls.add(offer({ source: `10.0.0.2:${index}`, to: `${index}`, from: `${index}`, protocolId: `${index}` }));
  }
  assert.equal(
    calls.list().map(({ count, source, to }) => [count, source, to]),
    [[10_000, '10.0.0.2:9999', '9999']],
  );
  assert.is(heard, 60);
});

refused('the list is bounded, the newest come first, and long texts are cut', () => {
  const calls = createRefusedCalls({ clock: new ManualClock(0), most: () => 3, perMinute: 0 });
  calls.listen(() => assert.unreachable('no record was asked for'));
  const long = 'n'.repeat(100_000);
  for (let index = 0; index < 10_000; index++)
    calls.add(offer({ source: `10.0.${index >> 8}.${index & 255}:5060`, from: long, to: long, protocolId: long }));
  calls.add(offer({ source: '10.0.39.14:5060' }));
  assert.equal(
    calls.list().map(({ count, source, from }) => [count, source, from.length]),
    [
      [2, '10.0.39.14:5060', 3],
      [1, '10.0.39.15:5060', 128],
      [1, '10.0.39.13:5060', 128],
    ],
  );
});

refused.run();
