import { emptyHeader, readHeader } from '../rtp/header.ts';
import { type Camera, emptyPacket, type VideoPacket, type Viewer } from './camera.ts';
import { readMark } from './read-mark.ts';
import type { CarriedPacket } from './video-wire.ts';

export type FarCameraOptions = {
  session: number;
  /** Somebody watches now, or nobody any more. */
  watched: (on: boolean) => void;
  /** Asks for a key frame there. */
  ask: () => void;
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
    if (this.#viewers.size === 1) this.#options.watched(true);
  }

  unwatch(viewer: Viewer): void {
    if (this.#viewers.delete(viewer) && this.#viewers.size === 0) this.#options.watched(false);
  }

  askKeyFrame(): void {
    this.#options.ask();
  }

  /** Hands on a packet that has come from there. */
  receive(carried: CarriedPacket): void {
    const packet = this.#packet;
    const header = this.#header;
    const { octets, codec } = carried;
    if (!readHeader(octets, header)) return;
    const { payloadStart, payloadEnd, marker } = header;
    readMark(codec, octets, payloadStart, payloadEnd, packet.mark);
    Object.assign(packet, carried, { payloadStart, payloadEnd, marker });
    packet.camera = this;
    for (const viewer of this.#viewers) viewer.take(packet);
  }
}
