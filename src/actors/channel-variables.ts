import { isFunction, writeFunction } from '../dialplan/functions.ts';
import { readVariableOrFunction } from '../dialplan/variables.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { ownVariable, storedName } from '../machines/channel-setup.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { Variable, Variables } from '../models/variable.ts';
import { controlledChannel } from './channel-control.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import { type RequestedVariable, readVariables } from './channel-requests.ts';
import type { ChannelViews } from './channel-views.ts';
import type { Channels } from './channels.ts';

type VariableOwners = {
  channels: Pick<Channels, 'tell'>;
  views: Pick<ChannelViews, 'dialplanChannel'>;
  log: Pick<Logger, 'warn'>;
};

/** Logs what is wrong with a request about a channel that its answer does not say. */
const warn = (log: Pick<Logger, 'warn'>, { id }: ChannelEntry, what: string): void => log.warn({ channel: id }, what);

/**
 * Sets one variable, or writes the function of that name. Unknown functions are silently accepted, as in Asterisk. A
 * known function that refuses causes an error with its usage. @throws AriError functionFailed.
 */
export function setChannelVariable(
  { channels, views, log }: VariableOwners,
  entry: ChannelEntry,
  { name, value, report }: { name: string; value: string | undefined; report?: boolean | undefined },
): void {
  if (isFunction(name)) {
    const written = writeFunction(views.dialplanChannel(entry), name, value ?? '');
    if (!written.ok) warn(log, entry, written.message);
    if (!written.ok && written.reason === 'failed') throw new AriError('functionFailed', { problem: written.message });
    return;
  }
  channels.tell(entry, { type: 'variable.set', name, value, ...(report === undefined ? {} : { report }) });
}

/** Sets the variables of a channel that was just made; a function that cannot be written is no reason to refuse it. */
export function setRequestedVariables(
  owners: VariableOwners,
  entry: ChannelEntry,
  requested: readonly RequestedVariable[],
): void {
  for (const variable of requested) {
    if (isFunction(variable.name)) {
      const written = writeFunction(owners.views.dialplanChannel(entry), variable.name, variable.value);
      if (!written.ok) warn(owners.log, entry, written.message);
    } else setChannelVariable(owners, entry, variable);
  }
}

/** Scope of a read: with `ownOnly` global variables are excluded. */
type Reach = { ownOnly?: boolean | undefined };

type ChannelVariablesOptions = VariableOwners & {
  channels: Channels;
  clock: Clock;
  /** Variables that a channel may have when a client sets one that is new; any number when left out. */
  variablesLimit?: number | undefined;
};

/** The operations that read and set variables of a channel. Names are the interface's. */
export function createChannelVariables(owners: ChannelVariablesOptions) {
  const { channels, views, log, clock, variablesLimit = Number.POSITIVE_INFINITY } = owners;
  const readable = (id: string): ChannelEntry => {
    const entry = channels.findByIdOrName(id);
    if (!entry) throw new AriError('variableChannelNotFound');
    return entry;
  };

  const getOne = (entry: ChannelEntry, name: string, ownOnly: boolean | undefined): string => {
    const result = readVariableOrFunction(views.dialplanChannel(entry), name, clock, { ownOnly });
    if (result === undefined) throw new AriError('variableNotFound');
    if (!result.ok) {
      warn(log, entry, result.message);
      throw new AriError('functionUnreadable');
    }
    return result.value;
  };

  /** @throws AriError limitReached when the channel would have too many variables with these. */
  const requireRoom = (entry: ChannelEntry, names: readonly string[]): void => {
    const { variables } = snapshotOf(entry).context;
    const isNew = (name: string) => !isFunction(name) && ownVariable(variables, storedName(name)) === undefined;
    const added = new Set(names.filter(isNew).map(storedName)).size;
    if (added > 0) requireWithin('channel_variables', Object.keys(variables).length + added, variablesLimit);
  };

  return {
    getVariable(id: string, { variable, ownOnly }: { variable?: string | undefined } & Reach): Variable {
      if (!variable) throw new AriError('variableNameRequired');
      return { value: getOne(readable(id), variable, ownOnly) };
    },

    setVariable(
      id: string,
      request: { variable?: string | undefined; value?: string | undefined; report_events?: boolean | undefined },
    ): void {
      const { variable: name, value, report_events: report = false } = request;
      if (!name) throw new AriError('variableNameRequired');
      const entry = controlledChannel(channels, id, 'setVariable');
      if (value !== undefined) requireRoom(entry, [name]);
      setChannelVariable(owners, entry, { name, value, report });
    },

    getVariables(id: string, { variables, ownOnly }: { variables?: string[] | undefined } & Reach): Variables {
      if (!variables || variables.length === 0) throw new AriError('variableNameNeeded');
      const entry = readable(id);
      // The first name that is wrong decides.
      const read = (name: string) => {
        if (name === '') throw new AriError('variableNamesRequired');
        return [name, getOne(entry, name, ownOnly)];
      };
      return { variables: Object.fromEntries(variables.map(read)) };
    },

    setVariables(id: string, { variables }: { variables?: unknown }): void {
      if (variables === undefined || variables === null) throw new AriError('variablesRequired');
      readable(id);
      const entry = controlledChannel(channels, id, 'setVariable');
      const wanted = readVariables(variables);
      requireRoom(
        entry,
        wanted.map(({ name }) => name),
      );
      for (const variable of wanted) setChannelVariable(owners, entry, variable);
    },
  };
}
