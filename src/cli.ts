#!/usr/bin/env node
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { packageVersion as version } from './config/package-files.ts';
import type { Config } from './config/schema.ts';

/**
 * The command line. The server itself is imported only by `serve`, so that `check` and `--help` answer at once.
 * Exit codes: 0 all well (also after SIGTERM), 1 bad configuration or an address that cannot be had, 2 wrong usage,
 * 70 an error that should not have happened.
 */

const exitCode = { ok: 0, failed: 1, usage: 2, internal: 70 } as const;

const usage = 'Usage: hookswitch <command> [--config <file>]';

async function help(): Promise<string> {
  const { variables } = await import('./config/environment.ts');
  const rows = [
    ['HOOKSWITCH_CONFIG', 'the configuration file, as --config'],
    ['HOOKSWITCH_PASSWORD', 'password of users and endpoints that have none of their own'],
    ['HOOKSWITCH_URL', 'the server that commands ask; http://127.0.0.1:8088 when left out'],
    ['HOOKSWITCH_USER', 'as whom they ask: name:password'],
    ['HOOKSWITCH_CLIENT', 'a YAML file with `url` and `user` in place of these; ~/.config/hookswitch/client.yaml'],
    ...variables.map(({ name, description }) => [name, description]),
  ];
  const { commands } = await import('./operator/operate.ts');
  const questions = Object.entries(commands)
    .map(([name, { about, needsId, takesBridge }]) => {
      const id = needsId ? ' <id>' : takesBridge ? ' [<id>]' : '';
      return `  ${`${name}${id}`.padEnd(15)}${about}`;
    })
    .join('\n');
  return `${usage}

Commands:
  serve    run the telephone system
  check    read the configuration and say what is wrong with it
  ready    ask whether the server of this configuration (or HOOKSWITCH_URL) takes calls; --wait <seconds> asks again
  import   read Asterisk's configuration (--from <directory>), write ours; a report on standard error
  hash     read a password from standard input, write it as password_hash
  certificate [<name> …]
           make a certificate for a first try, for these names and addresses (this machine's when left out), signed by
           nobody but itself: hookswitch.pem and hookswitch.key here

Commands that ask a running server (as HOOKSWITCH_USER, at HOOKSWITCH_URL):
${questions}

  token make <name> | list | revoke <name>
                what stands for a user in place of its password, narrower than that, until it expires

Options:
  -c, --config <file>   configuration file (YAML); without one the defaults stand
  -h, --help            this text
  -v, --version         the version
      --json            of what a running server tells: JSON, a line for each thing
      --inspect         \`serve\` streams all actors to Stately's inspector; for development
      --inspect-url <url>
                        where its relay listens; ws://localhost:8080 when left out
      --wait <seconds>  how long \`ready\` asks again
      --app <name>      the application that \`tail\` follows
      --user <name>     whose token it is (who asks when left out)
      --expires <time>  how long the token is good: 90d, 12h, 30m, 3600s (30d when left out)
      --read-only       the token may look but change nothing
      --applications, --operations, --contexts, --endpoints <list>
                        what the token is limited to, comma-separated; see docs/security.md

Environment (stands above the file):
${rows.map(([name = '', text = '']) => `  ${name.padEnd(24)}${text}`).join('\n')}
`;
}

async function main(args: string[]): Promise<number> {
  const parsed = parse(args);
  if (typeof parsed === 'string') return refuseUsage(parsed);
  const { values, positionals } = parsed;
  if (values.help) return print(await help());
  if (values.version) return print(`${version}\n`);
  const [asked, ...rest] = positionals;
  const command = renamed(asked);
  if (command === 'certificate') return makeCertificate(rest);
  if (command === 'token') return askForTokens(rest, values);
  const { commands } = await import('./operator/operate.ts');
  if (command !== undefined && Object.hasOwn(commands, command)) return ask(command, rest, values);
  if (rest.length > 0) return refuseUsage(`unexpected argument: ${rest[0]}`);
  if (command === 'serve') return runServer(values);
  if (command === 'check') return checkConfiguration(values.config);
  if (command === 'ready') return askReady(values.config, values.wait);
  if (command === 'import') return importFrom(values.from);
  if (command === 'hash') return hash();
  if (command !== undefined) return refuseUsage(`unknown command: ${command}`);
  process.stderr.write(`hookswitch: no command given\n\n${await help()}`);
  return exitCode.usage;
}

