import type { Bus } from '../bus/bus.ts';
import { allChannels } from '../bus/topics.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { Variable } from '../models/variable.ts';

/**
 * Global variables. Names are stored without leading underscores (inheritance has no meaning here). Every change is
 * published as ChannelVarset without a channel, for subscribers to all channels.
 */
export interface GlobalVariables {
  get(name: string): string | undefined;
  /**
   * Sets a variable, or removes it (`undefined`); removing a missing one is no change. False, without a change, at the
   * limit.
   */
  set(name: string, value: string | undefined): boolean;
  /** For clients: unset variables and unreadable functions are empty. @throws AriError variableNameRequired */
  getGlobalVar(variable: string | undefined): Variable;
  /**
   * For clients: a name that ends with `)` writes a function instead of a variable.
   * @throws AriError variableNameRequired, functionFailed, limitReached
   */
  setGlobalVar(variable: string | undefined, value: string | undefined): void;
  /** Takes a value that was set at another node of the cluster; no events are published here. */
  adopt(name: string, value: string | undefined): void;
  /** Every variable with its value, in the order of setting; the one of this name, if it is set. */
  dump(name?: string): [name: string, value: string][];
  /** Restores variables; no events are published. */
  restore(variables: readonly (readonly [name: string, value: string])[]): void;
}

type GlobalVariablesOptions = {
  bus: Bus;
  /** Reads a function such as `DIALPLAN_EXISTS(default)` outside any channel; undefined when it cannot. */
  readFunction?: (call: string) => string | undefined;
  /** Writes a function such as `DEVICE_STATE(Custom:x)` outside any channel; tells why it cannot, if so. */
  writeFunction?: (call: string, value: string) => string | undefined;
  /** Variables that there may be; any number when left out. */
  limit?: number | undefined;
  /** Counts variables beyond the limit. */
  hit?: LimitHit | undefined;
  /** Hears of a variable that was set or removed, before anybody else does. */
  changed?: (name: string) => void;
  /** Tells the other nodes of a cluster what was set or removed here. */
  share?: (name: string, value: string | undefined) => void;
};

export function createGlobalVariables({
  bus,
  readFunction,
  writeFunction = () => 'there are no functions here',
  limit = Number.POSITIVE_INFINITY,
  hit = uncounted,
  changed = () => {},
  share = () => {},
}: GlobalVariablesOptions): GlobalVariables {
  const values = new Map<string, string>();
  const stored = (name: string): string => name.replace(/^_{1,2}/, '');

  /** @returns false, without a change, at the limit. */
  const keep = (key: string, value: string | undefined): boolean => {
    if (value === undefined) values.delete(key);
    else if (values.has(key) || values.size < limit) values.set(key, value);
    else return false;
    changed(key);
    return true;
  };
  const set = (name: string, value: string | undefined): boolean => {
    const key = stored(name);
    const before = values.get(key);
    if (!keep(key, value)) return false;
    share(key, value);
    if (value !== undefined || before)
      bus.publish({ event: { type: 'ChannelVarset', variable: name, value: value ?? '' }, topics: [allChannels] });
    return true;
  };

  return {
    get: (name) => values.get(stored(name)),
    set(name, value) {
      const isSet = set(name, value);
      if (!isSet) hit('limits.global_variables');
      return isSet;
    },

    getGlobalVar(variable) {
      if (!variable) throw new AriError('variableNameRequired');
      const value = variable.endsWith(')') ? readFunction?.(variable) : values.get(stored(variable));
      return { value: value ?? '' };
    },

    setGlobalVar(variable, value) {
      if (!variable) throw new AriError('variableNameRequired');
      if (!variable.endsWith(')')) {
        if (!set(variable, value)) requireWithin('global_variables', values.size + 1, limit);
      } else {
        const problem = writeFunction(variable, value ?? '');
        if (problem !== undefined) throw new AriError('functionFailed', { problem });
      }
    },

    adopt(name, value) {
      if (!keep(name, value)) hit('limits.global_variables');
    },
    dump(name) {
      if (name === undefined) return [...values];
      const value = values.get(name);
      return value === undefined ? [] : [[name, value]];
    },
    restore(variables) {
      for (const [name, value] of variables) values.set(name, value);
    },
  };
}
