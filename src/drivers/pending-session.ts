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
import { apply, type PendingCommand, pendingCommandsOf } from './standing.ts';

/** A session whose port is still being opened, and what has been asked of it meanwhile. */
export interface PendingSession extends MediaSession {
  /** Runs `fn` with the session: at once, or when the port is there; never when it could not be had. In order. */
  whenOpen(fn: (session: RtpSession) => void): void;
  /** Asks for what another session was asked for and had not done yet. */
  ask(standing: readonly SessionCommand[]): void;
}

/**
 * Stands in for an RTP session until its port is open: what is asked before is done then, in the same order.
 * Closing it closes the session, also one that opens later. @param onFailed hears once that no port could be had.
 */
export function createPendingSession(
  id: string,
  opening: Promise<RtpSession>,
  log: Logger,
  onFailed: (error: unknown) => void,
): PendingSession {
  let session: RtpSession | undefined;
  let state: 'opening' | 'open' | 'failed' | 'closed' = 'opening';
  let waiting: { run(session: RtpSession): void; failed(reason: string): void }[] = [];
  /** What is asked before the port is open, as data. */
  const pending: PendingCommand[] = [];

  const settle = (reason: string) => {
    const left = waiting;
    waiting = [];
    for (const task of left) task.failed(reason);
  };

  const task = (run: (session: RtpSession) => void, failed: (reason: string) => void = () => {}) => {
    if (session && state === 'open') run(session);
    else if (state === 'opening') waiting.push({ run, failed });
    else failed('the session is closed');
  };

  const command = (asked: PendingCommand) => {
    if (state === 'opening') pending.push(asked);
    task((opened) => apply(opened, asked));
  };

  const dump = (): MediaSessionDump => session?.dump() ?? { version: 1, id, standing: [...pending] };

  opening.then(
    (opened) => {
      if (state === 'closed') return opened.close();
      session = opened;
      state = 'open';
      const left = waiting;
      waiting = [];
      // Nobody hears this promise: what one throws is logged, and the others are done all the same.
      for (const { run, failed } of left)
        guarded(log, 'what was asked of an RTP session', run, () => failed('the session could not do it'))(opened);
    },
    (error: unknown) => {
      if (state === 'closed') return;
      state = 'failed';
      settle('no port could be opened');
      guarded(log, 'telling that no RTP port was had', onFailed)(error);
    },
  );

  return {
    id,
    whenOpen: (fn) => task(fn),
    play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
      let handle: PlayHandle | undefined;
      task(
        (opened) => {
          handle = opened.play(item, told);
        },
        (reason) => told({ type: 'media.failed', reason }),
      );
      const control = (action: (handle: PlayHandle) => void) => task(() => handle && action(handle));
      return {
        stop: () => control((playing) => playing.stop()),
        pause: () => control((playing) => playing.pause()),
        resume: () => control((playing) => playing.resume()),
        restart: () => control((playing) => playing.restart()),
        seek: (ms) => control((playing) => playing.seek(ms)),
      };
    },
    sendDigits: (sequence) => command({ type: 'sendDigits', sequence }),
    indicate: (indication) => command({ type: 'indicate', indication }),
    echo: (on) => command({ type: 'echo', on }),
    mute: (directions) => command({ type: 'mute', in: directions.in, out: directions.out }),
    music: (musicClass) => command({ type: 'music', musicClass }),
    silence: (on) => command({ type: 'silence', on }),
    detectTalking: (detection) => command({ type: 'detectTalking', detection }),
    detectTone: (detection) => command({ type: 'detectTone', detection }),
    ask(standing) {
      for (const each of pendingCommandsOf(standing)) command(each);
    },
    record(request: RecordRequest, told: (report: RecordReport) => void): RecordHandle {
      let handle: RecordHandle | undefined;
      task(
        (opened) => {
          handle = opened.record(request, told);
        },
        (reason) => told({ type: 'record.failed', reason }),
      );
      const control = (action: (handle: RecordHandle) => void) => task(() => handle && action(handle));
      return {
        stop: () => control((recording) => recording.stop()),
        discard: () => control((recording) => recording.discard()),
        pause: () => control((recording) => recording.pause()),
        resume: () => control((recording) => recording.resume()),
        mute: () => control((recording) => recording.mute()),
        unmute: () => control((recording) => recording.unmute()),
        progress: () => handle?.progress() ?? request.goOn ?? { durationMs: 0, talkingMs: 0 },
      };
    },
    dump,
    statistics: () =>
      new Promise<RtpStatistics | undefined>((resolve, reject) => {
        task(
          (opened) => opened.statistics().then(resolve, reject),
          () => resolve(undefined),
        );
      }),
    close() {
      if (state === 'closed') return;
      const open = state === 'open';
      state = 'closed';
      settle('the session is closed');
      if (open) session?.close();
    },
  };
}
