import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory of package.json: above `src` when the sources run, above `dist` when a build does. */
const root = rootAbove(dirname(fileURLToPath(import.meta.url)));

function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory));
}

/** Absolute path of a file or directory of this package. @param path relative to the directory of package.json */
export const packageFile = (path: string): string => join(root, path);

/** The version that package.json states. */
export const packageVersion: string = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version;
