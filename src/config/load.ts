import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import { check, type Path, type Problem } from './check.ts';
import { applyEnvironment } from './environment.ts';
import { packageFile } from './package-files.ts';
import { checkRules, type Known } from './rules.ts';
import { audioAddress, type Config, ConfigSchema } from './schema.ts';
import { standardSipPorts } from './sip-settings.ts';
import { applyTemplates } from './templates.ts';
import { thisMachine, warningsOf } from './warnings.ts';

/** Something wrong with the configuration, and where. */
type ConfigProblem = {
  /** The file and line (`/etc/hookswitch.yaml:12:3`), or the environment variable; '' for neither. */
  where: string;
  /** The setting, e.g. `sip.endpoints.alice.context`; '' when it is about the whole file. */
  path: string;
  message: string;
};

/** The configuration cannot be used: everything that is wrong with it, not only the first thing. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ where, path, message }) => [where, path, message].filter(Boolean).join(': '));
    super(lines.join('\n'));
    this.problems = problems;
  }
}

type LoadOptions = Known & {
  /** The YAML file; left out, `HOOKSWITCH_CONFIG` names it, and without either the defaults stand alone. */
  file?: string;
  /** The settings themselves, instead of a file; relative directories start at `directory`. */
  settings?: { values: Record<string, unknown>; directory: string };
  env: Readonly<Record<string, string | undefined>>;
  /** Makes the password of users and endpoints that have none. */
  secret?: () => string;
};

/**
 * The configuration: defaults, under the file, under the environment. A section that the file leaves out keeps its
 * defaults; lists and named things (users, endpoints, dialplan) that the file gives replace the default ones.
 * Passwords left out come from `HOOKSWITCH_PASSWORD` or are made up (`generated_password`).
 * @throws ConfigError naming every problem.
 */
export function loadConfig(options: LoadOptions): Config {
  const { env, settings } = options;
  const file = options.file ?? (env['HOOKSWITCH_CONFIG'] || undefined);
  const source = settings || file === undefined ? withoutFile(settings) : readSource(resolve(file));
  const setBy = applyEnvironment(source.raw, defaults, env);

  renameSettings(source.raw);
  const problems: Problem[] = [];
  const { raw, isInherited } = applyTemplates(source.raw, problems);
  const templatesAreWrong = problems.length > 0;
  const found: Problem[] = [];
  const checked = check(ConfigSchema, raw, found) as Config;
  // Errors of a template are already reported there.
  problems.push(...found.filter(({ path }) => !templatesAreWrong || !isInherited(path)));
  const broken = new Set(problems.map(({ path }) => path[0]));
  if (typeof checked === 'object') problems.push(...checkRules(checked, ConfigSchema, options, broken));
  if (problems.length > 0) {
    const inOrder = problems.sort((a, b) => source.offsetOf(a.path) - source.offsetOf(b.path));
    throw new ConfigError(
      inOrder.map(({ path, message }) => ({
        where: setBy.get(JSON.stringify(path)) ?? source.place(source.offsetOf(path)),
        path: formatPath(path),
        message,
      })),
    );
  }
  // Endpoints are complete by now and templates have no other use, so changes of them need no restart.
  const ready = withPorts({ ...checked, sip: { ...checked.sip, templates: {} } });
  return resolvePasswords(
    resolveDirectories({ ...ready, media: { ...ready.media, rtp_address: audioAddress(ready) } }, source.directory),
    env,
    options.secret,
  );
}

/** Settings with a new name. The old one works until the version in `until`. */
const renamed = [
  { group: 'media', before: 'rehearsal', now: 'warm_up', until: '0.3' },
  { group: undefined, before: 'absences', now: 'away_policies', until: '0.3' },
] as const;

function renameSettings(raw: Record<string, unknown>): void {
  for (const { group, before, now } of renamed) {
    const settings = group === undefined ? raw : raw[group];
    if (typeof settings !== 'object' || settings === null || !Object.hasOwn(settings, before)) continue;
    const { [before]: value, ...rest } = settings as Record<string, unknown>;
    if (group !== undefined) raw[group] = { [now]: value, ...rest };
    else {
      delete raw[before];
      raw[now] ??= value;
    }
  }
}

/** The configuration that stands when there is no file and no environment, before passwords are filled in. */
export const defaults = (): Config => check(ConfigSchema, {}, []) as Config;

