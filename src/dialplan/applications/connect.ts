import type { DialResult } from '../../models/dial.ts';
import { Cause } from '../../telephony/causes.ts';
import { type Feature, features } from '../../telephony/features.ts';
import { parseSeconds, readOptions, readOptionsOf, unsealed } from '../arguments.ts';
import type { DialRequest, Ongoing, SpyRequest } from '../calls.ts';
import { behind } from '../position.ts';
import { type Application, answer, longestTimer, type Step, type StepResult, timer, waitFor } from './application.ts';
import { checkDestination, resolve } from './jumps.ts';
import { mediaUris } from './media.ts';
import { visit } from './subroutine.ts';
import { configuredArgument, listOf } from './texts.ts';

/** Applications that bring a channel together with others. */

const lines = (text: string): string[] =>
  text
    .split('&')
    .map((each) => each.trim())
    .filter((each) => each !== '');

/** Parts of an option's argument: `screen^one^two`. */
const partsOf = (text: string): string[] => text.split('^').map((each) => unsealed(each).trim());

/** A place of an option, with arguments for a subroutine there: `[[context^]extension^]priority-or-label[(one^two)]`. */
function readPlace(text: string): { place: string[]; args: string[] } {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const args = open < 0 || close < open ? '' : text.slice(open + 1, close);
  return { place: partsOf(open < 0 ? text : text.slice(0, open)), args: args === '' ? [] : partsOf(args) };
}

/**
 * Options with a position: for called channels before dialing, for the caller before that, for the called party
 * afterwards.
 */
const placeLetters = ['b', 'B', 'F'] as const;

/** Waits for something that goes on; undefined when the channel was taken away meanwhile. */
async function until<T>({ signal }: Step, begin: () => Ongoing<T>): Promise<T | undefined> {
  let result: T | undefined;
  await waitFor(signal, (finish) => {
    const ongoing = begin();
    void ongoing.done.then((value) => {
      result = value;
      finish();
    }, finish);
    return ongoing.stop;
  });
  return signal.aborted ? undefined : result;
}

