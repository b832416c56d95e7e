import { Cause, hangupReasons } from '../../telephony/causes.ts';
import type { Indication } from '../../telephony/media.ts';
import { parseSeconds } from '../arguments.ts';
import { type Application, answer, type Step, type StepResult, sleep, timer, waitFor } from './application.ts';

/** Causes by the interface's reason words (`busy`) and by the names of Q.850 (`USER_BUSY`), all in capitals. */
const causesByName: ReadonlyMap<string, number> = new Map<string, number>([
  ...Object.entries(Cause).map(([name, cause]) => [name.replaceAll(/[A-Z]/g, '_$&').toUpperCase(), cause] as const),
  ...Object.entries(hangupReasons).map(([name, cause]) => [name.toUpperCase(), cause] as const),
]);

/** A Q.850 cause by number (0–127) or name; undefined for others. */
function parseCause(text: string): number | undefined {
  const word = text.trim().toUpperCase();
  if (/^\d{1,3}$/.test(word)) return Number(word) <= 127 ? Number(word) : undefined;
  return causesByName.get(word);
}

export const answerApplication: Application = {
  name: 'Answer',
  usage: 'Answer([milliseconds]): answers, waits that long',
  run: (step) => {
    const pending = answer(step);
    const delay = Number.parseInt(step.args[0] ?? '', 10);
    if (!(delay > 0)) return pending?.then(() => undefined);
    return (pending ?? Promise.resolve()).then(() => sleep(step, delay)).then(() => undefined);
  },
};

export const hangup: Application = {
  name: 'Hangup',
  usage: 'Hangup([cause]): ends the call; the cause is a Q.850 number or name',
  check: ({ args }) =>
    args[0]?.trim() && parseCause(args[0]) === undefined ? `"${args[0]}" is no hangup cause` : undefined,
  run: ({ args, channel, warn }) => {
    const text = args[0]?.trim() ?? '';
    const cause = text === '' ? channel.hangupCause() || Cause.normalClearing : parseCause(text);
    if (cause === undefined) warn(`"${text}" is no hangup cause, cleared normally`);
    return { type: 'hangup', cause: cause ?? Cause.normalClearing };
  },
};

export const ringing: Application = {
  name: 'Ringing',
  usage: 'Ringing(): tells the caller that it rings',
  run: ({ channel }) => {
    channel.ring();
    return undefined;
  },
};

export const progress: Application = {
  name: 'Progress',
  usage: 'Progress(): opens early media',
  run: ({ channel }) => {
    channel.progress();
    return undefined;
  },
};

export const busy: Application = refusal('Busy', 'busy', Cause.userBusy);
export const congestion: Application = refusal('Congestion', 'congestion', Cause.congestion);

/**
 * Refuses an unanswered call after signalling it (the channel shows Busy): the cause is the technology's final
 * response. An answered call hears the tone, for the given seconds or until it hangs up.
 */
function refusal(name: string, tone: Indication, cause: number): Application {
  const run = async (step: Step): Promise<StepResult> => {
    const ms = parseSeconds(step.args[0] ?? '');
    await waitFor(step.signal, (finish) => {
      const stopTone = step.channel.indicate(tone);
      const stopTimer = ms === undefined ? undefined : timer(step, ms, finish);
      return () => {
        stopTimer?.();
        stopTone();
      };
    });
    return { type: 'hangup', cause };
  };
  return {
    name,
    usage: `${name}([seconds]): refuses the call, or plays the ${tone} tone on an answered one, and hangs up`,
    check: ({ args }) =>
      args[0]?.trim() && parseSeconds(args[0]) === undefined ? `"${args[0]}" is no number of seconds` : undefined,
    run(step) {
      if (step.channel.isUp()) return run(step);
      step.channel.indicate(tone)();
      return { type: 'hangup', cause };
    },
  };
}
