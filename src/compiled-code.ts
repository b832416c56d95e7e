import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/**
 * The file of V8's compiled code beside a file of the build; `scripts/compile-code.ts` writes it. Its name has the checksum of
 * the source, because V8 only compares lengths.
 */
export const compiledPath = (file: string, source = readFileSync(file)): string =>
  `${file}.${crc32(source).toString(16)}.compiled`;

const head = '(function (exports, require, module, __filename, __dirname) {';

/**
 * Compiles a CommonJS file of the build. Compiled code beside it saves V8 most of that work. It fits one version of Node and
 * one set of V8's options. Where it does not fit, V8 compiles the file as usual. The file has no `import()`, which works in no
 * code that was compiled earlier.
 * @returns `cachedDataRejected` says whether it did not fit; undefined: there is none
 */
export function compile(file: string): Script {
  const source = readFileSync(file);
  // The build writes ASCII: a string of one octet a character takes half the memory.
  return new Script(`${head}${source.toString('latin1')}\n})`, {
    filename: file,
    columnOffset: -head.length,
    cachedData: contentOf(compiledPath(file, source)),
  });
}

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

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
