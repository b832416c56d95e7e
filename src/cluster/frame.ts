/** A message between nodes: a head as JSON, and octets behind it. */

const lengthOctets = 4;

/** Writes a message. */
export function writeFrame(head: object, body: Uint8Array = empty): Uint8Array {
  const json = Buffer.from(JSON.stringify(head));
  const frame = Buffer.allocUnsafe(lengthOctets + json.length + body.length);
  frame.writeUInt32BE(json.length);
  frame.set(json, lengthOctets);
  frame.set(body, lengthOctets + json.length);
  return frame;
}

const empty = new Uint8Array(0);

/** Reads a message; undefined if it is none. The head is as the other node sent it. */
export function readFrame(data: Uint8Array): { head: Record<string, unknown>; body: Uint8Array } | undefined {
  if (data.length < lengthOctets) return undefined;
  const frame = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = lengthOctets + frame.readUInt32BE();
  if (end > frame.length) return undefined;
  try {
    const head: unknown = JSON.parse(frame.toString('utf8', lengthOctets, end));
    if (typeof head !== 'object' || head === null || Array.isArray(head)) return undefined;
    return { head: head as Record<string, unknown>, body: frame.subarray(end) };
  } catch {
    return undefined;
  }
}
