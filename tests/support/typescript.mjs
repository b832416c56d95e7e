// Preloaded with `node --import`: lets Node load TypeScript in every thread. `--import tsx` alone serves only the main
// thread on Node 20, so a worker could not be started from its source.
import { register } from 'tsx/esm/api';

register();
