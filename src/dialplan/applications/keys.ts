import { parseSeconds } from '../arguments.ts';
import { timeoutMs } from '../timeouts.ts';
import { type Application, answer, type Step, type StepResult, timer, waitFor } from './application.ts';
import { mediaOf, mediaUris } from './media.ts';

/** Applications that wait for keys of the far side. */

/** Longest dialed extension, and most keys of one Read. */
const mostKeys = 80;

/**
 * Keys for an application that waits for them, behind those pressed earlier. On overflow the first ones are kept.
 * Unread keys stay for the next step.
 */
class Keys {
  readonly #step: Step;
  readonly #stop: () => void;
  readonly #pressed: string[];
  #told: (() => void) | undefined;

  constructor(step: Step) {
    this.#step = step;
    const { journal } = step.channel;
    this.#pressed = journal.typedAhead;
    this.#stop = step.channel.onDigit((digit) => {
      if (this.#pressed.length < mostKeys) this.#pressed.push(digit);
      journal.changed();
      this.#told?.();
    });
  }

  /** The next key; undefined when none came within so many ms, or the channel was taken away. */
  async next(ms: number): Promise<string | undefined> {
    const { signal, channel } = this.#step;
    const earlier = channel.journal.recall();
    if (earlier !== undefined) return earlier ?? undefined;
    if (this.#pressed.length === 0)
      await waitFor(signal, (finish) => {
        this.#told = finish;
        return timer(this.#step, ms, finish);
      });
    this.#told = undefined;
    if (signal.aborted) return undefined;
    const key = this.#pressed.shift();
    channel.journal.note(key);
    return key;
  }

  /** Plays until the end or until a key that `counts`, which is returned. Other keys are left out. */
  async during(uris: readonly string[], counts: (digit: string) => boolean): Promise<string | undefined> {
    const { channel, signal } = this.#step;
    const earlier = channel.journal.recall();
    if (earlier !== undefined) return earlier ?? undefined;
    let key: string | undefined;
    const look = (): boolean => {
      while (key === undefined && this.#pressed.length > 0) {
        const digit = this.#pressed.shift()!;
        if (counts(digit)) key = digit;
      }
      return key !== undefined;
    };
    if (!look())
      await waitFor(signal, (finish) => {
        const playing = channel.play(uris);
        void playing.done.then(finish, finish);
        this.#told = () => look() && finish();
        return playing.stop;
      });
    this.#told = undefined;
    if (!signal.aborted) channel.journal.note(key);
    return key;
  }

  close(): void {
    this.#stop();
  }
}

async function withKeys(step: Step, use: (keys: Keys) => Promise<StepResult>): Promise<StepResult> {
  const keys = new Keys(step);
  try {
    return await use(keys);
  } finally {
    keys.close();
  }
}

/** Takes keys as long as they may make another extension, and goes to the one they made, or to `i`. */
async function dialed(step: Step, keys: Keys, first: string, context: string): Promise<StepResult> {
  const { channel, dialplan, signal } = step;
  let extension = first;
  while (extension.length < mostKeys && dialplan.mayGrow(context, extension)) {
    const digit = await keys.next(timeoutMs(channel, 'TIMEOUT(digit)'));
    if (digit === undefined) break;
    extension += digit;
  }
  return signal.aborted ? undefined : { type: 'goto', position: { context, extension, priority: 1 } };
}

export const background: Application = {
  name: 'Background',
  readsKeys: true,
  usage:
    'Background(file[&file…][,options[,language[,context]]]): plays, and goes to the extension that is dialed meanwhile',
  check: ({ args }) => (mediaUris(args[0] ?? '').length === 0 ? 'no file to play is given' : undefined),
  run: async (step): Promise<StepResult> => {
    const { channel, args, position, signal, dialplan } = step;
    const [, options = '', language = '', context = ''] = args.map((each) => each.trim());
    const uris = mediaOf(step, 0);
    const dials = context || position.context;
    if (!channel.isUp()) {
      if (options.includes('s')) return undefined;
      if (!options.includes('n')) await answer(step);
    }
    if (uris.length === 0) step.warn('no file to play is given');
    if (language !== '') step.warn('the language of Background is left out: Set(CHANNEL(language)=…) sets it');
    if (uris.length === 0 || signal.aborted) return undefined;
    const counts = (digit: string): boolean =>
      !options.includes('p') && (!options.includes('m') || dialplan.hasExtension(dials, digit));
    return withKeys(step, async (keys) => {
      const first = await keys.during(uris, counts);
      return first === undefined || signal.aborted ? undefined : dialed(step, keys, first, dials);
    });
  },
};

export const waitExten: Application = {
  name: 'WaitExten',
  readsKeys: true,
  usage: 'WaitExten([seconds[,m(class)]]): waits for an extension to be dialed; then the next step, or `t`',
  check: ({ args }) =>
    args[0]?.trim() && parseSeconds(args[0]) === undefined ? `"${args[0]}" is no number of seconds` : undefined,
  run: async (step): Promise<StepResult> => {
    const { channel, args, position, signal, dialplan } = step;
    const ms = parseSeconds(args[0] ?? '') ?? timeoutMs(channel, 'TIMEOUT(response)');
    const music = /m(?:\(([^)]*)\))?/.exec(args[1] ?? '');
    const stopMusic = music ? channel.callControl().music(music[1] || 'default') : undefined;
    return withKeys(step, async (keys) => {
      const first = await keys.next(ms);
      stopMusic?.();
      if (signal.aborted) return undefined;
      if (first !== undefined) return dialed(step, keys, first, position.context);
      const goesOn = dialplan.applicationAt({ ...position, priority: position.priority + 1 }) !== undefined;
      if (goesOn || !dialplan.hasExtension(position.context, 't')) return undefined;
      return { type: 'goto', position: { context: position.context, extension: 't', priority: 1 } };
    });
  },
};

