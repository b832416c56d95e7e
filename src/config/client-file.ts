import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Server and user of the terminal commands. */
type ClientSettings = {
  /** URL of its interface. */
  url: string;
  /** `name:password`. */
  user: string;
};

/** Default file if `HOOKSWITCH_CLIENT` names none. */
const usualFile = (): string => join(homedir(), '.config', 'hookswitch', 'client.yaml');

const usualUrl = 'http://127.0.0.1:8088';

/**
 * `HOOKSWITCH_URL` and `HOOKSWITCH_USER` (`name:password`), else `url` and `user` of a YAML file.
 * @throws Error if the named file cannot be read, lacks these settings, or no user is named.
 */
export function readClientSettings(
  env: NodeJS.ProcessEnv,
  read = (file: string) => readFileSync(file, 'utf8'),
): ClientSettings {
  const file = env['HOOKSWITCH_CLIENT'] ?? usualFile();
  const kept = fromFile(file, env['HOOKSWITCH_CLIENT'] !== undefined, read);
  const url = env['HOOKSWITCH_URL'] ?? kept.url ?? usualUrl;
  const user = env['HOOKSWITCH_USER'] ?? kept.user;
  if (user === undefined) throw new Error(`no user given: set HOOKSWITCH_USER=name:password, or \`user\` in ${file}`);
  return { url, user };
}

function fromFile(file: string, isNamed: boolean, read: (file: string) => string): Partial<ClientSettings> {
  let text: string;
  try {
    text = read(file);
  } catch (error) {
    if (isNamed) throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
    return {};
  }
  const { url, user } = (parse(text) ?? {}) as Record<string, unknown>;
  if ((url !== undefined && typeof url !== 'string') || (user !== undefined && typeof user !== 'string'))
    throw new Error(`${file}: \`url\` and \`user\` must be text`);
  return { ...(url === undefined ? {} : { url }), ...(user === undefined ? {} : { user }) };
}
