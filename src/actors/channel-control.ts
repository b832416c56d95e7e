import { isFunction, writeFunction } from '../dialplan/functions.ts';
import { readVariableOrFunction } from '../dialplan/variables.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import {
  type ChannelCommand,
  type ChannelOperation,
  channelOperations,
  lifeOf,
  type Position,
  refuseChannelOperation,
} from '../machines/channel.ts';
import type { ChannelAudioEvent } from '../machines/channel-audio.ts';
import { ownVariable, storedName } from '../machines/channel-setup.ts';
import { type Departure, type OwnershipOperation, refuseOwnershipOperation } from '../machines/ownership.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { Playback } from '../models/playback.ts';
import type { Variable, Variables } from '../models/variable.ts';
import { allowedOnChannel } from './allowed-operations.ts';
import type { ChannelAudio } from './channel-audio.ts';
import { answered, type ChannelEntry, type ChannelFacts, snapshotOf } from './channel-entry.ts';
import {
  type RequestedVariable,
  readDigits,
  readDirection,
  readHangupCause,
  readRedirect,
  readVariables,
} from './channel-requests.ts';
import { type ChannelViews, playTargetOf } from './channel-views.ts';
import type { Channels } from './channels.ts';
import type { Playbacks } from './playbacks.ts';

/** Commands of clients for existing channels, by the names of the interface. */

type ContinueRequest = {
  context?: string | undefined;
  extension?: string | undefined;
  priority?: number | undefined;
  label?: string | undefined;
};
type ChannelPlayRequest = {
  media?: string[] | undefined;
  lang?: string | undefined;
  offsetms?: number | undefined;
  skipms?: number | undefined;
  playbackId?: string | undefined;
};

type ChannelControlOptions = {
  channels: Channels;
  facts: ChannelFacts;
  audio: Pick<ChannelAudio, 'tell'>;
  playbacks: Playbacks;
  /** The priority that a label stands for. @throws AriError labelNotFound, priorityIllegal. */
  priorityOf(context: string, extension: string, label: string): number;
};

const lifeDecides: ReadonlySet<string> = new Set(channelOperations);
const isChannelOperation = (operation: string): operation is ChannelOperation => lifeDecides.has(operation);

/** The channel, when the operation may be done to it now. @throws AriError 404, 409, 412. */
export function controlledChannel(channels: Channels, id: string, operation: OwnershipOperation): ChannelEntry {
  const entry = channels.findByIdOrName(id);
  if (!entry) throw new AriError('channelNotFound');
  const refusal =
    refuseOwnershipOperation(entry.ownership.getSnapshot(), operation) ??
    (isChannelOperation(operation) ? refuseChannelOperation(snapshotOf(entry), operation) : undefined);
  if (refusal) throw new AriError(refusal, {}, { allowed: () => possibleOn(entry) });
  return entry;
}

/** The operations that a channel allows now. */
export const possibleOn = (entry: ChannelEntry): AllowedOperations =>
  allowedOnChannel(entry.id, { life: snapshotOf(entry), ownership: entry.ownership.getSnapshot() });

/** The operations that control a channel. */
export const createChannelControl = (options: ChannelControlOptions) => ({
  ...createCallControl(options),
  ...createDeparture(options),
  ...createSoundControl(options),
});

/** Answering, signalling, hanging up. */
function createCallControl({ channels, facts }: ChannelControlOptions) {
  const command = (id: string, operation: OwnershipOperation, asked: ChannelCommand): void =>
    channels.tell(controlledChannel(channels, id, operation), asked);

  return {
    hangup(id: string, request: { reason?: string | undefined; reason_code?: string | undefined }): void {
      const entry = channels.findByIdOrName(id);
      if (!entry) throw new AriError('channelNotFound');
      channels.tell(entry, { type: 'hangup', cause: readHangupCause(request) });
    },

    /** Resolves when the channel is Up. A technology that still prepares its media takes longer. */
    answer(id: string): void | Promise<void> {
      const entry = controlledChannel(channels, id, 'answer');
      channels.tell(entry, { type: 'answer' });
      if (lifeOf(snapshotOf(entry)) !== 'ring') return;
      return answered(facts, entry).then((up) => {
        if (!up) throw new AriError('answerFailed');
      });
    },
    ring: (id: string): void => command(id, 'ring', { type: 'ring' }),
    ringStop: (id: string): void => command(id, 'ringStop', { type: 'ringStop' }),
    progress: (id: string): void => command(id, 'progress', { type: 'progress' }),

    redirect(id: string, request: { endpoint?: string | undefined }): void {
      const entry = controlledChannel(channels, id, 'redirect');
      const target = readRedirect(request.endpoint, snapshotOf(entry).context.technology);
      if (!entry.leg.redirect(target)) throw new AriError('redirectFailed');
    },
  };
}

