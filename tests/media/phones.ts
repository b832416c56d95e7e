import { decode, encode } from '../../src/media/codec/codecs.ts';
import type { MediaConfig } from '../../src/media/config.ts';
import { Goertzel } from '../../src/media/dsp/goertzel.ts';
import type { MixCommand, MixMember, RtpFlow, SessionCommand } from '../../src/telephony/media.ts';
import { bench, decodePacket, encodePacket, type Packet, usualFlow } from './support.ts';

export const member: MixMember = { role: 'participant', muted: false, passDigits: true };

/** A far side that sends a tone of its own, 20 ms a packet, and keeps what it hears. */
export class ToneFarSide {
  readonly session: number;
  readonly hertz: number;
  readonly address: string;
  readonly heard: (Packet & { at: number })[] = [];
  /** Its share of a packet that its packets come late by, so that no two come at once. */
  readonly phaseMs: number;
  port = 0;
  sending = true;
  #sequence = 65_530;
  #timestamp = 0xffff_fc00;
  #sample = 0;

  constructor(session: number, hertz: number) {
    this.session = session;
    this.hertz = hertz;
    this.address = `192.0.2.${session}`;
    this.phaseMs = (session * 7) % 20;
  }

  get flow(): RtpFlow {
    return { ...usualFlow, remote: { address: this.address, port: 4000 } };
  }

  /** Its next packet. */
  packet(): Uint8Array {
    const samples = Int16Array.from({ length: 160 }, () =>
      Math.round(6000 * Math.sin((2 * Math.PI * this.hertz * this.#sample++) / 8000)),
    );
    const packet = this.#next({ marker: this.#sample === 160, payloadType: 0, payload: [...encode('ulaw', samples)] });
    this.#timestamp = (this.#timestamp + 160) >>> 0;
    return packet;
  }

  /** A packet of a digit. */
  event(payload: number[]): Uint8Array {
    return this.#next({ marker: false, payloadType: 101, payload });
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
    const octets = this.heard.slice(-ms / 20).flatMap(({ payload }) => payload);
    const samples = decode('ulaw', Uint8Array.from(octets));
    if (samples.length === 0) return 0;
    const filter = new Goertzel(hertz, 8000);
    filter.take(samples, 0, samples.length);
    return (2 * Math.sqrt(filter.power())) / samples.length;
  }

  /** Which of these tones it hears. */
  hears(tones: readonly number[], ms = 200): number[] {
    return tones.filter((hertz) => this.amplitude(hertz, ms) > 1500);
  }
}

/** An engine with far sides that send tones of their own, on simulated time. */
export async function meeting(hertz: readonly number[], settings: Partial<MediaConfig> = {}) {
  const all = bench({ ports: { first: 10_000, last: 10_199 }, ...settings });
  const { engine, clock, network } = all;
  const sides = hertz.map((each, index) => new ToneFarSide(index + 1, each));
  for (const side of sides) {
    side.port = (await engine.openRtp(side.session)).port;
    engine.apply({ type: 'configure', session: side.session, flow: side.flow });
  }
  const collect = () => {
    for (const { from, packet } of network.sent.splice(0)) {
      const side = sides.find(({ port }) => port === from);
      if (side) side.heard.push({ ...decodePacket(packet), at: clock.now() });
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
