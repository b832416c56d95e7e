import type { AudioCodec } from '../../src/media/codec/audio-codec.ts';
import { maximumPayload } from '../../src/media/codec/audio-codec.ts';
import { openCodec } from '../../src/media/codec/open-codec.ts';
import { loadOpus, OpusCodec } from '../../src/media/codec/opus.ts';
import type { MediaConfig } from '../../src/media/config.ts';
import { Goertzel } from '../../src/media/dsp/goertzel.ts';
import type { Codec, MixCommand, MixMember, RtpFlow, SessionCommand } from '../../src/telephony/media.ts';
import { openEngine } from './spread.ts';
import { benchOf, decodePacket, encodePacket, type Packet, usualFlow } from './support.ts';

export const member: MixMember = { role: 'participant', muted: false, passDigits: true };

/** A far side that sends a tone of its own, 20 ms a packet, and keeps what it hears. */
export class ToneFarSide {
  readonly session: number;
  readonly hertz: number;
  readonly address: string;
  readonly heard: (Packet & { at: number })[] = [];
  readonly codec: AudioCodec;
  /** What it heard as linear samples, packet by packet. */
  readonly #pcm: Int16Array[] = [];
  /** Its share of a packet that its packets come late by, so that no two come at once. */
  readonly phaseMs: number;
  port = 0;
  sending = true;
  /** What it says in place of its tone: a sample by its number. */
  says: ((sample: number) => number) | undefined;
  #sequence = 65_530;
  #timestamp = 0xffff_fc00;
  #sample = 0;

  constructor(session: number, hertz: number, codec: Codec = 'ulaw') {
    this.codec = openCodec(codec, { order: 'network' });
    this.session = session;
    this.hertz = hertz;
    this.address = `192.0.2.${session}`;
    this.phaseMs = (session * 7) % 20;
  }

  get flow(): RtpFlow {
    const payloadType = this.codec.codec === 'ulaw' ? 0 : 96;
    return { ...usualFlow, codec: this.codec.codec, payloadType, remote: { address: this.address, port: 4000 } };
  }

  /** Its next packet. */
  packet(): Uint8Array {
    const { sampleRate, clockRate } = this.codec;
    const samples = Int16Array.from({ length: sampleRate / 50 }, () =>
      Math.round(this.#say(this.#sample++, sampleRate)),
    );
    const octets = new Uint8Array(maximumPayload(samples.length));
    const payload = [...octets.subarray(0, this.codec.encode(samples, octets))];
    const marker = this.#sample === samples.length;
    const packet = this.#next({ marker, payloadType: this.flow.payloadType, payload });
    this.#timestamp = (this.#timestamp + clockRate / 50) >>> 0;
    return packet;
  }

  #say(sample: number, sampleRate: number): number {
    if (this.says) return this.says(sample);
    return 6000 * Math.sin((2 * Math.PI * this.hertz * sample) / sampleRate);
  }

  /** A packet that describes noise, at −`level` dBov, and the time that goes by behind it (RFC 3389). */
  comfortNoise(level: number, silentMs: number): Uint8Array {
    const packet = this.#next({ marker: false, payloadType: 13, payload: [level] });
    this.#timestamp = (this.#timestamp + (silentMs * this.codec.clockRate) / 1000) >>> 0;
    return packet;
  }

