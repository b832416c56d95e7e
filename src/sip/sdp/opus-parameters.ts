import type { OpusWishes } from '../../lib/formats.ts';

/** The ranges of RFC 7587 section 6.1. */
const playbackRates = { least: 8000, most: 48_000 };
const bitRates = { least: 6000, most: 510_000 };

/** Default Opus requests. */
export const usualOpusWishes: OpusWishes = { fec: true, dtx: false, cbr: false };

/** Writes what we ask for as an `fmtp` of Opus; what RFC 7587 takes for granted is left out. '' where that is all. */
export function writeOpusWishes({ maxPlaybackRate, maxAverageBitrate, fec, dtx, cbr }: OpusWishes): string {
  const said = [
    ...(maxPlaybackRate === undefined || maxPlaybackRate >= playbackRates.most
      ? []
      : [`maxplaybackrate=${maxPlaybackRate}`]),
    ...(maxAverageBitrate === undefined ? [] : [`maxaveragebitrate=${maxAverageBitrate}`]),
    ...(fec ? ['useinbandfec=1'] : []),
    ...(dtx ? ['usedtx=1'] : []),
    ...(cbr ? ['cbr=1'] : []),
  ];
  return said.join('; ');
}

/**
 * Reads the Opus requests of `fmtp`; unreadable ones are ignored. `stereo` is ignored, because receivers of stereo also
 * take mono, which we send.
 */
export function readOpusWishes(parameters = ''): OpusWishes {
  const read = new Map<string, string>();
  for (const each of parameters.split(';')) {
    const [name = '', value = ''] = each.split('=', 2);
    read.set(name.trim().toLowerCase(), value.trim());
  }
  const number = (name: string, { least, most }: { least: number; most: number }): number | undefined => {
    const text = read.get(name) ?? '';
    if (!/^\d{1,9}$/.test(text)) return undefined;
    return Math.min(most, Math.max(least, Number(text)));
  };
  const maxPlaybackRate = number('maxplaybackrate', playbackRates);
  const maxAverageBitrate = number('maxaveragebitrate', bitRates);
  return {
    ...(maxPlaybackRate !== undefined && { maxPlaybackRate }),
    ...(maxAverageBitrate !== undefined && { maxAverageBitrate }),
    fec: read.get('useinbandfec') === '1',
    dtx: read.get('usedtx') === '1',
    cbr: read.get('cbr') === '1',
  };
}
