import { type AudioCodec, codecNames } from './codecs.ts';
import type { AudioStream } from './description.ts';
import type { MediaLine } from './media-line.ts';

/** Names with dynamic payload types: a codec, or telephone events at a clock rate. */
type Named = AudioCodec | 'events 8000' | 'events 48000';

/**
 * Payload types of the audio of a session, once the other side has offered some: its latest number of each codec, and
 * every number that it has used. Plain data.
 */
export type AudioNumbers = {
  readonly known: Readonly<Partial<Record<Named, number>>>;
  readonly used: readonly number[];
};

/** Clocks of telephone events, with the number that we give each. */
export const eventTypes = { 8000: 101, 48000: 110 } as const;

/** Below are static payload types (RFC 3551 6). */
const firstDynamic = 96;

/** Payload types that are free for anything. */
const freeNumbers = Array.from({ length: 128 - firstDynamic }, (_, index) => 127 - index);

/** Remembers those of one more offer of the other side. */
export function withAudioNumbers(before: AudioNumbers | undefined, remote: AudioStream, line: MediaLine): AudioNumbers {
  const { telephoneEvent, wideTelephoneEvent, codecs } = remote;
  const dynamic = codecs.filter(({ payloadType }) => payloadType >= firstDynamic);
  // Of a codec that is listed twice the first is preferred.
  const named = dynamic.reverse().map(({ codec, payloadType }) => [codec, payloadType] as const);
  const numbers = line.formats.map(Number).filter((each) => each >= firstDynamic && each <= 127);
  return {
    known: {
      ...before?.known,
      ...Object.fromEntries(named),
      ...(telephoneEvent !== undefined && { 'events 8000': telephoneEvent }),
      ...(wideTelephoneEvent !== undefined && { 'events 48000': wideTelephoneEvent }),
    },
    used: [...new Set([...(before?.used ?? []), ...numbers])],
  };
}

/**
 * The numbers of our offer, for codecs and for telephone events at these clock rates. The other side's number wins,
 * else ours. A number never changes its meaning (RFC 3264 8.3.2).
 */
export function offeredNumbers(
  codecs: readonly AudioCodec[],
  eventRates: readonly (keyof typeof eventTypes)[],
  { known, used }: AudioNumbers = { known: {}, used: [] },
): { ofCodec: (codec: AudioCodec) => number; ofEvents: (rate: keyof typeof eventTypes) => number } {
  const wished = new Map<Named, number>();
  for (const codec of codecs) wished.set(codec, codecNames[codec].payloadType);
  for (const rate of eventRates) wished.set(`events ${rate}`, eventTypes[rate]);
  const taken = new Set([...used, ...wished.values()]);
  const given = new Map<Named, number>();
  for (const [name, ours] of wished) {
    const isOthers = ours >= firstDynamic && used.includes(ours);
    const number = known[name] ?? (isOthers ? freeNumbers.find((each) => !taken.has(each)) : ours) ?? ours;
    // Statically numbered codecs keep their number.
    given.set(name, ours < firstDynamic ? ours : number);
    taken.add(number);
  }
  return {
    ofCodec: (codec) => given.get(codec) ?? codecNames[codec].payloadType,
    ofEvents: (rate) => given.get(`events ${rate}`) ?? eventTypes[rate],
  };
}
