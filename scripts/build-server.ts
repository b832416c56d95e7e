import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Comment, parse, type Token } from 'acorn';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { WebSocket } from 'ws';

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

/**
 * Has `import()` done by a file of its own: it fails in code that was compiled earlier. Names of one length leave source maps
 * valid.
 */
function withImporter(code: string): string {
  const places: number[] = [];
  let before: Token | undefined;
  const onToken = (token: Token): void => {
    if (before?.type.keyword === 'import' && token.type.label === '(') places.push(before.start);
    before = token;
  };
  parse(code, { ecmaVersion: 'latest', sourceType: 'script', onToken });
  let text = '';
  let end = 0;
  for (const place of places) {
    text += `${code.slice(end, place)}${importer}`;
    end = place + importer.length;
  }
  return text + code.slice(end);
}
const importer = 'imp$rt';

/** Parts whose compiled code is kept. Each is a file of its own, which an entry point or its importer loads. */
const serverFile = join(root, 'dist', 'server.cjs');
const workerFile = join(root, 'dist', 'worker.cjs');
const loading = (file: string, exports = ''): { contents: string; resolveDir: string } => ({
  contents: `
import { fileURLToPath } from 'node:url';
import { loadCompiled } from './compiled-code.ts';
${exports}loadCompiled(fileURLToPath(new URL('./${basename(file)}', import.meta.url)));
`,
  resolveDir: join(root, 'src'),
});
const apart: Plugin = {
  name: 'parts in files of their own',
  setup({ onLoad }) {
    onLoad({ filter: /src[\\/]run-server\.ts$/ }, () => loading(serverFile, 'export const { runServer } = '));
    onLoad({ filter: /src[\\/]media[\\/]worker\.ts$/ }, () => loading(workerFile));
  },
};

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  external: [...loaded, ...optional],
  outdir: 'dist',
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  write: false,
} as const satisfies BuildOptions;

rmSync(join(root, 'dist'), { recursive: true, force: true });
const { outputFiles } = await build({
  ...common,
  // A media thread finds `worker` beside the file that starts it (src/media/start-worker.ts).
  // The command line loads none of the library's parts: what they share with it is in chunks.
  entryPoints: {
    cli: 'src/cli.ts',
    worker: 'src/media/worker.ts',
    index: 'src/index.ts',
    testing: 'packages/testing/src/index.ts',
  },
  splitting: true,
  format: 'esm',
  plugins: [parts, apart],
  // Bundled packages that are CommonJS load modules of Node by it.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  chunkNames: '[name]-[hash]',
});
const { outputFiles: compiled } = await build({
  ...common,
  entryPoints: { server: 'src/run-server.ts', worker: 'src/media/worker.ts' },
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  plugins: [parts],
  // V8 keeps the source in memory. Names stay, so traces are readable.
  minifyWhitespace: true,
  lineLimit: 120,
  define: { 'import.meta.url': 'fileUrl$' },
  banner: {
    js: `const fileUrl$ = require('node:url').pathToFileURL(__filename).href, ${importer} = require('./import.cjs');`,
  },
});
mkdirSync(join(root, 'dist'));
for (const { path, text } of outputFiles) writeFileSync(path, path.endsWith('.js') ? withoutComments(text) : text);
for (const { path, text } of compiled) writeFileSync(path, path.endsWith('.cjs') ? withImporter(text) : text);
writeFileSync(join(root, 'dist', 'import.cjs'), 'module.exports = (name) => import(name);\n');

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

/** Longest time for that, in ms. */
const compileMs = 60_000;

/** Starts the server, makes a call and ends it. V8's compiled code is kept for later starts. */
async function compileByUse(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-compile-'));
  const config = join(directory, 'config.yaml');
  const local = { protocol: 'udp', bind: '127.0.0.1', port: 0 };
  const settings = {
    general: { data_directory: directory, log_level: 'error' },
    http: { bind: '127.0.0.1', port: 0, users: [{ name: 'build', password: 'build' }] },
    sip: { transports: [local, { ...local, protocol: 'tcp' }] },
    media: { warm_up: false },
  };
  writeFileSync(config, JSON.stringify(settings));
  const program = join(root, 'scripts', 'compile-code.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, config, serverFile, workerFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: compileMs,
    killSignal: 'SIGKILL',
  });
  const ended = once(child, 'exit');
  let banner = '';
  try {
    for await (const chunk of child.stdout) {
      banner += chunk;
      const url = /http:\S+\/ari/.exec(banner)?.[0];
      if (url === undefined || !banner.includes('SIP')) continue;
      await makeCall(url);
      break;
    }
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Calls the echo application without a phone, and hangs up. */
async function makeCall(url: string): Promise<void> {
  const headers = { authorization: `Basic ${Buffer.from('build:build').toString('base64')}` };
  const ask = async (method: string, path: string): Promise<void> => {
    const { ok, status } = await fetch(`${url}${path}`, { method, headers });
    if (!ok) throw new Error(`the server that was built answered ${method} ${path} with ${status}`);
  };
  const events = new WebSocket(`${url.replace('http', 'ws')}/events?app=build&api_key=build:build`);
  await once(events, 'open');
  await ask('POST', '/channels?endpoint=Local/echo@default&app=build&channelId=build');
  await ask('GET', '/channels');
  await ask('POST', '/channels/build/answer');
  await ask('DELETE', '/channels/build');
  events.terminate();
}
// Without it a start takes longer, and is the same.
await compileByUse().catch((error: unknown) => console.error('the code of the server is not compiled ahead:', error));
