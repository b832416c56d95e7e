/**
 * Measures the built server from outside.
 *
 *   npm run bench -- reference [--rounds 3] [--seconds 4]
 *
 * compares this tree with the fixed reference revision (`reference.ts`).
 *
 *   npm run bench -- scale [--size 1]
 *
 * shows what many phones, calls and applications cost, and which operations they make slower (`scale.ts`).
 *
 *   npm run bench -- yardstick
 *
 * compares the CPU of a call with that of a request to plain node:http, and fails when that is much more than recorded.
 *
 *   npm run bench -- test-server [--rounds 15] [--in <a project with the package>]
 *
 * shows how long `startTestServer()` of `hookswitch/testing` takes (`test-server.ts`).
 *
 *   npm run bench -- example-calls [--rounds 15]
 *
 * shows how long the tests of normal calls of the examples take (`example-calls.ts`).
 *
 *   npm run bench -- [control] [media] [video] [--seconds 10] [--calls 100,500,1000] [--scenarios echo,pairs,…] [--threads 0] [--sockets auto]
 *
 * Without a word all parts run. `--calls` are legs; scenarios: `media-scenarios.ts`; `--threads` and
 * `--sockets` are those of `media` of ours. Where there is a C compiler the least that forwarding can cost is measured in the same
 * run (`forwarder.c`). Figures depend on the machine; the ratios are what to look at. A server of the same interface that runs
 * beside it is measured in turn with ours when it is named (`referenceServer`).
 */
import { parseArgs } from 'node:util';
import { benchControlPlane } from './control-plane.ts';
import { benchExampleCalls } from './example-calls.ts';
import { benchMedia } from './media-calls.ts';
import { scenarios, scenariosOf } from './media-scenarios.ts';
import { benchReference } from './reference.ts';
import { benchScale } from './scale.ts';
import { referenceServer } from './server-process.ts';
import { benchTestServer } from './test-server.ts';
import { benchVideo } from './video.ts';
import { benchYardstick } from './yardstick.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    size: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    in: { type: 'string' },
    calls: { type: 'string', default: '100,500,1000' },
    scenarios: { type: 'string', default: scenarios.map(({ name }) => name).join(',') },
    threads: { type: 'string', default: '0' },
    sockets: { type: 'string', default: 'auto' },
  },
});
const reference = referenceServer();
const seconds = Number(values.seconds);
const wanted = (part: string): boolean => positionals.length === 0 || positionals.includes(part);

if (positionals.includes('reference')) await benchReference(Number(values.rounds), Math.min(seconds, 4), reference);
if (positionals.includes('scale')) await benchScale(Number(values.size));
if (positionals.includes('yardstick') && !(await benchYardstick())) process.exitCode = 1;
if (positionals.includes('test-server')) benchTestServer(Math.max(15, Number(values.rounds)), values.in);
if (positionals.includes('example-calls')) await benchExampleCalls(Math.max(15, Number(values.rounds)));
if (wanted('control')) await benchControlPlane(seconds, reference);
if (wanted('media'))
  await benchMedia({
    scenarios: scenariosOf(values.scenarios.split(',')),
    legs: values.calls.split(',').map(Number),
    seconds,
    threads: Number(values.threads),
    sockets: values.sockets,
    reference,
  });
if (wanted('video')) {
  const sockets = values.sockets as Parameters<typeof benchVideo>[2];
  await benchVideo(seconds, Number(values.threads), sockets);
}
