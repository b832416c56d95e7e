import { guarded } from '../lib/guard.ts';
import type { Logger } from '../lib/log.ts';
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

type Task = { run(session: RtpSession): void; failed(reason: string): void };

/**
 * Stands in for an RTP session until its port is open: what is asked before is done then, in the same order.
 * Closing it closes the session, also one that opens later.
 */
export class PendingSession extends SessionCommands implements MediaSession {
  readonly id: string;
  readonly #log: Logger;
  #session: RtpSession | undefined;
  #state: 'opening' | 'open' | 'failed' | 'closed' = 'opening';
  #waiting: Task[] = [];
  /** Commands before the port is open, as data. */
  readonly #pending: PlainCommand[] = [];
  /** The session that it continues. */
  #from: MediaSessionDump | undefined;

  /** @param onFailed hears once that no port could be had. */
  constructor(id: string, opening: Promise<RtpSession>, log: Logger, onFailed: (error: unknown) => void) {
    super();
    this.id = id;
    this.#log = log;
    opening.then(
      (opened) => this.#opened(opened),
      (error: unknown) => {
        if (this.#state === 'closed') return;
        this.#state = 'failed';
        this.#settle('no port could be opened');
        guarded(log, 'telling that no RTP port was had', onFailed)(error);
      },
    );
  }

  #opened(session: RtpSession): void {
    if (this.#state === 'closed') {
      session.close();
      return;
    }
    this.#session = session;
    this.#state = 'open';
    const left = this.#waiting;
    this.#waiting = [];
    // Nobody hears the promise: what one throws is logged, and the others are done all the same.
    for (const { run, failed } of left)
      guarded(this.#log, 'what was asked of an RTP session', run, () => failed('the session could not do it'))(session);
  }

  #settle(reason: string): void {
    const left = this.#waiting;
    this.#waiting = [];
    for (const task of left) task.failed(reason);
  }

  #task(run: (session: RtpSession) => void, failed: (reason: string) => void = () => {}): void {
    if (this.#session && this.#state === 'open') run(this.#session);
    else if (this.#state === 'opening') this.#waiting.push({ run, failed });
    else failed('the session is closed');
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
    if (this.#state === 'opening') this.#pending.push(asked);
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
    if (this.#state === 'closed') return;
    const open = this.#state === 'open';
    this.#state = 'closed';
    this.#settle('the session is closed');
    if (open) this.#session?.close();
  }
}
