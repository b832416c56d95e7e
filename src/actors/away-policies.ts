import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type AwayPolicyEvent, type AwayPolicyRun, awayPolicyTable } from '../machines/away-policy.ts';
import { TableRun } from '../machines/table-run.ts';

/** Policy for the channels of an application whose connection stays away. */
export type AwayPolicy = {
  /** Time that the connection may be away, in ms. */
  afterMs: number;
  /** They are kept as they are, hung up, or go on in the dialplan. */
  action: 'keep' | 'hangup' | 'continue';
};

type AwayPoliciesOptions = {
  clock: Clock;
  log: Logger;
  /** The policy of an application; undefined for one whose channels are kept. */
  policyOf: (application: string) => AwayPolicy | undefined;
  /** Ids of the channels that an application controls. */
  channelsOf: (application: string) => readonly string[];
  /** It is to be known that the channel has lost its application. */
  lost: (channelId: string) => void;
  hangup: (channelId: string) => void;
  /** Lets a channel go on in the dialplan. @throws AriError when it cannot. */
  goOn: (channelId: string) => void;
};

/** Follows applications whose connection is away. */
export interface AwayPolicies {
  /** The connection of an application has gone, or is there again. */
  changed(application: string, present: boolean): void;
  close(): void;
}

/** Creates the timers that apply away policies. */
export function createAwayPolicies({
  clock,
  log,
  policyOf,
  channelsOf,
  lost,
  hangup,
  goOn,
}: AwayPoliciesOptions): AwayPolicies {
  /** Those that wait, by application. */
  const runs = new Map<string, AwayPolicyRun>();

  const release = (application: string, action: AwayPolicy['action']): void => {
    const channels = channelsOf(application);
    if (channels.length === 0) return;
    log.warn({ application, channels: channels.length, action }, 'an application has not come back');
    for (const id of channels) {
      try {
        lost(id);
        if (action === 'hangup') hangup(id);
        else if (action === 'continue') goOn(id);
      } catch (error) {
        log.warn({ application, channel: id, error }, 'cannot release a channel of an absent application');
      }
    }
  };

  /** The run of an application's policy. One that waits for nothing is not kept. */
  const begin = (application: string, policy: AwayPolicy): AwayPolicyRun => {
    let timer: unknown;
    const run: AwayPolicyRun = new TableRun(awayPolicyTable, 'idle', {
      startTimer() {
        timer = clock.setTimeout(() => send(application, run, { type: 'time.over' }), policy.afterMs);
      },
      stopTimer: () => clock.clearTimeout(timer),
      releaseChannels: () => release(application, policy.action),
    });
    return run;
  };

  const send = (application: string, run: AwayPolicyRun, event: AwayPolicyEvent): void => {
    run.send(event);
    if (run.state === 'away') runs.set(application, run);
    else if (runs.get(application) === run) runs.delete(application);
  };

  return {
    changed(application, present) {
      const run = runs.get(application);
      if (present) return run && send(application, run, { type: 'application.back' });
      const policy = policyOf(application);
      if (!policy || policy.action === 'keep') return run && send(application, run, { type: 'application.kept' });
      // It is awaited anew: the policy may have changed.
      if (run) send(application, run, { type: 'application.kept' });
      send(application, begin(application, policy), { type: 'application.lost' });
    },
    close() {
      for (const [application, run] of runs) send(application, run, { type: 'system.closing' });
    },
  };
}
