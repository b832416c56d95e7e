import type { Call } from '../../src/models/call.ts';
import { endsOf } from './calls.ts';

/** Calls as a table for spreadsheets. */

/**
 * A field of CSV (RFC 4180). Names and numbers come from the network: what a spreadsheet would take for a formula gets
 * an apostrophe before it.
 */
export function csvField(value: string | number): string {
  const text = String(value);
  const safe = /^\s*[=+\-@\t\r]/.test(text) && typeof value === 'string' ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const head = ['id', 'began', 'state', 'from', 'to', 'applications', 'duration_s', 'outcome', 'reason', 'by'];

/** One line for each call, after a line of names. */
export const csvOf = (calls: readonly Call[]): string =>
  [
    head,
    ...calls.map((call) => {
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
