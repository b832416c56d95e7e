import { channelTopic } from '../bus/topics.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import { isFunction, writeFunction } from '../dialplan/functions.ts';
import { readVariableOrFunction } from '../dialplan/variables.ts';
import {
  type ChannelCommand,
  type ChannelOperation,
  channelOperations,
  isEnding,
  lifeOf,
  noTimeout,
  type OnAnswer,
  type Position,
  passedOn,
  refuseChannelOperation,
} from '../machines/channel.ts';
import type { ChannelAudioEvent } from '../machines/channel-audio.ts';
import { type OwnershipCommand, type OwnershipOperation, refuseOwnershipOperation } from '../machines/ownership.ts';
import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import type { Playback } from '../models/playback.ts';
import type { RTPstat } from '../models/rtp-statistics.ts';
import type { Variable, Variables } from '../models/variable.ts';
import { DriverError } from '../telephony/driver.ts';
import type { ChannelApplications, ChannelEntry } from './channel-entry.ts';
import {
  originateTimeoutMs,
  type RequestedVariable,
  readAppArgs,
  readCaller,
  readDigits,
  readDirection,
  readEndpoint,
  readFormats,
  readHangupCause,
  readRedirect,
  readVariables,
} from './channel-requests.ts';
import type { Channels, OutboundRequest } from './channels.ts';
import type { Playbacks } from './playbacks.ts';

/** Parameters of `originate`, by their names in the interface. */
export type OriginateRequest = {
  endpoint?: string | undefined;
  extension?: string | undefined;
  context?: string | undefined;
  priority?: number | undefined;
  label?: string | undefined;
  app?: string | undefined;
  appArgs?: string | undefined;
  callerId?: string | undefined;
  /** Seconds. */
  timeout?: number | undefined;
  channelId?: string | undefined;
  otherChannelId?: string | undefined;
  originator?: string | undefined;
  formats?: string | undefined;
  variables?: unknown;
};
export type CreateRequest = Omit<
  OriginateRequest,
  'extension' | 'context' | 'priority' | 'label' | 'callerId' | 'timeout'
>;
export type ContinueRequest = {
  context?: string | undefined;
  extension?: string | undefined;
  priority?: number | undefined;
  label?: string | undefined;
};
export type ChannelPlayRequest = {
  media?: string[] | undefined;
  lang?: string | undefined;
  offsetms?: number | undefined;
  skipms?: number | undefined;
  playbackId?: string | undefined;
};

export type ChannelOperationsOptions = {
  channels: Channels;
  playbacks: Playbacks;
  applications: ChannelApplications;
  dialplan: Dialplan;
  /** Formats that may be asked for. */
  formats: ReadonlySet<string>;
  /** `asterisk`: answers of the field where ours are better (decisions marked **switch**). */
  compatibility: 'hookswitch' | 'asterisk';
  /** Runs something after the answer to the request is on its way. */
  soon: (task: () => void) => void;
};

const idLimit = 149;

const lifeDecides: ReadonlySet<string> = new Set(channelOperations);
const isChannelOperation = (operation: string): operation is ChannelOperation => lifeDecides.has(operation);

/** What clients may do to channels, by the names of the interface. */
export type ChannelOperations = ReturnType<typeof createChannelOperations>;

