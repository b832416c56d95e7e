/** The mean magnitude of samples, 0 to 32,768. Thresholds of talking have this unit. */
export function meanLevel(samples: Int16Array): number {
  if (samples.length === 0) return 0;
  let sum = 0;
  for (let index = 0; index < samples.length; index++) {
    const sample = samples[index]!;
    sum += sample < 0 ? -sample : sample;
  }
  return sum / samples.length;
}

/** The smallest sample of A-law, which has no 0: its silence. */
const smallest = 8;

/** Whether samples of this mean level are silence as any codec has it. */
export function isSilent(samples: Int16Array, level: number): boolean {
  if (level === 0) return true;
  if (level > smallest) return false;
  for (let index = 0; index < samples.length; index++) if (Math.abs(samples[index]!) > smallest) return false;
  return true;
}
