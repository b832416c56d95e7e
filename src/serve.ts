import type { Inspect } from './actors/spawn.ts';
import type { RefusedChange } from './build/reload.ts';
import { takeOver } from './build/take-over.ts';
import { warnings } from './config/load.ts';
import { packageVersion as version } from './config/package-files.ts';
import type { Config } from './config/schema.ts';
import { callable, echoUri } from './config/warnings.ts';
import { systemClock } from './lib/clock.ts';
import { compactWhenIdle } from './lib/heap.ts';
import { createLineOutput, type LineOutput, type LineStream } from './lib/line-output.ts';
import type { Logger } from './lib/log.ts';
import { plainJson, plainTexts } from './lib/plain-text.ts';
import { createLogging } from './logging.ts';
import type { SupervisionBounds } from './machines/supervision.ts';
import { type RunningServer, startServer } from './main.ts';
import { prepareThreads } from './media/start-worker.ts';
import { mediaSettings } from './settings.ts';
import { createStopSignals } from './signals.ts';
import { explainStartError } from './start-errors.ts';
import type { HolderBounds } from './supervision/messages.ts';
import type { Supervised } from './supervision/supervised.ts';

/** The command `serve`. */

type ServeOptions = {
  /** Hears xstate's inspection events. */
  inspect?: Inspect | undefined;
  /** The process that started this one. */
  supervised?: Supervised | undefined;
  /** Goes on with the calls of the lost node whose name the configuration has. */
  takesOver?: boolean | undefined;
};

/**
 * Runs until a signal. SIGINT and SIGTERM stop the server (see `signals.ts`). SIGHUP reloads the configuration.
 * @returns whether it started; if not, the reason has been printed.
 * @param reload reads the configuration again. @throws Error whose message has one line for each problem.
 * @param failed ends the process after an internal error, which has been logged.
 */
export async function serve(
  config: Config,
  reload: () => Config,
  failed: () => never,
  { inspect, supervised, takesOver }: ServeOptions = {},
): Promise<boolean> {
  // The reader of the banner may go away.
  process.stdout.on('error', () => {});
  const output = await logOutput(config.general.log_delay);
  // The last lines are written at exit: Node's standard error is synchronous.
  process.on('exit', () => output.flush());
  const logging = createLogging(config, output, systemClock);
  const { log } = logging;
  const fatal = (error: unknown) => {
    log.error({ error }, 'an unexpected error ends the server');
    failed();
  };
  process.on('uncaughtException', fatal).on('unhandledRejection', fatal);
  // Its threads load their code while the server before still works.
  const threads = supervised && prepareThreads(config.media.threads || 1, mediaSettings(config));
  const warmUpMain = async (isWanted: () => boolean): Promise<void> => {
    if (config.media.warm_up) await warmUp(isWanted, log);
  };
  const claimMs = config.supervisor.claim_timeout * 1000;
  const begun = threads && (await supervised.begin(supervisorBounds(config), warmUpMain, threads.warm, claimMs));
  const taken = takesOver
    ? await takeOver(config, { clock: systemClock, log }).catch((error: Error) => error)
    : undefined;
  if (taken instanceof Error) {
    process.stderr.write(`hookswitch: the calls cannot be taken over: ${taken.message}\n`);
    return false;
  }
  let askedToMove = (): void => {};
  const moving = new Promise<void>((resolve) => (askedToMove = resolve));
  const io = {
    ...(taken && { standIn: taken }),
    ...{ logging, ...(inspect && { inspect }), ...(threads && { startMediaThread: threads.start }) },
    fenced: () => fatal(new Error('another node goes on with the calls of this one')),
    moveCalls: () => askedToMove(),
    supervised: supervised && begun && { ...begun, upgrade: () => supervised.upgrade() },
  };
  const running = await startServer(config, io).catch((error: unknown) => {
    const reason = explainStartError(error, config);
    if (reason === undefined) throw error;
    process.stderr.write(`hookswitch: ${reason}\n`);
    return undefined;
  });
  await taken?.end();
  if (!running) return false;
  for (const warning of warnings(config)) log.warn({ warning }, 'likely mistake in the configuration');
  const stopCompacting = compactWhenIdle(systemClock, () => running.channels() === 0, running.compact);
  process.on('SIGHUP', () => applyReload(running, reload, log));
  const stopped = untilStopped(running, { config, log, supervised, moving });
  // Last: the reader of the banner may send a signal directly.
  process.stdout.write(banner(config, running));
  supervised?.ready();
  await stopped;
  stopCompacting();
  return true;
}

