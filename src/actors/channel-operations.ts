import { channelTopic } from '../bus/topics.ts';
import type { Dialplan } from '../dialplan/dialplan.ts';
import { isFunction } from '../dialplan/functions.ts';
import type { Clock } from '../lib/clock.ts';
import { lazily } from '../lib/lazily.ts';
import type { Logger } from '../lib/log.ts';
import { lifeOf, type OnAnswer } from '../machines/channel.ts';
import { noTimeout, passedOn, storedName } from '../machines/channel-setup.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import type { Channel } from '../models/channel.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { RTPstat } from '../models/rtp-statistics.ts';
import { DriverError } from '../telephony/driver.ts';
import type { CalledChannels } from './calls.ts';
import type { ChannelAudio } from './channel-audio.ts';
import {
  controlledChannel,
  createChannelControl,
  createChannelVariables,
  possibleOn,
  setRequestedVariables,
} from './channel-control.ts';
import type { OutboundRequest } from './channel-creation.ts';
import { showApplication } from './channel-effects.ts';
import { type ChannelApplications, type ChannelEntry, type ChannelFacts, snapshotOf } from './channel-entry.ts';
import {
  longestChannelId,
  originateTimeoutMs,
  type RequestedVariable,
  readAppArgs,
  readCaller,
  readEndpoint,
  readFormats,
  readVariables,
} from './channel-requests.ts';
import type { ChannelViews } from './channel-views.ts';
import type { Channels } from './channels.ts';
import type { Playbacks } from './playbacks.ts';

type ChannelOperationsOptions = Omit<ChannelDialingOptions, 'priorityOf'> & {
  channels: Channels;
  facts: ChannelFacts;
  audio: ChannelAudio;
  playbacks: Playbacks;
  dialplan: Dialplan;
  clock: Clock;
};

/** The commands of clients for channels, by the names of the interface. */
export type ChannelOperations = ReturnType<typeof createChannelOperations>;

/** Creates the commands of clients for channels: each reads the request, then refuses it or carries it out. */
export function createChannelOperations(options: ChannelOperationsOptions) {
  const { channels, views, dialplan } = options;

  const priorityOf = (context: string, extension: string, label: string): number => {
    const priority = /^\d+$/.test(label) ? Number(label) : dialplan.resolveLabel(context, extension, label);
    if (priority === undefined) throw new AriError('labelNotFound');
    if (priority < 1) throw new AriError('priorityIllegal');
    return priority;
  };

  const dialing = new ChannelDialing({ ...options, priorityOf });

  return {
    list: (): Iterable<Channel> =>
      lazily(channels.all(), (entry) => (channels.find(entry.id) === entry ? views.model(entry) : undefined)),
    get: (id: string): Channel => views.model(channels.get(id)),
    /** The operations that it allows now, and reasons for the others. */
    possible: (id: string): AllowedOperations => possibleOn(channels.get(id)),
    originate: (request: OriginateRequest): Channel => dialing.originate(request),
    create: (request: CreateRequest): Channel => dialing.create(request),
    dial: (id: string, request: Parameters<ChannelDialing['dial']>[1]): void => dialing.dial(id, request),
    ...createChannelControl({ ...options, priorityOf }),
    ...createChannelVariables(options),

    async rtpStatistics(id: string): Promise<RTPstat> {
      const entry = channels.get(id);
      const statistics = await entry.leg.media.statistics();
      if (!statistics) throw new AriError('channelTypeUnsupported');
      if (lifeOf(snapshotOf(entry)) === 'down') throw new AriError('rtpNotFound');
      const video = (await entry.leg.video?.statistics()) ?? [];
      const { late: _late, unheard_ms: _unheard, remote: _remote, ...shown } = statistics;
      return { ...shown, channel_uniqueid: entry.id, ...(video.length > 0 && { video }) };
    },
  };
}

