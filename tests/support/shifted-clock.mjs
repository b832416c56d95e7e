// Loaded into a supervised server by `--import`: its wall clock is ahead (behind, if negative) by as many ms as the file CLOCK_SHIFT says when it
// starts.
import { existsSync, readFileSync } from 'node:fs';

const file = process.env.CLOCK_SHIFT;
const shift = file !== undefined && existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
const { now } = Date;
if (shift !== 0) Date.now = () => now() + shift;
