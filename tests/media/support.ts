import type { Logger } from '../../src/lib/log.ts';
import { defaultMediaConfig, type MediaConfig } from '../../src/media/config.ts';
import { MediaEngine, type MediaEngineOptions } from '../../src/media/engine.ts';
import { noWires, type Wires } from '../../src/media/external/wires.ts';
import type { AudioLoader } from '../../src/media/item-loader.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import { type FastRelayEnd, FastRelays } from '../../src/media/rtp/fast-relays.ts';
import { emptyHeader, headerLength, readHeader, writeHeader } from '../../src/media/rtp/header.ts';
import type { PacketListener, PacketSocket, Sockets } from '../../src/media/rtp/sockets.ts';
import { SequenceReader } from '../../src/media/sequence.ts';
import { parseToneList, toneList, toneSequence } from '../../src/media/tones.ts';
import type { RtpFlow } from '../../src/telephony/media.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A logger that keeps what it was told. */
export function memoryLogger(): Logger & { lines: { level: string; fields: object; message: string }[] } {
  const lines: { level: string; fields: object; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  const logger = {
    lines,
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
    enabled: () => false,
  };
  return logger;
}

/** A simulated clock that can stall: time goes by without a timer running. */
export class StallingClock extends ManualClock {
  #stalled = 0;

  override now(): number {
    return super.now() + this.#stalled;
  }

  override monotonic(): number {
    return super.monotonic() + this.#stalled;
  }

  /** Lets `ms` go by; timers due meanwhile run with the next `advance`. */
  stall(ms: number): void {
    this.#stalled += ms;
  }
}

export type SentPacket = { from: number; to: string; packet: Uint8Array };

type Place = { address: string; port: number };
const isLong = (address: string): boolean => address.includes(':');

/** An address in words, as a kernel would have it: two of IPv4, seven of IPv6. Its last group differs in tests. */
const wordsOf = ({ address, port }: Place): Int32Array =>
  isLong(address)
    ? Int32Array.from([port, 0, 0x2001_0db8, 0, 0, Number.parseInt(address.split('::')[1]!, 16), 0])
    : Int32Array.from([port, address.split('.').reduce((sum, part) => (sum << 8) | Number(part), 0)]);
const placeOf = (words: Int32Array, length: number): string =>
  length === 28
    ? `2001:db8::${words[5]!.toString(16)}:${words[0]}`
    : `${[24, 16, 8, 0].map((shift) => (words[1]! >>> shift) & 0xff).join('.')}:${words[0]}`;

/** A network without a kernel: ports are taken and given back, packets are written down; sockets pass packets on by themselves. */
export class FakeNetwork implements Sockets {
  readonly listeners = new Map<number, PacketListener | undefined>();
  readonly sent: SentPacket[] = [];
  /** Ports that somebody else holds. */
  readonly foreign = new Set<number>();
  /** How often binding was tried. */
  attempts = 0;
  #nextFree = 40_001;
  readonly #clock: Pick<ManualClock, 'monotonic'> | undefined;
  readonly #address = { words: new Int32Array(7), at: 0 };
  readonly #fastRelays = new FastRelays(
    {
      sendtoAt: (port, _packetAt, length, _flags, _at, ofAddress) =>
        this.#pass(port, this.#place.slab.slice(0, length), ofAddress),
    },
    this.#address,
  );
  /** Where packets are received, with its address; system calls take it there. */
  readonly #place: { slab: Uint8Array; used: 0; packetAt: number };
  readonly #heard = new Map<number, { address: string; port: number }>();
  /** Packets that sockets have passed on by themselves. */
  passed = 0;

  /**
   * @param clock without one sockets pass nothing on by themselves.
   * @param addressOf where octets are, for functions of OpenSSL that are called themselves
   */
  constructor(clock?: Pick<ManualClock, 'monotonic'>, addressOf: (octets: Uint8Array) => number = () => 0) {
    this.#clock = clock;
    const slab = new Uint8Array(new ArrayBuffer(20_000));
    this.#place = { slab, used: 0, packetAt: addressOf(slab) };
  }

  async bind(_address: string, wanted: number): Promise<PacketSocket> {
    this.attempts++;
    const port = wanted === 0 ? this.#nextFree++ : wanted;
    if (this.listeners.has(port) || this.foreign.has(port))
      throw Object.assign(new Error(`port ${port} is taken`), { code: 'EADDRINUSE' });
    this.listeners.set(port, undefined);
    return {
      port,
      send: (packet, toPort, toAddress) => this.sent.push({ from: port, to: `${toAddress}:${toPort}`, packet }),
      listen: (listener) => {
        this.#fastRelays.end(port);
        this.listeners.set(port, listener);
      },
      close: () => {
        this.#fastRelays.end(port);
        this.listeners.delete(port);
      },
      passOn: (to, target, plan) => {
        const from = this.#heard.get(port);
        if (!this.#clock || !from) return false;
        return this.#fastRelays.begin(fastRelayEnd(port, from), fastRelayEnd(to.port, target), plan);
      },
      settleFastRelay: () => this.#fastRelays.settle(port),
      endFastRelays: (both) => (both ? this.#fastRelays.end(port) : this.#fastRelays.endFrom(port)),
    };
  }

  /** Lets a packet arrive at one of the bound ports. */
  deliver(port: number, packet: Uint8Array, from = { address: '192.0.2.1', port: 4000 }): void {
    let heard = packet;
    if (this.#clock && this.#fastRelays.opens(port)) {
      this.#address.words.set(wordsOf(from));
      this.#place.slab.set(packet);
      if (this.#fastRelays.pass(port, this.#place, packet.length, this.#clock.monotonic())) return;
      heard = this.#place.slab.slice(0, packet.length);
    }
    this.#heard.set(port, from);
    this.listeners.get(port)?.(heard, from.address, from.port);
  }

  #pass(from: number, packet: Uint8Array, lengthOfAddress: number): number {
    this.passed++;
    this.sent.push({ from, to: placeOf(this.#address.words, lengthOfAddress), packet });
    return packet.length;
  }
}

/** Ports stand for descriptors. */
function fastRelayEnd(descriptor: number, of: Place): FastRelayEnd {
  const words = wordsOf(of);
  return { descriptor, first: words[0]!, second: words[1]!, words: isLong(of.address) ? words : undefined };
}

/** One packet as tests write and compare it. */
export type Packet = {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payload: number[];
};

/** What a reception reads of a header. */
export const received = (ssrc: number, sequence: number, timestamp: number, octets: number) => ({
  ...{ ssrc, sequence, timestamp, payloadStart: 12, payloadEnd: 12 + octets },
});

export function encodePacket(packet: Packet): Uint8Array {
  const octets = new Uint8Array(headerLength + packet.payload.length);
  writeHeader(octets, packet);
  octets.set(packet.payload, headerLength);
  return octets;
}

export function decodePacket(octets: Uint8Array): Packet {
  const header = emptyHeader();
  if (!readHeader(octets, header)) throw new Error('not an RTP packet');
  const { marker, payloadType, sequence, timestamp, ssrc, payloadStart, payloadEnd } = header;
  return { marker, payloadType, sequence, timestamp, ssrc, payload: [...octets.subarray(payloadStart, payloadEnd)] };
}

/** `length` octets counting up from `first`. */
export function ramp(length: number, first = 0): number[] {
  return Array.from({ length }, (_, index) => (first + index) & 0xff);
}

/** A far side at 192.0.2.1:4000 with PCMU and telephone events of type 101. */
export const usualFlow: RtpFlow = {
  remote: { address: '192.0.2.1', port: 4000 },
  codec: 'ulaw',
  payloadType: 0,
  telephoneEvent: 101,
  ptimeMs: 20,
  send: true,
  receive: true,
};

/** Our SSRC and first sequence number on the {@link bench}. */
export const ourSsrc = 0x01020304;
export const firstSequence = 0x7ffe;

/** Plays `ramp:<octets>` as that many octets counting up, `fail:` not at all; tones are real ones. */
export const rampLoader: AudioLoader = {
  async load({ uri }, codec) {
    const [scheme, length] = uri.split(':');
    if (scheme !== 'ramp') throw new Error(`cannot play ${uri}`);
    const payload = Uint8Array.from(ramp(Number(length)));
    return { codec, segments: [{ payload, samples: payload.length }], seekable: true };
  },
  tone: (name, codec) => toneSequence(parseToneList(toneList('us', name)!)!, codec),
  // A class is named by the frequency of its music.
  music: (musicClass, codec) => {
    const reader = new SequenceReader(toneSequence(parseToneList(musicClass)!, codec));
    return { read: (target, at, count) => reader.read(target, at, count), close: () => {} };
  },
};

/** Lets promises that are already resolved run their reactions. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

/** Waits until the turn of the event loop is over: what it tells and asks goes to the other thread then. */
export const endTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An engine on a simulated clock and network; time begins at 0. */
export function bench(settings: Partial<MediaConfig> = {}, loader: AudioLoader = rampLoader) {
  return benchOf((options) => new MediaEngine(options), settings, loader);
}

/** The same with an engine of the test's own. */
export function benchOf<Engine extends Pick<MediaEngine, 'openRtp' | 'apply'>>(
  openEngine: (options: MediaEngineOptions) => Engine,
  settings: Partial<MediaConfig>,
  loader: AudioLoader = rampLoader,
  wires: Wires = noWires,
) {
  const clock = new StallingClock(0);
  const network = new FakeNetwork(clock);
  const log = memoryLogger();
  const reports: EngineReport[] = [];
  const random = [ourSsrc, firstSequence, 0];
  const engine = openEngine({
    config: { ...defaultMediaConfig, ports: { first: 10_000, last: 10_009 }, ...settings },
    clock,
    log,
    sockets: network,
    wires,
    loader,
    random32: () => random.shift() ?? 0,
    report: (report) => reports.push(report),
  });
  return {
    clock,
    network,
    log,
    reports,
    engine,
    /** Opens session 1 on port 10000 with the usual flow. */
    async open(flow: Partial<RtpFlow> = {}) {
      await engine.openRtp(1);
      engine.apply({ type: 'configure', session: 1, flow: { ...usualFlow, ...flow } });
    },
    /** What port 10000 sent so far, and forgets it. */
    sent(): Packet[] {
      const rtp = network.sent.filter((each) => each.from === 10_000).map((each) => decodePacket(each.packet));
      network.sent.length = 0;
      return rtp;
    },
  };
}

/** What a plane without connections to servers tells of these. */
export const noExternal = { externalWaitingMs: 0, externalDroppedMs: 0, externalUnsentFrames: 0 };

/** Linear samples as octets, the little end first. */
export const octetsOf = (samples: Int16Array): Uint8Array =>
  new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
