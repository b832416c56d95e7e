import { LimitCounts } from '../../../src/lib/limit-counts.ts';
import { defaultVideoConfig, type VideoConfig } from '../../../src/media/config.ts';
import { emptyHeader, readHeader } from '../../../src/media/rtp/header.ts';
import { LocalCamera } from '../../../src/media/video/local-camera.ts';
import { PacketRoom } from '../../../src/media/video/packet-room.ts';
import { ShownStream } from '../../../src/media/video/shown-stream.ts';
import { newStreamMemory, streamNumbers } from '../../../src/media/video/stream-memory.ts';
import type { VideoFlow } from '../../../src/telephony/video.ts';

/** A clock that is set by hand, in ms. */
export type HandClock = { now: number };

export const flow: VideoFlow = {
  remote: { address: '127.0.0.1', port: 4000 },
  codec: 'vp8',
  payloadType: 96,
  feedback: { nack: true, pli: true, fir: true, tmmbr: false, remb: false },
  send: true,
  receive: true,
};

/** Bit/s of who takes all there is. */
export const everything = Number.POSITIVE_INFINITY;

export type Sent = {
  sequence: number;
  timestamp: number;
  marker: boolean;
  ssrc: number;
  payloadType: number;
  payload: number[];
};

/** A packet as it is on the network, taken apart. */
export function taken(packet: Uint8Array): Sent {
  const header = emptyHeader();
  readHeader(packet, header);
  const { sequence, timestamp, marker, ssrc, payloadType, payloadStart, payloadEnd } = header;
  return { sequence, timestamp, marker, ssrc, payloadType, payload: [...packet.subarray(payloadStart, payloadEnd)] };
}

export type CameraNumbers = {
  ssrc?: number;
  sequence?: number;
  timestamp?: number;
  pictureId?: number;
  /** Bits of picture ids; 0 = none. */
  bits?: 0 | 7 | 15;
};

/** A camera whose packets are made by hand: a key frame when it is asked for one. */
export class HandCamera {
  readonly camera: LocalCamera;
  /** RTCP feedback that it was told, by packet type and format; `otherwise` = a key frame that is to be asked for without. */
  readonly told: string[] = [];
  readonly limits = new LimitCounts();
  /** How it flows to begin with. */
  readonly flow = flow;
  readonly #clock: HandClock;
  readonly #header = emptyHeader();
  #numbers: Required<CameraNumbers>;
  #asked = true;

  constructor(session: number, clock: HandClock, numbers: CameraNumbers = {}, config: Partial<VideoConfig> = {}) {
    this.#clock = clock;
    this.#numbers = {
      ...{ ssrc: session, sequence: 100 * session, timestamp: 1000 * session, pictureId: 10 * session, bits: 15 },
      ...numbers,
    };
    this.camera = new LocalCamera({
      ...{ session, random32: () => session, config: { ...defaultVideoConfig, ...config } },
      memory: streamNumbers(newStreamMemory()),
      now: () => clock.now,
      hit: this.limits.hit,
      ssrc: () => 0xabcd,
      tell: (feedback) => {
        this.told.push(`${feedback[1]}/${feedback[0]! & 0x1f}`);
        const format = feedback[0]! & 0x1f;
        if (feedback[1] === 206 && (format === 1 || format === 4)) this.#asked = true;
      },
      keyFrameNeeded: () => {
        this.told.push('otherwise');
        this.#asked = true;
      },
    });
    this.camera.configure(flow);
  }

  /** Begins its stream anew. */
  restart(numbers: CameraNumbers): void {
    this.#numbers = { ...this.#numbers, ...numbers };
    this.#asked = true;
  }

  /** The packets of the next frame, each with its place in the frame; a key frame where one was asked for. */
  frame(packets: number): Uint8Array[] {
    const key = this.#asked;
    this.#asked = false;
    const numbers = this.#numbers;
    numbers.timestamp = (numbers.timestamp + 3000) % 0x1_0000_0000;
    numbers.pictureId++;
    return Array.from({ length: packets }, (_, index) => this.#packet(index, packets, key));
  }

  /** Hands in packets. */
  receive(...packets: readonly Uint8Array[]): void {
    for (const packet of packets)
      if (readHeader(packet, this.#header)) this.camera.receive(packet.slice(), this.#header, this.#clock.now);
  }

  #packet(index: number, count: number, key: boolean): Uint8Array {
    const numbers = this.#numbers;
    const { pictureId, bits } = numbers;
    const first = index === 0 ? 0x10 : 0;
    const descriptor =
      bits === 0
        ? [first]
        : [
            ...[0x80 | first, 0xc0],
            ...(bits === 7 ? [pictureId & 0x7f] : [0x80 | ((pictureId >> 8) & 0x7f), pictureId & 0xff]),
            pictureId & 0xff,
          ];
    const sequence = numbers.sequence++ & 0xffff;
    const packet = Buffer.alloc(12 + descriptor.length + 2);
    packet[0] = 0x80;
    packet[1] = (index === count - 1 ? 0x80 : 0) | 96;
    packet.writeUInt16BE(sequence, 2);
    packet.writeUInt32BE(numbers.timestamp, 4);
    packet.writeUInt32BE(numbers.ssrc, 8);
    packet.set([...descriptor, key ? 0 : 1, this.camera.session], 12);
    return packet;
  }
}

/** A stream that is shown to somebody, and what was sent of it. */
/** @param copies whether what was sent may be changed, as where sockets copy it. */
export function handScreen(
  clock: HandClock,
  config: Partial<VideoConfig> = {},
  memory = newStreamMemory(),
  copies = false,
) {
  const sent: Uint8Array[] = [];
  const limits = new LimitCounts();
  let random = 0xffff_0000;
  const shown = new ShownStream({
    config: { ...defaultVideoConfig, ...config },
    now: () => clock.now,
    clockZero: 1_000_000,
    hit: limits.hit,
    room: new PacketRoom(),
    random32: () => (random += 0x11),
    memory: streamNumbers(memory),
    send: (packet) => sent.push(copies ? packet.slice() : packet),
    copies: () => copies,
    faulted: (error) => {
      throw error;
    },
    sentInAll: () => 0,
  });
  shown.configure(flow);
  return { shown, sent, memory, limits };
}
