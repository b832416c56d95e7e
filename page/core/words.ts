/** Numbers and times in words. */

const two = (value: number): string => String(value).padStart(2, '0');

/** `4 s`, `3:05`, `1:02:03`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** Made once: a format takes longer to make than to use. */
const timeOfDay = new Intl.DateTimeFormat(undefined, {
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
});

/** Time of day. */
export const clockTime = (at: number): string => timeOfDay.format(at);

/** Day and time. */
export const dateTime = (at: number): string => new Date(at).toLocaleString(undefined, { hour12: false });

/** The time of day, with the day if it is not today. */
export const dayTime = (at: number, now: number): string =>
  new Date(at).toDateString() === new Date(now === 0 ? Date.now() : now).toDateString() ? clockTime(at) : dateTime(at);

/** From the beginning of a call: `+1.250 s`. */
export const offset = (ms: number): string => `+${(ms / 1000).toFixed(3)}`;

/** `1.2 k`, `3.4 M`. */
export function short(value: number): string {
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (Math.abs(value) >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return String(Math.round(value * 10) / 10);
}

/** `up` of `up`, `reachable.resting` of nested states, and all of parallel ones. */
export function stateNames(value: unknown, prefix = ''): string[] {
  if (typeof value === 'string') return [prefix + value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const deeper = stateNames(inner, `${prefix}${name}.`);
    return deeper.length === 0 ? [prefix + name] : deeper;
  });
}

/** `media queue` of `mediaQueue`; a live recording is a recording to people. */
export const chartName = (chart: string): string =>
  chart === 'liveRecording' ? 'recording' : chart.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Placeholder for a party without name and number. */
export const nobody = '—';

/** A party's name for display. */
export const party = ({ name, number }: { name: string; number: string }): string =>
  name && number && name !== number ? `${name} (${number})` : name || number || nobody;

/** `1 call`, `2 calls`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `812 octets`, `12 kB`, `3.4 MB`. */
export function octets(count: number): string {
  if (count < 1_000) return plural(count, 'octet');
  return count < 1_000_000 ? `${Math.round(count / 1_000)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}

/** Unread bytes of all of them. */
export const lagOf = (sockets: readonly { unread: number }[]): number =>
  sockets.reduce((sum, { unread }) => sum + unread, 0);

/**
 * Channels by short names: `alice` of `PJSIP/alice-1b2c`, unless there are two of that name.
 * @param names names of channels by their ids
 */
export function shortNames(names: ReadonlyMap<string, string>): (channel: string) => string {
  const whole = (channel: string): string => (names.get(channel) ?? channel).replace(/^PJSIP\//, '');
  const brief = (channel: string): string => whole(channel).replace(/-\w+$/, '');
  const often = new Map<string, number>();
  for (const channel of names.keys()) often.set(brief(channel), (often.get(brief(channel)) ?? 0) + 1);
  return (channel) => (names.has(channel) && often.get(brief(channel)) === 1 ? brief(channel) : whole(channel));
}
