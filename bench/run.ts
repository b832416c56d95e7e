/**
 * Measures the built server from outside.
 *
 *   npm run bench -- [control] [media] [--seconds 10] [--calls 100,500,1000]
 *
 * Without a word both parts run. Figures depend on the machine; the ratios are what to look at. A server of the same
 * interface that runs beside it is measured in turn with ours when it is named (`referenceServer`).
 */
import { parseArgs } from 'node:util';
import { benchControlPlane } from './control-plane.ts';
import { benchMedia } from './media-calls.ts';
import { referenceServer } from './server-process.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    calls: { type: 'string', default: '100,500,1000' },
  },
});
const reference = referenceServer();
const seconds = Number(values.seconds);
const wanted = (part: string): boolean => positionals.length === 0 || positionals.includes(part);

if (wanted('control')) await benchControlPlane(seconds, reference);
if (wanted('media')) for (const calls of values.calls.split(',')) await benchMedia(Number(calls), seconds, reference);
