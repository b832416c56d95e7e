import type { CancelSignal } from '../lib/cancellation.ts';
import type { Clock } from '../lib/clock.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { Cause } from '../telephony/causes.ts';
import type { Outcome, Step, StepResult, Surroundings } from './applications/application.ts';
import { compile, expand, expandArguments, type Scope } from './expressions.ts';
import { devicesOf } from './hints.ts';
import type { DialplanChannel } from './host.ts';
import {
  type ConfiguredContexts,
  findExtension,
  mayGrow,
  type ParsedContexts,
  type ParsedExtension,
  type ParsedStep,
  parseContexts,
} from './parse.ts';
import { behind, type Position } from './position.ts';
import { supervision, supervisionContext } from './supervision.ts';
import { readVariableOrFunction } from './variables.ts';

/** A parsed step, as found by {@link Dialplan.find}. `data` is as configured. */
type FoundStep = { application: string; data: string; label?: string };

export interface Dialplan {
  /**
   * Calls that enter it from now on find these contexts; runs under way go on in those they began with.
   * @throws Error listing every problem with its path; then nothing has changed.
   */
  replace(contexts: ConfiguredContexts): void;
  hasContext(context: string): boolean;
  /** The step at a place, patterns included; undefined when there is none. */
  find(context: string, extension: string, priority: number): FoundStep | undefined;
  /** The priority a label stands for; undefined when the extension does not exist or has no such label. */
  resolveLabel(context: string, extension: string, label: string): number | undefined;
  /** Whether a dialed extension exists (exactly or by a pattern). */
  hasExtension(context: string, extension: string): boolean;
  /** Whether more digits may make another extension. */
  mayGrow(context: string, digits: string): boolean;
  /**
   * The devices that BLF shows for an extension: those of its hint, in the context or those it includes.
   * Undefined where there is none.
   */
  hint(context: string, extension: string): readonly string[] | undefined;
  /** A text with `${…}` and `$[…]` replaced, as a step at the channel's place would see it. Never throws. */
  expand(channel: DialplanChannel, text: string): string;
  /**
   * Runs the dialplan on a channel from a position to its end. Never rejects. Starts synchronously: steps without a
   * wait have run when this returns. After `signal` aborts, the running step is stopped (play, tone, echo), and the
   * channel is not used again.
   *
   * An unknown extension becomes `i` (`INVALID_EXTEN` has its name). Without `i` the call is hung up: cause 3 without
   * such a context, else cause 1. A position behind the last step ends normally.
   */
  run(channel: DialplanChannel, from: Position, signal: CancelSignal): Promise<Outcome>;
}

type DialplanOptions = {
  contexts: ConfiguredContexts;
  clock: Clock;
  log: Logger;
  /** How many subroutines may be inside one another on a channel. */
  subroutineDepth?: number;
  /** Counts limits that were reached. */
  hit?: LimitHit;
};

/** How deep subroutines may be where nothing is said of it. */
const standardDepth = 100;

/** Steps within a second, or without a wait, that count as an endless loop, which would starve other calls. */
const mostSteps = 1000;

/** A dialplan made of its configuration; all parsing is done here. @throws Error listing every problem with its path. */
const lookUp = (contexts: ParsedContexts, context: string, extension: string): ParsedExtension | undefined =>
  findExtension(contexts.get(context), extension);
const labelIn = (contexts: ParsedContexts) => (context: string, extension: string, label: string) =>
  lookUp(contexts, context, extension)?.labels.get(label);

type RunnerOptions = Pick<DialplanOptions, 'clock' | 'log' | 'subroutineDepth' | 'hit'>;
type ScopeOf = (channel: DialplanChannel, position?: Position) => Scope;

/** Reads the variables and functions of channels; problems go to the log. */
function createScopes({ clock, log }: RunnerOptions): ScopeOf {
  return (channel, position) => {
    const warn = (message: string): void => log.warn({ channel: channel.id, ...position }, message);
    const value = (name: string): string => {
      const read = readVariableOrFunction(channel, name, clock, { position });
      if (read && !read.ok) warn(read.message);
      return read?.ok ? read.value : '';
    };
    return { value, warn };
  };
}

/** Runs single steps. */
function createSteps({ clock, log }: RunnerOptions, scopeOf: ScopeOf) {
  /** Position of a call to an unknown extension. */
  const invalid = (
    channel: DialplanChannel,
    { context, extension }: Position,
    contexts: ParsedContexts,
  ): Position | Outcome => {
    log.warn({ channel: channel.id, context, extension }, 'no such extension');
    if (!contexts.has(context)) return { type: 'hangup', cause: Cause.noRouteDestination };
    if (!lookUp(contexts, context, 'i')) return { type: 'hangup', cause: Cause.unallocated };
    channel.note('INVALID_EXTEN', extension);
    return { context, extension: 'i', priority: 1 };
  };

  /** Begins one step: tells the channel, then runs the application. */
  const perform = (
    channel: DialplanChannel,
    { application, template, args }: ParsedStep,
    position: Position,
    { signal, surroundings }: { signal: CancelSignal; surroundings: Surroundings },
  ): StepResult | Promise<StepResult> => {
    const scope = scopeOf(channel, position);
    const { data, args: split } = args ? { data: template.text, args } : expandArguments(template, scope);
    if (log.enabled('debug'))
      log.debug({ channel: channel.id, ...position, application: application.name }, 'a step of the dialplan');
    channel.entering({ position, application: application.name, data });
    if (signal.aborted) return { type: 'aborted' };
    const step: Step = {
      channel,
      position,
      data,
      args: split,
      clock,
      signal,
      text: template.text,
      expand: (text) => expand(compile(text), scope),
      expandArguments: (text) => expandArguments(compile(text), scope),
      warn: scope.warn,
      inform: (message) => log.info({ channel: channel.id, ...position }, message),
      dialplan: surroundings,
    };
    const outcome = application.run(step);
    // A step that takes time drops keys pressed earlier, unless it reads keys.
    const { typedAhead } = channel.journal;
    if (outcome instanceof Promise && !application.readsKeys && typedAhead.length > 0) {
      typedAhead.length = 0;
      channel.journal.changed();
    }
    return outcome;
  };

  return { invalid, perform };
}

