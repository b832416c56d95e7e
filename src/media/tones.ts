import type { ToneSignal } from '../telephony/media.ts';
import { encode, octetsPerSample, type StoredCodec, samplesPerMs } from './codec/codecs.ts';
import type { SignalPattern } from './dsp/signal-detector.ts';
import type { Segment, Sequence } from './sequence.ts';

/** The tones of every zone, by Asterisk's names. */
type ToneName = 'dial' | 'busy' | 'ring' | 'congestion' | 'callwaiting' | 'dialrecall' | 'record' | 'info' | 'stutter';

type ToneZone = Readonly<Record<ToneName, string>>;

/** Frequencies and cadences of ITU-T E.180 supplement 2, in Asterisk's notation (see {@link parseToneList}). */
const us: ToneZone = {
  dial: '350+440',
  busy: '480+620/500,0/500',
  ring: '440+480/2000,0/4000',
  congestion: '480+620/250,0/250',
  callwaiting: '440/300,0/10000',
  dialrecall: '!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,350+440',
  record: '1400/500,0/15000',
  info: '!950/330,!1400/330,!1800/330,0',
  stutter:
    '!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,!350+440/100,!0/100,350+440',
};
const gb: ToneZone = {
  dial: '350+440',
  busy: '400/375,0/375',
  ring: '400+450/400,0/200,400+450/400,0/2000',
  congestion: '400/400,0/350,400/225,0/525',
  callwaiting: '400/100,0/4000',
  dialrecall: '350+440',
  record: '1400/500,0/60000',
  info: '950/330,0/15,1400/330,0/15,1800/330,0/1000',
  stutter: '350+440/750,440/750',
};
const de: ToneZone = {
  dial: '425',
  busy: '425/480,0/480',
  ring: '425/1000,0/4000',
  congestion: '425/240,0/240',
  callwaiting: '!425/200,!0/200,!425/200,!0/5000,!425/200,!0/200,!425/200,!0/5000,!425/200,!0/200,!425/200,0',
  dialrecall: '!425/100,!0/100,!425/100,!0/100,!425/100,!0/100,425',
  record: '1400/80,0/15000',
  info: '950/330,0/30,1400/330,0/30,1800/330,0/1000',
  stutter: '400+425',
};
const fr: ToneZone = {
  dial: '440',
  busy: '440/500,0/500',
  ring: '440/1500,0/3500',
  congestion: '440/250,0/250',
  callwaiting: '440/300,0/10000',
  dialrecall: '!440/100,!0/100,!440/100,!0/100,!440/100,!0/100,440',
  record: '1400/500,0/15000',
  info: '!950/330,!1400/330,!1800/330,0',
  stutter: '!440/100,!0/100,!440/100,!0/100,!440/100,!0/100,!440/100,!0/100,!440/100,!0/100,!440/100,!0/100,440',
};
const zones: ReadonlyMap<string, ToneZone> = new Map([
  ['us', us],
  ['gb', gb],
  ['uk', gb],
  ['de', de],
  ['fr', fr],
]);

/** One element of a tone list. */
export type ToneElement = {
  /** Frequencies sounding together, in Hz; none = silence. */
  frequencies: readonly number[];
  /** The second frequency modulates the first instead of sounding beside it. */
  modulated: boolean;
  /** In ms; Infinity: without end. */
  durationMs: number;
  /** Played once, before what is repeated. */
  once: boolean;
};

const maximumElements = 256;
const amplitude = 5000;
/** Highest frequency of a telephone line, in Hz. */
const highestFrequency = 4000;

/** Whether tones of this country are known. */
export function isToneZone(code: string): boolean {
  return zones.has(code.toLowerCase());
}

/** Signals of the network that can be made out, as tones of a zone. */
const signalTones = { busy: 'busy', dial: 'dial', information: 'info', ringing: 'ring' } as const;

/** Patterns of a zone's signals. */
export function signalPatterns(zone: string): SignalPattern<ToneSignal>[] {
  return Object.entries(signalTones).map(([name, tone]) => ({
    name: name as ToneSignal,
    parts: parseToneList(toneList(zone, tone) ?? us[tone])!
      .filter(({ frequencies }) => frequencies.length > 0)
      .map(({ frequencies, durationMs }) => ({ hertz: frequencies, ms: durationMs })),
  }));
}

/** The list of a zone's tone; undefined for a name or a zone that is not known. */
export function toneList(zone: string, name: string): string | undefined {
  const tones = zones.get(zone.toLowerCase());
  return tones && Object.hasOwn(tones, name) ? tones[name as ToneName] : undefined;
}

