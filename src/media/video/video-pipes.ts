import type { Camera, VideoMember, VideoPacket, Viewer } from './camera.ts';
import { FarCamera } from './far-camera.ts';
import { ShownCameras } from './shown-cameras.ts';
import type { CarriedPacket, VideoPipeMessage, VideoWire, VideoWireListener } from './video-wire.ts';

/** Stands in the thread of a mix for a member that lives in another one. */
export class VideoPipeMember extends ShownCameras implements VideoMember, Viewer, VideoWireListener {
  readonly camera: FarCamera;
  readonly #wire: VideoWire;
  /** Watched cameras: a previous one may continue until the next one starts. */
  readonly #watched = new Map<number, Camera>();
  /** Bit/s that those streams take of each; of one that is not named they take all. */
  readonly #takes = new Map<number, number>();

  /** @param session its number here. @param now monotonic time in ms. */
  constructor(session: number, wire: VideoWire, now: () => number) {
    super();
    this.#wire = wire;
    this.camera = new FarCamera({
      session,
      watched: (on) => this.#wire.tell({ type: 'watch', on }),
      ask: (layer) => this.#wire.tell({ type: 'ask', ...ofSize(layer) }),
      now,
      takes: (bitrate) => this.#wire.tell({ type: 'takes', ...told(bitrate) }),
    });
  }

  takes({ session }: Camera): number {
    return this.#takes.get(session) ?? Number.POSITIVE_INFINITY;
  }

  take(packet: VideoPacket): void {
    // A loss between threads looks like a gap: a key frame ends it.
    if (!this.#wire.packet(packet.camera.session, packet)) packet.camera.askKeyFrame(packet.layer || undefined);
  }

  /** Takes what has come meanwhile. */
  wake(): void {
    this.#wire.read(this);
  }

  tick(): void {
    this.wake();
    this.camera.tick();
  }

  hearPacket(_camera: number, packet: CarriedPacket): void {
    this.camera.receive(packet);
  }

  hearMessage(message: VideoPipeMessage): void {
    switch (message.type) {
      case 'camera':
        this.camera.live = message.live;
        return;
      case 'ask':
        if (message.camera !== undefined) this.#watched.get(message.camera)?.askKeyFrame(message.layer);
        return;
      case 'takes':
        if (message.camera !== undefined) this.#take(message.camera, message.bitrate);
        return;
      case 'watch':
        if (message.camera !== undefined) this.#watch(message.camera, message.on);
        return;
    }
  }

  close(): void {
    this.showNoneFrom(0);
    for (const session of [...this.#watched.keys()]) this.#watch(session, false);
  }

  protected override changed(stream: number, camera: Camera | undefined): void {
    // A session's camera keeps its number and its viewers when it is opened again.
    if (camera && this.#watched.has(camera.session)) this.#watch(camera.session, true);
    this.#wire.tell({ type: 'show', stream, ...(camera && { camera: camera.session }) });
  }

  /** Starts or stops passing on a camera. A camera that is no longer shown is not started. */
  #watch(session: number, on: boolean): void {
    const before = this.#watched.get(session);
    const camera = on ? this.shown.find((each) => each?.session === session) : undefined;
    if (before === camera) return;
    before?.unwatch(this);
    this.#watched.delete(session);
    if (!camera) return void this.#takes.delete(session);
    this.#watched.set(session, camera);
    camera.watch(this);
  }

  #take(session: number, bitrate: number | undefined): void {
    const camera = this.#watched.get(session);
    if (!camera) return;
    if (bitrate === undefined) this.#takes.delete(session);
    else this.#takes.set(session, bitrate);
    camera.takesChanged();
  }
}

/** Is to a session what a mix in another thread is to its members. */
export class VideoPipeMeeting implements Viewer, VideoWireListener {
  /** The pipe of its audio. */
  readonly beside: number;
  readonly #now: () => number;
  readonly #wire: VideoWire;
  readonly #member: VideoMember;
  /** Cameras by their numbers at the mix: shown ones by stream, and watched ones. */
  readonly #asked: (FarCamera | undefined)[] = [];
  readonly #cameras = new Map<number, FarCamera>();
  #watching = false;
  #watched: Camera | undefined;
  #toldLive = false;
  /** Bit/s that those at the mix who are shown it take. */
  #takes = Number.POSITIVE_INFINITY;

  /** @param now monotonic time in ms. */
  constructor(member: VideoMember, beside: number, wire: VideoWire, now: () => number) {
    this.#now = now;
    this.beside = beside;
    this.#member = member;
    this.#wire = wire;
  }

  take(packet: VideoPacket): void {
    if (!this.#wire.packet(0, packet)) packet.camera.askKeyFrame(packet.layer || undefined);
  }

  takes(): number {
    return this.#takes;
  }

  wake(): void {
    this.#wire.read(this);
  }

  tick(): void {
    this.wake();
    const { camera } = this.#member;
    const live = camera?.live === true;
    if (live !== this.#toldLive) this.#wire.tell({ type: 'camera', live });
    this.#toldLive = live;
    this.#watch();
    for (const each of this.#cameras.values()) each.tick();
  }

  hearPacket(camera: number, packet: CarriedPacket): void {
    this.#cameras.get(camera)?.receive(packet);
  }

  hearMessage(message: VideoPipeMessage): void {
    switch (message.type) {
      case 'watch':
        this.#watching = message.on;
        if (!message.on) this.#takes = Number.POSITIVE_INFINITY;
        this.#watch();
        return;
      case 'ask':
        this.#member.camera?.askKeyFrame(message.layer);
        return;
      case 'takes':
        this.#takes = message.bitrate ?? Number.POSITIVE_INFINITY;
        this.#watched?.takesChanged();
        return;
      case 'show': {
        const { stream } = message;
        const before = this.#asked[stream];
        this.#asked[stream] = message.camera === undefined ? undefined : this.#cameraOf(message.camera);
        this.#member.show(stream, this.#asked[stream]);
        if (before) this.#forget(before);
        return;
      }
    }
  }

  close(): void {
    this.#watching = false;
    this.#watch();
    this.#member.showNoneFrom(0);
  }

  #watch(): void {
    const camera = this.#watching ? this.#member.camera : undefined;
    if (camera === this.#watched) return;
    this.#watched?.unwatch(this);
    this.#watched = camera;
    camera?.watch(this);
  }

  #cameraOf(session: number): FarCamera {
    const known = this.#cameras.get(session);
    if (known) return known;
    const camera: FarCamera = new FarCamera({
      session,
      watched: (on) => {
        this.#wire.tell({ type: 'watch', camera: session, on });
        this.#forget(camera);
      },
      ask: (layer) => this.#wire.tell({ type: 'ask', camera: session, ...ofSize(layer) }),
      now: this.#now,
      takes: (bitrate) => this.#wire.tell({ type: 'takes', camera: session, ...told(bitrate) }),
    });
    camera.live = true;
    this.#cameras.set(session, camera);
    return camera;
  }

  /** Forgets a camera that is neither shown nor watched. */
  #forget(camera: FarCamera): void {
    if (!camera.watched && !this.#asked.includes(camera)) this.#cameras.delete(camera.session);
  }
}

/** A size of a picture as it crosses. */
const ofSize = (layer: number | undefined): { layer?: number } => (layer === undefined ? {} : { layer });

/** A bit rate as it crosses. */
const told = (bitrate: number): { bitrate?: number } => (bitrate === Number.POSITIVE_INFINITY ? {} : { bitrate });
