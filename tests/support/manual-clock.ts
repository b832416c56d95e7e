export { ManualClock } from '../../src/virtual/manual-clock.ts';
