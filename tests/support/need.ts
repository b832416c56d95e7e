import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Test } from 'uvu';

/** A program that some tests call, e.g. SIPp. */
export type Needed = {
  /** Where it is; undefined when this machine does not have it. */
  readonly path: string | undefined;
  /**
   * Registers a test that calls the program. Without it the test is counted as skipped and said so: `skipped: needs
   * sipp`. Where CI is set, `npm test` fails on skipped tests, so nothing goes unnoticed.
   */
  test<T>(suite: Test<T>, title: string, handler: (program: string, context: T) => Promise<void> | void): void;
};

/** Smaller builds of a program that do all that tests ask of it. Chromium without windows takes a third less CPU. */
const smaller: Readonly<Record<string, string>> = { chromium: 'chromium-headless-shell' };

/**
 * Looks for a program in PATH, for a smaller build of it first.
 * @param say hears of skipped tests.
 */
export function need(
  program: string,
  searchPath = process.env['PATH'] ?? '',
  say: (line: string) => void = (line) => void process.stdout.write(`${line}\n`),
): Needed {
  const directories = searchPath.split(delimiter);
  const path = [smaller[program] ?? [], program]
    .flat()
    .flatMap((name) => directories.map((directory) => join(directory, name)))
    .find(isExecutable);
  return {
    path,
    test(suite, title, handler) {
      if (path) return suite(title, (context) => handler(path, context));
      suite.skip(title);
      say(`skipped: needs ${program}: ${title}`);
    },
  };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
