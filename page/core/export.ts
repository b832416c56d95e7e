import { endsOf } from './calls.ts';
import { isRefused, type Listed } from './overview.ts';

/** Calls as a table for spreadsheets. */

/**
 * A field of CSV (RFC 4180). Names and numbers come from the network: what a spreadsheet would take for a formula gets
 * an apostrophe before it. So does a formula behind a separator of other countries.
 */
export function csvField(value: string | number): string {
  const text = String(value);
  const safe = typeof value === 'string' ? text.replace(/(^|[;|\t\r\n])(?=[^\S\t\r\n]*[=+\-@＝＋－＠])/g, "$1'") : text;
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const head = ['id', 'began', 'state', 'from', 'to', 'applications', 'duration_s', 'outcome', 'reason', 'by'];

/** A line of names, then one line for each call. Calls that were refused alike before they had a channel share one. */
export const csvOf = (calls: readonly Listed[]): string =>
  [
    head,
    ...calls.map((call) => {
      if (isRefused(call)) {
        const { protocol_id: id, first, from, to, reason } = call;
        return [id, new Date(first).toISOString(), 'ended', from, to, '', 0, 'refused', reason, 'server'];
      }
      const { from, to } = endsOf(call);
      const { result, reason, by = '' } = call.outcome;
      return [
        ...[call.id, new Date(call.began).toISOString(), call.state, from, to, call.applications.join(' ')],
        ...[Math.round(call.duration_ms / 1000), result, reason, by],
      ];
    }),
  ]
    .map((fields) => `${fields.map(csvField).join(',')}\r\n`)
    .join('');
