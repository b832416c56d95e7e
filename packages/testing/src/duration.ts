/** A span of time: `500ms`, `30s`, `5m`, `1h`, or a number of ms. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h'}` | number;

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** The same in ms. @throws RangeError for anything else. */
export function toMs(duration: Duration): number {
  const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(duration)) ?? [];
  const ms =
    typeof duration === 'number' ? duration : Number(count) * (units[unit as keyof typeof units] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0 && (typeof duration === 'number' || count !== '')) return ms;
  throw new RangeError(`'${duration}' is no duration; allowed are '500ms', '30s', '5m', '1h' or a number of ms`);
}

export const inSeconds = (ms: number): string => `${Number((ms / 1000).toFixed(2))} s`;
