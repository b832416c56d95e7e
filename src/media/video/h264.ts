import type { FrameMark } from './frame-mark.ts';

/** Types of NAL units and of packets that hold them (H.264 7.4.1, RFC 6184 5.2). */
export const nal = { idr: 5, sps: 7, pps: 8, stapA: 24, fuA: 28 } as const;

/**
 * Reads the NAL units of an H.264 packet (RFC 6184 5.6 to 5.8): a single one, several (STAP-A) or a fragment (FU-A). A
 * key frame begins with its sequence parameter set; without one only `idr` marks it. The interleaved mode is never
 * negotiated and marks nothing.
 */
export function readH264(packet: Uint8Array, start: number, end: number, mark: FrameMark): boolean {
  if (start >= end) return false;
  const type = packet[start]! & 0x1f;
  switch (type) {
    case nal.stapA:
      return readAggregate(packet, start + 1, end, mark);
    case nal.fuA: {
      if (start + 2 >= end) return false;
      const second = packet[start + 1]!;
      if (second & 0x80) note(second & 0x1f, mark);
      return true;
    }
    case 0:
      return false;
    default:
      note(type, mark);
      return true;
  }
}

/** Calls `found` for each parameter set of a packet; of a truncated one with the available part. */
export function parameterSets(
  packet: Uint8Array,
  start: number,
  end: number,
  found: (type: number, from: number, to: number) => void,
): void {
  const type = packet[start]! & 0x1f;
  if (type === nal.sps || type === nal.pps) found(type, start, end);
  if (type !== nal.stapA) return;
  for (let at = start + 1; at + 2 < end; ) {
    const length = (packet[at]! << 8) | packet[at + 1]!;
    const inner = packet[at + 2]! & 0x1f;
    at += 2;
    if (length === 0 || at + length > end) return;
    if (inner === nal.sps || inner === nal.pps) found(inner, at, at + length);
    at += length;
  }
}

function readAggregate(packet: Uint8Array, start: number, end: number, mark: FrameMark): boolean {
  let at = start;
  while (at < end) {
    if (at + 3 > end) return false;
    const length = (packet[at]! << 8) | packet[at + 1]!;
    at += 2;
    if (length === 0 || at + length > end) return false;
    note(packet[at]! & 0x1f, mark);
    at += length;
  }
  return at > start;
}

function note(type: number, mark: FrameMark): void {
  if (type === nal.sps) mark.key = true;
  if (type === nal.idr) mark.idr = true;
}
