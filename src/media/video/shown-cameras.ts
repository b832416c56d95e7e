import type { Camera } from './camera.ts';

/** Sources of a mix's member, by stream: common to local and remote members. See {@link VideoMember}. */
export abstract class ShownCameras {
  /** Also of streams that are not open (yet). */
  protected readonly shown: (Camera | undefined)[] = [];

  show(stream: number, camera: Camera | undefined): void {
    if (this.shown[stream] === camera) return;
    this.shown[stream] = camera;
    this.changed(stream, camera);
  }

  showNoneFrom(stream: number): void {
    for (let each = stream; each < this.shown.length; each++) this.show(each, undefined);
    this.shown.length = Math.min(this.shown.length, stream);
  }

  hide(camera: Camera): void {
    for (const [stream, shown] of this.shown.entries()) if (shown === camera) this.show(stream, undefined);
  }

  /** Another camera is to be shown in a stream. */
  protected abstract changed(stream: number, camera: Camera | undefined): void;
}