/**
 * Reads a tone list in Asterisk's notation: `frequency[+frequency…][/ms]`, separated by commas. 0 Hz is silence, and
 * `f*g` is f modulated by g. `!` plays an element once, before the others repeat. Without a duration an element lasts
 * without end. Undefined if it is unreadable or takes no time.
 */
export function parseToneList(list: string): readonly ToneElement[] | undefined {
  const elements: ToneElement[] = [];
  const parts = list.split(/[,|]/);
  if (parts.length > maximumElements) return undefined;
  for (const part of parts) {
    const found = /^\s*(!?)(\d{1,4}(?:[+*]\d{1,4}){0,3})(?:\/(\d{1,9}))?\s*$/.exec(part);
    if (!found) return undefined;
    const modulated = found[2]!.includes('*');
    const frequencies = found[2]!.split(/[+*]/).map(Number);
    if (frequencies.some((frequency) => frequency >= highestFrequency)) return undefined;
    const durationMs = found[3] === undefined ? Number.POSITIVE_INFINITY : Number(found[3]);
    elements.push({
      frequencies: frequencies.filter((frequency) => frequency > 0),
      modulated,
      durationMs,
      once: found[1] === '!',
    });
  }
  const audible = elements.filter((element) => element.durationMs > 0);
  return audible.length > 0 ? audible : undefined;
}

/** A tone list as something to play: first what is played once, then what is repeated. */
export function toneSequence(elements: readonly ToneElement[], codec: StoredCodec): Sequence {
  const once = elements.filter((element) => element.once);
  const repeated = elements.filter((element) => !element.once);
  return {
    codec,
    segments: [...once, ...repeated].map((element) => toneSegment(element, codec)),
    seekable: false,
    as: (other) => toneSequence(elements, other),
    ...(repeated.length > 0 ? { repeatFrom: once.length } : {}),
  };
}

const blocksPerSecond = 50;

function toneSegment({ frequencies, modulated, durationMs }: ToneElement, codec: StoredCodec): Segment {
  const perSecond = samplesPerMs(codec) * 1000;
  const samples = (durationMs * perSecond) / 1000;
  // Whole Hertz repeat exactly after one second, so a second of payload is enough for any duration.
  const held = Math.trunc(Math.min(samples, perSecond));
  const octets = octetsPerSample(codec);
  const block = perSecond / blocksPerSecond;
  const made = new Uint8Array(blocksPerSecond);
  let payload: Uint8Array | undefined;
  return {
    get payload() {
      payload ??= new Uint8Array(held * octets);
      return payload;
    },
    samples,
    // Evaluated while it is read: a long list that is stopped costs nothing.
    make(from, end) {
      for (let at = Math.floor(from / block); at * block < Math.min(end, held); at++) {
        if (made[at] === 1) continue;
        made[at] = 1;
        const first = at * block;
        const piece = { from: first, length: Math.min(block, held - first), sampleRate: perSecond };
        this.payload.set(encode(codec, tone(frequencies, modulated, piece)), first * octets);
      }
    },
  };
}

type Piece = { from: number; length: number; sampleRate: number };

/** `length` samples of sine waves, −16 dBFS each, from sample `from` on. */
function tone(frequencies: readonly number[], modulated: boolean, { from, length, sampleRate }: Piece): Int16Array {
  const samples = new Int16Array(length);
  const steps = frequencies.map((frequency) => (2 * Math.PI * frequency) / sampleRate);
  for (let at = 0; at < length; at++) {
    const index = from + at;
    const [first = 0, second = 0] = steps;
    samples[at] = modulated
      ? Math.round(amplitude * Math.sin(first * index) * (1 + 0.9 * Math.sin(second * index)))
      : Math.round(steps.reduce((sum, step) => sum + amplitude * Math.sin(step * index), 0));
  }
  return samples;
}

const digitRows = [697, 770, 852, 941];
const digitColumns = [1209, 1336, 1477, 1633];
const keypad = ['123A', '456B', '789C', '*0#D'];

/** The pair of frequencies (ITU-T Q.23) of a digit `0-9*#A-D`, for far sides that take no telephone events. */
export function digitFrequencies(digit: string): readonly number[] {
  const row = keypad.findIndex((keys) => keys.includes(digit));
  const column = keypad[row]?.indexOf(digit) ?? -1;
  return row < 0 || column < 0 ? [] : [digitRows[row]!, digitColumns[column]!];
}
