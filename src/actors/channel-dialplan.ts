import type { Outcome } from '../dialplan/applications/application.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import { enterSubroutine } from '../dialplan/subroutines.ts';
import { Cancellation } from '../lib/cancellation.ts';
import { isEnding, lifeOf, type Position } from '../machines/channel.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import { Cause } from '../telephony/causes.ts';
import { type ChannelEntry, deliver, snapshotOf } from './channel-entry.ts';
import type { ChannelFacts } from './channel-facts.ts';
import type { CallsOf, ChannelViews } from './channel-views.ts';

/** Runs the dialplan on channels. */
export interface ChannelDialplans {
  /** Runs it from now on where channels ask for it. `callsOf`: the calls that its steps can make; left out: none. */
  serve(facts: ChannelFacts, callsOf?: CallsOf): void;
  /**
   * Runs a subroutine on a channel without owner. Settles with its end: `ended` also after Return, `aborted` if the
   * channel departs or ends.
   */
  visit(
    entry: ChannelEntry,
    subroutine: { position: Position; args: readonly string[] },
    callsOf: CallsOf,
  ): Promise<Outcome>;
}

type Options = { dialplan: Pick<Dialplan, 'run' | 'hasExtension'>; views: Pick<ChannelViews, 'dialplanChannel'> };

/** Takes the dialplan's run away from a channel. */
export function stopDialplan(entry: ChannelEntry): void {
  entry.run?.abort();
  entry.run = undefined;
}

/** A priority that no extension has: a channel that returns there is at its end. */
const beyond = 1_000_000;

/** Makes what runs the dialplan on channels. */
export const createChannelDialplans = (options: Options): ChannelDialplans => ({
  serve(facts, callsOf) {
    facts.on('dialplan.due', (entry, { position }) => runDialplan(entry, position, callsOf, options));
    facts.on('dialplan.over', (entry) => leaveDialplan(entry, callsOf, options));
  },

  async visit(entry, { position, args }, callsOf) {
    // Commands sent while a fact is published run after its step; the first step reads the arguments.
    await Promise.resolve();
    if (isEnding(snapshotOf(entry))) return { type: 'aborted' };
    const run = new Cancellation();
    entry.run = run;
    const host = options.views.dialplanChannel(entry, callsOf);
    enterSubroutine(host, { ...position, priority: beyond }, args);
    const outcome = await options.dialplan.run(host, position, run);
    if (entry.run === run) entry.run = undefined;
    return outcome;
  },
});

function runDialplan(
  entry: ChannelEntry,
  from: Position,
  callsOf: CallsOf | undefined,
  { dialplan, views }: Options,
): void {
  const run = new Cancellation();
  entry.run = run;
  entry.ranDialplan = true;
  void dialplan.run(views.dialplanChannel(entry, callsOf), from, run).then((outcome) => {
    // Taken away between its last step and this.
    if (run.aborted) return;
    if (outcome.type === 'stasis')
      deliver(entry, { type: 'enter', app: outcome.app, args: outcome.args, resume: outcome.next });
    else if (outcome.type !== 'aborted')
      deliver(entry, {
        type: 'dialplan.ended',
        cause: outcome.type === 'hangup' ? outcome.cause : causeAtEnd(entry),
      });
    if (entry.run === run) entry.run = undefined;
  });
}

/**
 * Ends the dialplan of a channel that is hung up. The extension `h` of its context runs, except steps that would wait.
 * Channels of applications that never ran the dialplan have no `h`. A channel called by Dial has the caller's `h` if
 * the Dial says so.
 */
function leaveDialplan(entry: ChannelEntry, callsOf: CallsOf | undefined, { dialplan, views }: Options): void {
  const isOfDialplan = entry.run !== undefined || entry.ownership.getSnapshot().context.resume !== undefined;
  stopDialplan(entry);
  const context = entry.endsIn ?? (isOfDialplan ? snapshotOf(entry).context.dialplan.context : undefined);
  if (context === undefined || !dialplan.hasExtension(context, 'h')) return;
  const run = new Cancellation();
  void dialplan.run(views.dialplanChannel(entry, callsOf), { context, extension: 'h', priority: 1 }, run);
  run.abort();
}

const causesOfDial: Readonly<Record<string, number>> = {
  BUSY: Cause.userBusy,
  CONGESTION: Cause.congestion,
  CHANUNAVAIL: Cause.congestion,
  NOANSWER: Cause.noAnswer,
};

/**
 * The cause of a channel without a further dialplan step. An unanswered channel gets the result of its last Dial, as
 * Asterisk's autofallthrough, or the cause of an absent application.
 */
export function causeAtEnd(entry: ChannelEntry): number {
  const snapshot = snapshotOf(entry);
  if (lifeOf(snapshot) !== 'ring') return Cause.normalClearing;
  const cause = causesOfDial[ownVariable(snapshot.context.variables, 'DIALSTATUS') ?? ''];
  if (cause !== undefined) return cause;
  const isAway = entry.ownership.getSnapshot().context.refusedBy !== undefined;
  return isAway ? Cause.subscriberAbsent : Cause.normalClearing;
}
