import type { CancelSignal } from '../../lib/cancellation.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Stop } from '../calls.ts';
import type { DialplanChannel } from '../host.ts';
import type { Position } from '../position.ts';

/** How a run of the dialplan ended. */
export type Outcome =
  /** Ran out of steps: the call is to be cleared normally. */
  | { type: 'ended' }
  /** The channel is to enter an application; `next` is where the dialplan goes on when it comes back. */
  | { type: 'stasis'; app: string; args: string[]; next: Position }
  /** The call is to be hung up with this Q.850 cause. */
  | { type: 'hangup'; cause: number }
  /** The signal was aborted: the channel has another owner now. */
  | { type: 'aborted' };

/** The next position after an application: the next step (`undefined`), another position, or the end of this run. */
export type StepResult = undefined | { type: 'goto'; position: Position } | Outcome;

/** One running step, as its application sees it. */
export type Step = {
  readonly channel: DialplanChannel;
  readonly position: Position;
  /** The text between the parentheses, everything replaced. */
  readonly data: string;
  /** The same split at the commas that are configured; untrimmed. */
  readonly args: readonly string[];
  readonly clock: Clock;
  /** Aborted when the channel is taken away: from then on the application must leave the channel alone. */
  readonly signal: CancelSignal;
  /** The text between the parentheses as it is configured. */
  readonly text: string;
  /** A text with everything in it replaced, as it is here and now. */
  expand(text: string): string;
  /** The same, and split at its own commas: what a variable holds adds no argument. */
  expandArguments(text: string): { data: string; args: string[] };
  /** Logs what is wrong with this step, with its place. */
  warn(message: string): void;
  /** Logs what the dialplan has to say. */
  inform(message: string): void;
  readonly dialplan: Surroundings;
};

/** The surroundings of a step. */
export type Surroundings = {
  /** The priority of a label; undefined when there is none. */
  resolveLabel(context: string, extension: string, label: string): number | undefined;
  /** Whether an extension is there. */
  hasExtension(context: string, extension: string): boolean;
  /** Whether more digits may make another extension. */
  mayGrow(context: string, digits: string): boolean;
  /** The name of the application that a step names; undefined when there is no such step. */
  applicationAt(position: Position): string | undefined;
  /** How many subroutines may be inside one another. */
  readonly subroutineDepth: number;
  /** Counts limits that were reached. */
  readonly hit: LimitHit;
};

/** A step with constant arguments while the dialplan is loaded. */
export type ConfiguredCall = {
  data: string;
  args: readonly string[];
  position: Position;
  /** Whether a place exists; labels are priorities too. */
  exists(context: string, extension: string, priorityOrLabel: string): boolean;
};

/** A dialplan application. Its name is matched without case. */
export type Application = {
  readonly name: string;
  /** One line for people: how it is called. */
  readonly usage: string;
  /** Says what is wrong with constant arguments, while loading. */
  check?(call: ConfiguredCall): string | undefined;
  /** Says what is wrong with the text between the parentheses, as configured, while loading. */
  checkText?(text: string): string | undefined;
  /** It reads keys, and those first that were pressed ahead. Others that wait pass over them. */
  readonly readsKeys?: true;
  /** Runs it. No promise unless it has to wait. */
  run(step: Step): StepResult | Promise<StepResult>;
};

/** Longest timer in ms (a 32-bit signed number; a longer one would fire immediately). */
export const longestTimer = 2 ** 31 - 1;

/**
 * Waits for `finish` or the aborted signal, whichever is first; then stops the work of `begin`. Never rejects. With an
 * aborted signal nothing begins.
 */
export function waitFor(signal: CancelSignal, begin: (finish: () => void) => Stop): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    let stop: Stop | undefined;
    let over = false;
    const finish = (): void => {
      if (over) return;
      over = true;
      signal.removeEventListener('abort', finish);
      stop?.();
      resolve();
    };
    signal.addEventListener('abort', finish);
    stop = begin(finish);
    if (over) stop();
  });
}

/** Calls `finish` after `ms` milliseconds; beyond 24 days after 24 days. A step has one timer at a time. */
export function timer({ clock, channel: { journal } }: Step, ms: number, finish: () => void): Stop {
  const id = clock.setTimeout(finish, Math.min(journal.timeLeft(ms), longestTimer));
  return () => {
    journal.timeOver();
    clock.clearTimeout(id);
  };
}

/** Waits `ms` milliseconds, or until the channel is taken away. */
export const sleep = (step: Step, ms: number): Promise<void> =>
  waitFor(step.signal, (finish) => timer(step, ms, finish));

/** Answers the channel; a promise only if it is not Up yet. Check the signal after it. */
export function answer({ channel, signal }: Step): Promise<void> | undefined {
  if (channel.isUp()) return undefined;
  channel.answer();
  if (signal.aborted || channel.isUp()) return undefined;
  return waitFor(signal, (finish) => {
    void channel.answered().then(finish, finish);
    return () => {};
  });
}
