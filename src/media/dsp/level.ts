/** The mean magnitude of samples, 0 to 32,768: what thresholds of talking are measured in. */
export function meanLevel(samples: Int16Array): number {
  if (samples.length === 0) return 0;
  let sum = 0;
  for (let index = 0; index < samples.length; index++) {
    const sample = samples[index]!;
    sum += sample < 0 ? -sample : sample;
  }
  return sum / samples.length;
}
