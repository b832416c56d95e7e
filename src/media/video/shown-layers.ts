import type { Camera, VideoPacket } from './camera.ts';
import { LayerChoice } from './layer-choice.ts';

/** Of one camera: the size that is passed on, and the one that is to be; 0: none yet. */
type View = { current: number; wanted: number; askedAt: number };

/** Intervals in ms: between decisions, and between requests for a key frame of the wanted size. */
const intervals = { decisionMs: 200, askMs: 1000 };
/** Time over which the sent bit rate is measured, in ms. */
const windowMs = 1000;

/**
 * Which packets of cameras with several sizes (RFC 8853) a stream shows: those of one size of each. Another size begins with
 * a key frame; until then the earlier one goes on. To the stream it is as if the camera had begun anew.
 */
export class ShownLayers {
  readonly #views = new Map<Camera, View>();
  readonly #choice = new LayerChoice();
  #decidedAt = Number.NEGATIVE_INFINITY;
  /** Octets that were sent when that was measured last, and the bit rate since then. */
  #measured = { octets: 0, at: Number.NEGATIVE_INFINITY };
  /** Bit/s that are sent. */
  sent = 0;

  /** Whether a packet is of the size that is shown; the first key frame of the wanted size makes it that. */
  admits({ camera, layer, key }: VideoPacket): boolean {
    const view = this.#viewOf(camera);
    if (key && (view.wanted === layer || view.wanted === 0)) view.current = view.wanted = layer;
    return view.current === layer;
  }

  /** The size that is shown, or that will be first; undefined: any. */
  of(camera: Camera): number | undefined {
    const { current = 0, wanted = 0 } = this.#views.get(camera) ?? {};
    return current || wanted || undefined;
  }

  /** Which size is shown, by its rank from 1 on, and how many come; undefined of a camera with one, or before the first. */
  sizeOf(camera: Camera): { size: number; sizes: number } | undefined {
    const ranked = camera.layers?.ranked() ?? [];
    const at = ranked.findIndex(({ layer }) => layer === this.#views.get(camera)?.current);
    return at < 0 ? undefined : { size: at + 1, sizes: ranked.length };
  }

  /** Whether the viewer can be spared a part of it: a smaller size is sent. */
  canLower(camera: Camera | undefined): boolean {
    const [lowest] = camera?.layers?.ranked() ?? [];
    return lowest !== undefined && lowest.layer !== this.#views.get(camera!)?.current;
  }

  letGo(camera: Camera): void {
    this.#views.delete(camera);
  }

  /** The viewer's estimate of what it can receive of all streams. @param all bit/s that it is sent in all of them. */
  estimated(bitrate: number, all: number, now: number): void {
    const share = all > this.sent ? this.sent / all : 1;
    this.#choice.estimated(bitrate * share, this.sent, now);
  }

  /** See {@link LayerChoice.lost}. */
  lost(share: number, now: number): void {
    this.#choice.lost(share, this.sent, now);
  }

  /** Decides now and then; to be called once a tick. @param octets sent so far. @param most bit/s that the viewer accepts by its own words. */
  tick(cameras: readonly (Camera | undefined)[], octets: number, most: number, now: number): void {
    if (now - this.#decidedAt < intervals.decisionMs) return;
    this.#decidedAt = now;
    this.#measure(octets, now);
    for (const camera of cameras) if (camera?.layers) this.#decide(camera, most, now);
  }

  #decide(camera: Camera, most: number, now: number): void {
    const view = this.#viewOf(camera);
    const wanted = this.#choice.choose(camera.layers?.ranked() ?? [], view.current || undefined, most, now);
    if (wanted !== undefined && wanted !== view.wanted) {
      view.wanted = wanted;
      view.askedAt = Number.NEGATIVE_INFINITY;
    }
    if (view.wanted === view.current || now - view.askedAt < intervals.askMs) return;
    view.askedAt = now;
    camera.askKeyFrame(view.wanted || undefined);
  }

  #measure(octets: number, now: number): void {
    const { at, octets: before } = this.#measured;
    if (now - at < windowMs) return;
    if (at > Number.NEGATIVE_INFINITY) this.sent = ((octets - before) * 8000) / (now - at);
    this.#measured = { octets, at: now };
  }

  #viewOf(camera: Camera): View {
    const known = this.#views.get(camera);
    if (known) return known;
    const view: View = { current: 0, wanted: 0, askedAt: Number.NEGATIVE_INFINITY };
    this.#views.set(camera, view);
    return view;
  }
}
