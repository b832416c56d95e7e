import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

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
  const timers = new Map<string, unknown>();

  const expire = (application: string, action: AwayPolicy['action']): void => {
    timers.delete(application);
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

  return {
    changed(application, present) {
      clock.clearTimeout(timers.get(application));
      timers.delete(application);
      const policy = present ? undefined : policyOf(application);
      if (!policy || policy.action === 'keep') return;
      timers.set(
        application,
        clock.setTimeout(() => expire(application, policy.action), policy.afterMs),
      );
    },
    close() {
      for (const timer of timers.values()) clock.clearTimeout(timer);
      timers.clear();
    },
  };
}
