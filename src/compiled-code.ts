import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';

/** What V8 has compiled of a file of the build, beside it. `scripts/compile-code.ts` writes it. */
export const compiledPath = (file: string): string => `${file}.compiled`;

const head = '(function (exports, require, module, __filename, __dirname) {';

/**
 * Compiles a CommonJS file of the build. Compiled code beside it saves V8 most of that work. It fits one version of Node and
 * one set of V8's options. Where it does not fit, V8 compiles the file as usual. The file has no `import()`, which works in no
 * code that was compiled earlier.
 * @returns `cachedDataRejected` says whether it did not fit; undefined: there is none
 */
export const compile = (file: string): Script =>
  // The build writes ASCII: a string of one octet a character takes half the memory.
  new Script(`${head}${readFileSync(file, 'latin1')}\n})`, {
    filename: file,
    columnOffset: -head.length,
    cachedData: compiledCode(file),
  });

/** Runs a compiled file. @returns its exports */
export function run<Exports>(script: Script, file: string): Exports {
  const module = { exports: {} as Exports };
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file));
  return module.exports;
}

/** The exports of a file, whose source maps only Node's own loader reads. */
export const loadCompiled = <Exports>(file: string): Exports =>
  process.sourceMapsEnabled || process.env['NODE_V8_COVERAGE']
    ? (createRequire(file)(file) as Exports)
    : run<Exports>(compile(file), file);

function compiledCode(file: string): Buffer | undefined {
  try {
    return readFileSync(compiledPath(file));
  } catch {
    return undefined;
  }
}
