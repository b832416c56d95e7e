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
  #limits: RtpTraceLimits;
  readonly #ofChannel = new Map<string, SharedArrayBuffer>();
  #octets = 0;

  constructor(limits: RtpTraceLimits) {
    this.#limits = limits;
  }

  /** Takes up other bounds: for channels that begin, and of what there is the oldest goes that is too much. */
  reconfigure(limits: RtpTraceLimits): void {
    this.#limits = limits;
    this.#shrink(this.on ? limits.octets : 0);
  }

  /** Whether any are kept. */
  get on(): boolean {
    return this.#limits.packets > 0 && rtpTraceOctets(this.#limits.packets) <= this.#limits.octets;
  }

  /** Memory for the packets of a channel that begins; undefined where none are kept. */
  open(channelId: string): SharedArrayBuffer | undefined {
    if (!this.on) return undefined;
    const { packets, octets } = this.#limits;
    this.#forget(channelId);
    this.#shrink(octets - rtpTraceOctets(packets));
    const memory = newRtpTrace(packets);
    this.#ofChannel.set(channelId, memory);
    this.#octets += memory.byteLength;
    return memory;
  }

  /** Lets the oldest channels go until the others take no more than this. */
  #shrink(octets: number): void {
    for (const oldest of this.#ofChannel.keys()) {
      if (this.#octets <= octets) return;
      this.#forget(oldest);
    }
  }

  #forget(channelId: string): void {
    this.#octets -= this.#ofChannel.get(channelId)?.byteLength ?? 0;
    this.#ofChannel.delete(channelId);
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
