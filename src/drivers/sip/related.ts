import { type Dialog, isKnownSource, isOnRoute } from '../../sip/dialog/dialog.ts';
import { targetDialogOf } from '../../sip/message/named-dialog.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { LegToken } from './legs.ts';
import type { Services } from './services.ts';

/** A call of ours that a request outside it names in Target-Dialog (RFC 4538). */
type Related = {
  readonly leg: LegToken;
  /**
   * The sender has the address of the far side or of a proxy of the call. So it could have used the dialog. From
   * elsewhere the dialog's name proves nothing, because others may know it (RFC 4235).
   */
  readonly isAware: boolean;
  /** It is where the far side itself is, with no proxy between that others may use as well. */
  readonly isPeer: boolean;
};

/** The call that a request relates to: `gone` for an unknown call, `malformed` if unreadable. */
export function relatedTo(
  { agent, legs }: Pick<Services, 'agent' | 'legs'>,
  { request, source }: Pick<ServerTransaction, 'request' | 'source'>,
): Related | 'gone' | 'malformed' | undefined {
  const named = targetDialogOf(request);
  if (named === undefined || named === 'malformed') return named;
  const call = agent.callOf(named);
  const leg = call && call !== 'ended' && call.owner !== undefined ? legs.ofChannel(call.owner) : undefined;
  if (!leg || !call || call === 'ended') return 'gone';
  return { leg, ...awareness(call.dialog, source) };
}

function awareness(dialog: Dialog, source: ServerTransaction['source']): Pick<Related, 'isAware' | 'isPeer'> {
  const isKnown = isKnownSource(dialog, source);
  return { isAware: isKnown || isOnRoute(dialog, source.address), isPeer: isKnown && dialog.routes.length === 0 };
}
