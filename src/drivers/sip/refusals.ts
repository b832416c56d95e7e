import type { Clock } from '../../lib/clock.ts';
import { createLineBudget } from '../../lib/line-budget.ts';
import type { Logger } from '../../lib/log.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import { userOf } from './party.ts';

/** Lines that are written in {@link everyMs}; a phone may ask as often as it likes. */
const most = 20;
const everyMs = 10_000;

/** Logs a refused request: its source, its target, our status, and the reason. */
type TellRefusal = (transaction: ServerTransaction, status: number, reason: string) => void;

/** @param what is refused, as the line says it: `a call`, `a registration`. */
export function createRefusals(log: Logger, clock: Clock, what: string): TellRefusal {
  const budget = createLineBudget(clock, most, everyMs);
  return ({ request, source }, status, reason) =>
    budget.write((untold) =>
      log.warn(
        {
          source: `${source.address}:${source.port}`,
          from: userOf(request.from.uri),
          to: userOf(request.to.uri),
          protocol_id: request.callId,
          ...{ status, reason },
          ...(untold === 0 ? {} : { untold }),
        },
        `${what} is refused`,
      ),
    );
}
