/**
 * The grammar shared by challenges and credentials (RFC 7235 2.1, RFC 7616 3.3 and 3.4):
 * `Digest name=value, name="quoted value", …`.
 */

/** The parameters of a Digest header, names in lower case, values without quotes. */
export type DigestParameters = ReadonlyMap<string, string>;

const MAX_LENGTH = 8192;
/** A parameter in three parts without backtracking: each character is read once. */
const namePattern = /\s*([!#$%&'*+\-.^_`|~\w]+)\s*=\s*/y;
const valuePattern = /"((?:[^"\\]|\\.)*)"|([^\s",]*)/y;
const endPattern = /\s*(?:,|$)/y;

/** Reads one header value; undefined when it is not Digest or is malformed. A repeated parameter makes it malformed. */
export function parseDigest(value: string): DigestParameters | undefined {
  if (value.length > MAX_LENGTH) return undefined;
  const scheme = /^\s*digest\s+/i.exec(value);
  if (!scheme) return undefined;
  const parameters = new Map<string, string>();
  let at = scheme[0].length;
  /** The match at this position. */
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(value);
    at += found?.[0].length ?? 0;
    return found ?? undefined;
  };
  while (at < value.length) {
    const name = take(namePattern)?.[1]?.toLowerCase();
    const written = name === undefined ? undefined : take(valuePattern);
    if (name === undefined || !written || !take(endPattern) || parameters.has(name)) return undefined;
    parameters.set(name, written[1]?.replace(/\\(.)/g, '$1') ?? written[2]!);
  }
  return parameters.size > 0 ? parameters : undefined;
}

/** Parameters whose values go without quotes (RFC 7616 3.3 and 3.4). */
const bare = new Set(['algorithm', 'stale', 'nc']);

/**
 * Writes a Digest header value in the order given; undefined values are left out.
 * @param quoteQop true in a challenge (a list), false in credentials (one token).
 */
export function formatDigest(parameters: Readonly<Record<string, string | undefined>>, quoteQop: boolean): string {
  const parts = Object.entries(parameters).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const quoted = !bare.has(name) && (name !== 'qop' || quoteQop);
    return [`${name}=${quoted ? `"${value.replace(/["\\]/g, '\\$&')}"` : value}`];
  });
  return `Digest ${parts.join(', ')}`;
}
