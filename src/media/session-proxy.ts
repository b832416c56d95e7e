import type { TracedKind } from '../lib/rtp-trace.ts';
import type {
  MediaMeasures,
  MediaReport,
  MediaRest,
  MediaSession,
  MediaSessionDump,
  MediaSource,
  Overhearer,
  PlayHandle,
  PlayItem,
  PlayReport,
  RecordHandle,
  RecordReport,
  RecordRequest,
  SessionCommand,
} from '../telephony/media.ts';
import type { RtpStatistics } from '../telephony/rtp-statistics.ts';
import { SessionCommands } from '../telephony/session-commands.ts';
import type { VideoMeasures } from '../telephony/video.ts';
import { OverhearingSide } from './overhearers.ts';
import type { EngineReport, OverhearCommand } from './protocol.ts';
import { Plays, playHandle, Recordings, recordHandle } from './proxy-handles.ts';
import { memoryWord, type SessionMemory, secretNumbers, secretWords } from './session-memory.ts';
import type { Linked, Place, ThreadLink } from './thread-link.ts';

export type SessionProxyOptions = {
  id: string;
  told: (report: MediaReport) => void;
  /** Hears what is measured of it now and then. */
  measured?: ((measures: MediaMeasures | VideoMeasures) => void) | undefined;
  /** Hears that its dump has changed, but for what changes all the time. */
  changed?: (() => void) | undefined;
  /** Memory for its RTP headers; undefined if none are kept. */
  trace?: ((kind: TracedKind) => SharedArrayBuffer | undefined) | undefined;
  /** Hears that the session is over, once. */
  ended: (session: SessionProxy) => void;
};

/** Commands that hold until another of their type: a session opened again is asked them again. */
type Standing = Extract<
  SessionCommand,
  { type: 'configure' | 'echo' | 'mute' | 'indicate' | 'music' | 'silence' | 'detectTalking' | 'detectTone' }
>;

const sessionClosed = 'the session was closed';

/**
 * The main thread's side of a session of any kind: turns calls into commands, and reports into callbacks. It keeps
 * lasting state, so that the session can be opened again in another thread.
 */
export abstract class SessionProxy extends SessionCommands implements MediaSession, Linked {
  readonly id: string;
  /** Its number among all sessions. */
  listed = 0;
  protected readonly told: (report: MediaReport) => void;
  readonly #options: SessionProxyOptions;
  /** Created by their first use: most sessions of a busy server need none of them. */
  #playsMade: Plays | undefined;
  #recordingsMade: Recordings | undefined;
  #overhearingMade: OverhearingSide | undefined;
  readonly #standing = new Map<Standing['type'], Standing>();
  #item: { play: number; item: PlayItem; paused: boolean } | undefined;
  protected link: ThreadLink | undefined;
  protected place: Place | undefined;
  protected source: MediaSource | undefined;
  #ended = false;

  constructor(options: SessionProxyOptions) {
    super();
    this.#options = options;
    this.id = options.id;
    this.told = options.told;
  }

  get #plays(): Plays {
    return (this.#playsMade ??= new Plays());
  }

  get #recordings(): Recordings {
    return (this.#recordingsMade ??= new Recordings());
  }

  get #overhearing(): OverhearingSide {
    return (this.#overhearingMade ??= new OverhearingSide((command) => this.post(command)));
  }

  /** Whether it was closed or lost. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The thread it lives in; undefined while it needs none. */
  get thread(): ThreadLink | undefined {
    return this.link;
  }

  /** The mix it is a member of. */
  mix:
    | {
        drop(session: SessionProxy): void;
        /** It leaves, and joins again behind `between`. */
        rejoin(session: SessionProxy, between: () => void): void;
        forget(session: SessionProxy): void;
        videoOpened(session: SessionProxy): void;
        /** The id for a number in the mix's thread. */
        idOf(session: number | undefined): string | undefined;
      }
    | undefined;

  /** Whether it has any stream of video. */
  get hasVideo(): boolean {
    return false;
  }

  /**
   * Its number in its thread; opens it there if necessary, so that it can be heard.
   * @param near preferred thread.
   */
  abstract audible(near?: ThreadLink): number | undefined;

  /** Opens it where it has its place now. */
  protected abstract open(): void;

