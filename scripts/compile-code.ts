import { writeFileSync } from 'node:fs';
import { compile, compiledPath, run } from '../src/compiled-code.ts';
import { limitGrowth } from '../src/lib/heap.ts';

/**
 * Runs `dist/server.cjs` with a configuration, and keeps V8's compiled code when it ends. V8 compiles a function when it
 * first runs. So this is the code of a start, and of the calls that were made meanwhile. Of a media thread it is what
 * loading it runs. V8 takes it with the same options alone, which `serve` sets first, too.
 *
 *   node --import tsx scripts/compile-code.ts <configuration> <server.cjs> <worker.cjs>
 */

type Server = typeof import('../src/run-server.ts');

const [config = '', serverFile = '', workerFile = ''] = process.argv.slice(2);
limitGrowth();
const [server, worker] = [compile(serverFile), compile(workerFile)];
run(worker, workerFile);
process.on('exit', (code) => {
  if (code !== 0) return;
  writeFileSync(compiledPath(serverFile), server.createCachedData());
  writeFileSync(compiledPath(workerFile), worker.createCachedData());
});
await run<Server>(server, serverFile).runServer({ config }, () => process.exit(70));
