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

/** Status and message of the refusal that a promise rejects with. @throws Error if it does not; other errors go through. */
export async function refusalOf(run: () => Promise<unknown>): Promise<{ status: number; message: string }> {
  try {
    await run();
  } catch (error) {
    if (error instanceof AriError) return { status: error.status, message: error.message };
    throw error;
  }
  throw new Error('it was not refused');
}
