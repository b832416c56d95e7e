/** Delays of a thread's event loop since its reader last asked; in s. */
export type LoopDelay = { mean: number; p99: number; max: number };

/** The reader: each gets the time since its own last request. */
export type LoopReader = 'metrics' | 'people' | 'history';