/** The command behind a name; names of version 0.1 answer until 0.3. */
function renamed(command: string | undefined): string | undefined {
  if (command !== 'sights') return command;
  process.stderr.write('hookswitch: `sights` is called `video-visibility` now\n');
  return 'video-visibility';
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        config: { type: 'string', short: 'c' },
        from: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
        json: { type: 'boolean' },
        inspect: { type: 'boolean' },
        'inspect-url': { type: 'string' },
        app: { type: 'string' },
        user: { type: 'string' },
        expires: { type: 'string' },
        'read-only': { type: 'boolean' },
        applications: { type: 'string' },
        operations: { type: 'string' },
        contexts: { type: 'string' },
        endpoints: { type: 'string' },
        wait: { type: 'string' },
      },
    });
  } catch (error) {
    return (error as Error).message;
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return exitCode.ok;
}

/** Says what is wrong, and where the help is: all of it would push the reason off the screen. */
function refuseUsage(message: string): number {
  process.stderr.write(
    `hookswitch: ${message}\n\n${usage}\n\`hookswitch --help\` tells of all commands and options.\n`,
  );
  return exitCode.usage;
}

/** Reads the configuration. @throws ConfigError; with `before`, a password that was made up then is used again. */
async function reader(file: string | undefined): Promise<(before?: Config) => Config> {
  const { loadConfig } = await import('./config/load.ts');
  const { validate } = await import('./dialplan/parse.ts');
  const { operationPatternProblem } = await import('./http/access/scope.ts');
  const { operationNames } = await import('./http/routes/index.ts');
  return (before) => {
    const password = before?.generated_password;
    return loadConfig({
      ...(file === undefined ? {} : { file }),
      ...(password === undefined ? {} : { secret: () => password }),
      env: process.env,
      checkDialplan: validate,
      checkOperation: (pattern) => operationPatternProblem(pattern, operationNames),
    });
  };
}

