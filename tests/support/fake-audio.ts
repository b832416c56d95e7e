import type {
  AudioDirection,
  AudioMeeting,
  AudioWatch,
  MediaReport,
  MediaSession,
  MediaSessionDump,
  Mix,
  MixMember,
  MixReport,
  PlayItem,
  PlayReport,
  RecordReport,
  RecordRequest,
} from '../../src/telephony/media.ts';
import type { VideoMode } from '../../src/telephony/video.ts';

/** A recorder that remembers what it is asked, and tells what the test says. */
export class FakeRecorder {
  readonly request: RecordRequest;
  readonly calls: string[] = [];
  readonly told: (report: RecordReport) => void;
  /** Whether it obeys at once; else the test tells how it ended. */
  obeys = true;
  #over = false;

  constructor(request: RecordRequest, told: (report: RecordReport) => void) {
    this.request = request;
    this.told = (report) => {
      if (this.#over) throw new Error(`the recorder of ${request.path} tells two ends`);
      this.#over = report.type !== 'record.started';
      told(report);
    };
  }

  get isOver(): boolean {
    return this.#over;
  }

  start(): void {
    this.told({ type: 'record.started' });
  }
  finish(reason: 'stopped' | 'duration' | 'silence' | 'digit' | 'sourceGone' = 'stopped', durationMs = 3_000): void {
    if (!this.#over) this.told({ type: 'record.finished', reason, durationMs, talkingMs: durationMs, silenceMs: 0 });
  }
  fail(reason: string): void {
    this.told({ type: 'record.failed', reason });
  }
  #asked(what: string): void {
    this.calls.push(what);
  }

  readonly handle = {
    stop: () => {
      this.#asked('stop');
      if (this.obeys) this.finish();
    },
    discard: () => {
      this.#asked('discard');
      if (this.obeys && !this.#over) this.told({ type: 'record.discarded' });
    },
    pause: () => this.#asked('pause'),
    resume: () => this.#asked('resume'),
    mute: () => this.#asked('mute'),
    unmute: () => this.#asked('unmute'),
    progress: () => ({ durationMs: 0, talkingMs: 0 }),
  };
}

/** Something that plays and records; items and recordings end when the test says so. */
export class FakeAudio implements AudioWatch {
  readonly id: string;
  readonly calls: string[] = [];
  readonly recorders: FakeRecorder[] = [];
  playing: { item: PlayItem; told: (report: PlayReport) => void } | undefined;
  /** Whether recorders begin at once. */
  startsRecorders = true;

  constructor(id: string) {
    this.id = id;
  }

  play(item: PlayItem, told: (report: PlayReport) => void) {
    this.calls.push(`play ${item.uri}`);
    this.playing = { item, told };
    const nothing = () => {};
    return { stop: () => this.finish(), pause: nothing, resume: nothing, restart: nothing, seek: nothing };
  }
  finish(report: PlayReport = { type: 'media.finished' }): void {
    const { playing } = this;
    this.playing = undefined;
    playing?.told(report);
  }
  silence(on: boolean): void {
    this.calls.push(`silence ${on ? 'on' : 'off'}`);
  }
  music(musicClass: string | undefined): void {
    this.calls.push(`music ${musicClass ?? 'off'}`);
  }
  record(request: RecordRequest, told: (report: RecordReport) => void) {
    this.calls.push(`record ${request.path}`);
    const recorder = new FakeRecorder(request, told);
    this.recorders.push(recorder);
    if (this.startsRecorders) recorder.start();
    return recorder.handle;
  }
  detectTalking(detection: { thresholdLevel: number; silenceMs: number } | undefined): void {
    this.calls.push(`detectTalking ${detection ? `${detection.thresholdLevel},${detection.silenceMs}` : 'off'}`);
  }
  detectTone(detection: { hertz: number } | undefined): void {
    this.calls.push(`detectTone ${detection ? detection.hertz : 'off'}`);
  }
  /** Everything under way ends, as when the source goes. */
  protected endAll(): void {
    this.finish({ type: 'media.failed', reason: 'closed' });
    for (const recorder of this.recorders) recorder.finish('sourceGone');
  }
}

/** A mix that knows who is in it. */
export class FakeMix extends FakeAudio implements Mix {
  readonly kind: 'mixing' | 'holding';
  readonly told: (report: MixReport) => void;
  readonly positionMs = undefined;
  /** Who is in it, by the id of the session. */
  readonly sessions = new Map<string, MixMember>();
  closed = false;

  constructor(id: string, kind: 'mixing' | 'holding', told: (report: MixReport) => void) {
    super(id);
    this.kind = kind;
    this.told = told;
  }

  join(session: MediaSession, member: MixMember): void {
    this.sessions.set(session.id, member);
  }
  change(session: MediaSession, member: MixMember): void {
    this.sessions.set(session.id, member);
  }
  leave(session: MediaSession): void {
    this.sessions.delete(session.id);
  }
  video(mode: VideoMode<MediaSession>): void {
    this.calls.push(`video ${mode.mode}${mode.mode === 'single' ? ` ${mode.source.id}` : ''}`);
  }
  show(session: MediaSession, sources: readonly (MediaSession | undefined)[]): void {
    this.calls.push(`show ${session.id} ${sources.map((source) => source?.id ?? 'nobody').join()}`);
  }
  close(): void {
    this.closed = true;
    this.sessions.clear();
    this.endAll();
  }
}

/** Media of a leg that only remembers. */
export class FakeMedia extends FakeAudio implements MediaSession {
  readonly told: (report: MediaReport) => void;

  constructor(id: string, told: (report: MediaReport) => void) {
    super(id);
    this.told = told;
  }

  hearDigit(digit: string): void {
    this.calls.push(`hearDigit ${digit}`);
  }

  sendDigits({ digits }: { digits: string }): void {
    this.calls.push(`digits ${digits}`);
  }
  indicate(indication: string | undefined): void {
    this.calls.push(`indicate ${indication ?? 'nothing'}`);
  }
  echo(on: boolean): void {
    this.calls.push(`echo ${on}`);
  }
  mute(muted: { in: boolean; out: boolean }): void {
    this.calls.push(`mute ${JSON.stringify(muted)}`);
  }
  statistics() {
    return Promise.resolve(undefined);
  }
  dump(): MediaSessionDump {
    return { version: 1, id: this.id, standing: [] };
  }
  close(): void {
    this.calls.push('close');
    this.endAll();
  }
}

/** Where mixes and snoops come from, and all that were ever opened. */
export class FakeMeeting implements AudioMeeting {
  readonly mixes: FakeMix[] = [];
  readonly snoops: { target: string; spy: AudioDirection; whisper: AudioDirection; session: FakeMedia }[] = [];

  openMix(id: string, kind: 'mixing' | 'holding', told: (report: MixReport) => void): FakeMix {
    const mix = new FakeMix(id, kind, told);
    this.mixes.push(mix);
    return mix;
  }
  openSnoop(
    id: string,
    target: MediaSession,
    directions: { spy: AudioDirection; whisper: AudioDirection },
    told: (report: MediaReport) => void,
  ): FakeMedia {
    const session = new FakeMedia(id, told);
    this.snoops.push({ target: target.id, ...directions, session });
    return session;
  }

  /** The last mix of that id. */
  mix(id: string): FakeMix {
    const mix = this.mixes.findLast((each) => each.id === id);
    if (!mix) throw new Error(`there is no mix ${id}`);
    return mix;
  }
}
