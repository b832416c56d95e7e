/** How late a thread's event loop was for what was due, since its reader last asked; in s. */
export type LoopDelay = { mean: number; p99: number; max: number };

/** Who asks: each has what was measured since it asked last. */
export type LoopReader = 'metrics' | 'people';
