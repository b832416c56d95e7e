#!/usr/bin/env node
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import type { Config } from './config/schema.ts';
import type { RunningServer } from './main.ts';
import type { Listen } from './sip/transport/transport.ts';

/**
 * The command line. The server itself is imported only by `serve`, so that `check` and `--help` answer at once.
 * Exit codes: 0 all well (also after SIGTERM), 1 bad configuration or an address that cannot be had, 2 wrong usage,
 * 70 an error that should not have happened.
 */

const exitCode = { ok: 0, failed: 1, usage: 2, internal: 70 } as const;

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

async function help(): Promise<string> {
  const { variables } = await import('./config/environment.ts');
  const rows = [
    ['HOOKSWITCH_CONFIG', 'the configuration file, as --config'],
    ['HOOKSWITCH_PASSWORD', 'password of users and endpoints that have none of their own'],
    ...variables.map(({ name, description }) => [name, description]),
  ];
  return `Usage: hookswitch <command> [--config <file>]

Commands:
  serve    run the telephone system
  check    read the configuration and say what is wrong with it
  hash     read a password from standard input, write it as password_hash

Options:
  -c, --config <file>   configuration file (YAML); without one the defaults stand
  -h, --help            this text
  -v, --version         the version

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
  const [command, ...rest] = positionals;
  if (rest.length > 0) return refuseUsage(`unexpected argument: ${rest[0]}`);
  if (command === 'serve') return serve(values.config);
  if (command === 'check') return checkConfiguration(values.config);
  if (command === 'hash') return hash();
  return refuseUsage(command === undefined ? 'no command given' : `unknown command: ${command}`);
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        config: { type: 'string', short: 'c' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
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

async function refuseUsage(message: string): Promise<number> {
  process.stderr.write(`hookswitch: ${message}\n\n${await help()}`);
  return exitCode.usage;
}

/** The configuration, or undefined after its problems have been told. */
async function load(file: string | undefined): Promise<Config | undefined> {
  const { ConfigError, loadConfig } = await import('./config/load.ts');
  const { validate } = await import('./dialplan/parse.ts');
  try {
    return loadConfig({ ...(file === undefined ? {} : { file }), env: process.env, checkDialplan: validate });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}

async function checkConfiguration(file: string | undefined): Promise<number> {
  const config = await load(file);
  return config ? print('configuration is valid\n') : exitCode.failed;
}

async function hash(): Promise<number> {
  const { hashPassword } = await import('./config/password-hash.ts');
  let password = '';
  for await (const chunk of process.stdin) password += chunk;
  password = password.replace(/\r?\n$/, '');
  if (password === '') return refuseUsage('no password on standard input');
  return print(`${hashPassword(password)}\n`);
}

/** Runs until a signal; only comes back when it could not start. */
async function serve(file: string | undefined): Promise<number> {
  const config = await load(file);
  if (!config) return exitCode.failed;
  const logging = await createLog(config);
  const { log } = logging;
  const fatal = (error: unknown) => {
    log.error({ error }, 'an error that should not have happened ends the server');
    process.exit(exitCode.internal);
  };
  process.on('uncaughtException', fatal).on('unhandledRejection', fatal);

  const { startServer } = await import('./main.ts');
  let running: RunningServer;
  try {
    running = await startServer(config, { logging });
  } catch (error) {
    const reason = explainStorageError(error) ?? explainListenError(error, config);
    if (reason === undefined) throw error;
    process.stderr.write(`hookswitch: ${reason}\n`);
    return exitCode.failed;
  }
  process.stdout.write(banner(config, running));
  // Whatever a fault left open must not keep a server alive that was told to stop.
  process.exit(await untilStopped(running, log));
}

/** Lines for people where standard error is a terminal, JSON otherwise; standard output holds the banner alone. */
async function createLog(config: Config) {
  const { createLogging } = await import('./logging.ts');
  if (!process.stderr.isTTY) return createLogging(config, process.stderr);
  const { default: pretty } = await import('pino-pretty');
  return createLogging(config, pretty({ destination: 2, sync: true, ignore: 'pid,hostname' }));
}

/** What a data directory that cannot be used means for people; undefined for other errors. */
function explainStorageError(error: unknown): string | undefined {
  if ((error as Error).name !== 'StorageError') return undefined;
  const { message } = error as Error;
  return `the data directory cannot be used: ${message}; choose another with HOOKSWITCH_DATA or \`general.data_directory\` in the configuration`;
}

/** What a failed `listen` means for people: which address, and which setting chooses another; undefined for others. */
function explainListenError(error: unknown, config: Config): string | undefined {
  const reasons: Record<string, string> = {
    EADDRINUSE: 'is taken by another program',
    EACCES: 'may not be used by this user',
    EADDRNOTAVAIL: 'is not an address of this machine',
  };
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (!reason) return undefined;
  const { listen: sip } = error as { listen?: Listen };
  const { bind, port } = config.http;
  const where = sip ? `SIP ${sip.protocol} ${sip.host}:${sip.port}` : `HTTP ${bind}:${port}`;
  const setting = code === 'EADDRNOTAVAIL' ? 'bind' : 'port';
  const variable = `HOOKSWITCH_${sip ? 'SIP' : 'HTTP'}_${setting.toUpperCase()}`;
  const key = `${sip ? 'sip.transports[]' : 'http'}.${setting}`;
  return `${where} ${reason}; choose another with ${variable} or \`${key}\` in the configuration`;
}

function banner(config: Config, { addresses, password = config.generated_password }: RunningServer): string {
  const user = config.http.users[0]?.name ?? '';
  const sip = Object.entries(addresses.sip).map(([protocol, address]) => `${address} (${protocol})`);
  const rows = [
    ['HTTP', addresses.http],
    ['user', user],
    ...(password === undefined
      ? []
      : [['password', `${password}   (made up for this run; HOOKSWITCH_PASSWORD sets your own)`]]),
    ['SIP', sip.join(', ')],
    ['try it', `curl -u ${user}:${password ?? '<password>'} ${addresses.http}/asterisk/ping`],
    ['', `or call sip:echo@${Object.values(addresses.sip)[0] ?? ''} and hear yourself`],
  ];
  const lines = rows.map(([name = '', text = '']) => `  ${name.padEnd(10)}${text}`);
  return `Hookswitch ${version} is ready\n${lines.join('\n')}\n`;
}

/** Waits for a signal. The first drains: no new calls, live ones may end in time; a second ends it at once. */
function untilStopped(running: RunningServer, log: import('./lib/log.ts').Logger): Promise<number> {
  return new Promise((done, failed) => {
    let signals = 0;
    const stop = (signal: NodeJS.Signals) => {
      signals += 1;
      log.info({ signal }, signals === 1 ? 'stopping: no new calls' : 'stopping at once');
      const closed = signals === 1 ? running.drain().then(() => running.close()) : running.close();
      closed.then(() => done(exitCode.ok), failed);
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
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