  /** What it heard since `from` (a number of packets), as linear samples. */
  samples(from = 0): Int16Array {
    return Int16Array.from(this.#pcm.slice(from).flatMap((samples) => [...samples]));
  }

  /** Packets of audio that it heard. */
  get count(): number {
    return this.#pcm.length;
  }

  /** Keeps what arrived. */
  hear(packet: Packet, at: number): void {
    this.heard.push({ ...packet, at });
    if (packet.payloadType !== this.flow.payloadType) return;
    const samples = new Int16Array(this.codec.sampleRate / 10);
    this.#pcm.push(samples.slice(0, this.codec.decode(Uint8Array.from(packet.payload), samples)));
  }

  /** A packet of a digit. */
  event(payload: number[]): Uint8Array {
    return this.#next({ marker: false, payloadType: 101, payload });
  }

  /** Packets of one digit, by how long it lasts in units, and whether it ends. */
  digit(event: number): (units: number, ended?: boolean) => Uint8Array {
    const timestamp = this.#timestamp;
    return (units, ended = false) => {
      const payload = [event, (ended ? 0x80 : 0) | 10, units >> 8, units & 0xff];
      const packet = encodePacket({
        ...{ marker: false, payloadType: 101, payload },
        ...{ sequence: this.#sequence, timestamp, ssrc: this.session },
      });
      this.#sequence = (this.#sequence + 1) & 0xffff;
      return packet;
    };
  }

  /** Says nothing for so long; its timestamps count that, or are as if no time had passed. */
  pause(ms: number, counts: boolean): void {
    if (counts) this.#timestamp = (this.#timestamp + (ms * this.codec.clockRate) / 1000) >>> 0;
  }

  /** Numbers a packet that is lost on its way. */
  lose(): void {
    this.packet();
  }

  #next(part: Pick<Packet, 'marker' | 'payloadType' | 'payload'>): Uint8Array {
    const packet = encodePacket({ ...part, sequence: this.#sequence, timestamp: this.#timestamp, ssrc: this.session });
    this.#sequence = (this.#sequence + 1) & 0xffff;
    return packet;
  }

  /** Amplitude of a tone in the last `ms` that were heard. */
  amplitude(hertz: number, ms = 200): number {
    const last = this.#pcm.slice(-ms / 20);
    const filter = new Goertzel(hertz, this.codec.sampleRate);
    const length = last.reduce((sum, { length: each }) => sum + each, 0);
    for (const samples of last) filter.take(samples, 0, samples.length);
    return length === 0 ? 0 : (2 * Math.sqrt(filter.power())) / length;
  }

  /** Which of these tones it hears. */
  hears(tones: readonly number[], ms = 200): number[] {
    return tones.filter((hertz) => this.amplitude(hertz, ms) > 1500);
  }
}

/** An engine with far sides that send tones of their own, on simulated time. */
export async function meeting(
  hertz: readonly number[],
  settings: Partial<MediaConfig> = {},
  codecs: readonly Codec[] = [],
) {
  const all = benchOf(openEngine, { ports: { first: 10_000, last: 10_199 }, ...settings });
  const { engine, clock, network } = all;
  const sides = hertz.map((each, index) => new ToneFarSide(index + 1, each, codecs[index]));
  if (codecs.includes('opus')) await loadOpus();
  for (const { codec } of sides) if (codec instanceof OpusCodec) await codec.ready();
  for (const side of sides) {
    side.port = (await engine.openRtp(side.session)).port;
    engine.apply({ type: 'configure', session: side.session, flow: side.flow });
  }
  const collect = () => {
    engine.settle();
    for (const { from, packet } of network.sent.splice(0)) {
      const side = sides.find(({ port }) => port === from);
      side?.hear(decodePacket(packet), clock.now());
    }
  };
  const deliver = (side: ToneFarSide, packet: Uint8Array) =>
    network.deliver(side.port, packet, { address: side.address, port: 4000 });
  return {
    ...all,
    sides,
    deliver,
    collect,
    /** Lets time go by, 1 ms a step; each side sends when its turn comes. */
    pass(ms: number) {
      for (let passed = 0; passed < ms; passed++) {
        for (const side of sides) if (side.sending && clock.now() % 20 === side.phaseMs) deliver(side, side.packet());
        clock.advance(1);
        collect();
      }
    },
    ask: (session: number, command: SessionCommand) => engine.apply({ ...command, session }),
    mix: (command: MixCommand, mix = 1) => engine.applyToMix(mix, command),
    join: (session: number, more: Partial<MixMember> = {}, mix = 1) =>
      engine.applyToMix(mix, { type: 'join', session, member: { ...member, ...more } }),
    leave: (session: number, mix = 1) => engine.applyToMix(mix, { type: 'leave', session }),
  };
}

/** What is wrong with a stream: another source, a number left out or used twice, timestamps that go back, gaps in time. */
export function flaws(heard: readonly (Packet & { at: number })[], longestGapMs = 40): string[] {
  const found: string[] = [];
  for (let index = 1; index < heard.length; index++) {
    const [before, after] = [heard[index - 1]!, heard[index]!];
    const ahead = (after.sequence - before.sequence) & 0xffff;
    const units = (after.timestamp - before.timestamp) | 0;
    if (after.ssrc !== before.ssrc) found.push(`${index}: source ${before.ssrc} → ${after.ssrc}`);
    if (ahead !== 1) found.push(`${index}: ${ahead} ahead in sequence`);
    if (units < 160 && after.payloadType === before.payloadType) found.push(`${index}: ${units} ahead in time`);
    if (after.at - before.at > longestGapMs) found.push(`${index}: ${after.at - before.at} ms of silence`);
  }
  return found;
}
