import { impairmentOf, opinionScore, rating, scoreWord } from './e-model.ts';
import type { Measure } from './measures.ts';

/** How each leg's audio is, by what was measured of it. */

/** Time that a packet holds, in ms: nothing is heard of it before it is full. */
const packetMs = 20;

const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The codec that was in use; empty where the report does not say. */
const codecOf = ({ report }: Measure): string => String(report['codec'] ?? '');

/** Counts of a leg so far. */
type Counts = { packets: number; lost: number };

/** The part that was lost since the last measure; undefined while nothing came. */
function lossSince(before: Counts, packets: number, lost: number): number | undefined {
  const [came, went] = [packets - before.packets, Math.max(0, lost - before.lost)];
  return came + went > 0 && came >= 0 ? Math.min(1, went / (came + went)) : undefined;
}

/** The directions of a leg: what its phone says, and what its phone hears. */
const directions = ['heard', 'sent'] as const;
type Direction = (typeof directions)[number];

/**
 * Adds to each measure of audio the loss since the one before in percent, the delay one way and the score of both
 * directions: `loss_heard_percent`, `delay_heard_ms`, `mos_heard` …  The delay is half of the last round trip, the packet,
 * and a jitter buffer of twice the jitter.
 */
export function withQuality(measures: readonly Measure[]): Measure[] {
  const before = new Map<string, Counts>();
  const trips = new Map<string, number>();
  /** The last one that a report named: figures that are asked for have none. */
  const codecs = new Map<string, string>();
  return measures.map((each) => {
    const { object, report } = each;
    if (report['video'] !== undefined) return each;
    const trip = number(report['rtt_ms']) ?? trips.get(object);
    if (trip !== undefined) trips.set(object, trip);
    const codec = codecOf(each) || (codecs.get(object) ?? '');
    codecs.set(object, codec);
    const found: Record<string, number> = {};
    for (const direction of directions) {
      const key = `${object} ${direction}`;
      const [packets, lost] = [number(report[`packets_${direction}`]), number(report[`loss_${direction}`])];
      if (packets === undefined || lost === undefined) continue;
      const loss = lossSince(before.get(key) ?? { packets: 0, lost: 0 }, packets, lost);
      before.set(key, { packets, lost });
      if (loss === undefined) continue;
      const delayMs = (trip ?? 0) / 2 + packetMs + 2 * (number(report[`jitter_${direction}_ms`]) ?? 0);
      found[`loss_${direction}_percent`] = Math.round(loss * 1000) / 10;
      found[`delay_${direction}_ms`] = Math.round(delayMs);
      found[`mos_${direction}`] = opinionScore(rating({ delayMs, loss }, impairmentOf(codec)));
    }
    return { ...each, report: { ...report, ...found } };
  });
}

/** One direction of a leg up to a moment. */
export type LegQuality = {
  object: string;
  direction: Direction;
  /** `silent`: nothing comes, though the other direction is at work. `unknown`: nothing was to come yet. */
  word: ReturnType<typeof scoreWord> | 'silent' | 'unknown';
  /** The last score, and the lowest so far; undefined while nothing came. */
  score: number | undefined;
  worst: number | undefined;
  worstAt: number | undefined;
  codec: string;
  /** The score is by values that ITU-T G.113 has for the codec; if not, it is an approximation. */
  isPublished: boolean;
  lossPercent: number | undefined;
  jitterMs: number | undefined;
  delayMs: number | undefined;
  levelDb: number | undefined;
};

/** Both directions of each leg as they were at a moment; without a moment as they are now. @param measures of {@link withQuality} */
export function legQualities(measures: readonly Measure[], at: number | undefined): LegQuality[] {
  const byObject = new Map<string, Measure[]>();
  for (const each of measures) {
    const isRtp = each.report['packets_heard'] !== undefined && each.report['video'] === undefined;
    if (!isRtp || (at !== undefined && each.at > at)) continue;
    byObject.set(each.object, [...(byObject.get(each.object) ?? []), each]);
  }
  return [...byObject].flatMap(([object, own]) => directions.map((direction) => legQuality(object, direction, own)));
}

function legQuality(object: string, direction: Direction, own: readonly Measure[]): LegQuality {
  const last = (name: string) => number(own.findLast(({ report }) => number(report[name]) !== undefined)?.report[name]);
  let worst: Measure | undefined;
  const scoreOf = (each: Measure | undefined) => number(each?.report[`mos_${direction}`]);
  for (const each of own) if ((scoreOf(each) ?? 9) < (scoreOf(worst) ?? 9)) worst = each;
  const score = last(`mos_${direction}`);
  const other = direction === 'heard' ? 'sent' : 'heard';
  const nothing = (last(`packets_${other}`) ?? 0) > 0 ? 'silent' : 'unknown';
  const isSilent = last(`packets_${direction}`) === 0;
  const codec = own.map(codecOf).findLast((each) => each !== '') ?? '';
  return {
    ...{ codec, isPublished: impairmentOf(codec).isPublished },
    ...{ object, direction, score, worst: scoreOf(worst), worstAt: worst?.at },
    word: isSilent || score === undefined ? nothing : scoreWord(scoreOf(worst) ?? score),
    lossPercent: last(`loss_${direction}_percent`),
    jitterMs: last(`jitter_${direction}_ms`),
    delayMs: last(`delay_${direction}_ms`),
    levelDb: last(direction === 'heard' ? 'level_db' : 'level_sent_db'),
  };
}
