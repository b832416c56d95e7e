import { type BridgeFeatures, type BridgeFlag, bridgeFlags } from '../machines/bridge.ts';
import type { BridgeType } from '../models/bridge.ts';
import { AriError } from '../models/errors.ts';

/** Parameters of a new bridge, by their names in the interface. */
export type BridgeRequest = {
  type?: string | undefined;
  bridgeId?: string | undefined;
  name?: string | undefined;
  /** `{ mute, suppress_dtmf }`: defaults for members, unless the request that adds one says more. */
  features?: unknown;
  variables?: unknown;
};

/** Words that the type of a bridge is made of. */
const typeWords = ['mixing', 'holding', ...bridgeFlags] as const;

const isFlag = (word: string): word is BridgeFlag => (bridgeFlags as readonly string[]).includes(word);

/**
 * Reads a comma-separated list of words: the bridge type and flags. The default is mixing. Undefined for contradictory
 * types. Unknown words beside known ones are ignored.
 * @throws AriError parameterInvalid if all words are unknown.
 */
export function readBridgeType(type: string | undefined): { type: BridgeType; flags: BridgeFlag[] } | undefined {
  const words = (type ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length > 0 && !words.some((word) => (typeWords as readonly string[]).includes(word)))
    throw new AriError('parameterInvalid', { name: 'type', expected: `a list of ${typeWords.join(', ')}` });
  // A bridge that forwards video always mixes, whatever stands beside the word.
  const isHolding = words.includes('holding') && !words.includes('video_sfu');
  if (isHolding && words.includes('mixing')) return undefined;
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
