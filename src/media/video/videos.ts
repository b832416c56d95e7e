import type { MediaSource } from '../../telephony/media.ts';
import type { VideoFlow, VideoStatistics } from '../../telephony/video.ts';
import type { MediaConfig } from '../config.ts';
import type { PortPair, PortPool } from '../rtp/ports.ts';

export type VideosOptions = {
  config: MediaConfig;
  ports: PortPool;
};

/** How a stream is opened. */
export type OpenVideo = {
  stream: number;
  /** Where its numbers are kept; a stream that has begun there goes on. */
  memory: SharedArrayBuffer;
  /** The port it had before; absent = any. */
  port?: number | undefined;
  /** The far side that was found before. */
  source?: MediaSource | undefined;
};

type Stream = { pair: PortPair | undefined; flow: VideoFlow | undefined };

/** All streams of video of one thread. */
export class Videos {
  readonly #options: VideosOptions;
  readonly #sessions = new Map<number, Map<number, Stream>>();

  constructor(options: VideosOptions) {
    this.#options = options;
  }

  /** Opens a stream with ports of its own. @throws Error when there are none, or it was closed meanwhile. */
  async open(session: number, { stream: number, port }: OpenVideo): Promise<{ address: string; port: number }> {
    const { ports, config } = this.#options;
    const stream: Stream = { pair: undefined, flow: undefined };
    const streams = this.#sessions.get(session) ?? new Map<number, Stream>();
    this.#sessions.set(session, streams.set(number, stream));
    const pair = await (port === undefined ? ports.acquire() : ports.acquireAt(port));
    if (this.#sessions.get(session)?.get(number) !== stream) {
      ports.release(pair);
      throw new Error('the stream was closed while it was opened');
    }
    stream.pair = pair;
    return { address: config.announcedAddress ?? config.address, port: pair.rtp.port };
  }

  /** Sets how a stream flows; undefined = it is closed. */
  configure(session: number, number: number, flow: VideoFlow | undefined): void {
    const streams = this.#sessions.get(session);
    const stream = streams?.get(number);
    if (!streams || !stream) return;
    stream.flow = flow;
    if (flow) return;
    streams.delete(number);
    if (stream.pair) this.#options.ports.release(stream.pair);
  }

  statistics(_session: number): VideoStatistics[] {
    return [];
  }

  /** A session is over. */
  close(session: number): void {
    for (const number of [...(this.#sessions.get(session)?.keys() ?? [])]) this.configure(session, number, undefined);
    this.#sessions.delete(session);
  }
}
