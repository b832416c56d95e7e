import type { MediaSource } from '../../telephony/media.ts';
import type { OpenedVideo, VideoFlow, VideoStatistics, VideoStreamDump } from '../../telephony/video.ts';
import type { Showing } from '../protocol.ts';
import type { Place, ThreadLink } from '../thread-link.ts';
import { newStreamMemory, streamNumbers, videoWord } from './stream-memory.ts';

/** The session's present location. */
type Lives = { link: ThreadLink; place: Place };

type VideoLinesOptions = {
  /** The session's location; undefined after its end. */
  lives: () => Lives | undefined;
  /** Memory for the headers of all streams; undefined if none are kept. */
  trace: () => SharedArrayBuffer | undefined;
};

type Line = {
  stream: number;
  /** It shares the port of the audio. */
  bundled: boolean;
  memory: SharedArrayBuffer;
  /** Our address and port, once it has any. */
  local: { address: string; port: number } | undefined;
  source: MediaSource | undefined;
  flow: VideoFlow | undefined;
  opened: Promise<OpenedVideo>;
  resolve: (opened: OpenedVideo) => void;
  reject: (error: Error) => void;
};

/**
 * The main thread's side of a session's video streams: passes commands to its thread and keeps lasting state, so that
 * they can be opened again in another one.
 */
export class VideoLines {
  readonly #lives: () => Lives | undefined;
  readonly #trace: () => SharedArrayBuffer | undefined;
  readonly #lines = new Map<number, Line>();

  constructor({ lives, trace }: VideoLinesOptions) {
    this.#lives = lives;
    this.#trace = trace;
  }

  /** Whether any stream is open. */
  get any(): boolean {
    return this.#lines.size > 0;
  }

  /** See {@link VideoSession.openVideo}. */
  open(stream: number, bundled = false): Promise<OpenedVideo> {
    const known = this.#lines.get(stream);
    if (known) return known.opened;
    if (!Number.isInteger(stream) || stream < 0) return Promise.reject(new Error(`${stream} is no number of a stream`));
    const line = this.#add(stream, bundled);
    this.#open(line);
    return line.opened;
  }

  /** See {@link VideoSession.configureVideo}. */
  configure(stream: number, flow: VideoFlow | undefined): void {
    const line = this.#lines.get(stream);
    if (!line) return;
    const before = line.flow?.remote;
    if (!flow) this.#lines.delete(stream);
    else if (before && (before.address !== flow.remote.address || before.port !== flow.remote.port))
      line.source = undefined;
    line.flow = flow;
    this.#configure(line);
  }

  /** See {@link VideoSession.askKeyFrame}. A lost thread gets no request: a new one requests key frames itself. */
  askKeyFrame(): void {
    const lives = this.#lives();
    if (lives && this.any) lives.link.send({ type: 'askKeyFrame', session: lives.place.session });
  }

  /** See {@link VideoSession.videoStatistics}; the shown member is still a number. */
  async statistics(): Promise<Showing<VideoStatistics>[]> {
    const lives = this.#lives();
    if (!lives || !this.any) return [];
    const { session } = lives.place;
    // A thread that ends meanwhile leaves nothing to tell.
    const answer = await lives.link
      .request((request) => ({ type: 'videoStatistics', session, request }))
      .catch(() => undefined);
    return answer?.statistics ?? [];
  }

  /** The far side of a stream was found elsewhere than its SDP says. */
  located(stream: number, source: MediaSource): void {
    const line = this.#lines.get(stream);
    if (line) line.source = source;
  }

  /** The session lives elsewhere now: its streams are opened there, on the same ports. */
  again(): void {
    for (const line of this.#lines.values()) {
      this.#open(line);
      this.#configure(line);
    }
  }

  /** Data to continue the open streams. */
  dump(): VideoStreamDump[] {
    return [...this.#lines.values()].flatMap(({ stream, bundled, local, source, flow, memory }) =>
      local
        ? [
            {
              stream,
              local,
              ...(bundled && { bundled }),
              ...(source && { source }),
              ...(flow && { flow }),
              numbers: [...streamNumbers(memory)],
            },
          ]
        : [],
    );
  }

  /** Goes on with streams of another process. */
  restore(dumps: readonly VideoStreamDump[]): void {
    for (const { stream, bundled = false, local, source, flow, numbers } of dumps) {
      const line = this.#add(stream, bundled);
      Object.assign(line, { local, source, flow });
      this.goOn(stream, numbers);
      this.#open(line);
      this.#configure(line);
    }
  }

  /** A stream goes on with the numbers that it had. */
  goOn(stream: number, numbers: readonly number[]): void {
    const line = this.#lines.get(stream);
    if (line) streamNumbers(line.memory).set(numbers.slice(0, streamNumbers(line.memory).length));
  }

  /** The session is over. */
  end(reason: string): void {
    for (const { reject } of this.#lines.values()) reject(new Error(reason));
    this.#lines.clear();
  }

  #add(stream: number, bundled: boolean): Line {
    let settle: Pick<Line, 'resolve' | 'reject'> | undefined;
    const opened = new Promise<OpenedVideo>((resolve, reject) => {
      settle = { resolve, reject };
    });
    // The caller gets the error. Without one, as after a restart, the thread logs it.
    opened.catch(() => {});
    const line = {
      ...{ stream, bundled, memory: newStreamMemory(), opened, ...settle! },
      ...{ local: undefined, source: undefined, flow: undefined },
    };
    this.#lines.set(stream, line);
    return line;
  }

  #open(line: Line): void {
    const lives = this.#lives();
    if (!lives) {
      this.#fail(line, new Error('the session was closed'));
      return;
    }
    const { link, place } = lives;
    const { stream, bundled, memory, local, source } = line;
    const trace = this.#trace();
    link
      .request(
        (request) => ({
          type: 'openVideo',
          session: place.session,
          stream,
          request,
          memory,
          bundled,
          ...(local && { port: local.port }),
          ...(source && { source }),
          ...(trace && { trace }),
        }),
        ({ address, port }) => {
          line.local = { address, port };
          line.resolve({ ...line.local, ssrc: streamNumbers(memory)[videoWord.ssrc]! });
        },
      )
      .catch((error: Error) => {
        // In another thread by now, or about to be: that one will answer.
        const now = this.#lives();
        if (now && (now.place !== place || !link.alive)) return;
        this.#fail(line, error);
      });
  }

  #fail(line: Line, error: Error): void {
    if (this.#lines.get(line.stream) === line) this.#lines.delete(line.stream);
    line.reject(error);
  }

  #configure({ stream, flow }: Line): void {
    const lives = this.#lives();
    if (lives) lives.link.send({ type: 'configureVideo', session: lives.place.session, stream, flow });
  }
}
