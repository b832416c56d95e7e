import { asteriskCallPolicy, type CallPolicy, ownCallPolicy } from './actors/call-policy.ts';
import type { Config } from './config/schema.ts';
import { asteriskError } from './http/asterisk-errors.ts';
import type { HttpOptions } from './http/env.ts';

/** Where Hookswitch can behave as Asterisk does (`general.compatibility`, docs/differences.md). */
type Policies = {
  readonly calls: CallPolicy;
  readonly refusalForm: HttpOptions['refusalForm'];
  /** Functions without a channel can be read as global variables. */
  readonly readsGlobalFunctions: boolean;
  /** Local channels have device states. */
  readonly localDevices: boolean;
  /** Media WebSockets of text get counts and lengths as further words. */
  readonly countsInText: boolean;
  /** Media WebSockets that servers open need the log-in of a user (`external_media.log_in`). */
  readonly logsIn: boolean;
};

const policies: Readonly<Record<Config['general']['compatibility'], Policies>> = {
  hookswitch: {
    calls: ownCallPolicy,
    refusalForm: (refusal) => refusal,
    readsGlobalFunctions: true,
    localDevices: false,
    countsInText: true,
    logsIn: true,
  },
  asterisk: {
    calls: asteriskCallPolicy,
    refusalForm: asteriskError,
    readsGlobalFunctions: false,
    localDevices: true,
    countsInText: false,
    logsIn: false,
  },
};

/** The only reader of the setting: everything else gets the policy that it needs. */
export const policiesOf = ({ compatibility }: Pick<Config['general'], 'compatibility'>): Policies =>
  policies[compatibility];
