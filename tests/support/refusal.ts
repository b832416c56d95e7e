import { AriError } from '../../src/models/errors.ts';

/** Status and message of the refusal that a call throws; undefined when it throws nothing. Other errors go through. */
export function refusal(run: () => unknown): readonly [status: number, message: string] | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof AriError) return [error.status, error.message];
    throw error;
  }
  return undefined;
}
