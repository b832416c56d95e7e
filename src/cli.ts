#!/usr/bin/env node
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { packageVersion as version } from './config/package-files.ts';
import { limitGrowth } from './lib/heap.ts';
import { refuseServerUrl } from './lib/shown-url.ts';
import type { ServeOptions } from './run-server.ts';

/**
 * The command line. Only `serve` imports the server, so that `check` and `--help` answer fast. Exit codes: 0 success
 * (also after SIGTERM), 1 bad configuration or an address in use, 2 wrong usage, 70 internal error.
 */

const exitCode = { ok: 0, failed: 1, usage: 2, internal: 70 } as const;

const usage = 'Usage: hookswitch <command> [--config <file>]';

async function help(): Promise<string> {
  const { variables } = await import('./config/environment.ts');
  const rows = [
    ['HOOKSWITCH_CONFIG', 'configuration file, same as --config'],
    ['HOOKSWITCH_PASSWORD', 'password for users and endpoints that have none of their own'],
    ['HOOKSWITCH_URL', 'URL of the server that commands ask (default http://127.0.0.1:8088)'],
    ['HOOKSWITCH_USER', 'credentials for these commands, as name:password'],
    ['HOOKSWITCH_CLIENT', 'YAML file with `url` and `user` instead (default ~/.config/hookswitch/client.yaml)'],
    ...variables.map(({ name, description }) => [name, description]),
  ];
  const { commands } = await import('./operator/operate.ts');
  const questions = Object.entries(commands)
    .map(([name, { about, needsId, takesBridge }]) => {
      const id = needsId ? ' <id>' : takesBridge ? ' [<id>]' : '';
      return `  ${`${name}${id}`.padEnd(25)}${about}`;
    })
    .join('\n');
  return `${usage}

Commands:
  serve    run the server
  check    check the configuration and report every problem
  ready    exit with 0 if the server takes calls (HOOKSWITCH_URL, or the address in the configuration)
  import   translate the Asterisk configuration in --from <directory>; the report goes to standard error
  replay <file>
           play a bundle again against an application and show what differs: --run <command> starts it, --app <URL>
           is its WebSocket server, otherwise it connects
  test-server
           run servers with simulated phones and time for tests in any language; prints its URL and token
  hash     read a password from standard input and print its password_hash
  certificate [<name> …]
           write a self-signed certificate for these names and addresses (default: this machine's) to
           hookswitch.pem and hookswitch.key, for a first try

Commands that ask a running server (set HOOKSWITCH_URL and HOOKSWITCH_USER):
${questions}

  token make <name> | list | revoke <name>
                 manage access tokens: they replace a user's password, with fewer rights and an expiry

Options:
  -c, --config <file>    YAML configuration file (default: built-in settings)
  -h, --help             print this text
  -v, --version          print the version
      --json             print JSON, one line for each item
      --supervised       \`serve\`: a small parent process starts the server again after a crash and holds its sockets meanwhile
      --take-over        \`serve\`: go on with the calls of the lost node \`cluster.name\`, at the addresses of this configuration
      --inspect          \`serve\`: stream all actors to Stately's inspector, for development
      --inspect-url <url>
                         URL of the inspector's relay (default ws://localhost:8080)
      --wait <seconds>   \`ready\`: how long to keep asking (default 0); \`drain\`: how long to wait (default: no limit)
      --off              \`drain\`: take new calls again
      --move             \`drain\`: have another node of the cluster go on with the calls, and end the server
      --run <command>    \`replay\`: starts the application; it finds HOOKSWITCH_URL, _USERNAME and _PASSWORD in its environment
      --as-test          \`bundle\`: print a test of the call instead, for \`node --test\`
      --from <directory> \`import\`: directory of the Asterisk configuration, such as /etc/asterisk
      --port <number>    \`test-server\`: port on 127.0.0.1 (default 0: any that is free)
      --app <name>       \`tail\`: the application to follow
      --forget <name>    \`nodes\`: remove a lost node that does not come back
      --user <name>      \`token\`: user that the token stands for (default: yourself)
      --expires <time>   \`token\`: lifetime, such as 90d, 12h, 30m or 3600s (default 30d)
      --read-only        \`token\`: allow reading only
      --applications, --operations, --contexts, --endpoints <list>
                         \`token\`: limit it to these, separated by commas; see docs/security.md

Environment variables (they override the file):
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
  if (command === 'replay') return replayBundle(rest, values);
  const { commands } = await import('./operator/operate.ts');
  if (command !== undefined && Object.hasOwn(commands, command)) return ask(command, rest, values);
  if (rest.length > 0) return refuseUsage(`unexpected argument: ${rest[0]}`);
  const withoutArguments: Readonly<Record<string, () => Promise<number>>> = {
    serve: () => serve(values),
    check: () => checkConfiguration(values.config),
    ready: () => askReady(values.config, values.wait),
    import: () => importFrom(values.from),
    hash,
    'test-server': () => serveTests(values.port),
  };
  if (command !== undefined)
    return Object.hasOwn(withoutArguments, command)
      ? (withoutArguments[command] as () => Promise<number>)()
      : refuseUsage(`unknown command: ${command}`);
  process.stderr.write(`hookswitch: no command given\n\n${await help()}`);
  return exitCode.usage;
}

/** The command with this name. Names of version 0.1 work until 0.3. */
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
        forget: { type: 'string' },
        user: { type: 'string' },
        expires: { type: 'string' },
        'read-only': { type: 'boolean' },
        applications: { type: 'string' },
        operations: { type: 'string' },
        contexts: { type: 'string' },
        endpoints: { type: 'string' },
        supervised: { type: 'boolean' },
        'take-over': { type: 'boolean' },
        wait: { type: 'string' },
        off: { type: 'boolean' },
        move: { type: 'boolean' },
        port: { type: 'string' },
        run: { type: 'string' },
        'as-test': { type: 'boolean' },
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

/** Prints the error and where the help is. The whole help would push the error off the screen. */
function refuseUsage(message: string): number {
  process.stderr.write(`hookswitch: ${message}\n\n${usage}\n\`hookswitch --help\` lists all commands and options.\n`);
  return exitCode.usage;
}

