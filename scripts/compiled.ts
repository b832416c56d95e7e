import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The only module of scripts and tests that knows where it really is: scripts/compile-tests.mjs leaves it so. */
const here = fileURLToPath(import.meta.url);
const isCompiled = here.endsWith('.js');
const root = join(here, isCompiled ? '../../..' : '../..');

/** Where a TypeScript file of the repository is as this process loads it: compiled when this module is compiled. */
const loadedFrom = (file: string): string =>
  isCompiled ? join(root, 'compiled', file.replace(/\.tsx?$/, '.js')) : join(root, file);

/** @param file path from the root. @returns arguments with which Node runs a TypeScript file. */
export function nodeArguments(file: string): string[] {
  const path = loadedFrom(file);
  return isCompiled ? [path] : ['--import', pathToFileURL(join(root, 'tests/support/typescript.mjs')).href, path];
}

/** Imports a TypeScript file whose name is known only now. @param file path from the root. */
export const importFile = async (file: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(loadedFrom(file)).href)) as Record<string, unknown>;
