import type { VideoCodec } from '../../telephony/video.ts';
import { emptyMark, type FrameMark } from './frame-mark.ts';
import type { Layers } from './layers.ts';

/** A packet of a camera, as viewers get it. All but its octets is reused when they return. */
export type VideoPacket = {
  camera: Camera;
  /** Which of the sizes of its picture (see {@link Camera.layers}); 0 where there is one. */
  layer: number;
  codec: VideoCodec;
  /** The whole packet; its payload lies between the offsets. Not to be changed. */
  octets: Uint8Array;
  payloadStart: number;
  payloadEnd: number;
  /** The last packet of its frame. */
  marker: boolean;
  /** Sequence number and timestamp, never wrapped; they go on while `generation` is the same. */
  index: number;
  time: number;
  /** Another number means that the camera restarted: its pictures do not depend on earlier ones. */
  generation: number;
  /** Decoding can begin here; with `sets` before it, where it has any. */
  key: boolean;
  mark: FrameMark;
  /** Parameter sets of H.264 that a picture needs which comes without; they were heard before. */
  sets: readonly Uint8Array[];
};

/** A packet to be filled: one per camera, so that passing packets on allocates nothing. */
export function emptyPacket(camera: Camera, layer = 0): VideoPacket {
  return {
    ...{ camera, layer, codec: 'vp8', octets: new Uint8Array(0), payloadStart: 0, payloadEnd: 0, marker: false },
    ...{ index: 0, time: 0, generation: 0, key: false, mark: emptyMark(), sets: [] },
  };
}

/** A viewer of a camera. */
export interface Viewer {
  take(packet: VideoPacket): void;
  /** Bit rate of a camera that it can forward; Infinity: all. Changes are reported by {@link Camera.takesChanged}. */
  takes(camera: Camera): number;
}

/** Bit/s that all who watch a camera can pass on; Infinity = all there is. */
export function leastTaken(camera: Camera, viewers: Iterable<Viewer>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const viewer of viewers) least = Math.min(least, viewer.takes(camera));
  return least;
}

/** A far side's camera, here or in another thread. */
export interface Camera {
  /** Number of its session, in this thread or that of the mix. */
  readonly session: number;
  /** Whether it sends just now. */
  readonly live: boolean;
  /** The sizes that its picture comes in, from 1 on (RFC 8853): viewers get the packets of all. Undefined: one size. */
  readonly layers: Layers | undefined;
  /** Begins to hand its packets to a viewer; once is enough. */
  watch(viewer: Viewer): void;
  unwatch(viewer: Viewer): void;
  /** A viewer needs a key frame. Requests of all viewers share one rate limit. @param layer of that size; left out: of all. */
  askKeyFrame(layer?: number): void;
  /** A viewer's accepted rate has changed. The source gets the lowest of all, within the allowed rate of requests. */
  takesChanged(): void;
}

/** A member of a mix, here or in another thread, as the forwarder sees it. */
export interface VideoMember {
  /** Undefined while nothing of it can come in. */
  readonly camera: Camera | undefined;
  /** Shows a camera in one of its streams, from its next key frame on; undefined: none. Repeats have no effect. */
  show(stream: number, camera: Camera | undefined): void;
  /** Shows no camera in this stream and those behind it. */
  showNoneFrom(stream: number): void;
  /** Stops showing a camera. */
  hide(camera: Camera): void;
}
