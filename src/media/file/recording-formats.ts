import type { FormatName } from '../../lib/formats.ts';
import { formatRates, maximumPayload } from '../codec/audio-codec.ts';
import { openCodec } from '../codec/open-codec.ts';
import { OpusCodec } from '../codec/opus.ts';
import { OggWriter } from './ogg.ts';
import { opusHeader } from './opus-packets.ts';
import { parseWav, wavHeader, wavHeaderOctets } from './wav.ts';

/** Takes octets to be written behind those before. They are copied. */
type Push = (octets: Uint8Array) => void;

/** How a recording becomes a file that can be played at any instant. */
export interface RecordingContainer {
  /** Rate of the samples taken, in Hz. */
  readonly sampleRate: number;
  /** Writes the beginning of a new file. */
  begin(push: Push): void;
  /**
   * Goes on behind what a file holds. @returns where: octets beyond are given up.
   * @throws Error in words for the log when nothing can be added to it.
   */
  resume(file: Uint8Array, push: Push): number;
  /** Encodes samples; with two channels `right` has as many. */
  write(left: Int16Array, right: Int16Array | undefined, push: Push): void;
  /** Puts out what is ready but held back, before octets go to the disk. */
  flush(push: Push): void;
  /** The end. */
  end(push: Push): void;
  /** The header of a file of that length in octets; undefined if it stays. */
  header(fileOctets: number): Uint8Array | undefined;
  close(): void;
}

/** A format that recordings can be made in. */
type RecordingFormat = {
  /** In Hz. */
  sampleRate: number;
  /** Whether the two sides can lie on a track each. */
  twoChannels: boolean;
  /** Opens a file's encoder. @param serial tells streams in a file apart, 32 bits. */
  open(channels: 1 | 2, serial: number): Promise<RecordingContainer> | RecordingContainer;
};

/** A voice recorded with Opus: what a telephone carries at most, and a third cheaper to encode than 48 kHz. */
const opusRate = 16_000;

const wav = (sampleRate: number): RecordingFormat => ({
  sampleRate,
  twoChannels: true,
  open: (channels) => new WavContainer(sampleRate, channels),
});
const raw = (codec: Exclude<FormatName, 'opus'>): RecordingFormat => ({
  sampleRate: formatRates[codec].sampleRate,
  twoChannels: false,
  open: () => new RawContainer(codec),
});
const opus: RecordingFormat = {
  sampleRate: opusRate,
  twoChannels: false,
  async open(_channels, serial) {
    const codec = new OpusCodec({ sampleRate: opusRate, fec: false, lossPercent: 0 });
    await codec.ready('encode');
    return new OpusContainer(codec, serial);
  },
};

/** Formats by the name that a recording is asked for with, which is the file's extension too. */
export const recordingFormats: ReadonlyMap<string, RecordingFormat> = new Map([
  ['wav', wav(8000)],
  ['wav16', wav(16_000)],
  ['ulaw', raw('ulaw')],
  ['alaw', raw('alaw')],
  ['sln', raw('slin')],
  ['slin', raw('slin')],
  ['sln12', raw('slin12')],
  ['sln16', raw('slin16')],
  ['sln24', raw('slin24')],
  ['sln32', raw('slin32')],
  ['sln44', raw('slin44')],
  ['sln48', raw('slin48')],
  ['g722', raw('g722')],
  ['ogg', opus],
  ['opus', opus],
]);

/** WAV of 16-bit PCM: the sizes in its header grow with the file. */
class WavContainer implements RecordingContainer {
  readonly sampleRate: number;
  readonly #channels: 1 | 2;
  /** The header, up to the beginning of the audio. */
  #head: Uint8Array;
  #octets = new Uint8Array(0);

  constructor(sampleRate: number, channels: 1 | 2) {
    this.sampleRate = sampleRate;
    this.#channels = channels;
    this.#head = wavHeader(sampleRate, channels, 0);
  }

