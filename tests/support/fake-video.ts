import type { LegVideo, LegVideoStream, ShownStream } from '../../src/telephony/driver.ts';
import type { VideoCodec } from '../../src/telephony/video.ts';

/** The video of a leg whose far side agrees to everything, as far as it takes streams, when the test lets it. */
export class FakeVideo implements LegVideo {
  readonly formats: readonly VideoCodec[];
  choices: readonly VideoCodec[];
  untried: readonly VideoCodec[] = [];
  /** For how many others there were no streams, the last time it was asked. */
  others = 0;
  preferred: VideoCodec | undefined;
  readonly asked: ShownStream[][] = [];
  streams: readonly LegVideoStream[];
  capacity: number;

  constructor(capacity = 4, codec: VideoCodec = 'vp8', camera = true) {
    this.capacity = capacity;
    this.formats = [codec];
    this.choices = [codec];
    this.streams = [{ stream: 0, codec, send: true, receive: camera }];
  }

  prefer(codec: VideoCodec | undefined): void {
    this.preferred = codec;
  }

  show(streams: readonly ShownStream[], others = 0): void {
    this.others = others;
    this.asked.push([...streams]);
  }

  statistics(): Promise<never[]> {
    return Promise.resolve([]);
  }

  /** What was asked for last is agreed on. */
  agree(): void {
    const [own] = this.streams;
    const more = (this.asked.at(-1) ?? []).slice(1, this.capacity);
    this.streams = [
      ...(own ? [own] : []),
      ...more.map(({ codec }, index) => ({ stream: index + 1, codec, send: true, receive: false })),
    ];
  }
}
