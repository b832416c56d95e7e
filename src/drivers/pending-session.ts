import { guarded } from '../lib/guard.ts';
import type { Logger } from '../lib/log.ts';
import {
  type PendingMediaSessionEffect,
  type PendingMediaSessionEvent,
  pendingMediaSessionTable,
  type SessionTask,
} from '../machines/pending-media-session.ts';
import { EffectsOn, type TableEffects, TableRun, type TableWatch } from '../machines/table-run.ts';
import type {
  MediaSession,
  MediaSessionDump,
  PlayHandle,
  PlayItem,
  PlayReport,
  RecordHandle,
  RecordReport,
  RecordRequest,
  RtpSession,
  SessionCommand,
} from '../telephony/media.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';
import { apply, type PlainCommand, plainCommandsOf, SessionCommands } from '../telephony/session-commands.ts';

type SessionEvent = PendingMediaSessionEvent<RtpSession>;
type Task = SessionTask<RtpSession>;
type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { type: Type }>;

const closed = 'the session is closed';

/** The log, and who sees the chart of a session. */
type Witnesses = { readonly log: Logger; readonly tables?: TableWatch | undefined };

/**
 * Queues the commands of an RTP session until its port is open, in order. Closing it closes the session, also one that
 * opens later.
 */
export class PendingSession extends SessionCommands implements MediaSession {
  readonly id: string;
  readonly #log: Logger;
  readonly #onFailed: (reason: string) => void;
  readonly #run: TableRun<
    keyof typeof pendingMediaSessionTable,
    SessionEvent,
    PendingMediaSessionEffect,
    PendingSession
  >;
  #session: RtpSession | undefined;
  readonly #waiting: Task[] = [];
  /** Commands before the port is open, as data. */
  readonly #pending: PlainCommand[] = [];
  /** The session that it continues. */
  #from: MediaSessionDump | undefined;

  /** @param onFailed hears once why no port could be had: without a stack, because every call logs it when ports run out */
  constructor(
    id: string,
    opening: Promise<RtpSession>,
    { log, tables }: Witnesses,
    onFailed: (reason: string) => void,
  ) {
    super();
    this.id = id;
    this.#log = log;
    this.#onFailed = onFailed;
    const effects = new EffectsOn(this, PendingSession.#effects);
    this.#run = new TableRun(pendingMediaSessionTable, 'opening', effects, { watch: tables, id, only: 'moves' });
    opening.then(
      (session) => void (this.#run.send({ type: 'session.opened', session }) || session.close()),
      (error: unknown) => this.#run.send({ type: 'opening.failed', error }),
    );
  }

  static readonly #effects: TableEffects<PendingMediaSessionEffect, SessionEvent, PendingSession> = {
    keepSession: ({ session }: Of<'session.opened'>, pending) => {
      pending.#session = session;
    },
    runWaiting: (_, pending) => pending.#runWaiting(),
    refuseWaiting: (_, pending) =>
      pending.#refuseWaiting(pending.#run.state === 'failed' ? 'no port could be opened' : closed),
    tellFailed: ({ error }: Of<'opening.failed'>, pending) =>
      guarded(
        pending.#log,
        'telling that no RTP port was had',
        pending.#onFailed,
      )(error instanceof Error ? error.message : String(error)),
    queueTask: ({ task }: Of<'task'>, pending) => pending.#waiting.push(task),
    runTask: ({ task }: Of<'task'>, pending) => task.run(pending.#session!),
    refuseTask: ({ task }: Of<'task'>) => task.failed(closed),
    closeSession: (_, pending) => pending.#session?.close(),
  };

  #runWaiting(): void {
    // Nobody awaits the promise: an error of one command is logged, and the others run.
    for (const { run, failed } of this.#waiting.splice(0))
      guarded(this.#log, 'what was asked of an RTP session', run, () => failed('the session could not do it'))(
        this.#session!,
      );
  }

  #refuseWaiting(reason: string): void {
    for (const task of this.#waiting.splice(0)) task.failed(reason);
  }

  #task(run: (session: RtpSession) => void, failed: (reason: string) => void = () => {}): void {
    if (!this.#run.send({ type: 'task', task: { run, failed } })) failed(closed);
  }

  /** Starts what has a handle. @returns the handle once there is one, and a way to act on it in the order of calls. */
  #start<H>(begin: (session: RtpSession) => H, failed: (reason: string) => void) {
    let handle: H | undefined;
    this.#task((opened) => {
      handle = begin(opened);
    }, failed);
    return {
      handle: () => handle,
      control: (action: (handle: H) => void) => this.#task(() => handle && action(handle)),
    };
  }

  /** Runs `fn` with the session: directly, or when the port is open; never if it cannot be opened. In order. */
  whenOpen(fn: (session: RtpSession) => void): void {
    this.#task(fn);
  }

  protected command(asked: PlainCommand): void {
    if (this.#run.state === 'opening') this.#pending.push(asked);
    this.#task((opened) => apply(opened, asked));
  }

  /** Repeats the unfinished commands of another session. */
  ask(standing: readonly SessionCommand[]): void {
    for (const each of plainCommandsOf(standing)) this.command(each);
  }

  /** Continues this session of another process: its data are those of this one until the port is open. */
  goOnFrom(from: MediaSessionDump): void {
    this.#from = from;
  }

  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
    const { control } = this.#start<PlayHandle>(
      (opened) => opened.play(item, told),
      (reason) => told({ type: 'media.failed', reason }),
    );
    return {
      stop: () => control((playing) => playing.stop()),
      pause: () => control((playing) => playing.pause()),
      resume: () => control((playing) => playing.resume()),
      restart: () => control((playing) => playing.restart()),
      seek: (ms) => control((playing) => playing.seek(ms)),
    };
  }

  record(request: RecordRequest, told: (report: RecordReport) => void): RecordHandle {
    const { control, handle } = this.#start<RecordHandle>(
      (opened) => opened.record(request, told),
      (reason) => told({ type: 'record.failed', reason }),
    );
    return {
      stop: () => control((recording) => recording.stop()),
      discard: () => control((recording) => recording.discard()),
      pause: () => control((recording) => recording.pause()),
      resume: () => control((recording) => recording.resume()),
      mute: () => control((recording) => recording.mute()),
      unmute: () => control((recording) => recording.unmute()),
      progress: () => handle()?.progress() ?? request.goOn ?? { durationMs: 0, talkingMs: 0 },
    };
  }

  dump(): MediaSessionDump {
    if (this.#session) return this.#session.dump();
    const { standing = [], ...from } = this.#from ?? { version: 1, id: this.id };
    return { ...from, standing: [...standing, ...this.#pending] };
  }

  statistics(): Promise<RtpStatistics | undefined> {
    return new Promise((resolve, reject) => {
      this.#task(
        (opened) => opened.statistics().then(resolve, reject),
        () => resolve(undefined),
      );
    });
  }

  close(): void {
    this.#run.send({ type: 'close' });
  }
}