  /** Gives it a place in the thread when a command needs one. */
  protected prepare(_command: SessionCommand): void {}

  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
    const play = this.#plays.add(told);
    this.#ask({ type: 'play', play, item });
    if (this.#ended || !this.link) this.#plays.failAll(sessionClosed);
    return playHandle(this.#plays, play, (command) => this.#ask(command));
  }

  record(request: RecordRequest, told: (report: RecordReport) => void): RecordHandle {
    const recording = this.#recordings.add(told);
    this.#ask(this.#recordings.order(recording, request));
    if (this.#ended || !this.link) this.#recordings.failAll(sessionClosed);
    return recordHandle(this.#recordings, recording, (command) => this.#ask(command));
  }

  /** Adds a listener. @returns a function that removes it; undefined if the session has no audio. */
  overhear(overhearer: Overhearer): (() => void) | undefined {
    return this.audible() === undefined ? undefined : this.#overhearing.begin(overhearer);
  }

  async statistics(): Promise<RtpStatistics | undefined> {
    const { link, place } = this;
    if (this.#ended || !link || !place) return undefined;
    const { session } = place;
    // A thread that ends meanwhile leaves nothing to tell.
    const answer = await link.request((request) => ({ type: 'statistics', session, request })).catch(() => undefined);
    return answer?.statistics;
  }

  dump(): MediaSessionDump {
    const { id, source, place } = this;
    const item = this.#item;
    const stream = place && streamOf(place.memory);
    return {
      version: 1,
      id,
      ...(source && { source }),
      standing: [...this.#standing.values()],
      ...(stream && { stream }),
      ...(item && { item: { item: item.item, positionMs: this.#positionMs(item), paused: item.paused } }),
    };
  }

  /** What changes without a command: for a process that goes on with it. */
  rest(): MediaRest['sessions'][number] {
    const { id, stream, item, video } = this.dump();
    return {
      id,
      ...(stream && { stream }),
      ...(item && { positionMs: item.positionMs }),
      ...(video && { video: video.map(({ stream: number, numbers }) => ({ stream: number, numbers })) }),
    };
  }

  /** The process before went on with it until now. No command has left yet. */
  goOn({ positionMs }: MediaRest['sessions'][number]): void {
    // The command that plays it has the same object.
    if (this.#item && positionMs !== undefined) this.#item.item.heardMs = positionMs;
  }

  close(): void {
    if (this.#ended) return;
    this.#end();
    if (this.place) {
      this.link?.send({ type: 'close', session: this.place.session });
      this.link?.remove(this.place);
    }
    this.#playsMade?.failAll(sessionClosed);
    this.#recordingsMade?.failAll(sessionClosed);
    this.#overhearingMade?.ended();
  }

  heard(report: EngineReport): void {
    switch (report.type) {
      case 'played':
        if (this.#item?.play === report.play) this.#item = undefined;
        this.#playsMade?.end(report.play, report.report);
        return;
      case 'recorded':
        this.#recordingsMade?.tell(report.recording, report.report);
        return;
      case 'measured':
        this.#options.measured?.(report.measures);
        return;
      case 'videoMeasured':
        this.#options.measured?.(this.showing(report.measures));
        return;
      case 'overheard':
        this.#overhearingMade?.heard(report.overhearer, report.audio);
        return;
      case 'located':
        this.source = report.source;
        this.changed();
        return;
      case 'faulted':
        if (this.place) this.link?.remove(this.place);
        this.lost(report.reason);
        return;
      default:
        this.#detected(report);
    }
  }

  /** What call control hears of the audio. */
  #detected(report: EngineReport): void {
    switch (report.type) {
      case 'digit':
        this.told({ type: 'media.digit', digit: report.digit, durationMs: report.durationMs });
        return;
      case 'digitPassed':
        this.told({ type: 'media.digitPassed', digit: report.digit, durationMs: report.durationMs });
        return;
      case 'talkingStarted':
        this.#keepTalking(true);
        this.told({ type: 'media.talkingStarted' });
        return;
      case 'talkingFinished':
        this.#keepTalking(false);
        this.told({ type: 'media.talkingFinished', durationMs: report.durationMs });
        return;
      case 'toneDetected': {
        const { direction, signal } = report;
        this.told({ type: 'media.toneDetected', direction, ...(signal && { signal }) });
        return;
      }
      case 'timedOut':
        this.told({ type: 'media.timedOut' });
        return;
      case 'keyFrameNeeded':
        this.told({ type: 'media.keyFrameNeeded' });
        return;
    }
  }

  /** Reports the shown and the selected member by id. */
  protected showing<Told extends { shown?: number; awaited?: number }>({
    shown,
    awaited,
    ...told
  }: Told): Omit<Told, 'shown' | 'awaited'> & { shows?: string; awaits?: string } {
    const [shows, awaits] = [this.mix?.idOf(shown), this.mix?.idOf(awaited)];
    return { ...told, ...(shows !== undefined && { shows }), ...(awaits !== undefined && { awaits }) };
  }

  /** The session is lost for good: reported in a later turn. */
  lost(reason: string): void {
    if (this.#ended) return;
    this.#end();
    this.#playsMade?.failAll(reason);
    this.#recordingsMade?.failAll(reason);
    this.#overhearingMade?.ended();
    this.tellLost(reason);
  }

  /** Lives in `link` from now on, as it was. Recordings go on in their files, without what was not there yet. */
  moveTo(link: ThreadLink): void {
    const before = this.place;
    if (!this.#ended && before) this.reopen(link, before.memory);
  }

  /** Opens it in a thread, and asks there for all that it was asked. */
  protected reopen(link: ThreadLink, memory?: SessionMemory): void {
    const item = this.#item;
    const positionMs = item && this.#positionMs(item);
    this.link = link;
    this.place = link.add(this);
    if (memory) this.place.memory.set(memory);
    this.open();
    this.askAgain();
    if (item && positionMs !== undefined) {
      this.post({ type: 'play', play: item.play, item: { ...item.item, heardMs: positionMs } });
      if (item.paused) this.post({ type: 'control', play: item.play, action: 'pause' });
    }
    for (const command of this.#recordingsMade?.again() ?? []) this.post(command);
    this.#overhearingMade?.again();
  }

  /** Tells that the session is gone. */
  protected tellLost(reason: string): void {
    // After the items, and after the caller that opens it: the caller knows it before its end.
    this.link?.soon(() => this.told({ type: 'media.lost', reason }));
  }

  /** Asks a session that was just opened for all that holds. */
  protected askAgain(): void {
    for (const command of this.#standing.values()) this.post(command);
  }

  /** Keeps what a dump says. */
  protected restore(standing: readonly SessionCommand[]): void {
    for (const command of standing) this.#ask(command);
  }

  protected post(command: SessionCommand | OverhearCommand): void {
    if (this.place) this.link?.send({ ...command, session: this.place.session });
  }

  protected command(command: SessionCommand): void {
    this.#ask(command);
  }

  #ask(command: SessionCommand): void {
    if (this.#ended) return;
    this.prepare(command);
    this.keep(command);
    this.post(command);
  }

  /** The next detector need not report known talking again. */
  #keepTalking(talking: boolean): void {
    const kept = this.#standing.get('detectTalking');
    if (kept?.type === 'detectTalking' && kept.detection)
      this.#standing.set('detectTalking', { ...kept, detection: { ...kept.detection, talking } });
  }

  protected changed(): void {
    this.#options.changed?.();
  }

  /** Keeps a command that holds from now on. */
  protected keep(command: SessionCommand): void {
    switch (command.type) {
      case 'configure':
      case 'echo':
      case 'mute':
      case 'indicate':
      case 'music':
      case 'silence':
      case 'detectTalking':
      case 'detectTone':
        this.#standing.set(command.type, command);
        return;
      case 'play':
        this.#item = { play: command.play, item: command.item, paused: false };
        return;
      case 'control':
        if (this.#item?.play === command.play && command.action !== 'restart')
          this.#item.paused = command.action === 'pause';
        return;
    }
  }

  /** Position of the item in ms, last written by the thread. */
  #positionMs({ play, item }: { play: number; item: PlayItem }): number {
    const memory = this.place?.memory;
    return memory?.[memoryWord.play] === play ? memory[memoryWord.positionMs]! : (item.heardMs ?? item.offsetMs);
  }

  #end(): void {
    this.#ended = true;
    this.#options.ended(this);
  }
}

function streamOf(memory: SessionMemory): NonNullable<MediaSessionDump['stream']> | undefined {
  if (memory[memoryWord.begun] !== 1) return undefined;
  const word = (name: keyof typeof memoryWord) => memory[memoryWord[name]]!;
  return {
    ssrc: word('ssrc'),
    sequence: word('sequence'),
    timestamp: word('timestamp'),
    origin: word('origin'),
    zeroMs: word('clockZero'),
    clockRate: word('clockRate'),
    packets: word('packets'),
    octets: word('octets'),
    ...(secretWords.some((name) => word(name) > 0) && { secret: secretNumbers(memory) }),
  };
}
