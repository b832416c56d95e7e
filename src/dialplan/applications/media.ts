import { type Application, answer, type Step, waitFor } from './application.ts';
import { listOf } from './texts.ts';

const schemes = /^(sound|recording|number|digits|characters|tone):/;

/** The files of a Playback as media URIs: `a&digits:12` → `sound:a`, `digits:12`. */
export const mediaUris = (files: string): string[] =>
  files
    .split('&')
    .map((file) => file.trim())
    .filter((file) => file !== '')
    .map((file) => uriOf(file, file));

/** A media URI. Only the configuration chooses another scheme than `sound`, or a variable that is a whole file. */
const uriOf = (file: string, literal: string): string => (schemes.test(literal) ? file : `sound:${file}`);

/** The files of an argument as media URIs; what a variable holds adds none, unless it is one of them, or all. */
export const mediaOf = (step: Step, index: number): string[] =>
  listOf(step, index).map(({ value, literal }) => uriOf(value, literal));

export const echo: Application = {
  name: 'Echo',
  usage: 'Echo(): sends back what it hears until the caller presses #, or the call ends',
  run: async ({ channel, signal }) => {
    await waitFor(signal, (finish) => {
      const stopEcho = channel.echo();
      const stopListening = channel.onDigit((digit) => digit === '#' && finish());
      return () => {
        stopListening();
        stopEcho();
      };
    });
    return undefined;
  },
};

export const playback: Application = {
  name: 'Playback',
  usage: 'Playback(file[&file…][,noanswer|skip]): answers and plays; PLAYBACKSTATUS is SUCCESS or FAILED',
  check: ({ args }) => (mediaUris(args[0] ?? '').length === 0 ? 'no file to play is given' : undefined),
  run: async (step) => {
    const status = await playFiles(step);
    if (!step.signal.aborted) step.channel.note('PLAYBACKSTATUS', status);
    return undefined;
  },
};

async function playFiles(step: Step): Promise<'SUCCESS' | 'FAILED'> {
  const { channel, args } = step;
  const options = (args[1] ?? '').split('&').map((option) => option.trim().toLowerCase());
  if (!channel.isUp()) {
    if (options.includes('skip')) return 'SUCCESS';
    if (!options.includes('noanswer')) await answer(step);
  }
  const uris = mediaOf(step, 0);
  if (uris.length > 0) return (await played(step, uris)) === 'done' ? 'SUCCESS' : 'FAILED';
  step.warn('no file to play is given');
  return 'FAILED';
}

/** Plays to the end, or until the channel is taken away. */
export async function played({ channel, signal }: Step, uris: string[]): Promise<'done' | 'failed'> {
  let result: 'done' | 'failed' = 'failed';
  await waitFor(signal, (finish) => {
    const playing = channel.play(uris);
    void playing.done.then((how) => {
      result = how;
      finish();
    }, finish);
    return playing.stop;
  });
  return result;
}
