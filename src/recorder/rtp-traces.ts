import { newRtpTrace, readRtpTrace, rtpTraceOctets, type TracedKind, type TracedPacket } from '../lib/rtp-trace.ts';

/** Bounds of what is kept of RTP packets. */
export type RtpTraceLimits = {
  /** Packets of one channel, the last ones; 0 = none. */
  packets: number;
  /** Octets in all. */
  octets: number;
};

/** The heads of RTP packets, by channels: the oldest channels go when all together take too much. */
export class RtpTraces {
  #limits: RtpTraceLimits;
  /** Of each channel that of its audio, and that of its video. */
  readonly #ofChannel = new Map<string, { readonly [Kind in TracedKind]?: SharedArrayBuffer }>();
  #octets = 0;

  constructor(limits: RtpTraceLimits) {
    this.#limits = limits;
  }

  /** Applies other limits, for new channels; the oldest data beyond them is dropped. */
  reconfigure(limits: RtpTraceLimits): void {
    this.#limits = limits;
    this.#shrink(this.on ? limits.octets : 0);
  }

  /** Whether any are kept. */
  get on(): boolean {
    return this.#limits.packets > 0 && rtpTraceOctets(this.#limits.packets) <= this.#limits.octets;
  }

  /** Memory for the packets of a channel's audio, and as much again for all its video; undefined if none are kept. */
  open(channelId: string, kind: TracedKind): SharedArrayBuffer | undefined {
    if (!this.on) return undefined;
    const { packets, octets } = this.#limits;
    if (kind === 'audio') this.#forget(channelId);
    this.#shrink(octets - rtpTraceOctets(packets));
    const memory = newRtpTrace(packets);
    this.#ofChannel.set(channelId, { ...this.#ofChannel.get(channelId), [kind]: memory });
    this.#octets += memory.byteLength;
    return memory;
  }

  /** Drops the oldest channels until the others are within the limit. */
  #shrink(octets: number): void {
    for (const oldest of this.#ofChannel.keys()) {
      if (this.#octets <= octets) return;
      this.#forget(oldest);
    }
  }

  #forget(channelId: string): void {
    for (const memory of Object.values(this.#ofChannel.get(channelId) ?? {})) this.#octets -= memory.byteLength;
    this.#ofChannel.delete(channelId);
  }

  /** Channels of which something may be kept. */
  get channels(): readonly string[] {
    return [...this.#ofChannel.keys()];
  }

  /** The kept packets of these channels, oldest first. */
  of(channelIds: readonly string[]): TracedPacket[] {
    return channelIds
      .flatMap((id) => Object.values(this.#ofChannel.get(id) ?? {}))
      .flatMap((memory) => readRtpTrace(memory))
      .sort((one, other) => one.at - other.at);
  }
}
