/** A place in the dialplan. Priorities count from 1. */
export type Position = { context: string; extension: string; priority: number };
