import Type, { type Static } from 'typebox';

/** The form of all timestamps, as a regular expression. */
export const timestampPattern = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}[+-]\\d{4}$';

/** A moment as clients see it: local time with milliseconds and the zone's offset without a colon. */
export const Timestamp = Type.String({
  $id: 'Timestamp',
  pattern: timestampPattern,
  description: 'Local time, e.g. 2026-01-31T12:00:00.123+0000.',
});
export type Timestamp = Static<typeof Timestamp>;

const pad = (value: number, width: number): string => String(value).padStart(width, '0');

function prefixOf(date: Date): string {
  const day = `${pad(date.getFullYear(), 4)}-${pad(date.getMonth() + 1, 2)}-${pad(date.getDate(), 2)}`;
  return `${day}T${pad(date.getHours(), 2)}:${pad(date.getMinutes(), 2)}:`;
}

function zoneOf(date: Date): string {
  const offset = -date.getTimezoneOffset();
  const minutes = Math.abs(offset);
  return `${offset < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60), 2)}${pad(minutes % 60, 2)}`;
}

/**
 * Makes a formatter that caches the last text, and date, hour and zone of the last minute. Only seconds and milliseconds
 * are new. (Zone offsets are whole minutes and change on whole minutes.)
 */
export function createTimestampFormatter(): (epochMs: number) => string {
  let minute = Number.NaN;
  let prefix = '';
  let zone = '';
  let last = Number.NaN;
  let text = '';
  return (epochMs) => {
    const ms = Math.floor(epochMs);
    if (ms === last) return text;
    const current = Math.floor(ms / 60_000);
    if (current !== minute) {
      const date = new Date(current * 60_000);
      prefix = prefixOf(date);
      zone = zoneOf(date);
      minute = current;
    }
    const rest = ms - current * 60_000;
    const seconds = Math.floor(rest / 1000);
    const fraction = rest % 1000;
    last = ms;
    text = `${prefix}${seconds < 10 ? '0' : ''}${seconds}.${fraction < 10 ? '00' : fraction < 100 ? '0' : ''}${fraction}${zone}`;
    return text;
  };
}

/**
 * `epochMs` (ms since the Unix epoch) as `2026-01-31T12:00:00.123+0000`, in the process's time zone. One formatter is
 * shared: its cache is a pure function of the input, so sharing cannot be observed.
 */
export const formatTimestamp: (epochMs: number) => string = createTimestampFormatter();
