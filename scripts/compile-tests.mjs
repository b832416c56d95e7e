// Compiles the TypeScript of the repository for its tests, file by file: `src/lib/ids.ts` becomes `compiled/src/lib/ids.js`.
// Only what has changed since the last time is compiled. Processes and threads of tests then load plain JavaScript; to compile
// in each of them took most of the time of all tests.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const compiledRoot = join(root, 'compiled');
const server = ['src', 'packages'];
const tools = ['tests', 'scripts', 'bench', 'examples', 'page'];
/** The media thread has its modules to itself: it is the one of `dist`, which loads in a third of the time. */
const bundled = { 'src/media/worker.ts': 'worker.js' };
const isTypeScript = /(?<!\.d)\.tsx?$/;

/** Where the compiled form of a file is, from the root. */
export const compiledPath = (file) => join('compiled', file.replace(/\.tsx?$/, '.js'));

const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const options = {
  absWorkingDir: root,
  outbase: '.',
  outdir: 'compiled',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
};

/** Keeps imports as they are, but names the compiled files; other files are where they were. */
const imports = {
  name: 'imports of compiled files',
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ path, kind, resolveDir }) => {
      if (kind === 'entry-point') return undefined;
      if (!path.startsWith('.')) return { path, external: true };
      if (isTypeScript.test(path)) return { path: path.replace(/\.tsx?$/, '.js'), external: true };
      return { path: pathToFileURL(resolve(resolveDir, path)).href, external: true };
    });
  },
};

/** Tests and tools find files of the repository from where their sources are; the server does so as in its package. */
const sourceUrl = {
  name: 'import.meta.url of the source',
  setup({ onLoad }) {
    onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      if (!source.includes('import.meta.url')) return undefined;
      const contents = `const sourceUrl$ = ${JSON.stringify(pathToFileURL(path).href)};${source}`;
      return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' };
    });
  },
};

/** Compiles what has changed. @throws Error when a file cannot be compiled. */
export async function compileTests() {
  const files = [...server, ...tools].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true })
      .filter((file) => isTypeScript.test(file) && !file.includes('node_modules'))
      .map((file) => join(directory, file)),
  );
  const settings = Math.max(
    ...['scripts/compile-tests.mjs', 'tsconfig.json', 'page/tsconfig.json', 'package-lock.json'].map((file) =>
      modified(join(root, file)),
    ),
  );
  const isStale = (file) => {
    const compiled = modified(join(root, compiledPath(file)));
    return compiled <= modified(join(root, file)) || compiled <= settings;
  };
  mkdirSync(compiledRoot, { recursive: true });
  const wanted = new Set(files.map(compiledPath));
  for (const file of readdirSync(compiledRoot, { recursive: true }))
    if (file.endsWith('.js') && !wanted.has(join('compiled', file))) rmSync(join(compiledRoot, file));
  const stale = files.filter(isStale);
  if (stale.length === 0) return;
  const isTool = (file) => tools.includes(file.split(sep)[0]) && file !== join('scripts', 'compiled.ts');
  await Promise.all([
    build({ ...options, entryPoints: stale.filter((file) => !isTool(file) && !bundled[file]), plugins: [imports] }),
    build({
      ...options,
      entryPoints: stale.filter(isTool),
      define: { 'import.meta.url': 'sourceUrl$' },
      plugins: [imports, sourceUrl],
    }),
  ]);
  for (const file of stale.filter((file) => bundled[file]))
    writeFileSync(
      join(root, compiledPath(file)),
      `import ${JSON.stringify(pathToFileURL(join(root, 'dist', bundled[file])))};\n`,
    );
}