/** How Read went, in the words of READSTATUS. */
type ReadStatus = 'OK' | 'ERROR' | 'TIMEOUT' | 'SKIPPED';

type Reading = { uris: string[]; most: number; firstMs: number; nextMs: number };

/** One attempt to read keys: up to `#`, the wanted number, or the timeout. */
async function readOnce(step: Step, keys: Keys, reading: Reading): Promise<{ digits: string; isDone: boolean }> {
  const { uris, most, firstMs, nextMs } = reading;
  let digit = uris.length > 0 ? await keys.during(uris, () => true) : undefined;
  if (digit === undefined && !step.signal.aborted) digit = await keys.next(firstMs);
  let digits = '';
  while (digit !== undefined && digit !== '#') {
    digits += digit;
    if (digits.length >= most) return { digits, isDone: true };
    digit = await keys.next(nextMs);
  }
  return { digits, isDone: digit === '#' };
}

export const read: Application = {
  name: 'Read',
  readsKeys: true,
  usage: 'Read(variable[,file[&file…][,most digits[,options[,attempts[,seconds]]]]]): plays and reads digits up to #',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'no variable is named'),
  run: async (step): Promise<StepResult> => {
    const { channel, args, signal, warn } = step;
    const [name = '', , most = '', options = '', attempts = '', seconds = ''] = args.map((each) => each.trim());
    const tell = (status: ReadStatus, digits = ''): undefined => {
      if (signal.aborted) return;
      const isSet = name !== '' && channel.setVariable(name, digits);
      if (!isSet) warn(`${name} is not set: ${name === '' ? 'it has no name' : 'there are too many variables'}`);
      channel.note('READSTATUS', isSet ? status : 'ERROR');
    };
    if (!channel.isUp()) {
      if (options.includes('s')) return tell('SKIPPED');
      if (!options.includes('n')) await answer(step);
    }
    const waitMs = parseSeconds(seconds) || undefined;
    const reading: Reading = {
      uris: mediaOf(step, 1),
      most: Math.min(Number.parseInt(most, 10) || mostKeys, mostKeys),
      firstMs: waitMs ?? timeoutMs(channel, 'TIMEOUT(response)'),
      nextMs: waitMs ?? timeoutMs(channel, 'TIMEOUT(digit)'),
    };
    return withKeys(step, async (keys) => {
      let tries = Math.min(Math.max(Number.parseInt(attempts, 10) || 1, 1), mostAttempts);
      let found = { digits: '', isDone: false };
      while (tries-- > 0 && found.digits === '' && !found.isDone && !signal.aborted)
        found = await readOnce(step, keys, reading);
      return tell(found.isDone ? 'OK' : 'TIMEOUT', found.digits);
    });
  },
};

/** Attempts of one Read: an unplayable file must not loop. */
const mostAttempts = 100;
