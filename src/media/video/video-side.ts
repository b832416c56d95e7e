import type { RtpTraceWriter } from '../../lib/rtp-trace.ts';
import type { Camera, VideoMember } from './camera.ts';
import { ShownCameras } from './shown-cameras.ts';
import type { VideoStream } from './video-stream.ts';

/** The stream in which a far side's own camera comes in. */
const ownCamera = 0;

/** All streams of video of one session, as member of a mix. */
export class VideoSide extends ShownCameras implements VideoMember {
  readonly streams = new Map<number, VideoStream>();
  /** Gets packet headers, if they are kept. */
  trace: RtpTraceWriter | undefined;

  get camera(): Camera | undefined {
    return this.streams.get(ownCamera)?.camera;
  }

  /** A stream is open: it shows the selected member. */
  opened(stream: VideoStream): void {
    this.streams.set(stream.stream, stream);
    stream.shown.show(this.shown[stream.stream]);
  }

  protected override changed(stream: number, camera: Camera | undefined): void {
    this.streams.get(stream)?.shown.show(camera);
  }
}
