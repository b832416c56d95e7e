/** Signals to test audio code with, and what they are measured by. Levels are RMS of 16-bit samples. */

/** A sine of `hertz`, its peak at `amplitude`. */
export function sine(hertz: number, rate: number, samples: number, amplitude = 8000): Int16Array {
  return Int16Array.from({ length: samples }, (_, index) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hertz * index) / rate)),
  );
}

/** Evenly distributed noise, the same for the same seed. */
export function noise(samples: number, amplitude = 8000, seed = 1): Int16Array {
  let state = seed;
  return Int16Array.from({ length: samples }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.round((state / 2 ** 31) * amplitude);
  });
}

/**
 * Something like speech: harmonics of a wandering pitch (100 to 250 Hz) under two formants that move, in syllables of
 * about 200 ms with pauses, and noise between for the consonants.
 */
export function speech(rate: number, seconds: number, seed = 1, amplitude = 6000): Int16Array {
  const result = new Int16Array(rate * seconds);
  const hiss = noise(result.length, 1000, seed);
  const turn = (hertz: number, at: number, start = 0) => Math.sin(2 * Math.PI * hertz * at + start * seed);
  let phase = 0;
  for (let index = 0; index < result.length; index++) {
    const at = index / rate;
    const pitch = 160 + 50 * turn(0.31, at, 1.3) + 25 * turn(1.7, at, 0.7);
    phase += pitch / rate;
    const first = 550 + 250 * turn(1.1, at, 2.1);
    const second = 1600 + 700 * turn(0.83, at, 1.9);
    let voiced = 0;
    // The sine of each multiple of the angle follows from the two before it (Chebyshev).
    const double = 2 * Math.cos(2 * Math.PI * phase);
    let [before, wave] = [0, Math.sin(2 * Math.PI * phase)];
    for (let hertz = pitch; hertz < Math.min(3800, rate / 2); hertz += pitch) {
      const weight = 1 / (1 + ((hertz - first) / 120) ** 2) + 0.5 / (1 + ((hertz - second) / 180) ** 2) + 0.02;
      voiced += weight * wave;
      const next = double * wave - before;
      before = wave;
      wave = next;
    }
    const syllable = Math.max(0, turn(2.3, at, 0.4) + 0.3 * turn(0.37, at, 1.1));
    const consonant = Math.max(0, turn(2.3, at, 0.4 + 0.9) - 0.7) * 0.6;
    result[index] = Math.round(amplitude * (0.6 * voiced * syllable + consonant * (hiss[index]! / 1000)));
  }
  return result;
}

/** RMS of samples `from` to `to`. */
export function level(samples: Int16Array, from = 0, to = samples.length): number {
  let sum = 0;
  for (let index = from; index < to; index++) sum += samples[index]! ** 2;
  return Math.sqrt(sum / Math.max(1, to - from));
}

/** The largest step between neighbouring samples. */
export function largestStep(samples: Int16Array, from = 1, to = samples.length): number {
  let largest = 0;
  for (let index = Math.max(1, from); index < to; index++)
    largest = Math.max(largest, Math.abs(samples[index]! - samples[index - 1]!));
  return largest;
}

/**
 * How far a sine of `hertz` stands above everything else in `samples`, in dB: amplitude and phase are fitted by least
 * squares, the rest is noise.
 */
export function sineToNoise(samples: Int16Array, hertz: number, rate: number): { ratio: number; amplitude: number } {
  let [ss, sc, cc, ys, yc] = [0, 0, 0, 0, 0];
  const angle = (2 * Math.PI * hertz) / rate;
  for (let index = 0; index < samples.length; index++) {
    const s = Math.sin(angle * index);
    const c = Math.cos(angle * index);
    ss += s * s;
    sc += s * c;
    cc += c * c;
    ys += samples[index]! * s;
    yc += samples[index]! * c;
  }
  const determinant = ss * cc - sc * sc;
  const a = (ys * cc - yc * sc) / determinant;
  const b = (yc * ss - ys * sc) / determinant;
  let rest = 0;
  for (let index = 0; index < samples.length; index++)
    rest += (samples[index]! - a * Math.sin(angle * index) - b * Math.cos(angle * index)) ** 2;
  const amplitude = Math.hypot(a, b);
  return { ratio: 10 * Math.log10((amplitude ** 2 / 2) * (samples.length / rest)), amplitude };
}

/** How alike two signals are when one is moved against the other by up to `most` samples: −1 to 1, and the move. */
export function likeness(a: Int16Array, b: Int16Array, most: number): { correlation: number; delay: number } {
  let best = { correlation: -1, delay: 0 };
  const length = Math.min(a.length, b.length) - most;
  for (let delay = 0; delay <= most; delay++) {
    let [ab, aa, bb] = [0, 0, 0];
    for (let index = 0; index < length; index++) {
      const x = a[index]!;
      const y = b[index + delay]!;
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
    const correlation = ab / Math.sqrt(aa * bb || 1);
    if (correlation > best.correlation) best = { correlation, delay };
  }
  return best;
}

/** Where two signals first differ; −1 when they are the same. (Comparing long arrays as values draws a picture of each sample.) */
export function firstDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const length = Math.max(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return index;
  return -1;
}
