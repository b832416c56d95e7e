import type { Inspect } from './actors/spawn.ts';
import type { RefusedChange } from './build/reload.ts';
import { warnings } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { callable, echoUri } from './config/warnings.ts';
import { systemClock } from './lib/clock.ts';
import { compactHeap } from './lib/heap.ts';
import { createLineOutput, type LineOutput, type LineStream } from './lib/line-output.ts';
import type { Logger } from './lib/log.ts';
import { plainJson, plainTexts } from './lib/plain-text.ts';
import { createLogging } from './logging.ts';
import { type RunningServer, startServer } from './main.ts';
import { version } from './settings.ts';
import { createStopSignals } from './signals.ts';
import { explainStartError } from './start-errors.ts';

/** The command `serve`: a server that runs until it is told to stop, and reads its configuration anew when told so. */

/**
 * Runs until a signal. SIGINT and SIGTERM stop (see `signals.ts`), SIGHUP reads the configuration anew.
 * @returns whether it came up; false when it was refused something, which has been told in one line.
 * @param reload reads the configuration anew. @throws Error whose message has one line for each problem.
 * @param failed ends the process after an error that should not have happened; the log holds it by then.
 * @param inspect hears what xstate tells inspectors.
 */
export async function serve(
  config: Config,
  reload: () => Config,
  failed: () => never,
  inspect?: Inspect,
): Promise<boolean> {
  // A reader of the banner that goes away is no reason to end.
  process.stdout.on('error', () => {});
  const output = await logOutput(config.general.log_delay);
  // Whatever ends the process: what is written there is written at once (Node's standard error is synchronous).
  process.on('exit', () => output.flush());
  const logging = createLogging(config, output, systemClock);
  const { log } = logging;
  const fatal = (error: unknown) => {
    log.error({ error }, 'an unexpected error ends the server');
    failed();
  };
  process.on('uncaughtException', fatal).on('unhandledRejection', fatal);
  const running = await startServer(config, { logging, ...(inspect && { inspect }) }).catch((error: unknown) => {
    const reason = explainStartError(error, config);
    if (reason === undefined) throw error;
    process.stderr.write(`hookswitch: ${reason}\n`);
    return undefined;
  });
  if (!running) return false;
  for (const warning of warnings(config)) log.warn({ warning }, 'likely mistake in the configuration');
  compactHeap();
  process.on('SIGHUP', () => applyReload(running, reload, log));
  const stopped = untilStopped(running, config, log);
  // Last: whoever reads it may send a signal at once.
  process.stdout.write(banner(config, running));
  await stopped;
  return true;
}

const lostLines = 'log lines were lost: whoever should read them was not there';

/** Lines for people where standard error is a terminal, JSON otherwise; standard output holds the banner alone. */
async function logOutput(delayMs: number): Promise<Pick<LineOutput, 'write' | 'flush'>> {
  const stream: LineStream = process.stderr;
  const json = (lost: number) => `${JSON.stringify({ level: 40, time: systemClock.now(), lost, msg: lostLines })}\n`;
  if (!process.stderr.isTTY)
    return safeOutput(createLineOutput(stream, { tellLost: json, clock: systemClock, delayMs }), plainJson);
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ ignore: 'pid,hostname', colorize: true });
  const tellLost = (lost: number) => format(json(lost));
  const output = createLineOutput(stream, { tellLost, clock: systemClock, delayMs: 0 });
  return safeOutput(output, (line) => format(plainTexts(line)));
}

/** Whoever reads the log at a terminal is not steered by what strangers have sent. */
const safeOutput = (output: LineOutput, safe: (line: string) => string): Pick<LineOutput, 'write' | 'flush'> => ({
  write: (line) => output.write(safe(line)),
  flush: output.flush,
});

/** Reads the configuration anew: a bad one changes nothing and is told with its lines. */
function applyReload(running: RunningServer, reload: () => Config, log: Logger): void {
  // Also when the configuration is wrong: whoever rotates files does not know of it.
  running.reopenFiles();
  let next: Config;
  try {
    next = reload();
  } catch (error) {
    const problems = (error as Error).message.split('\n');
    log.error({ problems }, 'the new configuration is invalid; nothing changed');
    return;
  }
  const { applied, needRestart, refused = [], later } = running.reload(next);
  log.info({ applied }, 'reloaded the configuration');
  const tellRefused = (changes: readonly RefusedChange[]): void => {
    for (const each of changes) log.error(each, 'changed settings could not be applied; the old values stay');
  };
  tellRefused(refused);
  void later?.then(tellRefused);
  if (needRestart.length > 0) log.warn({ needRestart }, 'some settings that changed need a restart');
}

function banner(config: Config, { addresses, password = config.generated_password }: RunningServer): string {
  const user = config.http.users[0]?.name ?? '';
  const http = callable(addresses.http);
  const sip = Object.entries(addresses.sip).flatMap(([protocol, all]) =>
    all.map((address) => `${callable(address)} (${protocol})`),
  );
  const echo = echoUri(config, addresses.sip);
  const rows = [
    ['HTTP', http],
    ['user', user],
    ...(password === undefined
      ? []
      : [['password', `${password}   (random, for this run only; set HOOKSWITCH_PASSWORD to choose one)`]]),
    ['SIP', sip.join(', ') || 'none'],
    ['try it', `curl -u ${user}:${password ?? '<password>'} ${http}/asterisk/ping`],
    ...(echo === undefined ? [] : [['', `or call ${echo} from a phone on this machine: you hear yourself`]]),
  ];
  const lines = rows.map(([name = '', text = '']) => `  ${name.padEnd(10)}${text}`);
  return `Hookswitch ${version} is ready\n${lines.join('\n')}\n`;
}

/** Resolves when the server has been told to stop and has closed. */
function untilStopped(running: RunningServer, config: Config, log: Logger): Promise<void> {
  return new Promise((done, failed) => {
    const say = (sentence: string) => process.stdout.write(`${sentence}\n`);
    const drainTimeoutMs = config.general.drain_timeout * 1000;
    const stop = createStopSignals(running, { clock: systemClock, log, say, drainTimeoutMs }, (error) =>
      error === undefined ? done() : failed(error as Error),
    );
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
}
