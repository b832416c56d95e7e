/** 20 ms of linear 16-bit mono audio. Its samples hold until the tick after the one they were made in. */
export type Frame = { samples: Int16Array /** In Hz. */; sampleRate: number };

/** Samples of 20 ms at a rate in Hz. */
export function frameSamples(sampleRate: number): number {
  return sampleRate / 50;
}

/** A frame of silence. */
export function emptyFrame(sampleRate: number): Frame {
  return { samples: new Int16Array(frameSamples(sampleRate)), sampleRate };
}
