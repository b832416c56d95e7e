import { writeFileSync } from 'node:fs';
import { compile, compiledPath, run } from '../src/compiled-code.ts';

/**
 * Runs `dist/server.cjs` with a configuration, and keeps V8's compiled code when it ends. V8 compiles a function when it
 * first runs. So this is the code of a start, and of the calls that were made meanwhile.
 *
 *   node --import tsx scripts/compile-code.ts <server.cjs> <configuration>
 */

type Server = typeof import('../src/run-server.ts');

const [file = '', config = ''] = process.argv.slice(2);
const script = compile(file);
process.on('exit', (code) => {
  if (code === 0) writeFileSync(compiledPath(file), script.createCachedData());
});
await run<Server>(script, file).runServer({ config }, () => process.exit(70));