/** Runs the code of a restart once before it matters. A failure costs only time later. */
async function warmUp(isWanted: () => boolean, log: Logger): Promise<void> {
  const { warmUpRestore } = await import('./virtual/warm-up.ts');
  await warmUpRestore(isWanted).catch((error: unknown) =>
    log.warn({ error }, 'the warm-up of restart code failed: the next restart is slower'),
  );
}

const lostLines = 'log lines were lost: nothing read standard error';

/** Readable lines if standard error is a terminal, else JSON. Standard output holds only the banner. */
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

/** Removes control characters: text from the network must not steer a terminal. */
const safeOutput = (output: LineOutput, safe: (line: string) => string): Pick<LineOutput, 'write' | 'flush'> => ({
  write: (line) => output.write(safe(line)),
  flush: output.flush,
});

/** Reloads the configuration. An invalid one changes nothing and is logged with its lines. */
function applyReload(running: RunningServer, reload: () => Config, log: Logger): void {
  // Also if the configuration is wrong: log rotation does not depend on it.
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
    ...(echo === undefined ? [] : [['', `or call ${echo} from a phone on this machine to hear yourself`]]),
  ];
  const lines = rows.map(([name = '', text = '']) => `  ${name.padEnd(10)}${text}`);
  return `Hookswitch ${version} is ready\n${lines.join('\n')}\n`;
}

/** Resolves after a stop signal, when the server has closed. */
function untilStopped(
  running: RunningServer,
  {
    config,
    log,
    supervised,
    moving,
  }: { config: Config; log: Logger; supervised: Supervised | undefined; moving: Promise<void> },
): Promise<void> {
  return new Promise((done, failed) => {
    const say = (sentence: string) => process.stdout.write(`${sentence}\n`);
    const drainTimeoutMs = config.general.drain_timeout * 1000;
    const stop = createStopSignals(running, { clock: systemClock, log, say, drainTimeoutMs }, (error) =>
      error === undefined ? done() : failed(error as Error),
    );
    process.on('SIGTERM', stop).on('SIGINT', stop);
    const leaveMs = config.supervisor.leave_timeout * 1000;
    moving
      .then(() => running.moveCalls(leaveMs / 2))
      // The media threads go on meanwhile, for the time that the other node takes. Nothing else is handled any more.
      .then(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leaveMs))
      .then(() => done(), failed);
    // Without closing anything: the next process goes on with the sockets.
    const leave = (why: string, lingers: boolean): void => {
      log.info({ channels: running.channels() }, why);
      // The rest of the time is for writing.
      running.leave(leaveMs / 2, lingers).then(() => done(), failed);
    };
    supervised?.listen(
      (lingers) => leave('the calls are left to the next server', lingers),
      () => {
        if (config.state_store.on) leave('the supervisor is gone; the calls are left to the next server', false);
        else stop('the end of the supervisor');
      },
    );
  });
}

/** The bounds of the supervisor, which has no configuration of its own. */
const supervisorBounds = ({ supervisor: all }: Config): SupervisionBounds & HolderBounds => ({
  startTimeoutMs: all.start_timeout * 1000,
  steadyMs: all.steady * 1000,
  pauseMs: all.pause * 1000,
  mostPauseMs: all.longest_pause * 1000,
  mostCrashes: all.crashes,
  leaveTimeoutMs: all.leave_timeout * 1000,
  standby: all.standby,
  mostSockets: all.sockets,
  callCrashes: all.call_crashes,
});
