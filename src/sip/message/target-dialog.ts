import type { SipRequest } from './message.ts';
import { type NamedDialog, parseNamedDialog } from './named-dialog.ts';

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
