// Preloaded with `node --import`: what tests try at random is the same in every run, so that a run that fails fails again.
// HOOKSWITCH_TEST_SEED=<number> tries something else; `npm run fuzz` goes on trying.
import fc from 'fast-check';

const usual = 20261122;
const seed = Number(process.env.HOOKSWITCH_TEST_SEED ?? usual);
if (!Number.isInteger(seed)) throw new Error('HOOKSWITCH_TEST_SEED: an integer is allowed');
fc.configureGlobal({ seed });