  begin(push: Push): void {
    push(this.#head);
  }

  resume(file: Uint8Array): number {
    const { coding, sampleRate, channels, start, end } = parseWav(file);
    if (coding !== 'pcm' || sampleRate !== this.sampleRate || channels !== this.#channels)
      throw new Error(`a WAV file of ${coding} ${sampleRate} Hz ${channels} channels cannot be gone on with`);
    if (start < wavHeaderOctets) throw new Error('a WAV file whose audio comes too early');
    this.#head = file.slice(0, start);
    return end - ((end - start) % (2 * channels));
  }

  write(left: Int16Array, right: Int16Array | undefined, push: Push): void {
    const channels = this.#channels;
    const octets = left.length * 2 * channels;
    if (this.#octets.length !== octets) this.#octets = new Uint8Array(octets);
    const target = this.#octets;
    for (let index = 0, at = 0; index < left.length; index++) {
      target[at++] = left[index]!;
      target[at++] = left[index]! >> 8;
      if (channels === 1) continue;
      const other = right?.[index] ?? 0;
      target[at++] = other;
      target[at++] = other >> 8;
    }
    push(target);
  }

  flush(): void {}
  end(): void {}

  header(fileOctets: number): Uint8Array {
    const head = new DataView(this.#head.buffer, this.#head.byteOffset, this.#head.byteLength);
    const octets = fileOctets - this.#head.length;
    // A disk that was full may have taken a part of a sample.
    const whole = octets - (octets % (2 * this.#channels));
    head.setUint32(4, Math.min(0xffff_ffff, this.#head.length + whole - 8), true);
    head.setUint32(this.#head.length - 4, Math.min(0xffff_ffff, whole), true);
    return this.#head;
  }

  close(): void {}
}

/** As much of a file brings an encoder to where its end is. */
const followedOctets = 8000;

/** Octets of a codec without any header. */
class RawContainer implements RecordingContainer {
  readonly sampleRate: number;
  readonly #codec: ReturnType<typeof openCodec>;
  #octets = new Uint8Array(0);

  constructor(codec: Exclude<FormatName, 'opus'>) {
    this.#codec = openCodec(codec);
    this.sampleRate = this.#codec.sampleRate;
  }

  begin(): void {}

  resume(file: Uint8Array): number {
    this.#codec.follow?.(file.subarray(-followedOctets));
    return this.#codec.codec.startsWith('slin') ? file.length & ~1 : file.length;
  }

  write(left: Int16Array, _right: Int16Array | undefined, push: Push): void {
    const most = maximumPayload(left.length);
    if (this.#octets.length < most) this.#octets = new Uint8Array(most);
    push(this.#octets.subarray(0, this.#codec.encode(left, this.#octets)));
  }

  flush(): void {}
  end(): void {}

  header(): undefined {
    return undefined;
  }

  close(): void {
    this.#codec.close();
  }
}

/** Opus in Ogg (RFC 7845): a page for each batch, so that every batch can be played. */
class OpusContainer implements RecordingContainer {
  readonly sampleRate = opusRate;
  readonly #codec: OpusCodec;
  readonly #ogg: OggWriter;
  readonly #preSkip: number;
  readonly #frame = new Int16Array(opusRate / 50);
  readonly #payload = new Uint8Array(maximumPayload(opusRate / 50));
  #filled = 0;
  /** Samples taken, and samples of 48 kHz that have become packets. */
  #taken = 0;
  #granule = 0;

  constructor(codec: OpusCodec, serial: number) {
    this.#codec = codec;
    this.#ogg = new OggWriter(serial);
    this.#preSkip = codec.lookahead;
  }

  begin(push: Push): void {
    push(opusHeader(this.#ogg, this.#preSkip, opusRate));
  }

  /** Another stream begins behind the first (RFC 3533 section 4: chained streams). */
  resume(file: Uint8Array, push: Push): number {
    this.begin(push);
    return file.length;
  }

  write(left: Int16Array, _right: Int16Array | undefined, push: Push): void {
    this.#taken += left.length;
    for (let from = 0; from < left.length; ) {
      const take = Math.min(left.length - from, this.#frame.length - this.#filled);
      this.#frame.set(left.subarray(from, from + take), this.#filled);
      this.#filled += take;
      from += take;
      if (this.#filled === this.#frame.length) this.#packet(push);
    }
  }

  flush(push: Push): void {
    const page = this.#ogg.page();
    if (page) push(page);
  }

  end(push: Push): void {
    const clock = this.#codec.clockRate;
    const end = this.#preSkip + (this.#taken * clock) / opusRate;
    // The encoder's delay is pushed out by silence; the last page says where the audio really ends.
    while (this.#granule < end) {
      this.#frame.fill(0, this.#filled);
      this.#packet(push, end);
    }
    push(this.#ogg.page(true)!);
  }

  header(): undefined {
    return undefined;
  }

  close(): void {
    this.#codec.close();
  }

  #packet(push: Push, end = Number.POSITIVE_INFINITY): void {
    this.#filled = 0;
    const octets = this.#codec.encode(this.#frame, this.#payload);
    this.#granule += (this.#frame.length * this.#codec.clockRate) / opusRate;
    const full = this.#ogg.add(this.#payload.slice(0, octets), Math.min(this.#granule, end));
    if (full) push(full);
  }
}
