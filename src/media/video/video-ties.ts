import type { Bells } from '../tie/bell.ts';
import type { TiePlan } from '../tie/tie-wire.ts';
import type { Camera, VideoMember, VideoPacket, Viewer } from './camera.ts';
import { FarCamera } from './far-camera.ts';
import { type CarriedPacket, type VideoTieMessage, VideoWire, type VideoWireListener } from './video-wire.ts';

/** Stands in the thread of a mix for a member that lives in another one. */
export class VideoTieMember implements VideoMember, Viewer, VideoWireListener {
  readonly camera: FarCamera;
  readonly #wire: VideoWire;
  /** Whom the member is shown, by stream. */
  readonly #shown: (Camera | undefined)[] = [];

  /** @param session its number here. */
  constructor(session: number, plan: TiePlan, bells: Bells) {
    this.#wire = new VideoWire(plan, bells);
    this.camera = new FarCamera({
      session,
      watched: (on) => this.#wire.tell({ type: 'watch', on }),
      ask: () => this.#wire.tell({ type: 'ask' }),
    });
  }

  show(stream: number, camera: Camera | undefined): void {
    const before = this.#shown[stream];
    if (before === camera) return;
    this.#shown[stream] = camera;
    if (before && !this.#shown.includes(before)) before.unwatch(this);
    this.#wire.tell({ type: 'show', stream, ...(camera && { camera: camera.session }) });
    camera?.watch(this);
  }

  showNoneFrom(stream: number): void {
    for (let each = stream; each < this.#shown.length; each++) this.show(each, undefined);
  }

  hide(camera: Camera): void {
    for (const [stream, shown] of this.#shown.entries()) if (shown === camera) this.show(stream, undefined);
  }

  take(packet: VideoPacket): void {
    // What is lost on the way shows as a gap there: a key frame ends it.
    if (!this.#wire.packet(packet.camera.session, packet)) packet.camera.askKeyFrame();
  }

  /** Takes what has come meanwhile. */
  wake(): void {
    this.#wire.read(this);
  }

  tick(): void {
    this.wake();
  }

  hearPacket(_camera: number, packet: CarriedPacket): void {
    this.camera.receive(packet);
  }

  hearMessage(message: VideoTieMessage): void {
    if (message.type === 'camera') this.camera.live = message.live;
    if (message.type === 'ask') this.#shown.find((camera) => camera?.session === message.camera)?.askKeyFrame();
  }

  close(): void {
    this.showNoneFrom(0);
  }
}

/** Is to a session what a mix in another thread is to its members. */
export class VideoTieMeeting implements Viewer, VideoWireListener {
  /** The tie of its audio. */
  readonly beside: number;
  readonly #wire: VideoWire;
  readonly #member: VideoMember;
  /** Cameras that its streams show, by their numbers at the mix. */
  readonly #cameras = new Map<number, FarCamera>();
  #watching = false;
  #watched: Camera | undefined;
  #toldLive = false;

  constructor(member: VideoMember, plan: TiePlan, beside: number, bells: Bells) {
    this.beside = beside;
    this.#member = member;
    this.#wire = new VideoWire(plan, bells);
  }

  take(packet: VideoPacket): void {
    if (!this.#wire.packet(0, packet)) packet.camera.askKeyFrame();
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
  }

  hearPacket(camera: number, packet: CarriedPacket): void {
    this.#cameras.get(camera)?.receive(packet);
  }

  hearMessage(message: VideoTieMessage): void {
    switch (message.type) {
      case 'watch':
        this.#watching = message.on;
        this.#watch();
        return;
      case 'ask':
        this.#member.camera?.askKeyFrame();
        return;
      case 'show': {
        const { camera } = message;
        this.#member.show(message.stream, camera === undefined ? undefined : this.#cameraOf(camera));
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
    const camera = new FarCamera({
      session,
      watched: (on) => {
        if (!on) this.#cameras.delete(session);
      },
      ask: () => this.#wire.tell({ type: 'ask', camera: session }),
    });
    camera.live = true;
    this.#cameras.set(session, camera);
    return camera;
  }
}