/** Parameters of `originate`, by their names in the interface. */
type OriginateRequest = {
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
type CreateRequest = Omit<OriginateRequest, 'extension' | 'context' | 'priority' | 'label' | 'callerId' | 'timeout'>;
type ChannelDialingOptions = {
  channels: Channels;
  views: Pick<ChannelViews, 'model' | 'dialplanChannel'>;
  /** Learns which channel is called for which. */
  calls: Pick<CalledChannels, 'calledFor'>;
  log: Pick<Logger, 'warn'>;
  applications: Pick<ChannelApplications, 'addInterest'>;
  /** Formats that may be asked for. */
  formats: ReadonlySet<string>;
  /** Variables that a channel may be made with; any number when left out. */
  variablesLimit?: number | undefined;
  /** The priority that a label stands for. @throws AriError labelNotFound, priorityIllegal. */
  priorityOf(context: string, extension: string, label: string): number;
};

/** The operations that make channels, and dial them. Names are the interface's. */
class ChannelDialing {
  readonly #options: ChannelDialingOptions;

  constructor(options: ChannelDialingOptions) {
    this.#options = options;
  }

  #refuseUsedId(...wanted: (string | undefined)[]): void {
    const { channels } = this.#options;
    for (const id of wanted) if (id !== undefined && channels.find(id)) throw new AriError('channelIdExists');
    if (wanted[0] !== undefined && wanted[0] === wanted[1]) throw new AriError('channelIdExists');
  }

  /** Opens the channel, and says in the interface's words why that cannot be. */
  #open(request: OutboundRequest): ChannelEntry {
    try {
      return this.#options.channels.openOutbound(request);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      throw new AriError('allocationFailed', { reason: error.message }, { cause: error });
    }
  }

  /**
   * The action after the answer of an originated channel. @throws AriError if the request names none, or an unknown
   * label.
   */
  #onAnswer(request: OriginateRequest): OnAnswer {
    const { app, extension, label } = request;
    if (app) return { type: 'application', app, args: readAppArgs(request.appArgs) };
    if (!extension) throw new AriError('applicationOrExtensionRequired');
    const context = request.context || 'default';
    const priority = label ? this.#options.priorityOf(context, extension, label) : request.priority || 1;
    return { type: 'dialplan', position: { context, extension, priority } };
  }

  /** @throws AriError limitReached when a channel would have too many variables with what it is given. */
  #requireRoom(has: Readonly<Record<string, string>>, given: readonly string[]): void {
    const { variablesLimit = Number.POSITIVE_INFINITY } = this.#options;
    const plain = given.filter((name) => !isFunction(name)).map(storedName);
    requireWithin('channel_variables', new Set([...Object.keys(has), ...plain]).size, variablesLimit);
  }

  originate(request: OriginateRequest): Channel {
    const { channels, views, applications, formats: known } = this.#options;
    const requested = readVariables(request.variables);
    this.#requireRoom({}, namesOf(requested));
    for (const id of [request.channelId, request.otherChannelId])
      if (id && id.length > longestChannelId) throw new AriError('uniqueIdTooLong');
    if (!request.endpoint) throw new AriError('endpointRequired');
    if (request.originator && request.formats) throw new AriError('originatorAndFormats');
    const { technology, resource } = readEndpoint(request.endpoint);
    const answered = this.#onAnswer(request);
    const originator = request.originator ? channels.findByIdOrName(request.originator) : undefined;
    if (request.originator && !originator) throw new AriError('originatorNotFound');
    const formats = readFormats(request.formats, known);
    this.#refuseUsedId(request.channelId, request.otherChannelId);
    const taken = inherited(originator);
    this.#requireRoom(taken.variables, namesOf(requested));

    const caller = readCaller(request.callerId);
    const entry = this.#open({
      id: request.channelId || channels.freshId(),
      ...otherHalf(request),
      technology,
      resource,
      ...(formats ? { formats } : {}),
      origin: 'originated',
      caller,
      connected: caller,
      ...taken,
      onAnswer: answered,
    });
    showApplication(entry, 'AppDial2', '(Outgoing Line)');
    setRequestedVariables(this.#options, entry, requested);
    if (answered.type === 'application')
      for (const id of [entry.id, entry.companionId])
        if (id !== undefined) applications.addInterest(answered.app, channelTopic(id));
    const made = views.model(entry);
    const timeoutMs = originateTimeoutMs(request.timeout, noTimeout);
    channels.tell(entry, { type: 'dial.soon', timeoutMs });
    return made;
  }

  create(request: CreateRequest): Channel {
    const { channels, views, applications, formats: known } = this.#options;
    const requested = readVariables(request.variables);
    this.#requireRoom({}, namesOf(requested));
    if (request.originator && request.formats) throw new AriError('originatorAndFormats');
    if (!request.endpoint) throw new AriError('endpointRequired');
    if (!request.app) throw new AriError('applicationRequired');
    const { technology, resource } = readEndpoint(request.endpoint);
    const formats = readFormats(request.formats, known);
    this.#refuseUsedId(request.channelId, request.otherChannelId);

    const { app } = request;
    const originator = request.originator ? channels.findByIdOrName(request.originator) : undefined;
    const taken = inherited(originator);
    this.#requireRoom(taken.variables, namesOf(requested));
    const entry = this.#open({
      id: request.channelId || channels.freshId(),
      ...otherHalf(request),
      technology,
      resource,
      ...(formats ? { formats } : {}),
      origin: 'created',
      caller: { name: '', number: '' },
      connected: { name: '', number: '' },
      ...taken,
    });
    applications.addInterest(app, channelTopic(entry.id));
    if (originator) applications.addInterest(app, channelTopic(originator.id));
    setRequestedVariables(this.#options, entry, requested);
    const made = views.model(entry);
    const data = request.appArgs ? `${app},${request.appArgs}` : app;
    channels.tell(entry, { type: 'enter.soon', app, args: readAppArgs(request.appArgs), data });
    return made;
  }

  dial(id: string, request: { caller?: string | undefined; timeout?: number | undefined }): void {
    const { channels, calls } = this.#options;
    const entry = controlledChannel(channels, id, 'dial');
    if (request.timeout !== undefined && request.timeout < 0)
      throw new AriError('parameterInvalid', { name: 'timeout', expected: '0 or more seconds' });
    const caller = request.caller ? channels.findByIdOrName(request.caller) : undefined;
    if (caller) {
      const from = snapshotOf(caller).context;
      const { language, accountCode } = from;
      const handed = passedOn(from);
      this.#requireRoom(snapshotOf(entry).context.variables, Object.keys(handed.variables));
      channels.tell(entry, { type: 'variable.preset', ...handed });
      if (language) channels.tell(entry, { type: 'language.set', language });
      if (accountCode) channels.tell(entry, { type: 'accountCode.set', accountCode });
      const { redirection, ...party } = from.caller;
      channels.tell(entry, { type: 'connected.set', party });
      if (redirection) channels.tell(entry, { type: 'caller.set', caller: { redirection } });
      calls.calledFor(entry, caller);
    }
    const timeoutMs = request.timeout ? Math.min(request.timeout * 1000, noTimeout) : noTimeout;
    channels.tell(entry, { type: 'dial', timeoutMs });
  }
}

const otherHalf = (request: { channelId?: string | undefined; otherChannelId?: string | undefined }) => {
  const { channelId, otherChannelId } = request;
  if (otherChannelId) return { otherId: otherChannelId };
  return channelId ? { otherId: `${channelId};2` } : {};
};

const namesOf = (requested: readonly RequestedVariable[]): string[] => requested.map(({ name }) => name);

/** Values that a new channel inherits from its originator. */
const inherited = (from: ChannelEntry | undefined) => {
  if (!from) return { variables: {}, inheritance: {}, reported: [], accountCode: '' };
  const { accountCode, tenantId, language, linked, ...rest } = snapshotOf(from).context;
  return { ...passedOn(rest), reported: [], accountCode, tenantId, language, linked };
};
