/** Counts of what a media plane holds. */
export type PlaneUsage = {
  sessions: number;
  ports: number;
  players: number;
  timers: number;
  /** Audio waiting on open connections to servers, and dropped audio, in ms. */
  externalWaitingMs: number;
  externalDroppedMs: number;
  /** Frames for such servers that were left out because they do not read. */
  externalUnsentFrames: number;
};

/** How one of the plane's threads keeps up with its work. */
export type PlaneLoad = {
  /** Ticks that ran late, and that were left out, since the start. */
  lateTicks: number;
  skippedTicks: number;
  /** How late the event loop of its thread was since it was last asked, in s; undefined where it has none of its own. */
  loopDelay?: { mean: number; p99: number; max: number } | undefined;
};
