import type { Ids } from '../lib/ids.ts';
import type { ChannelInput, LinkedCall, OnAnswer } from '../machines/channel.ts';
import { passedOn } from '../machines/channel-setup.ts';
import { type CallRefusal, callRefusalIn, createLifecycle, type PhaseChange } from '../machines/lifecycle.ts';
import { AriError } from '../models/errors.ts';
import {
  type Driver,
  DriverError,
  type IncomingCall,
  type Leg,
  type LegReport,
  type OpenedLeg,
  type Report,
} from '../telephony/driver.ts';
import type { Party } from '../telephony/party.ts';
import type { CallPolicy } from './call-policy.ts';
import { type ChannelEntry, type ChannelFacts, deliver, snapshotOf } from './channel-entry.ts';

/** Parameters of an outbound channel, beside those of its driver. */
export type OutboundRequest = {
  id: string;
  otherId?: string;
  technology: string;
  resource: string;
  formats?: readonly string[];
  /** Makes its leg, in place of the technology's driver. */
  openLeg?: (report: Report) => OpenedLeg;
} & Pick<
  ChannelInput,
  'origin' | 'caller' | 'connected' | 'variables' | 'inheritance' | 'reported' | 'accountCode' | 'tenantId' | 'linked'
> & {
    language?: string;
    /** Caller identity that the called party sees; default: `caller`. */
    presented?: Party;
    /** The dialing channel; Dial events also concern it. */
    dialer?: ChannelEntry;
    /** Action after the answer. */
    onAnswer?: OnAnswer;
  };

/** Parameters of a channel without a call. No other channel has its id. */
export type AttachedRequest = {
  id: string;
  name: string;
  technology: string;
  open(report: Report): Leg;
};

/** Start options of a channel. */
export type StartOptions = {
  onAnswer?: OnAnswer;
  /** The channel that comes to life with it. */
  companionId?: string | undefined;
  /** The channel that calls it. */
  dialer?: ChannelEntry | undefined;
};

type ChannelCreationOptions = {
  /** The channel with that id, as long as there is one. */
  find(id: string): ChannelEntry | undefined;
  /** Starts the charts of a channel. */
  start(input: ChannelInput, leg: Leg, more?: StartOptions): ChannelEntry;
  /** Hears that a channel's video has changed, and that an inbound call is to replace a channel. */
  facts: ChannelFacts;
  /** Calls back once no recording of a channel runs: the recordings' events precede the channel's end. */
  whenSettled(id: string, then: () => void): void;
  ids: Ids;
  /** ms since the epoch. */
  now(): number;
  /** Default language of channels. */
  defaultLanguage: string;
  policy: Pick<CallPolicy, 'createdWithIdentity'>;
  /** Live channels that there may be. Left out: any number. */
  limit?: { isReached(): boolean; hit(): void } | undefined;
};

/** Why no channel is made. */
type Refusal = CallRefusal | 'tooManyChannels';

/** Brings channels to life: calls that come in, and calls that are made. */
export interface ChannelCreation {
  addDriver(driver: Driver): void;
  /** An id that no channel has. */
  freshId(): string;
  /** A call comes in. Says whether it is taken. */
  incoming(call: IncomingCall): boolean;
  /** Why no channel is made now, of a new call or of one that is there; undefined: it is. */
  refusal(isNewCall: boolean): Refusal | undefined;
  /** Makes a channel that is Up from the start, without a call behind it. @throws AriError serviceUnavailable. */
  attach(request: AttachedRequest): ChannelEntry;
  /** Makes an outbound channel, and its companion, without dialing. @throws DriverError, AriError channelIdExists. */
  openOutbound(request: OutboundRequest): ChannelEntry;
  /** Reports of a leg go to its channel, as long as that exists. */
  reportTo(id: string): Report;
  /** From now on no channels of new calls (`cordon`, `isolate`), no new channels at all (`drain`), or all again. */
  enter(change: PhaseChange): void;
}

const nobody = { name: '', number: '' } as const;