/** Longest call that `L(…)` (in ms; when to warn of the end may follow, which is not done) and `S(…)` (in s) allow. */
function limitOf(options: ReadonlyMap<string, string>, { warn }: Pick<Step, 'warn'>): number | undefined {
  const limits = (['L', 'S'] as const).flatMap((letter) => {
    const text = options.get(letter) && unsealed(options.get(letter)!);
    if (text === undefined) return [];
    const ms = letter === 'L' ? Number(text.split(':')[0] || Number.NaN) : (parseSeconds(text) ?? Number.NaN);
    if (!(ms > 0)) warn(`"${letter}(${text})" is no limit, the call has none`);
    return ms > 0 ? [Math.min(ms, longestTimer)] : [];
  });
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** Features by their option letters: for the called party, and for the caller. */
const featureLetters: Readonly<Record<Feature, readonly [called: string, calling: string]>> = {
  blindxfer: ['t', 'T'],
  atxfer: ['t', 'T'],
  disconnect: ['h', 'H'],
  automon: ['w', 'W'],
  automixmon: ['x', 'X'],
};

function featuresOf(options: ReadonlyMap<string, string>): DialRequest['features'] {
  const [called, calling] = ([0, 1] as const).map((side) =>
    features.filter((feature) => options.has(featureLetters[feature][side])),
  ) as [Feature[], Feature[]];
  return called.length > 0 || calling.length > 0 ? { called, calling } : undefined;
}

/** Context of the extensions of one digit that the caller may leave a Dial for. */
const exitContext = ({ channel, position }: Step): string => channel.variable('EXITCONTEXT') || position.context;

/** The places that the called channel runs: before dialing (b), after its answer (U), and after the call (F). */
function readSubroutines(options: ReadonlyMap<string, string>, step: Step): Partial<DialRequest> {
  const [context = '', ...args] = partsOf(options.get('U') ?? '');
  const preparation = readPlace(options.get('b') ?? '');
  const prepared = options.has('b') ? resolve(preparation.place, step) : undefined;
  const place = options.get('F') ?? '';
  const afterwards = place ? resolve(readPlace(place).place, step) : behind(step.position);
  if (!afterwards) step.warn(`there is no location ${unsealed(place)}: who was called is hung up`);
  return {
    ...(prepared && { preparation: { position: prepared, args: preparation.args } }),
    ...(options.has('F') && afterwards && { afterwards }),
    ...(options.has('U') && { subroutine: { position: { context, extension: 's', priority: 1 }, args } }),
  };
}

/** What the caller hears until the answer: music (m), ringing (r), or the progress of the called phone. */
function waitingOf(options: ReadonlyMap<string, string>): DialRequest['waiting'] {
  const music = options.get('m');
  if (music !== undefined) return { music: unsealed(music) || 'default' };
  return options.has('r') ? 'ring' : 'alert';
}

/** Notes the result of a Dial in the variables of the caller. */
function noteResult({ channel }: Step, { status, cause, peer, answeredMs = 0 }: DialResult): void {
  if (cause !== undefined) channel.setHangupCause(cause);
  else if (status === 'ANSWER' && channel.hangupCause() !== Cause.unknown) channel.setHangupCause(Cause.normalClearing);
  channel.note('DIALSTATUS', status);
  channel.note('DIALEDPEERNAME', peer?.name ?? '');
  channel.note('DIALEDPEERNUMBER', peer?.number ?? '');
  channel.note('ANSWEREDTIME', String(Math.floor(answeredMs / 1000)));
}

/** Reads the options of Dial, except those for the caller's wait. */
function readDialOptions(options: ReadonlyMap<string, string>, step: Step): Partial<DialRequest> {
  const limitMs = limitOf(options, step);
  const announcement = mediaUris(options.get('A') ?? '').map(unsealed);
  const [called = '', calling = ''] = (options.get('D') ?? '').split(':').map(unsealed);
  const exits = exitContext(step);
  const leaves = (digit: string): boolean => step.dialplan.hasExtension(exits, digit);
  const asked = featuresOf(options);
  return {
    ...readSubroutines(options, step),
    ...(limitMs !== undefined && { limitMs }),
    ...(announcement.length > 0 && { announcement }),
    ...((called || calling) && { digits: { called, calling } }),
    ...(asked && { features: asked }),
    ...(options.has('c') && { toldElsewhere: true as const }),
    ...(options.has('d') && { leaves }),
    ...(options.has('e') && { endsIn: step.position.context }),
  };
}

type Dialed = { targets: string[]; time: string; options: ReadonlyMap<string, string> };

/**
 * Arguments and targets of a Dial. They are split before variables are replaced, so a value adds no target, option or
 * technology. An argument or target that is one variable alone may hold several (`Dial(${ALL})`,
 * `Dial(${PJSIP_DIAL_CONTACTS(bob)})`), and technologies, unless the network chose it (`Dial(${CALLERID(name)})`).
 */
function readDial(step: Step): Dialed {
  const { args, expand, warn } = step;
  const [, time = '', optionText = ''] = args;
  const options = configuredArgument(step, 2);
  return {
    targets: listOf(step, 0).flatMap(({ value, isForeign }) => {
      if (isForeign) warn(`the network chose the technology of "${value}": it is not called`);
      return isForeign ? [] : [value];
    }),
    time,
    options: options === undefined ? readOptions(optionText) : readOptionsOf(options.trim(), expand),
  };
}

const isDialString = (target: string): boolean => /^[^/]+\/./.test(target);

export const dial: Application = {
  name: 'Dial',
  usage:
    'Dial(technology/resource[&…][,seconds[,options]]): calls the targets and connects the first that answers; options A, B, b, c, D, d, e, F, g, H, h, L, m, r, S, T, t, U, W, w, X, x',
  check: (configured) => {
    const { args, exists } = configured;
    const options = readOptions(args[2] ?? '');
    for (const letter of placeLetters) {
      const place = options.get(letter);
      if (place === undefined || (letter === 'F' && place === '')) continue;
      const problem = checkDestination(readPlace(place).place, configured);
      if (problem !== undefined) return problem;
    }
    const screen = options.get('U');
    const [context = ''] = partsOf(screen ?? '');
    if (screen !== undefined && !exists(context, 's', '1')) return `there is no location ${context},s,1`;
    const targets = lines(args[0] ?? '');
    if (targets.length === 0) return 'no target is given';
    const wrong = targets.find((target) => !isDialString(target));
    if (wrong !== undefined) return `"${wrong}" is not technology/resource`;
    return args[1]?.trim() && parseSeconds(args[1]) === undefined ? `"${args[1]}" is no number of seconds` : undefined;
  },
  run: async (step): Promise<StepResult> => {
    const { channel, warn } = step;
    const { targets: named, time, options } = readDial(step);
    const targets = named.filter((target) => {
      if (!isDialString(target)) warn(`"${target}" is not technology/resource`);
      return isDialString(target);
    });
    const own = options.get('B');
    if (own !== undefined && !step.position.isBack) {
      const { place, args: given } = readPlace(own);
      const back = { ...step.position, isBack: true as const };
      return visit({ position: resolve(place, step), args: given, place: place.join(',') }, back, step);
    }
    const before = options.get('b');
    if (before !== undefined && !resolve(readPlace(before).place, step)) {
      warn(`there is no location ${unsealed(before)}`);
      return { type: 'hangup', cause: Cause.normalClearing };
    }
    const waiting = waitingOf(options);
    const timeoutMs = parseSeconds(time);
    const more = readDialOptions(options, step);
    const result = await until(step, () => channel.callControl().dial({ targets, timeoutMs, waiting, ...more }));
    if (!result) return undefined;
    noteResult(step, result);
    if (result.left !== undefined)
      return { type: 'goto', position: { context: exitContext(step), extension: result.left, priority: 1 } };
    // Once the call was joined there is nothing left to do for it, unless the dialplan says so.
    return result.status === 'ANSWER' && !options.has('g') && !result.goesOn
      ? { type: 'hangup', cause: Cause.normalClearing }
      : undefined;
  },
};

export const bridge: Application = {
  name: 'Bridge',
  usage: 'Bridge(channel): joins this channel with another, until one of them goes; BRIDGERESULT tells how it went',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'no channel is named'),
  run: async (step): Promise<StepResult> => {
    const { channel, args } = step;
    const name = (args[0] ?? '').trim();
    let found = true;
    await until(step, () => {
      const ongoing = channel.callControl().join(name);
      found = ongoing !== undefined;
      return ongoing ?? { done: Promise.resolve(), stop: () => {} };
    });
    if (!step.signal.aborted) channel.note('BRIDGERESULT', found ? 'SUCCESS' : 'NONEXISTENT');
    return undefined;
  },
};

