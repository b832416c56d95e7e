import { type SrtpSuiteSizes, srtpSuites } from '../../lib/srtp.ts';
import { loadLibCrypto } from '../../native/system-calls.ts';
import type { Transform } from './layout.ts';
import { PacketCrypto } from './native-transforms.ts';
import { nodeTransform } from './node-transforms.ts';
import type { SessionKeys } from './session-keys.ts';

let loaded: PacketCrypto | undefined;

/** The transform of a suite for audio, or for RTCP: by OpenSSL itself once {@link loadPacketCrypto} has found it, else by `node:crypto`. */
export function createTransform(suite: SrtpSuiteSizes, keys: SessionKeys, kind: 'rtp' | 'rtcp'): Transform {
  const tag = kind === 'rtp' ? suite.tag : suite.controlTag;
  return loaded ? loaded.transform(suite, keys, tag) : nodeTransform(suite, keys, tag);
}

/**
 * Lets this thread call OpenSSL itself for packets of SRTP, from now on.
 * @throws Error where it cannot be had, or makes other packets than `node:crypto`: then nothing has changed.
 */
export async function loadPacketCrypto(): Promise<void> {
  const crypto = new PacketCrypto(await loadLibCrypto());
  for (const [name, suite] of Object.entries(srtpSuites))
    if (!agrees(crypto, suite)) throw new Error(`${name} differs`);
  loaded = crypto;
}

function agrees(crypto: PacketCrypto, suite: SrtpSuiteSizes): boolean {
  const keys = { cipher: Buffer.alloc(suite.key, 1), salt: Buffer.alloc(suite.salt, 2), auth: Buffer.alloc(20, 3) };
  const [ours, theirs] = [crypto.transform(suite, keys, suite.tag), nodeTransform(suite, keys, suite.tag)];
  const packet = Buffer.alloc(172, 4);
  const layout = { header: 12, ssrc: 5, index: 0x1_2345_6789, trailer: 0x0607_0809, sendsTrailer: false };
  const sealed = theirs.seal(packet, layout);
  return ours.seal(packet, layout).equals(sealed) && ours.open(sealed, layout)?.equals(packet) === true;
}
