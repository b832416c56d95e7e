import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AriError, type AriErrorCode, ariErrors } from '../../src/models/errors.ts';

const errors = suite('errors');

errors('a refusal has status and message of its code', () => {
  const error = new AriError('channelNotInStasis');
  assert.equal(
    [error.code, error.status, error.message, error.name],
    ['channelNotInStasis', 409, 'Channel not in Stasis application', 'AriError'],
  );
  assert.equal(error.toBody(), { message: 'Channel not in Stasis application' });
  assert.is(error.reason, undefined);
});

errors('parameters are put into the message once, whatever they hold', () => {
  const error = new AriError('redirectTechnologyMismatch', {
    technology: '{channelTechnology}$&',
    channelTechnology: 'PJSIP',
  });
  assert.is(error.message, "Endpoint technology '{channelTechnology}$&' does not match channel technology 'PJSIP'");
});

errors('the words of the status line and the cause are kept', () => {
  const cause = new Error('why');
  const error = new AriError('functionUnreadable', {}, { cause });
  assert.equal([error.reason, error.cause], ['Error With Function', cause]);
});

errors('a failed creation has its word under both keys, or as Asterisk has it', () => {
  assert.equal(new AriError('allocationFailed', { reason: 'unknown technology XY' }).toBody(), {
    message: 'Allocation failed: unknown technology XY',
    error: 'Allocation failed',
  });
  const unnamed = new AriError('allocationFailedUnnamed');
  assert.equal([unnamed.status, unnamed.toBody()], [500, { error: 'Allocation failed' }]);
});

errors('every code is in camel case with an error status and a message', () => {
  for (const code of Object.keys(ariErrors) as AriErrorCode[]) {
    const { status, message } = ariErrors[code];
    assert.match(code, /^[a-z][a-zA-Z]+$/);
    assert.ok(status >= 400 && status <= 507, code);
    assert.ok(message.length > 0, code);
  }
});

errors('a refusal that clients can cause has no stack trace, a failure of ours has one', () => {
  assert.not.match(new AriError('channelNotFound').stack ?? '', /\n +at /);
  assert.match(new AriError('internalServerError').stack ?? '', /\n +at /);
});

errors.run();