/** The configuration, or undefined after printing its problems. */
async function configurationOf(file: string | undefined) {
  const { readConfiguration } = await import('./read-configuration.ts');
  return readConfiguration(file);
}

async function checkConfiguration(file: string | undefined): Promise<number> {
  const config = await configurationOf(file);
  if (!config) return exitCode.failed;
  const { warnings } = await import('./config/load.ts');
  for (const warning of warnings(config)) process.stderr.write(`warning: ${warning}\n`);
  return print('configuration is valid\n');
}

const wrongWait = '--wait needs a number of seconds, such as 30';

/** The value of `--wait` in ms; undefined if it is no time. */
function readWait(wait: string): number | undefined {
  const seconds = Number(wait);
  return wait === '' || !Number.isFinite(seconds) || seconds < 0 ? undefined : seconds * 1000;
}

/** Asks whether the configured server takes calls. */
async function askReady(file: string | undefined, wait = '0'): Promise<number> {
  const waitMs = readWait(wait);
  if (waitMs === undefined) return refuseUsage(wrongWait);
  let url = process.env['HOOKSWITCH_URL'];
  if (url === undefined) {
    const config = await configurationOf(file);
    if (!config) return exitCode.failed;
    const { bind, port, tls } = config.http;
    const host = bind === '0.0.0.0' ? '127.0.0.1' : bind === '::' ? '::1' : bind;
    url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
  const wrong = refuseServerUrl(url);
  if (wrong !== undefined) return refuseUsage(wrong);
  const { untilReady } = await import('./operator/ready.ts');
  const { systemClock } = await import('./lib/clock.ts');
  const reason = await untilReady(url, waitMs, systemClock);
  if (reason === undefined) return print('ready\n');
  process.stderr.write(`hookswitch: ${reason}\n`);
  return exitCode.failed;
}

/** Runs a server as a child of this process, until a signal. Its code is not loaded here. */
async function runSupervised(): Promise<number> {
  const { supervise } = await import('./supervision/supervisor.ts');
  const { systemClock: clock } = await import('./lib/clock.ts');
  const { createLogger } = await import('./lib/log.ts');
  const log = createLogger({ level: 'info', destination: process.stderr }).child({ part: 'supervisor' });
  const command = [...process.execArgv, ...process.argv.slice(1).filter((argument) => argument !== '--supervised')];
  try {
    process.exit(await supervise({ command, clock, log }));
  } catch (error) {
    process.stderr.write(`hookswitch: --supervised cannot be used: ${(error as Error).message}\n`);
    return exitCode.failed;
  }
}

/** Runs until a signal; returns only if the server could not start. */
async function serve({ supervised, ...options }: ServeOptions & { supervised?: boolean }): Promise<number> {
  if (supervised) return runSupervised();
  // Before: V8's compiled code fits one set of options.
  limitGrowth();
  const { runServer } = await import('./run-server.ts');
  await runServer(options, () => process.exit(exitCode.internal));
  return exitCode.failed;
}

type AskOptions = {
  json?: boolean;
  app?: string;
  forget?: string;
  'as-test'?: boolean;
  wait?: string;
  off?: boolean;
  move?: boolean;
};

async function ask(
  command: string,
  rest: readonly string[],
  { json = false, app, forget, 'as-test': asTest = false, wait, off, move }: AskOptions,
): Promise<number> {
  for (const [option, given, owner] of [
    ['--as-test', asTest, 'bundle'],
    ['--forget', forget !== undefined, 'nodes'],
    ['--move', move === true, 'drain'],
  ] as const)
    if (given && command !== owner) return refuseUsage(`${option} is an option of \`${owner}\``);
  const { commands, operate } = await import('./operator/operate.ts');
  const { readClientSettings } = await import('./config/client-file.ts');
  const { systemClock } = await import('./lib/clock.ts');
  const { needsId, takesBridge } = commands[command] ?? {};
  if (needsId && rest.length === 0)
    return refuseUsage(`${command} needs the id of a call; \`hookswitch calls\` lists live calls`);
  const waitMs = wait === undefined ? undefined : readWait(wait);
  if (wait !== undefined && waitMs === undefined) return refuseUsage(wrongWait);
  const most = needsId || takesBridge ? 1 : 0;
  if (rest.length > most) return refuseUsage(`unexpected argument: ${rest[most]}`);
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
  // The reader may stop early (`| head`).
  process.stdout.on('error', () => process.exit(exitCode.ok));
  const write = asTest ? await writerOfTest() : (text: string) => void process.stdout.write(text);
  return reportErrors(() =>
    operate({ command, id: rest[0], app, forget, json, waitMs, off, move }, readClientSettings(process.env), {
      write,
      now: () => systemClock.now(),
      signal: end.signal,
      style: styleOf(process.stdout),
    }),
  );
}

/** Prints a bundle as the test that it makes. */
async function writerOfTest(): Promise<(bundle: string) => void> {
  const { testOf } = await import('../packages/testing/src/test-source.ts');
  return (bundle) => void process.stdout.write(testOf(bundle));
}

/** Plays a recorded call against an application. Exit code 1 when it went another way. */
async function replayBundle([file, ...more]: readonly string[], { run, app }: { run?: string; app?: string }) {
  if (file === undefined)
    return refuseUsage('replay needs a bundle; `hookswitch bundle <call> > bundle.json` writes one');
  if (more[0] !== undefined) return refuseUsage(`unexpected argument: ${more[0]}`);
  const { replayFile } = await import('../packages/testing/src/replay-command.ts');
  try {
    const { same, text } = await replayFile(file, { run, app }, (note) => void process.stderr.write(note));
    print(text);
    return same ? exitCode.ok : exitCode.failed;
  } catch (error) {
    process.stderr.write(`hookswitch: ${file}: ${(error as Error).message}\n`);
    return exitCode.failed;
  }
}

/** On a terminal, lines are cut to its width and coloured unless NO_COLOR is set (no-color.org). */
const styleOf = ({ isTTY, columns }: NodeJS.WriteStream) =>
  isTTY ? { colours: !process.env['NO_COLOR'], columns } : { colours: false };

/** Runs a command and prints its error, if any. @returns the exit code. */
async function reportErrors(ask: () => Promise<void>): Promise<number> {
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

async function askForTokens(
  [act = '', name, ...more]: readonly string[],
  { user, expires, applications, operations, contexts, endpoints, 'read-only': readOnly, json = false }: TokenOptions,
): Promise<number> {
  const { operateTokens } = await import('./operator/tokens.ts');
  const { readClientSettings } = await import('./config/client-file.ts');
  if (!['make', 'list', 'revoke'].includes(act)) return refuseUsage('token needs make, list or revoke');
  const extra = act === 'list' ? name : more[0];
  if (extra !== undefined) return refuseUsage(`unexpected argument: ${extra}`);
  if (act !== 'list' && name === undefined) return refuseUsage(`token ${act} needs the name of a token`);
  const asked = { act, name, user, expires, applications, operations, contexts, endpoints, readOnly, json };
  return reportErrors(() =>
    operateTokens(asked, readClientSettings(process.env), (text) => void process.stdout.write(text)),
  );
}

async function makeCertificate(asked: string[]): Promise<number> {
  const { writeSelfMadeCertificate } = await import('./config/certificate-files.ts');
  const { systemClock } = await import('./lib/clock.ts');
  const { createIds } = await import('./lib/ids.ts');
  const names = asked.length > 0 ? asked : ['localhost', hostname(), '127.0.0.1', '::1'];
  const serial = createIds(systemClock).hex(16);
  try {
    const files = writeSelfMadeCertificate({ directory: process.cwd(), names, now: systemClock.now(), serial });
    return print(`Wrote a self-signed certificate for ${names.join(', ')}, valid for one year. Add it to the configuration:
  tls:
    certificates:
      - { certificate: ${files.certificate}, key: ${files.key} }
Tell clients to trust ${files.certificate}.
`);
  } catch (error) {
    process.stderr.write(`hookswitch: cannot write the certificate: ${(error as Error).message}\n`);
    return exitCode.failed;
  }
}

/** Prints the translated configuration to standard output and the report to standard error. */
async function importFrom(directory: string | undefined): Promise<number> {
  if (directory === undefined) return refuseUsage('import needs --from <directory>, such as /etc/asterisk');
  const { directoryFiles, importConfiguration } = await import('../packages/importer/src/index.ts');
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
      `hookswitch: nothing was imported: some files of ${directory} could not be read; see "Not read" above\n`,
    );
    return exitCode.failed;
  }
  if (imported.found) return print(imported.yaml);
  process.stderr.write(`hookswitch: no Asterisk configuration found in ${directory}\n`);
  return exitCode.failed;
}

/** Serves tests in other languages until a signal, or until the program that started it closes the pipe to it. */
async function serveTests(port = '0'): Promise<number> {
  const wanted = Number(port);
  if (port === '' || !Number.isInteger(wanted) || wanted < 0 || wanted > 65_535)
    return refuseUsage('--port needs a number from 0 to 65535');
  const { serveTests: serve, untilTestsAreOver } = await import('../packages/testing/src/test-server.ts');
  const served = await serve(wanted).catch((error: NodeJS.ErrnoException) => error);
  if (served instanceof Error) {
    process.stderr.write(`hookswitch: cannot listen on 127.0.0.1:${port}: ${served.message}\n`);
    return exitCode.failed;
  }
  const { url, token } = served;
  print(`${JSON.stringify({ url, token })}\n`);
  await untilTestsAreOver();
  await served.close();
  process.exit(exitCode.ok);
}

async function hash(): Promise<number> {
  const { hashPassword } = await import('./config/password-hash.ts');
  let password = '';
  for await (const chunk of process.stdin) password += chunk;
  password = password.replace(/\r?\n$/, '');
  if (password === '') return refuseUsage('no password on standard input; try: echo secret | hookswitch hash');
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