/** Makes what brings channels to life. */
export const createChannelCreation = (options: ChannelCreationOptions): ChannelCreation => new Creation(options);

class Creation implements ChannelCreation {
  readonly #options: ChannelCreationOptions;
  readonly #drivers = new Map<string, Driver>();
  readonly #lifecycle = createLifecycle();

  constructor(options: ChannelCreationOptions) {
    this.#options = options;
  }

  addDriver(driver: Driver): void {
    for (const name of [driver.technology, ...(driver.aliases ?? [])]) this.#drivers.set(name.toLowerCase(), driver);
  }

  enter(change: PhaseChange): void {
    this.#lifecycle.send({ type: change });
  }

  refusal(isNewCall: boolean): Refusal | undefined {
    return (
      callRefusalIn(this.#lifecycle.state, isNewCall) ??
      (isNewCall && this.#options.limit?.isReached() ? 'tooManyChannels' : undefined)
    );
  }

  /** The same for a channel that is to be made now: each one that the limit refuses is counted once. */
  #refuse(isNewCall: boolean): Refusal | undefined {
    const refusal = this.refusal(isNewCall);
    if (refusal === 'tooManyChannels') this.#options.limit?.hit();
    return refusal;
  }

  reportTo(id: string): Report {
    const { find, facts, whenSettled } = this.#options;
    return (report: LegReport): void => {
      const entry = find(id);
      if (!entry) return;
      if (report.type === 'leg.videoChanged') facts.publish(entry, { type: 'video.changed' });
      else if (report.type === 'leg.ended') whenSettled(id, () => deliver(entry, report));
      else deliver(entry, report);
    };
  }

  /** Clients choose ids, too, and some in the form that ours have. */
  freshId(): string {
    const id = this.#options.ids.channel();
    return this.#options.find(id) ? this.freshId() : id;
  }

  incoming(call: IncomingCall): boolean {
    return this.#take(call);
  }

  #take(call: IncomingCall, linked?: LinkedCall): boolean {
    const { find, start, facts } = this.#options;
    if (this.#refuse(!linked && !call.joins && call.replaces === undefined)) return false;
    const id = call.channelId ?? this.freshId();
    if (find(id)) return false;
    const leg = call.open(id, this.reportTo(id));
    const input = incomingInput(id, call, leg, this.#options);
    if (linked) input.linked = linked;
    const entry = start(input, leg);
    if (call.replaces !== undefined) facts.publish(entry, { type: 'replacement.asked', replaces: call.replaces });
    else if (call.state === 'ring')
      deliver(entry, { type: 'run', position: { context: call.context, extension: call.extension, priority: 1 } });
    return true;
  }

  #driverOf(technology: string): Driver {
    const driver = this.#drivers.get(technology.toLowerCase());
    if (!driver) throw new DriverError('technology', `there is no technology '${technology}'`);
    return driver;
  }

  /** The leg, and the companion under an unused id. */
  #openLeg(request: OutboundRequest): OpenedLeg & { technology: string; companionId: string | undefined } {
    const { find } = this.#options;
    const { id, otherId, technology, resource, formats, caller, presented } = request;
    if (request.openLeg) return { technology, companionId: undefined, ...request.openLeg(this.reportTo(id)) };
    const driver = this.#driverOf(technology);
    const partner = request.linked && find(request.linked.id);
    const opened = driver.open(
      {
        channelId: id,
        ...(otherId === undefined ? {} : { otherChannelId: otherId }),
        ...(partner ? { near: partner.id, prefers: partner.leg.formats } : {}),
        resource,
        caller: presented ?? caller,
        ...(formats ? { formats } : {}),
        variables: passedOn(request).variables,
      },
      this.reportTo(id),
    );
    const companionId = opened.companion && (opened.companion.channelId ?? this.freshId());
    if (companionId !== undefined && (companionId === id || find(companionId))) {
      opened.leg.release();
      opened.companion?.open(companionId, () => {}).release();
      throw new AriError('channelIdExists');
    }
    return { technology: driver.technology, companionId, ...opened };
  }

