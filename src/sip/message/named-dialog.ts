/** A dialog named in a header of another request: Call-ID and both tags, from the receiver's view. */
export type NamedDialog = {
  readonly callId: string;
  /** The receiver's tag. */
  readonly toTag: string;
  /** That of its peer. */
  readonly fromTag: string;
  /** Parameters without a value, in lower case. */
  readonly flags: ReadonlySet<string>;
};

/**
 * Reads a Call-ID with two tags among parameters.
 * @param names what the parameters with our tag and with the peer's are called, in lower case.
 * @returns undefined when a part is missing, doubled or empty.
 */
export function parseNamedDialog(value: string, [own, peers]: readonly [string, string]): NamedDialog | undefined {
  const [callId = '', ...params] = value.split(';').map((part) => part.trim());
  const tags = new Map<string, string>();
  const flags = new Set<string>();
  for (const param of params) {
    const equals = param.indexOf('=');
    const name = (equals < 0 ? param : param.slice(0, equals)).trim().toLowerCase();
    const text = equals < 0 ? '' : param.slice(equals + 1).trim();
    if (name === own || name === peers) {
      if (tags.has(name) || text === '') return undefined;
      tags.set(name, text);
    } else if (equals < 0) flags.add(name);
  }
  const [toTag, fromTag] = [tags.get(own), tags.get(peers)];
  if (!/^[^\s,;]+$/.test(callId) || toTag === undefined || fromTag === undefined) return undefined;
  return { callId, toTag, fromTag, flags };
}
