import { type BridgeFeatures, type BridgeFlag, bridgeFlags } from '../machines/bridge.ts';
import type { BridgeType } from '../models/bridge.ts';
import { AriError } from '../models/errors.ts';

/** Parameters of a new bridge, by their names in the interface. */
export type BridgeRequest = {
  type?: string | undefined;
  bridgeId?: string | undefined;
  name?: string | undefined;
  /** `{ mute, suppress_dtmf }`: what who enters is, unless the request to enter says more. */
  features?: unknown;
  variables?: unknown;
};

const isFlag = (word: string): word is BridgeFlag => (bridgeFlags as readonly string[]).includes(word);

/**
 * The kind of a bridge and what else is asked of it, from a comma list of words; unknown ones are ignored, and where
 * nothing says how its channels are joined they are mixed. Undefined when it says both.
 */
export function readBridgeType(type: string | undefined): { type: BridgeType; flags: BridgeFlag[] } | undefined {
  const words = (type ?? '').split(',').map((word) => word.trim());
  const isHolding = words.includes('holding');
  if (isHolding && (words.includes('mixing') || words.includes('video_sfu'))) return undefined;
  return { type: isHolding ? 'holding' : 'mixing', flags: [...new Set(words.filter(isFlag))] };
}

/** @throws AriError bridgeFeaturesInvalid. */
export function readFeatures(features: unknown): BridgeFeatures {
  if (features === undefined || features === null) return { mute: false, suppressDtmf: false };
  if (typeof features !== 'object' || Array.isArray(features)) throw new AriError('bridgeFeaturesInvalid');
  const { mute = false, suppress_dtmf: suppressDtmf = false } = features as { mute?: unknown; suppress_dtmf?: unknown };
  if (typeof mute !== 'boolean' || typeof suppressDtmf !== 'boolean') throw new AriError('bridgeFeaturesInvalid');
  return { mute, suppressDtmf };
}