  openOutbound(request: OutboundRequest): ChannelEntry {
    const { start, now, defaultLanguage, policy } = this.#options;
    const isNewCall = !request.linked && !request.dialer && !request.openLeg;
    const refusal = this.#refuse(isNewCall);
    if (refusal) throw new AriError(refusal);
    const { id, resource, origin, accountCode, inheritance, onAnswer, dialer } = request;
    const opened = this.#openLeg(request);
    const { leg, name, technology, endpoint, companion, companionId, context, extension, variables = {} } = opened;
    const tenantId = opened.tenantId ?? request.tenantId;
    // One literal: a merged object is slower to create, and so is each context derived from it.
    const input: ChannelInput = {
      origin,
      accountCode,
      inheritance,
      caller: policy.createdWithIdentity ? request.caller : nobody,
      connected: policy.createdWithIdentity ? request.connected : nobody,
      id,
      variables: { ...request.variables, ...variables },
      reported: [...request.reported, ...Object.keys(variables)],
      name,
      technology,
      endpoint,
      protocolId: leg.protocolId,
      dialString: resource,
      language: request.language ?? defaultLanguage,
      creationTime: now(),
      dialplan: { context: context ?? 'default', exten: extension ?? 's', priority: 1, appName: '', appData: '' },
    };
    if (tenantId !== undefined) input.tenantId = tenantId;
    if (request.linked) input.linked = request.linked;
    const entry = start(input, leg, { companionId, dialer, ...(onAnswer && { onAnswer }) });
    this.#takeCompanion(entry, companion, tenantId);
    if (!policy.createdWithIdentity) {
      deliver(entry, { type: 'caller.set', caller: request.caller });
      deliver(entry, { type: 'connected.set', party: request.connected, quietly: true });
    }
    return entry;
  }

  /** Creates the other half of a Local channel. */
  #takeCompanion(entry: ChannelEntry, companion: IncomingCall | undefined, tenantId: string | undefined): void {
    const { companionId: channelId } = entry;
    if (!companion || channelId === undefined) return;
    const caller = this.#options.policy.createdWithIdentity ? companion.caller : nobody;
    this.#take({ ...companion, caller, channelId, ...(tenantId && { tenantId }) }, snapshotOf(entry).context.linked);
  }

  attach({ id, name, technology, open }: AttachedRequest): ChannelEntry {
    const { start, now, defaultLanguage } = this.#options;
    if (this.refusal(false)) throw new AriError('serviceUnavailable');
    const leg = open(this.reportTo(id));
    const input: ChannelInput = {
      id,
      name,
      technology,
      protocolId: leg.protocolId,
      origin: 'attached',
      caller: nobody,
      connected: nobody,
      accountCode: '',
      language: defaultLanguage,
      creationTime: now(),
      dialplan: { context: 'default', exten: 's', priority: 1, appName: '', appData: '' },
      variables: {},
      inheritance: {},
      reported: [],
      dialString: '',
    };
    return start(input, leg);
  }
}

const incomingInput = (
  id: string,
  call: IncomingCall,
  leg: Leg,
  { defaultLanguage, now }: Pick<ChannelCreationOptions, 'defaultLanguage' | 'now'>,
): ChannelInput => ({
  id,
  name: call.name,
  technology: call.technology,
  endpoint: call.endpoint,
  protocolId: leg.protocolId,
  origin: 'incoming',
  caller: { ...call.caller, ...(call.redirection && { redirection: call.redirection }) },
  connected: { name: '', number: '' },
  accountCode: call.accountCode ?? '',
  ...(call.tenantId === undefined ? {} : { tenantId: call.tenantId }),
  language: call.language ?? defaultLanguage,
  creationTime: now(),
  dialplan: { context: call.context, exten: call.extension, priority: 1, appName: '', appData: '' },
  variables: call.variables ?? {},
  inheritance: {},
  reported: [],
  dialString: '',
});