/** Leaving the application: for the dialplan, or for another one. */
function createDeparture({ channels, playbacks, priorityOf }: ChannelControlOptions) {
  /** Removes a channel from its application after its playbacks. @throws AriError limitReached. */
  const leave = (entry: ChannelEntry, departure: Departure): void => {
    const target = { kind: 'channel', id: entry.id } as const;
    playbacks.requireRoom(target);
    const behind = playbacks.lastOn(target);
    channels.tell(entry, { type: 'leave', departure, ...(behind && { behind }) });
  };

  const continuePosition = (entry: ChannelEntry, request: ContinueRequest): Position => {
    const { dialplan: now } = snapshotOf(entry).context;
    const context = request.context || now.context;
    const extension = request.extension || (request.context ? 's' : now.exten);
    if (request.label) return { context, extension, priority: priorityOf(context, extension, request.label) };
    if (request.priority) return { context, extension, priority: request.priority };
    const stays = !request.context && !request.extension;
    return { context, extension, priority: stays ? now.priority + 1 : 1 };
  };

  return {
    continueInDialplan(id: string, request: ContinueRequest): void {
      const entry = controlledChannel(channels, id, 'continue');
      leave(entry, { type: 'continue', position: continuePosition(entry, request) });
    },

    move(id: string, request: { app?: string | undefined; appArgs?: string | undefined }): void {
      if (!request.app) throw new AriError('applicationRequired');
      const entry = controlledChannel(channels, id, 'move');
      const args = (request.appArgs ?? '').split(',').filter((arg) => arg !== '');
      leave(entry, { type: 'move', app: request.app, args });
    },
  };
}

/** Commands for the audio of a channel. */
function createSoundControl({ channels, audio, playbacks }: ChannelControlOptions) {
  /** Media on a call that is not answered opens the early audio path; it never answers. */
  const openEarlyMedia = (entry: ChannelEntry): void => {
    if (lifeOf(snapshotOf(entry)) === 'ring') channels.tell(entry, { type: 'progress' });
  };

  /** Does something to a channel's sound; `read` makes the command of the request, after the channel was found fit. */
  const changed = (id: string, operation: OwnershipOperation, read: () => ChannelAudioEvent): ChannelEntry => {
    const entry = controlledChannel(channels, id, operation);
    audio.tell(entry, read());
    return entry;
  };
  const change = (...asked: Parameters<typeof changed>): void => void changed(...asked);
  /** Likewise what the far side is to hear, also before the answer. */
  const letHear = (id: string, operation: OwnershipOperation, heard: ChannelAudioEvent): void =>
    openEarlyMedia(changed(id, operation, () => heard));

  return {
    sendDtmf(id: string, request: Parameters<typeof readDigits>[0]): void {
      const entry = controlledChannel(channels, id, 'dtmf');
      const sequence = readDigits(request);
      openEarlyMedia(entry);
      channels.tell(entry, { type: 'dtmf', sequence });
    },

    play(id: string, request: ChannelPlayRequest): Playback {
      const entry = controlledChannel(channels, id, 'play');
      const playback = playbacks.playOn(playTargetOf(entry), { ...request, media: request.media ?? [] });
      openEarlyMedia(entry);
      return playback;
    },

    mute: (id: string, request: { direction?: string | undefined }): void =>
      change(id, 'mute', () => ({ type: 'mute', direction: readDirection(request.direction) })),
    unmute: (id: string, request: { direction?: string | undefined }): void =>
      change(id, 'mute', () => ({ type: 'unmute', direction: readDirection(request.direction) })),
    hold: (id: string): void => change(id, 'hold', () => ({ type: 'hold' })),
    unhold: (id: string): void => change(id, 'hold', () => ({ type: 'unhold' })),
    startMoh: (id: string, request: { mohClass?: string | undefined }): void =>
      letHear(id, 'moh', { type: 'startMoh', musicClass: request.mohClass || 'default' }),
    stopMoh: (id: string): void => change(id, 'moh', () => ({ type: 'stopMoh' })),
    startSilence: (id: string): void => letHear(id, 'silence', { type: 'startSilence' }),
    stopSilence: (id: string): void => change(id, 'silence', () => ({ type: 'stopSilence' })),
  };
}

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
