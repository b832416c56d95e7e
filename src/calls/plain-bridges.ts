import type { BridgeEntry } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import type { BridgeInput } from '../machines/bridge.ts';
import { AriError } from '../models/errors.ts';

/** Bridges of the server itself: applications can only see them. */

/** Properties of their members. */
export const plainEntry = { role: '', muted: false, absorbsDigits: false, inhibitsConnectedLine: false } as const;

/** A new mixing bridge, with or without a name. */
type PlainBridge = Pick<BridgeInput, 'id' | 'creationTime'> & { name?: string };

/** Makes one. @throws AriError where there are as many bridges as may be. */
export const openPlainBridge = (bridges: Pick<Bridges, 'open'>, bridge: PlainBridge): BridgeEntry =>
  bridges.open({
    name: '',
    type: 'mixing',
    flags: [],
    features: { mute: false, suppressDtmf: false },
    class: 'basic',
    variables: {},
    reported: [],
    ...bridge,
  });

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
