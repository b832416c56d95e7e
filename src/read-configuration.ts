import { ConfigError, loadConfig } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { validate } from './dialplan/parse.ts';
import { operationPatternProblem } from './http/access/scope.ts';
import { operationNames } from './http/routes/index.ts';

/**
 * Loads the configuration of a file, or the built-in one.
 * @param before its generated password is kept. @throws ConfigError
 */
export function loadConfiguration(file: string | undefined, before?: Config): Config {
  const password = before?.generated_password;
  return loadConfig({
    ...(file === undefined ? {} : { file }),
    ...(password === undefined ? {} : { secret: () => password }),
    env: process.env,
    checkDialplan: validate,
    checkOperation: (pattern) => operationPatternProblem(pattern, operationNames),
  });
}

/** As {@link loadConfiguration}; undefined after printing what is wrong with it. */
export function readConfiguration(file: string | undefined): Config | undefined {
  try {
    return loadConfiguration(file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}