/** The configuration, or undefined after its problems have been told. */
async function load(file: string | undefined): Promise<Config | undefined> {
  const { ConfigError } = await import('./config/load.ts');
  try {
    return (await reader(file))();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}

async function checkConfiguration(file: string | undefined): Promise<number> {
  const config = await load(file);
  if (!config) return exitCode.failed;
  const { warnings } = await import('./config/load.ts');
  for (const warning of warnings(config)) process.stderr.write(`warning: ${warning}\n`);
  return print('configuration is valid\n');
}

/** Whether the server that a configuration describes takes calls. */
async function askReady(file: string | undefined, wait = '0'): Promise<number> {
  const seconds = Number(wait);
  if (wait === '' || !Number.isFinite(seconds) || seconds < 0) return refuseUsage('--wait needs a number of seconds');
  let url = process.env['HOOKSWITCH_URL'];
  if (url === undefined) {
    const config = await load(file);
    if (!config) return exitCode.failed;
    const { bind, port, tls } = config.http;
    const host = bind === '0.0.0.0' ? '127.0.0.1' : bind === '::' ? '::1' : bind;
    url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
  if (!URL.canParse(url)) return refuseUsage(`'${url}' is no URL such as http://127.0.0.1:8088`);
  const { untilReady } = await import('./operator/ready.ts');
  const { systemClock } = await import('./lib/clock.ts');
  const reason = await untilReady(url, seconds * 1000, systemClock);
  if (reason === undefined) return print('ready\n');
  process.stderr.write(`hookswitch: ${reason}\n`);
  return exitCode.failed;
}

/** Runs until a signal; only comes back when it could not start. */
type ServeOptions = { config?: string; inspect?: boolean; 'inspect-url'?: string };

/** The inspector that was asked for; undefined when none was. @throws Error saying why it cannot be had. */
async function inspectorFor({ inspect, 'inspect-url': url }: ServeOptions) {
  if (!inspect && url === undefined) return undefined;
  const { openInspector, standardInspector } = await import('./inspect.ts');
  return openInspector(url ?? standardInspector);
}

async function runServer(options: ServeOptions): Promise<number> {
  const config = await load(options.config);
  if (!config) return exitCode.failed;
  const inspector = await inspectorFor(options).catch((error: Error) => error);
  if (inspector instanceof Error) {
    process.stderr.write(`hookswitch: ${inspector.message}\n`);
    return exitCode.failed;
  }
  const read = await reader(options.config);
  const { serve } = await import('./serve.ts');
  const failed = () => process.exit(exitCode.internal);
  const started = await serve(config, () => read(config), failed, inspector?.inspect);
  inspector?.stop();
  if (!started) return exitCode.failed;
  // Whatever a fault left open must not keep a server alive that was told to stop.
  process.exit(exitCode.ok);
}

/** Asks a running server. */
async function ask(
  command: string,
  rest: readonly string[],
  { json = false, app }: { json?: boolean; app?: string },
): Promise<number> {
  const { commands, operate } = await import('./operator/operate.ts');
  const { readClientSettings } = await import('./config/client-file.ts');
  const { systemClock } = await import('./lib/clock.ts');
  const { needsId, takesBridge } = commands[command] ?? {};
  if (needsId && rest.length === 0)
    return refuseUsage(`${command} needs the id of a call: \`hookswitch calls\` lists those that are live`);
  const most = needsId || takesBridge ? 1 : 0;
  if (rest.length > most) return refuseUsage(`unexpected argument: ${rest[most]}`);
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
  // Whoever reads may stop to (`| head`).
  process.stdout.on('error', () => process.exit(exitCode.ok));
  return told(() =>
    operate({ command, id: rest[0], app, json }, readClientSettings(process.env), {
      write: (text) => void process.stdout.write(text),
      now: () => systemClock.now(),
      signal: end.signal,
      style: styleOf(process.stdout),
    }),
  );
}

/** Lines of a terminal are cut to its width, and coloured unless somebody said otherwise (no-color.org). */
const styleOf = ({ isTTY, columns }: NodeJS.WriteStream) =>
  isTTY ? { colours: !process.env['NO_COLOR'], columns } : { colours: false };

/** Says in words why a server could not be asked. */
async function told(ask: () => Promise<void>): Promise<number> {
  try {
    await ask();
    return exitCode.ok;
  } catch (error) {
    if (error instanceof TypeError || !(error instanceof Error)) throw error;
    process.stderr.write(`hookswitch: ${error.message}\n`);
    return exitCode.failed;
  }
}

type TokenOptions = {
  [K in 'user' | 'expires' | 'applications' | 'operations' | 'contexts' | 'endpoints']?: string;
} & { 'read-only'?: boolean; json?: boolean };

/** Makes, lists or revokes tokens of a running server. */
async function askForTokens(
  [act = '', name, ...more]: readonly string[],
  { user, expires, applications, operations, contexts, endpoints, 'read-only': readOnly, json = false }: TokenOptions,
): Promise<number> {
  const { operateTokens } = await import('./operator/tokens.ts');
  const { readClientSettings } = await import('./config/client-file.ts');
  if (!['make', 'list', 'revoke'].includes(act)) return refuseUsage('token wants make, list or revoke');
  const extra = act === 'list' ? name : more[0];
  if (extra !== undefined) return refuseUsage(`unexpected argument: ${extra}`);
  if (act !== 'list' && name === undefined) return refuseUsage(`token ${act} needs the name of a token`);
  const asked = { act, name, user, expires, applications, operations, contexts, endpoints, readOnly, json };
  return told(() => operateTokens(asked, readClientSettings(process.env), (text) => void process.stdout.write(text)));
}

async function makeCertificate(asked: string[]): Promise<number> {
  const { writeSelfMadeCertificate } = await import('./config/certificate-files.ts');
  const { systemClock } = await import('./lib/clock.ts');
  const { createIds } = await import('./lib/ids.ts');
  const names = asked.length > 0 ? asked : ['localhost', hostname(), '127.0.0.1', '::1'];
  const serial = createIds(systemClock).hex(16);
  try {
    const files = writeSelfMadeCertificate({ directory: process.cwd(), names, now: systemClock.now(), serial });
    return print(`for ${names.join(', ')}, good for a year:
  tls:
    certificates:
      - { certificate: ${files.certificate}, key: ${files.key} }
whoever connects has to be told to believe ${files.certificate}
`);
  } catch (error) {
    process.stderr.write(`hookswitch: no certificate was made: ${(error as Error).message}\n`);
    return exitCode.failed;
  }
}

/** Writes a configuration made of Asterisk's on standard output, and what became of it on standard error. */
async function importFrom(directory: string | undefined): Promise<number> {
  if (directory === undefined) return refuseUsage('import needs --from <directory>, such as /etc/asterisk');
  const { importConfiguration } = await import('./import/import.ts');
  const { directoryFiles } = await import('./import/directory.ts');
  let imported: ReturnType<typeof importConfiguration>;
  try {
    imported = importConfiguration(directoryFiles(directory));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    process.stderr.write(`hookswitch: ${directory} cannot be read: ${(error as Error).message}\n`);
    return exitCode.failed;
  }
  process.stderr.write(`${imported.report}\n`);
  if (!imported.isComplete) {
    process.stderr.write(
      `hookswitch: nothing is imported: files of ${directory} were not read, see "Not read" above\n`,
    );
    return exitCode.failed;
  }
  if (imported.found) return print(imported.yaml);
  process.stderr.write(`hookswitch: ${directory} holds no configuration of Asterisk\n`);
  return exitCode.failed;
}

async function hash(): Promise<number> {
  const { hashPassword } = await import('./config/password-hash.ts');
  let password = '';
  for await (const chunk of process.stdin) password += chunk;
  password = password.replace(/\r?\n$/, '');
  if (password === '') return refuseUsage('no password on standard input');
  return print(`${hashPassword(password)}\n`);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`hookswitch: ${(error as Error)?.stack ?? error}\n`);
    process.exit(exitCode.internal);
  },
);
