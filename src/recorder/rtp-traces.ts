import { newRtpTrace, readRtpTrace, rtpTraceOctets, type TracedPacket } from '../lib/rtp-trace.ts';

/** Bounds of what is kept of RTP packets. */
export type RtpTraceLimits = {
  /** Packets of one channel, the last ones; 0 = none. */
  packets: number;
  /** Octets in all. */
  octets: number;
};

/** The heads of RTP packets, by channels: the oldest channels go when all together take too much. */
export class RtpTraces {
  readonly #limits: RtpTraceLimits;
  readonly #ofChannel = new Map<string, SharedArrayBuffer>();

  constructor(limits: RtpTraceLimits) {
    this.#limits = limits;
  }

  /** Whether any are kept. */
  get on(): boolean {
    return this.#limits.packets > 0 && rtpTraceOctets(this.#limits.packets) <= this.#limits.octets;
  }

  /** Memory for the packets of a channel that begins; undefined where none are kept. */
  open(channelId: string): SharedArrayBuffer | undefined {
    if (!this.on) return undefined;
    const { packets, octets } = this.#limits;
    const most = Math.floor(octets / rtpTraceOctets(packets));
    for (const oldest of this.#ofChannel.keys()) {
      if (this.#ofChannel.size < most) break;
      this.#ofChannel.delete(oldest);
    }
    const memory = newRtpTrace(packets);
    this.#ofChannel.delete(channelId);
    this.#ofChannel.set(channelId, memory);
    return memory;
  }

  /** Channels of which something may be kept. */
  get channels(): readonly string[] {
    return [...this.#ofChannel.keys()];
  }

  /** What is kept of these channels, oldest first. */
  of(channelIds: readonly string[]): TracedPacket[] {
    return channelIds
      .flatMap((id) => {
        const memory = this.#ofChannel.get(id);
        return memory ? readRtpTrace(memory) : [];
      })
      .sort((one, other) => one.at - other.at);
  }
}