/** Runs channels from a position to their outcome, in the contexts of the moment. */
function createRunner(options: RunnerOptions, scopeOf: ScopeOf, contextsNow: () => ParsedContexts) {
  const { clock, log, subroutineDepth = standardDepth, hit = uncounted } = options;
  const { invalid, perform } = createSteps(options, scopeOf);

  const surroundingsIn = (contexts: ParsedContexts): Surroundings => ({
    resolveLabel: labelIn(contexts),
    hasExtension: (context, extension) => lookUp(contexts, context, extension) !== undefined,
    mayGrow: (context, digits) => mayGrow(contexts.get(context), digits),
    applicationAt: ({ context, extension, priority }) =>
      lookUp(contexts, context, extension)?.steps[priority - 1]?.application.name,
    subroutineDepth,
    hit,
  });

  return async (channel: DialplanChannel, from: Position, signal: CancelSignal): Promise<Outcome> => {
    const guard = new LoopGuard(clock);
    const contexts = contextsNow();
    const run = { signal, surroundings: surroundingsIn(contexts) };
    let position = from;
    while (!signal.aborted) {
      if (guard.loops()) {
        log.error({ channel: channel.id, ...position }, `${mostSteps} steps in no time: the dialplan loops`);
        return { type: 'hangup', cause: Cause.temporaryFailure };
      }
      const extension = lookUp(contexts, position.context, position.extension);
      if (!extension) {
        const next = invalid(channel, position, contexts);
        if ('type' in next) return next;
        position = next;
        continue;
      }
      const step = extension.steps[position.priority - 1];
      if (!step) return { type: 'ended' };
      const result = perform(channel, step, position, run);
      // Awaiting only promises keeps a run of synchronous applications in one turn.
      const outcome = result instanceof Promise ? await guard.waited(result) : result;
      if (outcome && outcome.type !== 'goto') return signal.aborted ? { type: 'aborted' } : outcome;
      position = outcome ? outcome.position : behind(position);
    }
    return { type: 'aborted' };
  };
}

export function createDialplan({ contexts: configured, ...options }: DialplanOptions): Dialplan {
  const { log } = options;
  let current = parse(configured);
  const scopeOf = createScopes(options);
  const proceed = createRunner(options, scopeOf, () => current);

  return {
    find: (context, extension, priority) => {
      const step = lookUp(current, context, extension)?.steps[priority - 1];
      if (!step) return undefined;
      const found: FoundStep = { application: step.application.name, data: step.template.text };
      return step.label === undefined ? found : { ...found, label: step.label };
    },
    resolveLabel: (context, extension, label) => labelIn(current)(context, extension, label),
    hasExtension: (context, extension) => lookUp(current, context, extension) !== undefined,
    hasContext: (context) => current.has(context),
    mayGrow: (context, digits) => mayGrow(current.get(context), digits),
    hint(context, extension) {
      for (const { hints } of current.get(context)?.search ?? []) {
        const devices = devicesOf(hints, extension);
        if (devices) return devices;
      }
      return undefined;
    },
    replace(contexts) {
      current = parse(contexts);
    },
    expand: (channel, text) => expand(compile(text), scopeOf(channel)),
    run: (channel, from, signal) =>
      proceed(channel, from, signal).catch((error: unknown) => {
        log.error({ channel: channel.id, error }, 'the dialplan failed on this channel');
        return { type: 'hangup', cause: Cause.temporaryFailure };
      }),
  };
}

/** @throws Error listing every problem with its path. */
function parse(configured: ConfiguredContexts): ParsedContexts {
  const { contexts, problems } = parseContexts({ ...configured, [supervisionContext]: supervision });
  if (problems.length > 0)
    throw new Error(`the dialplan is wrong:\n${problems.map(({ path, message }) => `${path}: ${message}`).join('\n')}`);
  return contexts;
}

/** Finds out whether a run goes round and round without time passing. */
class LoopGuard {
  readonly #clock: Clock;
  #steps = 0;
  #since: number;
  #hasWaited = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  waited<T>(result: Promise<T>): Promise<T> {
    this.#hasWaited = true;
    return result;
  }

  /** Counts a step. */
  loops(): boolean {
    if (this.#steps++ < mostSteps) return false;
    const now = this.#clock.monotonic();
    if (!this.#hasWaited || now - this.#since < 1000) return true;
    this.#steps = 1;
    this.#since = now;
    this.#hasWaited = false;
    return false;
  }
}
