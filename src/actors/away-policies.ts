import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type AwayPolicyEvent, type AwayPolicyRun, awayPolicyTable } from '../machines/away-policy.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';

/** Policy for the channels of an application whose connection stays away. */
export type AwayPolicy = {
  /** Time that the connection may be away, in ms. */
  afterMs: number;
  /** They are kept as they are, hung up, go on in the dialplan, or go to another application. */
  action: 'keep' | 'hangup' | 'continue' | 'move';
  /** Where they are moved to. */
  moveTo?: string | undefined;
  /** Before the action they hear music of a class for so long, in ms. Left out, they do not. */
  music?: { class: string; forMs: number } | undefined;
};

type AwayPoliciesOptions = {
  /** Sees the charts of policies; left out: nobody. */
  tables?: TableWatch | undefined;
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
  /** Lets a channel enter another application. @throws AriError when it cannot. */
  move: (channelId: string, application: string) => void;
  /** Lets a channel hear music of a class; undefined ends it. @throws AriError when it cannot. */
  play: (channelId: string, musicClass: string | undefined) => void;
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
  move,
  play,
  tables,
}: AwayPoliciesOptions): AwayPolicies {
  /** Those that wait, by application. */
  const runs = new Map<string, AwayPolicyRun>();

  const each = (application: string, act: (channel: string) => void): void => {
    for (const id of channelsOf(application)) {
      try {
        act(id);
      } catch (error) {
        log.warn({ application, channel: id, error }, 'the away policy cannot be applied to a channel');
      }
    }
  };

  const release = (application: string, { action, moveTo }: AwayPolicy): void => {
    const channels = channelsOf(application).length;
    if (channels === 0) return;
    log.warn({ application, channels, action }, 'an application has not come back');
    each(application, (id) => {
      lost(id);
      if (action === 'hangup') hangup(id);
      else if (action === 'continue') goOn(id);
      else if (action === 'move' && moveTo !== undefined) move(id, moveTo);
    });
  };

  /** The run of an application's policy. One that waits for nothing is not kept. */
  const begin = (application: string, policy: AwayPolicy): AwayPolicyRun => {
    let timer: unknown;
    const { music } = policy;
    const entertained = new Set<string>();
    const run: AwayPolicyRun = new TableRun(
      awayPolicyTable,
      'idle',
      {
        startTimer() {
          const isFirst = music && run.state !== 'entertained';
          const ms = music && !isFirst ? music.forMs : policy.afterMs;
          timer = clock.setTimeout(() => send(application, run, { type: isFirst ? 'music.due' : 'time.over' }), ms);
        },
        stopTimer: () => clock.clearTimeout(timer),
        startMusic: () =>
          each(application, (id) => {
            play(id, music?.class);
            entertained.add(id);
          }),
        stopMusic: () => each(application, (id) => entertained.delete(id) && play(id, undefined)),
        releaseChannels: () => release(application, policy),
      },
      { watch: tables, id: application },
    );
    return run;
  };

  const send = (application: string, run: AwayPolicyRun, event: AwayPolicyEvent): void => {
    run.send(event);
    if (run.state === 'away' || run.state === 'entertained') runs.set(application, run);
    else if (runs.get(application) === run) runs.delete(application);
  };

  return {
    changed(application, present) {
      const run = runs.get(application);
      if (present) return run && send(application, run, { type: 'application.back' });
      const policy = policyOf(application);
      if (!policy || (policy.action === 'keep' && !policy.music))
        return run && send(application, run, { type: 'application.kept' });
      // It is awaited anew: the policy may have changed.
      if (run) send(application, run, { type: 'application.kept' });
      send(application, begin(application, policy), { type: 'application.lost' });
    },
    close() {
      for (const [application, run] of runs) send(application, run, { type: 'system.closing' });
    },
  };
}
