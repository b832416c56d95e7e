/** Times of day, days and months, as people write them in a dialplan. */

const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const longDays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const longMonths = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** A moment in a time zone. `weekday` counts from 0 (Sunday), `month` from 0. */
type Parts = {
  year: number;
  month: number;
  day: number;
  weekday: number;
  hour: number;
  minute: number;
  second: number;
};

/** A moment as a clock on the wall shows it; `zone` as in `Europe/Berlin`, '' for the machine's. Undefined for no zone. */
function partsOf(ms: number, zone: string): Parts | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      ...(zone === '' ? {} : { timeZone: zone }),
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
  const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  return {
    year: Number(part['year']),
    month: Number(part['month']) - 1,
    day: Number(part['day']),
    weekday: days.indexOf(part['weekday']!.toLowerCase()),
    hour: Number(part['hour']),
    minute: Number(part['minute']),
    second: Number(part['second']),
  };
}

const two = (value: number): string => String(value).padStart(2, '0');

/** Conversion of each letter behind `%` (C89, and those of POSIX that dialplans use). */
const letters: Readonly<Record<string, (parts: Parts, ms: number) => string>> = {
  '%': () => '%',
  A: ({ weekday }) => longDays[weekday]!,
  a: ({ weekday }) => longDays[weekday]!.slice(0, 3),
  B: ({ month }) => longMonths[month]!,
  b: ({ month }) => longMonths[month]!.slice(0, 3),
  C: ({ year }) => two(Math.floor(year / 100)),
  d: ({ day }) => two(day),
  e: ({ day }) => String(day).padStart(2),
  H: ({ hour }) => two(hour),
  I: ({ hour }) => two(hour % 12 || 12),
  j: ({ year, month, day }) =>
    String((Date.UTC(year, month, day) - Date.UTC(year, 0, 0)) / 86_400_000).padStart(3, '0'),
  k: ({ hour }) => String(hour).padStart(2),
  l: ({ hour }) => String(hour % 12 || 12).padStart(2),
  M: ({ minute }) => two(minute),
  m: ({ month }) => two(month + 1),
  n: () => '\n',
  p: ({ hour }) => (hour < 12 ? 'AM' : 'PM'),
  S: ({ second }) => two(second),
  s: (_parts, ms) => String(Math.floor(ms / 1000)),
  t: () => '\t',
  u: ({ weekday }) => String(weekday || 7),
  w: ({ weekday }) => String(weekday),
  Y: ({ year }) => String(year),
  y: ({ year }) => two(year % 100),
};

/** Letters that stand for several. */
const compounds: Readonly<Record<string, string>> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  x: '%m/%d/%y',
};

/**
 * A moment as text: `%Y-%m-%d`. Letters that mean nothing stand as they are.
 * @param ms since the epoch. @param zone '' for the machine's.
 * @returns undefined when there is no such time zone, or no such time.
 */
export function formatTime(ms: number, zone: string, format: string): string | undefined {
  const parts = Math.abs(ms) <= 8.64e15 ? partsOf(ms, zone) : undefined;
  if (!parts) return undefined;
  return format
    .replaceAll(/%[cDFRrTXx]/g, (each) => compounds[each.charAt(1)]!)
    .replaceAll(/%(.)/gs, (each, letter: string) =>
      Object.hasOwn(letters, letter) ? letters[letter]!(parts, ms) : each,
    );
}

/** Whether a value lies between two, which may go round the end of the day, week, month or year. */
type Range = (value: number) => boolean;

const anything: Range = () => true;

/** Ranges: `*` alone, or values and `first-last`. Undefined when one of them is none. */
function readRanges(written: readonly string[], read: (word: string) => number | undefined): Range | undefined {
  if (written.length === 0 || (written.length === 1 && ['', '*'].includes(written[0]!))) return anything;
  const ranges: [number, number][] = [];
  for (const each of written) {
    const [from = '', to = from] = each
      .toLowerCase()
      .split('-')
      .map((word) => word.trim());
    const [first, last] = [read(from), read(to)];
    if (first === undefined || last === undefined) return undefined;
    ranges.push([first, last]);
  }
  return (value) =>
    ranges.some(([first, last]) => (first <= last ? value >= first && value <= last : value >= first || value <= last));
}

const nameIn = (names: readonly string[]) => (word: string) => {
  const index = names.indexOf(word.slice(0, 3));
  return index < 0 ? undefined : index;
};

/** `9:00` in minutes of the day. */
function readMinute(word: string): number | undefined {
  const found = /^(\d{1,2}):(\d{2})$/.exec(word);
  const minute = found ? Number(found[1]) * 60 + Number(found[2]) : 1440;
  return minute < 1440 && Number(found?.[2]) < 60 ? minute : undefined;
}

const readDay = (word: string): number | undefined =>
  /^\d{1,2}$/.test(word) && Number(word) >= 1 && Number(word) <= 31 ? Number(word) : undefined;

/** Whether a moment (ms since the epoch) is within; undefined when its time zone is none. */
type Times = (ms: number) => boolean | undefined;

/**
 * Reads `times,weekdays,days of the month,months[,time zone]`, as in `9:00-17:00,mon-fri,*,*,Europe/Berlin`, split at
 * the commas and each part at `&`. The last minute of a range is included. Missing parts are `*`. A string is an error text. Never throws.
 */
export function readTimes(written: readonly (readonly string[])[]): Times | string {
  const parts = written.map((ranges) => ranges.map((each) => each.trim()));
  const [time = [], weekday = [], day = [], month = [], zones = [], ...more] = parts;
  const minutes = readRanges(time, readMinute);
  const weekdays = readRanges(weekday, nameIn(days));
  const daysOfMonth = readRanges(day, readDay);
  const inMonths = readRanges(month, nameIn(months));
  if (!minutes || !weekdays || !daysOfMonth || !inMonths || more.length > 0)
    return `"${written.map((ranges) => ranges.join('&')).join(',')}" is not times,weekdays,days,months`;
  const zone = zones.join('&');
  return (ms) => {
    const now = partsOf(ms, zone);
    return (
      now && minutes(now.hour * 60 + now.minute) && weekdays(now.weekday) && daysOfMonth(now.day) && inMonths(now.month)
    );
  };
}
