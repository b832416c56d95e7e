import type { Camera, VideoMember } from './camera.ts';
import type { VideoStream } from './video-stream.ts';

/** The stream in which a far side's own camera comes in. */
const ownCamera = 0;

/** All streams of video of one session, as member of a mix. */
export class VideoSide implements VideoMember {
  readonly streams = new Map<number, VideoStream>();
  /** Whom each is to show, also those that are not open yet. */
  readonly #shown: (Camera | undefined)[] = [];

  get camera(): Camera | undefined {
    return this.streams.get(ownCamera)?.camera;
  }

  /** A stream is open: it shows whom it was to show. */
  opened(stream: VideoStream): void {
    this.streams.set(stream.stream, stream);
    stream.shown.show(this.#shown[stream.stream]);
  }

  show(stream: number, camera: Camera | undefined): void {
    if (this.#shown[stream] === camera) return;
    this.#shown[stream] = camera;
    this.streams.get(stream)?.shown.show(camera);
  }

  showNoneFrom(stream: number): void {
    for (let each = stream; each < this.#shown.length; each++) this.show(each, undefined);
    this.#shown.length = Math.min(this.#shown.length, stream);
  }

  hide(camera: Camera): void {
    for (const [stream, shown] of this.#shown.entries()) if (shown === camera) this.show(stream, undefined);
  }
}
