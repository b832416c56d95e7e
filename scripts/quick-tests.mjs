// Chooses the tests of `npm run test:quick`: those of charts, parsers, the bus, stores and handlers that start no process, no
// thread and open no socket. What a test file imports from tests/ says that; tests/support/no-sockets.mjs enforces it.
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const directories = [
  ...['actors', 'bus', 'config', 'dialplan', 'http', 'import', 'lib', 'machines', 'models', 'page', 'sip', 'stores'],
];
const imports = /(?:from|import)\s*\(?\s*'([^']+)'/g;
const typeImports = /^import type [^;]*;$/gm;
/** Modules that open sockets or start something, and the parts of the server that do so with them. */
const opens = /^(node:(child_process|dgram|https?|net|tls|worker_threads)|ws|.*\/src\/(main|cli|serve)\.ts)$/;

/** The files, of these (paths from the root), that a quick run has. */
export function quickFiles(files, root) {
  const tests = join(root, 'tests');
  const known = new Map();
  const isQuick = (file) => {
    if (known.has(file)) return known.get(file);
    known.set(file, true);
    const imported = [...readFileSync(file, 'utf8').replaceAll(typeImports, '').matchAll(imports)].map(
      ([, name]) => name,
    );
    const quick = imported.every((name) => {
      if (opens.test(name)) return false;
      const path = resolve(dirname(file), name);
      return !name.startsWith('.') || relative(tests, path).startsWith('..') || isQuick(path);
    });
    known.set(file, quick);
    return quick;
  };
  return files.filter((file) => directories.includes(file.split(/[\\/]/)[1]) && isQuick(join(root, file)));
}
