import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libraryPage } from './library-pages.ts';

/**
 * Writes packages/types: one declaration file for each entry of the package, and its page in docs/library. They are the
 * report of the API, too: with --check nothing is written, and a file that is not up to date is an error. So no change of the API goes unnoticed.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const entries = [
  { name: 'client', directory: 'packages/client/src' },
  { name: 'testing', directory: 'packages/testing/src' },
  { name: 'index', directory: 'src' },
] as const;

type Declaration = { name: string; text: string };

/** Statements at the top level: a comment belongs to what follows. */
function statementsOf(text: string): string[] {
  const starts = [...text.matchAll(/^(?:\/\*\*|export|declare|type|interface|import|const)/gm)].map(
    ({ index }) => index,
  );
  const pieces = starts.map((start, at) => text.slice(start, starts[at + 1]));
  return pieces.reduce<string[]>((found, piece) => {
    const last = found.at(-1);
    if (last?.startsWith('/**') && last.trimEnd().endsWith('*/')) found[found.length - 1] = last + piece;
    else found.push(piece);
    return found;
  }, []);
}

const nameIn = (statement: string): string | undefined =>
  /^(?:\/\*\*[\s\S]*?\*\/\s*)?(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const) (\w+)/.exec(
    statement,
  )?.[1];

/** A function may be declared once for each way to call it. */
const isOverload = (statement: string): boolean =>
  /^(?:export )?(?:declare )?function /.test(withoutComments(statement).trim());

const withoutComments = (text: string): string => text.replaceAll(/\/\*\*[\s\S]*?\*\//g, '');
const wordsIn = (text: string): string[] => withoutComments(text).match(/\b[A-Za-z_]\w*\b/g) ?? [];

/** Names that a file gives to others. */
function exportsOf(text: string, directory: string): string[] {
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.replace(/\btype\b/, '').trim()),
  );
  const declared = [...text.matchAll(/^export (?:declare )?(?:class|interface|type|function|const) (\w+)/gm)];
  const whole = [...text.matchAll(/^export type \* from '\.\/([\w-]+)/gm)];
  const passed = whole.flatMap(([, file]) =>
    exportsOf(readFileSync(join(directory, `${file}.d.ts`), 'utf8'), directory),
  );
  return [...listed, ...declared.map(([, name = '']) => name), ...passed].filter((name) => name !== '');
}

/** One file with all that an entry's exports need. @throws Error for a type that is not among them, or has two meanings. */
function bundle(directory: string, shared: ReadonlyMap<string, string>): { text: string; names: string[] } {
  const files = readdirSync(directory).filter((name) => name.endsWith('.d.ts'));
  const texts = files.map((name) => readFileSync(join(directory, name), 'utf8'));
  const known = new Map<string, Declaration>();
  const imported = new Set<string>();
  const twofold = new Set<string>();
  for (const text of texts)
    for (const statement of statementsOf(text)) {
      const name = nameIn(statement);
      if (name !== undefined && !known.has(name)) known.set(name, { name, text: statement });
      else if (name !== undefined && known.get(name)?.text !== statement && !isOverload(statement)) twofold.add(name);
      if (statement.startsWith('import')) for (const word of wordsIn(statement)) imported.add(word);
    }
  const names = exportsOf(readFileSync(join(directory, 'index.d.ts'), 'utf8'), directory);
  const needed = new Set<string>();
  const foreign = new Map<string, string>();
  const need = (name: string): void => {
    const declaration = known.get(name);
    if (needed.has(name) || !declaration) {
      const from = shared.get(name);
      if (!declaration && from !== undefined) foreign.set(name, from);
      else if (!declaration && imported.has(name) && /^[A-Z]/.test(name)) throw new Error(`${name} is not public`);
      return;
    }
    if (twofold.has(name)) throw new Error(`${name} is declared in two files of ${directory}`);
    needed.add(name);
    for (const word of wordsIn(declaration.text)) need(word);
  };
  for (const name of names) need(name);
  const kept = [...known.values()].filter(({ name }) => needed.has(name));
  const body = kept.map(({ name, text }) => {
    const bare = text.replace(/^((?:\/\*\*[\s\S]*?\*\/\s*)?)export /, '$1');
    return names.includes(name) ? bare.replace(/^((?:\/\*\*[\s\S]*?\*\/\s*)?)/, '$1export ') : bare;
  });
  const imports = [...foreign].map(([name, from]) => `import type { ${name} } from './${from}.js';\n`);
  return { text: `${imports.join('')}${body.join('')}export {};\n`, names };
}

function declarations(): Map<string, string> {
  const place = mkdtempSync(join(tmpdir(), 'hookswitch-types-'));
  try {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    // Types that only the inside uses may have no name: they are no part of the API.
    spawnSync(process.execPath, [compiler, '-p', join(root, 'packages/tsconfig.types.json'), '--outDir', place], {
      stdio: 'ignore',
    });
    const shared = new Map<string, string>();
    return new Map(
      entries.map(({ name, directory }) => {
        const { text, names } = bundle(join(place, directory), shared);
        for (const each of names) shared.set(each, name);
        return [
          `${name}.d.ts`,
          `// Written by \`npm run types\`: the report of the package's API. Do not edit.\n${text}`,
        ];
      }),
    );
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const read = (path: string): string => {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    return '';
  }
};

/** Models and events have pages of their own. */
const generated = read('packages/client/src/generated.ts');
const described = new Set([...generated.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name = '']) => name));

const files = new Map<string, string>();
for (const [name, text] of declarations()) {
  files.set(`packages/types/${name}`, text);
  const entry = name.replace('.d.ts', '') as (typeof entries)[number]['name'];
  const page = entry === 'index' ? 'hookswitch' : entry;
  files.set(`docs/library/${page}.md`, libraryPage(entry, statementsOf(text), described));
}
for (const [path, text] of files) {
  if (read(path) === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`${path}: the API has changed; run npm run types and tell of it in CHANGELOG.md`);
    process.exitCode = 1;
  } else writeFileSync(join(root, path), text);
}
