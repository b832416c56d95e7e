// Puts together what V8 has counted in all processes and threads of the tests, and reports it (c8).
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiledRoot, root } from './compile-tests.mjs';

const packages = join(root, 'node_modules');
const { mergeProcessCovs } = createRequire(createRequire(import.meta.url).resolve('c8'))('@bcoe/v8-coverage');
/** Of other files (tests, packages, the build) nothing is reported: they are most of what V8 counts. */
const sources = [join(compiledRoot, 'src'), join(compiledRoot, 'packages'), join(root, 'dist')].map(
  (directory) => `${pathToFileURL(directory).href}/`,
);
const isSource = (url) => sources.some((directory) => url.startsWith(directory));
/** Files merged at a time: every media thread of a test has left one, and together they take 1 GB of memory. */
const batch = 20;

/** c8 compares names of sources with paths, and gives up a bundle of which it cannot read a source. */
function withContents({ lineLengths, url, data }) {
  if (!data) return { lineLengths, url, data };
  const sources = data.sources.map((source) => (source.startsWith('file:') ? fileURLToPath(source) : source));
  const sourcesContent = sources.map((source) => (existsSync(source) ? readFileSync(source, 'utf8') : ''));
  return { lineLengths, url, data: { ...data, sources, sourcesContent } };
}

/** Merges the files of a directory into one, `all.json`. */
function merge(directory) {
  const maps = {};
  let merged = { result: [] };
  const files = readdirSync(directory).map((file) => join(directory, file));
  for (let begin = 0; begin < files.length; begin += batch) {
    const counts = files.slice(begin, begin + batch).map((file) => {
      const { result, 'source-map-cache': cache = {} } = JSON.parse(readFileSync(file, 'utf8'));
      rmSync(file);
      for (const [url, map] of Object.entries(cache)) if (isSource(url)) maps[url] ??= withContents(map);
      return { result: result.filter(({ url }) => isSource(url)) };
    });
    merged = mergeProcessCovs([merged, ...counts]);
  }
  writeFileSync(join(directory, 'all.json'), JSON.stringify({ ...merged, 'source-map-cache': maps }));
}

/** Files of types alone leave nothing to run, so nothing to cover. */
function typesOnly() {
  const files = readdirSync(join(root, 'src'), { recursive: true }).filter((file) => file.endsWith('.ts'));
  const hasCode = /^(export (default )?)?(async )?(const|let|function|class)\b/m;
  return files.filter((file) => !hasCode.test(readFileSync(join(root, 'src', file), 'utf8')));
}

/** Reports what the files of V8 in a directory say of src, and deletes them. */
export function reportCoverage(directory) {
  merge(directory);
  const c8 = join(packages, 'c8', 'bin', 'c8.js');
  const args = ['report', '--temp-directory', directory, '--reports-dir', 'coverage', '--all'];
  args.push('--src', 'src', '--src', 'packages', '--include', 'packages/*/src/**/*.ts');
  args.push('--include', 'src/**/*.ts', ...typesOnly().flatMap((file) => ['--exclude', `src/${file}`]));
  // What is counted is the compiled file; what is reported is its source.
  args.push('--exclude-after-remap', '--reporter', 'text-summary', '--reporter', 'lcov');
  spawnSync(process.execPath, [c8, ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  rmSync(directory, { recursive: true, force: true });
}
