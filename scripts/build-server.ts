import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * Compiles the server to dist: one file per entry point and one per part that is loaded on demand. Fewer modules start
 * faster and take less memory: docs/decisions/0029-one-bundle.md.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** ES modules without files of their own beside the code. The others are loaded from node_modules. */
const bundled = ['@hono/node-server', '@hono/node-ws', 'hono', 'nanoid', 'typebox', 'xstate'];
const loaded = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !bundled.includes(name));

rmSync(join(root, 'dist'), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  // A media thread finds `worker` beside the file that starts it (src/media/start-worker.ts).
  entryPoints: { cli: 'src/cli.ts', worker: 'src/media/worker.ts' },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: loaded,
  outdir: 'dist',
  chunkNames: '[name]-[hash]',
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
});
