/** A size of a picture, and the bit/s that it takes. */
export type Layer = { readonly layer: number; readonly bitrate: number };

/** Time over which bit rates are measured, in ms. */
const windowMs = 1000;
/** A size that has had no packets for so long while another one had some is not sent, in ms. */
const silentMs = 1500;

/** What one size has sent: octets of this window, and bit/s of earlier ones; 0 before the first. */
type Measured = { octets: number; bitrate: number; heardAt: number };

/** The sizes in which a picture comes (simulcast, RFC 8853), from 1 on, and their bit rates. */
export class Layers {
  readonly #measured: Measured[] = [];
  #since: number | undefined;

  /** A packet of one of them has come. @param octets its length. @param now monotonic ms. */
  took(layer: number, octets: number, now: number): void {
    const measured = (this.#measured[layer] ??= { octets: 0, bitrate: 0, heardAt: now });
    measured.octets += octets;
    measured.heardAt = now;
    this.#since ??= now;
    if (now - this.#since >= windowMs) this.#measure(now - this.#since, now);
  }

  /** Those that are sent and were measured, from the lowest bit rate to the highest. */
  ranked(): Layer[] {
    const ranked: Layer[] = [];
    let latest = Number.NEGATIVE_INFINITY;
    for (const each of this.#measured) if (each && each.heardAt > latest) latest = each.heardAt;
    for (const [layer, each] of this.#measured.entries())
      if (each && each.bitrate > 0 && latest - each.heardAt < silentMs) ranked.push({ layer, bitrate: each.bitrate });
    return ranked.sort((one, other) => one.bitrate - other.bitrate);
  }

  #measure(elapsedMs: number, now: number): void {
    for (const each of this.#measured) {
      if (!each || each.octets === 0) continue;
      const bitrate = (each.octets * 8000) / elapsedMs;
      // Half of what it was: key frames come now and then.
      each.bitrate = each.bitrate === 0 ? bitrate : (each.bitrate + bitrate) / 2;
      each.octets = 0;
    }
    this.#since = now;
  }
}
