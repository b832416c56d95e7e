import { type Actor, createRuntime, spawn } from '../actors/spawn.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type SupervisionInput, supervisionMachine } from '../machines/supervision.ts';
import { type HandoverCalls, loadHandoverCalls } from '../native/handover-calls.ts';
import { Blame } from './blame.ts';
import { HeldSockets } from './held-sockets.ts';
import type { ServerMessage, SupervisedRole } from './messages.ts';
import { type ServerEnd, ServerProcess } from './server-process.ts';

type Supervision = {
  /** Arguments of Node that start a server. */
  command: readonly string[];
  clock: Clock;
  log: Logger;
};

/** Until a server tells those of its configuration. */
const firstBounds = {
  ...{ startTimeoutMs: 60_000, steadyMs: 10_000, pauseMs: 200, mostPauseMs: 30_000, mostCrashes: 20 },
  ...{ leaveTimeoutMs: 5_000, standby: false },
};
/** How long a server may take to end when the next one goes on, in ms. */
const endMs = 1_000;
const firstHolderBounds = { mostSockets: 100_000, callCrashes: 3 };

/**
 * Runs a server as a child process, holds its sockets, and starts it again after a crash. A signal ends both.
 * @returns the exit code. @throws Error with the reason where descriptors cannot be passed on.
 */
export async function supervise(options: Supervision): Promise<number> {
  const calls = await loadHandoverCalls();
  return new Promise((resolve) => new Supervisor(options, calls, resolve).run());
}

class Supervisor {
  readonly #options: Supervision;
  readonly #calls: HandoverCalls;
  readonly #done: (code: number) => void;
  readonly #held: HeldSockets;
  readonly #blame = new Blame();
  #bounds = firstHolderBounds;
  #actor!: Actor<typeof supervisionMachine>;
  #server: ServerProcess | undefined;
  #successor: ServerProcess | undefined;

  constructor(options: Supervision, calls: HandoverCalls, done: (code: number) => void) {
    this.#options = options;
    this.#calls = calls;
    this.#done = done;
    this.#held = new HeldSockets(firstHolderBounds.mostSockets, options.log);
  }

  run(): void {
    const { clock, log } = this.#options;
    const input: SupervisionInput = { id: 'server', ...firstBounds };
    spawn(this.#machine(), {
      ...{ id: input.id, input, runtime: createRuntime(clock, log) },
      onCreated: (actor) => {
        this.#actor = actor;
      },
      onEnded: () => this.#done(this.#actor.getSnapshot().context.code),
    });
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => this.#actor.send({ type: 'stop', signal }));
    process.on('SIGHUP', () => this.#actor.send({ type: 'reload' }));
  }

  #machine() {
    const { log } = this.#options;
    return supervisionMachine.provide({
      actions: {
        startServer: () => {
          this.#server = this.#successor ?? this.#spawn('server');
          this.#successor = undefined;
        },
        promoteSuccessor: () => this.#promoteSuccessor(),
        beginServer: () => this.#server && this.#begin(this.#server, false),
        goOnWithAudio: (_, { isWhole }: { isWhole: boolean }) => this.#server?.tell({ type: 'goOn', isWhole }),
        prepareSuccessor: (_, { role }: { role: 'standby' | 'upgrade' }) => {
          this.#successor = this.#spawn(role);
        },
        dropSuccessor: () => {
          this.#successor?.kill('SIGKILL');
          this.#successor = undefined;
        },
        refuseUpgrade: (_, { reason }: { reason: string }) => this.#server?.tell({ type: 'upgradeRefused', reason }),
        askToLeave: () => this.#server?.tell({ type: 'leave', lingers: true }),
        beginSuccessor: () => this.#successor && this.#begin(this.#successor, true),
        silenceServer: () => this.#server?.silence(),
        killServer: () => {
          log.error({ pid: this.#server?.pid }, 'the server does not respond and is killed');
          this.#server?.kill('SIGKILL');
        },
        passReload: () => this.#server?.kill('SIGHUP'),
        tellNoStandby: () => log.warn({}, 'no standby process: a crash needs a full start'),
        passSignal: (_, { signal }: { signal: NodeJS.Signals }) => this.#server?.kill(signal),
        tellGivenUp: () => log.error({}, 'the server crashed repeatedly and is not restarted'),
      },
    });
  }

  #promoteSuccessor(): void {
    const before = this.#server;
    this.#server = this.#successor;
    this.#successor = undefined;
    // It writes its last log lines.
    if (before) this.#options.clock.setTimeout(() => before.kill('SIGKILL'), endMs);
  }

  #spawn(role: SupervisedRole): ServerProcess {
    const server: ServerProcess = new ServerProcess(this.#calls, {
      ...{ role, command: this.#options.command },
      told: (message) => this.#hear(server, message),
      holds: (message, descriptors) => this.#held.take(message, descriptors),
      ended: (end) => this.#ended(server, end),
    });
    return server;
  }

  /** Gives a server the sockets of the one before. */
  #begin(server: ServerProcess, follows: boolean): void {
    const messages = this.#held.sendTo(server.link);
    if (messages === undefined)
      this.#options.log.error({ sockets: this.#held.size }, 'cannot hand all sockets to the next server');
    server.tell({ type: 'begin', messages: messages ?? 0, leaveOut: this.#blame.left, follows });
  }

  #hear(server: ServerProcess, message: ServerMessage): void {
    const { type } = message;
    if (type === 'prepared') this.#takeBounds(message.bounds);
    if (server === this.#server) {
      if (type === 'ready') this.#blame.forgetLeft();
      this.#actor.send(type === 'upgrade' ? { type } : { type: `server.${type}` });
    } else if (server === this.#successor && (type === 'prepared' || type === 'restored'))
      this.#actor.send({ type: `successor.${type}` });
  }

  #takeBounds({ mostSockets, callCrashes, ...bounds }: Extract<ServerMessage, { type: 'prepared' }>['bounds']): void {
    this.#bounds = { mostSockets, callCrashes };
    this.#held.most = mostSockets;
    this.#actor.send({ type: 'server.bounds', bounds });
  }

  #ended(server: ServerProcess, { how, code, signal, mark }: ServerEnd): void {
    if (server === this.#successor) {
      this.#successor = undefined;
      this.#actor.send({ type: 'successor.ended' });
    }
    if (server !== this.#server) return;
    const isExpected = this.#actor.getSnapshot().matches('stopping');
    if (how === 'crashed' && !isExpected) this.#tellCrash({ code, signal, mark });
    this.#server = undefined;
    this.#actor.send({ type: 'server.ended', how, code });
  }

  #tellCrash({ code, signal, mark }: Omit<ServerEnd, 'how'>): void {
    const { log } = this.#options;
    log.error({ code, signal, workedOn: mark, sockets: this.#held.size }, 'the server crashed');
    if (mark !== undefined && this.#blame.count(mark, this.#bounds.callCrashes))
      log.error({ workedOn: mark }, 'the server crashed repeatedly at one call: that call is not restored');
  }
}
