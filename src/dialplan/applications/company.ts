import { Cause } from '../../telephony/causes.ts';
import { parseSeconds } from '../arguments.ts';
import type { DialRequest, Ongoing } from '../calls.ts';
import { type Application, answer, type Step, timer, type Verdict, waitFor } from './application.ts';

/** Applications that bring a channel together with others. */

const lines = (text: string): string[] =>
  text
    .split('&')
    .map((each) => each.trim())
    .filter((each) => each !== '');

/** Letters with what stands in parentheses behind them: `m(jazz)g` → m: 'jazz', g: ''. Others are ignored. */
function readOptions(text: string): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    const letter = text.charAt(at++);
    const end = text.charAt(at) === '(' ? text.indexOf(')', at) : -1;
    options.set(letter, end < 0 ? '' : text.slice(at + 1, end));
    if (end >= 0) at = end + 1;
  }
  return options;
}

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

const isDialString = (target: string): boolean => /^[^/]+\/./.test(target);

export const dial: Application = {
  name: 'Dial',
  usage: 'Dial(technology/resource[&…][,seconds[,options]]): calls, and joins whoever answers; options g, m, r',
  check: ({ args }) => {
    const targets = lines(args[0] ?? '');
    if (targets.length === 0) return 'nobody to call is given';
    const wrong = targets.find((target) => !isDialString(target));
    if (wrong !== undefined) return `"${wrong}" is not technology/resource`;
    return args[1]?.trim() && parseSeconds(args[1]) === undefined ? `"${args[1]}" is no number of seconds` : undefined;
  },
  run: async (step): Promise<Verdict> => {
    const { channel, args, warn } = step;
    const targets = lines(args[0] ?? '').filter((target) => {
      if (!isDialString(target)) warn(`"${target}" is not technology/resource`);
      return isDialString(target);
    });
    const options = readOptions(args[2] ?? '');
    const music = options.get('m');
    let waiting: DialRequest['waiting'] = 'alert';
    if (music !== undefined) waiting = { music: music || 'default' };
    else if (options.has('r')) waiting = 'ring';
    const timeoutMs = parseSeconds(args[1] ?? '');
    const result = await until(step, () => channel.company().dial({ targets, timeoutMs, waiting }));
    if (!result) return undefined;
    channel.note('DIALSTATUS', result.status);
    channel.note('DIALEDPEERNAME', result.peer?.name ?? '');
    channel.note('DIALEDPEERNUMBER', result.peer?.number ?? '');
    channel.note('ANSWEREDTIME', String(Math.floor((result.answeredMs ?? 0) / 1000)));
    // Once the call was joined there is nothing left to do for it, unless the dialplan says so.
    return result.status === 'ANSWER' && !options.has('g')
      ? { type: 'hangup', cause: Cause.normalClearing }
      : undefined;
  },
};

export const bridge: Application = {
  name: 'Bridge',
  usage: 'Bridge(channel): joins this channel with another, until one of them goes; BRIDGERESULT tells how it went',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'no channel is named'),
  run: async (step): Promise<Verdict> => {
    const { channel, args } = step;
    const name = (args[0] ?? '').trim();
    let found = true;
    await until(step, () => {
      const ongoing = channel.company().join(name);
      found = ongoing !== undefined;
      return ongoing ?? { done: Promise.resolve(), stop: () => {} };
    });
    if (!step.signal.aborted) channel.note('BRIDGERESULT', found ? 'SUCCESS' : 'NONEXISTENT');
    return undefined;
  },
};

export const confBridge: Application = {
  name: 'ConfBridge',
  usage: 'ConfBridge(name): answers and joins everyone in the room of that name',
  check: ({ args }) => (args[0]?.trim() ? undefined : 'no room is named'),
  run: async (step): Promise<Verdict> => {
    const name = (step.args[0] ?? '').trim();
    if (name === '') {
      step.warn('no room is named');
      return undefined;
    }
    await answer(step);
    await until(step, () => step.channel.company().enterRoom(name));
    return undefined;
  },
};

export const musicOnHold: Application = {
  name: 'MusicOnHold',
  usage: 'MusicOnHold([class[,seconds]]): plays music, for ever or for that long',
  check: ({ args }) =>
    args[1]?.trim() && parseSeconds(args[1]) === undefined ? `"${args[1]}" is no number of seconds` : undefined,
  run: async (step): Promise<Verdict> => {
    const [musicClass = '', seconds = ''] = step.args.map((each) => each.trim());
    const ms = parseSeconds(seconds);
    if (!step.channel.isUp()) step.channel.progress();
    await waitFor(step.signal, (finish) => {
      const stopMusic = step.channel.company().music(musicClass || 'default');
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
  run: async (step): Promise<Verdict> => {
    const { channel, args, warn } = step;
    const file = recordingFile((args[0] ?? '').trim());
    if (!file) {
      warn('the file needs a name and a format');
      channel.note('RECORD_STATUS', 'ERROR');
      return undefined;
    }
    const options = readOptions(args[3] ?? '');
    await answer(step);
    const status = await until(step, () =>
      channel.company().record({
        ...file,
        append: options.has('a'),
        beep: !options.has('q'),
        maxSilenceMs: parseSeconds(args[1] ?? '') ?? 0,
        maxDurationMs: parseSeconds(args[2] ?? '') ?? 0,
        terminateOn: options.has('y') ? 'any' : '#',
      }),
    );
    if (status) {
      channel.note('RECORDED_FILE', file.name);
      channel.note('RECORD_STATUS', status);
    }
    return undefined;
  },
};
