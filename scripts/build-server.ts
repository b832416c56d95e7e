import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Comment, parse } from 'acorn';
import { build, type Plugin } from 'esbuild';

/**
 * Compiles the server to dist: one file per entry point and one per part that is loaded on demand. Fewer modules start
 * faster and take less memory: docs/decisions/0029-one-bundle.md.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Packages that need none of their files while they run. The others are loaded from node_modules. */
const bundled = [
  ...['@hono/node-server', '@hono/node-ws', '@opentelemetry/api', 'hono', 'nanoid', 'pino', 'prom-client', 'rtp.js'],
  ...['sdp-transform', 'typebox', 'ws', 'xstate', 'yaml'],
];
const loaded = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !bundled.includes(name));
/** What bundled packages load if it is there. */
const optional = ['bufferutil', 'utf-8-validate'];

/** The parts of prom-client that the server uses: the rest loads `cluster`. */
const metrics = ['Counter', 'Gauge', 'Histogram', 'Registry']
  .map((name) => `export { default as ${name} } from 'prom-client/lib/${name.toLowerCase()}.js';`)
  .join('\n');

/** The server has no HTTP/2, but @hono/node-server checks for its requests. */
const noHttp2 = 'export class Http2ServerRequest {}; export const constants = { NGHTTP2_NO_ERROR: 0 };';

/** The thread of pino's transports: log lines are written by the server itself. */
const noTransports = 'module.exports = class ThreadStream {};';

/** Replaces modules of which the server only uses a part. */
const parts: Plugin = {
  name: 'parts of modules',
  setup({ onLoad, onResolve }) {
    const replace = (filter: RegExp, contents: string): void => {
      onResolve({ filter }, ({ path }) => ({ path, namespace: path }));
      onLoad({ filter, namespace: filter.source.slice(1, -1) }, () => ({ contents, resolveDir: root }));
    };
    replace(/^prom-client$/, metrics);
    replace(/^node:http2$/, noHttp2);
    replace(/^thread-stream$/, noTransports);
    // A copy by spread that grows gets a hidden class of its own each time: 5 µs for each actor, and old memory.
    onLoad({ filter: /xstate[\\/]dist[\\/]raise-[^.]+\.esm\.js$/ }, ({ path }) => {
      const code = readFileSync(path, 'utf8');
      const copied = code.replace(
        /\{\s*\.\.\.defaultOptions,\s*\.\.\.options\s*\}/,
        'Object.assign({}, defaultOptions, options)',
      );
      if (copied === code) throw new Error(`${path} makes the options of actors in another way`);
      return { contents: copied };
    });
    // The same library as one ES module.
    onResolve({ filter: /^yaml$/ }, () => ({ path: join(root, 'node_modules', 'yaml', 'browser', 'index.js') }));
  },
};

/**
 * Removes comments. Everything else keeps its line and column, so that source maps stay valid. V8 keeps the source of a
 * module in memory, with two octets a character if one is outside Latin-1.
 */
function withoutComments(code: string): string {
  const comments: Comment[] = [];
  parse(code, { ecmaVersion: 'latest', sourceType: 'module', onComment: comments });
  let left = '';
  let end = 0;
  for (const { start, end: after, value } of comments) {
    if (start === 0 || value.startsWith('# sourceMappingURL')) continue;
    const lineStart = code.lastIndexOf('\n', start) + 1;
    const isAlone = code.slice(lineStart, start).trim() === '' && code[after] === '\n';
    left += code.slice(end, isAlone ? Math.max(end, lineStart) : start);
    left += code.slice(start, after).replace(/[^\n]/g, isAlone ? '' : ' ');
    end = after;
  }
  return left + code.slice(end);
}

rmSync(join(root, 'dist'), { recursive: true, force: true });
const { outputFiles } = await build({
  absWorkingDir: root,
  // A media thread finds `worker` beside the file that starts it (src/media/start-worker.ts).
  // The command line loads none of the library's parts: what they share with it is in chunks.
  entryPoints: {
    cli: 'src/cli.ts',
    worker: 'src/media/worker.ts',
    index: 'src/index.ts',
    testing: 'packages/testing/src/index.ts',
  },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: [...loaded, ...optional],
  plugins: [parts],
  // Bundled packages that are CommonJS load modules of Node by it.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  outdir: 'dist',
  chunkNames: '[name]-[hash]',
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  write: false,
});
mkdirSync(join(root, 'dist'));
for (const { path, text } of outputFiles) writeFileSync(path, path.endsWith('.js') ? withoutComments(text) : text);

/** The client runs in browsers, too: it is one small file, which loads `ws` where there is no WebSocket. */
await build({
  absWorkingDir: root,
  entryPoints: { client: 'packages/client/src/index.ts' },
  bundle: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  external: ['ws'],
  minifySyntax: true,
  minifyWhitespace: true,
  outdir: 'dist',
  legalComments: 'none',
  logLevel: 'warning',
});
for (const name of ['index', 'testing', 'client'])
  copyFileSync(join(root, 'packages', 'types', `${name}.d.ts`), join(root, 'dist', `${name}.d.ts`));
