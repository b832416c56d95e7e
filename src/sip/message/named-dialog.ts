import type { SipRequest } from './message.ts';

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
function parseNamedDialog(value: string, [own, peers]: readonly [string, string]): NamedDialog | undefined {
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

/** The dialog that an INVITE replaces (RFC 3891 6.1). */
export type Replaces = Pick<NamedDialog, 'callId' | 'toTag' | 'fromTag'> & {
  /** It means the dialog only as long as that is not answered. */
  readonly earlyOnly: boolean;
};

/** Reads the value of a Replaces header; undefined when a part is missing, doubled or empty. */
export function parseReplaces(value: string): Replaces | undefined {
  const named = parseNamedDialog(value, ['to-tag', 'from-tag']);
  if (!named) return undefined;
  const { flags, ...dialog } = named;
  return { ...dialog, earlyOnly: flags.has('early-only') };
}

/** The dialog that an INVITE replaces: undefined without Replaces, `malformed` if unreadable. */
export function replacesOf(request: SipRequest): Replaces | 'malformed' | undefined {
  const lines = request.headerLines('Replaces');
  if (lines.length === 0) return undefined;
  // RFC 3891 3: there is one at most.
  return (lines.length === 1 ? parseReplaces(lines[0]!) : undefined) ?? 'malformed';
}

/** Option tag of RFC 4538 7: the sender supports Target-Dialog. */
export const TARGET_DIALOG = 'tdialog';

/**
 * The dialog that a request outside it names (RFC 4538 7), tags from our view: undefined without one, `malformed` for
 * several or an unreadable one.
 */
export function targetDialogOf(request: SipRequest): NamedDialog | 'malformed' | undefined {
  const lines = request.headerLines('Target-Dialog');
  if (lines.length === 0) return undefined;
  return (lines.length === 1 ? parseNamedDialog(lines[0]!, ['local-tag', 'remote-tag']) : undefined) ?? 'malformed';
}
