/**
 * The quality of speech by the E-model, ITU-T G.107: the rating R with all parameters at their defaults (93.2) but delay,
 * loss and codec, and the mean opinion score of it (1 to 4.5). An estimate: what people hear also depends on their phones.
 */

/** Equipment impairment Ie, and robustness against random loss Bpl: ITU-T G.113, appendix I. */
type CodecImpairment = { ie: number; bpl: number };

/** G.711 with concealment of losses; linear samples, and codecs that G.113 has no values for (Opus, G.722), count as it. */
const concealed: CodecImpairment = { ie: 0, bpl: 25.1 };

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
export function rating({ delayMs, loss }: Path, { ie, bpl } = concealed): number {
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
