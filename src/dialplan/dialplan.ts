import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { DialplanChannel, Position } from './host.ts';

/** A step as configured: `App(arguments)`, or the same with a label to go to. */
export type ConfiguredStep = string | { label: string; app: string };
/** A dialplan as configured: context → extension or pattern → steps. */
export type ConfiguredContexts = Readonly<Record<string, Readonly<Record<string, readonly ConfiguredStep[]>>>>;

/** How a run of the dialplan ended. */
export type Outcome =
  /** Ran out of steps: the call is to be cleared normally. */
  | { type: 'ended' }
  /** The channel is to enter an application; `next` is where the dialplan goes on when it comes back. */
  | { type: 'stasis'; app: string; args: string[]; next: Position }
  /** The call is to be hung up with this Q.850 cause. */
  | { type: 'hangup'; cause: number }
  /** The signal was aborted: the channel is somebody else's now. */
  | { type: 'aborted' };

/** A parsed step, as found by {@link Dialplan.find}. */
export type FoundStep = { application: string; data: string; label?: string };

export interface Dialplan {
  /** The step at a place, patterns and `i`-less lookup as a call does it; undefined when there is none. */
  find(context: string, extension: string, priority: number): FoundStep | undefined;
  /** The priority a label stands for; undefined when the extension has no such label. */
  resolveLabel(context: string, extension: string, label: string): number | undefined;
  /** Whether a dialed extension exists (exactly or by a pattern). */
  hasExtension(context: string, extension: string): boolean;
  /**
   * Runs the dialplan on a channel from a place until it is done. Never rejects. Starts synchronously: what needs no
   * waiting has happened when this returns. After `signal` aborts, nothing more is called on the channel.
   */
  run(channel: DialplanChannel, from: Position, signal: AbortSignal): Promise<Outcome>;
}

export type DialplanOptions = { contexts: ConfiguredContexts; clock: Clock; log: Logger };

/** A dialplan made of its configuration; all parsing is done here. @throws Error listing every problem with its path. */
export declare function createDialplan(options: DialplanOptions): Dialplan;
