import { AriError, type AriErrorCode } from '../models/errors.ts';

/** Errors that say more than Asterisk does, and the errors of Asterisk in their place. An operation declares which it has. */
const inAsterisk: Partial<Record<AriErrorCode, readonly AriErrorCode[]>> = {
  recordingExists: ['recordingExistsConflict'],
  allocationFailed: ['externalFailed', 'allocationFailedUnnamed'],
};

/** A refusal as Asterisk has it of those that the operation declares; else as it is. */
export function asteriskError(refusal: AriError, declared: readonly AriErrorCode[]): AriError {
  const code = inAsterisk[refusal.code]?.find((each) => declared.includes(each));
  return code === undefined
    ? refusal
    : new AriError(code as 'recordingExistsConflict', refusal.parameters as { name: string }, { cause: refusal.cause });
}