/** What clients may do to channels: reads the request, refuses or does it. Names are the interface's. */
export function createChannelOperations(options: ChannelOperationsOptions) {
  const { channels, playbacks, applications, dialplan, soon } = options;
  const clock = channels.turn.clock;

  /** The channel, when the operation may be done to it now. @throws AriError 404, 409, 412. */
  const controlled = (id: string, operation: OwnershipOperation): ChannelEntry => {
    const entry = channels.findByIdOrName(id);
    if (!entry) throw new AriError('channelNotFound');
    const refusal =
      refuseOwnershipOperation(entry.ownership.getSnapshot(), operation) ??
      (isChannelOperation(operation) ? refuseChannelOperation(channels.snapshot(entry), operation) : undefined);
    if (refusal) throw new AriError(refusal);
    return entry;
  };
  const command = (id: string, operation: OwnershipOperation, asked: ChannelCommand): void =>
    channels.tell(controlled(id, operation), asked);

  /**
   * Does something to a channel after what is being played to it, as commands that take it away wait in the field. A
   * move whose destination is still being connected keeps its turn until that is decided, so that nothing asked
   * meanwhile is lost.
   */
  const inTurn = (entry: ChannelEntry, asked: OwnershipCommand): void => {
    const queue = playbacks.queueOf({ kind: 'channel', id: entry.id });
    const work = {
      begin: () => {
        if (!isEnding(channels.snapshot(entry))) channels.tell(entry, asked);
        whenDecided(entry, () => queue.finished(work));
      },
      abandon: () => {},
    };
    queue.add(work);
  };

  const whenDecided = ({ ownership }: ChannelEntry, decided: () => void): void => {
    if (!ownership.getSnapshot().matches('moving')) {
      decided();
      return;
    }
    const watching = ownership.subscribe((snapshot) => {
      if (snapshot.matches('moving')) return;
      watching.unsubscribe();
      decided();
    });
  };

  /* ---- Making channels ------------------------------------------------------------------------------------------ */

  const refuseUsedId = (...wanted: (string | undefined)[]): void => {
    for (const id of wanted) if (id !== undefined && channels.has(id)) throw new AriError('channelIdExists');
    if (wanted[0] !== undefined && wanted[0] === wanted[1]) throw new AriError('channelIdExists');
  };

  /** Opens the channel, and says in the interface's words why that cannot be. */
  const open = (request: OutboundRequest): ChannelEntry => {
    try {
      return channels.openOutbound(request);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      if (options.compatibility === 'asterisk') throw new AriError('allocationFailedUnnamed', {}, { cause: error });
      throw new AriError('allocationFailed', { reason: error.message }, { cause: error });
    }
  };

  /** Sets the variables of a channel that was just made; a function that cannot be written is no reason to refuse it. */
  const setRequested = (entry: ChannelEntry, requested: readonly RequestedVariable[]): void => {
    for (const { name, value, report } of requested) {
      if (isFunction(name)) writeFunction(channels.dialplanChannel(entry), name, value);
      else setOne(entry, name, value, report);
    }
  };

  /** Shows what a channel does that runs no dialplan, as if the dialplan had brought it there. */
  const show = (entry: ChannelEntry, app: string, data: string): void => {
    const { context, exten: extension, priority } = channels.snapshot(entry).context.dialplan;
    channels.tell(entry, { type: 'dialplan.entered', position: { context, extension, priority }, app, data });
  };

  const otherHalf = (request: { channelId?: string | undefined; otherChannelId?: string | undefined }) => {
    const { channelId, otherChannelId } = request;
    if (otherChannelId) return { otherId: otherChannelId };
    return channelId ? { otherId: `${channelId};2` } : {};
  };

  /** What an originated channel does when it answers. @throws AriError when the request names nothing, or no such label. */
  const onAnswer = (request: OriginateRequest): OnAnswer => {
    const { app, extension, label } = request;
    if (app) return { type: 'application', app, args: readAppArgs(request.appArgs) };
    if (!extension) throw new AriError('applicationOrExtensionRequired');
    const context = request.context || 'default';
    const priority = label ? priorityOf(context, extension, label) : request.priority || 1;
    return { type: 'dialplan', position: { context, extension, priority } };
  };

  /** @throws AriError labelNotFound, priorityIllegal. */
  const priorityOf = (context: string, extension: string, label: string): number => {
    const priority = /^\d+$/.test(label) ? Number(label) : dialplan.resolveLabel(context, extension, label);
    if (priority === undefined) throw new AriError('labelNotFound');
    if (priority < 1) throw new AriError('priorityIllegal');
    return priority;
  };

  const originate = (request: OriginateRequest): Channel => {
    const requested = readVariables(request.variables);
    for (const id of [request.channelId, request.otherChannelId])
      if (id && id.length > idLimit) throw new AriError('uniqueIdTooLong');
    if (!request.endpoint) throw new AriError('endpointRequired');
    if (request.originator && request.formats) throw new AriError('originatorAndFormats');
    const { technology, resource } = readEndpoint(request.endpoint);
    const answered = onAnswer(request);
    const originator = request.originator ? channels.findByIdOrName(request.originator) : undefined;
    if (request.originator && !originator) throw new AriError('originatorNotFound');
    const formats = readFormats(request.formats, options.formats);
    refuseUsedId(request.channelId, request.otherChannelId);

    const caller = readCaller(request.callerId);
    const entry = open({
      id: request.channelId || channels.freshId(),
      ...otherHalf(request),
      technology,
      resource,
      ...(formats ? { formats } : {}),
      origin: 'originated',
      caller,
      connected: caller,
      ...inherited(originator),
      onAnswer: answered,
    });
    show(entry, 'AppDial2', '(Outgoing Line)');
    setRequested(entry, requested);
    if (answered.type === 'application')
      for (const id of [entry.id, entry.companionId])
        if (id !== undefined) applications.addInterest(answered.app, channelTopic(id));
    const made = channels.model(entry);
    const timeoutMs = originateTimeoutMs(request.timeout, noTimeout);
    soon(() => channels.tell(entry, { type: 'dial', timeoutMs }));
    return made;
  };

  /** What a new channel takes over of the one that it is made from. */
  const inherited = (from: ChannelEntry | undefined) => {
    if (!from) return { variables: {}, inheritance: {}, reported: [], accountCode: '' };
    const { accountCode, language, ...rest } = channels.snapshot(from).context;
    return { ...passedOn(rest), reported: [], accountCode, language };
  };

  const create = (request: CreateRequest): Channel => {
    const requested = readVariables(request.variables);
    if (request.originator && request.formats) throw new AriError('originatorAndFormats');
    if (!request.endpoint) throw new AriError('endpointRequired');
    if (!request.app) throw new AriError('applicationRequired');
    const { technology, resource } = readEndpoint(request.endpoint);
    const formats = readFormats(request.formats, options.formats);
    refuseUsedId(request.channelId, request.otherChannelId);

    const { app } = request;
    const originator = request.originator ? channels.findByIdOrName(request.originator) : undefined;
    const entry = open({
      id: request.channelId || channels.freshId(),
      ...otherHalf(request),
      technology,
      resource,
      ...(formats ? { formats } : {}),
      origin: 'created',
      caller: { name: '', number: '' },
      connected: { name: '', number: '' },
      ...inherited(originator),
    });
    applications.addInterest(app, channelTopic(entry.id));
    if (originator) applications.addInterest(app, channelTopic(originator.id));
    setRequested(entry, requested);
    const made = channels.model(entry);
    soon(() => {
      show(entry, 'Stasis', request.appArgs ? `${app},${request.appArgs}` : app);
      channels.tell(entry, { type: 'enter', app, args: readAppArgs(request.appArgs) });
    });
    return made;
  };

  const dial = (id: string, request: { caller?: string | undefined; timeout?: number | undefined }): void => {
    const entry = controlled(id, 'dial');
    if (request.timeout !== undefined && request.timeout < 0)
      throw new AriError('parameterInvalid', { name: 'timeout', expected: '0 or more seconds' });
    const caller = request.caller ? channels.findByIdOrName(request.caller) : undefined;
    if (caller) {
      const from = channels.snapshot(caller).context;
      const { language, accountCode } = from;
      channels.tell(entry, { type: 'variable.preset', ...passedOn(from) });
      if (language) channels.tell(entry, { type: 'language.set', language });
      if (accountCode) channels.tell(entry, { type: 'accountCode.set', accountCode });
      channels.tell(entry, { type: 'connected.set', party: from.caller });
    }
    const timeoutMs = request.timeout ? Math.min(request.timeout * 1000, noTimeout) : noTimeout;
    channels.tell(entry, { type: 'dial', timeoutMs });
  };

  /** Does something to a channel's sound; `read` makes the command of the request, after the channel was found fit. */
  const change = (id: string, operation: OwnershipOperation, read: () => ChannelAudioEvent): void => {
    const entry = controlled(id, operation);
    channels.audio.tell(entry.id, entry.leg, read());
  };

  /* ---- Variables ------------------------------------------------------------------------------------------------ */

  const setOne = (entry: ChannelEntry, name: string, value: string | undefined, report?: boolean): void => {
    if (isFunction(name)) {
      const written = writeFunction(channels.dialplanChannel(entry), name, value ?? '');
      // An unknown function is accepted silently by the field; one that exists and refuses is told.
      if (!written.ok && written.reason === 'failed') throw new AriError('functionFailed');
      return;
    }
    channels.tell(entry, { type: 'variable.set', name, value, ...(report === undefined ? {} : { report }) });
  };

  const setAll = (entry: ChannelEntry, requested: readonly RequestedVariable[]): void => {
    for (const { name, value, report } of requested) setOne(entry, name, value, report);
  };

  const readable = (id: string): ChannelEntry => {
    const entry = channels.findByIdOrName(id);
    if (!entry) throw new AriError('variableChannelNotFound');
    return entry;
  };

  const getOne = (entry: ChannelEntry, name: string): string => {
    const result = readVariableOrFunction(channels.dialplanChannel(entry), name, clock);
    if (result === undefined) throw new AriError('variableNotFound');
    if (!result.ok) throw new AriError('functionUnreadable');
    return result.value;
  };

  /* ---- Where the dialplan goes on -------------------------------------------------------------------------------- */

  const continuePosition = (entry: ChannelEntry, request: ContinueRequest): Position => {
    const { dialplan: now } = channels.snapshot(entry).context;
    const context = request.context || now.context;
    const extension = request.extension || (request.context ? 's' : now.exten);
    if (request.label) return { context, extension, priority: priorityOf(context, extension, request.label) };
    if (request.priority) return { context, extension, priority: request.priority };
    const stays = !request.context && !request.extension;
    return { context, extension, priority: stays ? now.priority + 1 : 1 };
  };

  return {
    list: (): Channel[] => channels.all().map(channels.model),
    get: (id: string): Channel => channels.model(channels.get(id)),
    originate,
    create,
    dial,

    hangup(id: string, request: { reason?: string | undefined; reason_code?: string | undefined }): void {
      const entry = channels.findByIdOrName(id);
      if (!entry) throw new AriError('channelNotFound');
      channels.tell(entry, { type: 'hangup', cause: readHangupCause(request) });
    },

    continueInDialplan(id: string, request: ContinueRequest): void {
      const entry = controlled(id, 'continue');
      inTurn(entry, { type: 'continue', position: continuePosition(entry, request) });
    },

    /** Done when the channel is Up, which a technology that still prepares its media may not be at once. */
    answer(id: string): void | Promise<void> {
      const entry = controlled(id, 'answer');
      channels.tell(entry, { type: 'answer' });
      if (lifeOf(channels.snapshot(entry)) !== 'ring') return;
      return channels.answered(entry).then((up) => {
        if (!up) throw new AriError('answerFailed');
      });
    },
    ring: (id: string): void => command(id, 'ring', { type: 'ring' }),
    ringStop: (id: string): void => command(id, 'ringStop', { type: 'ringStop' }),
    progress: (id: string): void => command(id, 'progress', { type: 'progress' }),

    sendDtmf(id: string, request: Parameters<typeof readDigits>[0]): void {
      const entry = controlled(id, 'dtmf');
      const sequence = readDigits(request);
      openEarlyMedia(entry);
      channels.tell(entry, { type: 'dtmf', sequence });
    },

    play(id: string, request: ChannelPlayRequest): Playback {
      const entry = controlled(id, 'play');
      const playback = playbacks.playOn(channels.playTarget(entry), { ...request, media: request.media ?? [] });
      openEarlyMedia(entry);
      return playback;
    },

    move(id: string, request: { app?: string | undefined; appArgs?: string | undefined }): void {
      if (!request.app) throw new AriError('applicationRequired');
      const entry = controlled(id, 'move');
      const args = (request.appArgs ?? '').split(',').filter((arg) => arg !== '');
      inTurn(entry, { type: 'move', app: request.app, args });
    },

    redirect(id: string, request: { endpoint?: string | undefined }): void {
      const entry = controlled(id, 'redirect');
      const target = readRedirect(request.endpoint, channels.snapshot(entry).context.technology);
      if (!entry.leg.redirect(target)) throw new AriError('redirectFailed');
    },

    mute: (id: string, request: { direction?: string | undefined }): void =>
      change(id, 'mute', () => ({ type: 'mute', direction: readDirection(request.direction) })),
    unmute: (id: string, request: { direction?: string | undefined }): void =>
      change(id, 'mute', () => ({ type: 'unmute', direction: readDirection(request.direction) })),
    hold: (id: string): void => change(id, 'hold', () => ({ type: 'hold' })),
    unhold: (id: string): void => change(id, 'hold', () => ({ type: 'unhold' })),
    startMoh: (id: string, request: { mohClass?: string | undefined }): void =>
      change(id, 'moh', () => ({ type: 'startMoh', musicClass: request.mohClass || 'default' })),
    stopMoh: (id: string): void => change(id, 'moh', () => ({ type: 'stopMoh' })),
    startSilence: (id: string): void => change(id, 'silence', () => ({ type: 'startSilence' })),
    stopSilence: (id: string): void => change(id, 'silence', () => ({ type: 'stopSilence' })),

    getVariable(id: string, { variable }: { variable?: string | undefined }): Variable {
      if (!variable) throw new AriError('variableNameRequired');
      return { value: getOne(readable(id), variable) };
    },

    setVariable(
      id: string,
      request: { variable?: string | undefined; value?: string | undefined; report_events?: boolean | undefined },
    ): void {
      if (!request.variable) throw new AriError('variableNameRequired');
      setOne(controlled(id, 'setVariable'), request.variable, request.value, request.report_events ?? false);
    },

    getVariables(id: string, { variables }: { variables?: string[] | undefined }): Variables {
      if (!variables || variables.length === 0) throw new AriError('variableNameNeeded');
      const entry = readable(id);
      // The first name that is wrong decides.
      const read = (name: string) => {
        if (name === '') throw new AriError('variableNamesRequired');
        return [name, getOne(entry, name)];
      };
      return { variables: Object.fromEntries(variables.map((name) => read(name.trim()))) };
    },

    setVariables(id: string, { variables }: { variables?: unknown }): void {
      if (variables === undefined || variables === null) throw new AriError('variablesRequired');
      readable(id);
      const entry = controlled(id, 'setVariable');
      setAll(entry, readVariables(variables));
    },

    async rtpStatistics(id: string): Promise<RTPstat> {
      const entry = channels.get(id);
      const statistics = await entry.leg.media.statistics();
      if (!statistics) throw new AriError('channelTypeUnsupported');
      return { ...statistics, channel_uniqueid: entry.id };
    },
  };

  /** Media on a call that is not answered opens the early audio path; it never answers. */
  function openEarlyMedia(entry: ChannelEntry): void {
    if (lifeOf(channels.snapshot(entry)) === 'ring') channels.tell(entry, { type: 'progress' });
  }
}
