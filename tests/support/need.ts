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

/**
 * Looks for a program in PATH.
 * @param say hears of skipped tests.
 */
export function need(
  program: string,
  searchPath = process.env['PATH'] ?? '',
  say: (line: string) => void = (line) => void process.stdout.write(`${line}\n`),
): Needed {
  const path = searchPath
    .split(delimiter)
    .map((directory) => join(directory, program))
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
