import { isIP } from 'node:net';
import type { PacketAddress } from './source-lock.ts';

/** Never a name (no lookups), port 0 (a refused stream) or the unspecified address (an old hold). */
export function isReachable({ address, port }: PacketAddress): boolean {
  return (
    Number.isInteger(port) &&
    port > 0 &&
    port <= 0xffff &&
    isIP(address) !== 0 &&
    address !== '0.0.0.0' &&
    address !== '::'
  );
}
