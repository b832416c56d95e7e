import type { Clock } from '../lib/clock.ts';

/**
 * Lets call control take turns: one transition at a time, and what it asks for afterwards.
 *
 * Effects of a chart are named while its transition still runs. Run at once, they would reach other actors before this
 * one has committed, and its facts would be told after theirs. So an effect is kept until the transition is over and
 * its facts are published; then it runs, and may send to any actor, which answers before the effect returns.
 */
export interface Turn {
  /** Runs `transition` (which sends to actors), then the effects it named. Inside another transition it waits for that one. */
  run(transition: () => void): void;
  /** As `run`, but at once even inside a transition: for starting an actor, which nobody can have sent to yet. */
  start(transition: () => void): void;
  /** Keeps an effect until the running transition is over; outside of one it runs at once. What it throws goes to `failed`. */
  after(effect: () => void, failed: (error: unknown) => void): void;
  /** The clock for actors: what a timer starts is a transition too. */
  clock: Clock;
}

type Effect = { run: () => void; failed: (error: unknown) => void };

export function createTurn(clock: Clock): Turn {
  let running = false;
  let effects: Effect[] = [];
  let waiting: (() => void)[] = [];

  const perform = ({ run, failed }: Effect): void => {
    try {
      run();
    } catch (error) {
      failed(error);
    }
  };

  const take = (transition: () => void): void => {
    running = true;
    try {
      transition();
    } finally {
      running = false;
    }
    if (effects.length === 0) return;
    const named = effects;
    effects = [];
    for (const effect of named) perform(effect);
  };

  const run = (transition: () => void): void => {
    if (running) {
      waiting.push(transition);
      return;
    }
    take(transition);
    while (waiting.length > 0) {
      const next = waiting;
      waiting = [];
      for (const transition of next) take(transition);
    }
  };

  return {
    run,
    start: (transition) => (running ? transition() : run(transition)),
    after(run, failed) {
      if (running) effects.push({ run, failed });
      else perform({ run, failed });
    },
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimeout: (fn, ms) => clock.setTimeout(() => run(fn), ms),
      clearTimeout: (id) => clock.clearTimeout(id),
      soon: (fn) => clock.soon(() => run(fn)),
    },
  };
}
