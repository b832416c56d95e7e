/**
 * Composes the music on hold that comes along, sounds/music/default/hold.opus: sixteen slow bars on four chords, an electric
 * piano over a soft pad and a bass, all of it sums of sines. Notes that ring beyond the end are laid over the beginning, so that the
 * loop has no seam.
 *
 *   npx tsx scripts/make-music.ts        needs opusenc (apt-get install -y opus-tools)
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const rate = 48_000;
const beatSeconds = 60 / 76;
const beatsPerBar = 4;
const bars = 16;
const length = Math.round(bars * beatsPerBar * beatSeconds * rate);
const music = new Float64Array(length);

/** Half tones above the A of 440 Hz. */
const hertz = (halfTones: number): number => 440 * 2 ** (halfTones / 12);

/** What sounds at `at` seconds of a note that began then, −1 to 1. */
type Voice = (at: number, frequency: number) => number;

/** A struck tine: a sine whose brightness dies away before it does. */
const piano: Voice = (at, frequency) => {
  const bright = 1.4 * Math.exp(-at * 5) + 0.25;
  const phase = 2 * Math.PI * frequency * at;
  return Math.sin(phase + bright * Math.sin(phase)) * Math.exp(-at * 1.6) * Math.min(1, at * 200);
};
/** Two slightly different sines and their octave, swelling and fading. */
const pad = (seconds: number): Voice => {
  return (at, frequency) => {
    const swell = Math.sin(Math.PI * Math.min(1, at / seconds)) ** 0.7;
    const tone = Math.sin(2 * Math.PI * frequency * 0.998 * at) + Math.sin(2 * Math.PI * frequency * 1.002 * at);
    return swell * (0.5 * tone + 0.15 * Math.sin(4 * Math.PI * frequency * at));
  };
};
const bass: Voice = (at, frequency) => {
  const phase = 2 * Math.PI * frequency * at;
  return (Math.sin(phase) + 0.3 * Math.sin(2 * phase)) * Math.exp(-at * 0.9) * Math.min(1, at * 60);
};

function play(voice: Voice, beat: number, seconds: number, halfTones: number, volume: number): void {
  const from = Math.round(beat * beatSeconds * rate);
  const frequency = hertz(halfTones);
  const samples = Math.round(seconds * rate);
  const release = Math.round(0.05 * rate);
  for (let index = 0; index < samples; index++) {
    const end = Math.min(1, (samples - index) / release);
    const at = (from + index) % length;
    music[at] = music[at]! + volume * end * voice(index / rate, frequency);
  }
}

/** F major 7, G 6, E minor, A minor: bass, then the notes of the chord, in half tones from A. */
const chords = [
  { root: -28, notes: [-9, -5, 0, 3] },
  { root: -26, notes: [-7, -5, -2, 2] },
  { root: -29, notes: [-10, -5, -2, 2] },
  { root: -24, notes: [-9, -5, 0, 7] },
];
/** A tune of four bars in steps of half a beat (. = nothing), varied from one round to the next. */
const tunes = [
  '7...5.3.2...3...-2..2.3.0.......',
  '3.5.7...10..7...5...3.2.0.......',
  '12..10..7.5.7...2.3.5...3.......',
  '7...5.3.2.0.-2..0.......0.......',
];

for (let bar = 0; bar < bars; bar++) {
  const { root, notes } = chords[bar % chords.length]!;
  const beat = bar * beatsPerBar;
  play(bass, beat, beatSeconds * 2.6, root, 0.2);
  play(bass, beat + 2.5, beatSeconds * 1.4, root + 12, 0.1);
  const seconds = beatSeconds * beatsPerBar * 1.25;
  for (const note of notes) play(pad(seconds), beat, seconds, note - 12, 0.05);
  // Broken upwards and down again.
  for (const [step, index] of [0, 1, 2, 3, 2, 1, 2, 1].entries())
    play(piano, beat + step / 2, 2.2, notes[index]!, 0.07 + 0.02 * Number(step === 0));
}
for (const [round, tune] of tunes.entries()) {
  const steps = tune.match(/-?\d+|\./g) ?? [];
  for (const [step, note] of steps.entries())
    if (note !== '.') play(piano, round * 4 * beatsPerBar + step / 2, 2.6, Number(note) + 3, 0.12);
}

let peak = 0;
for (const sample of music) peak = Math.max(peak, Math.abs(sample));
// Quieter than speech: it is waited under, not listened to.
const samples = Int16Array.from(music, (sample) => Math.round((sample / peak) * 9000));
const path = fileURLToPath(new URL('../sounds/music/default/hold.opus', import.meta.url));
mkdirSync(dirname(path), { recursive: true });
execFileSync(
  'opusenc',
  ['--quiet', '--music', '--bitrate', '28', '--raw', '--raw-chan', '1', '--serial', '1', '--title', 'Hold', '-', path],
  { input: Buffer.from(samples.buffer) },
);
