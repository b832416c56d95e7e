import { AriError } from '../models/errors.ts';

/** Runs an action that a limit may refuse. Then `refused` hears the error, and the result is undefined. Other errors are thrown. */
export function unlessLimited<T>(action: () => T, refused: (error: AriError) => void): T | undefined {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof AriError)) throw error;
    refused(error);
    return undefined;
  }
}
