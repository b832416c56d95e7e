/**
 * The quality of speech by the E-model, ITU-T G.107: the rating R with all parameters at their defaults (93.2) but delay,
 * loss and codec, and the mean opinion score of it (1 to 4.5). An estimate: what people hear also depends on their phones.
 */

/**
 * What a codec takes off: equipment impairment Ie, and robustness against random loss Bpl. `isPublished`: ITU-T G.113
 * has these values; others are approximations.
 */
type CodecImpairment = { ie: number; bpl: number; isPublished: boolean };

/** G.711 with concealment of losses: ITU-T G.113, appendix I. */
const g711: CodecImpairment = { ie: 0, bpl: 25.1, isPublished: true };

/**
 * On the narrowband scale of G.107. G.113 rates G.722 on the wideband scale only (G.107.1), which begins at 129: such a
 * value cannot be mixed with these. So G.722 and linear samples count as G.711, which they are not worse than. For Opus ITU
 * has no values: these are Alahmadi's for the narrowband mode at 11 kbit/s (2021), the highest rate that he has on
 * this scale. They leave out the error correction (FEC) of Opus, and that it sounds better at higher rates.
 */
const byCodec: Readonly<Record<string, CodecImpairment>> = {
  ...{ ulaw: g711, alaw: g711, g722: { ...g711, isPublished: false } },
  opus: { ie: 2, bpl: 16, isPublished: false },
};

/** What a codec takes off, by its name in reports. Unknown ones and linear samples count as G.711. */
export const impairmentOf = (codec: string): CodecImpairment =>
  (Object.hasOwn(byCodec, codec) ? byCodec[codec] : undefined) ?? { ...g711, isPublished: false };

/** R without delay, loss and codec: G.107 table 3. */
const defaultRating = 93.2;

/** How one direction of a leg is. */
export type Path = {
  /** From mouth to ear, one way, in ms. */
  delayMs: number;
  /** Part of the packets that did not come, 0 to 1. */
  loss: number;
};

/** Impairment by absolute delay: G.107 (7-27), (7-28). */
function delayImpairment(delayMs: number): number {
  if (delayMs <= 100) return 0;
  const x = Math.log2(delayMs / 100);
  return 25 * ((1 + x ** 6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2);
}

/** R, 0 to 93.2: G.107 (7-1), with losses that are spread at random (BurstR 1, 7-29). */
export function rating({ delayMs, loss }: Path, { ie, bpl }: Pick<CodecImpairment, 'ie' | 'bpl'> = g711): number {
  const percent = Math.min(1, Math.max(0, loss)) * 100;
  const equipment = ie + (95 - ie) * (percent / (percent + bpl));
  return Math.max(0, defaultRating - delayImpairment(delayMs) - equipment);
}

/** The mean opinion score of a rating, to a tenth: G.107 annex B. */
export function opinionScore(r: number): number {
  const score = r <= 0 ? 1 : 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6;
  return Math.round(Math.max(1, score) * 10) / 10;
}

/** What a score means: G.107 annex B, table B.1, in three steps. */
export const scoreWord = (score: number): 'good' | 'fair' | 'poor' =>
  score >= 4 ? 'good' : score >= 3.1 ? 'fair' : 'poor';