/** Likely mistakes in a valid configuration, for this machine. */
export const warnings = (config: Config): string[] =>
  warningsOf(
    config,
    thisMachine((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false),
  );

/** Contents of a file, and positions of its settings. */
type Source = {
  raw: Record<string, unknown>;
  directory: string;
  offsetOf(path: Path): number;
  place(offset: number): string;
};

const withoutFile = ({ values, directory }: LoadOptions['settings'] = nothing()): Source => ({
  raw: values,
  directory,
  offsetOf: () => 0,
  place: () => (Object.keys(values).length === 0 ? 'default configuration' : ''),
});

const nothing = () => ({ values: {}, directory: process.cwd() });

function readSource(file: string): Source {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError([{ where: file, path: '', message: `cannot be read: ${(error as Error).message}` }]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  // The message's first line says what is wrong; the rest draws the place, which we name ourselves.
  const faults = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    where: place(pos[0]),
    path: '',
    message: message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, ''),
  }));
  if (faults.length > 0) throw new ConfigError(faults);
  keepKeysAsWritten(document);
  const raw = readValue(document, file);
  if (typeof raw !== 'object' || Array.isArray(raw))
    throw new ConfigError([{ where: place(0), path: '', message: 'expected a mapping of keys and values at the top' }]);
  return {
    raw: raw as Record<string, unknown>,
    directory: dirname(file),
    offsetOf: (path) => offsetOf(document, path),
    place,
  };
}

/** YAML reads the key `0100` as the number 100; as an extension it is meant as it stands. */
function keepKeysAsWritten(document: Document): void {
  visit(document, {
    Pair(_, pair) {
      if (isScalar(pair.key) && typeof pair.key.value !== 'string') pair.key.value = pair.key.source ?? '';
    },
  });
}

function readValue(document: Document, file: string): object {
  try {
    return document.toJS() ?? {};
  } catch (error) {
    // Too many aliases: a small file that would unfold into a huge one.
    throw new ConfigError([{ where: file, path: '', message: (error as Error).message }]);
  }
}

/** Text position of a setting; of a missing one, that of its nearest group. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === String(key));
      if (!pair) break;
      offset = (isNode(pair.key) && pair.key.range?.[0]) || offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(key)];
      if (!isNode(node)) break;
      offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}

/** `sip.endpoints.alice.aor.contacts[0]`; keys with other characters are quoted. */
function formatPath(path: Path): string {
  let text = '';
  for (const key of path)
    if (typeof key === 'number') text += `[${key}]`;
    else if (/^[\w-]+$/.test(key)) text += text ? `.${key}` : key;
    else text += `[${JSON.stringify(key)}]`;
  return text;
}

/** Relative directories start at the configuration file (without one, where the server was started). */
function resolveDirectories(config: Config, base: string): Config {
  const builtin = packageFile('sounds');
  const directories = config.sounds.directories.map((name) => (name === 'builtin' ? builtin : resolve(base, name)));
  const { webrtc } = config.media;
  const certificate = webrtc.certificate && resolve(base, webrtc.certificate);
  const key = webrtc.key && resolve(base, webrtc.key);
  return {
    ...config,
    general: { ...config.general, data_directory: resolve(base, config.general.data_directory) },
    media: { ...config.media, webrtc: { ...webrtc, certificate, key } },
    recordings: { ...config.recordings, directory: resolve(base, config.recordings.directory) },
    sounds: { ...config.sounds, directories },
    audit: { ...config.audit, file: config.audit.file && resolve(base, config.audit.file) },
    cdr: { ...config.cdr, file: config.cdr.file && resolve(base, config.cdr.file) },
    tls: {
      ...config.tls,
      certificates: config.tls.certificates.map(({ certificate, key }) => ({
        certificate: resolve(base, certificate),
        key: resolve(base, key),
      })),
      authorities: config.tls.authorities.map((file) => (file === 'system' ? file : resolve(base, file))),
      client_authorities: config.tls.client_authorities.map((file) => resolve(base, file)),
      client_crl: config.tls.client_crl.map((file) => resolve(base, file)),
    },
  };
}

/** Each transport has the port of its protocol where it names none. */
const withPorts = (config: Config): Config => ({
  ...config,
  sip: {
    ...config.sip,
    transports: config.sip.transports.map((transport) => ({ ...transport, port: portOf(transport) })),
  },
});

const portOf = ({ protocol, port = standardSipPorts[protocol] }: Config['sip']['transports'][number]) => port;

const standardSecret = () => createIds(systemClock).secret(20);

/** Gives users and endpoints without a password the one of the environment, or one made up for all of them. */
function resolvePasswords(config: Config, env: LoadOptions['env'], secret = standardSecret): Config {
  let generated: string | undefined;
  const password = () => env['HOOKSWITCH_PASSWORD'] || (generated ??= secret());
  const users = config.http.users.map((user) =>
    user.password === undefined && user.password_hash === undefined ? { ...user, password: password() } : user,
  );
  const endpoints = Object.entries(config.sip.endpoints).map(([name, endpoint]) => {
    const { auth } = endpoint;
    return [
      name,
      auth && auth.password === undefined ? { ...endpoint, auth: { ...auth, password: password() } } : endpoint,
    ];
  });
  return {
    ...config,
    http: { ...config.http, users },
    sip: { ...config.sip, endpoints: Object.fromEntries(endpoints) },
    ...(generated === undefined ? {} : { generated_password: generated }),
  };
}
