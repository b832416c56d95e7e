import { emptyHeader, readHeader } from '../rtp/header.ts';
import { type Camera, emptyPacket, leastTaken, type VideoPacket, type Viewer } from './camera.ts';
import { Layers } from './layers.ts';
import { readMark } from './read-mark.ts';
import type { CarriedPacket } from './video-wire.ts';

type FarCameraOptions = {
  session: number;
  /** The first viewer was added, or the last removed. */
  watched: (on: boolean) => void;
  /** Asks for a key frame there. */
  ask: (layer: number | undefined) => void;
  /** Monotonic time in ms. */
  now: () => number;
  /** The lowest rate of the viewers here; Infinity: no limit. */
  takes: (bitrate: number) => void;
};

/** Stands for a camera whose packets come in in another thread. */
export class FarCamera implements Camera {
  readonly session: number;
  readonly #options: FarCameraOptions;
  readonly #viewers = new Set<Viewer>();
  readonly #packet: VideoPacket;
  readonly #header = emptyHeader();
  /** Whether it sends, as the other thread says. */
  live = false;
  layers: Layers | undefined;
  /** The last reported rate of the viewers, and whether it may have changed. */
  #takes = Number.POSITIVE_INFINITY;
  #mayTakeOther = false;

  constructor(options: FarCameraOptions) {
    this.session = options.session;
    this.#options = options;
    this.#packet = emptyPacket(this);
  }

  /** Whether anybody watches. */
  get watched(): boolean {
    return this.#viewers.size > 0;
  }

  watch(viewer: Viewer): void {
    if (this.#viewers.has(viewer)) return;
    this.#viewers.add(viewer);
    this.#mayTakeOther = true;
    if (this.#viewers.size === 1) this.#options.watched(true);
  }

  unwatch(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    this.#mayTakeOther = true;
    if (this.#viewers.size > 0) return;
    // Without viewers there is no limit.
    this.#takes = Number.POSITIVE_INFINITY;
    this.#options.watched(false);
  }

  askKeyFrame(layer?: number): void {
    this.#options.ask(layer);
  }

  takesChanged(): void {
    this.#mayTakeOther = true;
  }

  /** To be called once a tick. */
  tick(): void {
    if (!this.#mayTakeOther) return;
    this.#mayTakeOther = false;
    const takes = leastTaken(this, this.#viewers);
    if (takes === this.#takes) return;
    this.#takes = takes;
    this.#options.takes(takes);
  }

  /** Hands on a packet that has come from there. */
  receive(carried: CarriedPacket): void {
    const packet = this.#packet;
    const header = this.#header;
    const { octets, codec } = carried;
    if (!readHeader(octets, header)) return;
    const { payloadStart, payloadEnd, marker } = header;
    readMark(codec, octets, header, packet.mark);
    Object.assign(packet, carried, { payloadStart, payloadEnd, marker });
    packet.camera = this;
    if (packet.layer > 0) {
      this.layers ??= new Layers();
      this.layers.took(packet.layer, octets.length, this.#options.now());
    } else this.layers = undefined;
    for (const viewer of this.#viewers) viewer.take(packet);
  }
}
