import type { SipRequest } from './message.ts';
import { type NamedDialog, parseNamedDialog } from './named-dialog.ts';

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