/** What the options of ChanSpy ask for. */
function readSpying(options: ReadonlyMap<string, string>): Pick<SpyRequest, 'hears' | 'talksTo'> {
  const whispers = options.has('w') || options.has('W');
  return {
    hears: options.has('W') ? 'none' : options.has('o') ? 'party' : 'both',
    talksTo: options.has('B') ? 'both' : whispers ? 'party' : 'nobody',
  };
}

export const chanSpy: Application = {
  name: 'ChanSpy',
  usage:
    'ChanSpy(channel[,options]): answers and listens to a channel, by id, name or the beginning of its name, until it ends; options B (both hear the listener), o (hears its party alone), w (its party hears the listener), W (the same, and hears nothing); E, q, S have no effect',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'no channel is named'),
  run: async (step): Promise<StepResult> => {
    const { channel, args, warn } = step;
    const name = (args[0] ?? '').trim();
    await answer(step);
    if (step.signal.aborted) return undefined;
    let found = true;
    await until(step, () => {
      const ongoing = channel.callControl().spy({ channel: name, ...readSpying(readOptions(args[1] ?? '')) });
      found = ongoing !== undefined;
      return ongoing ?? { done: Promise.resolve(), stop: () => {} };
    });
    if (!found) warn(`there is no channel ${name}`);
    return undefined;
  },
};

export const confBridge: Application = {
  name: 'ConfBridge',
  usage: 'ConfBridge(name): answers and joins the conference of that name',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'no conference is named'),
  run: async (step): Promise<StepResult> => {
    const name = (step.args[0] ?? '').trim();
    if (name === '') {
      step.warn('no conference is named');
      return undefined;
    }
    await answer(step);
    await until(step, () => step.channel.callControl().enterConference(name));
    return undefined;
  },
};

export const musicOnHold: Application = {
  name: 'MusicOnHold',
  usage: 'MusicOnHold([class[,seconds]]): plays music, without end or for that long',
  check: ({ args }) =>
    args[1]?.trim() && parseSeconds(args[1]) === undefined ? `"${args[1]}" is no number of seconds` : undefined,
  run: async (step): Promise<StepResult> => {
    const [musicClass = '', seconds = ''] = step.args.map((each) => each.trim());
    const ms = parseSeconds(seconds);
    if (!step.channel.isUp()) step.channel.progress();
    await waitFor(step.signal, (finish) => {
      const stopMusic = step.channel.callControl().music(musicClass || 'default');
      const stopTimer = ms === undefined ? undefined : timer(step, ms, finish);
      return () => {
        stopTimer?.();
        stopMusic();
      };
    });
    return undefined;
  },
};

/** `name.format` of a recording; undefined without a suffix. */
function recordingFile(text: string): { name: string; format: string } | undefined {
  const dot = text.lastIndexOf('.');
  return dot < 1 || dot === text.length - 1 ? undefined : { name: text.slice(0, dot), format: text.slice(dot + 1) };
}

export const record: Application = {
  name: 'Record',
  usage:
    'Record(name.format[,silence[,seconds[,options]]]): answers and records; options a, q, y; RECORD_STATUS tells how it ended',
  check: ({ args }) => (recordingFile((args[0] ?? '').trim()) ? undefined : 'the file needs a name and a format'),
  run: async (step): Promise<StepResult> => {
    const { channel, args, warn } = step;
    const file = recordingFile((args[0] ?? '').trim());
    if (!file) {
      warn('the file needs a name and a format');
      channel.note('RECORD_STATUS', 'ERROR');
      return undefined;
    }
    const options = readOptions(args[3] ?? '');
    await answer(step);
    const status = await until(step, () => {
      // A process of an earlier version noted only that it had begun. Its file has been put in its place.
      const goesOn = channel.journal.recall() !== undefined;
      return channel.callControl().record({
        ...file,
        append: goesOn || options.has('a'),
        beep: !goesOn && !options.has('q'),
        maxSilenceMs: parseSeconds(args[1] ?? '') ?? 0,
        maxDurationMs: parseSeconds(args[2] ?? '') ?? 0,
        terminateOn: options.has('y') ? 'any' : '#',
      });
    });
    if (status) {
      channel.note('RECORDED_FILE', file.name);
      channel.note('RECORD_STATUS', status);
    }
    return undefined;
  },
};
